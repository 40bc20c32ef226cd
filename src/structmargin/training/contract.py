"""What an exact search promises, held against outputs that are known otherwise.

No finite check proves that a search maximises H. But a certificate rests on it, so it is tried with what is
at hand, and a search that fails is named with its example instead of being certified:

  * cuts already held for an example (`require_no_better_cut`), after every search;
  * the problem's own predictions, at the end: argmax has f(x, yhat) >= f(x, y), hence H(yhat) >= t(Delta),
    so that C times the mean loss of the training predictions (of its p-th root to the power of p) never
    exceeds the price of the slacks;
  * at the end also outputs that are drawn: the best ones under random weights, and random ones where the
    problem can draw them (`draw`).

Outputs without a loss are left alone: a problem may keep them out of its search as equally right.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from structmargin.cuts import Cuts, SearchError
from structmargin.problem import Scorer
from structmargin.scorer import LinearScorer
from structmargin.training.separation import Separation

ROUNDING = 1e-6
"""By what share of the largest loss or slack a search may fall short through rounding."""
N_EXAMPLES = 20
"""So many examples are tried with drawn outputs: the cost of a few searches."""
N_PREDICTIONS = 200
"""So many wrong predictions are scored, to see that each beats the truth."""
REMEDY = (
    "augmented_argmax does not maximise H, or delta and psi disagree with it; if the search is approximate, "
    "set `exact = False` on the problem; if it rounds, give oracle_tol"
)


def tolerance(largest: float, oracle_tol: float) -> float:
    """How far below the maximum an answer may lie; `largest` is the largest loss or slack there is."""
    return ROUNDING * largest + oracle_tol


def require_no_better_cut(
    separation: Separation, violators: Cuts, held: np.ndarray, oracle_tol: float = 0.0
) -> None:
    """An exact search must return at least the H of every cut already held for its example.

    `held` has, for each violator, the largest H of the cuts held for its example, or 0.
    """
    best = np.maximum(violators.H, 0.0)
    if len(violators.H) > 1:  # an example may have several violators: only its best one counts
        _, place = np.unique(violators.example, return_inverse=True)
        of_example = np.zeros(len(best))
        np.maximum.at(of_example, place, best)
        best = of_example[place]
    short = held - best
    worst = int(np.argmax(short))
    largest = max(separation.largest_b, float(held.max()))
    if short[worst] > tolerance(largest, oracle_tol):
        i = int(violators.example[worst])
        raise SearchError(
            _beaten(i, float(best[worst]), f"an output found earlier has H = {held[worst]:.6g}")
        )


def require_best_answers(
    separation: Separation, f: Scorer, violators: Cuts, seed: int, oracle_tol: float = 0.0
) -> None:
    """Hold the answers for all examples at f against predictions and drawn outputs; raise SearchError."""
    H = np.maximum(violators.largest_H(separation.n), 0.0)
    largest = max(float(H.max(initial=0.0)), separation.largest_b)
    allowed = tolerance(largest, oracle_tol)
    _against_predictions(separation, f, H, allowed)
    for i, ybar, origin in _drawn(separation, seed):
        loss = separation.loss(i, ybar)
        if loss > 0.0:
            value = float(separation.H(loss, f(separation.X[i], separation.Y[i]) - f(separation.X[i], ybar)))
            if value - H[i] > allowed:
                raise SearchError(_beaten(i, float(H[i]), f"{origin} has H = {value:.6g}"))


def _against_predictions(separation: Separation, f: Scorer, H: np.ndarray, allowed: float) -> None:
    yhat = separation.predictions(f)
    losses = separation.losses(yhat)
    wrong = np.flatnonzero(losses > 0.0)
    short = np.asarray(separation.H.t(losses[wrong])) - H[wrong]
    order = wrong[np.argsort(-short, kind="stable")][:N_PREDICTIONS]
    for i in order:
        x, y = separation.X[i], separation.Y[i]
        of_truth, of_prediction = f(x, y), f(x, yhat[i])
        if of_truth - of_prediction > ROUNDING * (abs(of_truth) + abs(of_prediction)):
            raise SearchError(
                f"the prediction for example {i} scores {of_prediction:.6g}, but its truth scores "
                f"{of_truth:.6g}: argmax does not maximise f"
            )
        value = float(separation.H(losses[i], of_truth - of_prediction))
        if value - H[i] > allowed:
            raise SearchError(
                _beaten(
                    int(i), float(H[i]), f"its prediction, with a loss of {losses[i]:.6g}, has {value:.6g}"
                )
            )


def _beaten(i: int, H: float, better: str) -> str:
    return f"the search for example {i} returned H = {H:.6g}, but {better}: {REMEDY}"


def _drawn(separation: Separation, seed: int) -> Iterator[tuple[int, Any, str]]:
    """(example, output, where it is from) for a few examples."""
    rng = np.random.default_rng(seed)
    problem, X, Y = separation.problem, separation.X, separation.Y
    chosen = [int(i) for i in rng.permutation(separation.n)[:N_EXAMPLES]]
    if separation.explicit:
        random = LinearScorer(problem, rng.normal(size=problem.n_weights(X, Y)))
        for i in chosen:
            yield i, problem.argmax(random, X[i]), "the best output under random weights"
    if problem.draw is not None:
        for i in chosen:
            yield i, problem.draw(X[i], Y[i], rng), "a random output"
