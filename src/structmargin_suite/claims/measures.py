"""Claims about performance measures (cacm09 Section 3.3, Table 1).

A case is a data set and a measure. In each, the structural SVM trained on the measure is compared with the
conventional SVM, topic by topic, by macro-averages, wins and losses, and two tests over topics: the exact
sign test and Wilcoxon's signed rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from structmargin_suite.claims import Verdict, claim, decided, untested
from structmargin_suite.claims.statistics import holm
from structmargin_suite.results import ExperimentResults

STUDIES = ("reuters", "arxiv", "optdigits", "covertype")
MEASURES = {"f1": "F1", "prbep": "PRBEP", "roc_area": "ROC area"}
DIRECT, RIVALS = "structural SVM", ("SVM", "SVM, costs to 8")
LEVEL, SUBSTANTIAL = 0.05, 1.0
SAME, FEWEST = 1e-3, 4


class Case(NamedTuple):
    """Values of both methods on the same topics of a data set, (n,) each."""

    data: str
    measure: str
    topics: np.ndarray
    direct: np.ndarray
    rival: np.ndarray

    @property
    def gain(self) -> float:
        """The macro-average of the direct method less that of its rival."""
        return float(np.mean(self.direct - self.rival))

    @property
    def record(self) -> tuple[int, int, int]:
        """Topics won, tied and lost."""
        signs = np.sign(np.round(self.direct - self.rival, 9))
        return int(np.sum(signs > 0)), int(np.sum(signs == 0)), int(np.sum(signs < 0))


def cases(mine: ExperimentResults, rival: str) -> list[Case]:
    """Every case of which both methods have runs, in the order of the table."""
    found = []
    for study in STUDIES:
        for measure in MEASURES:
            values = {
                method: {
                    (row["data"], row.get("topic") or 0): float(row[f"test_{measure}"])
                    for row in mine.rows(study, method=method)
                    if row["measure"] == measure
                }
                for method in (DIRECT, rival)
            }
            both = sorted(set(values[DIRECT]) & set(values[rival]))
            if both:
                direct, other = (np.array([values[method][key] for key in both]) for method in values)
                topics = np.array([topic for _, topic in both])
                found.append(Case(both[0][0], measure, topics, direct, other))
    return found


def sign_test(case: Case) -> float:
    """Two-sided exact p that wins and losses are equally likely."""
    from scipy.stats import binomtest

    won, _, lost = case.record
    return float(binomtest(won, won + lost).pvalue) if won + lost else 1.0


def worse(case: Case) -> float:
    """One-sided p of Wilcoxon's test that the direct method is not worse."""
    from scipy.stats import wilcoxon

    if not sum(case.record[::2]):
        return 1.0
    return float(wilcoxon(case.direct, case.rival, alternative="less", method="approx").pvalue)


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
    model = mine.model(run)
    return np.asarray(model.w if "baseline" in mine.record(run)["model"] else model.w_, dtype=float)
