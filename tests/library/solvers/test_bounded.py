"""Working sets of bounded size: the same optimum with little room, and rows of few examples at a time."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

from helpers.toy_chain import ToyChain, chains
from structmargin import certify
from structmargin.cuts import Cuts
from structmargin.dual.stores.gram_store import GramStore
from structmargin.dual.stores.row_store import RowStore
from structmargin.formulation import FORMULATIONS
from structmargin.kernels import Pairwise
from structmargin.problems import Multiclass, Sequence
from structmargin.problems.sequence.features import choose, difference_rows
from structmargin.solvers.bcfw import BCFW
from structmargin.solvers.n_slack import NSlack
from structmargin.training import separation
from structmargin.training.space import Joint, Linear

L, D = 4, 6


def sequences(n: int, seed: int = 0) -> tuple[list[Any], list[np.ndarray]]:
    """Sparse tokens whose labels follow a linear rule, with noise."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(D, L))
    X = [sp.random(rng.integers(2, 7), D, 0.5, "csr", rng=rng) for _ in range(n)]
    return X, [np.argmax(x @ W + 0.3 * rng.normal(size=(x.shape[0], L)), axis=1) for x in X]


def spaces() -> dict[str, tuple[Any, Any, Any]]:
    """(problem, (X, Y), space): cuts as rows from a batched search, as rows one by one, and in a kernel's."""
    toy = ToyChain(sparse=False)
    few = chains(12, noise=0.5)
    kernel = Pairwise(lambda x, y, x2, y2: float(toy.psi(x, y) @ toy.psi(x2, y2)))
    return {
        "batch": (Sequence(L, D), sequences(60), Linear()),
        "rows": (toy, few, Linear()),
        "gram": (toy, few, Joint(kernel)),
    }


@pytest.mark.parametrize("formulation", ["SVM1 margin", "SVM2 slack"])
@pytest.mark.parametrize("kind", spaces())
def test_little_room_leads_to_the_same_optimum(kind: str, formulation: str) -> None:
    problem, data, space = spaces()[kind]
    chosen, n = FORMULATIONS[formulation], len(data[1])
    options: dict[str, Any] = {"C": 2.0 * n, "eps": 1e-9, "gap_tol": 1e-5}
    wide = NSlack().train(problem, data, chosen, space, **options)
    first = wide.trace[1]["held"]
    assert first == n  # one cut of every example after the first pass
    room = wide.state.store.entries // 8
    narrow = NSlack(max_entries=room).train(problem, data, chosen, space, **options)
    assert narrow.relative_gap <= 1e-5
    assert narrow.primal == pytest.approx(wide.primal, rel=2e-5)
    assert 0 < narrow.trace[1]["held"] < n
    again = NSlack(max_entries=room).train(problem, data, chosen, space, **options)
    assert [row["primal"] for row in again.trace] == [row["primal"] for row in narrow.trace]


@pytest.mark.parametrize("kind", ["batch", "rows"])
def test_bcfw_takes_little_room_too(kind: str) -> None:
    problem, data, space = spaces()[kind]
    chosen, n = FORMULATIONS["SVM1 margin"], len(data[1])
    options: dict[str, Any] = {"C": 2.0 * n, "gap_tol": 1e-4, "max_iter": 5_000}
    wide = BCFW(sweep=1).train(problem, data, chosen, space, **options)
    assert wide.trace[1]["held"] == n  # one cut of every example after the first sweep
    room = wide.state.store.entries // 8
    narrow = BCFW(sweep=1, max_entries=room).train(problem, data, chosen, space, **options)
    assert narrow.relative_gap <= 1e-4
    assert narrow.primal == pytest.approx(wide.primal, rel=2e-4)
    assert 0 < narrow.trace[1]["held"] < n
    sampled = BCFW(max_entries=room).train(problem, data, chosen, space, **options)
    assert sampled.relative_gap <= 1e-4
    assert max(row["held"] for row in sampled.trace) < max(row["held"] for row in wide.trace)


@given(
    held=st.integers(0, 6),
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=12),
    room=st.integers(1, 60),
    share=st.sampled_from([0.25, 1.0]),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=200)
def test_a_pass_adds_the_most_violated_cuts_that_fit(
    held: int, lengths: list[int], room: int, share: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)

    def cuts(sizes: list[int]) -> Cuts:
        rows = sp.csr_matrix(np.array([[1.0] * k + [0.0] * (5 - k) for k in sizes]).reshape(-1, 5))
        m = len(sizes)
        H = rng.permutation(m).astype(float)
        return Cuts(np.zeros(m, int), list(range(m)), H, np.ones(m), H, rows, H, np.zeros(m))

    store = RowStore(Multiclass(1, 5), 5)
    if held:
        store.extend(cuts([5] * held), np.zeros(0))
    assert store.entries == 5 * held
    found = cuts(lengths)
    chosen = np.flatnonzero(rng.random(len(lengths)) < 0.8)
    if not len(chosen):
        return
    taken = store.affordable(found, chosen, room, share)
    quota = share * max(room - 5 * held, room // 8)
    size = np.array(lengths)
    assert len(taken) and set(taken) <= set(chosen) and list(taken) == sorted(taken)
    assert size[taken].sum() <= quota or len(taken) == 1
    left = np.setdiff1d(chosen, taken)
    if len(left):  # the next one in the order of H does not fit, and none of those left is more violated
        following = left[np.argmax(found.H[left])]
        assert found.H[taken].min() > found.H[following]
        assert size[taken].sum() + size[following] > quota


def test_a_gram_matrix_stays_within_its_room() -> None:
    m, room = 50, 400
    H = np.arange(m, dtype=float)
    found = Cuts(np.arange(m), list(range(m)), H, np.ones(m), H, None, H, np.zeros(m))
    store = GramStore(Multiclass(2, 1), Pairwise(lambda x, y, x2, y2: 1.0), [0.0] * m, [0] * m)
    taken = store.affordable(found, np.arange(m), room, 1.0)
    assert list(taken) == list(range(30, 50))  # 20 * 20 products, and of the largest H
    store.extend(found.take(taken), np.zeros(0))
    assert store.entries == room
    assert len(store.affordable(found, np.arange(m), room, 1.0)) == 1  # (400 + 50)^(1/2) - 20


@pytest.mark.parametrize("kind", ["batch", "rows"])
def test_shares_of_the_examples_find_what_one_search_finds(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, data, space = spaces()[kind]
    chosen = FORMULATIONS["SVM1 margin"]
    options: dict[str, Any] = {"C": 20.0, "eps": 1e-9, "gap_tol": 1e-4}
    whole = NSlack().train(problem, data, chosen, space, **options)
    monkeypatch.setattr(separation, "SHARE", 7)
    shared = NSlack().train(problem, data, chosen, space, **options)
    assert shared.n_constraints == whole.n_constraints
    assert shared.oracle_calls == whole.oracle_calls
    assert shared.primal == pytest.approx(whole.primal, rel=1e-10)
    np.testing.assert_allclose(shared.xi, whole.xi, atol=1e-8)
    certificate = certify(problem, *data, shared.scorer, chosen, 20.0)
    assert certificate.primal == pytest.approx(shared.primal, rel=1e-12)
    np.testing.assert_allclose(certificate.xi, shared.xi, atol=1e-12)


def test_more_weights_than_columns_can_number_are_refused() -> None:
    with pytest.raises(ValueError, match="problem 'Multiclass' has 2147483648 weights, but cuts are kept"):
        RowStore(Multiclass(2, 2**30), 2**31)


def test_places_of_entries_have_64_bits() -> None:
    """A pass over many sequences may yield more than 2^31 entries."""
    X, Y = sequences(3)
    problem = Sequence(L, D)
    batch = problem.batch(X, Y)
    packed, _ = choose(batch.tokens.offsets, batch.all)
    place = batch._place.value
    indptr, columns, _ = difference_rows(
        batch.tokens, problem.layout, batch.all, batch.y, packed, (batch.y + 1) % L, place
    )
    assert indptr.dtype == place.dtype == np.int64
    assert columns.dtype == np.int32
    assert indptr[-1] == len(columns) > 0
