"""Trainings on a handful of examples that together run every hot loop: see `structmargin.warm.pool`.

One function per kind of data; each is run by one process, and those that take longest to compile come first
in `TRAININGS`. What they learn is of no use to anyone.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin import registry
from structmargin.estimators.structured_svm import StructuredSVM
from structmargin.fit import ConvergenceWarning
from structmargin.jkse.estimator import JKSE
from structmargin.kernels import RBF, Product
from structmargin.problems.alignment.problem import Alignment
from structmargin.problems.diversity.problem import Candidates, Diversity, best_selection
from structmargin.problems.grammar.problem import Grammar
from structmargin.problems.localization.kernel import BoxChi2
from structmargin.problems.localization.problem import Localization
from structmargin.problems.measures.problem import MEASURES, Measure
from structmargin.problems.multiclass.problem import Multiclass
from structmargin.problems.proteins.features import Pair
from structmargin.problems.proteins.problem import ProteinAlignment
from structmargin.problems.sequence.batch import MIN_PART_ENTRIES
from structmargin.problems.sequence.kernel import SequenceKernel
from structmargin.problems.sequence.problem import Sequence
from structmargin.problems.taxonomy.problem import Taxonomy

SCALINGS = ("SVM1 margin", "SVM1 slack")
"""Two formulations by which every search is reached."""


def train(
    problem: Any,
    X: Any,
    Y: Any,
    solvers: Iterable[str] = ("n_slack", "one_slack", "bcfw"),
    formulations: Iterable[str] = SCALINGS,
    kernel: Any = None,
) -> None:
    """Train, predict and score with each solver and formulation that go together."""
    space = registry.space(kernel)
    for solver, formulation in itertools.product(solvers, formulations):
        if not registry.check(problem, registry.formulation(formulation), registry.solver(solver), space):
            model = StructuredSVM(problem, formulation, solver, C_per_example=1.0, max_iter=3, kernel=kernel)
            model.fit(X, Y).score(X, Y)


def rows(n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Points around one centre per class, of three."""
    rng = np.random.default_rng(0)
    Y = np.arange(n) % 3
    return 2.0 * np.eye(3, 4)[Y] + rng.normal(size=(n, 4)), Y


def few_classes() -> None:
    """Explicit features of classes, by every solver."""
    X, Y = rows()
    solvers = ("n_slack", "n_slack_a", "staged", "one_slack", "bcfw", "olarank", "perceptron")
    train(Multiclass(), X, Y, solvers)
    train(Multiclass(), sp.csr_matrix(X), Y, ("n_slack",))
    train(Taxonomy(loss=1.0 - np.eye(3)), X, Y, ("n_slack",))


def class_kernels() -> None:
    """A kernel on inputs, for classes."""
    train(Multiclass(), *rows(), ("n_slack", "bcfw", "olarank"), kernel=Product(RBF(0.5)))


def right_pairs() -> None:
    """The trainers of JKSE."""
    X, Y = rows()
    for trainer in ("one_class", "binary", "online"):
        JKSE(Multiclass(3, 4), kernel=Product(RBF(0.5)), max_iter=3, trainer=trainer).fit(X, Y).score(X, Y)


def sequences(n_features: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Five sequences of one to four tokens, with three labels."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(T, n_features)) for T in (3, 1, 4, 2, 3)]
    return X, [np.argmax(x[:, :3], axis=1) for x in X]


def labelled_sequences() -> None:
    """Chains of both orders, every loss, dense and sparse tokens, a kernel."""
    X, Y = sequences(4)
    train(Sequence(), X, Y, ("n_slack", "one_slack", "bcfw", "olarank", "perceptron"))
    for problem in (Sequence(triplets=True), Sequence(loss="zero_one"), Sequence(loss="hamming_normalised")):
        train(problem, X, Y, ("n_slack",))
    StructuredSVM(Sequence(input_transitions=True, window=1)).fit(X, Y).k_best(X, 2)
    train(Sequence(), [sp.csr_matrix(x * (x > 1.0)) for x in X], Y, ("n_slack",), SCALINGS[:1])
    train(Sequence(), X, Y, ("n_slack",), kernel=SequenceKernel(RBF(0.5)))


def many_features() -> None:
    """Sequences whose cuts are kept by their parts; with tokens that are nearly the same some are dropped."""
    X, Y = sequences(MIN_PART_ENTRIES // 13 + 1)
    train(Sequence(), X, Y, ("n_slack", "bcfw"))
    alike, any_labels = (
        [1.0 + 0.01 * x for x in X],
        [np.arange(len(x)) * (2 + i) % 3 for i, x in enumerate(X)],
    )
    StructuredSVM(Sequence(), solver=registry.solver("n_slack", idle=1), C=1.0, gap_tol=1e-6).fit(
        alike, any_labels
    )


def trees() -> None:
    """Grammars, with both losses."""
    end = ("PP", "IN", ("NP", "NN"))
    Y: list[Any] = [
        ("S", ("NP", "DT", "NN"), ("VP", "VBZ")),
        ("S", ("NP", "NN"), ("VP", "VBZ", ("NP", "NN"), end)),
        ("S", ("NP", "DT", "NN"), ("VP", "VBZ", ("NP", ("NP", "NN"), end))),
    ]
    X = [("DT", "NN", "VBZ"), ("NN", "VBZ", "NN", "IN", "NN"), ("DT", "NN", "VBZ", "NN", "IN", "NN")]
    for problem in (Grammar(), Grammar(loss="zero_one"), Grammar(horizontal=1, spans=True)):
        train(problem, X, Y, ("n_slack",))


def boxes() -> None:
    """Both searches of boxes, and both chi-squared kernels."""
    rng = np.random.default_rng(0)
    X, Y = [], []
    for top in range(3):
        words = rng.integers(-1, 2, size=(5, 6))
        words[top : top + 2, 2:4] = 2
        X.append((words, np.array([[2, 2, 1]])))
        Y.append(np.array([[top, 2, top + 2, 4]]))
    for problem in (
        Localization(3, 2, "cell", scale=1.0),
        Localization(3, 2, search="branch_and_bound", scale=1.0),
    ):
        train(problem, X, Y, ("n_slack",))
        model = StructuredSVM(problem).fit(X, Y)
        problem.detect(model.scorer_, X[0], most=2)
    for kernel in (BoxChi2(n_words=3, levels=2), BoxChi2(n_words=3, levels=2, gamma=1.0)):
        train(Localization(3, levels=2), X, Y, ("n_slack",), kernel=kernel)


def strings() -> None:
    """Local alignment."""
    rng = np.random.default_rng(0)
    X = [(rng.integers(0, 4, 4), [rng.integers(0, 4, k) for k in (2, 3, 3)]) for _ in range(3)]
    train(Alignment(4), X, [(1, (0, 0, "MMDM"))] * 3)


def proteins() -> None:
    """Alignment of proteins, with few and with all features."""
    rng = np.random.default_rng(0)
    X = [
        Pair(rng.integers(0, 5, 4), rng.integers(0, 3, 4), rng.integers(0, 5, 4), rng.integers(0, 5, 3),
             rng.normal(size=(4, 20)), rng.normal(size=(3, 20)))
        for _ in range(3)
    ]  # fmt: skip
    for model in ("simple", "profile"):
        train(ProteinAlignment(model), X, [np.array([[0, 0], [2, 1]])] * 3, ("n_slack",))


def documents() -> None:
    """Subsets, greedy and exact."""
    subtopics = np.array([[True, False], [True, False], [False, True], [False, True]])
    indptr, items = np.array([0, 2, 4, 5, 7]), np.array([0, 1, 0, 1, 2, 2, 3])
    X = [Candidates(indptr, items, np.arange(8.0).reshape(4, 2) % k) for k in (2, 3)]
    for exact in (False, True):
        train(Diversity(2, K=2, exact=exact), X, [best_selection(x, subtopics, K=2) for x in X], ("n_slack",))


def samples() -> None:
    """Every measure, of dense and of sparse rows."""
    X, Y = rows()
    for measure in MEASURES:
        formulations = SCALINGS[:1] if measure == "roc_area" else SCALINGS
        for inputs in (X, sp.csr_matrix(X)):
            train(Measure(measure, k=3), inputs, np.where(Y == 0, 1, -1), ("n_slack",), formulations)


TRAININGS: dict[str, Callable[[], None]] = {
    function.__name__: function
    for function in (
        labelled_sequences,
        few_classes,
        trees,
        right_pairs,
        class_kernels,
        many_features,
        boxes,
        proteins,
        strings,
        samples,
        documents,
    )
}


def run(name: str) -> None:
    """Run one of the trainings; that they end early is what is wanted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        TRAININGS[name]()
