"""Problems that break their contract, each in one way: what a user may get wrong.

All are `ToyChain` with three labels and one function replaced. `DETECTED` are those that every solver with a
certificate must refuse with an error that names an example, or certify truly: where the wrong search happens
to return the right answers. `UNDETECTED` are those that no check from outside can tell from a problem with
fewer outputs or another loss; `docs/guide.md` says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from helpers.toy_chain import ToyChain as TwoLabels
from structmargin.problem import best_of, top_of


@dataclass(frozen=True)
class ToyChain(TwoLabels):
    """With three labels, right in everything."""

    n_labels: int = 3


@dataclass(frozen=True)
class Truth(ToyChain):
    """The search returns the truth."""

    def augmented_argmax(self, f, x, y, H):
        return y


@dataclass(frozen=True)
class LossSubtracted(ToyChain):
    """The search subtracts the loss from the scores."""

    def augmented_argmax(self, f, x, y, H):
        return max(self.outputs(x), key=lambda z: f(x, z) - self.delta(y, z))


@dataclass(frozen=True)
class LossIgnored(ToyChain):
    """The search is the prediction: it adds no loss."""

    def augmented_argmax(self, f, x, y, H):
        return top_of(f, x, self.outputs(x))


@dataclass(frozen=True)
class LossDoubled(ToyChain):
    """The search counts each wrong label twice."""

    def augmented_argmax(self, f, x, y, H):
        return max(self.outputs(x), key=lambda z: H(2.0 * self.delta(y, z), f(x, y) - f(x, z)))


@dataclass(frozen=True)
class LossHalved(ToyChain):
    """The search counts each wrong label by half."""

    def augmented_argmax(self, f, x, y, H):
        return max(self.outputs(x), key=lambda z: H(0.5 * self.delta(y, z), f(x, y) - f(x, z)))


@dataclass(frozen=True)
class MeanInDelta(ToyChain):
    """delta is a mean over the labels, the search sums."""

    def delta(self, y, ybar):
        return super().delta(y, ybar) / len(y)

    def augmented_argmax(self, f, x, y, H):
        return max(self.outputs(x), key=lambda z: H(ToyChain.delta(self, y, z), f(x, y) - f(x, z)))


@dataclass(frozen=True)
class Smallest(ToyChain):
    """The search minimises H."""

    def augmented_argmax(self, f, x, y, H):
        return min(self.outputs(x), key=lambda z: H(self.delta(y, z), f(x, y) - f(x, z)))


@dataclass(frozen=True)
class MinusW(ToyChain):
    """The search has the sign of the scores wrong."""

    def augmented_argmax(self, f, x, y, H):
        return max(self.outputs(x), key=lambda z: H(self.delta(y, z), f(x, z) - f(x, y)))


@dataclass(frozen=True)
class First(ToyChain):
    """The search returns the first output of all, whatever the scores."""

    def augmented_argmax(self, f, x, y, H):
        return self.outputs(x)[0]


@dataclass(frozen=True)
class AllWrong(ToyChain):
    """The search returns the output with the largest loss, whatever the scores."""

    def augmented_argmax(self, f, x, y, H):
        return max(self.outputs(x), key=lambda z: self.delta(y, z))


@dataclass(frozen=True)
class SecondBest(ToyChain):
    """The search returns the second best output."""

    def augmented_argmax(self, f, x, y, H):
        return sorted(self.outputs(x), key=lambda z: H(self.delta(y, z), f(x, y) - f(x, z)))[-2]


@dataclass(frozen=True)
class Greedy(ToyChain):
    """The search fixes one label after another, without looking ahead."""

    def augmented_argmax(self, f, x, y, H):
        z: tuple[int, ...] = ()
        for t in range(len(x)):
            z = max(((*z, k) for k in range(self.n_labels)), key=lambda p: f(x[: t + 1], p))
        return z


@dataclass(frozen=True)
class OneLabelAway(ToyChain):
    """The search looks only at outputs with at most one wrong label."""

    def augmented_argmax(self, f, x, y, H):
        return best_of(self, f, x, y, H, [z for z in self.outputs(x) if ToyChain.delta(self, y, z) <= 1])


class Stale(ToyChain):
    """The search works with the scores of the call before."""

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "w", None)

    def augmented_argmax(self, f, x, y, H):
        w = self.w if self.w is not None else f.w
        object.__setattr__(self, "w", np.array(f.w))
        return max(
            self.outputs(x), key=lambda z: H(self.delta(y, z), float(w @ (self.psi(x, y) - self.psi(x, z))))
        )


@dataclass(frozen=True)
class OtherFeatures(ToyChain):
    """The search leaves out the transitions, which psi has."""

    def augmented_argmax(self, f, x, y, H):
        k = self.n_features * self.n_labels

        def score(z):
            return float(self.psi(x, z)[:k] @ f.w[:k])

        return max(self.outputs(x), key=lambda z: H(self.delta(y, z), score(y) - score(z)))


@dataclass(frozen=True)
class ForgetsTruth(ToyChain):
    """The search of slack re-scaling adds the loss to the scores, as only margin re-scaling may."""

    def augmented_argmax(self, f, x, y, H):
        return max(self.outputs(x), key=lambda z: 10.0 * self.delta(y, z) + f(x, z))


@dataclass(frozen=True)
class NegativeLoss(ToyChain):
    """A loss below 0."""

    def delta(self, y, ybar):
        return -super().delta(y, ybar)


@dataclass(frozen=True)
class NanLoss(ToyChain):
    """A loss that is no number."""

    def delta(self, y, ybar):
        return super().delta(y, ybar) if y == ybar else float("nan")


@dataclass(frozen=True)
class InfiniteLoss(ToyChain):
    """An infinite loss."""

    def delta(self, y, ybar):
        return 0.0 if y == ybar else float("inf")


@dataclass(frozen=True)
class LossAtTruth(ToyChain):
    """A loss of the truth itself."""

    def delta(self, y, ybar):
        return 1.0 + super().delta(y, ybar)


@dataclass(frozen=True)
class NanFeatures(ToyChain):
    """Features that are no numbers, away from the truth."""

    def psi(self, x, y):
        return super().psi(x, y) * (np.nan if y[0] == 1 else 1.0)


@dataclass(frozen=True)
class WorstPrediction(ToyChain):
    """The prediction minimises the scores; the search is right."""

    def argmax(self, f, x):
        return min(self.outputs(x), key=lambda z: f(x, z))


@dataclass(frozen=True)
class ConstantPrediction(ToyChain):
    """The prediction does not look at the scores; the search is right."""

    def argmax(self, f, x):
        return self.outputs(x)[-1]


@dataclass(frozen=True)
class MissesLabel(ToyChain):
    """Search and prediction both never use the last label, though it occurs in the truths."""

    def outputs(self, x):
        return list(product(range(self.n_labels - 1), repeat=len(x)))


@dataclass(frozen=True)
class MissesUnseenLabel(ToyChain):
    """Search and prediction both never use a fourth label, which no truth has either."""

    n_labels: int = 4

    def outputs(self, x):
        return list(product(range(3), repeat=len(x)))


@dataclass(frozen=True)
class LossOverlooks(ToyChain):
    """A loss that overlooks every mistake at the first label; the search agrees with it."""

    def delta(self, y, ybar):
        return super().delta(y[1:], ybar[1:])


DETECTED: tuple[Callable[[], Any], ...] = (
    Truth, LossSubtracted, LossIgnored, LossDoubled, LossHalved, MeanInDelta, Smallest, MinusW, First,
    AllWrong, SecondBest, Greedy, OneLabelAway, Stale, OtherFeatures, ForgetsTruth, NegativeLoss, NanLoss,
    InfiniteLoss, LossAtTruth, NanFeatures, WorstPrediction, ConstantPrediction, MissesLabel,
)  # fmt: skip
UNDETECTED: tuple[Callable[[], Any], ...] = (MissesUnseenLabel, LossOverlooks)
