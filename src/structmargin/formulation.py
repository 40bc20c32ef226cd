"""The seven learning problems as data: a penalty on the slacks times a scaling by the loss.

Every formulation is a family of half-spaces and a price (jmlr05 Section 2.2, equations 4-9):

    xi_i >= b - <w, a>   with   a = s(Delta) * deltaPsi_i(ybar),   b = t(Delta),

where d = Delta^power, t = d and s = s0 + s1 * d. The power is 1/p for the penalty xi^p, and 0
(d = 1 wherever Delta > 0) when the formulation ignores how large a loss is:

    scaling   s0  s1   constraint
    none       0   1   <w, deltaPsi> >= 1 - xi              d = 1[Delta > 0]
    slack      0   1   <w, deltaPsi> >= 1 - xi / d
    margin     1   0   <w, deltaPsi> >= d - xi

    penalty    objective                         what the dual sees
    hard       1/2 |w|^2                         alpha >= 0
    linear     1/2 |w|^2 + C/n sum xi            sum of alpha in each block <= C/n
    squared    1/2 |w|^2 + C/(2n) sum xi^2       Gram + n/C inside each block

No other module asks for a formulation by name: solvers see (cap, ridge), oracles see `H`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from structmargin.compiled import compiled


class Cost(NamedTuple):
    """The cost whose maximiser is the next constraint: H(Delta, margin) = t(Delta) - s(Delta) margin.

    `margin` is <w, deltaPsi_i(ybar)> = f(x, y) - f(x, ybar), and with d = Delta^power

        t = d,    s = s0 + s1 d.

    For a fixed loss H never rises with the margin, so the best-scoring output at each loss value is all that
    any formulation needs. A plain tuple of numbers: compiled searches take it as an argument and call
    `h_value`.

    Parameters
    ----------
    s0 : float
        1 for margin re-scaling, else 0.
    s1 : float
        0 for margin re-scaling, else 1.
    power : float
        1 for linear slack, 1/2 for squared slack, 0 where the size of the loss does not count (then d is 1
        where Delta > 0, and 0 elsewhere).

    References
    ----------
    .. [1] Tsochantaridis, Joachims, Hofmann and Altun, "Large margin methods for structured and
       interdependent output variables", JMLR 6, 2005, Section 2.2 and Algorithm 1.

    Examples
    --------
    >>> from structmargin.formulation import FORMULATIONS
    >>> H = FORMULATIONS["SVM1 margin"].H
    >>> float(H(2.0, 0.5))
    1.5
    >>> float(FORMULATIONS["SVM1 slack"].H(2.0, 0.5))
    1.0
    """

    s0: float
    s1: float
    power: float

    def d(self, delta: ArrayLike) -> np.ndarray:
        """Delta^power, elementwise; 1 where Delta > 0 and 0 elsewhere when the power is 0."""
        delta = np.asarray(delta, dtype=float)
        return np.where(delta > 0, np.power(np.maximum(delta, 0.0), self.power), 0.0)

    def s(self, delta: ArrayLike) -> np.ndarray:
        """The factor on deltaPsi."""
        return self.s0 + self.s1 * self.d(delta)

    def t(self, delta: ArrayLike) -> np.ndarray:
        """The offset of the half-space."""
        return self.d(delta)

    def __call__(self, delta: ArrayLike, margin: ArrayLike) -> np.ndarray:
        values: np.ndarray = self.t(delta) - self.s(delta) * np.asarray(margin, dtype=float)
        return values

    @property
    def folds(self) -> bool:
        """Whether the loss can be added to the scores: H = Delta - margin, true of SVM1 margin alone."""
        return self.s0 == 1.0 and self.s1 == 0.0 and self.power == 1.0


@compiled
def h_value(H, delta, margin):  # type: ignore[no-untyped-def]
    """H(delta, margin) for compiled code: `H` is the tuple itself, both others are scalars."""
    d = 0.0
    if delta > 0.0:
        d = delta**H.power
    return d - (H.s0 + H.s1 * d) * margin


@dataclass(frozen=True)
class Formulation:
    """One of the seven learning problems: a penalty on the slacks and a scaling by the loss.

        minimise 1/2 |w|^2 + price(xi)   subject to   s(Delta) <w, deltaPsi_i(ybar)> >= t(Delta) - xi_i

    for all examples i and outputs ybar. `FORMULATIONS` has the seven by name.

    Parameters
    ----------
    name : str
        The name, such as "SVM1 margin".
    p : int
        The power of the slacks in the price: 1 for C/n sum xi, 2 for C/(2n) sum xi^2, 0 for no slack at all.
    H : Cost
        s and t, as the cost that a search for violated constraints maximises.

    References
    ----------
    .. [1] Tsochantaridis, Joachims, Hofmann and Altun, "Large margin methods for structured and
       interdependent output variables", JMLR 6, 2005, Section 2.2, equations 4 to 9.

    Examples
    --------
    >>> from structmargin.formulation import FORMULATIONS
    >>> list(FORMULATIONS)
    ['SVM0', 'SVM1', 'SVM1 slack', 'SVM1 margin', 'SVM2', 'SVM2 slack', 'SVM2 margin']
    >>> margin = FORMULATIONS["SVM1 margin"]
    >>> margin.price([0.5, 1.5], C=1.0, n=2)
    1.0
    >>> float(margin.cap(C=1.0, n=2)), float(margin.ridge(C=1.0, n=2))
    (0.5, 0.0)
    """

    name: str
    p: int
    H: Cost

    def cap(self, C: float, n: int, weight: ArrayLike = 1.0) -> np.ndarray:
        """The largest sum of alpha in a block whose example has this weight.

        C/n times the weight for the linear penalty, else unbounded; 0 where the weight is 0.
        """
        weight = np.asarray(weight, dtype=float)
        return np.asarray(C / n * weight) if self.p == 1 else np.where(weight > 0.0, math.inf, 0.0)

    def ridge(self, C: float, n: int, weight: ArrayLike = 1.0) -> np.ndarray:
        """What the squared penalty adds to the Gram matrix inside a block: n/C over the weight, else 0."""
        weight = np.asarray(weight, dtype=float)
        if self.p != 2:
            return np.zeros_like(weight)
        return np.asarray(np.divide(n / C, weight, out=np.zeros_like(weight), where=weight > 0.0))

    def price(self, xi: ArrayLike, C: float, n: int, weight: ArrayLike = 1.0) -> float:
        """What the slacks cost: C/n sum v xi, C/(2n) sum v xi^2, or 0 or infinity for hard margins.

        v are the weights of the examples. They change the cap or the ridge of a block, and nothing else.
        """
        xi, weight = np.asarray(xi, dtype=float), np.asarray(weight, dtype=float)
        if self.p == 0:
            return math.inf if np.any((xi > 0) & (weight > 0)) else 0.0
        if self.p == 1:
            return float(C / n * np.sum(weight * xi))
        return float(np.sum(weight * (math.sqrt(C / (2 * n)) * xi) ** 2))  # xi^2 alone could overflow

    def max_constraints(self, C: float, n: int, eps: float, radius: float, delta: float) -> float | None:
        """Theorem 18: the most cuts Algorithm 1 can add one at a time; None for the hard margin.

        `radius` bounds |deltaPsi| and `delta` bounds Delta over all examples and outputs. A
        formulation that ignores the size of the loss is the slack case with delta = 1.
        """
        if self.p == 0:
            return None
        if self.H.power == 0.0:
            delta = 1.0
        slack = self.H.s0 == 0.0
        if self.p == 1:
            return max(2 * n * delta / eps, 8 * C * delta ** (3 if slack else 1) * radius**2 / eps**2)
        return (C * delta ** (2 if slack else 1) * radius**2 + n * delta) / eps**2

    def min_gain(self, C: float, n: int, eps: float, radius: float, delta: float) -> float | None:
        """Propositions 14-17: what a cut violated by more than eps raises the dual by at least.

        `radius` bounds |deltaPsi| and `delta` bounds Delta over the outputs of its example; None for the hard
        margin. Proposition 17 (SVM1 margin) is printed without the first of the two terms of Proposition 16,
        from which it is derived. It cannot hold so: where the violation is v, the old w with v more slack is
        feasible, and the dual rises by at most C v / n. Here it has both terms.
        """
        if self.p == 0:
            return None
        slack = self.H.s0 == 0.0
        norm2 = radius**2 * (delta if slack and self.H.power else 1.0) ** (2 // self.p)  # bounds |a|^2
        if self.p == 2:
            return eps**2 / (2 * (norm2 + n / C))
        return min(C * eps / (2 * n), eps**2 / (8 * norm2) if norm2 else math.inf)


def _seven() -> dict[str, Formulation]:
    none, slack, margin = (0.0, 1.0), (0.0, 1.0), (1.0, 0.0)
    table = [
        ("SVM0", 0, none, 0.0),
        ("SVM1", 1, none, 0.0),
        ("SVM1 slack", 1, slack, 1.0),
        ("SVM1 margin", 1, margin, 1.0),
        ("SVM2", 2, none, 0.0),
        ("SVM2 slack", 2, slack, 0.5),
        ("SVM2 margin", 2, margin, 0.5),
    ]
    return {name: Formulation(name, p, Cost(s0, s1, power)) for name, p, (s0, s1), power in table}


FORMULATIONS = _seven()
"""The seven formulations by name, in the order of the papers.

SVM0 has hard margins, SVM1 linear and SVM2 squared slack. A name alone asks for a margin of 1 wherever
Delta > 0; `slack` divides the slack by the loss, `margin` asks for a margin of the size of the loss.
"""
