"""Verdicts on everything the papers state: one row for each statement, reading and corpus.

Exactly one row of a statement is primary: the row that headlines count. It has the primary reading and the
first corpus, in the order of the config, that gives an effect and may decide it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from structmargin_suite.analysis.estimates import Estimate, NotTestable
from structmargin_suite.results import ExperimentResults, NotReadyError, column
from structmargin_suite.statements.cases import CAUSE_TESTS, Case, Effect, effects
from structmargin_suite.statements.causes import Judged, cause_of
from structmargin_suite.statements.rule import (
    INCONCLUSIVE,
    NOT_TESTABLE,
    UNKNOWN,
    USED,
    level_of,
    more_needed,
    size,
    verdict,
)
from structmargin_suite.storage.statements_file import Claim, Statement

COLUMNS = (
    "id", "claim", "paper", "where", "statement", "kind", "experiment", "reading", "chosen", "primary",
    "data", "unit", "n", "effect", "low", "high", "interval", "delta", "published", "size", "verdict",
    "cause", "volatile", "evidence",
)  # fmt: skip
"""Of results/statements.csv."""


Again = Mapping[tuple[str, str, str], Mapping[int, str]]
"""By statement, reading and data: the verdict under each other seed."""


class NoResultsError(Exception):
    """A statement is about an experiment that has no results."""

    def __init__(self, experiment: str) -> None:
        super().__init__(f"no results of {experiment!r} yet")


class _Available(Mapping[str, ExperimentResults]):
    """Results in which an experiment that is not there is a NoResultsError; any other KeyError is ours."""

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
    results: Mapping[str, ExperimentResults],
    claims: Sequence[Claim],
    only: Collection[str] | None = None,
    again: Again | None = None,
) -> list[dict[str, Any]]:
    """The rows of results/statements.csv, or those of `only` some statements.

    The statements of a claim that can be tested share the level, whether or not all are asked for.
    `again` has the verdicts of the same configuration under other seeds, which a cause may rest on.
    """
    known, available = effects(), _Available(results)
    rows: list[dict[str, Any]] = []
    for claim in claims:
        level = level_of(sum(not statement.untestable for statement in claim.statements))
        asked = [statement for statement in claim.statements if only is None or statement.id in only]
        for statement in asked:
            rows += _rows(statement, known.get(statement.id), available, level, again or {})
    return rows


def _rows(
    statement: Statement, effect: Effect | None, results: _Available, level: float, again: Again
) -> Iterator[dict[str, Any]]:
    judged = list(_judged(statement, effect, results, level))
    chosen = primary_of(judged, results)
    tests = CAUSE_TESTS.get(statement.id, {})
    for row in judged:
        tested = [
            (cause, found)
            for cause, test in tests.items()
            for found in _judged(statement, test, results, level)
            if found.reading in (row.reading, "") and found.corpus in (row.corpus, "")
        ]
        data = _label(row, results)
        seeds = {other.reading: again.get((statement.id, other.reading, data), {}) for other in judged}
        yield _record(row, row is chosen, cause_of(row, judged, tested, seeds), results)


def _judged(
    statement: Statement, effect: Effect | None, results: _Available, level: float
) -> Iterator[Judged]:
    """The statement under every reading on every corpus; whatever a function raises by mistake is raised."""
    if statement.untestable or effect is None:
        reason = statement.untestable or "nothing computes its effect yet"
        yield Judged(statement, "", "", NOT_TESTABLE, reason=reason)
        return
    try:
        cases = list(effect.cases(statement, results, level))
    except (NoResultsError, NotTestable, NotReadyError) as error:
        yield Judged(statement, "", "", NOT_TESTABLE, reason=str(error))
        return
    for case in cases:
        yield _judged_case(statement, effect, case)


def _judged_case(statement: Statement, effect: Effect, case: Case) -> Judged:
    try:
        estimate = effect.compute(case)
    except (NoResultsError, NotTestable, NotReadyError) as error:
        return Judged(statement, case.reading, case.corpus, NOT_TESTABLE, reason=str(error))
    result, reason = verdict(statement, estimate), ""
    if statement.id in _used_by(case):
        result, reason = USED, "it served as evidence for this reading"
    elif _made_up(case) and statement.data == "real":
        result, reason = NOT_TESTABLE, "made-up data do not decide a statement about real data"
    own = bool(case.corpus) and case.experiment.papers_own(case.corpus)
    return Judged(statement, case.reading, case.corpus, result, estimate, reason, own)


def _used_by(case: Case) -> Sequence[str]:
    return case.experiment.readings[case.reading].uses if case.reading else ()


def _made_up(case: Case) -> bool:
    """Whether the corpus is synthetic and not the paper's own."""
    if not case.corpus:
        return False
    known = {entry["corpus"]: entry["kind"] for entry in case.experiment.summary.get("data", [])}
    return known.get(case.corpus) == "synthetic" and not case.experiment.papers_own(case.corpus)


def primary_of(judged: Sequence[Judged], results: Mapping[str, ExperimentResults]) -> Judged:
    """The row that headlines count."""
    candidates = [row for row in judged if not row.reading or _is_primary(row, results)] or list(judged)
    decided = [row for row in candidates if row.verdict != NOT_TESTABLE]
    tried = [row for row in candidates if row.estimate is not None]
    return (decided or tried or candidates)[0]


def _is_primary(row: Judged, results: Mapping[str, ExperimentResults]) -> bool:
    return bool(results[row.statement.experiment].readings[row.reading].primary)


def _record(row: Judged, primary: bool, cause: str, results: _Available) -> dict[str, Any]:
    statement, estimate = row.statement, row.estimate
    reading = results[statement.experiment].readings[row.reading] if row.reading else None
    record = {
        "id": statement.id,
        "claim": statement.claim,
        "paper": statement.paper,
        "where": statement.where,
        "statement": statement.says,
        "kind": statement.kind,
        "experiment": statement.experiment,
        "reading": row.reading,
        "chosen": "" if reading is None else reading.chosen,
        "primary": primary,
        "data": _label(row, results),
        "unit": statement.unit,
        "delta": statement.delta,
        "published": statement.published,
        "verdict": row.verdict,
        "cause": cause,
        "volatile": statement.volatile,
        "evidence": _evidence(row),
        "size": UNKNOWN if estimate is None else size(statement, estimate),
    }
    numbers = dict.fromkeys(("n", "effect", "low", "high", "interval"))
    if estimate is not None:
        numbers = {name: getattr(estimate, name) for name in numbers}
    return {name: {**record, **numbers}[name] for name in COLUMNS}


def _label(row: Judged, results: _Available) -> str:
    """What tables call the data."""
    if not row.corpus:
        return ""
    runs = results[row.statement.experiment].runs
    labels = column(runs, "data", "")[column(runs, "corpus", "") == row.corpus]
    return str(labels.iloc[0]) if len(labels) and labels.iloc[0] else row.corpus


def _evidence(row: Judged) -> str:
    """One plain sentence: what was found, or why nothing can be said."""
    estimate = row.estimate
    if estimate is None:
        return row.reason
    parts = [_found(row.statement, estimate), _paper_outside(row.statement, estimate)]
    if row.verdict == INCONCLUSIVE:
        parts.append(more_needed(row.statement, estimate))
    return "; ".join(part for part in (*parts, estimate.note, row.reason) if part)


def _paper_outside(statement: Statement, estimate: Estimate) -> str:
    """That the paper's effect is not in the interval, where it prints one."""
    published = statement.published
    if published is None or estimate.low <= published <= estimate.high:
        return ""
    return f"the paper's {published:.3g} lies {'above' if published > estimate.high else 'below'} it"


def _found(statement: Statement, estimate: Estimate) -> str:
    if statement.kind == "bound":
        return f"{estimate.effect:.0f} of {estimate.n} break it"
    return (
        f"effect {estimate.effect:.3g}, interval {estimate.low:.3g} to {estimate.high:.3g} "
        f"({estimate.interval}, n = {estimate.n})"
    )
