"""Support estimation on large data: the one-class dual, a million linear pairs, and large output spaces.

The dual is compared with scikit-learn's; training time is given against the size of the output space.

One thread (set OMP_NUM_THREADS=1), CPU seconds, compiled beforehand.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from ledger import Ledger
from sklearn.svm import OneClassSVM

from structmargin.jkse import one_class
from structmargin.jkse.estimator import JKSE
from structmargin.jkse.trainers import Online
from structmargin.kernels import RBF
from structmargin.problems.multiclass.problem import Multiclass
from structmargin.problems.sequence.kernel import SequenceKernel
from structmargin.problems.sequence.problem import Sequence


def main() -> None:
    """Measure all parts; that with the large matrix comes last, for memory is the process's peak."""
    with Ledger("one_class") as ledger:
        columns = ["training", "nu", "CPU s", "rounds", "relative gap", "peak MB"]
        ledger.add("A million linear pairs of 100 features", linear(), columns)
        rows = outputs()
        text = "1,000 sequences of 8 tokens, 32 features, with more and more labels to choose from."
        ledger.add("Training time against the output space", rows, list(rows[0]), text)
        columns = ["matrix", "nu", "program", "relative gap", "CPU s", "ours, CPU s", "times"]
        text = "10,000 x 10,000 kernel matrices, given; gaps by our primal and our dual bound."
        ledger.add("One-class dual beside scikit-learn", dual(), columns, text, ["matrix", "nu"])


def dual(n: int = 10_000) -> list[dict[str, Any]]:
    """Time and gap on one kernel matrix, at scikit-learn's default tolerance and at ours."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20)) + 1.0
    one_class.smo(np.eye(3), 0.5)
    rows: list[dict[str, Any]] = []
    for name, K in (("RBF", RBF(1 / 40)(X, X)), ("linear", X @ X.T)):
        for nu in (0.01, 0.1, 0.5):
            ours, our_seconds = timed(lambda K=K, nu=nu: one_class.smo(K, nu, tol=1e-6))
            model, their_seconds = timed(lambda K=K, nu=nu: OneClassSVM(kernel="precomputed", nu=nu).fit(K))
            alpha = np.zeros(n)
            alpha[model.support_] = model.dual_coef_[0] / (nu * n)
            case = {"matrix": name, "nu": nu}
            gap = (primal_at(K, alpha, nu) - ours.dual) / -ours.dual
            rows.append(
                {
                    **case, "program": "OneClassSVM", "relative gap": gap, "CPU s": their_seconds,
                    "ours, CPU s": our_seconds, "times": their_seconds / our_seconds,
                }
            )  # fmt: skip
            gap = ours.gap / -ours.dual
            rows.append({**case, "program": "ours", "relative gap": gap, "CPU s": our_seconds})
    return rows


def primal_at(K: np.ndarray, alpha: np.ndarray, nu: float) -> float:
    """The one-class objective 1/2 |w|^2 - rho + 1/(nu n) sum_i max(0, rho - f(x_i)) with the best rho."""
    scores = K @ alpha
    n = len(scores)
    rho = np.sort(scores)[min(int(np.floor(nu * n)), n - 1)]
    return float(0.5 * alpha @ scores - rho + np.maximum(rho - scores, 0.0).sum() / (nu * n))


def linear(n: int = 1_000_000, d: int = 100) -> list[dict[str, Any]]:
    """Dense explicit pairs to a certified relative gap of 1e-3."""
    rng = np.random.default_rng(0)
    X = np.empty((n, d))
    for lo in range(0, n, 10_000):
        X[lo : lo + 10_000] = rng.normal(size=(min(10_000, n - lo), d)) + 0.3
    y = np.zeros(n, dtype=np.int64)
    JKSE(Multiclass(1, d), gap_tol=1e-3).fit(X[:6000], y[:6000])
    rows = [
        report("one_class", nu, JKSE(Multiclass(1, d), nu=nu, gap_tol=1e-3), X, y) for nu in (0.01, 0.1, 0.5)
    ]
    rows.append(report("online", 0.1, JKSE(Multiclass(1, d), nu=0.1, trainer=Online(passes=3)), X, y))
    classes = rng.integers(10, size=n)
    ten = JKSE(Multiclass(10, d), nu=0.1, gap_tol=1e-3)
    return [*rows, report("one_class, 10 classes", 0.1, ten, X, classes)]


def report(what: str, nu: float, model: JKSE, X: Any, y: Any) -> dict[str, Any]:
    """Train one model: its row."""
    fit, seconds = timed(lambda: model.fit(X, y).fit_, repeats=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "training": what, "nu": nu, "CPU s": seconds, "rounds": fit.n_iter,
        "relative gap": fit.relative_gap, "peak MB": peak,
    }  # fmt: skip


def outputs(n: int = 1000) -> list[dict[str, Any]]:
    """The same inputs and as many pairs, with more and more labels to choose from."""
    rows = []
    rng = np.random.default_rng(0)
    X = [rng.random((8, 32)) for _ in range(n)]
    for n_labels in (2, 4, 16, 64, 256):
        Y = [rng.integers(n_labels, size=8) for _ in range(n)]
        problem = Sequence(n_labels, 32)
        times = []
        for kernel in (None, SequenceKernel()):
            JKSE(problem, kernel).fit(X[:5], Y[:5])
            times.append(timed(lambda p=problem, k=kernel, Y=Y: JKSE(p, k).fit(X, Y))[1])
        rows.append({"outputs": f"{n_labels}^8", "explicit, CPU s": times[0], "k_seq, CPU s": times[1]})
    return rows


def timed(run: Callable[[], Any], repeats: int = 3) -> tuple[Any, float]:
    """What run() returns, and the CPU seconds of the fastest of several calls."""
    fastest, result = np.inf, None
    for _ in range(repeats):
        began = time.process_time()
        result = run()
        fastest = min(fastest, time.process_time() - began)
    return result, float(fastest)


if __name__ == "__main__":
    main()
