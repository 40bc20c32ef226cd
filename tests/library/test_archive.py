"""Saved models: what comes back is what was saved, and nothing in a file is executed."""

from __future__ import annotations

import io
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis.extra.numpy import array_shapes, arrays

from helpers.toy_chain import ToyChain, chains
from structmargin import JKSE, ConvergenceWarning, StructuredSVM, archive
from structmargin.estimators.structured_svm import SAVED
from structmargin.jkse.trainers import Binary, OneClass, Online
from structmargin.kernels import RBF, LinearKernel, Pairwise, Polynomial, Product
from structmargin.problems import Multiclass
from structmargin.solvers.bcfw import BCFW
from structmargin.solvers.n_slack import NSlack
from structmargin.solvers.olarank import OLaRank
from structmargin.solvers.one_slack import OneSlack
from structmargin.solvers.perceptron import Perceptron
from structmargin.solvers.staged import Staged

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 3))
Y = np.argmax(X @ rng.normal(size=(3, 3)), axis=1)
LOSS = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0.0]])

MODELS: dict[str, Any] = {
    "explicit": (StructuredSVM(Multiclass(3, 3), "SVM1 margin", C=5.0), X, Y),
    "sparse": (StructuredSVM(Multiclass(3, 3, loss=LOSS), "SVM2 slack", C=5.0), sp.csr_matrix(X), Y),
    "variant": (StructuredSVM(Multiclass(3, 3), "SVM1", "n_slack_a", C=5.0, gap_tol=1e-3), X, Y),
    "averaged cuts": (StructuredSVM(Multiclass(3, 3), "SVM1 slack", "one_slack", C=5.0), X, Y),
    "perceptron": (StructuredSVM(Multiclass(3, 3), solver="perceptron"), X, Y),
    "kernel": (
        StructuredSVM(Multiclass(3, 3, loss=LOSS), "SVM1 slack", kernel=Product(RBF(0.5)), C=5.0),
        X,
        Y,
    ),
    "similarity": (
        StructuredSVM(Multiclass(3, 3), "SVM2", kernel=Product(Polynomial(3), L=np.eye(3) + 0.5), C=5.0),
        X,
        Y,
    ),
    "sparse kernel": (
        StructuredSVM(Multiclass(3, 3), "SVM2", kernel=Product(LinearKernel()), C=5.0),
        sp.csr_matrix(X),
        Y,
    ),
}


def same_certificate(one: Any, other: Any) -> None:
    for name in SAVED:
        left, right = getattr(one, name), getattr(other, name)
        if isinstance(left, np.ndarray):
            np.testing.assert_array_equal(left, right)
        else:
            assert left == right, name
    assert one.relative_gap == other.relative_gap
    assert one.formulation == other.formulation


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_whole(name: str, tmp_path: Path) -> None:
    model, inputs, outputs = MODELS[name]
    model.fit(inputs, outputs)
    model.save(tmp_path / "model.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]
    again = StructuredSVM.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict(inputs), model.predict(inputs))
    fresh = rng.normal(size=(30, 3))
    np.testing.assert_array_equal(again.predict(fresh), model.predict(fresh))
    for y in range(3):
        assert again.scorer_(inputs[0], y) == model.scorer_(inputs[0], y)
    assert again.score(inputs, outputs) == model.score(inputs, outputs)
    same_certificate(model.fit_, again.fit_)
    for setting in ("formulation", "solver", "C", "eps", "gap_tol", "max_iter", "random_state"):
        assert getattr(again, setting) == getattr(model, setting)
    if model.w_ is not None:
        assert again.w_.tobytes() == model.w_.tobytes()
    if model.fit_.support is not None:
        np.testing.assert_array_equal(again.fit_.support.alpha, model.fit_.support.alpha)
        if model.w_ is not None:
            support = again.fit_.support
            np.testing.assert_allclose(support.rows.tocsr().T @ support.alpha, model.w_, atol=1e-12)
    # a loaded model trains again
    if name == "explicit":
        np.testing.assert_allclose(again.fit(inputs, outputs).w_, model.w_)


SOLVERS = [
    "n_slack_b",
    "staged",
    Staged(k=3, stages=(0.5, 0.02)),
    NSlack(variant="b", idle=7),
    NSlack(most=3, epochs=5),
    OneSlack(cache=0),
    BCFW(cached=4, chunks=2),
    OLaRank(passes=3, reprocess=2),
    Perceptron(averaged=False),
]


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_a_saved_model_knows_its_solver_with_all_options(solver: Any, tmp_path: Path) -> None:
    model = StructuredSVM(Multiclass(3, 3), "SVM1 margin", solver, C=5.0, warm_start=True, max_iter=200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, Y).save(tmp_path / "model.npz")
    again = StructuredSVM.load(tmp_path / "model.npz")
    assert again.solver == solver and type(again.solver) is type(solver)
    assert again.warm_start is True and again.max_iter == 200


@pytest.mark.parametrize(
    "trainer", ["binary", Binary(), OneClass(engine="libsvm"), Online(passes=3, chunk=5)], ids=str
)
def test_a_saved_estimate_knows_its_trainer_with_all_options(trainer: Any, tmp_path: Path) -> None:
    model = JKSE(Multiclass(3, 3), trainer=trainer, nu=0.3).fit(X, Y)
    model.save(tmp_path / "model.npz")
    again = JKSE.load(tmp_path / "model.npz")
    assert again.trainer == trainer and type(again.trainer) is type(trainer)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_solver_that_nobody_knows_cannot_be_saved(tmp_path: Path) -> None:
    class Mine(NSlack):
        pass

    with pytest.raises(TypeError, match="a Mine cannot be saved"):
        StructuredSVM(Multiclass(3, 3), solver=Mine()).fit(X, Y).save(tmp_path / "model.npz")


def test_a_problem_of_ones_own_is_handed_over_again(tmp_path: Path) -> None:
    inputs, outputs = chains(6, noise=0.3)
    model = StructuredSVM(ToyChain(), "SVM2 margin", C=5.0).fit(inputs, outputs)
    model.save(tmp_path / "own.npz")
    with pytest.raises(ValueError, match="problem of your own; pass it as problem="):
        StructuredSVM.load(tmp_path / "own.npz")
    again = StructuredSVM.load(tmp_path / "own.npz", problem=ToyChain())
    assert again.predict(inputs) == model.predict(inputs)
    same_certificate(model.fit_, again.fit_)


def test_a_kernel_without_a_name_cannot_be_saved(tmp_path: Path) -> None:
    inputs, outputs = chains(4)
    problem = ToyChain()
    kernel = Pairwise(lambda x, y, x2, y2: float(problem.psi(x, y) @ problem.psi(x2, y2)))
    model = StructuredSVM(problem, "SVM1", kernel=kernel).fit(inputs, outputs)
    with pytest.raises(TypeError, match="cannot be saved as arrays and JSON"):
        model.save(tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []


class Bomb:
    """Unpickling it would tell."""

    went_off = False

    def __reduce__(self) -> Any:
        return (setattr, (Bomb, "went_off", True))


def test_nothing_is_ever_unpickled(tmp_path: Path) -> None:
    model = StructuredSVM(Multiclass(3, 3), C=5.0).fit(X, Y)
    packed = model.to_arrays()
    assert not any(array.dtype.hasobject for array in packed.values())
    name = next(name for name in packed if name != "json")
    np.savez(tmp_path / "bad.npz", **{**packed, name: np.array([Bomb()], dtype=object)})
    with pytest.raises(ValueError, match="is no structmargin model, or it is damaged"):
        StructuredSVM.load(tmp_path / "bad.npz")
    (tmp_path / "bare.npz").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises((ValueError, OSError)):
        StructuredSVM.load(tmp_path / "bare.npz")
    assert not Bomb.went_off


def test_a_file_that_is_no_model_says_so(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(ValueError, match="no structmargin model"):
        StructuredSVM.load(tmp_path / "other.npz")
    text = np.frombuffer(json.dumps({"format": "structmargin-99", "tree": None}).encode(), dtype=np.uint8)
    np.savez(tmp_path / "later.npz", json=text)
    with pytest.raises(ValueError, match=r"structmargin-99.*structmargin-2"):
        StructuredSVM.load(tmp_path / "later.npz")
    text = np.frombuffer(
        json.dumps({"format": archive.FORMAT, "tree": {"object": "os.system", "fields": {}}}).encode(),
        dtype=np.uint8,
    )
    with pytest.raises(ValueError, match=r"'os.system', which is not known"):
        archive.unpack({"json": text}, {})


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    arrays(
        st.sampled_from([np.float64, np.int32, np.bool_]),
        array_shapes(max_dims=3, max_side=3),
        elements=st.integers(0, 1),
    ),
)
KEYS = st.one_of(st.text(max_size=4), st.integers(0, 9), st.tuples(st.integers(0, 3), st.integers(0, 3)))
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(KEYS, inner, max_size=3),
        st.lists(arrays(np.int64, st.integers(0, 4), elements=st.integers(0, 9)), min_size=9, max_size=11),
    ),
    max_leaves=8,
)


def alike(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(alike(one[key], other[key]) for key in one)
    return bool(one == other)


@given(tree=TREES)
@settings(max_examples=150)
def test_any_tree_comes_back(tree: Any) -> None:
    file = io.BytesIO()
    np.savez(file, **archive.pack(tree, {}))
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        back = archive.unpack({name: stored[name] for name in stored.files}, {})
    assert alike(back, tree)
