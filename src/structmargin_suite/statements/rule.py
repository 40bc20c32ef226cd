"""One rule per kind of statement: (effect, interval, delta) -> verdict. No statement has a rule of its own.

| kind | reproduced | contradicted |
|---|---|---|
| order (A beats B) | the interval lies wholly above 0 | wholly below 0, or below a delta > 0 |
| equivalence | it lies within (-delta, delta); for "never worse" above -delta | wholly outside |
| slope, count, time | it lies on the claimed side of the stated value | wholly on the other side |
| bound | no run breaks it | one run does |

An order with delta > 0 says "substantially": an interval between 0 and delta contradicts it. The stated
value may be a range. Anything else is inconclusive. A statement that data or scale cannot decide is not
testable; one that chose the reading it is judged under is used, and not judged. `size` compares the effect
with the printed one.
"""

from __future__ import annotations

import math

from structmargin_suite.analysis.estimates import Estimate
from structmargin_suite.storage.statements_file import STATED_KINDS, Statement

REPRODUCED, INCONCLUSIVE, CONTRADICTED = "reproduced", "inconclusive", "contradicted"
NOT_TESTABLE, USED = "not testable", "used"
VERDICTS = (REPRODUCED, INCONCLUSIVE, CONTRADICTED, NOT_TESTABLE, USED)
COMPATIBLE, SMALLER, LARGER, UNKNOWN = "compatible", "smaller", "larger", "unknown"
ALPHA = 0.05
"""Of all statements of a claim together (Bonferroni)."""
COMBINED_ERRORS = 1.96
MOST_REPETITIONS = 1_000_000
"""Beyond which no number of repetitions is named: the effect is as good as none."""


def level_of(statements: int) -> float:
    """The level of each interval in a claim of so many statements, so that all together have 1 - ALPHA."""
    return 1.0 - ALPHA / max(statements, 1)


def verdict(statement: Statement, estimate: Estimate) -> str:
    """The verdict on a statement by the rule of its kind."""
    if math.isnan(estimate.effect) or math.isnan(estimate.low) or math.isnan(estimate.high):
        raise ValueError(f"{statement.id}: an effect and its interval must be numbers, not {estimate}")
    reproduced, contradicted = _RULES[statement.kind](statement, estimate)
    return CONTRADICTED if contradicted else REPRODUCED if reproduced else INCONCLUSIVE


def _order(statement: Statement, estimate: Estimate) -> tuple[bool, bool]:
    return estimate.low > 0.0, estimate.high < 0.0 or estimate.high < statement.delta


def _equivalence(statement: Statement, estimate: Estimate) -> tuple[bool, bool]:
    delta = statement.delta
    not_worse, worse = estimate.low > -delta, estimate.high <= -delta
    if statement.side == "above":
        return not_worse, worse
    return not_worse and estimate.high < delta, worse or estimate.low >= delta


def _stated(statement: Statement, estimate: Estimate) -> tuple[bool, bool]:
    above = -math.inf if statement.above is None else statement.above
    below = math.inf if statement.below is None else statement.below
    return above < estimate.low and estimate.high < below, estimate.high < above or estimate.low > below


def _bound(statement: Statement, estimate: Estimate) -> tuple[bool, bool]:
    return estimate.effect == 0.0, estimate.effect > 0.0


_RULES = {
    "order": _order,
    "equivalence": _equivalence,
    "bound": _bound,
    **dict.fromkeys(STATED_KINDS, _stated),
}


def size(statement: Statement, estimate: Estimate) -> str:
    """The effect beside the printed one: compatible within 1.96 combined standard errors, smaller or larger.

    Unknown where the paper prints no effect or no error, or where ours has none.
    """
    if statement.published is None or statement.published_se is None or estimate.se is None:
        return UNKNOWN
    apart = estimate.effect - statement.published
    if abs(apart) <= COMBINED_ERRORS * math.hypot(estimate.se, statement.published_se):
        return COMPATIBLE
    return SMALLER if apart < 0 else LARGER


def more_needed(statement: Statement, estimate: Estimate) -> str:
    """What an inconclusive statement would need: its sign, which half-width, how many repetitions."""
    half = (estimate.high - estimate.low) / 2
    distances = [abs(estimate.effect - limit) for limit in _limits(statement)]
    target = min([distance for distance in distances if distance > 0.0], default=0.0)
    if statement.kind == "order" and statement.delta > 0.0:
        target = max(target, statement.delta)
    sign = "no sign" if estimate.effect == 0 else "positive" if estimate.effect > 0 else "negative"
    if target == 0.0 or not math.isfinite(half):
        return f"the effect is {sign}; no half-width would tell"
    words = f"the effect is {sign}; a half-width of {_rounded(target)} would tell, it is {_rounded(half)}"
    if not estimate.grows:
        return f"{words}; none, since the test set is fixed"
    if estimate.crossed:
        return f"{words}; more repetitions narrow only a part of it, a larger test set the rest"
    repetitions = estimate.n * (half / target) ** 2
    if repetitions > MOST_REPETITIONS:
        return f"{words}: more repetitions than anyone could make"
    return f"{words}: about {math.ceil(repetitions):,} repetitions where there are {estimate.n}"


def _rounded(value: float) -> str:
    """Two digits that count, never as a power of ten where the number is large: 13000 and not 1.3e+04."""
    return f"{float(f'{value:.2g}'):.0f}" if abs(value) >= 100.0 else f"{value:.2g}"


def _limits(statement: Statement) -> list[float]:
    """The values that an interval is compared with."""
    if statement.kind in STATED_KINDS:
        return [limit for limit in (statement.above, statement.below) if limit is not None]
    if statement.kind == "equivalence":
        return [-statement.delta] if statement.side == "above" else [-statement.delta, statement.delta]
    return [0.0]
