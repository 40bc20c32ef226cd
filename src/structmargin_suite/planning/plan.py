"""From configuration to runs: configs/suite.yaml and one file per experiment become a checked plan.

An experiment's file is written at the paper's scale; `scales` says what is smaller elsewhere. Every
scale is checked, whichever is asked for. All faults are found before anything runs.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from structmargin_suite.methods.method import Method
from structmargin_suite.methods.reading import Reading
from structmargin_suite.planning.catalogue import Catalogue
from structmargin_suite.planning.checks import Checks
from structmargin_suite.planning.config import (
    ConfigError,
    Document,
    Faults,
    changes,
    merged,
    read,
    repaired,
    short,
    unknown,
    validate,
)
from structmargin_suite.planning.jobs import grouped_into_jobs
from structmargin_suite.planning.runs import Job, Part, Run, derive, with_names, without_duplicates
from structmargin_suite.planning.studies import expand
from structmargin_suite.planning.variants import EXTENDS, read_experiment
from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import read_yaml
from structmargin_suite.storage.names import alike, file_name_fault
from structmargin_suite.storage.statements_file import Statement

SCALES = ("smoke", "standard", "paper")
SCALE_VARIABLE = "STRUCTMARGIN_SCALE"
"""The environment variable by which a workflow tells its jobs the scale."""


Shrunk = tuple[str, object, object]
"""A key of a config, its value at the paper's scale, and its smaller value here."""


@dataclass(frozen=True)
class Experiment:
    """One experiment at one scale: its configuration, what was shrunk, its readings, methods, runs, parts and
    jobs. In the configuration, tables whose runs have readings have `reading` among their keys."""

    name: str
    config: dict[str, Any]
    shrunk: tuple[Shrunk, ...]
    readings: dict[str, Reading]
    methods: dict[str, Method]
    runs: tuple[Run, ...]
    parts: tuple[Part, ...]
    jobs: tuple[Job, ...]

    def job(self, name: str) -> Job:
        """The job of that name."""
        for job in self.jobs:
            if job.name == name:
                return job
        raise KeyError(
            f"experiment {self.name!r} has no job {name!r}; it has {[job.name for job in self.jobs]}"
        )

    def part(self, name: str) -> Part:
        """The part of that name."""
        for part in self.parts:
            if part.name == name:
                return part
        raise KeyError(
            f"experiment {self.name!r} has no part {name!r}; it has {[part.name for part in self.parts]}"
        )

    def parts_of(self, corpus: str) -> list[Part]:
        """The parts of one corpus."""
        return [part for part in self.parts if part.corpus == corpus]

    @property
    def corpora(self) -> list[str]:
        """The corpora that some run reads."""
        return list(dict.fromkeys(part.corpus for part in self.parts))


@dataclass(frozen=True)
class Suite:
    """Everything there is to do, under one root folder."""

    root: Path
    seed: int
    scale: str
    mirror: Path
    experiments: dict[str, Experiment] = field(default_factory=dict)


def load(
    root: Path,
    scale: str | None = None,
    library: bool = True,
    only: Sequence[str] | None = None,
    seed: int | None = None,
) -> Suite:
    """Read and check the whole configuration.

    Parameters
    ----------
    root : Path
        The project's folder.
    scale : str, optional
        smoke, standard or paper, in place of the suite's own.
    library : bool
        Whether methods are checked against the library, which must be imported for it, and all scales are
        checked. Stages that run after a whole plan was made do without; then no run is known to be
        impossible.
    only : sequence of str, optional
        The experiments to read and plan; all of the suite's by default.
    seed : int, optional
        In place of the suite's own.

    Returns
    -------
    Suite
        Every experiment with its methods, runs, parts and jobs.

    Raises
    ------
    ConfigError
        With every fault there is.
    """
    with _as_config_errors():
        return _load(root, scale, library, only, seed)


def load_statements(root: Path) -> dict[str, Statement]:
    """What the papers state, by id; a damaged or missing list is a ConfigError."""
    with _as_config_errors():
        return Catalogue(root).statements


@contextlib.contextmanager
def _as_config_errors() -> Iterator[None]:
    """Faults of files that come with the project (schemas, statements) as faults of the configuration."""
    try:
        yield
    except DamagedFile as error:
        raise ConfigError(f"1 problem in the configuration:\n  {error}") from None
    except OSError as error:
        what = f"{error.filename}: cannot be read ({error.strerror}); put it back, or correct its permissions"
        raise ConfigError(f"1 problem in the configuration:\n  {what}") from None


def _load(
    root: Path, scale: str | None, library: bool, only: Sequence[str] | None, other_seed: int | None
) -> Suite:
    faults = Faults()
    catalogue = Catalogue(root, library)
    document = read(root / "configs" / "suite.yaml", faults)
    if document.whole:
        validate(document.values, _schema(root, "suite"), document, faults)
        _check_experiments(document, faults)
    if scale is not None and scale not in SCALES:
        faults.add(Document(Path("--config scale")), (), unknown(scale, SCALES, "value"))
    values = document.values
    sound = not faults.messages  # if not, the experiments are read all the same, for faults of their own
    chosen: str = (scale or values["scale"]) if sound else SCALES[0]
    seed: int = 0 if not sound else values["seed"] if other_seed is None else other_seed
    names = values.get("experiments")
    experiments = {
        name: _experiment(root, name, seed, chosen, catalogue, faults)
        for name in (names if isinstance(names, list) else [])
        if isinstance(name, str) and file_name_fault(name) is None and (only is None or name in only)
    }
    faults.done()
    mirror = Path(os.environ.get("STRUCTMARGIN_DATA") or root / values.get("mirror", "data/mirror"))
    return Suite(
        root, seed, chosen, mirror, {name: plan for name, plan in experiments.items() if plan is not None}
    )


RESERVED = (
    "all", "prepare", "train", "evaluate", "tabulate", "show", "report", "complete", "logs", "scales",
    "seeds", "snapshot", "suite", "schema", "results",
)  # fmt: skip
"""Names of rules, and of what else lies in configs/ and results/."""


def _check_experiments(document: Document, faults: Faults) -> None:
    """Experiments whose names are free and keep apart."""
    names = document.values.get("experiments")
    texts = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    twins = alike(texts)
    for position, name in enumerate(texts):
        where = ("experiments", str(position))
        if name.casefold() in RESERVED or name.casefold().startswith("tabulate_"):
            faults.add(
                document, where, f"the suite itself uses the name {short(name)}; rename the experiment"
            )
        if name in twins:
            faults.add(
                document, where, f"{short(name)} and {short(twins[name])} would be one file; rename one"
            )


def _experiment(
    root: Path, name: str, seed: int, scale: str, catalogue: Catalogue, faults: Faults
) -> Experiment | None:
    """One experiment at `scale`, with every scale checked; None where there were faults."""
    before = len(faults.messages)
    document = read_experiment(root, name, faults)
    if not document.whole:
        return None
    schema = _schema(root, "experiment")
    base = document.values
    validate(base, schema, document, faults)
    overrides = base.get("scales") if isinstance(base.get("scales"), dict) else {}
    written = {key: value for key, value in base.items() if key != "scales"}
    within = {**schema, "required": [key for key in schema["required"] if key in written]}
    plan: Experiment | None = None
    checked = [each for each in SCALES if each != scale] if catalogue.library else []
    for each in [*checked, scale]:
        override = (overrides or {}).get(each)
        override = override if isinstance(override, dict) else {}
        config = merged(written, override)
        validate(config, within, document, faults, scale=each)
        checks = Checks(
            name=name,
            config=repaired(config, within, document, each),
            written=config,
            document=document,
            scale=each,
            catalogue=catalogue,
            faults=faults,
            schema=schema,
        )
        runs = expand(checks)
        if len(faults.messages) > before or each != scale:
            continue
        shrunk = tuple(
            (".".join(key), old, new) for key, old, new in changes(base, override) if key[0] != "jobs"
        )
        try:
            plan = _arranged(checks, shrunk, runs, seed)
        except ConfigError as error:
            checks.fault(("studies",), str(error))
    return plan


def _arranged(checks: Checks, shrunk: tuple[Shrunk, ...], runs: Sequence[Run], seed: int) -> Experiment:
    """Names, seeds, parts and jobs for the runs of an experiment whose config has no fault."""
    config = checks.written
    order = [key for study in config["studies"].values() for key in study.get("vary", {})]
    ready = with_names(without_duplicates(runs), seed, order, config.get(EXTENDS, checks.name))
    parts: dict[str, Part] = {}
    for run in ready:
        if run.part not in parts:
            parts[run.part] = _part(run, config["data"][run.corpus], seed)
    grouping = config.get("jobs", {})
    by = grouping.get("by", ["repetition"] if "repetitions" in config else [])
    return Experiment(
        name=checks.name,
        config={**config, "tables": {name: keyed(spec, ready) for name, spec in config["tables"].items()}},
        shrunk=shrunk,
        readings=checks.readings,
        methods=checks.methods,
        runs=tuple(ready),
        parts=tuple(parts.values()),
        jobs=tuple(
            grouped_into_jobs(checks.name, ready, by, grouping.get("at_most"), grouping.get("alone", []))
        ),
    )


def keyed(spec: Mapping[str, Any], runs: Sequence[Run]) -> dict[str, Any]:
    """A table's entry, with the key `reading` right after the method if some of its runs have a reading."""
    keys, found_as = list(spec["keys"]), spec.get("found_as", {})
    studies = {spec["study"]} if isinstance(spec["study"], str) else set(spec["study"])
    shown = [run for run in runs if studies & set(run.studies)]
    read = any(run.reading for run in shown if run.method in spec.get("methods", [run.method]))
    if not read or "reading" in (*keys, *spec.get("over", [])):
        return dict(spec)
    after_method = next((n for n, key in enumerate(keys, 1) if found_as.get(key, key) == "method"), 0)
    return {**spec, "keys": [*keys[:after_method], "reading", *keys[after_method:]]}


def _part(run: Run, source: Mapping[str, Any], seed: int) -> Part:
    """The part of the data that a run reads, from the corpus's entry in the config."""
    return Part(
        experiment=run.experiment,
        corpus=run.corpus,
        name=run.part,
        module=source["from"],
        source=source["source"],
        path=source.get("path"),
        params=run.prepare,
        seed=derive(seed, "data", source["from"], run.settings.get("repetition", 0)),
    )


@functools.cache
def _schema(root: Path, name: str) -> dict[str, Any]:
    schema: dict[str, Any] = read_yaml(root / "configs" / "schema" / f"{name}.yaml")
    return schema
