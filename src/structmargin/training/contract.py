"""What an exact search promises, held against outputs that are known otherwise.

No finite check proves that a search maximises H. But a certificate rests on it, so it is tried with what is
at hand, and a search that fails is named with its example instead of being certified:

  * cuts already held for an example (`require_no_better_cut`), after every search;
  * the problem's own predictions, at the end: argmax has f(x, yhat) >= f(x, y), hence H(yhat) >= t(Delta),
    so that C times the mean loss of the training predictions (of its p-th root to the power of p) never
    exceeds the price of the slacks;
  * at the end also, for a few examples, what the search itself returns under w / 2 and 2 w (an answer to a
    loss that counts twice or half), the best output under random weights, and a random one where the problem
    can draw it (`draw`);
  * where the search is written in Python, also what it returns under w plus noise, for all examples if the
    training is not tiny: a search that misses the best output of a few examples at w may find it near by.

Outputs without a loss are left alone: a problem may keep them out of its search as equally right.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from structmargin.cuts import Cuts, SearchError
from structmargin.problem import Scorer
from structmargin.scorer import picked
from structmargin.training.separation import Separation

ROUNDING = 1e-6
"""By what share of the largest loss or slack a search may fall short through rounding."""
N_EXAMPLES = 10
"""So many examples are tried with other outputs: the cost of some dozen searches."""
FACTORS = (0.5, 2.0)
"""By these factors the scores are multiplied for the answers of the search to another weight of the loss."""
NOISE = 0.25
"""Standard deviation of the noise on a weight, as a share of the mean size of the weights."""
N_NOISY = 500
"""So many searches under noisy weights at most, and at most half as many as the training made."""
N_PREDICTIONS = 200
"""So many wrong predictions are looked at, to see that each beats the truth."""
N_SCORED = 20
"""So many of them are scored by Psi even where the batch makes rows, to see that these agree with Psi."""
N_RANDOM = 65_537
"""So many different random weights are drawn at most, and repeated: a prime number, so that the weights of
one feature are not those of another. To draw millions would take longer than to search with them."""
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
    separation: Separation, f: Scorer, model: Any, H: np.ndarray, seed: int, oracle_tol: float = 0.0
) -> None:
    """Hold the answers for all examples at f against predictions and other outputs; raise SearchError.

    H (n,) is what the search returned for each example; `model` is the same scorer as f. Explicit weights
    of the model, an array of its own, are room for others here, and f's again in the end: new memory for
    millions of weights costs more than the searches.
    """
    H = np.maximum(H, 0.0)
    largest = max(float(H.max(initial=0.0)), separation.largest_b)
    allowed = tolerance(largest, oracle_tol)
    _against_predictions(separation, f, H, allowed)
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(separation.n)[:N_EXAMPLES])
    inputs = {i: separation.X[i] for i in map(int, chosen)}  # a row of a sparse matrix is dear
    drawn = list(_drawn(separation, inputs, model, rng))
    for factor in FACTORS:
        scaled = model
        if f.w is None:
            scaled = model.times(factor)
        else:
            np.multiply(f.w, factor, out=model.w)
        answers = separation.answers(scaled, chosen)
        margin = (answers.b - answers.H) / np.where(answers.scale > 0.0, factor * answers.scale, 1.0)
        _hold(separation, answers, margin, H, allowed, f"{factor:g} w")
    if f.w is not None:
        _under_noise(separation, f, model, H, allowed, rng)
        model.w[:] = f.w
    of_truth = {i: f(x, separation.Y[i]) for i, x in inputs.items()}
    for i, ybar, origin in drawn:
        loss = separation.loss(i, ybar)
        if loss > 0.0:
            value = float(separation.H(loss, of_truth[i] - f(inputs[i], ybar)))
            if value - H[i] > allowed:
                raise SearchError(_beaten(i, H[i], f"{origin} has H = {value:.6g}"))


def _hold(
    separation: Separation, answers: Cuts, margin: np.ndarray, H: np.ndarray, allowed: float, weights: str
) -> None:
    """Hold the answers under w against those under other weights, whose margins under w are given."""
    values = np.where(answers.losses > 0.0, separation.H(answers.losses, margin), 0.0)
    short = values - H[answers.example]
    if len(short) and short.max() > allowed:
        worst = int(np.argmax(short))
        i = int(answers.example[worst])
        raise SearchError(_beaten(i, H[i], f"its answer under {weights} has H = {values[worst]:.6g} under w"))


def _under_noise(
    separation: Separation, f: Scorer, model: Any, H: np.ndarray, allowed: float, rng: np.random.Generator
) -> None:
    """Hold the answers of a search in Python against its answers under w plus noise."""
    assert f.w is not None
    left = min(N_NOISY, separation.calls // 2) if separation.one_by_one else 0
    while left > 0:
        chosen = np.sort(rng.permutation(separation.n)[:left])
        model.w[:] = f.w + NOISE * np.mean(np.abs(f.w)) * rng.standard_normal(len(f.w))
        answers = separation.answers(model, chosen)
        assert answers.rows is not None  # a search in Python makes them
        _hold(separation, answers, answers.rows @ f.w, H, allowed, "w plus noise")
        left -= len(chosen)


def _against_predictions(separation: Separation, f: Scorer, H: np.ndarray, allowed: float) -> None:
    """Hold the answers against wrong predictions, first those that come nearest to beating them.

    Where the batch makes rows, the first N_SCORED are scored by Psi and by rows, and others by Psi only if
    their rows say that an answer or a prediction is wrong.
    """
    yhat = separation.predictions(f)
    losses = separation.losses(yhat)
    wrong = np.flatnonzero(losses > 0.0)
    short = np.asarray(separation.H.t(losses[wrong])) - H[wrong]
    chosen = wrong[np.argsort(-short, kind="stable")][:N_PREDICTIONS]
    by_rows = separation.margins(f, chosen, picked(yhat, chosen))
    doubtful = np.ones(len(chosen), dtype=bool)
    if by_rows is not None:
        doubtful = (by_rows > 0.0) | (separation.H(losses[chosen], by_rows) - H[chosen] > allowed)
        doubtful[:N_SCORED] = True
    for place in np.flatnonzero(doubtful):
        i = int(chosen[place])
        scores = require_winner(separation, f, i, yhat[i])
        if by_rows is not None and abs(by_rows[place] - scores.margin) > scores.rounding + allowed:
            raise SearchError(
                f"the prediction for example {i} has a margin of {scores.margin:.6g} by psi, but of "
                f"{by_rows[place]:.6g} by the rows of the batch, which must be Psi(x, y) - Psi(x, ybar)"
            )
        value = float(separation.H(losses[i], scores.margin))
        if value - H[i] > allowed:
            prediction = f"its prediction, with a loss of {losses[i]:.6g}, has H = {value:.6g}"
            raise SearchError(_beaten(i, H[i], prediction))


class Scores(NamedTuple):
    """What a truth and a prediction score."""

    of_truth: float
    of_prediction: float

    @property
    def margin(self) -> float:
        return self.of_truth - self.of_prediction

    @property
    def rounding(self) -> float:
        """By how much rounding may change the margin."""
        return ROUNDING * (abs(self.of_truth) + abs(self.of_prediction))


def require_winner(separation: Separation, f: Scorer, i: int, yhat: Any) -> Scores:
    """A prediction for example i must score at least what the truth does; returns what both score.

    Only where the truth is in reach of `argmax`: else anything goes.
    """
    x = separation.X[i]
    scores = Scores(f(x, separation.Y[i]), f(x, yhat))
    if separation.problem.reaches_truth and scores.margin > scores.rounding:
        raise SearchError(
            f"the prediction for example {i} scores {scores.of_prediction:.6g}, but its truth scores "
            f"{scores.of_truth:.6g}: argmax does not maximise f (if it does not look at every truth, set "
            "`reaches_truth = False` on the problem)"
        )
    return scores


def _beaten(i: int, H: float, better: str) -> str:
    return f"the search for example {i} returned H = {H:.6g}, but {better}: {REMEDY}"


def _drawn(
    separation: Separation, inputs: dict[int, Any], model: Any, rng: np.random.Generator
) -> Iterator[tuple[int, Any, str]]:
    """(example, output, where it is from) for some examples; the model's weights are replaced by others."""
    problem, Y = separation.problem, separation.Y
    if model.w is not None:
        some = rng.uniform(-1.0, 1.0, size=min(N_RANDOM, len(model.w)))
        for lo in range(0, len(model.w), N_RANDOM):
            part = model.w[lo : lo + N_RANDOM]
            part[:] = some[: len(part)]
        for i, x in inputs.items():
            yield i, problem.argmax(model, x), "the best output under random weights"
    if problem.draw is not None:
        for i, x in inputs.items():
            yield i, problem.draw(x, Y[i], rng), "a random output"
