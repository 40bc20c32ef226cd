"""Support estimation on large data: the one-class dual, a million linear pairs, and large output spaces.

The dual is compared with scikit-learn's; training time is given against the size of the output space.

One thread (set OMP_NUM_THREADS=1), CPU seconds, compiled beforehand. Run with names of parts to choose:
`python benchmarks/bench_one_class.py dual linear outputs`.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.svm import OneClassSVM

from structmargin.jkse import one_class
from structmargin.jkse.estimator import JKSE
from structmargin.jkse.trainers import Online
from structmargin.kernels import RBF
from structmargin.problems.multiclass.problem import Multiclass
from structmargin.problems.sequence.kernel import SequenceKernel
from structmargin.problems.sequence.problem import Sequence


def main() -> None:
    """Print the parts that are named, or all."""
    parts = {"linear": linear, "outputs": outputs, "dual": dual}
    for name in sys.argv[1:] or parts:
        parts[name]()


def dual(n: int = 10_000) -> None:
    """Time and objective on one kernel matrix, at scikit-learn's default tolerance and at ours."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20)) + 1.0
    one_class.smo(np.eye(3), 0.5)
    for name, K in (("RBF", RBF(1 / 40)(X, X)), ("linear", X @ X.T)):
        print(f"one-class dual, {name} matrix of {n} x {n}")
        for nu in (0.01, 0.1, 0.5):
            ours, our_seconds = timed(lambda K=K, nu=nu: one_class.smo(K, nu, tol=1e-6))
            model, their_seconds = timed(lambda K=K, nu=nu: OneClassSVM(kernel="precomputed", nu=nu).fit(K))
            alpha = np.zeros(n)
            alpha[model.support_] = model.dual_coef_[0] / (nu * n)
            objective = -0.5 * float(alpha @ (K @ alpha))
            print(
                f"  nu {nu:<5} ours {our_seconds:6.3f} s (relative gap {ours.gap / -ours.dual:.1e})   "
                f"scikit-learn {their_seconds:6.3f} s   {their_seconds / our_seconds:5.1f} times   "
                f"objectives differ by {ours.dual / objective - 1:+.1e}"
            )


def linear(n: int = 1_000_000, d: int = 100) -> None:
    """Dense explicit pairs to a certified relative gap of 1e-3."""
    rng = np.random.default_rng(0)
    X = np.empty((n, d))
    for lo in range(0, n, 10_000):
        X[lo : lo + 10_000] = rng.normal(size=(min(10_000, n - lo), d)) + 0.3
    y = np.zeros(n, dtype=np.int64)
    JKSE(Multiclass(1, d), gap_tol=1e-3).fit(X[:6000], y[:6000])
    print(f"linear, {n} x {d} dense ({X.nbytes / 2**20:.0f} MB), relative gap 1e-3")
    for nu in (0.01, 0.1, 0.5):
        report("one_class", nu, JKSE(Multiclass(1, d), nu=nu, gap_tol=1e-3), X, y)
    report("online", 0.1, JKSE(Multiclass(1, d), nu=0.1, trainer=Online(passes=3)), X, y)
    classes = rng.integers(10, size=n)
    report("one_class, 10 classes", 0.1, JKSE(Multiclass(10, d), nu=0.1, gap_tol=1e-3), X, classes)


def report(what: str, nu: float, model: JKSE, X: Any, y: Any) -> None:
    """Train one model and print its line."""
    pairs = model._pairs(model.problem, X, y)
    fit, seconds = timed(lambda: model._train(pairs, None), repeats=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"  {what:22} nu {nu:<5} {seconds:6.2f} s   {fit.n_iter:3} rounds   "
        f"relative gap {fit.relative_gap:.1e}   peak {peak:.0f} MB"
    )


def outputs(n: int = 1000) -> None:
    """The same inputs and as many pairs, with more and more labels to choose from."""
    print(f"training time against the output space, {n} sequences of 8 tokens, 32 features")
    rng = np.random.default_rng(0)
    X = [rng.random((8, 32)) for _ in range(n)]
    for n_labels in (2, 4, 16, 64, 256):
        Y = [rng.integers(n_labels, size=8) for _ in range(n)]
        problem = Sequence(n_labels, 32)
        times = []
        for kernel in (None, SequenceKernel()):
            JKSE(problem, kernel).fit(X[:5], Y[:5])
            times.append(timed(lambda p=problem, k=kernel, Y=Y: JKSE(p, k).fit(X, Y))[1])
        print(f"  {n_labels:3}^8 outputs   explicit {times[0]:6.3f} s   k_seq {times[1]:6.3f} s")


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
