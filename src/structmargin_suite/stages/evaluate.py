"""Stage 3: every model of a job judged anew. runs/R/{run.json, model.npz} -> runs/R/metrics.json.

Losses and the primal objective are recomputed by a full search over the data; training's numbers are
held against them. A model that does not keep its word is a failed run with the reason. What a data set
keeps of its test part beside the measures, for figures, is written to runs/R/kept.npz.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structmargin_suite.datasets import DataSet, Examples, Split, dataset
from structmargin_suite.planning.plan import Suite
from structmargin_suite.planning.runs import Job, Run
from structmargin_suite.rerun import keys
from structmargin_suite.stages._command import guarded, job_of
from structmargin_suite.stages._progress import Progress
from structmargin_suite.storage.files import digest, read_arrays, read_json, sha256, write_arrays, write_json
from structmargin_suite.storage.layout import Layout

KEPT = "kept.npz"
COUNTS = {
    "constraints": "n_constraints",
    "active": "n_active",
    "iterations": "n_iter",
    "oracle_calls": "oracle_calls",
}


def evaluate(suite: Suite, job: Job) -> None:
    """Judge every run of a job, then write the job's receipt."""
    layout = Layout(suite.root)
    experiment = suite.experiments[job.experiment]
    modules = {part.name: dataset(part.module) for part in experiment.parts}
    progress = Progress(f"evaluate {job.experiment} {job.name}", len(job.runs))
    code = keys.stage("evaluate")
    stored: dict[str, Any] = {}
    for run in job.runs:
        folder = layout.run(job.experiment, run.name)
        record = read_json(folder / "run.json")
        key = digest([record["key"], record["files"], record["status"], code])
        if not _intact(folder / "metrics.json", key):
            if record["status"] == "done" and run.part not in stored:
                stored = {run.part: read_arrays(layout.part(job.experiment, run.part))}
            outcome = _one(run, record, folder, stored.get(run.part, {}), modules[run.part])
            write_json(folder / "metrics.json", {"run": run.name, "key": key, **outcome})
            if outcome["status"] == "failed":
                progress.tell(f"{run.name} failed: {outcome['reason']}")
        progress.step(run.name)
    progress.close()
    write_json(
        layout.evaluated(job.experiment, job.name),
        {run.name: sha256(layout.run(job.experiment, run.name) / "metrics.json") for run in job.runs},
    )


def _intact(path: Path, key: str) -> bool:
    try:
        told = read_json(path)
        files = told.get("files", {})
        return bool(told["key"] == key) and all(
            (path.parent / name).is_file() and sha256(path.parent / name) == total
            for name, total in files.items()
        )
    except (OSError, ValueError, KeyError):
        return False


def _one(
    run: Run, record: dict[str, Any], folder: Path, arrays: dict[str, Any], module: DataSet
) -> dict[str, Any]:
    """The metrics of one run, or the reason why there are none."""
    if record["status"] != "done":
        return {"status": record["status"], "reason": record["reason"], "metrics": {}}
    from structmargin_suite.methods import models

    try:
        model = models.from_arrays(run.model, read_arrays(folder / "model.npz"))
        split = module.view(arrays, run.view_seed, **run.view)
        metrics, wrong, kept = _measured(run, record, model, split, module)
    except OSError:
        raise
    except Exception as error:  # a failed run is a row with its reason
        return {"status": "failed", "reason": f"evaluation: {type(error).__name__}: {error}", "metrics": {}}
    if kept:
        write_arrays(folder / KEPT, kept)
    if wrong:
        return {"status": "failed", "reason": "evaluation: " + "; ".join(wrong), "metrics": metrics}
    files = {KEPT: sha256(folder / KEPT)} if kept else {}
    return {"status": "done", "reason": None, "metrics": metrics, "files": files}


def _measured(
    run: Run, record: dict[str, Any], model: Any, split: Split, module: DataSet
) -> tuple[dict[str, Any], list[str], dict[str, np.ndarray]]:
    """(metrics, what does not hold, what figures need) of a model on its split."""
    metrics: dict[str, Any] = {}
    losses: dict[str, np.ndarray] = {}
    parts = {"train": split.train, "validation": split.validation, "test": split.test}
    for name, part in parts.items():
        if part is None:
            continue
        yhat = module.predict(model, part.X)
        metrics.update(
            {f"{name}_{measure}": float(value) for measure, value in module.score(part.Y, yhat).items()}
        )
        if "baseline" not in run.model and (module.predicts_outputs or name == "train"):
            losses[name] = _losses(model, part, yhat if module.predicts_outputs else _best(model, part))
            metrics[f"{name}_loss"] = float(np.mean(losses[name]))
    kept = module.keep(split.test.Y, yhat)  # the test part comes last
    if "baseline" in run.model:
        return metrics, [], kept
    from structmargin_suite.methods import certificate, jkse_certificate
    from structmargin_suite.methods.models import SVM

    check: Any = {SVM: certificate, "JKSE": jkse_certificate}[run.model.get("model", SVM)]
    examples = certificate.examples(model, split.train)
    found, wrong = check.recomputed(model, examples, losses["train"])
    numbers = record["numbers"]
    metrics.update(found)
    metrics.update({name: numbers[source] for name, source in COUNTS.items()})
    metrics.update({name: numbers.get(name) for name in ("C", "bound", "exact", "converged")})
    return metrics, wrong, kept


def _best(model: Any, part: Examples) -> list[Any]:
    """The model's own outputs; where the truth scores above what the search found, the truth.

    A search may look at a coarser set than truths are from (boxes 16 pixels apart), and slacks bound the risk
    of a prediction among all that were constrained, the truth included.
    """
    f, yhat = model.scorer_, model.predict(part.X)
    return [y if f(x, y) > f(x, found) else found for x, y, found in zip(part.X, part.Y, yhat, strict=True)]


def _losses(model: Any, part: Examples, yhat: Any) -> np.ndarray:
    """The loss of every prediction; of a part that the problem makes one example of, that one's."""
    from structmargin_suite.methods.certificate import wraps

    if wraps(model):
        return np.array([-model.score(*part)])
    return np.array([model.problem_.delta(part.Y[i], yhat[i]) for i in range(len(part.Y))])


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    evaluate(*job_of(argv, "evaluate", "Judge the models of a job.", library=False))


if __name__ == "__main__":
    guarded(main)
