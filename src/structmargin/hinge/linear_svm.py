"""The binary linear SVM with hinge loss, to a certified duality gap."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from structmargin.fit import ConvergenceWarning
from structmargin.hinge.minimise import minimise
from structmargin.hinge.rows import Goal, HingeFit, SignedRows
from structmargin.inputs.matrices import matrix, row_not_finite


def linear_svm(
    X: Any,
    y: ArrayLike,
    C: float | ArrayLike = 1.0,
    *,
    intercept: float = 0.0,
    gap_tol: float = 1e-3,
    max_iter: int = 1000,
    start: HingeFit | None = None,
) -> HingeFit:
    """Minimise 1/2 |w|^2 + sum_i C_i max(0, 1 - y_i <w, x_i>).

    By Newton's method up to a thousand weights, by dual coordinate ascent beyond.

    Parameters
    ----------
    X : matrix of shape (n, d), dense or sparse
    y : array of shape (n,)
        Labels -1 and +1.
    C : float or array of float of shape (n,), default=1.0
        The price of each row's slack, the same for all or one each: with costs that differ by class, C times
        the cost of the row's class.
    intercept : float, default=0.0
        The value of a constant feature added to every row, whose weight is regularised like the others and is
        the last entry of w; 0 for none.
    gap_tol : float, default=1e-3
        Stop once the duality gap is certified to be at most this share of the objective.
    max_iter : int, default=1000
        Newton steps, or passes over the rows, at most. If they do not suffice, a ConvergenceWarning has the
        gap that is left.
    start : HingeFit, optional
        A fit on the same rows with other prices, to start from, as along a path over C.

    Returns
    -------
    HingeFit
        w, the dual variables beta, and both objectives.

    Examples
    --------
    >>> import numpy as np
    >>> from structmargin import linear_svm
    >>> X = np.array([[2.0, 0.0], [1.0, 1.0], [-1.0, 0.0], [-2.0, 1.0]])
    >>> fit = linear_svm(X, [1, 1, -1, -1], C=10.0, gap_tol=1e-6)
    >>> np.round(fit.w, 3).tolist()
    [1.0, 0.0]
    >>> fit.dual <= fit.primal <= fit.dual + 1e-6 * fit.primal
    True
    """
    rows = matrix(X, "X", "row")
    n = rows.shape[0]
    signs, price = np.asarray(y, dtype=float), np.array(np.broadcast_to(np.asarray(C, dtype=float), (n,)))
    if signs.shape != (n,) or not np.all(np.abs(signs) == 1.0):
        raise ValueError(f"y must have a label of -1 or +1 for each of the {n} rows of X")
    if not np.all((price >= 0.0) & np.isfinite(price)):
        raise ValueError("every C must be a finite number, 0 or larger")
    wrong = row_not_finite(rows)
    if wrong is not None:
        raise ValueError(f"row {wrong} has a NaN or infinite feature")
    for name, value in (("gap_tol", gap_tol), ("max_iter", max_iter)):
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be a finite number above 0, but it is {value!r}")
    if not math.isfinite(intercept):
        raise ValueError(f"intercept must be a finite number, 0 for none, but it is {intercept!r}")
    signed = SignedRows(rows, signs, float(intercept))
    if start is not None and len(start.beta) != n:
        raise ValueError(f"start is of {len(start.beta)} rows, but X has {n}: give a fit on the same rows")
    if start is not None and len(start.w) != signed.n_weights:
        raise ValueError(
            f"start has {len(start.w)} weights, but {signed.n_weights} are asked for: give a fit with the "
            "same features and an intercept of the same kind"
        )
    fit = minimise(signed, price, Goal(0.0, gap_tol), max_iter=max_iter, start=start)
    if not fit.converged:
        left = (fit.primal - fit.dual) / fit.primal
        warnings.warn(
            f"the linear SVM was left with a relative gap of {left:.2g} after {fit.n_iter} iterations: raise "
            "max_iter, or ask for less with a larger gap_tol",
            ConvergenceWarning,
            stacklevel=2,
        )
    return fit
