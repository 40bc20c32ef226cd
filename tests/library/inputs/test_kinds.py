"""Whatever holds the examples, the model, its predictions and its score are those of plain arrays."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

from helpers.every_problem import examples
from helpers.toy_chain import ToyChain, chains
from structmargin import JKSE, StructuredSVM, registry
from structmargin.dual.working_set import NotSeparableError
from structmargin.formulation import FORMULATIONS
from structmargin.problem import adapt
from structmargin.problems import Multiclass, Sequence
from structmargin.problems.diversity.problem import Candidates

FORMATS = ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")


def shuffled(n: int) -> np.ndarray:
    """An index in no order, so that a look-up by label would find another item."""
    return np.random.default_rng(7).permutation(n)


def read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


def memory_map(x: np.ndarray, folder: Path) -> np.ndarray:
    path = folder / f"{len(list(folder.iterdir()))}.npy"
    np.save(path, x)
    return np.load(path, mmap_mode="r")


def read_only_csr(x: np.ndarray) -> sp.csr_matrix:
    matrix = sp.csr_matrix(x)
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


def with_duplicates(x: np.ndarray) -> sp.csr_matrix:
    """Every entry as two halves, columns in falling order."""
    matrix = sp.csr_matrix(x)
    matrix.data = np.repeat(matrix.data / 2, 2)
    matrix.indices = np.repeat(matrix.indices, 2)
    matrix.indptr = 2 * matrix.indptr
    for i in range(matrix.shape[0]):
        row = slice(matrix.indptr[i], matrix.indptr[i + 1])
        matrix.indices[row], matrix.data[row] = (
            matrix.indices[row][::-1].copy(),
            matrix.data[row][::-1].copy(),
        )
    return sp.csr_matrix((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)


DENSE: dict[str, Callable[[np.ndarray, Path], Any]] = {
    "list": lambda x, _: x.tolist(),
    "list of arrays": lambda x, _: list(x),
    "tuple": lambda x, _: tuple(map(tuple, x.tolist())),
    "Fortran": lambda x, _: np.asfortranarray(x),
    "float32": lambda x, _: x.astype(np.float32),
    "int": lambda x, _: x.astype(int),
    "uint8": lambda x, _: x.astype(np.uint8),
    "object": lambda x, _: x.astype(object),
    "strides": lambda x, _: np.repeat(x, 2, axis=1)[:, ::2],
    "frame": lambda x, _: pd.DataFrame(x, index=shuffled(len(x))),
    "frame of types": lambda x, _: pd.DataFrame(x, index=shuffled(len(x))).astype({0: int, 1: "Int64"}),
    "memory map": memory_map,
    "read only": lambda x, _: read_only(x),
}
SPARSE: dict[str, Callable[[np.ndarray, Path], Any]] = {
    "sparse rows": lambda x, _: [sp.csr_matrix(row) for row in x],
    "read-only csr": lambda x, _: read_only_csr(x),
    "duplicates": lambda x, _: with_duplicates(x),
    "int csr": lambda x, _: sp.csr_matrix(x.astype(int)),
    "float32 csr": lambda x, _: sp.csr_matrix(x.astype(np.float32)),
    **{f"{name}_matrix": lambda x, _, name=name: getattr(sp, f"{name}_matrix")(x) for name in FORMATS},
    **{f"{name}_array": lambda x, _, name=name: getattr(sp, f"{name}_array")(x) for name in FORMATS},
}
CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "tuple": tuple,
    "object array": lambda Y: np.fromiter(Y, dtype=object, count=len(Y)),
    "series": lambda Y: pd.Series(np.fromiter(Y, dtype=object, count=len(Y)), index=shuffled(len(Y))),
}
LABELS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": lambda y: y.tolist(),
    "tuple": lambda y: tuple(y.tolist()),
    "int8": lambda y: y.astype(np.int8),
    "float": lambda y: y.astype(float),
    "object": lambda y: y.astype(object),
    "series": lambda y: pd.Series(y, index=shuffled(len(y))),
    "Int64 series": lambda y: pd.Series(y, index=shuffled(len(y)), dtype="Int64"),
    "read only": read_only,
}


def model_of(estimator: str, problem: Any, X: Any, Y: Any) -> Any:
    if estimator == "JKSE":
        return JKSE(problem, nu=0.5).fit(X, Y)
    precision = {"gap_tol": 1e-3} if adapt(problem).exact else {"eps": 1e-6}
    return StructuredSVM(problem, C=10.0, **precision).fit(X, Y)


def plain(outputs: Any) -> bytes:
    """Predictions as bytes: arrays and lists of one content are the same."""
    return pickle.dumps([np.asarray(y).tolist() if isinstance(y, np.ndarray) else y for y in outputs])


def require_same(one: Any, other: Any, data: tuple[Any, Any], as_brought: tuple[Any, Any]) -> None:
    """Both models are the same to the byte, and do the same with both forms of the data."""
    assert one.w_.tobytes() == other.w_.tobytes()
    X, Y = data
    predictions, score = plain(one.predict(X)), one.score(X, Y)
    for inputs, outputs in (data, as_brought):
        for model in (one, other):
            assert plain(model.predict(inputs)) == predictions
            assert model.score(inputs, outputs) == score


ROWS = ("Multiclass", "Taxonomy", "Measure")


@pytest.mark.parametrize("estimator", ["StructuredSVM", "JKSE"])
@pytest.mark.parametrize("kind", [*DENSE, *SPARSE])
@pytest.mark.parametrize("name", ROWS)
def test_rows_of_any_kind(name: str, kind: str, estimator: str, tmp_path: Path) -> None:
    problem, X, Y = examples(name)
    brought = (DENSE | SPARSE)[kind](X, tmp_path)
    reference = sp.csr_matrix(X) if kind in SPARSE else X
    one, other = model_of(estimator, problem, reference, Y), model_of(estimator, problem, brought, Y)
    assert one.w_.any()
    require_same(one, other, (reference, Y), (brought, Y))
    plain_arrays = model_of(estimator, problem, X, Y)
    if name == "Measure" and kind in SPARSE:  # sums in another order: another way to the same optimum
        assert other.fit_.primal == pytest.approx(plain_arrays.fit_.primal, rel=1e-3)
    else:
        np.testing.assert_allclose(other.w_, plain_arrays.w_, rtol=1e-12, atol=1e-12)
    assert other.score(brought, Y) == pytest.approx(plain_arrays.score(X, Y), abs=1e-12)


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_booleans(name: str) -> None:
    problem, X, Y = examples(name)
    X = X > 1
    for brought in (X, X.tolist(), pd.DataFrame(X, index=shuffled(len(X))), sp.csc_array(X)):
        reference = sp.csr_matrix(X, dtype=float) if sp.issparse(brought) else X.astype(float)
        one = model_of("StructuredSVM", problem, reference, Y)
        require_same(one, model_of("StructuredSVM", problem, brought, Y), (reference, Y), (brought, Y))


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("name", ROWS)
def test_labels_of_any_kind(name: str, kind: str) -> None:
    problem, X, Y = examples(name)
    brought = LABELS[kind](Y)
    one, other = (model_of("StructuredSVM", problem, X, y) for y in (Y, brought))
    require_same(one, other, (X, Y), (X, brought))


@pytest.mark.parametrize("kind", [*DENSE, *SPARSE])
def test_tokens_of_any_kind(kind: str, tmp_path: Path) -> None:
    problem, X, Y = examples("Sequence")
    brought = [(DENSE | SPARSE)[kind](x, tmp_path) for x in X]
    reference = [sp.csr_matrix(x) for x in X] if kind in SPARSE else X
    one, other = model_of("StructuredSVM", problem, reference, Y), model_of("JKSE", problem, reference, Y)
    require_same(one, model_of("StructuredSVM", problem, brought, Y), (reference, Y), (brought, Y))
    require_same(other, model_of("JKSE", problem, brought, Y), (reference, Y), (brought, Y))


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_tokens_of_any_kind(kind: str) -> None:
    problem, X, Y = examples("Sequence")
    brought = [LABELS[kind](y) for y in Y]
    one, other = (model_of("StructuredSVM", problem, X, y) for y in (Y, brought))
    require_same(one, other, (X, Y), (X, brought))


OTHERS = ("Sequence", "Alignment", "Grammar", "Localization", "Diversity", "ProteinAlignment")


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", OTHERS)
def test_structures_in_any_container(name: str, container: str) -> None:
    problem, X, Y = examples(name)
    brought = CONTAINERS[container](X), CONTAINERS[container](Y)
    one, other = model_of("StructuredSVM", problem, X, Y), model_of("StructuredSVM", problem, *brought)
    require_same_structures(one, other, (X, Y), brought)


def require_same_structures(one: Any, other: Any, data: Any, brought: Any) -> None:
    assert one.w_.tobytes() == other.w_.tobytes()
    for model in (one, other):
        for X, Y in (data, brought):
            assert repr(model.predict(X)) == repr(one.predict(data[0]))
            assert model.score(X, Y) == one.score(*data)


def changed(value: Any, change: Callable[[np.ndarray], Any]) -> Any:
    """A structure with every array in it changed."""
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, Candidates):
        return Candidates(change(value.indptr), change(value.items), change(value.phi))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(changed(part, change) for part in value))
    if isinstance(value, (list, tuple)):
        return type(value)(changed(part, change) for part in value)
    return value


INNER: dict[str, Callable[[np.ndarray, Path], Any]] = {
    "read only": lambda x, _: read_only(x),
    "memory map": memory_map,
    "int32": lambda x, _: x.astype(np.int32) if x.dtype.kind == "i" else x,
    "Fortran": lambda x, _: np.asfortranarray(x),
    "float32": lambda x, _: x.astype(np.float32) if x.dtype.kind == "f" else x,
    "lists": lambda x, _: x.tolist(),
}
WHOLE = ("Alignment", "Localization", "Diversity")
"""Their numbers are whole, or exact as float32."""


@pytest.mark.parametrize("kind", INNER)
@pytest.mark.parametrize("name", WHOLE)
def test_arrays_inside_structures(name: str, kind: str, tmp_path: Path) -> None:
    problem, X, Y = examples(name)
    inner = lambda x: INNER[kind](x, tmp_path)  # noqa: E731
    brought = changed(X, inner), Y if name == "Diversity" else changed(Y, inner)
    one, other = model_of("StructuredSVM", problem, X, Y), model_of("StructuredSVM", problem, *brought)
    require_same_structures(one, other, (X, Y), brought)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 15),
    dense=st.sampled_from(sorted(set(DENSE) - {"memory map"})),
    sparse=st.sampled_from(sorted(SPARSE)),
    labels=st.sampled_from(sorted(LABELS)),
)
@settings(max_examples=40)
def test_any_rows_in_any_form(seed: int, n: int, dense: str, sparse: str, labels: str) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 5, size=(n, 3)).astype(float), rng.integers(0, 3, size=n)
    for form, reference in ((DENSE[dense], X), (SPARSE[sparse], sp.csr_matrix(X))):
        brought = form(X, Path()), LABELS[labels](y)
        one = model_of("StructuredSVM", Multiclass(3, 3), reference, y)
        other = model_of("StructuredSVM", Multiclass(3, 3), *brought)
        require_same(one, other, (reference, y), brought)


def test_a_shuffled_index_is_not_looked_at() -> None:
    """The score by position; a look-up by label would pair other labels with the predictions."""
    problem, X, Y = examples("Multiclass")
    model = model_of("StructuredSVM", problem, X, Y)
    frame, series = pd.DataFrame(X, index=shuffled(len(X))), pd.Series(Y, index=shuffled(len(X)))
    by_label = -np.mean(model.predict(X) != series.sort_index().to_numpy())
    assert model.score(frame, series) == -np.mean(model.predict(X) != Y) != by_label


def test_plain_arrays_and_csr_matrices_are_not_copied() -> None:
    problem, X, Y = examples("Multiclass")
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
    one, other = model_of("StructuredSVM", ToyChain(), X, Y), model_of("StructuredSVM", ToyChain(), *brought)
    require_same_structures(one, other, (X, Y), brought)


def test_pairs_are_added_in_any_form() -> None:
    problem, X, Y = examples("Multiclass")
    frame = pd.DataFrame(X, index=shuffled(len(X)))
    models = [JKSE(problem, nu=0.5).fit(X[:6], Y[:6]) for _ in range(2)]
    models[0].add(X[6:], Y[6:])
    models[1].add(frame.iloc[6:].astype(int), pd.Series(Y, index=frame.index).iloc[6:])
    assert models[0].w_.tobytes() == models[1].w_.tobytes()


COMBINATIONS = [
    (formulation, solver)
    for formulation in FORMULATIONS
    for solver in ("n_slack", "n_slack_a", "n_slack_b", "one_slack", "bcfw", "olarank", "perceptron")
    if registry.check(
        Multiclass(), registry.formulation(formulation), registry.solver(solver), registry.space()
    )
    is None
]


def outcome(problem: Any, formulation: str, solver: str, X: Any, Y: Any) -> Any:
    """The weights, and what is predicted; or that a hard margin cannot be had."""
    try:
        model = StructuredSVM(problem, formulation, solver, C=10.0, gap_tol=1e-2).fit(X, Y)
    except NotSeparableError:
        return "not separable"
    return model.w_.tolist(), [np.asarray(y).tolist() for y in model.predict(X)]


@pytest.mark.filterwarnings("ignore:training left:structmargin.fit.ConvergenceWarning")
@pytest.mark.parametrize(("formulation", "solver"), COMBINATIONS)
@pytest.mark.parametrize("name", ["Multiclass", "Sequence"])
def test_kinds_of_data_under_every_formulation_and_solver(
    name: str, formulation: str, solver: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(COMBINATIONS.index((formulation, solver)))
    if name == "Multiclass":
        problem, Y = Multiclass(3, 6), rng.integers(3, size=10)
        X: Any = rng.integers(0, 4, size=(10, 6)).astype(float)
    else:
        problem, Y = Sequence(3, 6), [rng.integers(3, size=T) for T in (1, 2, 3, 2, 3)]
        X = [rng.integers(0, 4, size=(len(y), 6)).astype(float) for y in Y]
    for kinds, plain in ((DENSE, np.asarray), (SPARSE, sp.csr_matrix)):
        # blocks of bsr hold zeros too: sums run in another order, to another w within the same gap
        same = [kind for kind in kinds if not kind.startswith("bsr")]
        if name == "Multiclass":
            want = outcome(problem, formulation, solver, plain(X), Y)
        else:
            same = [kind for kind in same if kind not in TOKENS_ELSEWHERE]
            want = outcome(problem, formulation, solver, [plain(x) for x in X], Y)
        for kind in rng.choice(same, size=4, replace=False):
            make = kinds[str(kind)]
            made = make(X, tmp_path) if name == "Multiclass" else [make(x, tmp_path) for x in X]
            assert outcome(problem, formulation, solver, made, Y) == want, kind


TOKENS_ELSEWHERE = ("list", "list of arrays", "tuple", "sparse rows")
"""Ways to give a matrix that mean tokens one by one where an input is a sequence of them."""
