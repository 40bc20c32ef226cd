"""What a user brings: Psi, Delta and two argmaxes (cacm09 Section 2.5, jmlr05 Section 3.2).

A problem is an immutable value that knows nothing of C, epsilon or solvers. Four functions are enough
(`Problem`). What else a problem may offer is listed in `adapted.py`, with the default of each member.

Contract, for every x, y, ybar:
  * delta(y, ybar) >= 0 and delta(y, y) = 0;
  * argmax(f, x) maximises f(x, .);
  * augmented_argmax(f, x, y, H) maximises H(delta(y, .), f(x, y) - f(x, .)) over all outputs,
    or over all outputs but y (solvers clip the answer at H = 0 either way).
A problem whose searches are approximate says so with `exact = False`; then no gap is claimed.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from structmargin.cuts import Cuts, SearchError
from structmargin.formulation import Cost


class Scorer(Protocol):
    """A linear function f of Psi(x, y), explicit or through a kernel.

    f(x, y) is the score of one output. f.potentials(x) are the arrays that a problem's oracle works on:
    what the problem's own `potentials(w, x)` makes of explicit weights, or what a joint kernel makes of its
    expansion. f.w are the weights where they are explicit, and None otherwise. f.of_training(examples) are
    the potentials of training examples, given by number, where training keeps them up to date, and None
    elsewhere: then a batched search asks for `potentials`.
    """

    @property
    def w(self) -> np.ndarray | None: ...

    def __call__(self, x: Any, y: Any) -> float: ...

    def potentials(self, x: Any) -> Any: ...

    def of_training(self, examples: np.ndarray) -> Any: ...


@runtime_checkable
class Problem(Protocol):
    """The four functions every structured problem has; `AdaptedProblem` has what it may offer besides.

    Examples
    --------
    Three items to be put in order, by enumeration. Nothing has to be inherited:

    >>> from itertools import permutations
    >>> import numpy as np
    >>> from structmargin import StructuredSVM
    >>> from structmargin.problem import best_of, top_of
    >>> ORDERS = list(permutations(range(3)))
    >>> class Ranking:
    ...     def psi(self, x, y):
    ...         return x[y[0]] - x[y[2]]
    ...     def delta(self, y, ybar):
    ...         return float(sum(a != b for a, b in zip(y, ybar)))
    ...     def argmax(self, f, x):
    ...         return top_of(f, x, ORDERS)
    ...     def augmented_argmax(self, f, x, y, H):
    ...         return best_of(self, f, x, y, H, ORDERS)
    >>> X = [np.array([[3.0], [1.0], [2.0]]), np.array([[0.0], [5.0], [1.0]])]
    >>> Y = [(0, 2, 1), (1, 2, 0)]
    >>> model = StructuredSVM(Ranking(), C=10.0).fit(X, Y)
    >>> model.predict(X)[0][0]
    0
    """

    def psi(self, x: Any, y: Any) -> Any:
        """Joint features as a 1-d array or a (1, d) sparse row."""

    def delta(self, y: Any, ybar: Any) -> float:
        """The loss of predicting ybar where y is right; `delta(x, y, ybar)` where it depends on x."""

    def argmax(self, f: Scorer, x: Any) -> Any:
        """The best-scoring output."""

    def augmented_argmax(self, f: Scorer, x: Any, y: Any, H: Cost) -> Any:
        """The output that maximises H(delta(y, .), f(x, y) - f(x, .))."""


REQUIRED = ("psi", "delta", "argmax", "augmented_argmax")
"""The functions that have no default."""


class Batch(Protocol):
    """Packed examples: the same searches as the problem's own, over many examples at a time.

    A search returns `Cuts.of_search(H, example, outputs, losses, margins, rows)`; it may leave the rows out
    under a joint kernel, and where Psi has factors. See `AdaptedBatch` for what else a batch may offer.
    """

    def search(self, f: Scorer, indices: np.ndarray, H: Cost) -> Cuts: ...

    def argmax(self, f: Scorer) -> Sequence[Any]: ...


SEARCH_COST = 10
"""The cost of a search where the problem does not say: a search by a dynamic program over more than a chain,
or in Python, takes at least ten times what a step takes."""


def loss_takes_x(delta: Any) -> bool:
    """Whether a loss has three required arguments, x, y and ybar, and not y and ybar alone."""
    try:
        given = inspect.signature(delta).parameters.values()
    except (TypeError, ValueError):  # no function, or one in C whose signature is not known
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in given) == 3


def best_of(problem: Problem, f: Scorer, x: Any, y: Any, H: Cost, candidates: Iterable[Any]) -> Any:
    """The candidate with the largest H: an `augmented_argmax` for problems whose outputs can be enumerated.

    `candidates` may be all outputs, or only a best-scoring output at each loss value. The
    first of equals wins, so the answer does not depend on anything but the order given.

    Parameters
    ----------
    problem : Problem
        Only its `delta` is called.
    f : Scorer
        The scores, as handed to `augmented_argmax`.
    x, y : Any
        Input and correct output of one example.
    H : Cost
        The cost to maximise, as handed to `augmented_argmax`.
    candidates : iterable
        The outputs to choose from.

    Returns
    -------
    Any
        One of the candidates.
    """
    takes_x = loss_takes_x(problem.delta)
    score_of_truth = f(x, y)
    best, best_value = None, -np.inf
    for ybar in candidates:
        loss = problem.delta(x, y, ybar) if takes_x else problem.delta(y, ybar)  # type: ignore[call-arg]
        if not np.isfinite(loss):
            raise SearchError(f"delta is {loss:g} for the output {ybar!r}; a loss must be finite and >= 0")
        value = float(H(loss, score_of_truth - f(x, ybar)))
        if value > best_value:
            best, best_value = ybar, value
    if best_value == -np.inf:
        raise ValueError("best_of was given no candidate with a finite H")
    return best


def top_of(f: Scorer, x: Any, candidates: Iterable[Any]) -> Any:
    """The best-scoring candidate: an `argmax` for problems whose outputs can be enumerated.

    The first of equals wins.

    Parameters
    ----------
    f : Scorer
        The scores, as handed to `argmax`.
    x : Any
        An input.
    candidates : iterable
        The outputs to choose from.

    Returns
    -------
    Any
        One of the candidates.
    """
    best, best_value = None, -np.inf
    for y in candidates:
        value = f(x, y)
        if value > best_value:
            best, best_value = y, value
    if best_value == -np.inf:
        raise ValueError("top_of was given no candidate with a finite score")
    return best
