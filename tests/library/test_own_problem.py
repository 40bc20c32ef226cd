"""A problem of one's own: four functions and nothing else, through the public door."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from helpers import references
from structmargin import StructuredSVM
from structmargin.formulation import FORMULATIONS
from structmargin.problem import Problem, best_of, top_of
from structmargin.solvers.olarank import OLaRank


class Ranking:
    """Put three items in order: Psi sums, over pairs ranked i before j, x_i - x_j; the loss counts swaps."""

    def psi(self, x, y):
        return sum(x[y[a]] - x[y[b]] for a in range(3) for b in range(a + 1, 3))

    def delta(self, y, ybar):
        place = {item: at for at, item in enumerate(ybar)}
        return sum(place[y[a]] > place[y[b]] for a in range(3) for b in range(a + 1, 3))

    def argmax(self, f, x):
        return max(permutations(range(3)), key=lambda y: f(x, y))

    def augmented_argmax(self, f, x, y, H):
        return max(permutations(range(3)), key=lambda ybar: H(self.delta(y, ybar), f(x, y) - f(x, ybar)))


def rankings() -> tuple[list[np.ndarray], list[tuple[int, ...]]]:
    rng = np.random.default_rng(0)
    w = np.array([1.0, -2.0, 0.5])
    X = [rng.normal(size=(3, 3)) for _ in range(12)]
    return X, [tuple(int(i) for i in np.argsort(-(x @ w + 0.3 * rng.normal(size=3)))) for x in X]


def test_it_is_a_problem() -> None:
    assert isinstance(Ranking(), Problem)


@pytest.mark.parametrize("solver", ["n_slack", "n_slack_a", "n_slack_b", "staged", "one_slack", "bcfw"])
@pytest.mark.parametrize("formulation", [name for name in FORMULATIONS if name != "SVM0"])
def test_every_solver_trains_it(formulation: str, solver: str) -> None:
    X, Y = rankings()
    model = StructuredSVM(Ranking(), formulation, solver, C=12.0, eps=1e-6, gap_tol=1e-4)
    if formulation.startswith("SVM2") and solver in ("one_slack", "bcfw"):
        with pytest.raises(ValueError, match=f"'{solver}'.*'{formulation}'"):
            model.fit(X, Y)
        return
    model.fit(X, Y)
    listed = references.constraints(Ranking(), X, Y, lambda x: permutations(range(3)))
    assert model.fit_.primal == pytest.approx(
        references.primal(formulation, 12.0, listed, len(Y)).value, rel=1e-4
    )
    assert model.fit_.relative_gap <= 1e-4
    assert model.score(X, Y) == -np.mean([Ranking().delta(y, yhat) for y, yhat in zip(Y, model.predict(X))])
    assert model.score(X, Y) > -0.5  # three swaps are possible; a fair coin would make 1.5


def test_the_perceptron_trains_it() -> None:
    X, Y = rankings()
    clean = [max(permutations(range(3)), key=lambda y: Ranking().psi(x, y) @ [1.0, -2.0, 0.5]) for x in X]
    model = StructuredSVM(Ranking(), solver="perceptron", max_iter=100).fit(X, clean)
    assert model.score(X, clean) > -0.2
    assert model.score(X, Y) <= 0.0


class Relevance:
    """Which of a list's items to show: the loss is how much less relevant it is than the best one."""

    def psi(self, x, y):
        return x["features"][y]

    def delta(self, x, y, ybar):
        return float(x["relevance"][y] - x["relevance"][ybar])

    def argmax(self, f, x):
        return top_of(f, x, range(len(x["relevance"])))

    def augmented_argmax(self, f, x, y, H):
        return best_of(self, f, x, y, H, range(len(x["relevance"])))


def test_a_loss_may_depend_on_the_input():
    rng = np.random.default_rng(0)
    X = [{"features": rng.normal(size=(4, 3)), "relevance": rng.permutation(4) / 3.0} for _ in range(12)]
    Y = [int(np.argmax(x["relevance"])) for x in X]
    for solver in ("n_slack", "n_slack_a", "staged", "one_slack", "bcfw", OLaRank(passes=1000), "perceptron"):
        model = StructuredSVM(Relevance(), solver=solver, C=5.0, gap_tol=1e-4).fit(X, Y)
        yhat = model.predict(X)
        by_hand = np.mean([x["relevance"].max() - x["relevance"][y] for x, y in zip(X, yhat)])
        assert model.score(X, Y) == pytest.approx(-by_hand)
        if solver != "perceptron":  # the primal, from all outputs of all examples
            w, xi = model.w_, np.zeros(len(X))
            for i, (x, y) in enumerate(zip(X, Y)):
                scores = x["features"] @ w
                xi[i] = max(x["relevance"][y] - x["relevance"] - scores[y] + scores)
            assert model.fit_.primal == pytest.approx(0.5 * w @ w + 5.0 * xi.mean(), rel=1e-9)


class FailsAt(Ranking):
    """Breaks at example 5: in the search, in the loss or the features of its answer, or by no answer."""

    def __init__(self, kind: str, y: object) -> None:
        self.kind, self.y = kind, y

    def psi(self, x, y):
        if self.kind == "psi" and y == "broken":
            raise KeyError(y)
        return super().psi(x, (0, 1, 2) if y == "broken" else y)

    def delta(self, y, ybar):
        if ybar == "broken":
            return {"array": np.ones(3), "none": None}.get(self.kind, 1.0)
        return super().delta(y, ybar)

    def augmented_argmax(self, f, x, y, H):
        if y is not self.y:
            return super().augmented_argmax(f, x, y, H)
        if self.kind == "search":
            raise KeyError("lost")
        return None if self.kind == "nothing" else "broken"


@pytest.mark.parametrize("solver", ["n_slack", "n_slack_a", "staged", "one_slack", "bcfw", "olarank"])
@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        ("search", KeyError, "lost"),
        ("psi", KeyError, "broken"),
        ("nothing", TypeError, "NoneType"),
        ("array", TypeError, r"delta of FailsAt returned array\(.*: a loss must be one number"),
        ("none", TypeError, "delta of FailsAt returned None: a loss must be one number"),
    ],
)
def test_an_error_in_a_function_names_the_example(
    kind: str, error: type[Exception], words: str, solver: str
) -> None:
    X, Y = rankings()
    with pytest.raises(error, match=words) as caught:
        StructuredSVM(FailsAt(kind, Y[5]), solver=solver).fit(X, Y)
    (note,) = caught.value.__notes__
    answer = {"search": "", "nothing": ", which returned None"}.get(kind, ", which returned 'broken'")
    assert note == f"raised in the search for example 5{answer}"


def test_score_takes_no_loss_of_several_numbers() -> None:
    X, Y = rankings()
    model = StructuredSVM(Ranking()).fit(X, Y)

    class Several(Ranking):
        def delta(self, y, ybar):
            return np.array([a != b for a, b in zip(y, ybar)])

    model.problem_ = Several()
    with pytest.raises(TypeError, match=r"delta of Several returned array\(") as caught:
        model.score(X, Y)
    assert caught.value.__notes__ == ["delta was asked for the loss of example 0"]
