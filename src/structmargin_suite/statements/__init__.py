"""Claims: what the papers assert, checked on our results. One small function each, registered by id.

    @claim("align-sublinear")
    def sublinear(results): return holds("slope 0.8, ...") or fails("...") or untested("...")

A check sees result files and the prepared data that they came from, nothing else. Its criterion is written
in its docstring and in its evidence, and is not loosened until it passes: a claim that fails is a finding.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from structmargin_suite.results import ExperimentResults, NotReadyError

HOLDS, FAILS, UNTESTED = "holds", "fails", "not tested"


class Verdict(NamedTuple):
    """What a check says: holds, fails or not tested, and on what evidence."""

    verdict: str
    evidence: str


Check = Callable[[Mapping[str, ExperimentResults]], Verdict]
_CHECKS: dict[str, Check] = {}


def holds(evidence: str) -> Verdict:
    """The claim holds on our results."""
    return Verdict(HOLDS, evidence)


def fails(evidence: str) -> Verdict:
    """The claim does not hold on our results."""
    return Verdict(FAILS, evidence)


def untested(reason: str) -> Verdict:
    """Our results cannot tell."""
    return Verdict(UNTESTED, reason)


def decided(truth: bool, evidence: str) -> Verdict:
    """`holds` or `fails`."""
    return holds(evidence) if truth else fails(evidence)


def first_decides(verdicts: Sequence[Verdict], nothing: str) -> Verdict:
    """Verdicts on several corpora as one: the first decides, the evidence names all.

    Without any, `nothing` says why.
    """
    if not verdicts:
        return untested(nothing)
    return Verdict(verdicts[0].verdict, "; ".join(verdict.evidence for verdict in verdicts))


def readings_of(experiment: ExperimentResults, study: str, method: str) -> list[str]:
    """The readings under which a method runs in a study, the primary one first: it decides."""
    readings = [reading for name, reading in experiment.pairs(study) if name == method]
    return sorted(readings, key=lambda reading: reading != experiment.primary(method))


def yes_no(truth: bool) -> str:
    """Whether one of several criteria is met, in words."""
    return "yes" if truth else "no"


def claim(name: str) -> Callable[[Check], Check]:
    """Register a check under a claim's id."""

    def register(function: Check) -> Check:
        _CHECKS[name] = function
        return function

    return register


def checks() -> dict[str, Check]:
    """Every check there is, by claim id."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(_CHECKS)


class NoResultsError(Exception):
    """A check asked for an experiment that has no results; any other KeyError is an error of the check."""

    def __init__(self, experiment: str) -> None:
        super().__init__(f"no results of {experiment!r} yet")
        self.experiment = experiment


class _Available(Mapping[str, ExperimentResults]):
    """Results in which an experiment that is not there is a NoResultsError."""

    def __init__(self, results: Mapping[str, ExperimentResults]) -> None:
        self._results = results

    def __getitem__(self, name: str) -> ExperimentResults:
        if name not in self._results:
            raise NoResultsError(name)
        return self._results[name]

    def __contains__(self, name: object) -> bool:
        return name in self._results

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)


def judge(
    results: Mapping[str, ExperimentResults], claims: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """A row for every claim of the papers: id, verdict, evidence, and what the list says of it.

    A check that asks for an experiment without results leaves its claim untested; whatever else it raises is
    an error of ours, and is raised.
    """
    known = checks()
    rows = []
    for statement in claims:
        check = known.get(statement["id"])
        try:
            verdict = untested("no check of this claim yet") if check is None else check(_Available(results))
        except NoResultsError as missing:
            verdict = untested(f"no results of {missing.experiment!r} yet")
        except NotReadyError as gone:
            verdict = untested(str(gone))
        rows.append(
            {"volatile": False, **statement, "verdict": verdict.verdict, "evidence": verdict.evidence}
        )
    return rows
