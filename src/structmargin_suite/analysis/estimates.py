"""An effect with its interval, over the right unit: what a statement is judged by.

Which interval belongs to which data:
    fresh samples (each drawn anew from a generator)       t_interval, Student's t
    draws from one pool, whose training sets overlap       corrected_t, Nadeau and Bengio (2003)
    fixed units (sentences, cars, topics), with or without draws   bootstrap, over units crossed with draws;
                                                           weighted_bootstrap where no sum over units tells
    fixed units of several data sets, judged together      bootstrap_within, over the units of each
    wins and losses over fixed units                       sign_interval, exact binomial
    a share of fixed units                                 share_interval, exact binomial
    a theorem                                              counterexamples
One repetition has no interval and decides nothing.
All take `level`, the probability that the interval covers: statements of one claim share 5% among them.
Percentiles of a bootstrap are expanded (Hesterberg 2015), as Student's t is wider than the normal: with few
units plain percentiles cover far less than they say.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

RESAMPLES = 4000
SEED = 20050901
EXACT = "exact binomial"


class NotTestable(Exception):
    """These results cannot tell; the message says why and what would be needed."""


@dataclass(frozen=True)
class Estimate:
    """An effect and its interval.

    Parameters
    ----------
    effect, low, high : float
        In the unit of the statement; a positive effect of an order is on the claimed side.
    n : int
        How many independent observations.
    interval : str
        How the interval was made.
    se : float, optional
        The standard error of the effect; None where there is none.
    grows : bool
        Whether more draws would make it narrower: not where the unit is a fixed test set.
    crossed : bool
        Whether `n` counts fixed units that were crossed with draws.
    note : str
        What else a reader should know, in a sentence.
    """

    effect: float
    low: float
    high: float
    n: int
    interval: str
    se: float | None = None
    grows: bool = True
    crossed: bool = False
    note: str = ""

    def noted(self, note: str) -> Estimate:
        """The same estimate with a note."""
        return replace(self, note=note)

    def __neg__(self) -> Estimate:
        return replace(self, effect=-self.effect, low=-self.high, high=-self.low)


def t_interval(values: Sequence[float] | np.ndarray, level: float) -> Estimate:
    """The mean of independent values with Student's t."""
    x = _at_least_two(values)
    se = float(x.std(ddof=1)) / math.sqrt(len(x))
    return _with_t(float(x.mean()), se, len(x), level, "t over samples")


def corrected_t(values: Sequence[float] | np.ndarray, level: float, test_to_train: float) -> Estimate:
    """The mean over draws whose training sets overlap, with Nadeau and Bengio's corrected variance.

    Parameters
    ----------
    values : sequence of float
        One value per draw.
    level : float
        The probability that the interval covers.
    test_to_train : float
        The number of test examples over that of training examples in a draw.
    """
    x = _at_least_two(values)
    se = float(x.std(ddof=1)) * math.sqrt(1.0 / len(x) + test_to_train)
    return _with_t(float(x.mean()), se, len(x), level, "corrected t over overlapping samples")


def bootstrap(
    values: np.ndarray,
    level: float,
    statistic: Callable[[np.ndarray], np.ndarray] | None = None,
    seed: int = SEED,
) -> Estimate:
    """A statistic of fixed units, by a bootstrap over units crossed with draws.

    Parameters
    ----------
    values : ndarray of shape (draws, units, ...) or (units, ...)
        What was measured of each unit in each draw; trailing axes hold several counts of one unit.
    level : float
        The probability that the interval covers.
    statistic : callable, optional
        From summed counts, of shape (resamples, ...), to values of shape (resamples,); by default the mean
        over units. It gets sums over units and draws: ratios of sums (F1 over all brackets) come out right.
    seed : int
        Of the resampling.

    Returns
    -------
    Estimate
        `n` is the number of units; it grows with more draws only if there are several.
    """
    x = np.asarray(values, dtype=float)
    x = x[None] if x.ndim == 1 or (statistic is not None and x.ndim == 2) else x
    draws, units = x.shape[:2]
    of_units, of_draws = _weights(draws, units, seed)
    if statistic is None:
        computed = np.einsum("rd,du,ru->r", of_draws, x, of_units, optimize=True) / units
        effect = float(x.mean())
    else:
        sums = np.einsum("rd,du...,ru->r...", of_draws, x, of_units, optimize=True)
        with np.errstate(divide="ignore", invalid="ignore"):  # a resample may have nothing to count
            computed = statistic(sums)
        effect = float(statistic(x.sum(axis=(0, 1))[None])[0])
    return _crossed(effect, computed, draws, units, level)


def weighted_bootstrap(
    statistic: Callable[[np.ndarray], np.ndarray], units: int, level: float, seed: int = SEED
) -> Estimate:
    """A statistic that is no function of sums over units (an equal error rate, a number of letters).

    Parameters
    ----------
    statistic : callable
        From weights of the units, of shape (resamples, units), to one value per draw, of shape
        (resamples, draws). With weights of 1 it gives what was measured.
    units : int
        How many fixed units there are.
    level : float
        The probability that the interval covers.
    seed : int
        Of the resampling.

    Returns
    -------
    Estimate
        Of the mean over draws, by a bootstrap over units crossed with draws.
    """
    measured = statistic(np.ones((1, units)))[0]
    of_units, of_draws = _weights(len(measured), units, seed)
    computed = np.sum(of_draws * statistic(of_units), axis=1)
    return _crossed(float(measured.mean()), computed, len(measured), units, level)


@functools.lru_cache(maxsize=2)  # statements about the same units have the same resamples
def _unit_weights(units: int, seed: int, resamples: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(units, np.full(units, 1.0 / units), size=resamples).astype(float)
    weights.setflags(write=False)
    return weights


def _weights(draws: int, units: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """How often each resample has each unit, and the share of each draw in it.

    Draws are few: taking one fewer than there are makes the variance over draws unbiased (Rao and Wu, 1988),
    where taking all would make it too small by (draws - 1) / draws.
    """
    if units < 2:
        raise NotTestable(f"{units} units; at least 2 are needed for an interval")
    rng = np.random.default_rng([seed, draws])
    taken = max(draws - 1, 1)
    of_draws = rng.multinomial(taken, np.full(draws, 1.0 / draws), size=RESAMPLES) / taken
    of_units = _unit_weights(units, seed, RESAMPLES)
    return of_units, of_draws


def _crossed(effect: float, computed: np.ndarray, draws: int, units: int, level: float) -> Estimate:
    """The estimate of a bootstrap over units crossed with draws."""
    low, high = _percentiles(computed, level, units)
    crossed = f" and {draws} repetitions" if draws > 1 else ""
    how = f"bootstrap over {units} units{crossed}"
    se = float(computed.std(ddof=1))
    return Estimate(effect, low, high, units, how, se, grows=draws > 1, crossed=draws > 1)


def bootstrap_within(
    groups: Sequence[np.ndarray],
    level: float,
    statistic: Callable[[np.ndarray], np.ndarray],
    seed: int = SEED,
) -> Estimate:
    """A statistic of the means of several groups of fixed units, by a bootstrap within each group.

    Parameters
    ----------
    groups : sequence of ndarray of shape (units, measures)
        One for each data set; units of one data set are resampled together for all its measures.
    level : float
        The probability that the interval covers.
    statistic : callable
        From the means of all groups side by side, (resamples, all measures), to values (resamples,).
    seed : int
        Of the resampling.

    Returns
    -------
    Estimate
        `n` is the number of units of all groups; the smallest group decides how wide it is made.
    """
    smallest = min(len(x) for x in groups)
    if smallest < 2:
        raise NotTestable(f"{smallest} units in a data set; at least 2 are needed for an interval")
    rng = np.random.default_rng(seed)
    weights = [rng.multinomial(len(x), np.full(len(x), 1.0 / len(x)), size=RESAMPLES) for x in groups]
    resampled = [w @ np.asarray(x, float) / len(x) for w, x in zip(weights, groups, strict=True)]
    computed = statistic(np.hstack(resampled))
    effect = float(statistic(np.hstack([np.mean(x, axis=0) for x in groups])[None])[0])
    low, high = _percentiles(computed, level, smallest)
    units = sum(len(x) for x in groups)
    how = f"bootstrap over {units} units within {len(groups)} data sets"
    return Estimate(effect, low, high, units, how, float(computed.std(ddof=1)), False)


def share_interval(have: int, n: int, level: float) -> Estimate:
    """The percentage of n fixed units that have something, with an exact binomial interval.

    A bootstrap has no width where all units agree.
    """
    if n == 0:
        raise NotTestable("no unit that it applies to")
    low, high = _clopper_pearson(have, n - have, level)
    share = have / n
    se = 100.0 * math.sqrt(share * (1.0 - share) / n)
    return Estimate(100.0 * share, 100.0 * low, 100.0 * high, n, EXACT, se, False)


def sign_interval(won: int, lost: int, level: float) -> Estimate:
    """Wins minus losses as a share of the units on which two methods differ, with an exact binomial interval.

    Ties are dropped. The effect lies between -1 and 1.
    """
    n = won + lost
    if n == 0:
        raise NotTestable("the two never differ")
    low, high = _clopper_pearson(won, lost, level)
    effect = (won - lost) / n
    se = math.sqrt(max(1.0 - effect * effect, 0.0) / n)
    note = f"{won} won, {lost} lost"
    return Estimate(effect, 2 * low - 1, 2 * high - 1, n, EXACT, se, False, note=note)


def _clopper_pearson(have: int, lack: int, level: float) -> tuple[float, float]:
    """The exact interval of a share (Clopper and Pearson, 1934), by quantiles of the beta distribution."""
    tail = (1.0 - level) / 2
    low = float(special.betaincinv(have, lack + 1, tail)) if have else 0.0
    high = float(special.betaincinv(have + 1, lack, 1.0 - tail)) if lack else 1.0
    return low, high


def counterexamples(broken: int, n: int, note: str = "") -> Estimate:
    """How many of n runs break a bound; a theorem has none."""
    if n == 0:
        raise NotTestable("no run that it applies to")
    return Estimate(float(broken), float(broken), float(broken), n, "every run", None, False, note=note)


def _percentiles(computed: np.ndarray, level: float, units: int) -> tuple[float, float]:
    """The expanded percentiles of a bootstrap over so many units."""
    if not np.isfinite(computed).all():
        raise NotTestable(f"{units} units are too few: some resamples have nothing to count")
    t = float(special.stdtrit(units - 1, 0.5 + level / 2))
    tail = float(special.ndtr(-t * math.sqrt(units / (units - 1))))
    low, high = np.quantile(computed, [tail, 1.0 - tail])
    return float(low), float(high)


def farthest(estimates: Sequence[Estimate]) -> Estimate:
    """Of several estimates the one whose interval reaches farthest from 0.

    If it lies within some distance of 0 then all do. Each must have the level that all share (`shared`).
    """
    if not estimates:
        raise NotTestable("nothing to compare")
    return max(estimates, key=lambda estimate: max(abs(estimate.low), abs(estimate.high)))


def shared(level: float, parts: int) -> float:
    """The level of each of several intervals that all together have this level (Bonferroni)."""
    return 1.0 - (1.0 - level) / max(parts, 1)


def _at_least_two(values: Sequence[float] | np.ndarray) -> np.ndarray:
    x = np.asarray(values, dtype=float)
    if len(x) < 2:
        what = "1 repetition" if len(x) == 1 else f"{len(x)} repetitions"
        raise NotTestable(f"{what}; at least 2 are needed for an interval")
    if len(x) == 2 and x[0] == x[1]:
        raise NotTestable("2 repetitions, and equal: they show no spread; at least 3 are needed")
    return x


def _with_t(mean: float, se: float, n: int, level: float, how: str) -> Estimate:
    half = float(special.stdtrit(n - 1, 0.5 + level / 2)) * se
    return Estimate(mean, mean - half, mean + half, n, how, se)
