"""The certificate of JKSE: evaluation does not trust what training recorded.

For coefficients alpha, scores s_i = sum_j alpha_j k_ij and |w|^2 = alpha's, recomputed from the pairs:
    one_class   sum alpha = 1, 0 <= alpha <= 1/(nu n); primal 1/2 |w|^2 + 1/(nu n) sum (rho - s)+ - rho,
                dual -1/2 |w|^2 (jkse09 equations 5-8)
    binary,     0 <= alpha <= C/n; primal 1/2 |w|^2 + C/n sum (1 - s)+, dual sum alpha - 1/2 |w|^2; without
    online      slack the primal is that of w over its margin (Section 4.1)
"""

from __future__ import annotations

import math

import numpy as np

from structmargin.fit import relative
from structmargin.jkse.estimator import JKSE
from structmargin.jkse.pairs import pairs_of
from structmargin_suite.datasets import Examples

TOLERANCE = 1e-6


def recomputed(model: JKSE, subset: Examples, losses: np.ndarray) -> tuple[dict[str, float], list[str]]:
    """(measures recomputed from the training pairs, what does not hold)."""
    fit = model.fit_
    pairs = pairs_of(model.problem_, subset.X, subset.Y, model.kernel)
    n, alpha, wrong = pairs.n, np.asarray(fit.alpha, dtype=float), []
    held = np.flatnonzero(alpha)
    w = pairs.combine(held, alpha[held]) if pairs.explicit else None
    s = pairs.all_scores(alpha, w)
    norm2, total, margin = float(alpha @ s), float(alpha.sum()), float(s.min())
    if w is not None and np.linalg.norm(w - model.w_) > TOLERANCE * max(1.0, math.sqrt(norm2)):
        wrong.append(f"w differs from sum alpha_i psi_i by {np.linalg.norm(w - model.w_):.3g}")
    if fit.C is None:
        cap = 1.0 / (fit.nu * n)
        primal = 0.5 * norm2 + cap * float(np.maximum(fit.rho - s, 0.0).sum()) - fit.rho
        dual = -0.5 * norm2
        if abs(total - 1.0) > TOLERANCE:
            wrong.append(f"the coefficients add up to {total:.10g}, not to 1")
    else:
        cap = fit.C / n
        dual = total - 0.5 * norm2
        if math.isfinite(cap):
            primal = 0.5 * norm2 + cap * float(np.maximum(1.0 - s, 0.0).sum())
        else:
            primal = 0.5 * norm2 / margin**2 if margin > 0.0 else math.inf
    if np.any(alpha < 0.0) or np.any(alpha > cap * (1.0 + TOLERANCE)):
        wrong.append(f"coefficients run from {alpha.min():.3g} to {alpha.max():.3g}, beyond 0 and {cap:.3g}")
    for name, value, recorded in (("primal", primal, fit.primal), ("dual", dual, fit.dual)):
        if recorded is not None and not np.isclose(
            value, recorded, rtol=TOLERANCE, atol=TOLERANCE * abs(dual)
        ):
            wrong.append(f"the {name} objective is {value:.10g}, but training said {recorded:.10g}")
    gap = max(primal - dual, 0.0)
    return {
        "norm_w": math.sqrt(norm2),
        "primal": primal,
        "dual": dual,
        "gap": gap,
        "relative_gap": relative(gap, primal),
        "margin": margin,
        "nu": fit.nu,
        "rho": fit.rho,
        "outliers": 100.0 * float(np.mean(s < fit.rho - 1e-9 * abs(fit.rho))),
        "support": 100.0 * float(np.mean(alpha > 0.0)),
    }, wrong
