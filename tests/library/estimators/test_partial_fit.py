"""`partial_fit`: chunk after chunk is one pass, feasible for the examples so far, and below the optimum."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from helpers.every_problem import example, points
from helpers.toy_chain import ToyChain, chains
from structmargin import ConvergenceWarning, SearchError, StructuredSVM, certify
from structmargin.formulation import FORMULATIONS
from structmargin.kernels import RBF, Product
from structmargin.problems import Multiclass
from structmargin.solvers.n_slack import NSlack
from structmargin.solvers.olarank import OLaRank
from structmargin.solvers.perceptron import Perceptron

LAST_W = Perceptron(averaged=False, shuffle=False)
IN_ORDER = {
    "perceptron": (Perceptron(epochs=1, shuffle=False), Perceptron(shuffle=False)),
    "last w": (replace(LAST_W, epochs=1), LAST_W),
    "olarank": (OLaRank(reprocess=3, shuffle=False), OLaRank(reprocess=3, shuffle=False)),
}
"""The solver whose `fit` is one pass in the order given, and the one whose chunks are."""


def in_chunks(model: StructuredSVM, X: Any, Y: Any, ends: list[int]) -> StructuredSVM:
    begin = 0
    for end in ends:
        model.partial_fit(X[begin:end], Y[begin:end])
        begin = end
    return model


@pytest.mark.parametrize("kernel", [False, True], ids=["features", "kernel"])
@pytest.mark.parametrize("name", ["Multiclass", "Taxonomy", "Sequence", "Localization"])
@pytest.mark.parametrize("solver", IN_ORDER)
def test_chunks_in_order_are_one_pass(solver: str, name: str, kernel: bool) -> None:
    problem, X, Y, joint = example(name)
    whole, chunks = IN_ORDER[solver]
    options: dict[str, Any] = {"C_per_example": 2.0, "kernel": joint if kernel else None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one pass is seldom enough
        want = StructuredSVM(problem, solver=whole, **options).fit(X, Y)
    n = len(Y)
    ends = sorted({1, n // 2, n // 2 + 1, n})
    got = in_chunks(StructuredSVM(problem, solver=chunks, **options), X, Y, ends)
    if solver == "olarank" and kernel and name in ("Multiclass", "Taxonomy"):
        # scores of new examples are summed up at once, so that ties are broken otherwise than in one pass
        assert got.fit_.dual == pytest.approx(want.fit_.dual, rel=0.1) and got.fit_.dual <= want.fit_.primal
        return
    for x, y in zip(X, Y):
        for output in (y, Y[0]) if name in ("Multiclass", "Taxonomy") else (y,):
            assert got.scorer_(x, output) == pytest.approx(want.scorer_(x, output), rel=1e-7, abs=1e-9)
    assert got.fit_.oracle_calls == want.fit_.oracle_calls - (
        n if solver == "olarank" else 0
    )  # no certificate
    if solver == "olarank":
        assert got.fit_.dual == pytest.approx(want.fit_.dual, rel=1e-9)
        assert got.fit_.C == pytest.approx(want.fit_.C)
    assert [row["iteration"] for row in got.fit_.trace] == [1 + k for k in range(len(ends))]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), cuts=st.lists(st.integers(1, 29), max_size=4), per_example=st.booleans())
def test_the_dual_of_a_stream_is_feasible_and_below_the_optimum_of_what_came(
    seed: int, cuts: list[int], per_example: bool
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    Y = np.where(rng.random(30) < 0.2, rng.integers(3, size=30), np.argmax(X, axis=1))
    problem, formulation = Multiclass(3, 3), FORMULATIONS["SVM1 margin"]
    C: dict[str, float] = {"C_per_example": 0.5} if per_example else {"C": 15.0}
    model = StructuredSVM(problem, solver=OLaRank(reprocess=2), random_state=seed, **C)
    begin = 0
    for end in sorted({*cuts, 30}):
        fit = model.partial_fit(X[begin:end], Y[begin:end]).fit_
        begin = end
        total_C = 0.5 * end if per_example else 15.0
        assert fit.C == pytest.approx(total_C)
        support = fit.support
        assert support is not None and fit.w is not None and support.alpha.min() > 0.0
        rows = support.rows.tocsr()
        np.testing.assert_allclose(rows.T @ support.alpha, fit.w, atol=1e-9)
        assert np.bincount(support.example, weights=support.alpha).max() <= total_C / end * (1.0 + 1e-9)
        assert fit.dual == pytest.approx(support.alpha @ support.b - 0.5 * fit.w @ fit.w)
        best = NSlack().train(problem, (X[:end], Y[:end]), formulation, C=total_C, gap_tol=1e-7)
        assert best.primal is not None
        assert 0.0 <= fit.dual <= best.primal * (1.0 + 1e-6)
        certificate = certify(problem, X[:end], Y[:end], fit.scorer, formulation, total_C)
        assert certificate.primal >= best.primal * (1.0 - 1e-6)
        assert fit.primal is None and fit.gap is None and not fit.converged


def test_a_stream_learns() -> None:
    """After two rounds of chunks OLaRank is near the optimum of all."""
    X, Y = points(60)
    model = StructuredSVM(Multiclass(3, 4), solver="olarank", C_per_example=1.0)
    in_chunks(model, X, Y, [20, 40, 60])
    best = StructuredSVM(Multiclass(3, 4), C_per_example=1.0, gap_tol=1e-4).fit(X, Y)
    assert 0.9 * best.fit_.dual < model.fit_.dual <= best.fit_.primal
    assert model.score(X, Y) >= best.score(X, Y) - 0.05


def test_the_forms_of_data_agree() -> None:
    X, Y = points()
    for solver in ("olarank", "perceptron"):
        new = StructuredSVM(Multiclass(3, 4), solver=solver, C_per_example=1.0)
        forms = ((X, Y), (sp.csr_matrix(X), Y), (X.tolist(), Y.tolist()))
        models = [in_chunks(clone(new), inputs, outputs, [10, 24]) for inputs, outputs in forms]
        for model in models[1:]:
            np.testing.assert_allclose(model.w_, models[0].w_, atol=1e-9)


@pytest.mark.parametrize("solver", ["olarank", "perceptron"])
def test_a_copy_of_a_stream_goes_on_as_the_stream_does(solver: str) -> None:
    X, Y = points()
    model = in_chunks(StructuredSVM(Multiclass(3, 4), solver=solver, C_per_example=1.0), X, Y, [8, 16])
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    model.partial_fit(X[16:], Y[16:])
    for other in copies:
        other.partial_fit(X[16:], Y[16:])
        np.testing.assert_array_equal(other.w_, model.w_)


@pytest.mark.parametrize("name", ["Multiclass", "Sequence"])
@pytest.mark.parametrize("kernel", [False, True], ids=["features", "kernel"])
@pytest.mark.parametrize("solver", ["olarank", "perceptron", LAST_W], ids=str)
def test_the_model_of_an_earlier_chunk_stays_as_it_was(solver: Any, kernel: bool, name: str) -> None:
    problem, X, Y, joint = example(name)
    model = StructuredSVM(problem, solver=solver, C_per_example=1.0, kernel=joint if kernel else None)
    before = model.partial_fit(X[:4], Y[:4]).fit_.scorer
    scores = [before(x, y) for x, y in zip(X, Y)]
    model.partial_fit(X[4:], Y[4:])
    assert [before(x, y) for x, y in zip(X, Y)] == scores
    assert [model.scorer_(x, y) for x, y in zip(X, Y)] != scores


@pytest.mark.parametrize(
    "solver", ["n_slack", "n_slack_a", "staged", "one_slack", "bcfw", NSlack(most=2)], ids=str
)
def test_other_solvers_name_the_two(solver: Any) -> None:
    model = StructuredSVM(Multiclass(3, 4), solver=solver)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit needs solver 'perceptron' or 'olarank'") as caught:
        model.partial_fit(*points())
    assert "\n" not in str(caught.value) and "cannot learn chunk by chunk" in str(caught.value)


def test_what_does_not_go_on_says_so() -> None:
    X, Y = points()
    stream = StructuredSVM(Multiclass(3, 4), solver="perceptron").partial_fit(X, Y)
    loaded = StructuredSVM.from_arrays(stream.to_arrays())
    with pytest.raises(ValueError, match=r"this model was loaded from a file.*clone"):
        loaded.partial_fit(X, Y)
    with pytest.raises(ValueError, match=r"must stay as they were in fit or partial_fit before"):
        stream.set_params(problem=Multiclass(3, 4, loss=2.0 - 2.0 * np.eye(3))).partial_fit(X, Y)
    with pytest.raises(ValueError, match=r"'SVM2'"):
        StructuredSVM(Multiclass(3, 4), "SVM2", "olarank").partial_fit(X, Y)
    fresh = StructuredSVM(Multiclass(3, 4), solver="olarank").partial_fit(X, Y)
    with pytest.raises(ValueError, match="X has 3 features"):
        fresh.partial_fit(X[:, :3], Y)
    with pytest.raises(ValueError, match="X has 24 examples but Y has 23"):
        fresh.partial_fit(X, Y[:23])
    with pytest.raises(ValueError, match="empty"):
        fresh.partial_fit(X[:0], Y[:0])
    fresh.partial_fit(X, Y)  # a chunk that was refused leaves the stream as it was


def test_a_chunk_that_breaks_off_ends_the_stream() -> None:
    class Breaks(ToyChain):
        def augmented_argmax(self, f: Any, x: Any, y: Any, H: Any) -> Any:
            if x[0][0] == 99.0:
                raise SearchError("this one breaks")
            return super().augmented_argmax(f, x, y, H)

    X, Y = chains(6)
    model = StructuredSVM(Breaks(), solver=OLaRank(shuffle=False)).partial_fit(X[:3], Y[:3])
    before = model.predict(X)
    X[5][0][0] = 99.0
    with pytest.raises(SearchError, match="this one breaks"):
        model.partial_fit(X[3:], Y[3:])
    X[5][0][0] = 0.0
    assert model.predict(X[:5]) == before[:5]
    with pytest.raises(ValueError, match="broke off"):
        model.partial_fit(X[3:], Y[3:])


@pytest.mark.filterwarnings("ignore::structmargin.ConvergenceWarning")
@pytest.mark.parametrize("kernel", [None, Product(RBF(0.2))], ids=["features", "kernel"])
def test_a_stream_goes_on_from_fit(kernel: Any) -> None:
    """The perceptron as from a chunk; OLaRank from the same cuts, feasible, and never below them."""
    X, Y = points(40)
    new = StructuredSVM(Multiclass(3, 4), solver=Perceptron(epochs=1, shuffle=False), kernel=kernel)
    fitted, chunks = clone(new).fit(X[:25], Y[:25]), clone(new).partial_fit(X[:25], Y[:25])
    for model in (fitted, chunks):
        model.partial_fit(X[25:], Y[25:])
    assert [fitted.scorer_(x, 1) for x in X] == [chunks.scorer_(x, 1) for x in X]
    model = StructuredSVM(Multiclass(3, 4), solver="olarank", kernel=kernel, C_per_example=1.0)
    before = model.fit(X[:25], Y[:25]).fit_.dual
    after = model.partial_fit(X[25:], Y[25:]).fit_
    best = StructuredSVM(Multiclass(3, 4), kernel=kernel, C_per_example=1.0, gap_tol=1e-5).fit(X, Y).fit_
    assert before < after.dual <= best.primal and after.dual > 0.7 * best.primal
    assert np.bincount(after.support.example, weights=after.support.alpha).max() <= 1.0 + 1e-9


def test_fit_after_a_stream_begins_anew() -> None:
    X, Y = points()
    model = StructuredSVM(Multiclass(3, 4), solver="perceptron", kernel=Product(RBF(0.2)))
    model.partial_fit(X[:9], Y[:9]).fit(X, Y)
    want = clone(model).fit(X, Y)
    assert [model.scorer_(x, 0) for x in X] == [want.scorer_(x, 0) for x in X]
