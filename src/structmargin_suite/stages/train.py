"""Stage 2: train the runs of one job. data/ready -> results/scales/<scale>/E/jobs/J.{trained,clocks}.zip.

Of each run the first bundle has run.json and model.npz, and gains.csv where the solver noted what each cut
gains; the second has clock.json and trace.csv. run.json holds
everything about a run but clocks: settings, seed, data, code, versions, the fit's numbers, and why it was
skipped or failed if it was. What a clock or a memory meter says is in the second bundle alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from structmargin_suite.methods.kinds import Trained
from structmargin_suite.planning.plan import Experiment, Suite
from structmargin_suite.planning.runs import Job, Run
from structmargin_suite.rerun import job_keys, machine
from structmargin_suite.stages._command import guarded, job_of
from structmargin_suite.stages._runs import (
    Corpora,
    PreparedParts,
    corpora_of,
    finished,
    refuse_as_result,
)
from structmargin_suite.storage.arrays import npz_bytes
from structmargin_suite.storage.bundle import Entry, write_bundle
from structmargin_suite.storage.csv_files import csv_bytes
from structmargin_suite.storage.files import json_bytes
from structmargin_suite.storage.layout import (
    CLOCK_FILE,
    GAINS_FILE,
    MODEL_FILE,
    RECORD_FILE,
    TRACE_FILE,
    ScaleLayout,
)
from structmargin_suite.storage.names import joined


def train(suite: Suite, job: Job, layout: ScaleLayout | None = None) -> None:
    """Do the runs of a job and write its two bundles."""
    layout = layout or ScaleLayout(suite.root, suite.scale)
    training = Training(suite.experiments[job.experiment], corpora_of(layout, job))
    clocks: list[Entry] = []

    def trained() -> Iterator[Entry]:
        for entry in finished(layout, job, training):
            timed = {name: data for name, data in entry.files.items() if name in (CLOCK_FILE, TRACE_FILE)}
            clocks.append(entry._replace(files=timed))
            stable = {name: data for name, data in entry.files.items() if name not in timed}
            yield entry._replace(files=stable)

    write_bundle(layout.trained(job.experiment, job.name), {}, trained())
    write_bundle(layout.clocks(job.experiment, job.name), {}, clocks)


@dataclass
class Training:
    """Training as `finished` asks for it."""

    experiment: Experiment
    corpora: Corpora
    stage: str = "train"
    record: str = RECORD_FILE

    def __post_init__(self) -> None:
        self.parts = PreparedParts(self.corpora)

    def key(self, run: Run) -> str:
        return job_keys.training_key(self.experiment, run, self.corpora[run.corpus])

    def do(self, run: Run, key: str) -> Entry:
        origin = {
            "key": key,
            "data": job_keys.data_of(run, self.corpora[run.corpus]),
            "code": job_keys.run_code(self.experiment, run),
        }
        outcome, files = _train(self.experiment, run, self.parts)
        record = joined({"a run's settings": run.spec, "its origin": origin, "its outcome": outcome})
        return Entry(run.name, key, str(outcome["status"]), {RECORD_FILE: json_bytes(record), **files})


Outcome = tuple[dict[str, object], dict[str, bytes]]
"""The entries of a run's record that training decides, and its files."""


def _train(experiment: Experiment, run: Run, parts: PreparedParts) -> Outcome:
    from structmargin_suite.datasets import dataset
    from structmargin_suite.methods import training

    if run.skip is not None:
        return _without_model("skipped", run.skip)
    module = dataset(experiment.part(run.part).module)
    arrays = parts.of(run)
    began, cpu = time.perf_counter(), time.process_time()
    try:
        split = module.view(arrays, run.view_seed, **run.view)
        trained = training.train(run.configured, split, run.seed, module.score, module.predict, run.view_seed)
    except Exception as error:  # a failed run is a row with its reason
        refuse_as_result(error)
        text = str(error).splitlines()[0] if str(error) else "no message"
        return _without_model("failed", f"{type(error).__name__}: {text}")
    clock = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}
    outcome: dict[str, object] = {
        "status": "done",
        "reason": None,
        "n_train": len(split.train.Y),
        "n_test": len(split.test.Y),
        "numbers": trained.numbers,
        "chosen": trained.chosen,
        "held_out": trained.held_out,
        "warnings": trained.warnings,
        "versions": machine.versions(),
    }
    return outcome, _files(run, trained, clock)


def _without_model(status: str, reason: str) -> Outcome:
    return {"status": status, "reason": reason, "versions": machine.versions()}, {}


def _files(run: Run, trained: Trained, clock: dict[str, float]) -> dict[str, bytes]:
    """The model, its trace, the gains of its cuts and its clocks."""
    files = {MODEL_FILE: npz_bytes(run.configured.to_arrays(trained.model))}
    for name, rows in ((TRACE_FILE, trained.trace), (GAINS_FILE, trained.gains)):
        if rows:
            files[name] = csv_bytes(rows, list(dict.fromkeys(key for row in rows for key in row)))
    fit_clocks = {f"fit_{name}": value for name, value in trained.clocks.items()}
    meters: dict[str, object] = {"job_peak_mb": machine.peak_memory_mb(), "machine": machine.facts()}
    files[CLOCK_FILE] = json_bytes(
        joined({"clocks": clock, "the fit's clocks": fit_clocks, "meters": meters})
    )
    return files


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    train(*job_of(argv, "train", "Do the trainings of a job."))


if __name__ == "__main__":
    guarded(main)
