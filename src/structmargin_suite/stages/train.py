"""Stage 2: train the runs of one job. data/ready -> results/E/runs/R/{run.json, model.npz, trace.csv}.

run.json holds everything about a run but clocks: settings, seed, data, code, versions, the fit's numbers, and
why it was skipped or failed if it was. What a clock or a memory meter says is in clock.json and
trace.csv. A run whose record has the same key and whose model is intact is kept: a killed job goes on
where it stopped, and a changed config trains only what changed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structmargin_suite.methods.kinds import Trained
from structmargin_suite.planning.plan import Experiment, Suite
from structmargin_suite.planning.runs import Job, Run
from structmargin_suite.rerun import job_keys, machine
from structmargin_suite.stages._command import guarded, job_of
from structmargin_suite.stages._runs import PreparedParts, do_runs
from structmargin_suite.storage.files import (
    digest,
    read_json,
    sha256,
    write_arrays,
    write_csv,
    write_json,
)
from structmargin_suite.storage.layout import Layout
from structmargin_suite.storage.records import joined

MODEL = "model.npz"


def train(suite: Suite, job: Job) -> None:
    """Do every run of a job that is not done yet, then write the job's receipt."""
    layout = Layout(suite.root)
    corpora = dict.fromkeys(run.corpus for run in job.runs)  # others may not be there yet
    receipts = {corpus: read_json(layout.corpus(job.experiment, corpus)) for corpus in corpora}
    training = Training(suite.experiments[job.experiment], layout, receipts)
    do_runs(layout, job, training, layout.trained(job.experiment, job.name))


@dataclass(frozen=True)
class Training:
    """Training as `do_runs` asks for it; `receipts` say where each corpus came from."""

    experiment: Experiment
    layout: Layout
    receipts: Mapping[str, Mapping[str, Any]]
    stage: str = "train"
    file: str = "run.json"
    tries_failures_again: bool = True

    def key(self, run: Run) -> str:
        return digest([run.spec, job_keys.run_code(self.experiment, run), self.provenance(run)])

    def do(self, run: Run, key: str, parts: PreparedParts) -> dict[str, object]:
        folder = self.layout.run(self.experiment.name, run.name)
        sweep(folder)
        code = job_keys.run_code(self.experiment, run)
        origin = {"key": key, "data": self.provenance(run), "code": code}
        outcome = _train(self.experiment, run, folder, parts)
        return joined({"a run's settings": run.spec, "its origin": origin, "its outcome": outcome})

    def provenance(self, run: Run) -> dict[str, object]:
        """What a run's record says of its data."""
        receipt = self.receipts[run.corpus]
        return {
            "label": receipt["label"],
            "kind": receipt["kind"],
            "files": receipt["files"],
            "part": receipt["parts"][run.part]["sha256"],
            "seed": receipt["parts"][run.part]["seed"],
        }


def sweep(folder: Path) -> None:
    """Remove what an earlier attempt left: its record first, so that it cannot pass for this run's."""
    for path in [folder / "run.json", *sorted(folder.glob("*")), *sorted(folder.glob(".*.tmp*"))]:
        path.unlink(missing_ok=True)


def _train(experiment: Experiment, run: Run, folder: Path, parts: PreparedParts) -> dict[str, object]:
    """Train one run and store it; returns the entries of its record that training decides."""
    from structmargin_suite.datasets import dataset
    from structmargin_suite.methods import training

    if run.skip is not None:
        return _without_model("skipped", run.skip)
    module = dataset(experiment.part(run.part).module)
    arrays = parts[run.part]
    began, cpu = time.perf_counter(), time.process_time()
    try:
        split = module.view(arrays, run.view_seed, **run.view)
        trained = training.train(run.configured, split, run.seed, module.score, module.predict)
    except OSError:
        raise
    except Exception as error:  # a failed run is a row with its reason
        text = str(error).splitlines()[0] if str(error) else "no message"
        return _without_model("failed", f"{type(error).__name__}: {text}")
    clock = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}
    _store(run, trained, clock, folder)
    return {
        "status": "done",
        "reason": None,
        "n_train": len(split.train.Y),
        "n_test": len(split.test.Y),
        "numbers": trained.numbers,
        "chosen": trained.chosen,
        "warnings": trained.warnings,
        "versions": machine.versions(),
        "files": {MODEL: sha256(folder / MODEL)},
    }


def _without_model(status: str, reason: str) -> dict[str, object]:
    return {"status": status, "reason": reason, "versions": machine.versions(), "files": {}}


def _store(run: Run, trained: Trained, clock: dict[str, float], folder: Path) -> None:
    """Write the model, its trace and its clocks."""
    write_arrays(folder / MODEL, run.configured.to_arrays(trained.model))
    if trained.trace:
        columns = list(dict.fromkeys(name for step in trained.trace for name in step))
        write_csv(folder / "trace.csv", trained.trace, columns)
    fit_clocks = {f"fit_{name}": value for name, value in trained.clocks.items()}
    meters: dict[str, object] = {"job_peak_mb": machine.peak_memory_mb(), "machine": machine.facts()}
    write_json(
        folder / "clock.json", joined({"clocks": clock, "the fit's clocks": fit_clocks, "meters": meters})
    )


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    train(*job_of(argv, "train", "Do the trainings of a job."))


if __name__ == "__main__":
    guarded(main)
