"""Runs, the parts of data they read, and the jobs that do them: what a plan is made of.

A run is a point of a study's grid. Its name spells only what varies, its seed follows from the
suite's seed, the experiment and that name. Two studies that ask for the same settings share a run.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from structmargin_suite.fetching.fetch import OwnFiles
from structmargin_suite.methods.method import Method
from structmargin_suite.planning.config import ConfigError
from structmargin_suite.storage.files import cell, digest, in_order
from structmargin_suite.storage.names import MAX_FILE_NAME, MAX_NAME, joined, slug_of


def derive(seed: int, *words: object) -> int:
    """A seed of its own for what the words name, from the suite's one seed."""
    name = int.from_bytes(hashlib.sha256(repr(words).encode("utf-8")).digest()[:16], "little")
    return int(np.random.SeedSequence([seed, name]).generate_state(1)[0])


@dataclass(frozen=True)
class Part:
    """A prepared piece of a corpus: what `prepare` writes once and many runs read."""

    experiment: str
    corpus: str
    name: str
    module: str
    source: str
    path: OwnFiles | None
    params: dict[str, object]
    seed: int


@dataclass(frozen=True)
class Run:
    """One training and its evaluation.

    `view` are the parameters of the data set's own view of a part, `configured` is the method with this run's
    options set, `reading` names the reading of the paper that it belongs to ("" where its method has none),
    `decided` are the options that the reading sets, by their whole names, `settings` are all its options by
    the names that results give them (see `column_names`), `varied` those that vary within the experiment, and
    `skip` says why it cannot be done.
    """

    experiment: str
    corpus: str
    prepare: dict[str, object]
    view: dict[str, object]
    configured: Method
    studies: tuple[str, ...]
    reading: str = ""
    decided: tuple[str, ...] = ()
    name: str = ""
    part: str = ""
    seed: int = 0
    view_seed: int = 0
    settings: dict[str, object] = field(default_factory=dict)
    varied: dict[str, object] = field(default_factory=dict)
    skip: str | None = None

    @property
    def method(self) -> str:
        """The name of its method."""
        return self.configured.name

    @property
    def options(self) -> dict[str, object]:
        """Everything that may vary; options inside a problem, a kernel or a solver have dotted names.

        Raises NameClash where the data set and the method have an option of the same name.
        """
        return joined(
            {
                "every run": {"corpus": self.corpus, "method": self.method, "reading": self.reading},
                "the data's preparation": self.prepare,
                "the data's view": self.view,
                f"the method {self.method!r}": dict(self.configured.options()),
            }
        )

    @property
    def spec(self) -> dict[str, object]:
        """What decides the outcome, apart from data and code; the same for keys in another order."""
        return {
            "experiment": self.experiment,
            "run": self.name,
            "method": self.method,
            "reading": self.reading,
            "corpus": self.corpus,
            "part": self.part,
            "prepare": in_order(self.prepare),
            "view": in_order(self.view),
            "model": in_order(self.configured.record),
            "seed": self.seed,
            "view_seed": self.view_seed,
            "skip": self.skip,
        }


@dataclass(frozen=True)
class Job:
    """Several runs that one process does one after the other; its trainings may use so many threads."""

    experiment: str
    name: str
    runs: tuple[Run, ...]
    threads: int = 1


def grid(vary: Mapping[str, Sequence[object]]) -> Iterable[dict[str, object]]:
    """Every combination, the last key moving fastest."""
    for values in itertools.product(*vary.values()):
        yield dict(zip(vary, values, strict=True))


def without_duplicates(runs: Iterable[Run]) -> list[Run]:
    """Runs with equal settings made one, which belongs to all their studies."""
    distinct: dict[str, Run] = {}
    for run in runs:
        key = digest([run.corpus, run.method, run.reading, run.prepare, run.view, run.configured.record])
        if key in distinct:
            both = dict.fromkeys(distinct[key].studies + run.studies)
            distinct[key] = replace(distinct[key], studies=tuple(both))
        else:
            distinct[key] = run
    return list(distinct.values())


def column_names(runs: Sequence[Run]) -> dict[str, str]:
    """What names of runs and columns of results call each option.

    It is the last name in the option's dotted name, where that is unambiguous.

    Options with the same last name (problem.loss, kernel.loss) share it as long as each method has only one
    of them, or has the same value for all in every run; otherwise each goes by its dotted name. So two runs
    of one method that differ in an option differ under these names too.
    """
    options: dict[str, list[dict[str, object]]] = {}
    for run in runs:
        options.setdefault(run.method, []).append(run.options)
    sharing: dict[str, dict[str, None]] = {}
    for name in (name for method in options.values() for values in method for name in values):
        sharing.setdefault(last_name(name), {})[name] = None
    columns: dict[str, str] = {}
    for last, names in sharing.items():
        clear = len(names) == 1 or all(_agree(method, names) for method in options.values())
        columns |= {name: last if clear else name for name in names}
    return columns


def last_name(name: str) -> str:
    """What stands after the last dot of a dotted name."""
    return name.rpartition(".")[2]


def _agree(runs: Sequence[Mapping[str, object]], names: Iterable[str]) -> bool:
    """Whether the runs of one method have at most one of these options, or one value for all in every run."""
    used = [name for name in names if any(name in options for options in runs)]
    return len(used) <= 1 or all(
        all(name in options for name in used) and len({digest(options[name]) for name in used}) == 1
        for options in runs
    )


def with_names(
    runs: Sequence[Run], seed: int, order: Sequence[str] = (), draws_as: str | None = None
) -> list[Run]:
    """Names, parts, seeds, settings and what varies, for an experiment's runs.

    Seeds are those of the runs of these names in the experiment `draws_as`, by default their own.

    A name has the method and corpus where there are several, then `key=value` for what varies among
    the runs of that method: the reading first, then keys that `order` lists by their whole names. What the
    reading alone decides is not spelled again.
    """
    columns = column_names(runs)
    order = ["reading", *(columns.get(key, last_name(key)) for key in order)]
    settings = [{columns[name]: value for name, value in run.options.items()} for run in runs]
    everywhere = _varying(settings, order)
    by_method = {}
    for method in dict.fromkeys(run.method for run in runs):
        own = [values for values in settings if values["method"] == method]
        sets = {columns.get(key) for run in runs if run.method == method for key in run.decided}
        decided = {key for key in sets if not any(key in _varying(each, order) for each in _by_reading(own))}
        by_method[method] = [key for key in _varying(own, order) if key not in decided]
    parts = _varying([{"corpus": run.corpus, **run.prepare} for run in runs], order)
    result = []
    for run, values in zip(runs, settings, strict=True):
        name = _run_name(values, everywhere, by_method[run.method])
        result.append(
            replace(
                run,
                name=name,
                part=_part_name(run, parts),
                seed=derive(seed, draws_as or run.experiment, name),
                view_seed=derive(seed, "view", run.corpus, values.get("repetition", 0)),
                settings=values,
                varied={key: values.get(key) for key in everywhere},
            )
        )
    _refuse_equal_names(result)
    return result


def _by_reading(settings: Sequence[Mapping[str, object]]) -> list[list[Mapping[str, object]]]:
    """The settings of runs, those of each reading together."""
    groups: dict[object, list[Mapping[str, object]]] = {}
    for values in settings:
        groups.setdefault(values["reading"], []).append(values)
    return list(groups.values())


def _run_name(settings: Mapping[str, object], everywhere: Sequence[str], varying: Sequence[str]) -> str:
    heads = [slug(settings[key]) for key in ("method", "corpus") if key in everywhere]
    tails = [
        f"{slug(key)}={slug(settings[key])}"
        for key in varying
        if key not in ("method", "corpus") and key in settings
    ]
    return ",".join([*heads, *tails]) or slug(settings["method"])


def _part_name(run: Run, varying: Sequence[str]) -> str:
    tails = [f"{slug(key)}={slug(run.prepare[key])}" for key in varying if key in run.prepare]
    return ",".join([slug(run.corpus), *tails])


def _refuse_equal_names(runs: Sequence[Run]) -> None:
    """Raise where two runs, or two parts, have one name, or a name is too long for a file.

    Values may look alike in a file's name ("a b", "a-b"), and on some systems so do upper and lower case.
    """
    seen: dict[str, Run] = {}
    parts: dict[str, Run] = {}
    for run in runs:
        other = seen.setdefault(run.name.casefold(), run)
        if other is not run:
            raise _equal("runs", run.experiment, run.name, run.options, other.options)
        other = parts.setdefault(run.part.casefold(), run)
        if (other.corpus, digest(other.prepare)) != (run.corpus, digest(run.prepare)):
            ours, theirs = ({"corpus": each.corpus, **each.prepare} for each in (run, other))
            raise _equal("parts", run.experiment, run.part, ours, theirs)
        refuse_long_name(run.experiment, max(run.name, run.part, key=len))


def refuse_long_name(experiment: str, name: str) -> None:
    if len(name) > MAX_FILE_NAME:
        raise ConfigError(
            f"files of {experiment!r} would have the name {name[:60]!r}... of {len(name)} characters; "
            f"let fewer keys vary, or use shorter values: at most {MAX_FILE_NAME} are allowed"
        )


def _equal(
    what: str, experiment: str, name: str, ours: Mapping[str, object], theirs: Mapping[str, object]
) -> ConfigError:
    differing = [key for key in {**theirs, **ours} if ours.get(key) != theirs.get(key)]
    return ConfigError(
        f"two {what} of {experiment!r} would have the name {name!r}: they differ in "
        f"{', '.join(differing) or 'nothing'}, whose values look alike in a file's name; rename one"
    )


def _varying(settings: Sequence[Mapping[str, object]], order: Sequence[str]) -> list[str]:
    """The keys that take more than one value, those of `order` first."""
    seen: dict[str, set[object]] = {}
    for run in settings:
        for key, value in run.items():
            seen.setdefault(key, set()).add(_told_apart(value))
    missing = {key for run in settings for key in seen if key not in run}
    varying = [key for key in seen if len(seen[key]) > 1 or key in missing]
    return sorted(varying, key=lambda key: (order.index(key) if key in order else len(order), key))


def _told_apart(value: object) -> object:
    """What is equal for equal values and only for these: a digest, or at less cost a value with its type."""
    return (type(value), value) if isinstance(value, (str, int)) else digest(value)


def slug(value: object) -> str:
    """A value as it is written in a file name."""
    text = cell(value) if not isinstance(value, (list, dict)) else digest(value)[:8]
    return slug_of(text if len(text) <= MAX_NAME else f"{text[: MAX_NAME - 9]}-{digest(text)[:8]}")
