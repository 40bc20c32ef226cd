"""Cuts of sequences as short rows over their tokens, held against the same cuts as rows."""

from __future__ import annotations

import pickle
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from structmargin import StructuredSVM
from structmargin.adapted import adapt
from structmargin.cuts import Cuts
from structmargin.dual.stores.part_store import PartStore
from structmargin.dual.stores.row_store import RowStore
from structmargin.dual.working_set import Dual
from structmargin.formulation import FORMULATIONS
from structmargin.problems import Sequence
from structmargin.problems.sequence import batch

L, D = 3, 4


@pytest.fixture(autouse=True)
def _few_are_heavy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short rows for samples of any size."""
    monkeypatch.setattr(batch, "MIN_PART_ENTRIES", 0)


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "eta": {"eta": 0.5},
    "window": {"window": 1},
    "triplets": {"triplets": True},
}


class Sample:
    """Sequences with random labels, and wrong outputs for them."""

    def __init__(self, options: dict[str, Any], lengths: list[int], seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.problem = adapt(Sequence(L, D, **options))
        self.X = [rng.normal(size=(T, D)) * (rng.random((T, D)) < 0.6) for T in lengths]
        self.Y = [rng.integers(L, size=T) for T in lengths]
        self.batch = self.problem.batch(self.X, self.Y)
        m = 4 * len(lengths)
        self.example = rng.integers(len(lengths), size=m)
        self.outputs = [rng.integers(L, size=lengths[i]) for i in self.example]
        self.scale, self.b = rng.uniform(0.5, 2.0, size=m), rng.uniform(0.1, 2.0, size=m)

    def cuts(self, part: slice, rows: bool) -> Cuts:
        example, outputs, b = self.example[part], self.outputs[part], self.b[part]
        made = self.batch.rows(example, outputs) if rows else None
        return Cuts(example, outputs, b, self.scale[part], b, made, b, 0.0 * b)

    def duals(self, formulation: str) -> list[Dual]:
        d, n = self.problem.n_weights(self.X, self.Y), len(self.Y)
        stores = [PartStore(self.problem, d, self.batch.parts), RowStore(self.problem, d)]
        half = len(self.b) // 2
        duals = [Dual(store, n, FORMULATIONS[formulation], 3.0) for store in stores]
        for dual, rows in zip(duals, (False, True)):
            for part in (slice(0, half), slice(half, None)):
                dual.add(self.cuts(part, rows))
            dual.measure()
        return duals


samples = st.builds(
    Sample,
    st.sampled_from(list(OPTIONS.values())),
    st.lists(st.integers(1, 5), min_size=1, max_size=5),
    st.integers(0, 10**6),
)


def pooled(dual: Dual) -> np.ndarray:
    """The products of all pairs of cuts of one block, as the store keeps them."""
    cuts, products = dual.store.cuts, np.zeros((dual.m, dual.m))
    for c in range(dual.m):
        for p in range(dual.blocks.place[c] + 1):
            other = dual.blocks.members[dual.block[c], p]
            products[c, other] = products[other, c] = cuts.pool[cuts.pool_at[c] + p]
    return products[dual.block[:, None] == dual.block]


def agree(short: Dual, rows: Dual) -> None:
    """The same w, and so the same h of every cut; the same products; the same rows once written out.

    Short rows are sorted by their block when cuts are dropped; within a block the order is the same.
    """
    np.testing.assert_allclose(short.store.w, rows.store.w, atol=1e-10)
    a, b = (np.argsort(dual.block, kind="stable") for dual in (short, rows))
    for dual in (short, rows):
        dual.measure()
    np.testing.assert_allclose(short.h[a], rows.h[b], atol=1e-10)
    np.testing.assert_allclose(short.store.norms2[a], rows.store.norms2[b], atol=1e-10)
    every = np.arange(short.m)
    written = short.store.matrix(every).tocsr()
    np.testing.assert_allclose(written.toarray()[a], rows.store.matrix(b).toarray(), atol=1e-12)
    np.testing.assert_allclose(short.store.gram()[np.ix_(a, a)], rows.store.gram()[np.ix_(b, b)], atol=1e-10)
    for dual in (short, rows):
        np.testing.assert_allclose(
            pooled(dual), dual.store.gram()[dual.block[:, None] == dual.block], atol=1e-10
        )
    some = every[::3]
    np.testing.assert_array_equal(short.store.matrix(some).tocsr().toarray(), written[some].toarray())


def take_over(one: Dual, other: Dual) -> None:
    """Give the other dual the alpha of the one, and the w that belongs to it."""
    other.alpha[:] = one.alpha
    other.refresh()


@given(sample=samples, formulation=st.sampled_from(["SVM1 margin", "SVM2 margin"]))
@settings(max_examples=60)
def test_short_rows_climb_to_the_same_w_as_rows(sample: Sample, formulation: str) -> None:
    short, rows = sample.duals(formulation)
    agree(short, rows)
    for epochs in (4, 1):  # with strides, and without
        short.ascend(0.0, max_epochs=epochs)
        take_over(short, rows)
        agree(short, rows)
    mask = short.alpha > 0
    short.prune(1)
    if short.m < rows.m:
        rows._idle[: rows.m] = np.where(mask, 0, 1)
        rows.prune(1)
    agree(short, rows)
    short.refresh()
    agree(short, rows)
    for dual in (short, rows):
        dual.ascend(1e-10)
    assert short.value == pytest.approx(rows.value, rel=1e-8, abs=1e-8)


def test_entries_count_short_rows_and_the_products_within_an_example() -> None:
    sample = Sample({}, [3, 2], seed=0)
    sample.example = np.array([0, 0, 0, 1])
    sample.outputs = [(sample.Y[i] + k) % L for k, i in zip((1, 2, 1, 1), sample.example)]
    sample.scale, sample.b = np.ones(4), np.ones(4)
    short = sample.duals("SVM1 margin")[0]
    lengths = np.diff(sample.batch.parts.rows(sample.example, sample.outputs).indptr)
    assert short.store.entries == lengths.sum() + (1 + 2 + 3) + 1
    found = sample.cuts(slice(0, 4), rows=False)._replace(H=np.array([1.0, 2.0, 3.0, 4.0]))
    every, start = np.arange(4), short.store.entries
    costs = lengths + 1 + np.array([3, 3, 3, 1])  # its products with those held, and itself
    exactly = start + int(costs[1:].sum())
    assert list(short.store.affordable(found, every, exactly, 1.0)) == [1, 2, 3]
    assert list(short.store.affordable(found, every, exactly - 1, 1.0)) == [2, 3]
    assert list(short.store.affordable(found, every, exactly + int(costs[0]), 1.0)) == [0, 1, 2, 3]


@given(sample=samples, more=st.lists(st.integers(1, 8), min_size=1, max_size=3))
@settings(max_examples=30)
def test_longer_sequences_may_follow(sample: Sample, more: list[int]) -> None:
    """Columns of short rows depend on the longest sequence; w does not."""
    short, rows = sample.duals("SVM1 margin")
    short.ascend(0.0, max_epochs=2)
    take_over(short, rows)
    rng = np.random.default_rng(len(more))
    X = [*sample.X, *(rng.normal(size=(T, D)) for T in more)]
    Y = [*sample.Y, *(rng.integers(L, size=T) for T in more)]
    example = np.arange(len(sample.Y), len(Y))
    outputs = [(Y[i] + 1) % L for i in example]
    packed, ones = sample.problem.batch(X, Y), np.ones(len(more))
    for dual in (short, rows):
        dual.admit(X, Y, dual.C * len(Y) / dual.n)
        dual.add(Cuts(example, outputs, ones, ones, ones, packed.rows(example, outputs), ones, 0.0 * ones))
    agree(short, rows)
    short.ascend(0.0, max_epochs=2)
    take_over(short, rows)
    agree(short, rows)


@pytest.mark.parametrize("solver", ["n_slack", "bcfw", "olarank"])
def test_a_model_keeps_no_training_input_but_tokens(solver: str) -> None:
    """A pickle of a fit goes on training; what it holds of the data are tokens and labels."""
    sample = Sample({}, [3, 4, 2, 5, 3, 4], seed=3)
    model = StructuredSVM(Sequence(L, D), solver=solver, C=10.0, gap_tol=1e-4)
    if solver == "olarank":
        model.set_params(gap_tol=None).partial_fit(sample.X, sample.Y)
        again = pickle.loads(pickle.dumps(model))
        for one in (model, again):
            one.partial_fit([np.ones((7, D))], [np.zeros(7, dtype=int)])
    else:
        model.set_params(warm_start=True).fit(sample.X, sample.Y)
        again = pickle.loads(pickle.dumps(model))
        for one in (model, again):
            one.set_params(C=20.0).fit(sample.X, sample.Y)
    np.testing.assert_array_equal(model.w_, again.w_)
    assert model.fit_.n_constraints == again.fit_.n_constraints > 0
    support = again.fit_.support
    np.testing.assert_allclose(support.rows.tocsr().T @ support.alpha, again.w_, atol=1e-9)


def test_a_stream_goes_on_where_its_sequences_become_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cuts that began as rows stay rows, though the searches make none any more."""
    sample = Sample({}, [3, 4, 2, 5, 3, 4], seed=3)
    weights = []
    for least in (25, 10**9):  # reached with the second chunk, and never
        monkeypatch.setattr(batch, "MIN_PART_ENTRIES", least)
        model = StructuredSVM(Sequence(L, D), solver="olarank", C=10.0, random_state=0)
        for part in (slice(0, 2), slice(2, 6)):
            model.partial_fit(sample.X[part], sample.Y[part])
        dual = model.fit_.state.dual
        assert isinstance(dual.store, RowStore) and not isinstance(dual.store, PartStore)
        assert (sample.problem.batch(sample.X, sample.Y).parts is None) == (least > 25)
        assert dual.m > 0
        weights.append(model.w_)
    np.testing.assert_allclose(*weights, atol=1e-9)
