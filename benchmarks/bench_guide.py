"""The tables of docs/guide.md: what solvers cost on three problems, memory, and features of several sizes.

Cost is measured on a problem with a compiled search of all classes at once (digits), on one with compiled
dynamic programming (chains), and on one whose search is a loop in Python over all outputs (tags): there a
search costs far more than a step of the solver. Each of these tables, and each row of that of memory, comes
from a fresh process with one thread. OLaRank is given as many passes as it needs; the perceptron certifies
nothing and is not in the tables.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
from fresh import cpu_seconds, in_fresh_process, measured
from ledger import Ledger
from samples import CHAIN, chain, digits, many_digits

SOLVERS = ("n_slack", "n_slack_b", "n_slack_a", "one_slack", "bcfw", "olarank")
GAPS = (1e-2, 1e-3)
MAX_PASSES = 1_000
N_DIGITS, N_TAGGED, N_TAGS, N_TAG_FEATURES = 500, 40, 5, 10
SIZES = (1.0, 100.0, 300.0, 1_000.0, 10_000.0)
GAMMA = 0.02
"""Of the Gaussian kernels on images and on tokens."""


class Tags:
    """Sets of tags, searched by enumeration in Python: features of each tag, and which pairs are together."""

    pairs = tuple(combinations(range(N_TAGS), 2))
    outputs = tuple(product((0, 1), repeat=N_TAGS))

    def psi(self, x: np.ndarray, y: tuple[int, ...]) -> np.ndarray:
        together = [float(y[a] and y[b]) for a, b in self.pairs]
        return np.concatenate([np.outer(y, x).ravel(), together])

    def delta(self, y: tuple[int, ...], ybar: tuple[int, ...]) -> float:
        return float(sum(a != b for a, b in zip(y, ybar, strict=True)))

    def argmax(self, f: Any, x: np.ndarray) -> tuple[int, ...]:
        from structmargin.problem import top_of

        return top_of(f, x, self.outputs)

    def augmented_argmax(self, f: Any, x: np.ndarray, y: tuple[int, ...], H: Any) -> tuple[int, ...]:
        from structmargin.problem import best_of

        return best_of(self, f, x, y, H, self.outputs)


def tagged() -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """Items with features (n, 10) and their tags, some of which are wrong by noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_TAGGED, N_TAG_FEATURES))
    scores = X @ rng.normal(size=(N_TAG_FEATURES, N_TAGS)) + rng.normal(size=(N_TAGGED, N_TAGS))
    return X, [tuple(int(on) for on in row) for row in scores > 0]


def task(kind: str) -> tuple[Any, float, Any, Any]:
    """(problem, C per example, X, Y)."""
    from structmargin.problems import Multiclass, Sequence

    if kind == "digits":
        X, y, K = digits()
        return Multiclass(K, X.shape[1]), 1.0, X[:N_DIGITS], y[:N_DIGITS]
    if kind == "chains":
        return Sequence(CHAIN["n_labels"], CHAIN["n_features"]), 0.1, *chain()
    return Tags(), 0.1, *tagged()


def solver_of(name: str) -> Any:
    """A solver with as many passes as it needs."""
    from structmargin.solvers.olarank import OLaRank

    return OLaRank(passes=MAX_PASSES) if name == "olarank" else name


def costs(kind: str) -> dict[str, dict[str, Any]]:
    """For each solver its CPU seconds, searches, passes and cuts until each gap."""
    return {name: cost(kind, name) for name in SOLVERS}


def cost(kind: str, name: str) -> dict[str, Any]:
    """One row of a table, after a small training that compiles everything; NaN: the gap was missed."""
    from structmargin import StructuredSVM

    problem, C_per_example, X, Y = task(kind)
    model = StructuredSVM(problem, solver=solver_of(name), C_per_example=C_per_example, max_iter=MAX_PASSES)
    model.set_params(gap_tol=0.5).fit(X[:20], Y[:20])
    figures: dict[str, Any] = {}
    for gap_tol in GAPS:
        model.set_params(gap_tol=gap_tol)
        seconds = cpu_seconds(lambda: model.fit(X, Y))
        fit = model.fit_
        figures |= {
            f"cpu {gap_tol:g}": seconds if fit.converged else math.nan,
            f"searches {gap_tol:g}": fit.oracle_calls,
            f"passes {gap_tol:g}": fit.n_iter,
            f"cuts {gap_tol:g}": fit.n_constraints,
        }
    return figures


def memory_rows() -> dict[str, Callable[[bool], dict[str, Any]]]:
    """Trainings whose memory is measured, by name; with True a small one that compiles everything."""
    from structmargin.kernels import RBF, Product
    from structmargin.problems import Multiclass, Sequence
    from structmargin.problems.sequence.kernel import SequenceKernel
    from structmargin.solvers.bcfw import BCFW
    from structmargin.solvers.n_slack import NSlack

    def images(n: int, **settings: Any) -> Callable[[bool], dict[str, Any]]:
        X, y = many_digits(n)
        return lambda small: trained(Multiclass(), X, y, 100 if small else n, 1.0, **settings)

    def sentences(**settings: Any) -> Callable[[bool], dict[str, Any]]:
        X, Y = chain()
        return lambda small: trained(Sequence(), X, Y, 20 if small else len(Y), 0.1, **settings)

    return {
        "digits, explicit": images(4_000),
        "digits, Product(RBF), n = 2000": images(2_000, kernel=Product(RBF(GAMMA))),
        "digits, Product(RBF), n = 4000": images(4_000, kernel=Product(RBF(GAMMA))),
        "chains, explicit": sentences(),
        "chains, explicit, max_entries = 2**13": sentences(solver=NSlack(max_entries=2**13)),
        "chains, bcfw": sentences(solver="bcfw"),
        "chains, bcfw, max_entries = 2**13": sentences(solver=BCFW(max_entries=2**13)),
        "chains, one_slack": sentences(solver="one_slack"),
        "chains, SequenceKernel(RBF)": sentences(kernel=SequenceKernel(RBF(GAMMA))),
    }


def trained(problem: Any, X: Any, Y: Any, n: int, C_per_example: float, **settings: Any) -> dict[str, Any]:
    """Train on the first n examples to the default gap."""
    from structmargin import StructuredSVM

    fit = StructuredSVM(problem, C_per_example=C_per_example, **settings).fit(X[:n], Y[:n]).fit_
    return {
        "gap": fit.relative_gap,
        "cuts": fit.n_constraints,
        "held": max(row["held"] for row in fit.trace),
        "passes": fit.n_iter,
    }


def memory(name: str) -> dict[str, Any]:
    """Peak memory of one training."""
    train = memory_rows()[name]
    return measured(lambda: train(True), lambda: train(False))


def scales() -> dict[str, dict[str, Any]]:
    """For features of each size: the gap that training to 1e-3 certified at C = 1000, and its passes.

    `C |Psi|^2` is that of the longest difference of joint features; losses are 0 or 1.
    """
    from structmargin import StructuredSVM
    from structmargin.problems import Multiclass

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(3, size=60)
    figures = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for size in SIZES:
            fit = StructuredSVM(Multiclass(), C=1_000.0, gap_tol=1e-3).fit(X * size, y).fit_
            longest = 2.0 * size**2 * float((X**2).sum(axis=1).max())  # |x|^2 |e_y - e_ybar|^2
            figures[str(size)] = {
                "C |Psi|^2": 1_000.0 * longest,
                "gap": fit.relative_gap,
                "passes": fit.n_iter,
                "converged": fit.converged,
            }
    return figures


def main() -> None:
    """Print the tables."""
    titles = {
        "digits": f"digits, {N_DIGITS} x 64, 10 classes, C = 1 per example",
        "chains": "chains, 100 x 8 tokens, 6 labels, 20 features, C = 0.1 per example",
        "tags": f"tags, {N_TAGGED} items, {2**N_TAGS} outputs in a Python loop, C = 0.1 per example",
    }
    columns = [f"{what} {gap_tol:g}" for gap_tol in GAPS for what in ("cpu", "searches", "passes", "cuts")]
    with Ledger("guide") as ledger:
        for kind, title in titles.items():
            figures = in_fresh_process(__file__, "costs", kind)
            ledger.add(title, [{"solver": name, **figures[name]} for name in SOLVERS], ["solver", *columns])
        rows = [{"training": name, **in_fresh_process(__file__, "memory", name)} for name in memory_rows()]
        columns = ["training", "grew_mb", "held", "cuts", "passes", "cpu", "gap"]
        ledger.add("Memory, to a relative gap of 0.01", rows, columns)
        rows = [{"size": size, **row} for size, row in in_fresh_process(__file__, "scales").items()]
        title = "Features of several sizes, 60 x 4, 3 random labels, C = 1000, gap_tol = 0.001"
        ledger.add(title, rows, ["size", "C |Psi|^2", "gap", "passes", "converged"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["costs"]:
        print(json.dumps(costs(*sys.argv[2:])))
    elif sys.argv[1:2] == ["scales"]:
        print(json.dumps(scales()))
    elif sys.argv[1:2] == ["memory"]:
        print(json.dumps(memory(*sys.argv[2:])))
    else:
        main()
