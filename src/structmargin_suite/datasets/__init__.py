"""Data sets: fetched and verified, or synthesized from a seed. One module each, all of one shape.

`DataSetModule` is what a module of this folder must define; `DataSet` is what the stages work with: the same,
with the optional members filled in. `dataset(name)` makes the one from the other, and is the only place that
knows the defaults.

`parse` and `synthesize` run once for each part of a corpus, and what they return is stored; `view` is
cheap and runs in every job (subsets, folds, label noise). A parameter named `repetition` may be ignored:
repetitions already have different seeds. Arrays hold numbers or text, never objects: nothing is pickled.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, Protocol, cast

import numpy as np

from structmargin_suite.fetching.fetch import Remote
from structmargin_suite.fetching.originals import NOWHERE, Home

Schemas = Mapping[str, Mapping[str, object]]
"""Parameters by name, each with the JSON schema of its values."""


class Examples(NamedTuple):
    """Inputs and outputs, two sequences of one length: lists, or arrays and sparse matrices by their rows."""

    X: Any
    Y: Any


@dataclass(frozen=True)
class Split:
    """The examples of one run.

    Attributes
    ----------
    train : Examples
        The examples to train on.
    test : Examples
        The examples to test on.
    validation : Examples or None
        Examples to choose options by, if the data set has some for that.
    problem : dict
        Parameters of the problem that only the data know (n_features, for example); a config may override
        them.
    held : tuple of ndarray of int, or None
        The training examples to choose options by, where a method chooses on the training set: several sets
        are held out in turn where it asks for folds, and there may be none that can be held out. None stands
        for parts drawn at random.
    tested : ndarray of int or None
        Which documents, sentences or the like of the whole corpus the test examples are, where test sets of
        several runs share some; None where every run has the same test set.
    beside : mapping of str to callable
        Further test sets by name, each a function that makes it: only evaluation needs them.
    """

    train: Examples
    test: Examples
    validation: Examples | None = None
    problem: dict[str, Any] = field(default_factory=dict)
    held: tuple[np.ndarray, ...] | None = None
    tested: np.ndarray | None = None
    beside: Mapping[str, Callable[[], Examples]] = field(default_factory=dict)


class DataSetModule(Protocol):
    """What a module of this folder must define; `DataSet` says what each member means.

    A module may also define `parse` (it must if it has FILES or `own_folder`), `HOME` (it must if it has
    FILES), `own_folder`, `predict`, `keep` and `refuse`.
    """

    @property
    def FILES(self) -> tuple[Remote, ...]: ...
    @property
    def PREPARE(self) -> Schemas: ...
    @property
    def VIEW(self) -> Schemas: ...
    @property
    def synthesize(self) -> Callable[Concatenate[int, ...], dict[str, np.ndarray]]: ...
    @property
    def view(self) -> Callable[Concatenate[Mapping[str, np.ndarray], int, ...], Split]: ...
    @property
    def score(self) -> Callable[[Any, Any], dict[str, float]]: ...


@dataclass(frozen=True)
class DataSet:
    """A data set with all its members.

    Attributes
    ----------
    FILES : tuple of Remote
        The files that it needs; empty for data that are always synthesized.
    PREPARE : mapping of str to JSON schema
        The parameters of `parse` and `synthesize`.
    VIEW : mapping of str to JSON schema
        The parameters of `view`.
    synthesize : callable
        synthesize(seed, **prepare) returns named arrays: the data themselves, or a stand-in with the arrays
        that `parse` returns.
    view : callable
        view(arrays, seed, **view) returns a `Split`: what one run trains on and is judged on.
    score : callable
        score(Y, Yhat) returns the paper's measures over the examples of one set, by name.
    parse : callable
        parse(files, seed, **prepare) returns named arrays; `files` has a path for each name in FILES, or is
        what `own_folder` returned. By default it raises ValueError: there are no files.
    HOME : Home
        Where the files come from; by default nowhere.
    own_folder : callable or None
        own_folder(folder, **prepare) returns the files that `parse` reads of a user's own folder
        (`source: file`), a path for each name; it raises DataError if some are missing. By default None: a
        folder must hold the files of FILES.
    predict : callable
        predict(model, X) returns what is scored; by default model.predict(X).
    keep : callable
        keep(Y, Yhat) returns arrays of a test set that figures and statements need; by default none. Those of
        a further test set are stored with its name before theirs.
    refuse : callable
        refuse(prepare, view) returns why these parameters do not go together, or None; by default None. It
        may raise KeyError or TypeError where a parameter is missing or of the wrong type.
    columns : tuple of str or None
        What `score` may measure on the parts of a split, as results name it (train_error); None where it is
        not marked (datasets/_measures.py).
    predicts_outputs : bool
        Whether `predict` returns outputs of the problem, whose loss can be taken: true for the default.
    """

    FILES: tuple[Remote, ...]
    PREPARE: Schemas
    VIEW: Schemas
    synthesize: Callable[Concatenate[int, ...], dict[str, np.ndarray]]
    view: Callable[Concatenate[Mapping[str, np.ndarray], int, ...], Split]
    score: Callable[[Any, Any], dict[str, float]]
    parse: Callable[..., dict[str, np.ndarray]]
    HOME: Home
    own_folder: Callable[..., dict[str, Path]] | None
    predict: Callable[[Any, Any], Any]
    keep: Callable[[Any, Any], dict[str, np.ndarray]]
    refuse: Callable[[Mapping[str, Any], Mapping[str, Any]], str | None]
    columns: tuple[str, ...] | None
    predicts_outputs: bool


def dataset(name: str) -> DataSet:
    """The data set that the module of this name defines, with the defaults of what it leaves out."""
    return completed(cast(DataSetModule, importlib.import_module(f"{__name__}.{name}")))


def completed(module: DataSetModule) -> DataSet:
    """A data set from its module: each optional member is the module's own, or its default."""
    members: dict[str, Any] = {
        optional: getattr(module, optional, default) for optional, default in _DEFAULTS.items()
    }
    return DataSet(
        FILES=module.FILES,
        PREPARE=module.PREPARE,
        VIEW=module.VIEW,
        synthesize=module.synthesize,
        view=module.view,
        score=module.score,
        columns=getattr(module.score, "columns", None),
        predicts_outputs=members["predict"] is predictions,
        **members,
    )


def _no_files(files: Mapping[str, Any], seed: int, **prepare: Any) -> dict[str, np.ndarray]:
    raise ValueError("this data set has no files; use source: synthetic")


def predictions(model: Any, X: Any) -> Any:
    """model.predict(X), silent about sentences without a parse: `unparsed` counts them among the measures."""
    from structmargin import NoParseWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoParseWarning)
        return model.predict(X)


def _keep_nothing(Y: Any, Yhat: Any) -> dict[str, np.ndarray]:
    return {}


def _refuse_nothing(prepare: Mapping[str, Any], view: Mapping[str, Any]) -> None:
    return None


_DEFAULTS: dict[str, Callable[..., Any] | Home | None] = {
    "parse": _no_files,
    "HOME": NOWHERE,
    "own_folder": None,
    "predict": predictions,
    "keep": _keep_nothing,
    "refuse": _refuse_nothing,
}
