"""What pyproject.toml cannot say of a build: a wheel has the files of a project inside the suite.

They stay where they are in the checkout; only the wheel has them as structmargin_suite/project
(src/structmargin_suite/planning/project.py reads them from either place).
"""

import ast
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
MODULE = HERE / "src" / "structmargin_suite" / "planning" / "project.py"


def parts():
    """PARTS of the module that reads them, without importing it."""
    for node in ast.parse(MODULE.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PARTS":
            return ast.literal_eval(node.value)
    raise ValueError(f"{MODULE} has no line PARTS = (...)")


class WithProject(build_py):
    """The modules, and in a wheel the files of a project."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib) / "structmargin_suite" / "project"
        shutil.rmtree(target, ignore_errors=True)
        for part in parts():
            (target / part).parent.mkdir(parents=True, exist_ok=True)
            if (HERE / part).is_dir():
                shutil.copytree(HERE / part, target / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copyfile(HERE / part, target / part)


setup(cmdclass={"build_py": WithProject})
