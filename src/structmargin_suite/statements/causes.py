"""Why a statement is not reproduced: causes that were tested, in the order in which they are looked for.

reading      another reading reproduces it on the same corpus, and does so again with other seeds; or another
             value of what the paper leaves open, chosen on one fold, reproduces it on other folds
baseline     it appears against the rival as the paper describes it
engineering  our program is faster: what the paper says of its own is true in counts
data         it is reproduced on another corpus, or on data made to be like the paper's, also in their size
power        the interval holds both outcomes; more repetitions, or a larger test set, would tell
claim        contradicted on the paper's own data under several readings and no other, or a theorem with
             counterexamples
open         none of these tests decides

Among several readings one may reproduce a statement by chance. So a reading is a cause only where the same
configuration with every other seed that was run (`structmargin reseed`) reproduces it too. And another
reading or corpus is a cause only where its effect is another one: where its interval holds this effect, the
two may differ by no more than chance, and what is missing is power.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from structmargin_suite.analysis.estimates import Estimate
from structmargin_suite.statements.rule import CONTRADICTED, INCONCLUSIVE, REPRODUCED, more_needed
from structmargin_suite.storage.statements_file import Statement


@dataclass(frozen=True)
class Judged:
    """A statement's verdict under one reading on one corpus; without an estimate `reason` says why."""

    statement: Statement
    reading: str
    corpus: str
    verdict: str
    estimate: Estimate | None = None
    reason: str = ""
    papers_own: bool = False


def cause_of(
    row: Judged,
    others: Sequence[Judged],
    tested: Sequence[tuple[str, Judged]],
    again: Mapping[str, Mapping[int, str]],
) -> str:
    """The cause of one verdict, with what shows it; empty where the statement is reproduced or not judged.

    Parameters
    ----------
    row : Judged
    others : sequence of Judged
        The same statement under every reading on every corpus.
    tested : sequence of (cause, Judged)
        Comparisons that test a cause, for the same reading and corpus.
    again : mapping
        The verdicts under other seeds on the same corpus: by reading, then by seed.
    """
    if row.verdict not in (CONTRADICTED, INCONCLUSIVE) or row.estimate is None:
        return ""
    beside = [other for other in others if other is not row and other.estimate is not None]
    same_corpus = [other for other in beside if other.corpus == row.corpus]
    reproduced = [other for other in same_corpus if other.verdict == REPRODUCED]
    by_reading = [other.reading for other in reproduced]
    apart = [other.reading for other in reproduced if _apart(row, other)]
    repeated = [reading for reading in apart if _repeated(again.get(reading, {}))]
    if repeated:
        seeds = sorted(again[repeated[0]])
        return f"reading: reproduced under {', '.join(repeated)}, also with {_named(seeds)}"
    for name, test in tested:
        if test.verdict == REPRODUCED and test.estimate is not None:
            return f"{name}: {test.estimate.note or _numbers(test.estimate)}"
    alike = [other for other in beside if other.reading == row.reading and other.verdict == REPRODUCED]
    elsewhere = [other.corpus for other in alike if _apart(row, other)]
    if elsewhere:
        return f"data: reproduced on {', '.join(elsewhere)}"
    if row.verdict == INCONCLUSIVE:
        return f"power: {more_needed(row.statement, row.estimate)}{_once(by_reading, again)}"
    if row.statement.kind == "bound" and row.statement.data == "any":
        return "claim: there are counterexamples"
    if row.papers_own and same_corpus and all(other.verdict == CONTRADICTED for other in same_corpus):
        return f"claim: contradicted on the paper's own data under all {len(same_corpus) + 1} readings"
    alone = "" if same_corpus else "; only one reading was run"
    undecided = _undecided(row, same_corpus)
    return f"open: no test of a cause decides{alone}{undecided}{_once(by_reading, again)}"


def _apart(row: Judged, other: Judged) -> bool:
    """Whether another interval excludes this effect."""
    if row.estimate is None or other.estimate is None:
        return False
    return not other.estimate.low <= row.estimate.effect <= other.estimate.high


def _undecided(row: Judged, same_corpus: Sequence[Judged]) -> str:
    """The readings under which the statement is inconclusive, those with another effect apart."""
    others = [other for other in same_corpus if other.verdict == INCONCLUSIVE]
    elsewhere = [other.reading for other in others if _apart(row, other)]
    alike = [other.reading for other in others if not _apart(row, other)]
    parts = [("another effect, but inconclusive under", elsewhere), ("inconclusive under", alike)]
    return "".join(f"; {what} {', '.join(readings)}" for what, readings in parts if readings)


def _repeated(verdicts: Mapping[int, str]) -> bool:
    return bool(verdicts) and all(verdict == REPRODUCED for verdict in verdicts.values())


def _named(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def _once(by_reading: Sequence[str], again: Mapping[str, Mapping[int, str]]) -> str:
    """What is to be said of readings that reproduce a statement here and were not seen to do so again."""
    if not by_reading:
        return ""
    tried = any(again.get(reading) for reading in by_reading)
    what = "not with every other seed" if tried else "and no other seed was run"
    return f"; reproduced under {', '.join(by_reading)}, {what}"


def _numbers(estimate: Estimate) -> str:
    return f"{estimate.effect:.3g} ({estimate.low:.3g} to {estimate.high:.3g})"
