"""Which files on disk are not what the plan asks for, so that they are made again.

Snakemake makes again what is missing, older than its inputs, or was made with other parameters, as far as
its own notes say. It does not look into files: what was edited, cut short, swapped or left from another
configuration, with the notes lost, would pass. So before anything runs every file of the experiments
asked for is compared with its key and its sums. What does not fit is removed, and with it one file of each
later step: Snakemake leaves out an early step as long as all files of the later ones are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from structmargin_suite.datasets import dataset
from structmargin_suite.fetching.originals import at_hand
from structmargin_suite.planning.plan import Experiment, Suite
from structmargin_suite.planning.runs import Job, Part
from structmargin_suite.planning.sources import own_files_of
from structmargin_suite.rerun import job_keys
from structmargin_suite.storage.bundle import Bundle
from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import json_bytes, sha256
from structmargin_suite.storage.layout import RECORD_FILE, Layout, ScaleLayout, tabulated
from structmargin_suite.storage.seal import SEAL, verified

OTHER = "was made from another configuration, other data or other code"
DAMAGED = "is not as it was written"
MISSING = "is missing"
FOLDER = "is a folder where a file belongs"
NO_TEXT = "is no text, and Snakemake could not read it"
LINK = "is a link to nothing where a file belongs"


class Unfit(NamedTuple):
    """A file that does not fit, why, whether it is damaged (else only out of date), and what goes with it."""

    path: Path
    why: str
    damaged: bool
    later: tuple[Path, ...]


def unfit(suite: Suite, names: Sequence[str]) -> Iterator[Unfit]:
    """The files of some experiments, and of the report, that do not fit the plan."""
    layout = ScaleLayout(suite.root, suite.scale)
    for name in names:
        yield from Check(suite, suite.experiments[name], layout).faults()
    yield from (Unfit(path, why, True, ()) for path, why in _strays(suite.root, layout))
    pages = (layout.page, *(layout.page_of(name) for name in suite.experiments))
    for path in (layout.statements, layout.distances, *pages, layout.results / SEAL, layout.complete):
        if (why := _no_file(path)) is not None:
            yield Unfit(path, why, True, (layout.results / SEAL, layout.complete))
    for why, damaged in _of_folder(layout.results, job_keys.page_key(suite, layout)):
        yield Unfit(layout.results / SEAL, why, damaged, (layout.complete,))
    if layout.complete.is_file() and layout.complete.read_bytes() != json_bytes(completion(suite, names)):
        yield Unfit(layout.complete, "is not of these experiments at this scale", False, ())


def completion(suite: Suite, names: Sequence[str]) -> dict[str, object]:
    """What results/complete.json says once no run of these experiments has failed."""
    return {"scale": suite.scale, "experiments": list(names)}


class Check:
    """The files of one experiment, compared step by step."""

    def __init__(self, suite: Suite, experiment: Experiment, layout: ScaleLayout) -> None:
        self.suite, self.experiment, self.layout = suite, experiment, layout
        self.allowed = bool(experiment.config.get("allow_failed_runs"))
        name = experiment.name
        self.folders = (layout.experiment(name), layout.shown(name))
        seals = [folder / SEAL for folder in (*self.folders, layout.results)]
        self.after_jobs = (*seals, layout.complete)

    def faults(self) -> Iterator[Unfit]:
        """Everything that does not fit."""
        name, jobs = self.experiment.name, self.experiment.jobs
        corpora, whole = {}, True
        for position, folder in enumerate(self.folders):
            for path in (folder / file for file in (*tabulated(self.experiment.config), SEAL)):
                if (why := _no_file(path)) is not None:
                    yield Unfit(path, why, True, self.after_jobs[position:])
        for corpus in self.experiment.corpora:
            path = self.layout.corpus(name, corpus)
            bundle, why = opened(path)
            damaged = why is not None
            if bundle is not None:
                why = self.corpus_problem(corpus, bundle)
            readers = [job for job in jobs if any(run.corpus == corpus for run in job.runs)]
            later = (*(file for job in readers for file in self.bundles(job)), *self.after_jobs)
            if bundle is None and why is None and any(file.exists() for file in later):
                why = MISSING
            if why is not None:
                yield Unfit(path, why, damaged, later)
            elif bundle is not None:
                corpora[corpus] = bundle
        for job in jobs:
            for fault in self._of_job(job, corpora):
                whole = False
                yield fault
        paths = job_keys.bundles(self.suite, name, self.layout)
        if whole and len(corpora) == len(self.experiment.corpora) and all(path.is_file() for path in paths):
            key = job_keys.tables_key(self.suite, name, self.layout)
            for position, folder in enumerate(self.folders):
                for why, damaged in _of_folder(folder, key):
                    yield Unfit(folder / SEAL, why, damaged, self.after_jobs[position + 1 :])

    def bundles(self, job: Job) -> tuple[Path, Path, Path]:
        """What a job writes: trained, clocks, evaluated."""
        name, layout = self.experiment.name, self.layout
        return (
            layout.trained(name, job.name),
            layout.clocks(name, job.name),
            layout.evaluated(name, job.name),
        )

    def corpus_problem(self, corpus: str, bundle: Bundle) -> str | None:
        """Why a prepared corpus is not what the plan asks for; None where it is."""
        part = self.experiment.parts_of(corpus)[0]
        if bundle.about.get("key") != job_keys.prepare_key(self.suite, self.experiment.name, corpus):
            return OTHER
        if part.source == "file" and self._own_sums(part) != bundle.about.get("files"):
            return OTHER
        module, raw = dataset(part.module), Layout(self.suite.root).raw(part.module)
        synthetic = part.source == "auto" and bundle.about.get("kind") == "synthetic"
        if synthetic and module.FILES and at_hand(module.FILES, module.HOME, raw, self.suite.mirror):
            return "is synthetic, and the real data are available now"
        return None

    def _own_sums(self, part: Part) -> dict[str, str]:
        return {name: sha256(path) for name, path in own_files_of(part, self.suite.root).items()}

    def _of_job(self, job: Job, corpora: Mapping[str, Bundle]) -> Iterator[Unfit]:
        """The bundles of a job that do not fit; failed runs do not, unless the config allows them."""
        paths = self.bundles(job)
        (trained, fault), (clocks, clock_fault), (evaluated, evaluated_fault) = map(opened, paths)
        for position, why in enumerate((fault, clock_fault, evaluated_fault)):
            later = (*(paths if position < 2 else ()), *self.after_jobs)
            if why is not None:
                yield Unfit(paths[position], why, True, later)
            elif not paths[position].exists() and any(file.exists() for file in later):
                yield Unfit(paths[position], MISSING, False, later)
        if trained is None or clocks is None or any(run.corpus not in corpora for run in job.runs):
            return
        problem = self.training_problem(job, trained, clocks, corpora)
        if problem:
            yield Unfit(trained.path, problem, False, (*paths, *self.after_jobs))
        elif evaluated is not None:
            judged = {run.name: job_keys.evaluation_key(run, trained) for run in job.runs}
            problem = self._problem(evaluated, judged)
            if problem:
                yield Unfit(evaluated.path, problem, False, self.after_jobs)

    def training_problem(
        self, job: Job, trained: Bundle, clocks: Bundle, corpora: Mapping[str, Bundle]
    ) -> str | None:
        """Why what a job's training wrote is not what the plan asks for; None where it is."""
        keys = {
            run.name: job_keys.training_key(self.experiment, run, corpora[run.corpus]) for run in job.runs
        }
        problem = self._problem(trained, keys) or self._problem(clocks, keys)
        skipped = {run.name: run.skip for run in job.runs if run.skip is not None}
        return problem or (OTHER if _skipped(trained) != skipped else None)

    def _problem(self, bundle: Bundle, keys: Mapping[str, str]) -> str | None:
        if {name: bundle.key(name) for name in bundle.entries} != dict(keys):
            return OTHER
        failed = not self.allowed and any(bundle.status(name) == "failed" for name in keys)
        return "has failed runs" if failed else None


def _skipped(trained: Bundle) -> dict[str, str]:
    """Why runs were skipped, by their names."""
    return {
        name: trained.json(name, RECORD_FILE)["reason"]
        for name in trained.entries
        if trained.status(name) == "skipped"
    }


def _strays(root: Path, layout: ScaleLayout) -> Iterator[tuple[Path, str]]:
    """Folders where logs or Snakemake's notes on files belong, and notes that Snakemake would end at.

    Snakemake splits long names of notes at @. It passes over notes that are not JSON, but not over bytes that
    are no text.
    """
    logs = layout.results.rglob("logs/*.log")
    notes = list(root.glob(".snakemake/metadata/*"))
    folders = (path for path in (*logs, *notes) if not path.name.startswith("@"))
    yield from ((path, FOLDER) for path in folders if path.is_dir())
    for note in (path for path in root.glob(".snakemake/metadata/**/*") if path.is_file()):
        try:
            note.read_bytes().decode()
        except UnicodeDecodeError:
            yield note, NO_TEXT


def _no_file(path: Path) -> str | None:
    """What is there in place of a file: a folder, or a link that leads nowhere."""
    if path.is_dir():
        return FOLDER
    return LINK if path.is_symlink() and not path.exists() else None


def opened(path: Path) -> tuple[Bundle | None, str | None]:
    """A bundle that is there and whole; where it is not whole, that it is damaged."""
    if not path.exists():
        return None, (DAMAGED if path.is_symlink() else None)
    try:
        bundle = Bundle(path)
        bundle.verify()
    except (DamagedFile, OSError):
        return None, DAMAGED
    return bundle, None


def _of_folder(folder: Path, key: str) -> Iterator[tuple[str, bool]]:
    """What is wrong with a sealed folder, and whether it is damaged; nothing where there is no seal."""
    if not (folder / SEAL).exists():
        return
    try:
        if verified(folder).key != key:
            yield OTHER, False
    except (DamagedFile, OSError) as error:
        yield f"does not fit its folder ({error})", True
