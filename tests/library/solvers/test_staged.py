"""The schedule of the authors' program: which cut comes when, stage by stage, checked by hand."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from helpers.tables import Table
from helpers.toy_chain import ToyChain, chains
from structmargin import registry
from structmargin.formulation import FORMULATIONS
from structmargin.problems import Multiclass

PRICE = 30.0
"""C/n: so high that an example has a slack only where its own cuts cannot reach further."""

Output = tuple[float, float]
"""(Delta, g): deltaPsi of a wrong output is g times one coordinate, so its H is Delta - g w there."""


def example(coordinate: str, *outputs: Output) -> dict[str, np.ndarray]:
    """An input whose output 0 is the truth, with a feature vector of 0."""
    psi, loss = np.zeros((1 + len(outputs), 6)), np.zeros((1 + len(outputs), 1 + len(outputs)))
    for j, (delta, g) in enumerate(outputs, start=1):
        psi[j, "ABDEFG".index(coordinate)], loss[0, j] = -g, delta
    return {"psi": psi, "loss": loss}


PLAIN, TWO_STEPS, FINE, SMALL = (
    ((1.0, 1.0),),
    ((1.0, 1.0), (0.5, 0.3)),
    ((1.0, 1.0), (0.55, 0.5)),
    ((0.05, 1.0),),
)
PULLED = ((0.02, -0.07),)
"""H = .09 at w = 1, and .137 at w = 5/3."""
TEN = [
    example("A", *PLAIN),      # 0
    example("B", *TWO_STEPS),  # 1: after its first cut w_B = 1, and the second output has H = .5 - .3 = .2
    example("A", *PLAIN),      # 2
    example("A", *PLAIN),      # 3
    example("D", *FINE),       # 4: after its first cut w_D = 1, and the second output has H = .55 - .5 = .05
    example("E", *SMALL),      # 5: H = .05 at w = 0
    example("F", (1.0, 0.1)),  # 6: alpha reaches C/n = 30, so that w_F = 3 and its slack is 1 - .3 = .7
    example("B", *PULLED),     # 7
    example("A", (1.5, 1.0)),  # 8: H = 1.5 at w = 0, .5 at w_A = 1
    example("G", *PLAIN),      # 9
]  # fmt: skip


def trained(X: list[Any], eps: float = 0.01, **options: Any) -> Any:
    return registry.solver("staged", **options).train(
        Table(), (X, [0] * len(X)), FORMULATIONS["SVM1 margin"], C=PRICE * len(X), eps=eps
    )


def passes(fit: Any) -> list[tuple[float, int, list[tuple[int, float]]]]:
    """Of each pass: its precision, how many examples it searched, and (example, Delta) of its new cuts."""
    found, cuts, calls = [], 0, 0
    for row in fit.trace[:-1]:  # the last one is the certificate
        new = slice(cuts, int(row["constraints"]))
        added = list(zip(fit.state.block[new].tolist(), fit.state.loss[new].tolist(), strict=True))
        found.append((row["precision"], int(row["oracle_calls"]) - calls, added))
        cuts, calls = int(row["constraints"]), int(row["oracle_calls"])
    return found


def test_ten_examples_by_hand() -> None:
    """k = 3. A pass goes over those examples that gave a cut in the pass before, a round begins with all."""
    fit = trained(TEN, k=3)
    assert passes(fit) == [
        # Stage .1, round 1. At w = 0 the examples 0, 1 and 2 give three cuts; solved: w_A = w_B = 1.
        # So 3 has H = 0; 5 has .05 and 7 has .09. 4, 6 and then 8, with H = 1.5 - 1, are the next three;
        # solved: w_A = 1.5, w_D = 1, w_F = 3. 9 gives a cut, and the end of the pass solves for w_G = 1.
        (0.1, 10, [(0, 1.0), (1, 1.0), (2, 1.0), (4, 1.0), (6, 1.0), (8, 1.5), (9, 1.0)]),
        (0.1, 7, [(1, 0.5)]),  # of the seven; then w_B = 5/3. 6 has H = .7, which is its slack.
        (0.1, 1, []),  # now 7 would give a cut, with H = .137, but is left alone in this round
        (0.1, 10, [(7, 0.02)]),  # round 2; w_B stays: 7 has reached C/n and its slack is .137
        (0.1, 1, []),
        (0.1, 10, []),  # round 3 adds none, and n/100 is 0
        (0.01, 10, [(4, 0.55), (5, 0.05)]),  # stage .01, round 1: H = .05 both
        (0.01, 2, []),
        (0.01, 10, []),  # round 2 adds none: eps is reached
    ]
    assert (fit.n_iter, fit.n_constraints, fit.oracle_calls, fit.converged) == (9, 11, 61 + 10, True)
    assert fit.state.m == fit.n_constraints  # none was dropped
    # A, B, D, E, F, G: what each coordinate must be at least, but for half of eps
    np.testing.assert_allclose(fit.w, [1.5, 5 / 3, 1.1, 0.05, 3.0, 1.0], atol=0.005 / 0.3)


def test_ten_examples_with_the_usual_k() -> None:
    """100 cuts are more than a pass can add: w stays 0 throughout the first, so that 3 gives a cut too."""
    at_once = [(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0), (6, 1.0), (8, 1.5), (9, 1.0)]
    first = [(0.1, 10, at_once), (0.1, 8, [(1, 0.5)]), (0.1, 1, [])]
    assert passes(trained(TEN))[:3] == first
    assert passes(trained(TEN, k=10)) == passes(trained(TEN))  # ten examples give ten cuts at most
    # with k = 1, w is solved before 2, which then has H = 0
    assert passes(trained(TEN, k=1))[0][2] == [(0, 1.0), (1, 1.0), (4, 1.0), (6, 1.0), (8, 1.5), (9, 1.0)]


def test_the_qp_is_solved_after_exactly_k_cuts() -> None:
    """With k = 2 the second and third example give the two cuts, and from then on w_A = 1 and H = 0."""
    fit = trained([example("E", *SMALL), *[example("A", *PLAIN)] * 4], k=2)
    assert passes(fit)[0] == (0.1, 5, [(1, 1.0), (2, 1.0)])


@pytest.mark.parametrize(
    ("options", "precisions"),
    [
        ({"eps": 0.01}, [0.1, 0.01]),
        ({"eps": 0.003}, [0.1, 0.01, 0.003]),
        ({"eps": 1e-6}, [0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6]),  # none twice by rounding
        ({"eps": 0.1}, [0.1]),
        ({"eps": 0.4}, [0.4]),
        ({"eps": 0.01, "stages": [0.01]}, [0.01]),
        ({"eps": 0.01, "stages": [0.5, 0.2]}, [0.5, 0.2, 0.02, 0.01]),
    ],
)
def test_stages(options: dict[str, Any], precisions: list[float]) -> None:
    fit = trained(TEN, **options)
    assert list(dict.fromkeys(precision for precision, _, _ in passes(fit))) == precisions


@pytest.mark.parametrize(("pulled", "n_passes"), [(2, 5), (3, 6)])
def test_a_round_that_adds_at_most_one_cut_per_hundred_examples_ends_its_stage(
    pulled: int, n_passes: int
) -> None:
    """Of 250 examples, `pulled` give a cut in the second round: 2 are few, and after 3 there is a third."""
    X = [example("B", *TWO_STEPS), *[example("B", *PULLED)] * pulled, example("D", *FINE)]
    fit = trained(X + [example("G", (0.0, 0.0))] * (250 - len(X)))
    of_stage = [(searched, len(cuts)) for precision, searched, cuts in passes(fit) if precision == 0.1]
    round_1, round_2 = [(250, 2), (2, 1), (1, 0)], [(250, pulled), (pulled, 0)]
    assert of_stage == [*round_1, *round_2, (250, 0)][:n_passes]
    # at the last stage a round that adds one cut is followed by another
    of_stage = [(searched, len(cuts)) for precision, searched, cuts in passes(fit) if precision == 0.01]
    assert of_stage == [(250, 1), (1, 0), (250, 0)]


@pytest.mark.parametrize("formulation", [name for name in FORMULATIONS if name != "SVM0"])
@pytest.mark.parametrize("seed", range(4))
def test_eps_is_met_over_all_cuts_held(formulation: str, seed: int) -> None:
    """No H above the slack of the cuts held by more than eps; these solved to a violation of eps / 2."""
    rng = np.random.default_rng(seed)
    X, Y, eps, C = rng.normal(size=(40, 3)), rng.integers(4, size=40), 0.02, 40.0
    loss = rng.choice([0.25, 1.0, 3.0], size=(4, 4)) * (1 - np.eye(4))
    problem = Multiclass(4, 3, loss=loss)
    fit = registry.solver("staged", k=7).train(problem, (X, Y), FORMULATIONS[formulation], C=C, eps=eps)
    assert fit.converged and fit.exact
    assert np.all(fit.xi <= fit.state.xi + eps + 1e-9)
    assert fit.state.violation <= eps / 2 * (1 + 1e-6)
    assert fit.state.m == fit.n_constraints
    if formulation.startswith("SVM1"):  # eps on every slack, and the violation of every block times its cap
        assert fit.gap <= 1.5 * C * eps


def test_with_gap_tol_stages_go_on_until_it_is_certified() -> None:
    fits = {tol: self_certified(tol) for tol in (0.5, 1e-3, 1e-7)}
    stages = {
        tol: list(dict.fromkeys(row["precision"] for row in fit.trace[:-1])) for tol, fit in fits.items()
    }
    assert stages[0.5] == [0.1] and len(stages[1e-3]) < len(stages[1e-7])
    assert stages[1e-7][:5] == [0.1, 0.01, 0.001, 1e-4, 1e-5]
    for tol, fit in fits.items():
        assert fit.converged and fit.relative_gap <= tol
        certified = [row["precision"] for row in fit.trace[:-1] if "primal" in row]
        assert list(dict.fromkeys(certified)) == stages[tol]  # a search at the end of each stage


def self_certified(gap_tol: float) -> Any:
    X, Y = chains(8, 3, 2, noise=0.5, seed=1)
    problem = ToyChain(n_labels=3)
    return registry.solver("staged", k=2).train(
        problem, (X, Y), FORMULATIONS["SVM2 slack"], C=10.0, gap_tol=gap_tol
    )


def test_the_loop_is_timed_without_what_comes_before_and_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that only the problem moves: by 50 for a loss before the first search, by 1 for a search."""

    class Clock(ToyChain):
        now, searching = 0.0, False

        def delta(self, y: Any, ybar: Any) -> float:
            Clock.now += 0.0 if Clock.searching else 50.0
            return super().delta(y, ybar)

        def augmented_argmax(self, f: Any, x: Any, y: Any, H: Any) -> Any:
            Clock.searching = True
            Clock.now += 1.0
            return super().augmented_argmax(f, x, y, H)

    monkeypatch.setattr(time, "process_time", lambda: Clock.now)
    X, Y = chains(8, 2, 2, noise=0.5, seed=1)
    for solver in ("staged", "n_slack_b", "n_slack"):
        Clock.searching = False
        fit = registry.solver(solver).train(Clock(), (X, Y), FORMULATIONS["SVM1 margin"], C=5.0, eps=0.1)
        in_loop = fit.trace[-2]["oracle_calls"]
        assert fit.oracle_calls == in_loop + 8
        assert fit.seconds_loop == in_loop and fit.seconds_search == in_loop + 8
        assert fit.seconds > fit.seconds_loop + 8 * 50  # a loss of each truth is looked at before


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"k": 0}, "k of solver 'staged' must be a whole number, 1 or larger, not 0"),
        ({"k": 1.5}, "k of solver 'staged' must be a whole number, 1 or larger, not 1.5"),
        ({"stages": []}, r"stages of solver 'staged' must be a list of numbers, not \[\]"),
        ({"stages": 0.1}, "stages of solver 'staged' must be a list of numbers, not 0.1"),
        ({"stages": [0.1, -1.0]}, "each of the stages of solver 'staged' must be a finite number above 0"),
        ({"stages": [0.1, 0.1]}, r"stages of solver 'staged' must fall, but they are \[0.1, 0.1\]"),
        ({"stage": [0.1]}, "unknown option of solver 'staged': 'stage' .did you mean 'stages'"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        registry.solver("staged", **options)
