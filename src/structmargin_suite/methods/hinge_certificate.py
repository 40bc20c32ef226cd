"""The certificate of the conventional SVM: evaluation does not trust what training recorded.

For weights w and dual variables beta as stored, and prices p of the rows a_i = y_i x_i:
    w = sum beta_i a_i,   0 <= beta <= p,
    primal 1/2 |w|^2 + sum p_i (1 - <w, a_i>)+,   dual sum beta - 1/2 |w|^2, as training recorded them.
"""

from __future__ import annotations

import numpy as np

from structmargin.fit import relative
from structmargin.hinge.rows import SignedRows
from structmargin_suite.baselines.linear_svm import LinearSVM, prices
from structmargin_suite.datasets import Examples

TOLERANCE = 1e-6


def recomputed(model: LinearSVM, subset: Examples, losses: np.ndarray) -> tuple[dict[str, float], list[str]]:
    """(measures recomputed from the training rows, what does not hold); `losses` are not used."""
    y = np.asarray(subset.Y, dtype=float)
    price, fit, wrong = prices(y, model.C, model.cost), model.fit, []
    rows = SignedRows(subset.X, y, model.intercept)
    norm2 = float(fit.w @ fit.w)
    apart = float(np.linalg.norm(rows.combined(fit.beta) - fit.w))
    if apart > TOLERANCE * max(1.0, np.sqrt(norm2)):
        wrong.append(f"w differs from sum beta_i y_i x_i by {apart:.3g}")
    if np.any(fit.beta < 0.0) or np.any(fit.beta > price * (1.0 + TOLERANCE)):
        wrong.append(f"dual variables run from {fit.beta.min():.3g} to {fit.beta.max():.3g}, beyond a price")
    slacks = np.maximum(1.0 - rows.products(fit.w), 0.0)
    primal, dual = 0.5 * norm2 + float(price @ slacks), float(fit.beta.sum()) - 0.5 * norm2
    for name, value, recorded in (("primal", primal, fit.primal), ("dual", dual, fit.dual)):
        if not np.isclose(value, recorded, rtol=TOLERANCE, atol=TOLERANCE * abs(primal)):
            wrong.append(f"the {name} objective is {value:.10g}, but training said {recorded:.10g}")
    gap = max(primal - dual, 0.0)
    numbers = {
        "norm_w": float(np.sqrt(norm2)), "primal": primal, "dual": dual, "gap": gap,
        "relative_gap": relative(gap, primal),
    }  # fmt: skip
    return numbers, wrong
