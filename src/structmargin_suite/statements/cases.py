"""A statement under one reading on one corpus, and the functions that compute its effect there.

    @effect("align-small-n-4", study="sizes", methods=["SVM2"])
    def lower_at_four(case: Case) -> Estimate:
        return t_interval(case.paired("sizes", "test_error", "generative", "SVM2", n_train=4), case.level)

A function sees result files and the prepared data that they came from, and returns an effect with its
interval or raises `NotTestable`. It gives no verdict: that is the rule of the statement's kind (rule.py).
With `cause=`, it is a test of why the statement might not be reproduced: the same comparison with another
value of what the paper leaves open (reading), against the rival as the paper describes it (baseline), in
counts instead of seconds (engineering), on other data (data).
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from structmargin_suite.analysis.estimates import Estimate, NotTestable
from structmargin_suite.results import ExperimentResults, column
from structmargin_suite.storage.statements_file import Statement

CAUSES = ("reading", "baseline", "engineering", "data")
"""What a second comparison may test as the cause."""


@dataclass(frozen=True)
class Case:
    """One statement, one reading, one corpus.

    Parameters
    ----------
    statement : Statement
    results : mapping
        All experiments that have results.
    reading, corpus : str
        Empty where the statement's runs have none.
    level : float
        The probability that the interval must cover.
    """

    statement: Statement
    results: Mapping[str, ExperimentResults]
    reading: str
    corpus: str
    level: float

    @property
    def experiment(self) -> ExperimentResults:
        """The results of the statement's experiment."""
        return self.results[self.statement.experiment]

    def runs(self, study: str | Sequence[str], method: str | None = None, **settings: Any) -> pd.DataFrame:
        """Finished runs of a study on this corpus and under this reading.

        A method that does not run under this reading counts with its primary one; one that names no
        readings counts as it is.
        """
        runs = self.experiment.select(study, **settings)
        if self.corpus:
            runs = runs[column(runs, "corpus", "") == self.corpus]
        if method is not None:
            runs = runs[runs["method"] == method]
        wanted = {name: self.reading_of(name) for name in runs["method"].unique()}
        return runs[column(runs, "reading", "") == runs["method"].map(wanted)].reset_index(drop=True)

    def reading_of(self, method: str) -> str:
        """The reading under which a method's runs count here."""
        named = self.experiment.methods[method].readings if method in self.experiment.methods else ()
        if not named or self.reading in named:
            return self.reading if named else ""
        return next(name for name in named if self.experiment.readings[name].primary)

    def values(
        self,
        study: str | Sequence[str],
        measure: str,
        method: str,
        /,
        by: str | Sequence[str] = "repetition",
        **settings: Any,
    ) -> dict[object, float]:
        """A measure of one method by repetition (or other settings), averaged over what else varies."""
        runs = self.runs(study, method, **settings)
        by = [by] if isinstance(by, str) else list(by)
        runs = runs.assign(**{key: column(runs, key, 0) for key in by})
        measured = runs[column(runs, measure).notna()]
        if measured.empty:
            raise NotTestable(f"no finished run of {method} with {measure}{_said(settings)} in {study!r}")
        return {key: float(np.mean(group)) for key, group in measured.groupby(by)[measure]}

    def paired(
        self,
        study: str | Sequence[str],
        measure: str,
        first: str,
        second: str,
        /,
        by: str | Sequence[str] = "repetition",
        **settings: Any,
    ) -> np.ndarray:
        """measure(first) - measure(second), one value per repetition (or other settings) that both have."""
        left = self.values(study, measure, first, by, **settings)
        right = self.values(study, measure, second, by, **settings)
        common = [key for key in left if key in right]
        if not common:
            raise NotTestable(f"{first} and {second} share no {by} in {study!r}")
        return np.array([left[key] - right[key] for key in common])


def _said(settings: Mapping[str, object]) -> str:
    return "".join(f", {key} = {value}" for key, value in settings.items())


EffectFunction = Callable[[Case], Estimate]


@dataclass(frozen=True)
class Effect:
    """How the effect of a statement is computed, and from which runs its cases come."""

    compute: EffectFunction
    study: tuple[str, ...]
    methods: tuple[str, ...]
    pooled: bool = False
    among: Callable[[pd.DataFrame], pd.DataFrame] | None = None

    def cases(
        self, statement: Statement, results: Mapping[str, ExperimentResults], level: float
    ) -> Iterator[Case]:
        """The readings and corpora of the runs that it looks at; one case without either for no study.

        Pooled, all corpora together are one case for each reading, whose corpus is empty.
        """
        make = functools.partial(Case, statement, results, level=level)
        if not self.study:
            yield make("", "")
            return
        runs = results[statement.experiment].select(self.study)
        if self.methods:
            runs = pd.concat([runs[runs["method"] == name] for name in self.methods])
        if runs.empty:
            names = ", ".join(self.methods) or "any method"
            raise NotTestable(f"no finished runs of {names} in {', '.join(self.study)} at this scale")
        both = _corpora_and_readings(runs, self.pooled)
        if self.among is not None:
            some = _corpora_and_readings(self.among(runs), self.pooled)
            known = results[statement.experiment].readings
            primary = [bool(reading) and known[reading].primary for reading in both["reading"]]
            # the primary reading is named, if only to say that it has no such runs
            lacks = any(primary) and not set(both["reading"][primary]) & set(some["reading"])
            both = pd.concat([both[primary].head(1), some]) if lacks else some
        told: list[tuple[str, dict[str, str]]] = []
        for corpus, reading in both.itertuples(index=False):
            case = make(str(reading), str(corpus))
            counted = case.corpus, {name: case.reading_of(name) for name in runs["method"].unique()}
            if counted not in told:  # the primary reading of one method goes with that of another
                told.append(counted)
                yield case


def _corpora_and_readings(runs: pd.DataFrame, pooled: bool) -> pd.DataFrame:
    """Pairs of a corpus and a reading of some runs, in their order; pooled: of all corpora together."""
    both = pd.DataFrame({"corpus": column(runs, "corpus", ""), "reading": column(runs, "reading", "")})
    both = (both.assign(corpus="") if pooled else both).drop_duplicates()
    some = both["reading"] != ""
    return both[some] if some.any() else both  # methods without readings run in all of them


EFFECTS: dict[str, Effect] = {}
CAUSE_TESTS: dict[str, dict[str, Effect]] = {}
"""By statement, then by the cause that a comparison tests."""


def effect(
    *ids: str,
    study: str | Sequence[str] = (),
    methods: Sequence[str] = (),
    cause: str = "",
    pooled: bool = False,
    among: Callable[[pd.DataFrame], pd.DataFrame] | None = None,
) -> Callable[[EffectFunction], EffectFunction]:
    """Register a function as the effect of statements, or as a test of their cause.

    Parameters
    ----------
    *ids : str
        The statements; one function may serve several and look at `case.statement.id`.
    study : str or sequence of str
        The studies whose corpora and readings are the cases; without it there is one case over all results.
    methods : sequence of str
        The methods whose readings count, those of the first one first; by default all of the study.
    cause : {"", "reading", "baseline", "engineering", "data"}
        What it tests, where it is not the effect itself.
    pooled : bool
        Whether one effect is computed over all corpora; made-up data are then for the function to leave out.
    among : callable, optional
        Those of the runs that can tell: their corpora and readings are the cases, and the primary reading.
    """
    if cause and cause not in CAUSES:
        raise ValueError(f"{cause!r} is no cause that a comparison can test; there are {', '.join(CAUSES)}")

    def register(function: EffectFunction) -> EffectFunction:
        studies = (study,) if isinstance(study, str) else tuple(study)
        made = Effect(function, studies, tuple(methods), pooled, among)
        for name in ids:
            registry = CAUSE_TESTS.setdefault(name, {}) if cause else EFFECTS
            key = cause or name
            if key in registry:
                raise ValueError(f"{name}: two functions compute its {cause or 'effect'}")
            registry[key] = made
        return function

    return register


def effects() -> dict[str, Effect]:
    """Every effect there is, by statement."""
    package = importlib.import_module("structmargin_suite.statements.effects")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return dict(EFFECTS)
