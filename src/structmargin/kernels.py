"""Kernels on inputs, on outputs, and on pairs (x, y).

A kernel on pairs has two methods. `gram(X, Y, X2, Y2)` is the matrix of k((x, y), (x2, y2)).
`potentials(problem, x, X, Y, coef)` turns an expansion sum_j coef_j k((x_j, y_j), .) into the
arrays the problem's oracle works on; a kernel for problems that only ask f(x, y) need not have it.
One with product structure, kx(x, x2) L[y, y2] for class numbers y, says so by `factors(n_classes)`, which
returns (kx, L): training then needs memory for all pairs of inputs, not of constraints.
One that learns something from the training pairs (a width, say) has `bind(X, Y)`, which returns the kernel
that knows it: training calls it once, before anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp

Matrix: TypeAlias = Any
"""A matrix with one row per input: a 2-d array or a scipy.sparse matrix (scipy ships no types)."""


MAX_PRODUCTS = 2**22
"""How many values of a kernel are computed at a time where scores are asked for."""


def stacked(X: Matrix) -> Matrix:
    """Inputs as one matrix of floats with one row per input: a matrix as it is, a list of rows stacked.

    Sums and differences of bools or small integers would be taken in their own kind, and be wrong.
    """
    if sp.issparse(X):
        return X.tocsr().astype(float, copy=False)
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return X.astype(float, copy=False)
    if len(X) and sp.issparse(X[0]):
        return sp.vstack(X).tocsr().astype(float, copy=False)
    return np.asarray([np.ravel(x) for x in X], dtype=float)


def _products(X: Matrix, Z: Matrix) -> np.ndarray:
    XZ = stacked(X) @ stacked(Z).T
    return XZ.toarray() if sp.issparse(XZ) else np.asarray(XZ)


def _norms2(X: Matrix) -> np.ndarray:
    X = stacked(X)
    squares = X.multiply(X) if sp.issparse(X) else X * X
    return np.asarray(squares.sum(axis=1)).ravel()


@dataclass(frozen=True)
class LinearKernel:
    """The inner product <x, z>.

    Examples
    --------
    >>> from structmargin.kernels import LinearKernel
    >>> LinearKernel()([[1.0, 2.0]], [[3.0, 4.0], [0.0, 1.0]])
    array([[11.,  2.]])
    """

    def __call__(self, X: Matrix, Z: Matrix) -> np.ndarray:
        """The kernel between the rows of X and those of Z: a matrix (len(X), len(Z))."""
        return _products(X, Z)


@dataclass(frozen=True)
class Polynomial:
    """The polynomial kernel (gamma <x, z> + coef0)^degree.

    Parameters
    ----------
    degree : int, default=2
        The degree.
    gamma : float, default=1.0
        The factor of the inner product.
    coef0 : float, default=1.0
        What is added to it; 0 makes the kernel homogeneous.

    Examples
    --------
    >>> from structmargin.kernels import Polynomial
    >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    degree: int = 2
    gamma: float = 1.0
    coef0: float = 1.0

    def __call__(self, X: Matrix, Z: Matrix) -> np.ndarray:
        """The kernel between the rows of X and those of Z: a matrix (len(X), len(Z))."""
        return (self.gamma * _products(X, Z) + self.coef0) ** self.degree


@dataclass(frozen=True)
class RBF:
    """The Gaussian kernel exp(-gamma |x - z|^2).

    Parameters
    ----------
    gamma : float, default=1.0
        The inverse width, above 0.

    Examples
    --------
    >>> from structmargin.kernels import RBF
    >>> RBF(gamma=0.5)([[0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.368]])
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.gamma, (int, float, np.number)) or not 0.0 < self.gamma < np.inf:
            raise ValueError(f"gamma of RBF must be a finite number above 0, but it is {self.gamma!r}")

    def __call__(self, X: Matrix, Z: Matrix) -> np.ndarray:
        """The kernel between the rows of X and those of Z: a matrix (len(X), len(Z))."""
        X, Z = stacked(X), stacked(Z)
        gram: np.ndarray = _norms2(X)[:, None] + _norms2(Z)[None, :]
        products = _products(X, Z)
        products *= 2.0
        gram -= products
        np.maximum(gram, 0.0, out=gram)
        gram *= -self.gamma
        np.exp(gram, out=gram)
        return gram


INDEFINITE = 1e-6
"""A product may exceed that of the two lengths by this share of the largest squared length, by rounding."""


class HasClasses(Protocol):
    """A problem whose outputs are class numbers."""

    @property
    def n_classes(self) -> int: ...


@dataclass(frozen=True)
class Product:
    """A joint kernel for class labels: one kernel on inputs times one on classes.

        k((x, y), (z, y')) = kx(x, z) L[y, y']

    It is the kernel of Psi = Phi(x) ⊗ Lambda(y) with L[y, y'] = <Lambda(y), Lambda(y')>, for `Multiclass`
    and `Taxonomy`.

    Parameters
    ----------
    kx : callable
        A kernel on inputs: kx(X, Z) is the matrix of its values between the rows of X and those of Z, as of
        `LinearKernel`, `Polynomial` and `RBF`.
    L : ndarray of shape (n_classes, n_classes), default=None
        The kernel on classes, symmetric and positive semi-definite. None is the identity.

    References
    ----------
    .. [1] Tsochantaridis, Joachims, Hofmann and Altun, "Large margin methods for structured and
       interdependent output variables", JMLR 6, 2005, Proposition 21.

    Examples
    --------
    The four corners of a square, where opposite corners are of one class:

    >>> import numpy as np
    >>> from structmargin import StructuredSVM
    >>> from structmargin.kernels import RBF, Product
    >>> from structmargin.problems import Multiclass
    >>> X, Y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([0, 0, 1, 1])
    >>> model = StructuredSVM(Multiclass(2, 2), kernel=Product(RBF(gamma=2.0)), C=100.0).fit(X, Y)
    >>> [int(y) for y in model.predict(X)]
    [0, 0, 1, 1]
    """

    kx: Callable[[Matrix, Matrix], np.ndarray]
    L: np.ndarray | None = None

    def gram(self, X: Matrix, Y: Sequence[int], X2: Matrix, Y2: Sequence[int]) -> np.ndarray:
        """k((x, y), (x2, y2)) between two lists of pairs: a matrix (len(X), len(X2))."""
        left, right = np.asarray(Y, dtype=int), np.asarray(Y2, dtype=int)
        on_y = left[:, None] == right[None, :] if self.L is None else self.L[np.ix_(left, right)]
        gram: np.ndarray = require_shape(self.kx(X, X2), len(left), len(right)) * on_y
        return gram

    def factors(self, n_classes: int) -> tuple[Callable[[Matrix, Matrix], np.ndarray], np.ndarray]:
        """The kernel on inputs, and that on classes as a matrix (n_classes, n_classes)."""
        if self.L is None:
            return self.kx, np.eye(n_classes)
        L = np.asarray(self.L, dtype=float)
        if L.shape != (n_classes, n_classes):
            raise ValueError(
                f"L of the product kernel has shape {L.shape}, but there are {n_classes} classes: "
                "give it one row and one column per class"
            )
        return self.kx, L

    def check_expansion(self, problem: Any, X: Any, Y: Any, coef: np.ndarray, max_bytes: int) -> None:
        """Raise unless classes, L and coefficients fit together: for expansions that come from a file."""
        n_classes: int = problem.K
        if coef.ndim == 2 and coef.shape[1] != n_classes:
            raise ValueError(f"{coef.shape[1]} coefficients per input do not go with {n_classes} classes")
        if 8 * n_classes * max(len(coef), 1) > max_bytes:
            raise ValueError(f"{n_classes} classes of {len(coef)} inputs need more than {max_bytes} bytes")
        if self.L is not None:
            L = np.asarray(self.L, dtype=float)
            if L.shape != (n_classes, n_classes) or not np.isfinite(L).all():
                raise ValueError(f"L of the product kernel is no finite matrix of {n_classes} x {n_classes}")

    def potentials(
        self, problem: HasClasses, X_new: Matrix, X: Matrix, Y: Sequence[int], coef: np.ndarray
    ) -> np.ndarray:
        """Scores of every class: (K,) for one input, (m, K) for a matrix of inputs."""
        table = np.zeros((len(coef), problem.n_classes))
        table[np.arange(len(coef)), np.asarray(Y, dtype=int)] = coef
        return self.scores(X_new, X, table)

    def scores(self, X_new: Matrix, X: Matrix, coef: np.ndarray) -> np.ndarray:
        """The same where input j of X has a coefficient coef[j, y] for each class y."""
        kx, L = self.factors(coef.shape[1])
        single = X_new.shape[0] == 1 if sp.issparse(X_new) else np.ndim(X_new) == 1
        inputs = X_new if not single or sp.issparse(X_new) else np.reshape(X_new, (1, -1))
        scores = np.zeros((inputs.shape[0], coef.shape[1]))
        if len(coef):
            by_class = coef if self.L is None else coef @ L
            step = max(1, MAX_PRODUCTS // len(coef))
            for first in range(0, len(scores), step):
                scores[first : first + step] = kx(inputs[first : first + step], X) @ by_class
        return scores[0] if single else scores


@dataclass(frozen=True)
class Pairwise:
    """A joint kernel from any function k(x, y, x2, y2), evaluated pair by pair.

    For problems that ask a scorer for single scores f(x, y) only, such as one's own with `best_of` and
    `top_of` (`structmargin.problem`): there are no potentials. It is slow, one call of Python for each pair
    of pairs.

    Parameters
    ----------
    k : callable
        A symmetric and positive semi-definite function (x, y, x2, y2) -> float.

    Examples
    --------
    >>> from structmargin.kernels import Pairwise
    >>> kernel = Pairwise(lambda x, y, x2, y2: x * x2 * (y == y2))
    >>> kernel.gram([1.0, 2.0], ["a", "b"], [3.0], ["b"])
    array([[0.],
           [6.]])
    """

    k: Callable[[Any, Any, Any, Any], float]

    def gram(self, X: Sequence[Any], Y: Sequence[Any], X2: Sequence[Any], Y2: Sequence[Any]) -> np.ndarray:
        """k((x, y), (x2, y2)) between two lists of pairs: a matrix (len(X), len(X2))."""
        return np.array([[self.k(x, y, x2, y2) for x2, y2 in zip(X2, Y2)] for x, y in zip(X, Y)]).reshape(
            len(X), len(X2)
        )


def require_shape(values: Any, rows: int, columns: int) -> np.ndarray:
    """What a kernel returned, as an array; raise ValueError if it is not one value per pair."""
    array: np.ndarray = np.asarray(values)
    if array.shape != (rows, columns):
        raise ValueError(
            f"the kernel returned an array of shape {array.shape} for {rows} inputs and {columns} others, "
            f"but it must return one value per pair: an array of shape {(rows, columns)}"
        )
    return array


def beyond_lengths(products: np.ndarray, squares: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Where |products[i, j]|^2 exceeds squares[i] * others[j], the squared lengths: (number, 2) places.

    With a kernel that is positive semi-definite there is no such place, except by rounding.
    """
    squares, others = np.maximum(squares, 0.0), np.maximum(others, 0.0)
    rounding = INDEFINITE * max(squares.max(initial=0.0), others.max(initial=0.0))
    return np.argwhere(np.abs(products) > np.sqrt(squares[:, None] * others[None, :]) + rounding)


def entry_pairs(X: sp.csr_matrix) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """All pairs of entries of one row, each with itself included, for blocks of rows with k entries each.

    Yields (rows (r,), first (r, p), second (r, p)) with p = k (k + 1) / 2: the rows of the block, and for
    each of them the places of both entries in X.indices and X.data, the first never after the second. In
    blocks, because all pairs of a large matrix at once would fill the memory.
    """
    lengths = np.diff(X.indptr)
    for k in np.unique(lengths[lengths > 0]):
        rows = np.flatnonzero(lengths == k)
        entries = X.indptr[rows, None] + np.arange(k)
        a, b = np.triu_indices(k)
        yield rows, entries[:, a], entries[:, b]


def degree2(X: Matrix, columns: np.ndarray | None = None) -> sp.csr_matrix:
    """Features phi with <phi(x), phi(z)> = (1 + <x, z>)^2 for every two rows of X (n, D), dense or sparse.

    Column 0 is the constant 1, column 1 + i is sqrt(2) x_i, and then x_i^2 or sqrt(2) x_i x_j for i <= j, in
    all (D + 1)(D + 2) / 2. `columns`, sorted, keeps only these, renumbered from 0: those that occur in
    training, `np.unique(degree2(X).indices)`, leave the objective as it is and save the room of the rest.
    """
    X = sp.csr_matrix(X, dtype=float, copy=True)
    X.sum_duplicates()
    n, D = X.shape
    row = [np.arange(n), np.repeat(np.arange(n), np.diff(X.indptr))]
    column = [np.zeros(n, np.int64), 1 + X.indices.astype(np.int64)]
    value = [np.ones(n), np.sqrt(2.0) * X.data]
    for rows, first, second in entry_pairs(X):
        i, j = X.indices[first].astype(np.int64), X.indices[second].astype(np.int64)
        row.append(np.repeat(rows, first.shape[1]))
        column.append((1 + D + i * D - i * (i - 1) // 2 + j - i).ravel())
        value.append((X.data[first] * X.data[second] * np.where(first == second, 1.0, np.sqrt(2.0))).ravel())
    example, code, phi = np.concatenate(row), np.concatenate(column), np.concatenate(value)
    width = (D + 1) * (D + 2) // 2
    if columns is not None:
        width = len(columns)
        place = np.minimum(np.searchsorted(columns, code), max(width - 1, 0))
        known = columns[place] == code if width else np.zeros(len(code), dtype=bool)
        example, code, phi = example[known], place[known], phi[known]
    return sp.csr_matrix((phi, (example, code)), shape=(n, width))
