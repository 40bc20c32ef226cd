"""JKSE itself: two solutions on the same pairs, and how far apart their certificates allow them to be.

    P(nu) = {0 <= alpha_i <= 1/(nu n), sum alpha = 1},   w = sum_i alpha_i psi_i,   K the matrix of products
    hyperplane   min over P   1/2 alpha'K alpha               (jkse09 equations 7, 8)
    ball         max over P   sum_i alpha_i K_ii - alpha'K alpha, with centre w   (Section 2.3, footnote 1)
    binary       max over 0 <= alpha_i <= C/n   sum alpha - 1/2 alpha'K alpha   (Section 4.1)

Each objective is quadratic in w with curvature 1, 2 and 1, so a solution whose duality gap is g has a w that
is at most sqrt(2 g), sqrt(g) and sqrt(2 g) from the optimum.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import cvxopt
import numpy as np

from structmargin.jkse.one_class import lowest
from structmargin.jkse.pairs import pairs_of
from structmargin_suite.results import ExperimentResults

TOLERANCE = 1e-12
"""Of the reference solver of the ball."""
ROUNDING = 1e-9
"""Lengths and distances closer than this share of the longest are the same."""
NU_TOLERANCE = 1e-6
"""A C belongs to nu if its own nu differs by at most this share."""


class Apart(NamedTuple):
    """Two solutions on the same pairs."""

    distance: float  # between their w, as a share of the length of the first
    allowed: float  # what the certificates of two solutions of one problem allow, in the same unit
    lengths: float  # by what share the longest pair is longer than the shortest

    @property
    def same(self) -> bool:
        """Whether they may be solutions of one problem."""
        return self.distance <= self.allowed + ROUNDING


def smallest_ball(K: np.ndarray, nu: float) -> tuple[np.ndarray, float]:
    """The smallest ball around points with products K (n, n), except for a share nu of outliers.

    Returns
    -------
    alpha : ndarray of shape (n,)
        The centre is sum_i alpha_i psi_i.
    gap : float
        The duality gap, of the squared radius with its slacks.
    """
    n, scale = len(K), float(np.diagonal(K).max())
    bounds = np.vstack([-np.eye(n), np.eye(n)])
    limits = np.concatenate([np.zeros(n), np.full(n, 1.0 / (nu * n))])
    precise = {"show_progress": False, "abstol": TOLERANCE, "reltol": TOLERANCE, "feastol": TOLERANCE}
    solved = cvxopt.solvers.qp(
        cvxopt.matrix(2.0 * K / scale), cvxopt.matrix(-np.diagonal(K) / scale), cvxopt.matrix(bounds),
        cvxopt.matrix(limits), cvxopt.matrix(np.ones((1, n))), cvxopt.matrix(1.0), options=precise,
    )  # fmt: skip
    alpha = np.clip(np.array(solved["x"]).ravel(), 0.0, 1.0 / (nu * n))
    alpha /= alpha.sum()
    distances = np.diagonal(K) - 2.0 * K @ alpha + float(alpha @ K @ alpha)
    farthest, weights, _ = lowest(-distances, nu)  # the radius and slacks that are best for this centre
    return alpha, max(float(weights @ distances[farthest] - alpha @ distances), 0.0)


@functools.cache  # two statements and a figure look at the same runs
def products(experiment: ExperimentResults, run: str) -> np.ndarray:
    """The products of a run's training pairs, (n, n)."""
    model, train = experiment.model(run), experiment.split(run).train
    return np.asarray(pairs_of(model.problem_, train.X, train.Y, model.kernel).gram(), dtype=float)


@functools.cache
def ball_and_plane(experiment: ExperimentResults, run: str) -> Apart:
    """The hyperplane of a run, and the ball around the same pairs with the same nu."""
    K, fit = products(experiment, run), experiment.model(run).fit_
    alpha, gap = smallest_ball(K, fit.nu)
    allowed = math.sqrt(2.0 * max(fit.gap, 0.0)) + math.sqrt(gap)
    return _apart(K, fit.alpha, alpha, allowed)


def plane_and_binary(experiment: ExperimentResults, one_class: str, binary: str) -> Apart:
    """The hyperplane of a one-class run, and that of a binary run whose C was searched for the same nu.

    Over the sum S of its coefficients a binary solution with C is in P(nu') with nu' = S / C, and its gap
    there is at most g / S^2. Where nu' misses nu by a little: for nu < nu' and the share t = (1/nu - 1/nu')
    / (1/nu - 1), (1 - t) alpha + t/n is in P(nu') for every alpha in P(nu), so the two optima differ by at
    most t (v - v(nu)), with v the objective at alpha = 1/n. A C that misses nu by more is not
    nu's: nothing is allowed then.
    """
    K = products(experiment, one_class)
    plane, other = (experiment.model(run).fit_ for run in (one_class, binary))
    total = float(other.alpha.sum())
    low, high = sorted((plane.nu, total / other.C))
    if high > low * (1.0 + NU_TOLERANCE):
        return _apart(K, plane.alpha, other.alpha / total, 0.0)
    share = (1.0 / low - 1.0 / high) / (1.0 / low - 1.0) if high > low else 0.0
    drift = max(share * 0.5 * (float(K.mean()) - float(plane.alpha @ K @ plane.alpha)), 0.0)
    gaps = (max(plane.gap, 0.0), max(other.gap, 0.0) / total**2, drift)
    return _apart(K, plane.alpha, other.alpha / total, sum(math.sqrt(2.0 * gap) for gap in gaps))


def _apart(K: np.ndarray, alpha: np.ndarray, other: np.ndarray, allowed: float) -> Apart:
    length = math.sqrt(float(alpha @ K @ alpha))
    change = alpha - other
    norms = np.sqrt(np.diagonal(K))
    distance = math.sqrt(max(float(change @ K @ change), 0.0))
    return Apart(distance / length, allowed / length, float(norms.max() / norms.min() - 1.0))
