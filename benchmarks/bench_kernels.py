"""Multiclass classification with a Gaussian kernel, beside scikit-learn's SVC: CPU seconds and peak memory.

Images of digits: Optdigits where STRUCTMARGIN_DATA has it, else the small digits of scikit-learn; what is
missing at a size are copies with noise. SVC trains one machine per pair of classes to its default tolerance
and certifies nothing, we one machine for all classes, to a certified relative gap. Both have the same kernel
and C = 1 per example. Each row comes from a fresh process with one thread; `ratio` is CPU time over SVC's,
`rows` is how many rows of the kernel matrix were computed.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from fresh import in_fresh_process, measured, table
from samples import many_digits

SIZES = (2_000, 3_823, 10_000)
GAPS = (1e-2, 1e-3)


def ours(X: np.ndarray, y: np.ndarray, gamma: float, gap_tol: float) -> dict[str, Any]:
    """Train to a relative gap of `gap_tol`."""
    from structmargin import StructuredSVM
    from structmargin.kernels import RBF, Product
    from structmargin.problems import Multiclass

    problem, kernel = Multiclass(10, X.shape[1]), Product(RBF(gamma))
    model = StructuredSVM(problem, kernel=kernel, C=float(len(y)), eps=1e-9, gap_tol=gap_tol).fit(X, y)
    fit = model.fit_
    return {
        "objective": fit.primal,
        "gap": fit.relative_gap,
        "cuts": fit.n_constraints,
        "support": len(model.scorer_.coef),
        "rows": fit.state.store.rows_known,
    }


def svc(X: np.ndarray, y: np.ndarray, gamma: float) -> dict[str, Any]:
    """Train scikit-learn's SVC."""
    from sklearn.svm import SVC

    return {"support": len(SVC(C=1.0, gamma=gamma).fit(X, y).support_)}


def measurement(n: int, gap_tol: float | None) -> dict[str, Any]:
    """One row: SVC where gap_tol is None."""
    X, y = many_digits(n)
    gamma = 1.0 / (X.shape[1] * float(X.var()))
    if gap_tol is None:
        return measured(lambda: svc(X[:100], y[:100], gamma), lambda: svc(X, y, gamma))
    return measured(lambda: ours(X[:100], y[:100], gamma, 0.3), lambda: ours(X, y, gamma, gap_tol))


def main() -> None:
    """Print the table."""
    rows = []
    for n in SIZES:
        peer = {"n": n, "": "SVC", **in_fresh_process(__file__, str(n)), "ratio": 1.0}
        rows.append(peer)
        for gap_tol in GAPS:
            row = {
                "n": n,
                "": f"n_slack, gap {gap_tol:g}",
                **in_fresh_process(__file__, str(n), str(gap_tol)),
            }
            rows.append({**row, "ratio": row["cpu"] / peer["cpu"]})
    print("ten digits, RBF kernel of gamma = 1 / (features x variance), C = 1 per example")
    print(
        table(rows, ["n", "", "objective", "gap", "cpu", "ratio", "mb", "grew_mb", "cuts", "support", "rows"])
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measurement(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else None)))
    else:
        main()
