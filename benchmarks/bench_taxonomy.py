"""160 classes with flat and with taxonomy features: CPU seconds and memory, beside LinearSVC.

640 documents, 4 per class, over 10,000 words, in a tree of 7 classes, 20 subclasses and 160 groups. LinearSVC
(Crammer-Singer) minimises the objective of flat features and 0/1 loss; with taxonomy features or the tree
loss no other program is known, so only our time is given. Each row comes from a fresh process, to a certified
relative gap of 1e-3. `all cuts` is the memory that the constraints would need as explicit rows.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from fresh import in_fresh_process, measured, table
from linear_svc import crammer_singer

GAP = 1e-3
ROWS = {
    "LinearSVC, flat, 0/1": ("flat", "LinearSVC"),
    "flat, 0/1": ("flat", "SVM1"),
    "taxonomy, 0/1": ("taxonomy", "SVM1"),
    "flat, tree loss, slack": ("flat", "SVM1 slack"),
    "taxonomy, tree loss, slack": ("taxonomy", "SVM1 slack"),
    "taxonomy, tree loss, margin": ("taxonomy", "SVM1 margin"),
}


def documents(features: str) -> tuple[Any, np.ndarray, dict[str, Any]]:
    """(tf-idf vectors (640, words), labels (640,), parameters of the problem)."""
    from structmargin_suite.datasets._sparse import csr_of
    from structmargin_suite.datasets.patents import class_features, synthesize, tfidf

    arrays = synthesize(0, n_documents=1710, n_groups=160, n_words=10_000)
    counts, y = csr_of(arrays), arrays["y"]
    chosen = np.sort(np.concatenate([np.flatnonzero(y == k)[:4] for k in range(160)]))
    X = tfidf(counts[chosen], counts[chosen])[0]
    problem = class_features([str(code) for code in arrays["codes"]], features)
    return X, y[chosen], {**problem, "n_features": X.shape[1]}


def ours(problem: Any, formulation: str, X: Any, y: np.ndarray, gap_tol: float) -> dict[str, Any]:
    """Train to a relative gap of `gap_tol` with C = 1 per example."""
    from structmargin import StructuredSVM

    C = float(len(y))
    fit = StructuredSVM(problem, formulation, C=C, eps=1e-9, gap_tol=gap_tol).fit(X, y).fit_
    nonzeros = X.nnz / X.shape[0] * float(np.diff(problem.class_features.indptr).mean()) * 2
    return {
        "objective": fit.primal,
        "gap": fit.relative_gap,
        "cuts": fit.n_constraints,
        "all cuts, MB": fit.n_constraints * nonzeros * 12 / 2**20,
        "w, MB": 8 * problem.n_weights / 2**20,
    }


def measurement(name: str) -> dict[str, Any]:
    """The measurement of one row of ROWS."""
    from structmargin.problems import Taxonomy

    features, formulation = ROWS[name]
    X, y, params = documents(features)
    if formulation == "LinearSVC":
        return measured(lambda: None, lambda: crammer_singer(X, y))
    problem = Taxonomy(**params)
    return measured(
        lambda: ours(problem, formulation, X[:40], y[:40], 0.3),
        lambda: ours(problem, formulation, X, y, GAP),
    )


def main() -> None:
    """Print the tables."""
    rows = [{"": name, **in_fresh_process(__file__, name)} for name in ROWS]
    for row in rows:
        row["ratio"] = row["cpu"] / rows[0]["cpu"]
    print("640 documents, 160 classes, C = 1 per example, to a certified relative gap of 1e-3")
    columns = ["", "objective", "gap", "cpu", "ratio", "mb", "grew_mb", "w, MB", "cuts", "all cuts, MB"]
    print(table(rows, columns))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measurement(sys.argv[1])))
    else:
        main()
