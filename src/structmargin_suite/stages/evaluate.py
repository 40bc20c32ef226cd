"""Stage 3: evaluate every model of a job. runs/R/{run.json, model.npz} -> runs/R/metrics.json.

Losses and the data set's measures are computed on the training, validation and test subsets. The primal
objective, the dual value and w are recomputed, as far as the stored model allows, and compared with what
training recorded. A model for which they differ is a failed run, with the reason. Arrays of the test subset
that figures need are written to runs/R/kept.npz.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from structmargin_suite.datasets import DataSet, Examples, Split, dataset
from structmargin_suite.methods.method import Method
from structmargin_suite.planning.plan import Experiment, Suite
from structmargin_suite.planning.runs import Job, Run
from structmargin_suite.rerun import job_keys
from structmargin_suite.stages._command import guarded, job_of
from structmargin_suite.stages._runs import PreparedParts, do_runs
from structmargin_suite.storage.files import digest, read_arrays, read_json, sha256, write_arrays
from structmargin_suite.storage.layout import KEPT_FILE, Layout
from structmargin_suite.storage.records import joined

RENAMED_COUNTS = {
    "constraints": "n_constraints",
    "active": "n_active",
    "iterations": "n_iter",
    "oracle_calls": "oracle_calls",
}
"""Metrics that are training's own counts, and what its record calls them; each must be there."""
COPIED_NUMBERS = ("C", "bound", "exact", "converged")
"""Metrics that are training's own numbers under their own names; None where training recorded none."""


def evaluate(suite: Suite, job: Job) -> None:
    """Evaluate every run of a job that is not evaluated yet, then write the job's receipt."""
    layout = Layout(suite.root)
    evaluation = Evaluation(suite.experiments[job.experiment], layout)
    do_runs(layout, job, evaluation, layout.evaluated(job.experiment, job.name))


@dataclass(frozen=True)
class Evaluation:
    """The evaluation stage, as the `Work` protocol of `_runs.py` asks for it."""

    experiment: Experiment
    layout: Layout
    stage: str = "evaluate"
    file: str = "metrics.json"
    tries_failures_again: bool = False

    def key(self, run: Run) -> str:
        """A digest of what training recorded and of the code that evaluates the run."""
        record = self.record(run)
        return digest([record["key"], record["files"], record["status"], job_keys.evaluation_code(run)])

    def do(self, run: Run, key: str, parts: PreparedParts) -> dict[str, object]:
        """Evaluate one run; returns its record, with its metrics, a `status` and a `reason`."""
        folder = self.layout.run(self.experiment.name, run.name)
        outcome = self._outcome(run, self.record(run), folder, parts)
        return joined({"a record": {"run": run.name, "key": key}, "its outcome": outcome})

    def record(self, run: Run) -> dict[str, Any]:
        """What training recorded of a run."""
        record: dict[str, Any] = read_json(self.layout.run(self.experiment.name, run.name) / "run.json")
        return record

    def _outcome(
        self, run: Run, record: dict[str, Any], folder: Path, parts: PreparedParts
    ) -> dict[str, object]:
        """The metrics of one run, or the reason why there are none."""
        if record["status"] != "done":
            return {"status": record["status"], "reason": record["reason"], "metrics": {}}
        module = dataset(self.experiment.part(run.part).module)
        arrays = parts[run.part]
        try:
            model = run.configured.from_arrays(read_arrays(folder / "model.npz"))
            split: Split = module.view(arrays, run.view_seed, **run.view)
            measured = measure(run.configured, record["numbers"], model, split, module)
            metrics = measured.metrics
        except OSError:
            raise
        except Exception as error:  # a failed run is a row with its reason
            reason = f"evaluation: {type(error).__name__}: {error}"
            return {"status": "failed", "reason": reason, "metrics": {}}
        # Written before the faults are looked at: a run with faults leaves the file behind, but its record
        # does not name it, so its contents are not checked later; figures show finished runs only.
        if measured.test_arrays:
            write_arrays(folder / KEPT_FILE, measured.test_arrays)
        if measured.faults:
            reason = "evaluation: " + "; ".join(measured.faults)
            return {"status": "failed", "reason": reason, "metrics": metrics}
        files = {KEPT_FILE: sha256(folder / KEPT_FILE)} if measured.test_arrays else {}
        return {"status": "done", "reason": None, "metrics": metrics, "files": files}


@dataclass
class Measured:
    """What evaluation finds of one model; `scores` and `losses` by subset (train, validation, test).

    `faults` says what does not hold, and `test_arrays` are the arrays of the test subset that figures need.
    """

    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    losses: dict[str, np.ndarray] = field(default_factory=dict)
    certificate: dict[str, float] = field(default_factory=dict)
    training: dict[str, object] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    test_arrays: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def metrics(self) -> dict[str, object]:
        """Every number by its name; two of one name are an error."""
        groups: dict[str, Mapping[str, object]] = {}
        for name, scores in self.scores.items():
            groups[f"the data set's measures on the {name} set"] = {
                f"{name}_{score}": value for score, value in scores.items()
            }
            if name in self.losses:
                groups[f"the loss on the {name} set"] = {f"{name}_loss": float(np.mean(self.losses[name]))}
        groups |= {"the certificate": self.certificate, "training's own numbers": self.training}
        return joined(groups)


def measure(
    method: Method, numbers: Mapping[str, object], model: Any, split: Split, module: DataSet
) -> Measured:
    """Everything that evaluation finds of a model on its split; `numbers` are training's own."""
    measured = Measured()
    certificate = method.certificate
    for name, subset in (("train", split.train), ("validation", split.validation), ("test", split.test)):
        if subset is None:
            continue
        yhat = module.predict(model, subset.X)
        measured.scores[name] = {key: float(value) for key, value in module.score(subset.Y, yhat).items()}
        if certificate is not None and (module.predicts_outputs or name == "train"):
            outputs = yhat if module.predicts_outputs else _predictions_or_truth(model, subset)
            measured.losses[name] = _losses(model, subset, outputs)
    measured.test_arrays = module.keep(split.test.Y, yhat)  # the test subset comes last
    if certificate is not None:
        from structmargin_suite.methods.certificate import examples

        trained_on = examples(model, split.train)
        measured.certificate, measured.faults = certificate(model, trained_on, measured.losses["train"])
        measured.training = {name: numbers[source] for name, source in RENAMED_COUNTS.items()}
        measured.training |= {name: numbers.get(name) for name in COPIED_NUMBERS}
    return measured


def _predictions_or_truth(model: Any, subset: Examples) -> list[Any]:
    """The model's predictions; the truth where it scores above what the search found.

    For checking the slack bound only; never reported as test performance. A search may look at a coarser set
    than truths are from (boxes 16 pixels apart), and slacks bound the risk of a prediction among all that
    were constrained, the truth included.
    """
    f, yhat = model.scorer_, model.predict(subset.X)
    return [
        y if f(x, y) > f(x, predicted) else predicted
        for x, y, predicted in zip(subset.X, subset.Y, yhat, strict=True)
    ]


def _losses(model: Any, subset: Examples, yhat: Any) -> np.ndarray:
    """One loss per example; a single one where the problem makes one example of the whole subset.

    The model then predicts the whole subset itself, and `yhat` is not used.
    """
    from structmargin_suite.methods.certificate import takes_whole_sample

    if takes_whole_sample(model):
        return np.array([-model.score(*subset)])
    return np.array([model.problem_.delta(subset.Y[i], yhat[i]) for i in range(len(subset.Y))])


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    evaluate(*job_of(argv, "evaluate", "Evaluate the models of a job.", library=False))


if __name__ == "__main__":
    guarded(main)
