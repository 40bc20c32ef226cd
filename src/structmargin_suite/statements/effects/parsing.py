"""Grammars (jmlr05 Section 5.4, Table 5).

A corpus with a test set of its own: a bootstrap over its documents where the data know them, else over its
sentences. A sample that is split at random again and again: intervals over splits, corrected for what they
share (Nadeau and Bengio). McNemar's test on F1: sentences on which one method's F1 is higher against those on
which it is lower, in the first split. What a training took or counted is judged over random splits only: a
corpus with a split of its own has one training, which shows no spread.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.special import expit

from structmargin_suite.analysis.algorithm import by_algorithm_1
from structmargin_suite.analysis.estimates import (
    Estimate,
    NotTestable,
    bootstrap,
    corrected_t,
    farthest,
    shared,
    sign_interval,
)
from structmargin_suite.analysis.experiments.parsing import brackets_of, by_document, f1, whole_tree_right
from structmargin_suite.analysis.statistics import logarithms
from structmargin_suite.datasets._treebanks import TEST_SHARE
from structmargin_suite.results import ExperimentResults, column
from structmargin_suite.statements.cases import Case, effect

SPLITS = ("splits", "splits, schedule")
TABLE = ("table 5", "price alone", *SPLITS)
SIZES = ("sizes", "sizes, schedule")
TRAININGS = (*TABLE, *SIZES)
ALONG_C = ("C", "C, splits")
VARIANTS = "variants"
PCFG, ZERO_ONE, SLACK, MARGIN = "PCFG", "SVM2", "SVM2 slack", "SVM2 margin"
TEST_TO_TRAIN = 1.0 / (TEST_SHARE - 1)
F1, TREES = "test_f1", "test_accuracy"
MIN_UNITS = 30  # documents or sentences: a bootstrap of fewer shows too little of the tails
PAPERS_SENTENCES = 4098
"""On which Table 5 was trained (Section 5.4)."""
PRINTED_C = 1.0
C_RANGE = (0.1, 100.0)
Counts = Callable[[ExperimentResults, str], np.ndarray]
"""(experiment, run) -> counts of each test sentence, (sentences, k)."""
COUNTS: dict[str, tuple[Counts, Callable[[np.ndarray], np.ndarray]]] = {
    F1: (brackets_of, f1),
    TREES: (whole_tree_right, lambda sums: sums[..., 0] / sums[..., 1]),
}
"""By measure: counts of each sentence, and the measure as a share from their sums."""
COMPARED = {
    "parse-zero-one-trees": (TREES, ZERO_ONE, PCFG),
    "parse-zero-one-f1": (F1, ZERO_ONE, PCFG),
    "parse-f1-slack": (F1, SLACK, PCFG),
    "parse-f1-margin": (F1, MARGIN, PCFG),
    "parse-f1-slack-zero-one": (F1, SLACK, ZERO_ONE),
    "parse-f1-margin-zero-one": (F1, MARGIN, ZERO_ONE),
    "parse-f1-both": (F1, SLACK, MARGIN),
}
"""Statement: (measure, the method that it says is better, the other)."""


def gain(measure: str, better: str, other: str, case: Case) -> Estimate:
    """Points of F1, or percent of whole trees, that one method has more than another."""
    by_split = case.paired(TABLE, measure, better, other)
    if len(by_split) > 1:
        return corrected_t(by_split, case.level, TEST_TO_TRAIN)
    return _resampled(case, measure, [_first_run(case, method) for method in (better, other)], case.level)


def _resampled(case: Case, measure: str, runs: Sequence[str], level: float) -> Estimate:
    """A measure of the first of two runs on one test set minus that of the second, resampled by document."""
    counts, share = COUNTS[measure]
    both = np.hstack([by_document(case.experiment, run, counts(case.experiment, run)) for run in runs])
    if len(both) < MIN_UNITS:
        raise NotTestable(f"a test set of {len(both)} units; at least {MIN_UNITS} are needed for a bootstrap")
    k = both.shape[1] // 2
    return bootstrap(both, level, lambda sums: 100.0 * (share(sums[:, :k]) - share(sums[:, k:])))


def more_sentences(better: str, other: str, case: Case) -> Estimate:
    """Sentences on which one method's F1 is higher minus those on which it is lower, as a share of both."""
    ours, theirs = (f1(brackets_of(case.experiment, _first_run(case, method))) for method in (better, other))
    return sign_interval(int(np.sum(ours > theirs)), int(np.sum(ours < theirs)), case.level)


def _first_run(case: Case, method: str) -> str:
    runs = case.runs(TABLE, method)
    if runs.empty:
        raise NotTestable(f"no finished run of {method} on this corpus")
    return str(runs.loc[column(runs, "repetition", 0).idxmin(), "run"])


def _trainings(case: Case, method: str) -> pd.DataFrame:
    """Runs of Algorithm 1 on the largest training set of a corpus, with `n_examples`."""
    runs = by_algorithm_1(case.runs(TRAININGS, method))
    if runs.empty:
        raise NotTestable(f"no finished run of {method} on this corpus")
    n = [int(case.experiment.record(run)["n_train"]) for run in runs["run"]]
    runs = runs.assign(n_examples=n)
    return runs[runs["n_examples"] == runs["n_examples"].max()]


def _over_trainings(case: Case, values: Sequence[float]) -> Estimate:
    """One value per training, of random splits; the one training of a fixed split has no interval."""
    return corrected_t(values, case.level, TEST_TO_TRAIN)


def per_sentence(method: str, case: Case) -> Estimate:
    """Constraints added per training sentence."""
    runs = _trainings(case, method)
    return _over_trainings(case, (runs["constraints"] / runs["n_examples"]).tolist())


def passes(method: str, case: Case) -> Estimate:
    """Passes over the data."""
    return _over_trainings(case, _trainings(case, method)["iterations"].astype(float).tolist())


def _seconds(case: Case, method: str, part: str) -> pd.Series:
    """CPU seconds of a part of training, by repetition."""
    runs = case.experiment.timed(_trainings(case, method))
    if runs.empty:
        raise NotTestable(f"no clock of {method}")
    return runs.assign(repetition=column(runs, "repetition", 0)).groupby("repetition")[part].mean()


def share_of_time(in_qp: bool, method: str, case: Case) -> Estimate:
    """Percent of the algorithm's own CPU time that goes into the QP, or into all else."""
    shares = 100.0 * _seconds(case, method, "fit_seconds_qp") / _seconds(case, method, "fit_seconds_loop")
    return _over_trainings(case, (shares if in_qp else 100.0 - shares).tolist())


@effect("parse-time-zero-one", study=SIZES, methods=[ZERO_ONE], among=by_algorithm_1, cause="data")
def share_at_the_papers_size(case: Case) -> Estimate:
    """The share of the time in the QP, extrapolated to as many sentences as the paper has.

    All constraints are in one QP, so that its time grows faster than that of the searches. In each split the
    logarithm of the ratio of the two is a straight line in the logarithm of the number of sentences.
    """
    runs = case.experiment.timed(by_algorithm_1(case.runs(SIZES, ZERO_ONE)))
    if runs.empty or not {"n_train", "repetition"} <= set(runs):
        raise NotTestable(f"no clock of {ZERO_ONE} on several training sets of several sizes")
    in_qp, loop = runs["fit_seconds_qp"], runs["fit_seconds_loop"]
    runs = runs.assign(share=100.0 * in_qp / loop, log_odds=logarithms(in_qp) - logarithms(loop - in_qp))
    sized = runs[runs["n_train"].notna()]
    splits = [split for _, split in sized.groupby("repetition") if split["n_train"].nunique() > 1]
    estimate = _over_trainings(case, [_extrapolated(split) for split in splits])
    effect_, low, high = (100.0 * float(expit(x)) for x in (estimate.effect, estimate.low, estimate.high))
    shares = pd.concat(splits).groupby("n_train")["share"].mean()
    seen = " and ".join(
        f"{shares[n]:.0f}% with {n:.0f} sentences" for n in (min(shares.index), max(shares.index))
    )
    return replace(estimate, effect=effect_, low=low, high=high, se=None).noted(
        f"the share in the QP is {seen}; extrapolated to the paper's {PAPERS_SENTENCES:,} it is "
        f"{effect_:.0f}% ({low:.0f} to {high:.0f})"
    )


def _extrapolated(split: pd.DataFrame) -> float:
    """The log odds of the time in the QP with the paper's number of sentences, on the line of one split."""
    line = np.polyfit(np.log(split["n_train"].astype(float)), split["log_odds"], 1)
    return float(np.polyval(line, math.log(PAPERS_SENTENCES)))


def log_ratio(part: str, above: str, below: str, case: Case) -> Estimate:
    """The logarithm of the ratio of two methods' CPU times."""
    first, second = (logarithms(_seconds(case, method, part)) for method in (above, below))
    ratios = (first - second).dropna()
    if ratios.empty:
        raise NotTestable(f"{above} and {below} share no split")
    return _over_trainings(case, ratios.tolist())


def choice_of_c(method: str, case: Case) -> Estimate:
    """Test F1 at the value of C where it is farthest from that at C = 1.

    Over random splits, or resampled by document where a corpus has one training and one test set.
    """
    runs = case.runs(ALONG_C, method)
    values = sorted(set(runs["C"]))
    if PRINTED_C not in values or not (values and values[0] <= C_RANGE[0] and values[-1] >= C_RANGE[1]):
        raise NotTestable(f"{method} was not trained for C from 0.1 to 100")
    base = case.values(ALONG_C, F1, method, C=PRINTED_C)
    level, others = shared(case.level, len(values) - 1), [C for C in values if C != PRINTED_C]
    found = []
    for C in others:
        there = case.values(ALONG_C, F1, method, C=C)
        differences = [there[split] - base[split] for split in there if split in base]
        if len(differences) > 1:
            estimate = corrected_t(differences, level, TEST_TO_TRAIN)
        else:
            estimate = _resampled(
                case,
                F1,
                [str(runs.loc[runs["C"] == value, "run"].iloc[0]) for value in (C, PRINTED_C)],
                level,
            )
        found.append(estimate.noted(f"{estimate.effect:+.2f} points at C = {C:g}, the farthest of {others}"))
    return farthest(found)


@effect("algorithm-variants-time", study=VARIANTS)
def variants(case: Case) -> Estimate:
    """The logarithm of variant (b)'s time over variant (a)'s, averaged over formulations, by split."""
    runs = case.experiment.timed(case.runs(VARIANTS))
    if runs.empty:
        raise NotTestable("no clock of these runs")
    return _b_over_a(case, runs, "fit_seconds_loop")


@effect("algorithm-variants-time", study=VARIANTS, cause="engineering")
def variants_in_counts(case: Case) -> Estimate:
    """The same in searches, which decide where a search takes as long as in the paper's program."""
    estimate = _b_over_a(case, case.runs(VARIANTS), "oracle_calls")
    return estimate.noted(
        f"variant (b) makes {math.exp(estimate.effect):.2f} times the searches of variant (a), "
        "but a search is cheap here"
    )


def _b_over_a(case: Case, runs: pd.DataFrame, measure: str) -> Estimate:
    """The logarithm of variant (b)'s value over variant (a)'s, averaged over formulations, by split."""
    runs = runs.assign(repetition=column(runs, "repetition", 0), logarithm=logarithms(runs[measure]))
    keys = ["repetition", "method"]
    a, b = (runs[runs["solver"] == f"n_slack_{name}"].set_index(keys)["logarithm"] for name in "ab")
    by_split = (b - a).dropna().groupby("repetition").mean()
    return corrected_t(by_split.to_numpy(), case.level, TEST_TO_TRAIN)


@effect("parse-features-spans", study="richer", methods=["SVM2 margin, spans", MARGIN])
def spans(case: Case) -> Estimate:
    """Points of F1 that features of spans add."""
    by_split = case.paired("richer", F1, "SVM2 margin, spans", MARGIN)
    return corrected_t(by_split, case.level, TEST_TO_TRAIN)


def _register(name: str, study: Sequence[str], methods: Sequence[str], function: Callable[..., Estimate],
              *given: object) -> None:  # fmt: skip
    among = by_algorithm_1 if study == TRAININGS else None
    effect(name, study=study, methods=methods, among=among)(functools.partial(function, *given))


for _id, (_measure, _better, _other) in COMPARED.items():
    _register(_id, TABLE, [_better, _other], gain, _measure, _better, _other)
for _kind, _method in (("slack", SLACK), ("margin", MARGIN)):
    _register(f"parse-f1-{_kind}-mcnemar", TABLE, [_method, PCFG], more_sentences, _method, PCFG)
    _register(f"parse-time-{_kind}", TRAININGS, [_method], share_of_time, False, _method)
    _both = [_method, ZERO_ONE]
    _register(f"parse-time-faster-{_kind}", TRAININGS, _both, log_ratio, "fit_seconds_loop", *_both)
    _register(f"parse-time-qp-{_kind}", TRAININGS, _both, log_ratio, "fit_seconds_qp", *_both)
for _kind, _method in (("zero-one", ZERO_ONE), ("slack", SLACK), ("margin", MARGIN)):
    _register(f"parse-constraints-{_kind}", TRAININGS, [_method], per_sentence, _method)
    _register(f"parse-iterations-{_kind}", TRAININGS, [_method], passes, _method)
    _register(f"parse-c-{_kind}", ALONG_C, [_method], choice_of_c, _method)
_register("parse-time-zero-one", TRAININGS, [ZERO_ONE], share_of_time, True, ZERO_ONE)
