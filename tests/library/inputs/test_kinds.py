"""Whatever holds the examples, the model, its predictions and its score are those of plain arrays.

For `StructuredSVM` under every formulation and solver see `test_product.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from helpers.data_kinds import CONTAINERS, KINDS, Brought, plain, plain_form, shuffled
from helpers.every_problem import example
from helpers.toy_chain import ToyChain, chains
from structmargin import JKSE, StructuredSVM, registry


def model_of(problem: Any, X: Any, Y: Any) -> Any:
    return StructuredSVM(problem, C=10.0, gap_tol=1e-3).fit(X, Y)


TRAINERS = ("one_class", "binary", "online")


def told(model: Any, brought: Brought) -> list[Any]:
    """What an estimate is, and says of examples in some form: all of it the same to the byte."""
    _, X, Y, number_of = brought
    scores = model.score_samples(X, Y)
    novel = model.is_novel(X, Y).tolist()
    w = None if model.w_ is None else model.w_.tobytes()
    return [w, scores.tobytes(), novel, plain(model.predict(X), number_of), model.score(X, Y)]


@pytest.mark.filterwarnings("ignore:stopped at max_iter:structmargin.fit.ConvergenceWarning")
@pytest.mark.parametrize("name", KINDS)
def test_an_estimate_from_data_of_any_kind(name: str, tmp_path: Path) -> None:
    """JKSE with each trainer in turn, with explicit features and with a kernel where there is one."""
    examples = example(name)
    for k, (kind, form) in enumerate(KINDS[name].items()):
        brought, data = form.bring(examples, tmp_path), Brought(*plain_form(examples, form.plain)[:3])
        kernel = examples.kernel if k % 2 else None
        models = []
        for problem, X, Y, _ in (data, brought):
            estimator = JKSE(problem, kernel, nu=0.5, C=10.0, trainer=TRAINERS[k % 3], gap_tol=1e-3)
            models.append(estimator.fit(X, Y))
        want, got = told(models[0], data), told(models[1], brought)
        if form.same_sums:
            assert got == want, kind
        else:  # sums in another order: another way to the same optimum
            assert got[2:] == want[2:], kind
            assert models[1].fit_.primal == pytest.approx(models[0].fit_.primal, rel=1e-3)


def test_a_shuffled_index_is_not_looked_at() -> None:
    """The score by position; a look-up by label would pair other labels with the predictions."""
    problem, X, Y, _ = example("Multiclass")
    model = model_of(problem, X, Y)
    frame, series = pd.DataFrame(X, index=shuffled(len(X))), pd.Series(Y, index=shuffled(len(X)))
    by_label = -np.mean(model.predict(X) != series.sort_index().to_numpy())
    assert model.score(frame, series) == -np.mean(model.predict(X) != Y) != by_label


def test_plain_arrays_and_csr_matrices_are_not_copied() -> None:
    problem, X, Y, _ = example("Multiclass")
    bound = registry.problem("Multiclass", n_classes=3, n_features=4)
    assert np.shares_memory(bound.wrap(X, Y)[0], X)
    matrix = sp.csr_matrix(X)
    assert bound.wrap(matrix, None)[0] is matrix
    assert problem.bind(X, Y) is problem


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_problem_of_ones_own_gets_its_examples_by_position(container: str) -> None:
    """It need not know of containers: it has no `wrap`, and item i is the i-th."""
    X, Y = chains(5)
    brought = CONTAINERS[container](X), CONTAINERS[container](Y)
    one, other = model_of(ToyChain(), X, Y), model_of(ToyChain(), *brought)
    assert one.w_.tobytes() == other.w_.tobytes()
    for model in (one, other):
        for inputs, outputs in ((X, Y), brought):
            assert plain(model.predict(inputs)) == plain(one.predict(X))
            assert model.score(inputs, outputs) == one.score(X, Y)


def test_pairs_are_added_in_any_form() -> None:
    problem, X, Y, _ = example("Multiclass")
    frame = pd.DataFrame(X, index=shuffled(len(X)))
    models = [JKSE(problem, nu=0.5).fit(X[:6], Y[:6]) for _ in range(2)]
    models[0].add(X[6:], Y[6:])
    models[1].add(frame.iloc[6:].astype(int), pd.Series(Y, index=frame.index).iloc[6:])
    assert models[0].w_.tobytes() == models[1].w_.tobytes()
