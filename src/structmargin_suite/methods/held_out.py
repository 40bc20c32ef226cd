"""Parts of the training set held out to choose options by, and the measures of what was tried on them.

What a method reaches on a part depends on the method, the values tried and the rows alone, where the data set
says which rows are held out: runs of one job that differ in how they choose, or in the measure by which a
baseline is chosen, then share these trainings. The last MAX_REMEMBERED paths are remembered.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin_suite.baselines import digest_of_rows
from structmargin_suite.datasets import Examples, Split
from structmargin_suite.methods.choice import Choice

HELD_OUT = 4
"""One training example in this many is held out to choose by, where the data set does not say which and the
choice asks for one fold."""
MAX_REMEMBERED = 4096

Scores = Mapping[str, float]
"""Measures of a model on the examples held out, by name."""
_REMEMBERED: OrderedDict[str, list[Scores]] = OrderedDict()


@dataclass(frozen=True)
class Part:
    """The training set with some of its examples held out.

    `key` is a digest of all its rows and of which are held out, "" where the data set does not say which.
    """

    whole: Split
    held: np.ndarray
    key: str = ""

    @cached_property
    def split(self) -> Split:
        """What is left to train on, and what is held out of it to choose by."""
        rest = np.setdiff1d(np.arange(len(self.whole.train.Y)), self.held)
        to_choose_by, to_train_on = (
            Examples(*(_taken(sequence, which) for sequence in self.whole.train))
            for which in (np.sort(self.held), rest)
        )
        return Split(to_train_on, to_choose_by, to_choose_by, self.whole.problem)


def parts(split: Split, choice: Choice, seed: int) -> list[Part]:
    """The training set with some examples held out, for each fold.

    The view may say which examples are held out; otherwise they are drawn by the seed.
    """
    n = len(split.train.Y)
    if split.held is not None:
        held = list(split.held[: choice.folds])
    else:
        order = np.random.default_rng(seed).permutation(n)
        size = max(1, n // max(choice.folds, HELD_OUT if choice.folds == 1 else 0))
        held = [order[k * size : (k + 1) * size] for k in range(choice.folds)]
    if choice.one_fold_from is not None and rarest(split.train.Y) >= choice.one_fold_from:
        held = held[:1]
    if split.held is None:
        return [Part(split, rows) for rows in held]
    of_all = digest_of_rows(*split.train)
    return [Part(split, rows, of_all + digest_of_rows(rows)) for rows in map(np.asarray, held)]


def rarest(Y: Any) -> int:
    """How many examples have the label that fewest have."""
    labels = np.asarray(Y)
    if labels.ndim != 1:
        raise ValueError(
            "choose: one_fold_from counts examples by label, but these outputs are no labels; remove it"
        )
    return int(np.unique(labels, return_counts=True)[1].min())


def _taken(sequence: Any, which: np.ndarray) -> Any:
    """Some of the inputs or outputs, in the form they have: rows of a matrix, or items of a list."""
    return sequence[which] if _is_array(sequence) else [sequence[i] for i in which]


def _is_array(sequence: Any) -> bool:
    return sp.issparse(sequence) or isinstance(sequence, np.ndarray)


def remembered(key: str, compute: Callable[[], list[Scores]]) -> list[Scores]:
    """What was computed under this key before, or is now."""
    if key not in _REMEMBERED:
        _REMEMBERED[key] = compute()
        while len(_REMEMBERED) > MAX_REMEMBERED:
            _REMEMBERED.popitem(last=False)
    return _REMEMBERED[key]
