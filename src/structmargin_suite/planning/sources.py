"""Which corpora of a plan are here, which can be fetched, and which a synthetic stand-in replaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from structmargin_suite.datasets import DataSet, dataset
from structmargin_suite.fetching.fetch import here, own_files
from structmargin_suite.fetching.originals import at_hand
from structmargin_suite.planning.config import Faults, located
from structmargin_suite.planning.plan import Suite
from structmargin_suite.planning.runs import Part
from structmargin_suite.planning.variants import read_experiment
from structmargin_suite.storage.errors import DataError
from structmargin_suite.storage.layout import Layout

HERE, FETCHED, STAND_IN, SYNTHETIC, MISSING = "here", "can be fetched", "stand-in", "synthetic", "missing"


def own_files_of(part: Part, root: Path) -> dict[str, Path]:
    """The user's files that a part with `source: file` reads, by name; DataError says what is missing."""
    module = dataset(part.module)
    own_folder = None if module.own_folder is None else partial(module.own_folder, **part.params)
    return own_files(part.path, module.FILES, root, own_folder)


@dataclass(frozen=True)
class Source:
    """A corpus of an experiment.

    Attributes
    ----------
    experiment, corpus, module : str
        Its experiment, its name there, and the data set that it is made by.
    state : str
        HERE; FETCHED: it is not here, but has public addresses; STAND_IN: some of its files have none;
        SYNTHETIC: no files belong to it; MISSING: a user's own files that are not there.
    why : str
        From where, how large and under which terms; or what is missing, and what to do.
    """

    experiment: str
    corpus: str
    module: str
    state: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.experiment}, {self.corpus}: {self.state}{': ' if self.why else ''}{self.why}"


def sources(suite: Suite, experiments: Iterable[str] | None = None) -> Iterator[Source]:
    """All corpora of these experiments, or of all."""
    for name in suite.experiments if experiments is None else experiments:
        experiment = suite.experiments[name]
        for corpus in experiment.corpora:
            part = experiment.parts_of(corpus)[0]
            module = dataset(part.module)
            if part.source == "file":
                try:
                    own_files_of(part, suite.root)
                    state, why = HERE, f"from {part.path}"
                except DataError as error:
                    state, why = MISSING, str(error)
            elif part.source == "synthetic" or not module.FILES:
                state, why = SYNTHETIC, "needs nothing"
            else:
                state, why = state_of(suite, part.module)
            yield Source(name, corpus, part.module, state, why)


def missing_files(suite: Suite, experiments: Iterable[str] | None = None) -> list[str]:
    """What to say of users' own files that are not there: the line of the config that names each, and why."""
    sentences = []
    for source in sources(suite, experiments):
        if source.state == MISSING:
            key = ("data", source.corpus, "path")
            document = read_experiment(suite.root, source.experiment, Faults())
            path, line = document.place(located(document, key, suite.scale))
            sentences.append(f"{path}, line {line}: {'.'.join(key)}: {source.why}")
    return sentences


def state_of(suite: Suite, name: str) -> tuple[str, str]:
    """(state, why) of a data set with files."""
    module, raw = dataset(name), Layout(suite.root).raw(name)
    if at_hand(module.FILES, module.HOME, raw, suite.mirror):
        return HERE, ""
    absent = [file for file in module.FILES if not here(file, raw, suite.mirror)]
    if module.HOME.without_address(absent):
        return STAND_IN, module.HOME.by_hand or f"{absent[0].name} has no public address"
    return FETCHED, f"{offer(module)} (structmargin fetch {name})"


def offer(module: DataSet) -> str:
    """What a data set is, from where, how large, and under which terms."""
    home = module.HOME
    size = home.size or "size not known beforehand"
    addresses = home.addresses(module.FILES) or [home.page]
    more = f" and {len(addresses) - 1} more" if len(addresses) > 1 else ""
    return f"{home.title}, {home.version}, from {addresses[0]}{more}; {size}; terms: {home.terms}"


def forecast(found: Iterable[Source]) -> list[str]:
    """What a run is going to do about data that are not here, in lines."""
    lines = []
    for state, what in ((FETCHED, "to be fetched"), (STAND_IN, "a synthetic stand-in replaces")):
        named = [source for source in found if source.state == state]
        if named:
            lines.append(f"{what}: {', '.join(f'{source.corpus} ({source.experiment})' for source in named)}")
    return lines
