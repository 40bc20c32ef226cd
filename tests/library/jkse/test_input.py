"""JKSE: outputs changed between fits, pairs that a model cannot take, and pairs without support."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from structmargin import JKSE, NotSeparableError
from structmargin.kernels import RBF, Product
from structmargin.problems import Localization, Multiclass, Sequence
from structmargin.problems.localization.kernel import BoxChi2
from structmargin.problems.sequence.kernel import SequenceKernel


def words(seed: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 6, size=8)
    return [rng.random((T, 4)) for T in lengths], [rng.integers(3, size=T) for T in lengths]


def boxes(seed: int = 0) -> tuple[list[Any], list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    window = np.array([[4, 6, 1]])
    corners = rng.integers(0, 4, size=(6, 2))
    return (
        [(rng.integers(0, 5, size=(10, 14)), window) for _ in range(6)],
        [np.array([[top, left, top + 4, left + 6]]) for top, left in corners],
    )


@pytest.mark.parametrize("kind", ["k_seq", "boxes"])
@pytest.mark.parametrize("how", ["item", "in place"])
def test_outputs_changed_between_fits_count(kind: str, how: str) -> None:
    """A kernel remembers what it met last; the same lists with other outputs are not that."""
    problem: Any
    if kind == "k_seq":
        (X, Y), problem, kernel = words(), Sequence(3, 4), SequenceKernel()
        other = [(y + 1) % 3 for y in Y[:2]]
    else:
        (X, Y), problem, kernel = boxes(), Localization(5, levels=2), BoxChi2(5, levels=2)
        other = [y[:, [0, 1, 2, 3]] + np.array([[1, 1, 1, 1]]) for y in Y[:2]]
    model = JKSE(problem, kernel, nu=1.0).fit(X, Y)
    before = model.fit_.primal
    for i, y in enumerate(other):
        if how == "item":
            Y[i] = y
        else:
            Y[i][...] = y
    again = clone(model).fit(X, Y)
    fresh = JKSE(problem, type(kernel)(*(() if kind == "k_seq" else (5, 2))), nu=1.0).fit(X, Y)
    assert again.fit_.primal == pytest.approx(fresh.fit_.primal, rel=1e-12)
    assert again.fit_.primal != pytest.approx(before, rel=1e-6)


def test_a_saved_model_says_that_it_cannot_take_more_pairs(tmp_path: Path) -> None:
    X, y = np.eye(4), np.arange(4) % 2
    JKSE(Multiclass(2, 4), nu=0.5).fit(X, y).save(tmp_path / "model.npz")
    with pytest.raises(ValueError, match="left its training pairs behind: call fit"):
        JKSE.load(tmp_path / "model.npz").add(X, y)


@pytest.mark.parametrize("turn", [1, -1])
def test_dense_and_sparse_inputs_do_not_mix_silently(turn: int) -> None:
    X, y = np.eye(4), np.arange(4) % 2
    first, second = [X, sp.csr_matrix(X)][::turn]
    model = JKSE(Multiclass(2, 4), nu=0.5).fit(first, y)
    with pytest.raises(ValueError, match="X must come as in fit"):
        model.add(second, y)


@pytest.mark.parametrize("kernel", [None, Product(RBF(0.5))])
def test_pairs_are_put_beside_an_estimate_without_slack(kernel: Any) -> None:
    X, y = np.eye(4) + 1.0, np.array([0, 0, 1, 1])
    model = JKSE(Multiclass(2, 4), kernel, trainer="binary", C=np.inf, gap_tol=1e-8)
    model.fit(X[:2], y[:2]).add(X[2:], y[2:], retrain=False)
    whole = JKSE(Multiclass(2, 4), kernel, trainer="binary", C=np.inf, gap_tol=1e-8).fit(X, y)
    ours = [model.scorer_(x, label) for x, label in zip(X, y)]
    theirs = [whole.scorer_(x, label) for x, label in zip(X, y)]
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)  # the two classes share no features


@pytest.mark.parametrize("trainer", ["binary", "online"])
def test_pairs_without_features_have_no_support(trainer: str) -> None:
    with pytest.raises(NotSeparableError, match=r"Psi\(x, y\) is 0 for every pair"):
        JKSE(Multiclass(2, 4), trainer=trainer).fit(np.zeros((4, 4)), np.arange(4) % 2)


def test_a_nu_that_no_C_amounts_to_is_said() -> None:
    with pytest.raises(NotSeparableError, match=r"no C amounts to nu = 0.1: .* or raise nu"):
        JKSE(Multiclass(1, 1), nu=0.1, trainer="binary").fit(np.array([[1.0], [-1.0]]), [0, 0])
