"""Stage 2: the trainings of one job. data/ready -> results/E/runs/R/{run.json, model.npz, trace.csv}.

run.json holds everything about a run but clocks: settings, seed, data, code, versions, the fit's numbers, and
why it was skipped or failed if it was. What a clock or a memory meter says is in clock.json and
trace.csv. A run whose record has the same key and whose model is intact is kept: a killed job goes on
where it stopped, and a changed config trains only what changed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from structmargin_suite.planning.plan import Experiment, Suite
from structmargin_suite.planning.runs import Job, Run
from structmargin_suite.rerun import keys, machine
from structmargin_suite.stages._command import guarded, job_of
from structmargin_suite.stages._progress import Progress
from structmargin_suite.storage.files import (
    digest,
    read_arrays,
    read_json,
    sha256,
    write_arrays,
    write_csv,
    write_json,
)
from structmargin_suite.storage.layout import Layout


def train(suite: Suite, job: Job) -> None:
    """Do every run of a job that is not done yet, then write the job's receipt."""
    layout = Layout(suite.root)
    experiment = suite.experiments[job.experiment]
    progress = Progress(f"train {job.experiment} {job.name}", len(job.runs))
    corpora = dict.fromkeys(run.corpus for run in job.runs)  # others may not be there yet
    receipts = {corpus: read_json(layout.corpus(job.experiment, corpus)) for corpus in corpora}
    stored: dict[str, Any] = {}
    for run in job.runs:
        folder = layout.run(job.experiment, run.name)
        data = provenance(receipts[run.corpus], run)
        code = keys.run_code(experiment, run)
        key = digest([run.spec, code, data])
        if not intact(folder, key):
            sweep(folder)
            if run.part not in stored:
                stored = {run.part: read_arrays(layout.part(job.experiment, run.part))}
            record = _one(experiment, run, folder, stored[run.part])
            write_json(folder / "run.json", {**run.spec, "key": key, "data": data, "code": code, **record})
            if record["status"] == "failed":
                progress.tell(f"{run.name} failed: {record['reason']}")
        progress.step(run.name)
    progress.close()
    write_json(
        layout.trained(job.experiment, job.name),
        {run.name: sha256(layout.run(job.experiment, run.name) / "run.json") for run in job.runs},
    )


def provenance(receipt: dict[str, Any], run: Run) -> dict[str, Any]:
    """What a run's record says of its data."""
    return {
        "label": receipt["label"],
        "kind": receipt["kind"],
        "files": receipt["files"],
        "part": receipt["parts"][run.part]["sha256"],
        "seed": receipt["parts"][run.part]["seed"],
    }


def intact(folder: Path, key: str) -> bool:
    """Whether a finished run with this key is there, model and all; a failed one is tried again."""
    try:
        record = read_json(folder / "run.json")
    except (OSError, ValueError):
        return False
    if record.get("key") != key or record.get("status") == "failed":
        return False
    files = record.get("files", {})
    return all((folder / name).is_file() and sha256(folder / name) == total for name, total in files.items())


def sweep(folder: Path) -> None:
    """Remove what an earlier attempt left: its record first, so that it cannot pass for this run's."""
    for path in [folder / "run.json", *sorted(folder.glob("*")), *sorted(folder.glob(".*.tmp*"))]:
        path.unlink(missing_ok=True)


def _one(experiment: Experiment, run: Run, folder: Path, arrays: dict[str, Any]) -> dict[str, Any]:
    """Train one run and store it; returns the part of its record that training decides."""
    from structmargin_suite.datasets import dataset
    from structmargin_suite.methods import models

    if run.skip is not None:
        return {"status": "skipped", "reason": run.skip, "versions": machine.versions(), "files": {}}
    module = dataset(next(part.module for part in experiment.parts if part.name == run.part))
    began, cpu = time.perf_counter(), time.process_time()
    try:
        split = module.view(arrays, run.view_seed, **run.view)
        trained = models.train(run.model, split, run.seed, module.score, module.predict)
    except OSError:
        raise
    except Exception as error:  # a failed run is a row with its reason
        reason = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"
        return {"status": "failed", "reason": reason, "versions": machine.versions(), "files": {}}
    clock = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}
    write_arrays(folder / "model.npz", models.to_arrays(run.model, trained.model))
    if trained.trace:
        columns = list(dict.fromkeys(name for row in trained.trace for name in row))
        write_csv(folder / "trace.csv", trained.trace, columns)
    fit_clocks = {f"fit_{name}": value for name, value in trained.clocks.items()}
    write_json(
        folder / "clock.json",
        {**clock, **fit_clocks, "job_peak_mb": machine.peak_memory_mb(), "machine": machine.facts()},
    )
    return {
        "status": "done",
        "reason": None,
        "n_train": len(split.train.Y),
        "n_test": len(split.test.Y),
        "numbers": trained.numbers,
        "chosen": trained.chosen,
        "warnings": trained.warnings,
        "versions": machine.versions(),
        "files": {"model.npz": sha256(folder / "model.npz")},
    }


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    train(*job_of(argv, "train", "Do the trainings of a job."))


if __name__ == "__main__":
    guarded(main)
