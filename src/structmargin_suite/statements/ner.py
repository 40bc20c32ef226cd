"""Claims about named entities (jmlr05 Section 5.2), on random draws of sentences.

Folds of one draw share their training sentences, so a draw's mean over folds counts as one observation, and
methods are compared draw by draw. Judged on the primary reading of C and of the hidden Markov model; the
evidence has the others too.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from structmargin_suite.analysis.statistics import SIGNIFICANCE, holm, interval, means_along, p_value_above
from structmargin_suite.results import ExperimentResults, column
from structmargin_suite.statements import Verdict, claim, decided, readings_of, untested

MIN_DRAWS = 3  # draws, or folds: from two values a t-interval reaches 12.7 standard errors
MAX_SHARE = 0.75  # of the HMM's errors: a quarter fewer counts as "far fewer" (in Table 2 a third to a half)
MAX_AVERAGE_LOSS = 1.25  # what still rounds to the "about 1.2" of the statement lies below
LEARNERS = ("CRF", "Perceptron", "SVM")
FORMULATIONS = ("SVM2", "SVM2 slack", "SVM2 margin")


def _errors(results: ExperimentResults, method: str, reading: str | None = None) -> dict[int, float]:
    """A method's mean test error over folds, for each draw, under its primary reading unless given."""
    read = results.primary(method) if reading is None else reading
    return means_along(results.select("methods", method=method, reading=read), "repetition", "test_error")


def _less(results: ExperimentResults, first: str, second: str, reading: str | None = None) -> list[float]:
    """Points of test error that `second`, under a reading, has less than `first`, draw by draw."""
    a, b = _errors(results, first), _errors(results, second, reading)
    return [a[draw] - b[draw] for draw in a if draw in b]


def _too_few(results: ExperimentResults) -> Verdict | None:
    draws = min(len(_errors(results, name)) for name in ("HMM", *LEARNERS))
    return untested(f"{draws} draws; at least {MIN_DRAWS} are needed") if draws < MIN_DRAWS else None


@claim("ner-discriminative")
def discriminative(results: Mapping[str, ExperimentResults]) -> Verdict:
    """Each of CRF, perceptron and SVM makes at least a quarter fewer token errors than the HMM on average,
    and fewer by a paired one-sided t-test over draws with Holm's correction at 5%.
    """
    experiment = results["ner"]
    too_few = _too_few(experiment)
    if too_few is not None:
        return too_few
    less = {name: _less(experiment, "HMM", name) for name in LEARNERS}
    p = holm({name: p_value_above(values) for name, values in less.items()})
    base = float(np.mean(list(_errors(experiment, "HMM").values())))
    share = {name: 1.0 - float(np.mean(values)) / base for name, values in less.items()}
    shares_text = ", ".join(f"{name} {100 * share[name]:.0f}% of them (p={p[name]:.2g})" for name in LEARNERS)
    others = [
        f"{experiment.label('HMM', reading)} "
        f"{np.mean(list(_errors(experiment, 'HMM', reading).values())):.2f}%"
        for reading in readings_of(experiment, "methods", "HMM")[1:]
    ]
    return decided(
        all(share[name] <= MAX_SHARE and p[name] < SIGNIFICANCE for name in LEARNERS),
        f"the HMM errs on {base:.2f}% of tokens over {len(less['SVM'])} draws; {shares_text}; at most "
        f"{100 * MAX_SHARE:.0f}% is asked for. "
        f"Other treatments of unknown words: {', '.join(others) or 'none'}",
    )


@claim("ner-svm-best")
def svm_best(results: Mapping[str, ExperimentResults]) -> Verdict:
    """The SVM's token error is lower than the CRF's and the perceptron's, both by a paired one-sided
    t-test over draws with Holm's correction at 5%; a lower mean alone is no ranking.
    """
    experiment = results["ner"]
    too_few = _too_few(experiment)
    if too_few is not None:
        return too_few
    sentences: list[str] = []
    verdicts: list[bool] = []
    for reading in readings_of(experiment, "methods", "SVM"):
        less = {name: _less(experiment, name, "SVM", reading) for name in ("CRF", "Perceptron")}
        if not all(less.values()):
            continue
        p = holm({name: p_value_above(values) for name, values in less.items()})
        verdicts.append(all(value < SIGNIFICANCE for value in p.values()))
        points = ", ".join(f"{name} {interval(less[name])} (p={p[name]:.2g})" for name in less)
        sentences.append(f"{experiment.reading_label(reading)}: points of error above the SVM's: {points}")
    return decided(verdicts[0], "; ".join(sentences))


@claim("ner-formulations")
def formulations(results: Mapping[str, ExperimentResults]) -> Verdict:
    """The mean test errors of the three SVM2 formulations lie within the smallest of their standard
    deviations over folds.
    """
    experiment = results["ner"]
    sentences: list[str] = []
    verdicts: list[bool] = []
    for reading in readings_of(experiment, "formulations", FORMULATIONS[0]):
        errors = {
            name: experiment.select("formulations", method=name, reading=reading)["test_error"].to_numpy()
            for name in FORMULATIONS
        }
        if min(len(values) for values in errors.values()) < MIN_DRAWS:
            if sentences:
                break  # the other reading stands in the evidence where it was run
            return untested(f"fewer than {MIN_DRAWS} folds of each formulation")
        means = {name: float(np.mean(values)) for name, values in errors.items()}
        deviation = min(float(np.std(values, ddof=1)) for values in errors.values())
        apart = max(means.values()) - min(means.values())
        verdicts.append(apart <= deviation)
        each = ", ".join(f"{name} {value:.2f}%" for name, value in means.items())
        sentences.append(
            f"{experiment.reading_label(reading)}: {each}; {apart:.2f} apart, "
            f"the smallest standard deviation {deviation:.2f}"
        )
    return decided(verdicts[0], "; ".join(sentences))


@claim("ner-support")
def support(results: Mapping[str, ExperimentResults]) -> Verdict:
    """Under each of the three formulations most support sequences have one wrong label, and their average
    loss is at least 1 and, to one decimal, at most 1.2.
    """
    experiment = results["ner"]
    sentences: list[str] = []
    verdicts: list[bool] = []
    for reading in readings_of(experiment, "formulations", FORMULATIONS[0]):
        by_formulation = {}
        for name in FORMULATIONS:
            runs = experiment.select("formulations", method=name, reading=reading)
            by_formulation[name] = runs[column(runs, "average_loss").notna()]
        if min(len(runs) for runs in by_formulation.values()) < MIN_DRAWS:
            if sentences:
                break  # the other reading stands in the evidence where it was run
            return untested(f"fewer than {MIN_DRAWS} folds of each formulation")
        good, each = True, []
        for name, runs in by_formulation.items():
            loss, near = (float(np.mean(runs[key].to_numpy(float))) for key in MEASURES)
            good = good and 1.0 <= loss < MAX_AVERAGE_LOSS and near > 0.5
            each.append(f"{name} {loss:.2f} ({100 * near:.0f}% with one wrong label)")
        verdicts.append(good)
        sentences.append(f"{experiment.reading_label(reading)}: average loss {', '.join(each)}")
    return decided(verdicts[0], "; ".join(sentences))


MEASURES = ("average_loss", "support_at_one")
