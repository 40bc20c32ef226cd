"""Claims about performance measures (cacm09 Section 3.3, Table 1).

A case is a data set and a measure. In each, the structural SVM trained on the measure is compared with the
conventional SVM, topic by topic, by macro-averages, wins and losses, and two tests over topics: the exact
sign test and Wilcoxon's signed rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from structmargin_suite.analysis.measures import (
    MEASURES,
    RIVAL,
    STUDIES,
    Case,
    cases,
    p_value_sign_test,
)
from structmargin_suite.analysis.statistics import SIGNIFICANCE, holm, p_value_lower
from structmargin_suite.results import ExperimentResults, column
from structmargin_suite.statements import Verdict, claim, decided, readings_of, untested

SUBSTANTIAL = 1.0  # points of a measure: what counts as substantially worse, significant or not
MAX_DISTANCE = 1e-3  # of two weight vectors that count as the same, relative to their length
MIN_TOPICS = 4  # of a data set: with fewer the signed rank test cannot reach 5%, one-sided


@claim("measures-win")
def win(results: Mapping[str, ExperimentResults]) -> Verdict:
    """Against the conventional SVM under its primary reading: the structural SVM has the higher
    macro-average in over half of the cases, and in none is it substantially worse, which is lower by more
    than a point, or lower and significantly so (signed rank, 5%, Holm's correction). Not tested with fewer
    than four topics in a case. Other readings stand in the evidence."""
    experiment = results["measures"]
    verdicts = [
        _against(cases(experiment, reading), experiment.label(RIVAL, reading))
        for reading in readings_of(experiment, STUDIES[0], RIVAL)
    ]
    if not verdicts:
        return untested("no runs of the conventional SVM")
    evidence = " ".join(f"Against the {verdict.evidence}" for verdict in verdicts)
    return Verdict(verdicts[0].verdict, evidence)


def _against(compared: Sequence[Case], rival: str) -> Verdict:
    if len({(case.data, case.measure) for case in compared}) < len(STUDIES) * len(MEASURES):
        return untested(f"{rival}: not every data set and measure has runs of both methods.")
    if min(len(case.topics) for case in compared) < MIN_TOPICS:
        return untested(f"{rival}: a data set has fewer than {MIN_TOPICS} topics at this scale.")
    ahead = sum(case.gain > 0 for case in compared)
    p = holm({k: p_value_lower(case.direct, case.rival) for k, case in enumerate(compared)})
    bad = [
        case
        for k, case in enumerate(compared)
        if case.gain < -SUBSTANTIAL or (case.gain < 0 and p[k] < SIGNIFICANCE)
    ]
    gains = ", ".join(
        f"{case.data} {MEASURES[case.measure]} {case.gain:+.1f} "
        f"({'-'.join(map(str, case.record))}, sign test p {p_value_sign_test(case):.2g})"
        for case in compared
    )
    failed = "; ".join(f"{case.data} {MEASURES[case.measure]}" for case in bad)
    return decided(
        2 * ahead > len(compared) and not bad,
        f"{rival}: higher in {ahead} of {len(compared)} cases, substantially worse in "
        f"{f'{len(bad)} ({failed})' if bad else 'none'}; gain in points (won-tied-lost topics): {gains}.",
    )


@claim("measures-error-rate")
def error_rate(results: Mapping[str, ExperimentResults]) -> Verdict:
    """On every topic, twice the structural SVM's w is the conventional SVM's at C' = 4 C / n, within a
    thousandth of its length."""
    experiment = results["measures"]
    models: dict[str, dict[Any, np.ndarray]] = {}
    for name in ("error rate", "plain SVM"):
        runs = experiment.select("error_rate", method=name)
        topics = zip(runs["data"], column(runs, "topic", 0), runs["run"], strict=True)
        models[name] = {(data, topic): _w(experiment, run) for data, topic, run in topics}
    both = sorted(set(models["error rate"]) & set(models["plain SVM"]))
    if not both:
        return untested("no topic has both models")
    far = {}
    for key in both:
        ours, peer = 2.0 * models["error rate"][key], models["plain SVM"][key]
        far[key] = float(np.linalg.norm(ours - peer) / np.linalg.norm(peer))
    (data, topic), most = max(far.items(), key=lambda item: item[1])
    return decided(
        most <= MAX_DISTANCE,
        f"|2 w - w'| / |w'| is at most {most:.2g} on {len(far)} topics (largest on {data}, topic {topic}); "
        f"the criterion is {MAX_DISTANCE:g}",
    )


def _w(experiment: ExperimentResults, run: str) -> np.ndarray:
    return experiment.method_of(run).weights(experiment.model(run))
