"""Novelty: scores of given pairs, and the threshold below which a pair lies outside of the support (jkse09).

Given the scores s_i = f(x_i, y_i) of the n training pairs, the primal of the one-class SVM is least at the
rho below which fewer than nu n of them lie: the k-th lowest score for k = ceil(nu n). So at most the share nu
of the training pairs are outliers (Schoelkopf et al. 2001, Proposition 3), whatever the trainer and however
near to the optimum it stopped.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structmargin.adapted import AdaptedProblem
from structmargin.jkse.estimate import ROUNDING, Estimate
from structmargin.jkse.pairs import CHUNK, items, pairs_of


def offset(estimate: Estimate) -> float:
    """The threshold: the k-th lowest training score or rho, whichever is less, and a little lower.

    Pairs on the margin score rho up to rounding; a millionth of it keeps them inside, as in `n_outliers`.
    """
    n = len(estimate.xi)
    k = min(max(math.ceil(estimate.nu * n * (1.0 - 1e-12)), 1), n)  # nu is 0 where no slack is allowed
    kth_largest_slack = float(np.partition(estimate.xi, n - k)[n - k])
    return estimate.rho - kth_largest_slack - ROUNDING * abs(estimate.rho)


def pair_scores(problem: AdaptedProblem, f: Any, X: Any, Y: Any) -> np.ndarray:
    """f(x_i, y_i) of n pairs (n,)."""
    if f.w is not None:
        return np.asarray(pairs_of(problem, X, Y).scores(f.w))
    if not len(f.coef):
        return np.zeros(len(Y))
    chunks = (np.arange(lo, min(lo + CHUNK, len(Y))) for lo in range(0, len(Y), CHUNK))
    return np.concatenate([f.kernel.gram(items(X, c), items(Y, c), f.X, f.Y) @ f.coef for c in chunks])
