"""Runs, the parts of data they read, and the jobs that do them: what a plan is made of.

A run is a point of a study's grid. Its name spells only what varies, its seed follows from the
suite's seed, the experiment and that name. Two studies that ask for the same settings share a run.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from structmargin_suite.methods.method import Method
from structmargin_suite.storage.files import cell, digest


def derive(seed: int, *words: Any) -> int:
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
    path: Any
    params: dict[str, Any]
    seed: int


@dataclass(frozen=True)
class Run:
    """One training and its evaluation.

    `view` are the parameters of the data set's own view of a part, `configured` is the method with this run's
    options set, `varied` what varies within the experiment, and `skip` why it cannot be done.
    """

    experiment: str
    corpus: str
    prepare: dict[str, Any]
    view: dict[str, Any]
    configured: Method
    studies: tuple[str, ...]
    name: str = ""
    part: str = ""
    seed: int = 0
    view_seed: int = 0
    varied: dict[str, Any] = field(default_factory=dict)
    skip: str | None = None

    @property
    def method(self) -> str:
        """The name of its method."""
        return self.configured.name

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that may vary, flat: nested options go by their last name."""
        flat: dict[str, Any] = {"corpus": self.corpus, "method": self.method}
        flat |= {**self.prepare, **self.view}
        flat |= {name.rpartition(".")[2]: value for name, value in self.configured.options()}
        return flat

    @property
    def spec(self) -> dict[str, Any]:
        """What decides the outcome, apart from data and code."""
        return {
            "experiment": self.experiment,
            "run": self.name,
            "method": self.method,
            "corpus": self.corpus,
            "part": self.part,
            "prepare": self.prepare,
            "view": self.view,
            "model": self.configured.record,
            "seed": self.seed,
            "view_seed": self.view_seed,
            "skip": self.skip,
        }


@dataclass(frozen=True)
class Job:
    """Several runs that one process does one after the other."""

    experiment: str
    name: str
    runs: tuple[Run, ...]


def grid(vary: Mapping[str, Sequence[Any]]) -> Iterable[dict[str, Any]]:
    """Every combination, the last key moving fastest."""
    for values in itertools.product(*vary.values()):
        yield dict(zip(vary, values, strict=True))


def united(runs: Iterable[Run]) -> list[Run]:
    """Runs with equal settings made one, which belongs to all their studies."""
    kept: dict[str, Run] = {}
    for run in runs:
        key = digest([run.corpus, run.method, run.prepare, run.view, run.configured.record])
        if key in kept:
            both = dict.fromkeys(kept[key].studies + run.studies)
            kept[key] = replace(kept[key], studies=tuple(both))
        else:
            kept[key] = run
    return list(kept.values())


def named(runs: Sequence[Run], seed: int, order: Sequence[str] = ()) -> list[Run]:
    """Names, parts, seeds and varied settings for an experiment's runs.

    A name has the method and corpus where there are several, then `key=value` for what varies among
    the runs of that method, in `order`.
    """
    everywhere = _varying([run.settings for run in runs], order)
    mine = {
        method: _varying([run.settings for run in runs if run.method == method], order)
        for method in dict.fromkeys(run.method for run in runs)
    }
    parts = _varying([{"corpus": run.corpus, **run.prepare} for run in runs], order)
    result: list[Run] = []
    for run in runs:
        settings = run.settings
        heads = [slug(settings[key]) for key in ("method", "corpus") if key in everywhere]
        tails = [
            f"{slug(key)}={slug(settings[key])}"
            for key in mine[run.method]
            if key not in ("method", "corpus") and key in settings
        ]
        name = ",".join([*heads, *tails]) or slug(run.method)
        piece = [slug(run.corpus)] + [
            f"{slug(key)}={slug(run.prepare[key])}" for key in parts if key in run.prepare
        ]
        repetition = settings.get("repetition", 0)
        result.append(
            replace(
                run,
                name=name,
                part=",".join(piece),
                seed=derive(seed, run.experiment, name),
                view_seed=derive(seed, "view", run.corpus, repetition),
                varied={key: settings.get(key) for key in everywhere},
            )
        )
    twice = [name for name, times in Counter(run.name for run in result).items() if times > 1]
    if twice:
        raise ValueError(
            f"two runs of {runs[0].experiment!r} would have the name {twice[0]!r}; rename a method or value"
        )
    return result


def _varying(settings: Sequence[Mapping[str, Any]], order: Sequence[str]) -> list[str]:
    """The keys that take more than one value, those of `order` first."""
    seen: dict[str, set[str]] = {}
    for one in settings:
        for key, value in one.items():
            seen.setdefault(key, set()).add(digest(value))
    missing = {key for one in settings for key in seen if key not in one}
    varying = [key for key in seen if len(seen[key]) > 1 or key in missing]
    return sorted(varying, key=lambda key: (order.index(key) if key in order else len(order), key))


def slug(value: Any) -> str:
    """A value as part of a file name."""
    text = cell(value) if not isinstance(value, (list, dict)) else digest(value)[:8]
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", text).rstrip("-") or "none"


def dealt(experiment: str, runs: Sequence[Run], by: Sequence[str], at_most: int | None) -> list[Job]:
    """Runs that agree in `by` go into one job; with `at_most`, those groups are dealt out in turn."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        settings = run.settings
        label = ",".join(f"{slug(key)}={slug(settings.get(key))}" for key in by) or "all"
        groups.setdefault(label, []).append(run)
    if at_most is None or len(groups) <= at_most:
        return [Job(experiment, label, tuple(members)) for label, members in groups.items()]
    hands: list[list[Run]] = [[] for _ in range(at_most)]
    for position, members in enumerate(groups.values()):
        hands[position % at_most] += members
    return [
        Job(experiment, f"{position + 1}-of-{at_most}", tuple(hand)) for position, hand in enumerate(hands)
    ]
