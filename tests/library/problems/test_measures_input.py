"""`Measure`: bad input and what cannot be are refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from structmargin import StructuredSVM, registry
from structmargin.problems import Measure
from structmargin.problems.measures.problem import Sample

X4, Y4 = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, -1.0]]), np.array([1, -1, 1, -1])


@pytest.mark.parametrize(
    ("problem", "X", "Y", "words"),
    [
        (Measure("f1"), X4, np.ones(4), "all 4 labels are positive"),
        (Measure("f1"), X4, [np.array([1, -1])] * 4, "of row 0 is an array: give one label"),
        (Measure("f1", positive=1), X4, [np.array([1, -1])] * 4, "of row 0 is an array: give one label"),
        (Measure("roc_area"), X4, -np.ones(4), "all 4 labels are negative"),
        (Measure("f1", positive="spam"), X4, list("abcd"), "all 4 labels are negative"),
        (Measure("f1", positive=1), X4, list("1010"), "all 4 labels are negative"),
        (Measure("precision_at_k", k=5), X4, Y4, "k=5 is larger than the sample of 4 rows"),
        (Measure("recall_at_k"), X4, Y4, "needs k, a whole number from 1 on, but k is None"),
        (Measure("recall_at_k", k=0), X4, Y4, "k is 0"),
        (Measure("f1"), np.where(X4 == -1.0, np.nan, X4), Y4, "row 3 has a NaN"),
        (Measure("f1"), sp.csr_matrix(np.where(X4 == -1.0, np.inf, X4)), Y4, "row 3 has a NaN or infinite"),
        (Measure("f1"), X4, [1, -1, 0, -1], "label 0 of row 2 is neither -1 nor \\+1: .*positive="),
        (Measure("f1"), X4, [True, False, True, False], "label True of row 0"),
        (Measure("f1"), X4, ["a", "b", "a", "b"], "label 'a' of row 0"),
        (Measure("f1"), X4, Y4[:3], "X has 4 examples but Y has 3"),
        (Measure("f1"), X4[:, 0], Y4, "X must be a matrix .* but has 1 dimensions"),
        (Measure("F1"), X4, Y4, "unknown measure 'F1'; known: f1, "),
        (Measure("fbeta", beta=0.0), X4, Y4, "beta must be above 0 and at most 1e.100, but it is 0.0"),
        (Measure("f1", intercept=-1.0), X4, Y4, "intercept must be .* -1.0"),
    ],
)
def test_bad_input_is_named(problem: Measure, X: Any, Y: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        StructuredSVM(problem, solver="one_slack").fit(X, Y)


@pytest.mark.parametrize(
    ("measure", "needs"), [("f1", "a positive row"), ("roc_area", "rows of both classes")]
)
def test_a_sample_without_positive_rows_has_no_loss(measure: str, needs: str) -> None:
    model = StructuredSVM(Measure(measure), solver="one_slack").fit(X4, Y4)
    with pytest.raises(ValueError, match=f"all 4 labels are negative: '{measure}' needs {needs}"):
        model.score(X4, -np.ones(4))


def test_what_cannot_be_is_refused_with_a_reason() -> None:
    with pytest.raises(ValueError, match=r"SVM1 slack.*each pair by itself"):
        StructuredSVM(Measure("roc_area"), "SVM1 slack", solver="one_slack").fit(X4, Y4)
    with pytest.raises(ValueError, match="takes no joint kernel"):
        StructuredSVM(Measure("f1"), kernel=registry.kernel("linear")).fit(X4, Y4)
    with pytest.raises(ValueError, match=r"Sample\(rows, positive\)"):
        Measure("roc_area").psi(Sample(X4), Y4)
    model = StructuredSVM(Measure("precision_at_k", k=3), solver="one_slack").fit(X4, Y4)
    with pytest.raises(ValueError, match="k=3 is larger than the sample of 2 rows"):
        model.predict(X4[:2])
    with pytest.raises(ValueError, match="X has 1 features, but StructuredSVM is expecting 2"):
        model.predict(X4[:, :1])
