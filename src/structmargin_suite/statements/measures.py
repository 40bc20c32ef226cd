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
    RIVALS,
    STUDIES,
    Case,
    cases,
    sign_test,
    worse,
)
from structmargin_suite.analysis.statistics import holm
from structmargin_suite.results import ExperimentResults
from structmargin_suite.statements import Verdict, claim, decided, untested

LEVEL, SUBSTANTIAL = 0.05, 1.0
SAME, FEWEST = 1e-3, 4


@claim("measures-win")
def win(results: Mapping[str, ExperimentResults]) -> Verdict:
    """Against the conventional SVM with the wider range of costs: the structural SVM has the higher
    macro-average in over half of the cases, and in none is it substantially worse, which is lower by more
    than a point, or lower and significantly so (signed rank, 5%, Holm's correction). Not tested with fewer
    than four topics in a case. The narrower range stands in the evidence."""
    mine = results["measures"]
    verdicts = [_against(cases(mine, rival), mine.label(rival)) for rival in RIVALS]
    told = " ".join(f"Against the {verdict.evidence}" for verdict in verdicts)
    return Verdict(verdicts[0].verdict, told)


def _against(found: Sequence[Case], rival: str) -> Verdict:
    if len({(case.data, case.measure) for case in found}) < len(STUDIES) * len(MEASURES):
        return untested(f"{rival}: not every data set and measure has runs of both methods.")
    if min(len(case.topics) for case in found) < FEWEST:
        return untested(f"{rival}: a data set has fewer than {FEWEST} topics at this scale.")
    ahead = sum(case.gain > 0 for case in found)
    p = holm({k: worse(case) for k, case in enumerate(found)})
    bad = [
        case for k, case in enumerate(found) if case.gain < -SUBSTANTIAL or (case.gain < 0 and p[k] < LEVEL)
    ]
    told = ", ".join(
        f"{case.data} {MEASURES[case.measure]} {case.gain:+.1f} "
        f"({'-'.join(map(str, case.record))}, sign test p {sign_test(case):.2g})"
        for case in found
    )
    failed = "; ".join(f"{case.data} {MEASURES[case.measure]}" for case in bad)
    return decided(
        2 * ahead > len(found) and not bad,
        f"{rival}: higher in {ahead} of {len(found)} cases, substantially worse in "
        f"{f'{len(bad)} ({failed})' if bad else 'none'}; gain in points (won-tied-lost topics): {told}.",
    )


@claim("measures-error-rate")
def error_rate(results: Mapping[str, ExperimentResults]) -> Verdict:
    """On every topic, twice the structural SVM's w is the conventional SVM's at C' = 4 C / n, within a
    thousandth of its length."""
    mine = results["measures"]
    rows = {name: mine.rows("error_rate", method=name) for name in ("error rate", "plain SVM")}
    models: dict[str, dict[Any, np.ndarray]] = {
        name: {(row["data"], row.get("topic") or 0): _w(mine, row["run"]) for row in found}
        for name, found in rows.items()
    }
    both = sorted(set(models["error rate"]) & set(models["plain SVM"]))
    if not both:
        return untested("no topic has both models")
    far = {}
    for key in both:
        ours, peer = 2.0 * models["error rate"][key], models["plain SVM"][key]
        far[key] = float(np.linalg.norm(ours - peer) / np.linalg.norm(peer))
    (data, topic), most = max(far.items(), key=lambda item: item[1])
    return decided(
        most <= SAME,
        f"|2 w - w'| / |w'| is at most {most:.2g} on {len(far)} topics (largest on {data}, topic {topic}); "
        f"the criterion is {SAME:g}",
    )


def _w(mine: ExperimentResults, run: str) -> np.ndarray:
    return mine.method_of(run).weights(mine.model(run))
