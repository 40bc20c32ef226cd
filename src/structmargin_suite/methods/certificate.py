"""The certificate of a StructuredSVM: evaluation does not trust what training recorded.

For weights w, dual variables alpha and cuts (a, b) as stored, and a full search of its own at w:
    w = sum alpha_c a_c,   alpha >= 0 and within its block's cap,   the dual value is what was said,
    the primal of that search is what training recorded, and no dual value exceeds it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from structmargin import certify
from structmargin.adapted import adapt
from structmargin.fit import Fit, relative
from structmargin_suite.datasets import Examples

TOLERANCE = 1e-6


def recomputed(model: Any, subset: Examples, losses: np.ndarray) -> tuple[dict[str, float], list[str]]:
    """(measures found by a full search at the model's w, what does not hold) over the training set.

    `losses` are those of the model's predictions: `train_risk` is the risk that the formulation's
    slacks bound, the mean loss or, where it trains on 0/1 loss, the share of mistakes. `average_loss` is
    that of the outputs with alpha > 0, and `support_at_one` the share of these whose loss is 1.
    """
    fit: Fit = model.fit_
    n = len(subset.Y)
    norm2 = _norm2(model.scorer_)
    certified = certify(model.problem_, subset.X, subset.Y, model.scorer_, fit.formulation, fit.C, norm2)
    p = max(fit.formulation.p, 1)
    numbers = {
        "norm_w": float(np.sqrt(norm2)),
        "primal": certified.primal,
        "mean_slack": float(np.mean(certified.xi**p)),
        "train_risk": float(np.mean(fit.formulation.H.t(losses) ** p)),
    }
    if fit.support is not None and len(fit.support.losses):
        numbers["average_loss"] = float(np.mean(fit.support.losses))
        numbers["support_at_one"] = float(np.mean(fit.support.losses == 1.0))
    wrong = []
    scale = max(1.0, abs(certified.primal)) if np.isfinite(certified.primal) else 1.0
    if fit.primal is not None and not np.isclose(
        certified.primal, fit.primal, rtol=TOLERANCE, atol=TOLERANCE
    ):
        wrong.append(f"the primal objective is {certified.primal:.10g}, but training said {fit.primal:.10g}")
    if fit.dual is not None:
        numbers["dual"] = fit.dual
        if fit.exact and fit.dual > certified.primal + TOLERANCE * scale:
            wrong.append(f"the dual value {fit.dual:.10g} exceeds the primal {certified.primal:.10g}")
        if fit.exact:
            numbers["gap"] = max(certified.primal - fit.dual, 0.0)
            numbers["relative_gap"] = relative(numbers["gap"], certified.primal)
        wrong += _dual_faults(fit, n, norm2)
    return numbers, wrong


def takes_whole_sample(model: Any) -> bool:
    """Whether the model's problem makes one example of many rows."""
    return adapt(model.problem_).whole_sample


def examples(model: Any, subset: Examples) -> Examples:
    """The examples that a subset of the data stands for, as the model's problem sees it."""
    return Examples(*adapt(model.problem_).wrap(*subset))


def _norm2(f: Any) -> float:
    """|w|^2 of a scorer, explicit or expanded in a kernel."""
    if f.w is not None:
        return float(f.w @ f.w)
    return float(sum(c * f(x, y) for c, x, y in zip(f.coef, f.X, f.Y, strict=True)))


def _dual_faults(fit: Fit, n: int, norm2: float) -> list[str]:
    """What is wrong with the stored dual variables."""
    support = fit.support
    if support is None:
        return []
    wrong = []
    alpha = np.asarray(support.alpha, dtype=float)
    shares = np.bincount(support.example, weights=alpha, minlength=1) if len(alpha) else np.zeros(1)
    if np.any(alpha < 0.0):
        wrong.append(f"a dual variable is negative ({alpha.min():.3g})")
    blocks = n if np.all(shares <= fit.formulation.cap(fit.C, n) * (1 + TOLERANCE)) else 1
    if blocks == 1 and (len(shares) > 1 or shares[0] > fit.formulation.cap(fit.C, 1) * (1 + TOLERANCE)):
        wrong.append(f"a block of dual variables adds up to {shares.max():.10g}, above its cap")
    if support.rows is not None and fit.w is not None:
        w = np.asarray(support.rows.tocsr().T @ alpha).ravel()
        if np.linalg.norm(w - fit.w) > TOLERANCE * max(1.0, np.sqrt(norm2)):
            wrong.append(f"w differs from sum alpha_c a_c by {np.linalg.norm(w - fit.w):.3g}")
    ridge = float(fit.formulation.ridge(fit.C, n))
    value = float(alpha @ support.b) - 0.5 * norm2 - 0.5 * ridge * float(shares @ shares)
    if fit.dual is not None and abs(value - fit.dual) > TOLERANCE * max(1.0, abs(value)):
        wrong.append(f"the stored dual variables are worth {value:.10g}, but training said {fit.dual:.10g}")
    return wrong
