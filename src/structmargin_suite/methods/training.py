"""Training what a method says, and choosing options on the way.

A method may choose one or several options by a measure on the validation set, or on examples held out of the
training set (inner_...): every combination is trained, and the best is trained again, from scratch, on the
whole training set, so that what is recorded of a fit does not depend on the others. With `path` the values of
C are tried in the order given, each training from the one before. Where nothing can be held out, as of a
topic with a single example, the values in the middle of their lists are taken.

Where one value is chosen for several runs (`over`), each run has its value, and training only measures it on
the examples held out: which ones does not depend on the value. Tabulating then chooses.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from structmargin_suite.datasets import Split
from structmargin_suite.methods import held_out
from structmargin_suite.methods.choice import CHOICE_KEY, LOSS, Choice, Value
from structmargin_suite.methods.kinds import Model, Trained
from structmargin_suite.methods.method import Method

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
        The seed of holding out where one value is chosen for several runs, the same for all of them, and of
        trainings on parts of the training set that the data set gives.
    score, predict : callable
        The data set's own measures, and its own way to predict.

    Returns
    -------
    Trained
        The model, its numbers, and what was chosen.
    """
    choice = method.choice
    if choice is None or not choice.trains_apart:
        return _fit(method, split, seed)
    if not choice.within_training_set:
        return _by_validation(method, choice, split, seed, _Judge(choice, split, score, predict))
    if choice.in_training and choice.single:  # nothing to choose
        return _fit(_with(method, choice, choice.single), split, seed)
    judge = _Judge(choice, split, score, predict)
    inner_seed = holding_out if split.held is not None or choice.between_runs else seed
    measured = _over_folds(
        method, choice, held_out.parts(split, choice, inner_seed), judge,
        holding_out if split.held is not None else seed,
    )  # fmt: skip
    best = choice.best(measured) if measured else choice.middle(_open(method, choice))
    final = _fit(_with(method, choice, best), split, seed)
    if choice.between_runs and measured:
        final.held_out = {judge.by: measured[best]}
    if choice.in_training or choice.others:
        final.chosen = _record(choice, judge.by, best, measured)
    return final


class _Judge:
    """Measures a model on the examples to choose by; `by` is the measure that counts, with its prefix."""

    def __init__(self, choice: Choice, split: Split, score: Score, predict: Predict) -> None:
        self.by = choice.measure_name(split.problem)
        self.measure = self.by.partition("_")[2]
        self.score, self.predict = score, predict

    def __call__(self, model: Any, split: Split) -> Mapping[str, float]:
        if split.validation is None:
            raise ValueError(
                f"choose: by {self.by} needs a validation set, but this data set's view gives none"
            )
        X, Y = split.validation
        if self.measure == LOSS:
            return {LOSS: -float(model.score(X, Y))}
        return {name: float(value) for name, value in self.score(Y, self.predict(model, X)).items()}


def _by_validation(method: Method, choice: Choice, split: Split, seed: int, judge: _Judge) -> Trained:
    """Train every combination, choose by the validation set, and return the best as trained from scratch."""
    measured: dict[tuple[Value, ...], float] = {}
    kept: dict[tuple[Value, ...], Trained] = {}
    for path in _paths(choice, choice.combinations):
        for values, trained in _along(method, choice, path, split, seed):
            measured[values] = judge(trained.model, split)[judge.measure]
            if not choice.path and min(measured, key=lambda v: choice.sign * measured[v]) == values:
                kept = {values: trained}
    measured = {values: measured[values] for values in choice.combinations}
    best = choice.best(measured)
    final = kept[best] if best in kept else _fit(_with(method, choice, best), split, seed)
    final.chosen = _record(choice, judge.by, best, measured)
    return final


def _over_folds(
    method: Method, choice: Choice, parts: Sequence[held_out.Part], judge: _Judge, seed: int
) -> dict[tuple[Value, ...], float]:
    """The mean measure over the folds of every combination that is open; none where there is no fold."""
    tried = _open(method, choice)
    along = choice.combinations if choice.path and set(tried) <= set(choice.combinations) else tried
    found: dict[tuple[Value, ...], list[float]] = {values: [] for values in tried}
    for part in parts:
        for path in _paths(choice, along):
            scores = _measured(method, choice, path, part, judge, seed)
            for values, of_values in zip(path, scores, strict=True):
                if values in found:
                    found[values].append(of_values[judge.measure])
    return {values: float(np.mean(measures)) for values, measures in found.items() if measures}


def _open(method: Method, choice: Choice) -> list[tuple[Value, ...]]:
    """The combinations among which a training chooses: those with its own value where that is given."""
    if choice.in_training:
        return choice.combinations
    own: Value = method.option(choice.option)
    return list(itertools.product((own,), *choice.others.values()))


def _paths(choice: Choice, combinations: Sequence[tuple[Value, ...]]) -> list[list[tuple[Value, ...]]]:
    """The combinations in the order in which they are tried: those that one path runs along together."""
    if not choice.path:
        return [[values] for values in combinations]
    paths: dict[tuple[Value, ...], list[tuple[Value, ...]]] = {}
    for values in combinations:
        paths.setdefault(values[1:], []).append(values)
    return list(paths.values())


def _along(
    method: Method, choice: Choice, path: Sequence[tuple[Value, ...]], split: Split, seed: int
) -> Iterator[tuple[tuple[Value, ...], Trained]]:
    """Every combination of a path, trained from the one before it."""
    former = None
    for values in path:
        trained = _fit(_with(method, choice, values), split, seed, former)
        former = trained.model
        yield values, trained


def _measured(
    method: Method, choice: Choice, path: Sequence[tuple[Value, ...]], part: held_out.Part, judge: _Judge,
    seed: int,
) -> list[Mapping[str, float]]:  # fmt: skip
    """The measures of every combination of a path on what a part holds out.

    They are remembered where the data set says which rows are held out: they then depend on nothing else.
    """

    def compute() -> list[Mapping[str, float]]:
        tried = _along(method, choice, path, part.split, seed)
        return [judge(trained.model, part.split) for _, trained in tried]

    if not part.key:
        return compute()
    settings = {key: value for key, value in method.settings.items() if key != CHOICE_KEY}
    for option in choice.candidates:
        settings.pop(option, None)
    problem = part.whole.problem if method.baseline is None else None  # a baseline does not see it
    asked = settings, path, tuple(choice.candidates), judge.measure == LOSS, seed, problem, part.key
    return held_out.remembered(repr(asked), compute)


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


def _fit(method: Method, split: Split, seed: int, former: Any = None) -> Trained:
    """Train a method without choosing, noting its warnings; see `Kind.fit`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        path = method.choice is not None and method.choice.path
        trained = method.kind.fit(split, seed, former, reusable=path)
    ours = [w for w in caught if not issubclass(w.category, (DeprecationWarning, PendingDeprecationWarning))]
    trained.warnings = list(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in ours))
    return trained
