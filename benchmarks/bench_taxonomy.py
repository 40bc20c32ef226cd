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
from duel import tabled
from fresh import in_fresh_process, measured
from ledger import Ledger
from peers import Data
from peers.scikit import train as linear_svc
from race import primal
from tasks import Task

GAP = 1e-3
ROWS = {
    "LinearSVC, flat, 0/1": ("flat", "LinearSVC"),
    "ours, flat, 0/1": ("flat", "SVM1"),
    "ours, taxonomy, 0/1": ("taxonomy", "SVM1"),
    "ours, flat, tree loss, slack": ("flat", "SVM1 slack"),
    "ours, taxonomy, tree loss, slack": ("taxonomy", "SVM1 slack"),
    "ours, taxonomy, tree loss, margin": ("taxonomy", "SVM1 margin"),
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
        "dual": fit.dual,
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
        from structmargin.problems import Multiclass

        data = Data(Multiclass(int(y.max()) + 1, X.shape[1]), X, y)
        outcome = linear_svc(data, 1.0, 1e-3)
        task = Task("", "", lambda n: data, "SVM1", 1.0)
        return {"cpu": outcome.cpu, "mb": outcome.mb, "objective": primal(data, task, outcome.w)}
    problem = Taxonomy(**params)
    return measured(
        lambda: ours(problem, formulation, X[:40], y[:40], 0.3),
        lambda: ours(problem, formulation, X, y, GAP),
    )


def main() -> None:
    """Print the tables."""
    rows = [{"program": name, **in_fresh_process(__file__, name)} for name in ROWS]
    peer, flat = rows[0], rows[1]
    peer |= {"ours, CPU s": flat["cpu"], "times": peer["cpu"] / flat["cpu"]}
    peer["gap"] = max(peer["objective"] - flat["dual"], 0.0) / peer["objective"]
    columns = ["program", "objective", "relative gap", "CPU s", "ours, CPU s", "times", "peak MB", "grew MB"]
    text = "640 documents, 160 classes, C = 1 per example, ours to a certified relative gap of 1e-3."
    with Ledger("taxonomy") as ledger:
        shown = [tabled(row) for row in rows]
        ledger.add("Taxonomy", shown, [*columns, "w, MB", "cuts", "all cuts, MB"], text)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measurement(sys.argv[1])))
    else:
        main()
