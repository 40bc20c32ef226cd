"""One topic against the rest, judged as a sample: what the data sets of cacm09 Table 1 share.

Inputs are stored in two subsets, train and test, each with a matrix of topics (n, T): an example may have
several topics, or none. A topic is usable if at least one example of each subset has it; usable topics are
numbered from the most frequent in training to the rarest. `measure` is what a run is trained and judged by.
To choose options by, three folds of the training examples are held out in turn, each a third of those with
the topic and a third of the others; a fold counts if the topic is both inside and outside of it, so that a
topic with two training examples has two folds, and one with a single example none.

    f1          100 F1 of the examples with a score above 0
    prbep       100 precision of the P highest scores, P the number of positive examples; ties count in part
    roc_area    100 share of pairs of a positive and a negative in the right order; a tie counts one half
    error_rate  100 share of examples on the wrong side of 0
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from structmargin_suite.datasets import Examples, Schemas, Split
from structmargin_suite.datasets._measures import measures
from structmargin_suite.datasets._sparse import csr_arrays, csr_of

Inputs: TypeAlias = np.ndarray | sp.csr_matrix
MEASURES = ("f1", "prbep", "roc_area", "error_rate")
VIEW: Schemas = {"topic": {"type": "integer", "minimum": 0}, "measure": {"enum": list(MEASURES)}}
FOLDS = 3
"""The number of parts of the training set that can be held out."""


def subset_arrays(subset: str, X: Inputs, topics: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays of a subset: inputs X (n, d), dense or sparse, and topics (n, T) of 0 and 1."""
    arrays = {f"{subset}_topics": np.asarray(topics, dtype=np.uint8)}
    if not sp.issparse(X):
        return {**arrays, f"{subset}_X": np.asarray(X, dtype=float)}
    return {**arrays, **csr_arrays(X, f"{subset}_", indptr=np.int32)}


def scaled(train: np.ndarray, test: np.ndarray) -> dict[str, np.ndarray]:
    """Both subsets divided by one number, so that the training rows have a mean squared norm of 1."""
    size = np.sqrt(np.mean(np.sum(np.square(train), axis=1)))
    return {"train": train / size, "test": test / size}


def inputs_of(arrays: Mapping[str, np.ndarray], subset: str) -> Inputs:
    """The inputs (n, d) of a subset, from the arrays that `subset_arrays` returned."""
    return arrays[f"{subset}_X"] if f"{subset}_X" in arrays else csr_of(arrays, f"{subset}_")


def usable_topics(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """The columns of the usable topics, the most frequent in training first, the first of equals first."""
    train, test = (arrays[f"{subset}_topics"].sum(axis=0, dtype=np.int64) for subset in ("train", "test"))
    enough = np.flatnonzero((np.minimum(train, test) > 0) & (train < len(arrays["train_topics"])))
    return enough[np.argsort(-train[enough], kind="stable")]


def view(arrays: Mapping[str, np.ndarray], seed: int, *, topic: int = 0, measure: str = "f1") -> Split:
    """Labels +1 for the topic and -1 for the rest, and the folds of the training rows to choose by."""
    topics = usable_topics(arrays)
    if topic >= len(topics):
        raise ValueError(
            f"topic is {topic}, but there are {len(topics)} topics with a row in each subset: choose one"
        )
    y = {p: np.where(arrays[f"{p}_topics"][:, topics[topic]] > 0, 1, -1) for p in ("train", "test")}
    return Split(
        Examples(inputs_of(arrays, "train"), y["train"]),
        Examples(inputs_of(arrays, "test"), y["test"]),
        problem={"measure": measure},
        held=tuple(folds(y["train"], np.random.default_rng([seed, topic]))),
    )


def folds(y: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """The rows of each fold of labels y (n,) that has both labels inside and outside."""
    shuffled = [rng.permutation(np.flatnonzero(y == label)) for label in (1, -1)]
    for k in range(FOLDS):
        parts = [rows[k::FOLDS] for rows in shuffled]
        if all(0 < len(part) < len(rows) for part, rows in zip(parts, shuffled, strict=True)):
            yield np.sort(np.concatenate(parts))


@measures("f1", "prbep", "roc_area", "error_rate")
def score(Y: np.ndarray, Yhat: np.ndarray) -> dict[str, float]:
    """Every measure, in percent, of scores (or labels) Yhat for rows with labels Y of -1 and +1."""
    y, s = np.asarray(Y) > 0, np.asarray(Yhat, dtype=float)
    P, N, called = int(y.sum()), int((~y).sum()), s > 0
    true_positives = int(np.sum(called & y))
    shares = {
        "f1": 2.0 * true_positives / (P + int(called.sum())) if P + called.any() else 1.0,
        "prbep": _precision_of_highest(s, y, P),
        "roc_area": _roc_area(s, y, P, N),
    }
    measures = {name: 100.0 * value for name, value in shares.items()}
    return {**measures, "error_rate": 100.0 * float(np.mean(called != y))}


def _precision_of_highest(s: np.ndarray, y: np.ndarray, k: int) -> float:
    """The share of positives among the k highest scores; of tied scores, each counts its share."""
    if k == 0:
        return 1.0
    last = np.partition(s, len(s) - k)[len(s) - k]
    over, tied = s > last, s == last
    share = (k - over.sum()) / tied.sum()
    return float((np.sum(over & y) + share * np.sum(tied & y)) / k)


def _roc_area(s: np.ndarray, y: np.ndarray, P: int, N: int) -> float:
    """The share of pairs in order, from the positives' mean ranks."""
    if not P or not N:
        return 1.0
    _, place, counts = np.unique(s, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - 0.5 * (counts - 1))[place]
    return float((ranks[y].sum() - 0.5 * P * (P + 1)) / (P * N))
