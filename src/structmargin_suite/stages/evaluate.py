"""Stage 3: evaluate every model of a job. jobs/J.trained.zip -> jobs/J.evaluated.zip, metrics of each run.

Losses and the data set's measures are computed on the training, validation and test subsets, and the measures
on further test sets where the data set has some. The primal
objective, the dual value and w are recomputed, as far as the stored model allows, and compared with what
training recorded. A model for which they differ is a failed run, with the reason. Arrays of the test subset
that figures need are in its kept.npz.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from structmargin_suite.datasets import DataSet, Examples, Split, dataset
from structmargin_suite.methods.method import Method
from structmargin_suite.planning.plan import Experiment, Suite
from structmargin_suite.planning.runs import Job, Run
from structmargin_suite.rerun.job_keys import evaluation_key, training_key
from structmargin_suite.stages._command import guarded, job_of
from structmargin_suite.stages._runs import PreparedParts, corpora_of, finished, refuse_as_result
from structmargin_suite.storage.arrays import npz_bytes
from structmargin_suite.storage.bundle import Bundle, Entry, write_bundle
from structmargin_suite.storage.files import json_bytes
from structmargin_suite.storage.layout import (
    KEPT_FILE,
    METRICS_FILE,
    MODEL_FILE,
    RECORD_FILE,
    ScaleLayout,
)
from structmargin_suite.storage.names import joined

RENAMED_COUNTS = {
    "constraints": "n_constraints",
    "active": "n_active",
    "iterations": "n_iter",
    "oracle_calls": "oracle_calls",
}
"""Metrics that are training's own counts, and what its record calls them; each must be there."""
BASELINE_COUNTS = {"iterations": "n_iter"}
"""The same for a baseline that has a certificate."""
COPIED_NUMBERS = ("C", "bound", "exact", "converged")
"""Metrics that are training's own numbers under their own names; None where training recorded none."""


def evaluate(suite: Suite, job: Job, layout: ScaleLayout | None = None) -> None:
    """Evaluate the runs of a job and write their bundle; refused where the models do not fit the plan."""
    layout = layout or ScaleLayout(suite.root, suite.scale)
    experiment, corpora = suite.experiments[job.experiment], corpora_of(layout, job)
    trained = Bundle(layout.trained(job.experiment, job.name))
    trained.expect({run.name: training_key(experiment, run, corpora[run.corpus]) for run in job.runs})
    evaluation = Evaluation(experiment, trained, PreparedParts(corpora))
    write_bundle(layout.evaluated(job.experiment, job.name), {}, finished(layout, job, evaluation))


@dataclass(frozen=True)
class Evaluation:
    """The evaluation stage, as the `Work` protocol of `_runs.py` asks for it."""

    experiment: Experiment
    trained: Bundle
    parts: PreparedParts
    stage: str = "evaluate"
    record: str = METRICS_FILE

    def key(self, run: Run) -> str:
        """A digest of what training left and of the code that evaluates the run."""
        return evaluation_key(run, self.trained)

    def do(self, run: Run, key: str) -> Entry:
        """Evaluate one run; its record has its metrics, a `status` and a `reason`."""
        outcome, files = self._outcome(run, self.trained.json(run.name, RECORD_FILE))
        record = joined({"a record": {"run": run.name, "key": key}, "its outcome": outcome})
        return Entry(run.name, key, str(outcome["status"]), {METRICS_FILE: json_bytes(record), **files})

    def _outcome(self, run: Run, record: dict[str, Any]) -> tuple[dict[str, object], dict[str, bytes]]:
        """The metrics of one run, or the reason why there are none, and the files that figures need."""
        if record["status"] != "done":
            return {"status": record["status"], "reason": record["reason"], "metrics": {}}, {}
        module = dataset(self.experiment.part(run.part).module)
        arrays = self.parts.of(run)
        stored = self.trained.arrays(run.name, MODEL_FILE)
        try:
            model = run.configured.from_arrays(stored)
            split: Split = module.view(arrays, run.view_seed, **run.view)
            measured = measure(run.configured, record["numbers"], model, split, module)
            metrics = measured.metrics
        except Exception as error:  # a failed run is a row with its reason
            refuse_as_result(error)
            reason = f"evaluation: {type(error).__name__}: {error}"
            return {"status": "failed", "reason": reason, "metrics": {}}, {}
        if measured.faults:
            reason = "evaluation: " + "; ".join(measured.faults)
            return {"status": "failed", "reason": reason, "metrics": metrics}, {}
        files = {KEPT_FILE: npz_bytes(measured.test_arrays)} if measured.test_arrays else {}
        return {"status": "done", "reason": None, "metrics": metrics}, files


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
    certificate, library = method.certificate, method.library is not None
    for name, subset in (("train", split.train), ("validation", split.validation), ("test", split.test)):
        if subset is None:
            continue
        yhat = module.predict(model, subset.X)
        measured.scores[name] = {key: float(value) for key, value in module.score(subset.Y, yhat).items()}
        if library and (module.predicts_outputs or name == "train"):
            outputs = yhat if module.predicts_outputs else _predictions_or_truth(model, subset)
            measured.losses[name] = _losses(model, subset, outputs)
    measured.test_arrays = module.keep(split.test.Y, yhat)  # the test subset comes last
    for name, made in split.beside.items():
        subset = made()
        yhat = module.predict(model, subset.X)
        measured.scores[name] = {key: float(value) for key, value in module.score(subset.Y, yhat).items()}
        kept = module.keep(subset.Y, yhat)
        measured.test_arrays |= {f"{name}_{key}": array for key, array in kept.items()}
    if certificate is not None:
        from structmargin_suite.methods.certificate import examples

        trained_on = examples(model, split.train) if library else split.train
        losses = measured.losses.get("train", np.empty(0))
        measured.certificate, measured.faults = certificate(model, trained_on, losses)
        counts = RENAMED_COUNTS if library else BASELINE_COUNTS
        measured.training = {name: numbers[source] for name, source in counts.items()}
        copied = COPIED_NUMBERS if library else ("converged",)
        measured.training |= {name: numbers.get(name) for name in copied}
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
