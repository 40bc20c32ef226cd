"""Claims about learning to align (jmlr05 Section 5.3). Judged on SVM2 as printed; other readings are told.

The criteria were written after short trials on this generator had shown rough errors of all methods, and
have not been changed since. The generative model they compare with is the reading nearest the paper's.
"""

from __future__ import annotations

from collections.abc import Mapping

from structmargin_suite.analysis.statistics import holm, interval, p_above, paired, slopes
from structmargin_suite.results import ExperimentResults
from structmargin_suite.statements import Verdict, claim, decided, untested

ENOUGH = 3
CLOSE = 3.0
WORTH = 1.0


def _readings(results: ExperimentResults, study: str) -> list[str]:
    """SVM2 as printed first, then the other readings of C."""
    names = results.config["studies"][study]["methods"]
    return [name for name in names if results.methods[name].option("formulation") is not None]


def _repetitions(results: ExperimentResults) -> int:
    return int(results.config.get("repetitions", 1))


@claim("align-small-n")
def small_n(results: Mapping[str, ExperimentResults]) -> Verdict:
    """For n <= 10 SVM2's mean test error is lower, by a paired one-sided t-test with Holm's correction
    at 5% for every n; for n >= 20 the means differ by at most 3 points and the generative model's is
    lower on average.
    """
    mine = results["alignment"]
    if _repetitions(mine) < ENOUGH:
        return untested(f"{_repetitions(mine)} repetitions; at least {ENOUGH} are needed")
    told, verdicts = [], []
    for name in _readings(mine, "sizes"):
        better = paired(
            mine.rows("sizes", method="generative"), mine.rows("sizes", method=name), "n_train", "test_error"
        )
        small = {n: d for n, d in better.items() if n <= 10}
        large = {n: sum(d) / len(d) for n, d in better.items() if n >= 20}
        if not small or not large:
            return untested("no runs on both sides of n = 20 at this scale")
        p = holm({n: p_above(d) for n, d in small.items()})
        lower = all(p[n] < 0.05 for n in small)
        close = all(abs(d) <= CLOSE for d in large.values())
        ahead = sum(large.values()) <= 0.0
        verdicts.append(lower and close and ahead)
        gains = ", ".join(f"n={n}: {sum(d) / len(d):+.1f} (p={p[n]:.2g})" for n, d in small.items())
        later = ", ".join(f"n={n}: {d:+.1f}" for n, d in large.items())
        told.append(
            f"{mine.label(name)}: generative minus SVM test error {gains}; {later}; "
            f"lower at every n <= 10: {_yes(lower)}, within {CLOSE:g} points from 20 on: {_yes(close)}, "
            f"generative ahead there: {_yes(ahead)}"
        )
    return decided(verdicts[0], ". ".join(told))


@claim("align-sublinear")
def sublinear(results: Mapping[str, ExperimentResults]) -> Verdict:
    """The slope of log constraints against log n, one a repetition: its 95% interval lies below 1."""
    mine = results["alignment"]
    if _repetitions(mine) < ENOUGH:
        return untested(f"{_repetitions(mine)} repetitions; at least {ENOUGH} are needed")
    told = {
        name: interval(slopes(mine.rows("sizes", method=name), "n_train", "constraints"))
        for name in _readings(mine, "sizes")
    }
    evidence = "; ".join(
        f"{mine.label(name)}: constraints grow as n to the power {one}" for name, one in told.items()
    )
    return decided(next(iter(told.values())).high < 1.0, evidence)


@claim("align-epsilon")
def epsilon(results: Mapping[str, ExperimentResults]) -> Verdict:
    """The slope of log constraints against log 1/epsilon has a 95% interval below that of Theorem 18's
    bound on the same runs, and no run exceeds the bound.
    """
    mine = results["alignment"]
    if _repetitions(mine) < ENOUGH:
        return untested(f"{_repetitions(mine)} repetitions; at least {ENOUGH} are needed")
    told, verdicts = [], []
    for name in _readings(mine, "precision"):
        rows = [{**row, "inverse": 1.0 / row["eps"]} for row in mine.rows("precision", method=name)]
        ours = interval(slopes(rows, "inverse", "constraints"))
        bound = interval(slopes(rows, "inverse", "bound"))
        within = all(row["constraints"] <= row["bound"] for row in rows)
        verdicts.append(ours.high < bound.mean and within)
        told.append(
            f"{mine.label(name)}: constraints grow as 1/epsilon to the power {ours}, the bound to the power "
            f"{bound.mean:.3g}; all runs within the bound: {_yes(within)}"
        )
    return decided(verdicts[0], "; ".join(told))


@claim("align-epsilon-good")
def epsilon_good(results: Mapping[str, ExperimentResults]) -> Verdict:
    """Larger is less accurate: every larger epsilon has a higher mean test error than 0.1, at least one
    of them significantly (paired one-sided t-test, Holm, 5%). Smaller brings nothing: for every smaller
    epsilon the 95% interval of the paired improvement stays below 1 point.
    """
    mine = results["alignment"]
    if _repetitions(mine) < ENOUGH:
        return untested(f"{_repetitions(mine)} repetitions; at least {ENOUGH} are needed")
    told, verdicts = [], []
    for name in _readings(mine, "precision"):
        rows = mine.rows("precision", method=name)
        base = {row["repetition"]: row["test_error"] for row in rows if row["eps"] == 0.1}
        worse: dict[float, list[float]] = {}
        for row in rows:
            if row["repetition"] in base and row["eps"] != 0.1:
                worse.setdefault(row["eps"], []).append(row["test_error"] - base[row["repetition"]])
        larger = {e: d for e, d in sorted(worse.items()) if e > 0.1}
        smaller = {e: [-x for x in d] for e, d in sorted(worse.items()) if e < 0.1}
        if not larger or not smaller:
            return untested("no runs on both sides of epsilon = 0.1")
        p = holm({e: p_above(d) for e, d in larger.items()})
        loses = all(sum(d) > 0 for d in larger.values()) and min(p.values()) < 0.05
        gains = {e: interval(d) for e, d in smaller.items()}
        nothing = all(one.high < WORTH for one in gains.values())
        verdicts.append(loses and nothing)
        up = ", ".join(f"{e:g}: {sum(d) / len(d):+.2f} (p={p[e]:.2g})" for e, d in larger.items())
        down = ", ".join(f"{e:g}: {one}" for e, one in gains.items())
        told.append(
            f"{mine.label(name)}: points lost against epsilon 0.1 at {up}; points gained at {down}; "
            f"larger is worse: {_yes(loses)}, smaller gains under {WORTH:g} point: {_yes(nothing)}"
        )
    return decided(verdicts[0], ". ".join(told))


def _yes(truth: bool) -> str:
    return "yes" if truth else "no"
