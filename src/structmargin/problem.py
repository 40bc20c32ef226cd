"""What a user brings: Psi, Delta and two argmaxes (cacm09 Section 2.5, jmlr05 Section 3.2).

A problem is an immutable value that knows nothing of C, epsilon or solvers. `f` below is a
scorer: f(x, y) is the score of one output, f.potentials(x) the arrays an oracle works on
(what the problem's own `potentials(w, x)` makes of explicit weights, or what a joint kernel
makes of its expansion), and f.w the weights where they are explicit.

Contract, for every x, y, ybar:
  * delta(y, ybar) >= 0 and delta(y, y) = 0;
  * argmax(f, x) maximises f(x, .);
  * augmented_argmax(f, x, y, H) maximises H(delta(y, .), f(x, y) - f(x, .)) over all outputs,
    or over all outputs but y (solvers clip the answer at H = 0 either way).
A problem whose searches are approximate says so with `exact = False`; then no gap is claimed.

Optional, used where present:
  potentials(w, x)   the oracle's arrays under explicit weights; linear in w
  n_weights          the length of w (else the length of the first psi)
  bind(X, Y)         the problem with what it learns from training data (a grammar's rules)
  wrap(X, Y)         the examples that a user's X and Y stand for (many rows as one sample), Y = None where
                     only inputs are known; the estimators call it before anything else, and
  unwrap(Y)          goes with it: what `predict` returns for the outputs of those examples
  batch(X, Y)        a `Batch`: the same searches over packed examples, many at a time; with Y = None
                     only its `argmax` is asked for
  refuse(H)          one sentence why the augmented search cannot handle H, or None
  explicit_only      one sentence why no joint kernel can be used, where that is so
  check(X, Y)        raise ValueError naming the first example that does not fit the problem
  factors(X)         for Psi = Phi(x) (x) Lambda(y) with class numbers as outputs: the matrices of all
                     Phi(x_i) and of all Lambda(y); then cuts are kept as labels instead of rows
  radius(x)          an upper bound on the norm of Psi(x, y) - Psi(x, y') over all y, y'
  max_delta(y)       an upper bound on delta(y, .)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp

from structmargin.formulation import Cost


class Scorer(Protocol):
    """A linear function of Psi(x, y), explicit or through a kernel."""

    def __call__(self, x: Any, y: Any) -> float: ...

    def potentials(self, x: Any) -> Any: ...


@runtime_checkable
class Problem(Protocol):
    """The four functions every structured problem has."""

    def psi(self, x: Any, y: Any) -> Any:
        """Joint features as a 1-d array or a (1, d) sparse row."""

    def delta(self, y: Any, ybar: Any) -> float:
        """The loss of predicting ybar where y is right."""

    def argmax(self, f: Scorer, x: Any) -> Any:
        """The best-scoring output."""

    def augmented_argmax(self, f: Scorer, x: Any, y: Any, H: Cost) -> Any:
        """The output that maximises H(delta(y, .), f(x, y) - f(x, .))."""


class Found(NamedTuple):
    """What a batched search returns, a row an example: outputs, losses, and Psi(x,y) - Psi(x,ybar).

    A search for several outputs an example also says which example each row belongs to. Where Psi
    has factors (see `factors`) rows would be waste: the search gives the gaps instead.
    """

    outputs: Any  # a sequence of m outputs
    losses: np.ndarray  # (m,)
    rows: sp.csr_matrix | None  # (m, d), None when the scorer is not explicit
    example: np.ndarray | None = None  # (m,), the indices asked for unless given
    gaps: np.ndarray | None = None  # (m,), f(x, y) - f(x, ybar) where rows are left out


class Batch(Protocol):
    """Packed examples: the fast path of a problem's searches.

    Optional: `search_many(f, indices, H, most)`, which returns up to `most` outputs an example, the
    best among them (fewer passes where the search costs little); `takes_kernels = True` where the
    searches ask f only for potentials, so that they also serve a joint kernel; `rows(example, outputs)`,
    the rows of deltaPsi, where the searches leave them out.
    """

    def search(self, f: Scorer, indices: np.ndarray, H: Cost) -> Found: ...

    def argmax(self, f: Scorer) -> Sequence[Any]: ...


def best_of(problem: Problem, f: Scorer, x: Any, y: Any, H: Cost, candidates: Iterable[Any]) -> Any:
    """The candidate with the largest H: an `augmented_argmax` for who can list outputs.

    `candidates` may be all outputs, or only a best-scoring output at each loss value. The
    first of equals wins, so the answer does not depend on anything but the order given.
    """
    at_truth = f(x, y)
    best, best_value = None, -np.inf
    for ybar in candidates:
        value = float(H(problem.delta(y, ybar), at_truth - f(x, ybar)))
        if value > best_value:
            best, best_value = ybar, value
    if best_value == -np.inf:
        raise ValueError("best_of was given no candidate with a finite H")
    return best


def top_of(f: Scorer, x: Any, candidates: Iterable[Any]) -> Any:
    """The best-scoring candidate, first of equals: an `argmax` for who can list outputs."""
    best, best_value = None, -np.inf
    for y in candidates:
        value = f(x, y)
        if value > best_value:
            best, best_value = y, value
    if best_value == -np.inf:
        raise ValueError("top_of was given no candidate with a finite score")
    return best
