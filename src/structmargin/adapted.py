"""A problem with every optional member in place.

`Problem` asks for four functions. What else a problem may offer is listed here, with its default.
`adapt` fills these defaults in, once, and the rest of the library asks an adapted problem for everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin.cuts import Cuts
from structmargin.formulation import Cost
from structmargin.parts import IndependentRows, Parts
from structmargin.problem import REQUIRED, SEARCH_COST, Problem, Scorer, loss_takes_x


@dataclass(frozen=True, eq=False)
class AdaptedBatch:
    """A batch with every optional member in place.

    Attributes
    ----------
    search : callable (f, indices, H) -> Cuts
        The most violated output of each example asked for. Required.
    argmax : callable (f) -> sequence
        The best-scoring output of every example. Required. Where there is a `grain`, argmax(f, indices) gives
        those of some of the examples.
    search_many : callable (f, indices, H, most) -> Cuts
        Up to `most` outputs per example, the best among them: fewer passes where the search costs little.
        Default: `search`, which finds one.
    takes_kernels : bool
        Whether the searches work where f.w is None, as it is under a joint kernel. Default: False.
    rows : callable (example, outputs) -> csr_matrix
        The rows of Psi(x, y) - Psi(x, ybar), where the searches leave them out. Default: calling it raises
        TypeError.
    makes_rows : bool
        Whether the batch has `rows`.
    psi : callable () -> csr_matrix, or None
        Psi(x_i, y_i) of all examples as one matrix. Default: None, and `Problem.psi` is called for each.
    parts : Parts, or None
        The parts of the examples, where Psi is a sum over these (`parts.py`): cuts are then kept as short
        rows, and the searches may leave rows out if there is a `rows` too. Default: None.
    grain : int
        How finely `n_jobs` may divide the examples. With a grain of g the searches may run on several threads
        at once, each over a slice of the indices, and give the same to the bit as one search over all of
        these, provided that every slice but the last has a multiple of g of them: g = 1 where nothing is
        shared between examples, more where a product of matrices rounds by their shapes. Default: 0, the
        examples are searched as one.
    combined : callable (parts) -> sequence
        What argmax(f) returns, from what it returned for slices, in order. Default: one array if they are
        arrays, otherwise one list.
    search_cost : int
        What the search of an example costs, roughly, in steps of the ascent over the cuts held for it: so
        many passes over the cuts held `bcfw` makes between two passes with searches. Default: SEARCH_COST.
    """

    search: Callable[[Scorer, np.ndarray, Cost], Cuts]
    argmax: Callable[..., Sequence[Any]]
    search_many: Callable[[Scorer, np.ndarray, Cost, int], Cuts]
    takes_kernels: bool
    rows: Callable[[np.ndarray, Any], sp.csr_matrix]
    makes_rows: bool
    psi: Callable[[], sp.csr_matrix] | None
    parts: Parts | None
    grain: int
    combined: Callable[[list[Any]], Sequence[Any]]
    search_cost: int


@dataclass(frozen=True, eq=False)
class AdaptedProblem:
    """A problem with every optional member in place: what `adapt` returns.

    Attributes
    ----------
    given : Problem
        The problem as its author wrote it, with the fields that are its own.
    lacks : tuple of str
        Which of the four required functions it does not have. Calling one of these raises TypeError.
    psi, delta, argmax, augmented_argmax : callable
        The four functions of `Problem`.
    delta_takes_x : bool
        Whether the problem's loss depends on the input: `delta(x, y, ybar)`, with three required arguments.
        The library asks for losses by `loss` and `losses`, which know.
    potentials : callable (w, x) -> arrays
        The oracle's arrays under explicit weights, linear in w; only a problem's own searches ask for them.
        Default: calling it raises TypeError.
    n_weights : callable (X, Y) -> int
        The length of w. A problem offers it as a number. Default: the length of the first Psi.
    bind : callable (X, Y) -> Problem
        The problem together with what it learns from training data as the user gave them (a grammar's rules,
        the names of classes, the number of features). The estimators call it before anything else. Default:
        itself.
    wrap : callable (X, Y) -> (X, Y)
        The examples that a user's X and Y stand for (names as numbers, rows of any kind as one matrix, many
        rows as one sample); Y is None where only inputs are known. The estimators call that of the bound
        problem, and all other members then see what it returned. Default: X and Y themselves.
    unwrap : callable (Y) -> outputs
        Goes with `wrap`: what `predict` returns for the outputs of those examples. Default: Y itself.
    whole_sample : bool
        Whether `wrap` makes one example of all rows. Default: False.
    matrix_inputs : bool
        Whether X, as a user gives it, is a matrix with one row per input and the same columns for all: then
        the estimators know `n_features_in_`, and a scaler may go before them. Default: False.
    class_labels : callable () -> ndarray, or None
        The labels that outputs are made of, in the order of their numbers. Default: None, outputs are made of
        something else.
    batch : callable (X, Y) -> AdaptedBatch or None
        The same searches over packed examples; with Y = None only its `argmax` is asked for. Default: None,
        and examples are searched one by one.
    refuse : callable (H) -> str or None
        One sentence why the augmented search cannot handle H. Default: None, it can.
    explicit_only : str or None
        One sentence why no joint kernel can be used. Default: None, one can.
    check : callable (X, Y)
        Raises ValueError that names the first training example that does not fit the problem. Default:
        accepts all.
    check_inputs : callable (X)
        The same for inputs alone, before `predict` and `score` search their outputs. Default: accepts all.
    check_outputs : callable (X, Y)
        The same for right outputs of checked inputs, before `score` asks for losses: `delta` must be able to
        take them, but no more. Default: accepts all.
    check_loaded : callable (n_weights)
        Raises ValueError unless the parameters fit together, with so many weights, or None under a kernel:
        asked of a problem that comes from a file. Default: accepts all.
    factors : callable (X) -> (Phi, Lambda), or None
        For Psi = Phi(x) ⊗ Lambda(y) with class numbers as outputs, where ⊗ is the outer product: the matrices
        of all Phi(x_i) and of all Lambda(y); then cuts are kept as labels instead of rows. Default: None, Psi
        is no such product.
    class_losses : callable () -> ndarray, or None
        Goes with `factors`: the losses of all pairs of classes, Delta(y, ybar) in row y; then training may
        look at all classes of an example at once. Default: None, they are not known.
    independent_rows : callable (x, y) -> IndependentRows or None
        The terms of Delta and of Psi(x, y) - Psi(x, ybar), for an example whose labels can be wrong one by
        one, both being sums over those that are. A training with 'SVM1 margin' on this one example then has a
        sum of hinges to minimise. Default: it returns None, the outputs are of another kind.
    radius : callable (x) -> float, or None
        An upper bound on the norm of Psi(x, y) - Psi(x, y') over all y, y'. Default: None, unknown.
    max_delta : callable (y) -> float, or None
        An upper bound on delta(y, .). Default: None, unknown.
    draw : callable (x, y, rng) -> output, or None
        A random output for x, any one, drawn with a numpy Generator: training checks with it now and then
        that the search missed nothing better. Default: None, no such check.
    k_best : callable (f, x, k) -> list of (score, output), or None
        The k best-scoring outputs for x, best first; fewer where there are no more. `unwrap`, where there is
        one, is then called with all outputs of all examples in one list. Default: None, unknown.
    exact : bool
        Whether the searches find a maximiser for certain. Default: True.
    reaches_truth : bool
        Whether the correct output is always among those that `argmax` looks at, so that no prediction may
        score less. Default: True. A search over boxes on a grid says False.
    with_params : callable (**params) -> Problem
        A copy with some parameters changed; it goes with a `get_params` that lists them, so that scikit-learn
        can search over `problem__name`. Default: calling it raises TypeError.
    """

    given: Problem
    lacks: tuple[str, ...]
    psi: Callable[[Any, Any], Any]
    delta: Callable[..., float]
    delta_takes_x: bool
    argmax: Callable[[Scorer, Any], Any]
    augmented_argmax: Callable[[Scorer, Any, Any, Cost], Any]
    potentials: Callable[[np.ndarray, Any], Any]
    n_weights: Callable[[Sequence[Any], Sequence[Any]], int]
    bind: Callable[[Any, Any], Problem]
    wrap: Callable[[Any, Any], tuple[Any, Any]]
    unwrap: Callable[[Any], Any]
    whole_sample: bool
    matrix_inputs: bool
    class_labels: Callable[[], np.ndarray] | None
    batch: Callable[[Any, Any], AdaptedBatch | None]
    refuse: Callable[[Cost], str | None]
    explicit_only: str | None
    check: Callable[[Any, Any], None]
    check_inputs: Callable[[Any], None]
    check_outputs: Callable[[Any, Any], None]
    check_loaded: Callable[[int | None], None]
    factors: Callable[[Any], tuple[Any, Any]] | None
    class_losses: Callable[[], np.ndarray] | None
    independent_rows: Callable[[Any, Any], IndependentRows | None]
    radius: Callable[[Any], float] | None
    max_delta: Callable[[Any], float] | None
    draw: Callable[[Any, Any, np.random.Generator], Any] | None
    k_best: Callable[[Scorer, Any, int], list[tuple[float, Any]]] | None
    exact: bool
    reaches_truth: bool
    with_params: Callable[..., Problem]

    @property
    def name(self) -> str:
        """The problem's class, for messages."""
        return type(self.given).__name__

    def loss(self, x: Any, y: Any, ybar: Any) -> float:
        """The loss of predicting ybar for the input x where y is right."""
        loss = self.delta(x, y, ybar) if self.delta_takes_x else self.delta(y, ybar)
        try:
            return float(loss)
        except (TypeError, ValueError):
            raise TypeError(f"delta of {self.name} returned {loss!r}: a loss must be one number") from None

    def losses(self, X: Any, Y: Any, outputs: Any) -> np.ndarray:
        """The loss of each output, one per example; X is looked at only where the loss depends on it."""
        examples, same = np.arange(len(outputs)), None
        if self.class_losses is not None and not self.delta_takes_x:
            examples, same = _different_pairs(np.asarray(Y), np.asarray(outputs))
        losses = np.zeros(len(outputs))
        for i in map(int, examples):
            x = X[i] if self.delta_takes_x else None
            try:
                losses[i] = self.loss(x, Y[i], outputs[i])
            except Exception as error:
                error.add_note(f"delta was asked for the loss of example {i}")
                raise
        return losses if same is None else losses[same]


def adapt(problem: Problem | AdaptedProblem) -> AdaptedProblem:
    """Fill in the default of every optional member that a problem does not have.

    This is the one place that asks a problem what it has. Members that are not listed in `AdaptedProblem`
    are the problem's own business and stay on `given`.

    Parameters
    ----------
    problem : Problem
        Any object with the four functions. One that lacks some of them is accepted too: `lacks` names these,
        and calling one raises TypeError. One that is adapted already is returned as it is.

    Returns
    -------
    AdaptedProblem

    Examples
    --------
    >>> from structmargin.adapted import adapt
    >>> from structmargin.problems import Multiclass
    >>> problem = adapt(Multiclass(n_classes=3, n_features=2))
    >>> problem.exact, problem.whole_sample, problem.explicit_only
    (True, False, None)
    """
    if isinstance(problem, AdaptedProblem):
        return problem
    get = partial(getattr, problem)
    return AdaptedProblem(
        given=problem,
        lacks=tuple(name for name in REQUIRED if not hasattr(problem, name)),
        psi=get("psi", _Absent(problem, "psi")),
        delta=get("delta", _Absent(problem, "delta")),
        delta_takes_x=loss_takes_x(get("delta", None)),
        argmax=get("argmax", _Absent(problem, "argmax")),
        augmented_argmax=get("augmented_argmax", _Absent(problem, "augmented_argmax")),
        potentials=get("potentials", _Absent(problem, "potentials")),
        n_weights=partial(_n_weights, problem),
        bind=get("bind", partial(_itself, problem)),
        wrap=get("wrap", _as_given),
        unwrap=get("unwrap", _as_predicted),
        whole_sample=bool(get("whole_sample", False)),
        matrix_inputs=bool(get("matrix_inputs", False)),
        class_labels=get("class_labels", None),
        batch=partial(_batch, problem),
        refuse=get("refuse", _nothing_refused),
        explicit_only=get("explicit_only", None),
        check=get("check", _anything_fits),
        check_inputs=get("check_inputs", _anything_fits),
        check_outputs=get("check_outputs", _anything_fits),
        check_loaded=get("check_loaded", _anything_fits),
        factors=get("factors", None),
        class_losses=get("class_losses", None),
        independent_rows=get("independent_rows", _no_rows),
        radius=get("radius", None),
        max_delta=get("max_delta", None),
        draw=get("draw", None),
        k_best=get("k_best", None),
        exact=bool(get("exact", True)),
        reaches_truth=bool(get("reaches_truth", True)),
        with_params=get("with_params", _Absent(problem, "with_params")),
    )


# The defaults are functions of this module, not lambdas, so that a fitted estimator can be pickled.


@dataclass(frozen=True)
class _Absent:
    """Stands for a function that a problem does not have and that has no default."""

    owner: Any
    member: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"{type(self.owner).__name__!r} has no {self.member!r}, which is needed here: "
            "see structmargin.problem for what it must do"
        )


def _n_weights(problem: Any, X: Sequence[Any], Y: Sequence[Any]) -> int:
    # Asked for only now: a grammar knows its rules, and their number, once it is bound.
    known = getattr(problem, "n_weights", None)
    return int(known) if known is not None else int(as_row(problem.psi(X[0], Y[0])).shape[1])


def _batch(problem: Any, X: Any, Y: Any) -> AdaptedBatch | None:
    make = getattr(problem, "batch", None)
    batch = None if make is None else make(X, Y)
    if batch is None:
        return None
    return AdaptedBatch(
        search=batch.search,
        argmax=batch.argmax,
        search_many=getattr(batch, "search_many", partial(_search_one, batch.search)),
        takes_kernels=bool(getattr(batch, "takes_kernels", False)),
        rows=getattr(batch, "rows", _Absent(batch, "rows")),
        makes_rows=hasattr(batch, "rows"),
        psi=getattr(batch, "psi", None),
        parts=getattr(batch, "parts", None),
        grain=int(getattr(batch, "grain", 0)),
        combined=getattr(batch, "combined", _combined),
        search_cost=int(getattr(batch, "search_cost", SEARCH_COST)),
    )


def _search_one(search: Any, f: Scorer, indices: np.ndarray, H: Cost, most: int) -> Cuts:
    cuts: Cuts = search(f, indices, H)
    return cuts


def _combined(parts: list[Any]) -> Any:
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return [output for part in parts for output in part]


def _no_rows(x: Any, y: Any) -> None:
    """An example that is no sum of independent rows."""


def _itself(problem: Problem, X: Any, Y: Any) -> Problem:
    return problem


def _as_given(X: Any, Y: Any) -> tuple[Any, Any]:
    return X, Y


def _as_predicted(Y: Any) -> Any:
    return Y


def _nothing_refused(H: Cost) -> None:
    return None


def _anything_fits(X: Any, Y: Any = None) -> None:
    return None


def _different_pairs(y: np.ndarray, ybar: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Of pairs of class numbers: the first place of every different pair, and for each pair that place.

    Where these are no whole numbers: all places, and None.
    """
    if not len(y) or y.shape != ybar.shape or y.dtype.kind not in "iu" or ybar.dtype.kind not in "iu":
        return np.arange(len(ybar)), None
    low = min(int(y.min()), int(ybar.min()))
    width = max(int(y.max()), int(ybar.max())) - low + 1
    if width > 2**31:  # their products would be no 64-bit numbers
        return np.arange(len(ybar)), None
    pair = (y.astype(np.int64) - low) * width + (ybar.astype(np.int64) - low)
    _, first, which = np.unique(pair, return_index=True, return_inverse=True)
    return np.sort(first), first[which]


def as_row(psi: Any) -> sp.csr_matrix:
    """A joint feature vector as a (1, d) sparse row of floats; one that is such a row is not copied."""
    if isinstance(psi, sp.csr_matrix) and psi.dtype == np.float64 and psi.shape[0] == 1:
        return psi
    if sp.issparse(psi):
        return sp.csr_matrix(psi, dtype=float).reshape(1, -1)
    return sp.csr_matrix(np.asarray(psi, dtype=float).reshape(1, -1))
