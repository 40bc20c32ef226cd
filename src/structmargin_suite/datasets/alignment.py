"""Native strings, their homologs and decoys: the synthetic data of jmlr05 Section 5.3.

Letters are c - 1 for the paper's c = 1 .. 20, and letter c has probability c / 210.
  * The native and every decoy are strings of 50 random letters.
  * An alignment string of 30 operations, each match (.2), substitute (.4), insert (.2) or delete
    (.2), is applied to a random substring of the native, just as long as the operations read.
    A match copies the letter, a substitution turns c into (c mod 20) + 1, an insertion writes a random
    letter, a deletion skips one.
  * What comes out is padded with random letters to 50. The paper does not say where: the padding falls
    on both sides, the split uniform over all that are possible.
  * The homolog stands at a uniformly random place among the candidates, so that a tie does not favour
    it. Its alignment is given as (i, j, ops): match and substitute are both M, insert I, delete D.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from structmargin_suite.datasets import Examples, Schemas, Split
from structmargin_suite.datasets._measures import measures
from structmargin_suite.datasets._pool import refuse
from structmargin_suite.fetching.fetch import Remote

__all__ = ["FILES", "PREPARE", "VIEW", "generate", "random_letters", "refuse", "score", "synthesize", "view"]

FILES: tuple[Remote, ...] = ()
PREPARE: Schemas = {
    "pool": {"type": "integer", "minimum": 1},
    "n_test": {"type": "integer", "minimum": 1},
    "repetition": {"type": "integer", "minimum": 0},
}
VIEW: Schemas = {"n_train": {"type": "integer", "minimum": 1}}

MATCH, SUBSTITUTE, INSERT, DELETE = range(4)
STEPS = np.frombuffer(b"MMID", dtype="S1")

Strings = tuple[np.ndarray, list[np.ndarray]]
"""A native and its candidates, each an array of letters."""
Truth = tuple[int, tuple[int, int, str]]
"""Which candidate is the homolog, and its alignment (i, j, operations)."""


def generate(
    rng: np.random.Generator,
    n: int,
    *,
    n_letters: int = 20,
    length: int = 50,
    n_decoys: int = 10,
    n_operations: int = 30,
    match: float = 0.2,
    substitute: float = 0.4,
    insert: float = 0.2,
    delete: float = 0.2,
) -> tuple[list[Strings], list[Truth]]:
    """n examples: X of (native, candidates), candidates a list of n_decoys + 1 strings; Y of
    (index of the homolog, (i, j, ops)). Strings are uint8 arrays of letters 0 .. n_letters - 1.

    The same generator state gives the same data.
    """
    if n < 1 or n_decoys < 1:
        raise ValueError(f"n and n_decoys must be at least 1, but are {n} and {n_decoys}")
    if not 1 <= n_letters <= 255:
        raise ValueError(f"n_letters must be from 1 to 255, but is {n_letters}")
    if not 0 <= n_operations <= length:
        raise ValueError(f"n_operations must be from 0 to length={length}, but is {n_operations}")
    probabilities = _distribution(match, substitute, insert, delete)

    strings = random_letters(rng, (n, n_decoys + 2, length), n_letters)
    native, homolog = strings[:, 0].copy(), strings[:, 1].copy()
    operations = rng.choice(4, size=(n, n_operations), p=probabilities)
    i = rng.integers(0, length - (operations != INSERT).sum(axis=1) + 1)
    j = rng.integers(0, length - (operations != DELETE).sum(axis=1) + 1)
    _copy_letters(native, homolog, operations, i, j, n_letters)

    place = rng.integers(0, n_decoys + 1, size=n)
    candidates = strings[:, 1:]
    candidates[:, 0] = candidates[np.arange(n), place]
    candidates[np.arange(n), place] = homolog
    steps = [row.tobytes().decode("ascii") for row in STEPS[operations]]
    X = [(native[e], list(candidates[e])) for e in range(n)]
    Y = [(int(place[e]), (int(i[e]), int(j[e]), steps[e])) for e in range(n)]
    return X, Y


def _distribution(match: float, substitute: float, insert: float, delete: float) -> np.ndarray:
    """The four probabilities as an array, if they are probabilities."""
    probabilities = np.array([match, substitute, insert, delete])
    if np.any(probabilities < 0) or not np.isclose(probabilities.sum(), 1.0):
        given = ", ".join(f"{p:g}" for p in probabilities)
        raise ValueError(f"match, substitute, insert and delete must add up to 1, but are {given}")
    return probabilities


def _copy_letters(
    native: np.ndarray, homolog: np.ndarray, operations: np.ndarray, i: np.ndarray, j: np.ndarray,
    n_letters: int,
) -> None:  # fmt: skip
    """Write the letters that matches and substitutions make of the native into the homolog, both (n, length).

    The homolog is random letters already, so that insertions and padding need no writing. Operations
    (n, n_operations) begin at letter i (n,) of the native and j (n,) of the homolog.
    """
    reads, writes = operations != INSERT, operations != DELETE
    example, k = np.nonzero(reads & writes)
    source = i[example] + np.cumsum(reads, axis=1)[example, k] - 1
    target = j[example] + np.cumsum(writes, axis=1)[example, k] - 1
    shift = operations[example, k] == SUBSTITUTE
    homolog[example, target] = (native[example, source].astype(int) + shift) % n_letters


def random_letters(rng: np.random.Generator, shape: tuple[int, ...], n_letters: int) -> np.ndarray:
    """Letters 0 .. n_letters - 1, letter c with probability proportional to c + 1."""
    total = n_letters * (n_letters + 1) // 2
    letter_of = np.repeat(np.arange(n_letters, dtype=np.uint8), np.arange(1, n_letters + 1))
    return letter_of[rng.integers(0, total, size=shape)]


def synthesize(seed: int, *, pool: int, n_test: int, repetition: int = 0) -> dict[str, np.ndarray]:
    """A pool of training examples and a test set; the test set's size does not change the pool."""
    rng = np.random.default_rng(seed)
    return {**_packed("train", *generate(rng, pool)), **_packed("test", *generate(rng, n_test))}


def view(arrays: Mapping[str, np.ndarray], seed: int, *, n_train: int) -> Split:
    """The first n_train examples of the pool, so that training sets are nested, and the whole test set."""
    return Split(_unpacked("train", arrays, n_train), _unpacked("test", arrays))


@measures("error")
def score(Y: Sequence[Truth], Yhat: Sequence[Truth]) -> dict[str, float]:
    """`error`: how often a decoy is taken for the homolog, in percent."""
    return {"error": 100.0 * float(np.mean([y[0] != yhat[0] for y, yhat in zip(Y, Yhat, strict=True)]))}


def _packed(subset: str, X: Sequence[Strings], Y: Sequence[Truth]) -> dict[str, np.ndarray]:
    return {
        f"{subset}_native": np.array([x[0] for x in X], dtype=np.uint8),
        f"{subset}_candidates": np.array([x[1] for x in X], dtype=np.uint8),
        f"{subset}_homolog": np.array([y[0] for y in Y], dtype=np.int64),
        f"{subset}_begin": np.array([y[1][:2] for y in Y], dtype=np.int64),
        f"{subset}_ops": np.array([y[1][2] for y in Y]),
    }


def _unpacked(subset: str, arrays: Mapping[str, np.ndarray], n: int | None = None) -> Examples:
    names = ("native", "candidates", "homolog", "begin", "ops")
    native, candidates, homolog, begin, ops = (arrays[f"{subset}_{name}"][:n] for name in names)
    X = [(native[e], list(candidates[e])) for e in range(len(native))]
    Y = [(int(h), (int(i), int(j), str(o))) for h, (i, j), o in zip(homolog, begin, ops, strict=True)]
    return Examples(X, Y)
