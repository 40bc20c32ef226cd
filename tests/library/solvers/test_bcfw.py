"""What block-coordinate Frank-Wolfe saves: searches that the cuts held make superfluous."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.toy_chain import ToyChain, chains
from structmargin.formulation import FORMULATIONS
from structmargin.problem import SEARCH_COST
from structmargin.problems import Sequence
from structmargin.solvers import bcfw
from structmargin.solvers.bcfw import BCFW, pairwise_steps
from structmargin.solvers.n_slack import NSlack

MARGIN = FORMULATIONS["SVM1 margin"]


def words(n: int = 40) -> tuple[Any, tuple[Any, Any]]:
    """Chains of four labels that no w explains."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(5, 4))
    X = [rng.normal(size=(int(T), 5)) for T in rng.integers(3, 8, size=n)]
    return Sequence(4, 5), (X, [np.argmax(x @ W + rng.normal(size=(len(x), 4)), axis=1) for x in X])


def trained(solver: Any, gap_tol: float = 1e-4) -> Any:
    problem, data = words()
    return solver.train(problem, data, MARGIN, C=20.0, gap_tol=gap_tol, max_iter=2000)


def test_hits_save_searches_and_lead_to_the_same_optimum() -> None:
    reference = trained(NSlack(variant="b"), 1e-6)
    hits, none = trained(BCFW(idle=5)), trained(BCFW(idle=5, hits=False))
    for fit in (hits, none):
        assert fit.converged and fit.dual <= reference.primal and reference.dual <= fit.primal
        assert fit.primal == pytest.approx(reference.primal, rel=2e-4)
    assert hits.oracle_calls < 0.8 * none.oracle_calls


def held(n: int = 12) -> tuple[Any, Any]:
    """A task's dual with cuts of every example, and the gaps of its blocks at its w, one by one."""
    problem, data = words(n)
    fit = BCFW().train(problem, data, MARGIN, C=20.0, gap_tol=0.05)
    dual = fit.state
    for i in range(n):  # push w off the optimum, so that blocks have something to gain
        for c in dual.blocks.members[i, : dual.blocks.size[i]][:1]:
            dual._alpha[c] = 0.0
    dual.refresh()
    return dual, block_gaps(dual)


def block_gaps(dual: Any) -> np.ndarray:
    """cap xi - alpha'h of every block, from the rows of its cuts."""
    rows = dual.store.matrix(np.arange(dual.m))
    rows = rows.tocsr() if hasattr(rows, "tocsr") else rows
    h = dual.b - rows @ dual.store.w
    gaps = np.zeros(dual.n)
    for i in range(dual.n):
        mine = np.flatnonzero(dual.block == i)
        gaps[i] = dual.cap[i] * max(0.0, h[mine].max(initial=0.0)) - dual.alpha[mine] @ h[mine]
    return gaps


def test_steps_are_taken_where_the_gap_over_the_cuts_is_large_enough() -> None:
    dual, before = held()
    order = np.argsort(before)
    example = int(order[-1])
    alpha, known = dual.alpha.copy(), np.full(dual.n, 7.0)
    left = pairwise_steps(dual.qp, np.array([example]), known, np.array([1.01 * before[example]]))
    assert left.tolist() == [True] and np.array_equal(dual.alpha, alpha) and np.all(known == 7.0)
    left = pairwise_steps(dual.qp, np.array([example]), known, np.array([0.99 * before[example]]))
    assert left.tolist() == [False] and known[example] == pytest.approx(before[example])
    assert np.flatnonzero(dual.alpha != alpha).size and set(dual.block[dual.alpha != alpha]) == {example}
    assert block_gaps(dual)[example] < 0.5 * before[example]


@pytest.mark.parametrize("kind", ["a batch that says", "no batch"])
def test_as_many_cached_passes_as_a_search_is_worth(kind: str) -> None:
    problem, data, cost = (
        (*words(), 1)
        if kind != "no batch"
        else (
            ToyChain(),
            chains(8, noise=0.5),
            SEARCH_COST,
        )
    )

    def weights(**options: Any) -> np.ndarray:
        return BCFW(**options).train(problem, data, MARGIN, C=20.0, gap_tol=1e-4).w

    assert np.array_equal(weights(), weights(cached=cost))
    assert not np.array_equal(weights(), weights(cached=2))


def test_an_example_is_searched_if_its_cuts_leave_less_than_the_mean_asks_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a share of the mean that no block reaches, hits never happen."""
    monkeypatch.setattr(bcfw, "HIT_OF_MEAN", np.inf)
    assert np.array_equal(trained(BCFW()).w, trained(BCFW(hits=False)).w)
