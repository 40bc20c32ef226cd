"""A whole experiment in a temporary folder, done in a second."""

from __future__ import annotations

import shutil
from pathlib import Path

import yaml

from structmargin_suite.planning.plan import Suite, load
from structmargin_suite.stages.evaluate import evaluate
from structmargin_suite.stages.prepare import prepare
from structmargin_suite.stages.report import report
from structmargin_suite.stages.show import show
from structmargin_suite.stages.tabulate import tabulate
from structmargin_suite.stages.train import train
from structmargin_suite.storage.bundle import Bundle
from structmargin_suite.storage.layout import ScaleLayout

HERE = Path(__file__).resolve().parents[2]
"""The project's folder."""

TOY = {
    "title": "A toy",
    "paper": "jmlr05",
    "where": "nowhere",
    "about": "Clusters.",
    "data": {
        "clusters": {
            "from": "clusters", "source": "synthetic", "n_classes": 3, "siblings": 2, "n_features": 3,
            "scatter": 1.0, "pool": 40, "n_test": 30, "n_train": 12, "loss": "tree",
        },
    },
    "problem": {"name": "Multiclass"},
    "repetitions": 2,
    "allow_failed_runs": True,
    "methods": {
        "margin": {
            "formulation": "SVM1 margin", "solver": "n_slack_a", "solver_options": {"gains": True}, "C": 1.0,
            "eps": 0.1,
        },
        "any": {
            "label": "Any of them", "formulation": "SVM2 slack", "solver": "n_slack", "C_per_example": 0.5,
            "eps": 0.1,
        },
        "hard": {"formulation": "SVM0", "solver": "n_slack", "eps": 0.1},
    },
    "studies": {
        "sizes": {"methods": ["margin"], "vary": {"n_train": [12, 24]}},
        "solvers": {"methods": ["any"], "vary": {"solver": ["n_slack", "bcfw"]}},
        "hopeless": {"methods": ["hard"], "fixed": {"n_train": 40}},
    },
    "tables": {
        "toy": {
            "caption": "Toy.", "study": "sizes", "keys": ["n_train", "method"],
            "measures": ["test_error", "constraints"], "published": "toy.csv",
        },
        "solvers": {
            "caption": "Solvers.", "study": "solvers", "keys": ["solver"], "measures": ["test_error"],
        },
    },
    "scales": {"smoke": {"repetitions": 1}, "standard": {}, "paper": {}},
}  # fmt: skip


def project(root: Path, config: dict | None = None, name: str = "toy") -> Path:
    """A folder with everything the pipeline reads, and one experiment."""
    (root / "configs").mkdir(parents=True, exist_ok=True)
    shutil.copytree(HERE / "configs" / "schema", root / "configs" / "schema", dirs_exist_ok=True)
    shutil.copytree(HERE / "data" / "published", root / "data" / "published", dirs_exist_ok=True)
    (root / "data" / "published" / "toy.csv").write_text(
        "n_train,method,measure,value\n12,margin,test_error,10.5\n24,margin,test_error,9\n"
    )
    suite = {"seed": 7, "scale": "standard", "experiments": [name]}
    (root / "configs" / "suite.yaml").write_text(yaml.safe_dump(suite))
    write_config(root, TOY if config is None else config, name)
    return root


def write_config(root: Path, config: dict, name: str = "toy") -> None:
    (root / "configs" / f"{name}.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


def bundle_of(suite: Suite, run: str, kind: str) -> Bundle:
    """The bundle (trained, clocks or evaluated) that has a run of the toy."""
    job = next(job for job in suite.experiments["toy"].jobs if run in {member.name for member in job.runs})
    layout = ScaleLayout(suite.root, suite.scale)
    places = {"trained": layout.trained, "clocks": layout.clocks, "evaluated": layout.evaluated}
    return Bundle(places[kind]("toy", job.name))


def run_all(root: Path, scale: str | None = None) -> Suite:
    """Every stage, in this process."""
    suite = load(root, scale)
    for name, experiment in suite.experiments.items():
        for corpus in experiment.corpora:
            prepare(suite, name, corpus)
        for job in experiment.jobs:
            train(suite, job)
            evaluate(suite, job)
        tabulate(suite, name)
        show(suite, name)
    report(suite)
    return suite
