"""Which Python `make env` takes: one with wheels for all that is locked before one that needs a compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.toy_project import HERE

NAMES = ("python3", "python3.11", "python3.12", "python3.13", "python3.14")
STUB = """#!/bin/sh
[ "$1" = --version ] && {{ echo "Python 3.{minor}.0"; exit 0; }}
[ "$1" = -m ] && {{ echo "{name} was taken"; exit 9; }}
exec "{real}" -c "import sys, sysconfig; sys.version_info = (3, {minor}, 0)
sysconfig.get_config_var = lambda name: '{cc} -pthread'; sysconfig.get_path = lambda name: '{include}'
$2"
"""


def made(folder: Path, minors: dict[str, int], built: tuple[str, ...] = (), *options: str) -> str:
    """What make says where these Pythons are on the PATH, with a compiler, headers, or both."""
    bin, include = folder / "bin", folder / "include"
    bin.mkdir()
    include.mkdir()
    for name in NAMES:
        cc = bin / "the-compiler" if "compiler" in built else bin / "none"
        text = STUB.format(minor=minors.get(name, 10), name=name, real=sys.executable, cc=cc, include=include)
        (bin / name).write_text(text)
        (bin / name).chmod(0o755)
    if "compiler" in built:
        (bin / "the-compiler").write_text("#!/bin/sh\n")
        (bin / "the-compiler").chmod(0o755)
    if "headers" in built:
        (include / "Python.h").touch()
    for file in ("Makefile", "requirements.lock"):
        shutil.copyfile(HERE / file, folder / file)
    env = {"PATH": f"{bin}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}
    done = subprocess.run(
        ["make", ".venv/.locked", *options], cwd=folder, capture_output=True, text=True, env=env, timeout=60
    )
    assert done.returncode != 0  # the stubs make no environment
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("minors", "taken"),
    [
        ({"python3": 11}, "python3"),
        ({"python3": 14, "python3.12": 12}, "python3.12"),
        ({"python3": 14, "python3.14": 14, "python3.13": 13, "python3.11": 11}, "python3.13"),
        ({"python3": 14}, "python3"),
        ({"python3": 10, "python3.14": 14}, "python3.14"),
        ({"python3": 15, "python3.14": 14}, "python3.14"),
    ],
)
def test_a_python_with_wheels_for_all_goes_before_one_that_needs_a_compiler(minors, taken, tmp_path):
    assert f"{taken} was taken" in made(tmp_path, minors, ("compiler", "headers"))


@pytest.mark.parametrize("built", [(), ("compiler",), ("headers",)])
def test_without_compiler_or_headers_it_says_what_to_install_for_3_14(built, tmp_path):
    said = made(tmp_path, {"python3": 14}, built)
    assert "python3 is Python 3.14, for which one package has to be compiled: install a C compiler" in said
    assert "was taken" not in said


def test_the_python_that_was_asked_for_is_taken_or_refused(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    others = {"python3": 11, "python3.14": 14, "python3.12": 15}
    assert "python3.14 was taken" in made(
        tmp_path / "one", others, ("compiler", "headers"), "PYTHON=python3.14"
    )
    assert "python3.12 is not a Python 3.11 to 3.14" in made(
        tmp_path / "two", others, (), "PYTHON=python3.12"
    )
