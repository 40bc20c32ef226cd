"""Microseconds per sequence of each chain oracle, and milliseconds of a full batched search.

Two sizes: handwritten words (704 of about 8 letters, 26 labels, 128 pixels of which a fifth are set) and
sentences (300 of about 28 words, 9 labels, 20,000 binary features of which about 20 are set). The weights are
a few passes of an averaged perceptron, so that scores are like those in the middle of a training. One thread,
CPU time, the best of several rounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from ledger import Ledger

from structmargin.formulation import FORMULATIONS
from structmargin.oracles.viterbi import best, best_folded, best_other
from structmargin.oracles.viterbi_by_distance import MAX_BOUNDS, best_by_loss, by_distance
from structmargin.problems.sequence.problem import Sequence
from structmargin.scorer import LinearScorer

REPEATS = 15


def main() -> None:
    """Measure both sizes."""
    rng = np.random.default_rng(0)
    with Ledger("viterbi") as ledger:
        for name, (problem, X, Y) in {"words": words(rng), "sentences": sentences(rng)}.items():
            length = np.mean([len(y) for y in Y])
            title = f"Chain oracles: {len(Y)} {name} of length {length:.1f}, {problem.n_labels} labels"
            ledger.add(title, measure(problem, X, Y), ["what", "us per sequence"])


def words(rng: np.random.Generator) -> tuple[Sequence, list[Any], list[np.ndarray]]:
    """Letters from a Markov chain, each a noisy copy of its label's picture."""
    pictures = rng.random((26, 128)) < 0.22
    Y = labellings(rng, 26, rng.integers(3, 13, size=704))
    X = [(pictures[y] ^ (rng.random((len(y), 128)) < 0.08)).astype(float) for y in Y]
    return Sequence(26, 128), X, Y


def sentences(rng: np.random.Generator) -> tuple[Sequence, list[Any], list[np.ndarray]]:
    """Ten features of a token are drawn from 3,000 of its label, ten from all 20,000."""
    Y = labellings(rng, 9, rng.integers(2, 55, size=300))
    X = []
    for y in Y:
        own = y[:, None] * 2000 + rng.integers(3000, size=(len(y), 10))
        columns = np.concatenate([own, rng.integers(20000, size=(len(y), 10))], axis=1)
        rows = np.repeat(np.arange(len(y)), 20)
        X.append(sp.csr_matrix((np.ones(rows.size), (rows, columns.ravel())), shape=(len(y), 20000)))
    return Sequence(9, 20000), X, Y


def labellings(rng: np.random.Generator, n_labels: int, lengths: np.ndarray) -> list[np.ndarray]:
    """Labels from a random Markov chain, one array per length."""
    step = np.cumsum(rng.dirichlet(np.full(n_labels, 0.2), size=n_labels), axis=1)
    Y = []
    for T in lengths:
        y = [int(rng.integers(n_labels))]
        while len(y) < T:
            y.append(min(int(np.searchsorted(step[y[-1]], rng.random())), n_labels - 1))
        Y.append(np.array(y))
    return Y


def measure(problem: Sequence, X: list[Any], Y: list[np.ndarray]) -> list[dict[str, Any]]:
    """The times of all oracles and searches on one set of sequences."""
    batch, n, margin = problem.batch(X, Y), len(Y), FORMULATIONS["SVM1 margin"].H
    w, total = np.zeros(problem.n_weights), np.zeros(problem.n_weights)
    for _ in range(10):
        for chunk in np.array_split(np.arange(n), 20):
            found = batch.search(LinearScorer(problem, w), chunk, margin)
            w += np.asarray(batch.rows(found.example, found.outputs).sum(axis=0)).ravel() / len(chunk)
            total += w
    f = LinearScorer(problem, total / 200)
    offsets, y, scale = batch.tokens.offsets, batch.y, np.ones(n)
    chains = batch.chains(f.w, offsets, np.arange(len(y)))

    rows: list[dict[str, Any]] = []

    def add(what: str, us: float) -> None:
        rows.append({"what": what, "us per sequence": us})

    oracles: dict[str, Callable[[], Any]] = {
        "best": lambda: best(chains),
        "best, loss folded in": lambda: best_folded(chains, y, scale),
        "best other (2-best)": lambda: best_other(chains, y),
        "best at every distance, with labels": lambda: by_distance(chains, y),
    }
    for formulation in ("SVM1 slack", "SVM2 slack", "SVM2 margin"):
        H = FORMULATIONS[formulation].H
        oracles[f"best by loss, {formulation}"] = lambda H=H: best_by_loss(chains, y, scale, H, MAX_BOUNDS)
    for what, run in oracles.items():
        add(what, seconds(run) / n * 1e6)
    for what, formulation in FORMULATIONS.items():
        search = seconds(lambda H=formulation.H: batch.search(f, batch.all, H))
        add(f"search of all, {what}", search / n * 1e6)
    add("prediction of all", seconds(lambda: batch.argmax(f)) / n * 1e6)
    add("search of one example", seconds(lambda: batch.search(f, batch.all[:1], margin)) * 1e6)
    return rows


def seconds(run: Callable[[], Any]) -> float:
    """CPU time of one call, repeated so that a clock tick does not matter; compiled beforehand."""
    run()
    began = time.process_time()
    run()
    calls = max(1, int(0.005 / max(time.process_time() - began, 1e-6)))
    fastest = np.inf
    for _ in range(REPEATS):
        began = time.process_time()
        for _ in range(calls):
            run()
        fastest = min(fastest, (time.process_time() - began) / calls)
    return float(fastest)


if __name__ == "__main__":
    main()
