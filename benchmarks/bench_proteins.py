"""Alignments per second and training time under each protein model, beside Biopython with one matrix.

Made-up pairs of 200 x 200 places; CPU time on one thread, the best of several rounds. The search of training
folds the Q4-loss in and makes the rows of deltaPsi; Biopython recovers one best alignment by BLOSUM62 and
affine gaps, which is the work of our smallest model. The last columns are one training of 100 pairs at
C = 0.001 per pair, to a certified relative gap of 5%.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from ledger import Ledger

from structmargin import StructuredSVM
from structmargin.formulation import FORMULATIONS
from structmargin.problems import ProteinAlignment
from structmargin.problems.proteins.features import MODELS
from structmargin.scorer import LinearScorer
from structmargin_suite.baselines import blosum
from structmargin_suite.datasets.homstrad.families import draw, odds, structure, target
from structmargin_suite.datasets.homstrad.profiles import profile

N_PAIRS, LENGTH, ROUNDS = 100, 200, 5


def pairs() -> tuple[list[Any], list[np.ndarray]]:
    """Templates of LENGTH places and targets of about as many, with their true chains."""
    from structmargin.problems.proteins.features import Pair

    rng, chances = np.random.default_rng(0), odds()
    X, Y = [], []
    for _ in range(N_PAIRS):
        state, access = structure(rng, LENGTH)
        residue = draw(rng, chances[state, access])
        pair, target_profile, known = target(rng, residue, state, access, chances)
        near = profile(residue, residue[None])
        X.append(Pair(residue, state, access, pair.target, 0.1 * near, 0.1 * target_profile, *known))
        Y.append(pair.chain)
    return X, Y


def rate(run: Callable[[], Any]) -> float:
    """Pairs per CPU second, the best of ROUNDS."""
    best = np.inf
    for _ in range(ROUNDS):
        began = time.process_time()
        run()
        best = min(best, time.process_time() - began)
    return N_PAIRS / best


def main() -> None:
    """Print the table."""
    X, Y = pairs()
    cells = float(np.mean([len(x.residue) * len(x.target) for x in X]))
    H, every = FORMULATIONS["SVM1 margin"].H, np.arange(N_PAIRS)
    with_matrix = blosum.BlosumAligner("local", "11/1/0")
    per_second = rate(lambda: with_matrix.predict(X))
    rows: list[dict[str, Any]] = []
    for gaps in ("linear", "affine"):
        for model in MODELS:
            problem = ProteinAlignment(model, gaps)
            svm = StructuredSVM(problem, "SVM1 margin", C=0.001 * N_PAIRS, eps=1e-6, gap_tol=0.05)
            svm.fit(X[:2], Y[:2])  # compiled
            began = time.process_time()
            fit = svm.fit(X, Y).fit_
            seconds = time.process_time() - began
            f, batch = LinearScorer(problem, svm.w_), problem.batch(X, Y)
            best = rate(lambda batch=batch, f=f: batch.argmax(f))  # type: ignore[misc]
            search = rate(lambda batch=batch, f=f: batch.search(f, every, H))  # type: ignore[misc]
            rows.append(
                {
                    "program": f"ours, {model}, {gaps}", "weights": problem.n_weights,
                    "alignments per s": best, "searches per s": search, "ns per cell": 1e9 / best / cells,
                    "training, CPU s": seconds, "passes": fit.n_iter,
                }
            )  # fmt: skip
    ours = next(row for row in rows if row["program"] == f"ours, {next(iter(MODELS))}, affine")
    peer = {
        "program": "Biopython, BLOSUM62", "weights": 400, "alignments per s": per_second,
        "ns per cell": 1e9 / per_second / cells, "times": ours["alignments per s"] / per_second,
    }  # fmt: skip
    columns = ["program", "weights", "alignments per s", "times", "searches per s", "ns per cell"]
    text = f"{N_PAIRS} pairs of {cells:,.0f} cells on average; Biopython beside our smallest affine model."
    with Ledger("proteins") as ledger:
        ledger.add("Protein alignment", [peer, *rows], [*columns, "training, CPU s", "passes"], text)


if __name__ == "__main__":
    main()
