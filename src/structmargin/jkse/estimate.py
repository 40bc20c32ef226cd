"""What joint kernel support estimation works on and what it finds (jkse09): pairs in, an estimate out.

    Pairs      n pairs psi_i = Psi(x_i, y_i), however kept (`structmargin.jkse.pairs`)
    Estimate   f(x, y) = <w, Psi(x, y)> with w = sum_i alpha_i psi_i, its margin rho and its certificate

Two estimates can be put beside each other without training either again (`beside`).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from structmargin.dual.working_set import NotSeparableError
from structmargin.fit import ConvergenceWarning, Trace, relative
from structmargin.jkse import one_class
from structmargin.problem import Scorer

ORIGIN = (
    "the pairs cannot be separated from the origin by these features without slack: set a finite C, or "
    "use a kernel with positive values"
)
"""Why w = 0 is no estimate."""
ROUNDING = 1e-6
"""Pairs that lie less than this share of rho on the wrong side of the hyperplane are on it."""


@dataclass(repr=False)
class Estimate:
    """What was learnt from n pairs: coefficients, scores and a certificate.

    Attributes
    ----------
    scorer : Scorer
        f(x, y) = <w, Psi(x, y)> with w = sum_i alpha_i Psi(x_i, y_i).
    alpha : ndarray of shape (n,)
        The coefficients; they add up to 1 for 'one_class'.
    xi : ndarray of shape (n,)
        By how much each pair lies on the wrong side of the hyperplane.
    rho : float
        The margin: pairs with f(x, y) >= rho are inside. 1 for 'binary' and 'online'.
    nu : float
        The nu that was given; for 'binary' and 'online' the nu that corresponds to C.
    C : float or None
        The price C/n of a slack; None for 'one_class'.
    primal, dual : float
        Those of equations 5 and 7 of jkse09, or 1/2 |w|^2 + C/n sum xi and its dual. The dual is None after
        pairs were added without retraining.
    gap : float or None
        primal - dual; None where the dual is.
    n_iter : int
        Steps, values of C or passes, by trainer.
    converged : bool
        Whether `gap_tol` was reached.
    n_constraints : int
        Pairs, or cuts where a cutting plane was used.
    oracle_calls : int
        0: training never searches an output.
    exact : bool
        True.
    seconds : float
        CPU time of training.
    trace : list of dict
        One row per iteration.
    pairs : Pairs or None
        The training pairs, which `JKSE.add` needs; None in a model that was loaded.
    """

    scorer: Scorer
    alpha: np.ndarray  # (n,)
    xi: np.ndarray  # (n,)
    rho: float
    nu: float
    C: float | None
    primal: float
    dual: float | None
    gap: float | None
    n_iter: int
    converged: bool
    n_constraints: int = 0
    oracle_calls: int = 0
    exact: bool = True
    seconds: float = 0.0
    trace: Trace = field(default_factory=list)
    pairs: Any = field(default=None, repr=False)

    def __repr__(self) -> str:
        """One line: objective and gap as far as certified, size, and whether it converged."""
        gap = self.relative_gap
        certified = "no certified gap" if gap is None else f"relative gap {gap:.2g}"
        converged = "converged" if self.converged else "not converged"
        return (
            f"Estimate(primal {self.primal:.6g}, {certified}, {self.n_active} of {len(self.alpha)} pairs "
            f"with alpha > 0, {converged})"
        )

    @property
    def w(self) -> np.ndarray | None:
        """The explicit weights, or None for a kernel model."""
        return self.scorer.w

    @property
    def n_active(self) -> int:
        """How many pairs have alpha > 0."""
        return int(np.count_nonzero(self.alpha))

    @property
    def n_outliers(self) -> int:
        """How many pairs lie more than a millionth of rho on the wrong side of the hyperplane."""
        return int(np.count_nonzero(self.xi > ROUNDING * abs(self.rho)))

    @property
    def relative_gap(self) -> float | None:
        return None if self.gap is None else relative(self.gap, self.primal)


class Pairs(Protocol):
    """n pairs. w is the combination sum_i alpha_i psi_i, or None in a kernel's space."""

    n: int
    explicit: bool

    def gram(self) -> np.ndarray:
        """All products (n, n)."""

    def longest(self) -> float:
        """The largest |psi_i|^2."""

    def scores(self, w: np.ndarray) -> np.ndarray:
        """<w, psi_i> of all (n,), where explicit."""

    def combine(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """sum of weights * psi over the points, where explicit."""

    def local(
        self, points: np.ndarray, alpha: np.ndarray, w: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The products among a few points, and their scores."""

    def all_scores(self, alpha: np.ndarray, w: np.ndarray | None) -> np.ndarray:
        """The scores of all (n,) at w, or at alpha in a kernel's space."""

    def scorer(self, alpha: np.ndarray, w: np.ndarray | None) -> Scorer:
        """f(x, y) of the combination."""

    def joined(self, other: Any) -> Any:
        """These pairs, then the other's."""


def beside(former: Estimate, new: Estimate, pairs: Pairs) -> Estimate:
    """Both estimates as one on `pairs` (the former's, then the new ones), each scaled to margin 1.

    Neither is retrained: the former's coefficients keep their proportions. That is the exact solution
    without slack where the kernel between former and new pairs is 0, as for labels that share no features.
    The objective is the one-class primal at the best multiple of w; there is no dual to go with it.
    """
    for part in (former, new):
        if not part.rho > 0.0:
            raise NotSeparableError(ORIGIN)
    alpha = np.concatenate([former.alpha / former.rho, new.alpha / new.rho])
    held = np.flatnonzero(alpha)
    w = pairs.combine(held, alpha[held]) if pairs.explicit else None
    scores = pairs.all_scores(alpha, w)
    chosen, weights, _ = one_class.lowest(scores, max(former.nu, 1.0 / pairs.n))  # 0 where C is infinite
    margin = max(float(weights @ scores[chosen]), 0.0)
    return replace(
        new, scorer=pairs.scorer(alpha, w), alpha=alpha, xi=np.maximum(1.0 - scores, 0.0), rho=1.0,
        primal=-0.5 * margin**2 / float(alpha @ scores), dual=None, gap=None, n_constraints=pairs.n,
        pairs=pairs,
    )  # fmt: skip


def warn_unless(converged: bool, gap: float, primal: float, max_iter: int) -> None:
    """For trainers to call: the ConvergenceWarning points at whoever called `fit`."""
    if not converged:
        warnings.warn(
            f"stopped at max_iter = {max_iter} with a duality gap of {gap:.3g} (relative "
            f"{relative(gap, primal):.2g}); raise max_iter, or ask for less with a larger gap_tol",
            ConvergenceWarning,
            stacklevel=5,
        )
