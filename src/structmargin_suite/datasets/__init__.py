"""Data sets: fetched and verified, or synthesized from a seed. One module each, all of one shape.

    FILES                             what it needs of the world: a tuple of `Remote`, often empty
    PREPARE, VIEW                     the parameters of the functions below, as JSON schemas by name
    parse(files, seed, **prepare)     files, by the names in FILES, to named arrays
    synthesize(seed, **prepare)       the same arrays, or a stand-in of the same shape, from a seed
    view(arrays, seed, **view)        arrays to a `Split`: what one run trains on and is judged on
    score(Y, Yhat)                    the paper's measures over one part of a split, by name
    predict(model, X)                 optional: what is scored, where that is not `model.predict(X)`
    keep(Y, Yhat)                     optional: arrays of the test part that figures need beside the measures

`parse` and `synthesize` run once for each part of a corpus, and what they return is stored; `view` is
cheap and runs in every job (subsets, folds, label noise). A parameter named `repetition` tells
repetitions apart; seeds already do. Arrays hold numbers or text, never objects: nothing is pickled.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, NamedTuple


class Examples(NamedTuple):
    """Inputs and outputs, two sequences of one length."""

    X: Any
    Y: Any


@dataclass(frozen=True)
class Split:
    """What a run sees: examples to train on, to test on, perhaps to choose by.

    `problem` holds parameters of the problem that only the data know (n_features, say); a config may
    override them. `held` are the training examples to choose by, where a method chooses on the training
    part; a quarter at random unless given.
    """

    train: Examples
    test: Examples
    validation: Examples | None = None
    problem: dict[str, Any] = field(default_factory=dict)
    held: Any = None


def predictor(module: Any) -> Callable[[Any, Any], Any]:
    """A data set's own way to predict, or else the model's."""
    own: Callable[[Any, Any], Any] | None = getattr(module, "predict", None)
    return _plainly if own is None else own


def _plainly(model: Any, X: Any) -> Any:
    return model.predict(X)


def dataset(name: str) -> ModuleType:
    """The module of a data set."""
    return importlib.import_module(f"{__name__}.{name}")
