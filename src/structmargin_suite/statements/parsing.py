"""Claims about grammars (jmlr05 Section 5.4, Table 5), corpus by corpus.

The verdict is that of the first corpus of Table 5 and the primary reading of C; the others stand in the
evidence. Methods are compared sentence by sentence on the
test set, by exact one-sided tests over the sentences on which they differ: McNemar's test on whole trees,
and a sign test on which method's F1 is larger. A bootstrap over sentences gives an interval for the F1 over
the brackets of all sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from structmargin_suite.analysis.parsing import bootstrap, brackets_of, f1, whole_tree_right
from structmargin_suite.analysis.statistics import SIGNIFICANCE, holm, means_along, p_value_mcnemar
from structmargin_suite.results import ExperimentResults, column
from structmargin_suite.statements import (
    FAILS,
    HOLDS,
    Verdict,
    claim,
    decided,
    first_decides,
    readings_of,
    untested,
)

STUDY = "table 5"
BASE, ZERO_ONE, ON_F1 = "PCFG", "SVM2", ("SVM2 slack", "SVM2 margin")
MARGINAL = 1.0  # in points of F1: marginal up to it, substantial from it
PER_SENTENCE = (1.5, 2.5)  # constraints added: what rounds to "about twice the number of sentences"
MAX_F1_RANGE = 2.0  # points between the values of C within which their results are comparable
CorpusCheck = Callable[[ExperimentResults, pd.DataFrame], Verdict]
"""(experiment, runs of one corpus under one reading by method) -> verdict."""


@claim("parse-zero-one")
def zero_one(results: Mapping[str, ExperimentResults]) -> Verdict:
    """SVM2 on 0/1 loss gets more whole trees right than the PCFG (McNemar, 5%), and its F1 differs by at most
    one point. More, but not beyond chance: not tested.
    """

    def check(experiment: ExperimentResults, runs: pd.DataFrame) -> Verdict:
        a, b = runs.loc[ZERO_ONE], runs.loc[BASE]
        p = p_value_mcnemar(whole_tree_right(experiment, a["run"]), whole_tree_right(experiment, b["run"]))
        lead, apart = a["test_accuracy"] - b["test_accuracy"], a["test_f1"] - b["test_f1"]
        evidence = (
            f"accuracy {a['test_accuracy']:.1f}% against {b['test_accuracy']:.1f}% of the PCFG (p={p:.2g}), "
            f"F1 {apart:+.1f} points"
        )
        if lead > 0 and abs(apart) <= MARGINAL and p >= SIGNIFICANCE:
            return untested(f"{evidence}; more, but not beyond chance")
        return decided(lead > 0 and abs(apart) <= MARGINAL, evidence)

    return _by_corpus(results, [ZERO_ONE], check)


@claim("parse-f1")
def on_f1(results: Mapping[str, ExperimentResults]) -> Verdict:
    """Trained on the F1 loss, by slack and by margin re-scaling alike, test F1 is at least one point above
    the PCFG's, and more sentences gain than lose in F1 (sign test over sentences with Holm's correction, 5%).
    At least one point, but not beyond chance: not tested.
    """

    def check(experiment: ExperimentResults, runs: pd.DataFrame) -> Verdict:
        base = brackets_of(experiment, runs.loc[BASE, "run"])
        p, gains, above = {}, {}, {}
        for name in ON_F1:
            brackets = brackets_of(experiment, runs.loc[name, "run"])
            svm_f1, base_f1 = f1(brackets), f1(base)  # a fraction for each sentence
            # McNemar's test on "has the larger F1" is a sign test over sentences.
            p[name] = p_value_mcnemar(svm_f1 > base_f1, base_f1 > svm_f1)
            # In percent, over the brackets of the whole corpus.
            above[name] = runs.loc[name, "test_f1"] - runs.loc[BASE, "test_f1"]
            low, high = bootstrap(brackets, base)
            gains[name] = f"{name} {above[name]:+.1f} points of F1 (95% {low:+.1f} to {high:+.1f}"
        adjusted = holm(p)
        evidence = ", ".join(f"{gains[name]}, p={adjusted[name]:.2g})" for name in ON_F1)
        evidence = f"against {runs.loc[BASE, 'test_f1']:.1f}% of the PCFG: {evidence}"
        large_enough = all(value >= MARGINAL for value in above.values())
        if large_enough and max(adjusted.values()) >= SIGNIFICANCE:
            return untested(f"{evidence}; higher, but not beyond chance")
        return decided(large_enough, evidence)

    return _by_corpus(results, ON_F1, check)


@claim("parse-constraints")
def constraints(results: Mapping[str, ExperimentResults]) -> Verdict:
    """Under each of the three formulations 1.5 to 2.5 constraints are added per training sentence."""
    methods = (ZERO_ONE, *ON_F1)

    def check(experiment: ExperimentResults, runs: pd.DataFrame) -> Verdict:
        ratio = {
            name: run["constraints"] / experiment.record(run["run"])["n_train"]
            for name, run in ((name, runs.loc[name]) for name in methods)
        }
        ratios = ", ".join(f"{name} {value:.2f}" for name, value in ratio.items())
        return decided(
            all(PER_SENTENCE[0] <= value <= PER_SENTENCE[1] for value in ratio.values()),
            f"constraints a sentence: {ratios}",
        )

    verdict = _by_corpus(results, methods, check)
    experiment = results["parsing"]
    runs = experiment.select("sizes", reading="one by one")
    sizes = column(runs, "n_train")
    alone = [
        f"{experiment.label(run.method, run.reading)} {run.constraints / run.n_train:.2f} at n={run.n_train}"
        for run in runs[sizes == sizes.max()].itertuples()
    ]
    return verdict._replace(evidence="; ".join([verdict.evidence, *dict.fromkeys(alone)]))


@claim("parse-time")
def time_split(results: Mapping[str, ExperimentResults]) -> Verdict:
    """With 0/1 loss more CPU time goes into the QP than into the search for trees, with the F1 loss less."""
    timings = results["parsing"].timings().set_index("run")

    def check(experiment: ExperimentResults, runs: pd.DataFrame) -> Verdict:
        shares, right = [], True
        for name in (ZERO_ONE, *ON_F1):
            run = runs.loc[name, "run"]
            if run not in timings.index:
                return untested(f"no clock of {name}")
            qp, search = timings.loc[run, ["fit_seconds_qp", "fit_seconds_search"]]
            right = right and (qp > search if name == ZERO_ONE else search > qp)
            shares.append(
                f"{name} {100 * qp / max(qp + search, 1e-12):.0f}% of {qp + search:.1f} s in the QP"
            )
        return decided(right, ", ".join(shares))

    return _by_corpus(results, (ZERO_ONE, *ON_F1), check)


@claim("parse-c")
def choice_of_c(results: Mapping[str, ExperimentResults]) -> Verdict:
    """Under each formulation the mean test F1 over random splits differs by at most two points between the
    values of C, which reach from 0.1 to 100.
    """
    experiment = results["parsing"]
    sentences, verdicts = [], []
    for name in (ZERO_ONE, *ON_F1):
        runs = experiment.select("C", method=name, reading=experiment.primary(name))
        means = means_along(runs, "C", "test_f1")
        if not means or min(means) > 0.1 or max(means) < 100.0:
            return untested(f"{name} was not trained for C from 0.1 to 100")
        verdicts.append(max(means.values()) - min(means.values()) <= MAX_F1_RANGE)
        sentences.append(f"{name} " + ", ".join(f"{value:.1f} at C={C:g}" for C, value in means.items()))
    return decided(all(verdicts), f"mean test F1: {'; '.join(sentences)}")


def _by_corpus(
    results: Mapping[str, ExperimentResults], methods: Sequence[str], check: CorpusCheck
) -> Verdict:
    """Verdicts on single corpora and readings of C as one.

    The first corpus and the primary reading decide, or the next ones for which all runs exist.
    """
    experiment = results["parsing"]
    verdicts = []
    for _, runs in experiment.select(STUDY).groupby("corpus", sort=False):
        for reading in readings_of(experiment, STUDY, methods[0]):
            read = runs[(runs["reading"] == reading) | (runs["method"] == BASE)]
            by_method = read.drop_duplicates("method", keep="last").set_index("method")
            if all(name in by_method.index for name in (BASE, *methods)):
                verdict = check(experiment, by_method)
                where = f"{by_method.loc[BASE, 'data']}, {experiment.reading_label(reading)}"
                verdicts.append(verdict._replace(evidence=f"{where} {_short(verdict)}: {verdict.evidence}"))
    return first_decides(verdicts, f"no runs of {BASE} and {', '.join(methods)} on one corpus")


def _short(verdict: Verdict) -> str:
    return verdict.verdict if verdict.verdict in (HOLDS, FAILS) else "undecided"
