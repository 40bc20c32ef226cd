"""Claims about learning to align (jmlr05 Section 5.3).

Judged on the primary readings of SVM2 and of the generative model; other readings of SVM2 stand in the
evidence. The criteria were written after short trials on this generator had shown rough errors of all
methods, and have not been changed since.
"""

from __future__ import annotations

from collections.abc import Mapping

from structmargin_suite.analysis.statistics import SIGNIFICANCE, holm, interval, p_value_above, paired, slopes
from structmargin_suite.results import ExperimentResults
from structmargin_suite.statements import Verdict, claim, decided, readings_of, untested, yes_no

MIN_REPETITIONS = 3  # from two values a t-interval reaches 12.7 standard errors to either side
SVM, BASE = "SVM2", "generative"
MAX_DIFFERENCE = 3.0  # points of test error within which two methods count as comparable
MIN_GAIN = 1.0  # points of test error: a smaller gain does not pay for a smaller epsilon


def _too_few(results: ExperimentResults) -> Verdict | None:
    """Not tested, with the reason, where there are too few repetitions for a test."""
    repetitions = int(results.config.get("repetitions", 1))
    if repetitions >= MIN_REPETITIONS:
        return None
    return untested(f"{repetitions} repetitions; at least {MIN_REPETITIONS} are needed")


@claim("align-small-n")
def small_n(results: Mapping[str, ExperimentResults]) -> Verdict:
    """For n <= 10 SVM2's mean test error is lower, by a paired one-sided t-test with Holm's correction
    at 5% for every n; for n >= 20 the means differ by at most 3 points and the generative model's is
    lower on average.
    """
    experiment = results["alignment"]
    too_few = _too_few(experiment)
    if too_few is not None:
        return too_few
    sentences, verdicts = [], []
    base = experiment.select("sizes", method=BASE, reading=experiment.primary(BASE))
    for reading in readings_of(experiment, "sizes", SVM):
        better = paired(
            base,
            experiment.select("sizes", method=SVM, reading=reading),
            "n_train",
            "test_error",
        )
        small = {n: d for n, d in better.items() if n <= 10}
        large = {n: sum(d) / len(d) for n, d in better.items() if n >= 20}
        if not small or not large:
            return untested("no runs on both sides of n = 20 at this scale")
        p = holm({n: p_value_above(d) for n, d in small.items()})
        lower = all(p[n] < SIGNIFICANCE for n in small)
        close = all(abs(d) <= MAX_DIFFERENCE for d in large.values())
        ahead = sum(large.values()) <= 0.0
        verdicts.append(lower and close and ahead)
        gains = ", ".join(f"n={n}: {sum(d) / len(d):+.1f} (p={p[n]:.2g})" for n, d in small.items())
        later = ", ".join(f"n={n}: {d:+.1f}" for n, d in large.items())
        sentences.append(
            f"{experiment.label(SVM, reading)}: generative minus SVM test error {gains}; {later}; "
            f"lower at every n <= 10: {yes_no(lower)}, "
            f"within {MAX_DIFFERENCE:g} points from 20 on: {yes_no(close)}, "
            f"generative ahead there: {yes_no(ahead)}"
        )
    return decided(verdicts[0], ". ".join(sentences))


@claim("align-sublinear")
def sublinear(results: Mapping[str, ExperimentResults]) -> Verdict:
    """The slope of log constraints against log n, one per repetition: its 95% interval lies below 1."""
    experiment = results["alignment"]
    too_few = _too_few(experiment)
    if too_few is not None:
        return too_few
    powers = {
        name: interval(slopes(experiment.select("sizes", method=SVM, reading=name), "n_train", "constraints"))
        for name in readings_of(experiment, "sizes", SVM)
    }
    evidence = "; ".join(
        f"{experiment.label(SVM, name)}: constraints grow as n to the power {power}"
        for name, power in powers.items()
    )
    return decided(next(iter(powers.values())).high < 1.0, evidence)


@claim("align-epsilon")
def epsilon(results: Mapping[str, ExperimentResults]) -> Verdict:
    """The slope of log constraints against log 1/epsilon has a 95% interval below that of Theorem 18's
    bound on the same runs, and no run exceeds the bound.
    """
    experiment = results["alignment"]
    too_few = _too_few(experiment)
    if too_few is not None:
        return too_few
    sentences, verdicts = [], []
    for name in readings_of(experiment, "precision", SVM):
        runs = experiment.select("precision", method=SVM, reading=name)
        runs["inverse"] = 1.0 / runs["eps"]
        ours = interval(slopes(runs, "inverse", "constraints"))
        bound = interval(slopes(runs, "inverse", "bound"))
        within = bool((runs["constraints"] <= runs["bound"]).all())
        verdicts.append(ours.high < bound.mean and within)
        sentences.append(
            f"{experiment.label(SVM, name)}: constraints grow as 1/epsilon to the power {ours}, "
            f"the bound to the power {bound.mean:.3g}; all runs within the bound: {yes_no(within)}"
        )
    return decided(verdicts[0], "; ".join(sentences))


@claim("align-epsilon-good")
def epsilon_good(results: Mapping[str, ExperimentResults]) -> Verdict:
    """Larger is less accurate: every larger epsilon has a higher mean test error than 0.1, at least one
    of them significantly (paired one-sided t-test, Holm, 5%). Smaller brings nothing: for every smaller
    epsilon the 95% interval of the paired improvement stays below 1 point.
    """
    experiment = results["alignment"]
    too_few = _too_few(experiment)
    if too_few is not None:
        return too_few
    sentences, verdicts = [], []
    for name in readings_of(experiment, "precision", SVM):
        runs = experiment.select("precision", method=SVM, reading=name)
        base = runs[runs["eps"] == 0.1].set_index("repetition")["test_error"]
        others = runs[(runs["eps"] != 0.1) & runs["repetition"].isin(base.index)]
        changes = others["test_error"] - others["repetition"].map(base)
        worse = {e: values.tolist() for e, values in changes.groupby(others["eps"])}
        larger = {e: d for e, d in worse.items() if e > 0.1}
        smaller = {e: [-x for x in d] for e, d in worse.items() if e < 0.1}
        if not larger or not smaller:
            return untested("no runs on both sides of epsilon = 0.1")
        p = holm({e: p_value_above(d) for e, d in larger.items()})
        loses = all(sum(d) > 0 for d in larger.values()) and min(p.values()) < SIGNIFICANCE
        gains = {e: interval(d) for e, d in smaller.items()}
        nothing = all(gain.high < MIN_GAIN for gain in gains.values())
        verdicts.append(loses and nothing)
        up = ", ".join(f"{e:g}: {sum(d) / len(d):+.2f} (p={p[e]:.2g})" for e, d in larger.items())
        down = ", ".join(f"{e:g}: {gain}" for e, gain in gains.items())
        sentences.append(
            f"{experiment.label(SVM, name)}: points lost against epsilon 0.1 at {up}; points gained at "
            f"{down}; "
            f"larger is worse: {yes_no(loses)}, smaller gains under {MIN_GAIN:g} point: {yes_no(nothing)}"
        )
    return decided(verdicts[0], ". ".join(sentences))
