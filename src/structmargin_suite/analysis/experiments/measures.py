"""Performance measures: two methods topic by topic, and tests over topics (cacm09 Section 3.3, Table 1)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from structmargin_suite.results import ExperimentResults, column

STUDIES = ("reuters", "arxiv", "optdigits", "covertype")
MEASURES = {"f1": "F1", "prbep": "break-even point", "roc_area": "ROC area"}
DIRECT, RIVAL = "structural SVM", "SVM"


class Case(NamedTuple):
    """Values of both methods on the same topics of a study's data set, (n,) each."""

    study: str
    data: str
    measure: str
    topics: np.ndarray
    direct: np.ndarray
    rival: np.ndarray

    @property
    def gain(self) -> float:
        """The macro-average of the direct method minus that of the other."""
        return float(np.mean(self.direct - self.rival))

    @property
    def record(self) -> tuple[int, int, int]:
        """Topics won, tied and lost."""
        signs = np.sign(np.round(self.direct - self.rival, 9))
        return int(np.sum(signs > 0)), int(np.sum(signs == 0)), int(np.sum(signs < 0))


def cases(experiment: ExperimentResults, reading: str) -> list[Case]:
    """Every case of which both methods have runs under a reading, in the order of the table."""
    compared = []
    methods: tuple[dict[str, Any], ...] = tuple(
        {"method": method, "reading": reading} for method in (DIRECT, RIVAL)
    )
    for study in STUDIES:
        for measure in MEASURES:
            direct, other = (
                pd.DataFrame(
                    {
                        "data": runs["data"],
                        "topic": column(runs, "topic", 0),
                        "value": column(runs, f"test_{measure}").astype(float),
                    }
                )
                for runs in (experiment.select(study, measure=measure, **method) for method in methods)
            )
            both = direct.merge(other, on=["data", "topic"], suffixes=("", "_rival"))
            if len(both):
                both = both.sort_values(["data", "topic"])
                compared.append(
                    Case(
                        study,
                        both["data"].iloc[0],
                        measure,
                        both["topic"].to_numpy(int),
                        both["value"].to_numpy(),
                        both["value_rival"].to_numpy(),
                    )
                )
    return compared


def p_value_sign_test(case: Case) -> float:
    """Two-sided exact p that wins and losses are equally likely."""
    from scipy.stats import binomtest

    won, _, lost = case.record
    return float(binomtest(won, won + lost).pvalue) if won + lost else 1.0
