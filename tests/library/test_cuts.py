"""The record of cuts: worked out from losses and margins, checked, chosen from; tensor rows by definition."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

from structmargin import FORMULATIONS, StructuredSVM
from structmargin.cuts import Cuts, FactoredRows, SearchError, tensor_rows
from structmargin.problems import Multiclass
from structmargin.training.stopping import InnerTolerance


@pytest.mark.parametrize("name", FORMULATIONS)
def test_what_a_search_found_becomes_half_spaces(name: str) -> None:
    H = FORMULATIONS[name].H
    rng = np.random.default_rng(0)
    losses, w = np.array([0.0, 0.25, 1.0, 3.0]), rng.normal(size=5)
    rows = sp.csr_matrix(rng.normal(size=(4, 5)))
    cuts = Cuts.of_search(H, np.array([2, 0, 2, 1]), list("abcd"), losses, rows @ w, rows)
    for c in range(4):  # H(Delta, margin) is the distance of w from the half-space
        a = cuts.scale[c] * rows.toarray()[c]
        assert cuts.b[c] - a @ w == pytest.approx(cuts.H[c])
        assert cuts.H[c] == pytest.approx(float(H(losses[c], rows.toarray()[c] @ w)))
    assert np.all(cuts.alpha == 0.0)
    largest = cuts.largest_H(3)
    assert largest.tolist() == [cuts.H[1], cuts.H[3], max(cuts.H[0], cuts.H[2])]
    some = cuts.take(np.array([3, 0]))
    assert some.outputs == ["d", "a"] and some.example.tolist() == [1, 2]
    for field in ("losses", "scale", "b", "H", "alpha"):
        np.testing.assert_array_equal(getattr(some, field), getattr(cuts, field)[[3, 0]])
    np.testing.assert_array_equal(some.rows.toarray(), rows.toarray()[[3, 0]])


@pytest.mark.parametrize(
    ("loss", "margin", "why"),
    [
        (-1.0, 0.0, "Delta of example 7 is -1"),
        (np.nan, 0.0, "Delta of example 7"),
        (np.inf, 0.0, "finite"),
        (1.0, np.nan, "score of example 7"),
        (1.0, np.inf, "score of example 7"),
    ],
)
def test_a_bad_loss_or_score_names_its_example(loss: float, margin: float, why: str) -> None:
    example, outputs = np.array([3, 7]), [None, None]
    with pytest.raises(SearchError, match=why):
        Cuts.of_search(FORMULATIONS["SVM1 margin"].H, example, outputs, [1.0, loss], np.array([0.0, margin]))


@given(seed=st.integers(0, 10**6), m=st.integers(1, 4), D=st.integers(1, 4), R=st.integers(1, 4))
@settings(max_examples=50)
def test_tensor_rows_are_kronecker_products(seed: int, m: int, D: int, R: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = (rng.normal(size=(m, k)) * (rng.random((m, k)) < 0.6) for k in (D, R))
    rows = tensor_rows(sp.csr_matrix(left), sp.csr_matrix(right))
    want = np.array([np.kron(a, b) for a, b in zip(left, right)])
    np.testing.assert_array_equal(rows.toarray(), want)
    example = rng.integers(m, size=m)
    lazy = FactoredRows(sp.csr_matrix(left), sp.csr_matrix(right), example)
    np.testing.assert_array_equal(
        lazy.tocsr().toarray(), [np.kron(left[i], b) for i, b in zip(example, right)]
    )


def test_the_support_of_a_fit_is_made_of_cuts_at_its_final_w() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 3))
    Y = rng.integers(3, size=20)
    for solver in ("n_slack", "one_slack", "bcfw"):
        fit = StructuredSVM(Multiclass(3, 3), "SVM1 slack", solver, C=5.0).fit(X, Y).fit_
        cuts = fit.support
        assert isinstance(cuts, Cuts) and len(cuts.alpha) == fit.n_active and np.all(cuts.alpha > 0.0)
        a = cuts.scale[:, None] * cuts.rows.tocsr().toarray()
        np.testing.assert_allclose(a.T @ cuts.alpha, fit.w, atol=1e-10)
        np.testing.assert_allclose(cuts.H, cuts.b - a @ fit.w, atol=1e-10)


def test_the_relaxed_problem_is_solved_to_a_share_of_the_gap_but_no_further_than_the_criteria_need() -> None:
    inner = InnerTolerance(of_gap=0.1, of_eps=0.01, of_gap_tol=0.5)
    assert inner.after(20.0, floor=0.5) == pytest.approx(2.0)
    assert inner.after(1.0, floor=0.5) == 0.5
    assert inner.after(np.inf, floor=0.5) == 0.5
