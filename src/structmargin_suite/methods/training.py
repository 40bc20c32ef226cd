"""Training what a method says, and choosing options on the way.

A method may choose one or several options by a measure on the validation set, or on examples held out of the
training set (inner_...): every combination is trained, and the best is trained again, from scratch, on the
whole training set, so that what is recorded of a fit does not depend on the others. With `path` the values of
C are tried in the order given, each training from the cuts of the one before.

Where one value is chosen for several runs (`over`), each run has its value, and training only measures it on
the examples held out: which ones does not depend on the value. Tabulating then chooses.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin_suite.datasets import Examples, Split
from structmargin_suite.methods.choice import LOSS, Choice, Value
from structmargin_suite.methods.kinds import Model, Trained
from structmargin_suite.methods.method import Method

HELD_OUT = 4
"""One training example in this many is held out to choose by, where the data set does not say which."""

Score = Callable[[Any, Any], Mapping[str, float]]
"""(Y, yhat) -> measures by name."""
Predict = Callable[[Model, Any], Any]
"""(model, X) -> yhat."""


def train(
    method: Method,
    split: Split,
    seed: int,
    score: Score,
    predict: Predict = lambda model, X: model.predict(X),
    holding_out: int = 0,
) -> Trained:
    """Train a method on split.train.

    Parameters
    ----------
    method : Method
        With the options of one run set.
    split : Split
        What the run sees of the data.
    seed : int
        For everything random in training and in holding out.
    holding_out : int
        The seed of holding out where one value is chosen for several runs: the same for all of them.
    score, predict : callable
        The data set's own measures, and its own way to predict.

    Returns
    -------
    Trained
        The model, its numbers, and what was chosen.
    """
    choice = method.choice
    if choice is None or not (choice.in_training or choice.within_training_set):
        return _fit(method, split, seed)
    if choice.within_training_set:
        if choice.in_training and choice.single:  # nothing to choose
            return _fit(_with(method, choice, choice.single), split, seed)
        inner = _inner(split, seed if choice.in_training else holding_out)
    else:
        inner = split
    if inner.validation is None:
        raise ValueError(
            f"choose: by {choice.by} needs a validation set, but this data set's view gives none"
        )
    by = choice.measure_name(split.problem)
    validation, measure = inner.validation, by.partition("_")[2]

    def judge(model: Any) -> float:
        if measure == LOSS:
            return -float(model.score(*validation))
        return float(score(validation.Y, predict(model, validation.X))[measure])

    if not choice.in_training:
        trained = _fit(method, split, seed)
        trained.held_out = {by: judge(_fit(method, inner, seed).model)}
        return trained
    measured, on_split = _tried(method, choice, inner, seed, judge)
    best = choice.best(measured)
    if inner is split and best in on_split:  # trained from scratch on the whole training set already
        final = on_split[best]
    else:
        final = _fit(_with(method, choice, best), split, seed)
    final.chosen = _record(choice, by, best, measured)
    return final


def _tried(
    method: Method, choice: Choice, split: Split, seed: int, judge: Callable[[Model], float]
) -> tuple[dict[tuple[Value, ...], float], dict[tuple[Value, ...], Trained]]:
    """(the measure of every combination, the best training of those that began from scratch)."""
    measured: dict[tuple[Value, ...], float] = {}
    best: dict[tuple[Value, ...], Trained] = {}
    former = None
    for values in itertools.product(*choice.candidates.values()):
        trained = _fit(_with(method, choice, values), split, seed, former)
        measured[values] = judge(trained.model)
        if choice.path:
            former = trained.model
        elif min(measured, key=lambda v: choice.sign * measured[v]) == values:
            best = {values: trained}
    return measured, best


def _with(method: Method, choice: Choice, values: tuple[Value, ...]) -> Method:
    """The method with one combination of the values to choose among."""
    return method.with_options(dict(zip(choice.candidates, values, strict=True)))


def _record(
    choice: Choice, by: str, best: tuple[Value, ...], measured: Mapping[tuple[Value, ...], float]
) -> dict[str, object]:
    """What a run's record says of its choice."""
    record: dict[str, object] = {
        "option": choice.option, "value": best[0], by: [[*values, measured[values]] for values in measured],
    }  # fmt: skip
    if choice.others:
        record["with"] = dict(zip(choice.others, best[1:], strict=True))
    return record


def _inner(split: Split, seed: int) -> Split:
    """The training set alone, split in two: some examples to choose by, the rest to train on.

    The view may say which examples are held out; otherwise a quarter is drawn by the seed.
    """
    order = np.random.default_rng(seed).permutation(len(split.train.Y))
    held = order[: max(1, len(order) // HELD_OUT)] if split.held is None else np.asarray(split.held)
    rest = np.setdiff1d(order, held)
    to_choose_by, to_train_on = (
        Examples(*(_taken(sequence, which) for sequence in split.train)) for which in (np.sort(held), rest)
    )
    return Split(to_train_on, to_choose_by, to_choose_by, split.problem)


def _taken(sequence: Any, which: np.ndarray) -> Any:
    """Some of the inputs or outputs, in the form they have: rows of a matrix, or items of a list."""
    array = sp.issparse(sequence) or isinstance(sequence, np.ndarray)
    return sequence[which] if array else [sequence[i] for i in which]


def _fit(method: Method, split: Split, seed: int, former: Any = None) -> Trained:
    """Train a method without choosing, noting its warnings; see `Kind.fit`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        path = method.choice is not None and method.choice.path
        trained = method.kind.fit(split, seed, former, reusable=path)
    ours = [w for w in caught if not issubclass(w.category, (DeprecationWarning, PendingDeprecationWarning))]
    trained.warnings = list(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in ours))
    return trained
