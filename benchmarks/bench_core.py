"""The speed of the solvers: multiclass beside LinearSVC at the same objective, and all of them on chains.

Each row comes from a fresh process. `ratio` is CPU time over LinearSVC's on the same data. The `gap` of
LinearSVC is between our primal objective at its weights and the largest dual value that our solvers found.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import scipy.sparse as sp
from fresh import in_fresh_process, measured, table
from linear_svc import crammer_singer
from samples import CHAIN, chain, digits, many_digits

GROWTH = (1_000, 10_000, 60_000)
SOLVERS = ("n_slack", "bcfw", "one_slack", "n_slack_b", "n_slack_a")


def documents() -> tuple[Any, np.ndarray, int]:
    """160 classes of 4 documents over 10,000 words: common words by rank, and 100 words of its own for each
    class."""
    rng = np.random.default_rng(0)
    K, D = 160, 10_000
    common = 1.0 / np.arange(1, D + 1) ** 0.9
    y = np.repeat(np.arange(K), 4)
    own = [rng.permutation(D)[:100] for _ in range(K)]
    rows = []
    for label in y:
        words = np.concatenate([rng.choice(D, 120, p=common / common.sum()), rng.choice(own[label], 40)])
        word, times = np.unique(words, return_counts=True)
        weight = 1.0 + np.log(times)
        rows.append(
            sp.csr_matrix((weight / np.linalg.norm(weight), (np.zeros(len(word), int), word)), (1, D))
        )
    return sp.vstack(rows, format="csr"), y, K


def labelled(kind: str) -> tuple[Any, np.ndarray, int]:
    """Inputs, labels and the number of classes: of digits, of documents, or of so many digits."""
    if kind.isdigit():
        return *many_digits(int(kind)), 10
    return digits() if kind == "digits" else documents()


def ours(
    problem: Any, formulation: str, solver: str, C: float, gap_tol: float, X: Any, Y: Any
) -> dict[str, Any]:
    """Train with one of our solvers to a relative gap of `gap_tol`."""
    from structmargin import StructuredSVM

    eps = 0.02 if solver in ("n_slack_a", "n_slack_b") else 1e-9  # with one cut at a time eps decides
    fit = StructuredSVM(problem, formulation, solver, C=C, eps=eps, gap_tol=gap_tol).fit(X, Y).fit_
    times = {f"cpu to {tol:g}": _seconds(fit.trace, tol) for tol in (1e-2, 1e-3) if tol >= gap_tol}
    figures = {"objective": fit.primal, "dual": fit.dual, "gap": fit.relative_gap}
    return {**figures, "cuts": fit.n_constraints, **times}


def _seconds(trace: list[dict[str, float]], tol: float) -> float:
    """CPU seconds until the relative gap of a trace first reached `tol`."""
    reached = [entry for entry in trace if "gap" in entry and entry["gap"] <= tol * abs(entry["primal"])]
    return reached[0]["seconds"] if reached else float("nan")


def measurement(kind: str, solver: str, gap_tol: float) -> dict[str, Any]:
    """One row of a table: a solver, or LinearSVC, on one kind of data."""
    from structmargin.problems import Multiclass, Sequence

    if kind == "chain":
        X, Y = chain()
        problem: Any = Sequence(CHAIN["n_labels"], CHAIN["n_features"])
        settings = (problem, "SVM1 margin", solver, 0.1 * len(Y))
        return measured(lambda: ours(*settings, 0.3, X[:20], Y[:20]), lambda: ours(*settings, gap_tol, X, Y))
    X, y, K = labelled(kind)
    if solver == "LinearSVC":
        return measured(lambda: __import__("sklearn.svm"), lambda: crammer_singer(X, y))
    problem = Multiclass(K, X.shape[1])
    return measured(
        lambda: ours(problem, "SVM1", solver, 50.0, 0.3, X[:50], y[:50]),
        lambda: ours(problem, "SVM1", solver, float(len(y)), gap_tol, X, y),
    )


def main() -> None:
    """Print the tables."""
    for kind, title, solvers in (
        ("digits", "digits, 1,797 x 64, 10 classes", SOLVERS[:3]),
        ("documents", "640 x 10,000, 160 classes", SOLVERS[:2]),
        *((str(n), f"digits and noisy copies, {n:,} x 64, 10 classes", SOLVERS[:1]) for n in GROWTH),
    ):
        peer = in_fresh_process(__file__, kind, "LinearSVC", "0")
        rows = [{"solver": "LinearSVC", **peer, "ratio": 1.0}]
        for solver in solvers:
            for gap_tol in ("1e-3", "1e-4") if solver == "n_slack" else ("1e-3",):
                row = in_fresh_process(__file__, kind, solver, gap_tol)
                rows.append({"solver": f"{solver}, {gap_tol}", **row, "ratio": row["cpu"] / peer["cpu"]})
        rows[0]["gap"] = 1.0 - max(row["dual"] for row in rows[1:]) / peer["objective"]
        print(f"\n{title}, SVM1 with C = n (C = 1 per example), to a certified relative gap of 1e-3 or 1e-4")
        print(table(rows, ["solver", "objective", "gap", "cpu", "ratio", "mb", "grew_mb", "cuts"]))
    print("one_slack is left out of the documents: hundreds of averaged cuts over 1.6 million weights")
    rows = [{"solver": solver, **in_fresh_process(__file__, "chain", solver, "1e-3")} for solver in SOLVERS]
    print("\nchain, 100 x 8 tokens, 6 labels, 20 features, SVM1 margin, C = 0.1 per example")
    print(table(rows, ["solver", "objective", "gap", "cpu to 0.01", "cpu to 0.001", "grew_mb", "cuts"]))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measurement(sys.argv[1], sys.argv[2], float(sys.argv[3]))))
    else:
        main()
