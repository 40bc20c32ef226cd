"""The protein experiment: its rivals, the pipeline and figures."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from Bio.Align import substitution_matrices

from helpers.made_up_results import judgements
from helpers.protein_pairs import random_pair
from helpers.toy_project import HERE, project, run_all
from structmargin.oracles.chains import best_chain
from structmargin.problems import ProteinAlignment
from structmargin.problems.proteins.features import RESIDUES, Pair, places
from structmargin_suite.baselines import blosum, log_odds
from structmargin_suite.datasets import homstrad
from structmargin_suite.figures import proteins as figures
from structmargin_suite.figures._style import house
from structmargin_suite.results import Results
from structmargin_suite.storage.frames import records

MATRIX = substitution_matrices.load("BLOSUM62")


@pytest.mark.parametrize("costs", ["11/1/0", "2/0.5/0.25"])
def test_blosum_scores_as_our_own_search_does(costs):
    """Biopython's local alignment and the library's search agree in score, and ours is what ours says."""
    opened, more, shift = map(float, costs.split("/"))
    rng = np.random.default_rng(0)
    model = blosum.from_arrays(blosum.train([], [], seed=0, mode="local", costs=costs).to_arrays())
    for n, m in rng.integers(8, 40, size=(8, 2)):
        x = random_pair(rng, int(n), int(m))
        x.target[:5] = x.residue[:5]
        one, other = ("".join(RESIDUES[c] for c in part) for part in (x.residue, x.target))
        S = np.array([[MATRIX[a, b] + shift for b in other] for a in one])
        gaps = np.tile([-(opened + more), -more], (len(one), 2))
        value, _ = best_chain(S, gaps)
        assert model.aligner().score(one, other) == pytest.approx(value)
        chain = model.predict([x])[0]
        assert np.all(np.diff(chain, axis=0) > 0)
        steps = np.diff(chain, axis=0) - 1
        paid = sum((opened + more * k) for k in steps.ravel() if k)
        assert S[tuple(chain.T)].sum() - paid == pytest.approx(value)


def test_global_alignment_takes_the_ends_too():
    x = Pair(np.arange(10), np.zeros(10, int), np.zeros(10, int), np.r_[19, np.arange(1, 10)])
    local, whole = (blosum.BlosumAligner(mode, "11/1/0").predict([x])[0] for mode in ("local", "global"))
    assert local[0].tolist() == [1, 1]
    assert whole.tolist() == [[k, k] for k in range(10)]


def counted():
    """Two pairs of which all can be counted by hand: a gap in either chain, of two and of one residue."""
    one = Pair(
        np.array([0, 1, 2, 3, 0]), np.array([0, 0, 1, 1, 2]), np.array([0, 1, 2, 3, 4]), np.array([5, 6])
    )
    other = Pair(np.array([0, 1]), np.array([0, 0]), np.array([0, 1]), np.array([5, 7, 6]))
    return [one, other], [np.array([[0, 0], [3, 1]]), np.array([[0, 0], [1, 2]])]


def test_counts_and_log_odds_by_hand():
    X, Y = counted()
    counts = log_odds.match_counts(X, Y)
    assert counts.sum() == 4 == counts[:, :, :, 0].sum()  # nothing is known of the targets' structure
    assert counts[0, places(X[0])[0], 5, 0] == 2  # residue 0 in a buried helix beside residue 5, twice
    assert counts[3, places(X[0])[3], 6, 0] == counts[1, places(X[1])[1], 6, 0] == 1
    counts = counts.sum(axis=3)
    odds = log_odds.log_odds(counts, "residue")
    background = (counts.sum(axis=(0, 1)) + 1) / 24
    given = (2 + 20 * background[5]) / 22
    assert odds[0, 7, 5] == pytest.approx(np.log(given / background[5]))
    assert np.ptp(odds, axis=1).max() == 0.0  # the place does not matter
    both = log_odds.log_odds(counts, "structure")
    assert np.exp(both).shape == (20, 15, 20)
    np.testing.assert_allclose((np.exp(both) * background).sum(axis=2), 1.0)
    assert both[0, places(X[0])[0], 5] > both[0, places(X[0])[4], 5]
    gaps = np.exp(log_odds.gap_logs(X, Y))
    kinds = places(X[0])
    assert gaps[kinds[1], 0] == pytest.approx((1 + 1) / (2 + 2))  # begins once at two chances
    assert gaps[kinds[2], 1] == pytest.approx((1 + 1) / (2 + 2))  # goes on once, then could again
    assert gaps[kinds[0], 2] == pytest.approx((1 + 1) / (1 + 2))  # one residue put in after place 0
    assert gaps[kinds[0], 3] == pytest.approx((0 + 1) / (1 + 2))


def test_the_generative_model_predicts_by_its_weights():
    X, Y = counted()
    model = log_odds.from_arrays(log_odds.train(X, Y, seed=0, kinds="structure", costs="0.5/2").to_arrays())
    problem = ProteinAlignment("tensor")
    S, gaps = problem.potentials(model.w, X[0])
    counts = log_odds.match_counts(X, Y)
    odds = log_odds.log_odds(counts.sum(axis=3), "structure") + 2
    of_places = log_odds.place_odds(counts.sum(axis=0))[:, :, 0]
    expected = (odds[X[0].residue, places(X[0])] + of_places[places(X[0])])[:, X[0].target]
    np.testing.assert_allclose(S, expected)
    np.testing.assert_allclose(gaps, 0.5 * log_odds.gap_logs(X, Y)[places(X[0])])
    np.testing.assert_array_equal(model.predict(X)[0], best_chain(S, gaps)[1])


def test_structure_of_the_target_counts_by_hand():
    """Helix stands against helix and strand against strand, whatever the residues: only places tell."""
    rng = np.random.default_rng(0)
    state = rng.integers(0, 2, 400)
    x = Pair(
        rng.integers(0, 20, 400), state, np.zeros(400, int), rng.integers(0, 20, 400), None, None,
        state.copy(), np.zeros(400, int),
    )  # fmt: skip
    y = np.column_stack([np.arange(400)] * 2)
    counts = log_odds.match_counts([x], [y]).sum(axis=0)
    odds = log_odds.place_odds(counts)
    helix, strand, b = 0, 5, 3
    n = counts[helix, b, helix]
    alone = (counts.sum(axis=(0, 1)) + 1) / (400 + 15)
    given_residue = (counts[:, b].sum(axis=0) + 20 * alone) / (counts[:, b].sum() + 20)
    by_hand = (n + 20 * given_residue[helix]) / (n + 20) / given_residue[helix]
    assert odds[helix, b, helix] == pytest.approx(np.log(by_hand))
    assert (odds[helix, :, helix] > 0).all() and (odds[helix, :, strand] < 0).all()
    np.testing.assert_allclose(np.exp(odds[helix, b]) @ given_residue, 1.0)
    model = log_odds.train([x], [y], seed=0, kinds="structure", costs="1/0")
    blind = log_odds.train([x], [y], seed=0, kinds="residue", costs="1/0")
    problem = ProteinAlignment("tensor")
    same = state[:, None] == state[None]
    S = problem.potentials(model.w, x)[0]
    assert S[same].mean() > S[~same].mean() + 0.5
    S = problem.potentials(blind.w, x)[0]
    assert abs(S[same].mean() - S[~same].mean()) < 0.1


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The experiment itself on made-up families at its smallest."""
    config = yaml.safe_load((HERE / "configs" / "proteins.yaml").read_text(encoding="utf-8"))
    config["data"]["homstrad"] |= {"source": "synthetic", "n_families": 16, "per_family": 1, "longest": 120}
    config["data"]["homstrad"] |= {"folds": 2, "structure_folds": 2}
    config["studies"]["models"] = {"methods": [*figures.SHOWN, "BLOSUM62 tuned"], "vary": {"fold": 1}}
    config["studies"]["models"]["readings"] = ["predicted"]
    config["studies"]["template only"]["methods"] = ["generative", "Window"]
    config["jobs"] = {"by": []}
    named = {name for study in config["studies"].values() for name in study["methods"]}
    config["methods"] = {name: method for name, method in config["methods"].items() if name in named}
    for method in config["methods"].values():
        if "choose" in method:
            method["choose"] = {**method["choose"], "among": method["choose"]["among"][1:2]}
    config["scales"] = {"smoke": {}, "standard": {}, "paper": {}}
    root = project(tmp_path_factory.mktemp("proteins"), config, "proteins")
    run_all(root)
    return Results(root)


def test_every_run_is_done_and_certified(small):
    mine = small["proteins"]
    assert mine.summary["runs"] == {"done": 8, "skipped": 0, "failed": 0}  # two methods under two readings
    assert all(
        one["relative_gap"] <= 0.05 for one in records(mine.runs) if one.get("relative_gap") is not None
    )
    assert sum(one.get("relative_gap") is not None for one in records(mine.runs)) == 4
    table = {
        (r["method"], r["reading"] or "", r["measure"]): r["value"] for r in records(mine.table("proteins"))
    }
    for name, reading in (("BLOSUM62", ""), ("generative", "predicted"), ("Window", "template")):
        rows = records(mine.select(figures.STUDIES, method=name, reading=reading))
        assert table[name, reading, "q4"] == pytest.approx(np.mean([r["test_q4"] for r in rows]))
        run = rows[0]["run"]
        test = mine.split(run).test
        assert rows[0]["test_q4"] == pytest.approx(
            homstrad.q_scores(test.Y, mine.model(run).predict(test.X))[0].mean()
        )
    judged = judgements(small, "proteins", "protein-order", "protein-features")
    lines = {line["id"]: line for line in judged if line["primary"]}
    assert lines["protein-order-window-generative"]["n"] == len(set(test.Y.family))
    assert lines["protein-order-window-generative"]["verdict"] == "not testable"  # made-up families
    assert "there are none of Anova2" in lines["protein-features-interactions"]["evidence"]


def test_figures_show_the_runs(small):
    mine = small["proteins"]
    with house() as plt:
        fig = plt.figure()
        figures.q4_score(mine, fig)
        ax = fig.axes[0]
        names = mine.config["studies"]["models"]["methods"]
        dots = {}
        for container in ax.containers:
            x, y = container.lines[0].get_xydata()[0]
            dots[round(float(y), 2)] = float(x)
        for place, name in enumerate(names):
            for reading in mine.methods[name].readings or ("",):
                runs = mine.select(figures.STUDIES, method=name, reading=reading)
                if runs.empty:
                    continue
                at = place + (0.25 if reading == "template" else 0.0)
                assert dots.pop(at) == pytest.approx(runs["test_q4"].mean())
        assert not dots  # and there is no bar
        assert not ax.patches
        labels = [text.get_text() for text in ax.get_yticklabels()]
        assert [label.rpartition(" ")[2] for label in labels] == [
            "(400)",
            "(90,000)",
            "(844)",
            "(538,171)",
            "(538,201)",
            "(400)",
        ]
        plt.close(fig)
        runs = [figures._first(mine, name) for name in figures.SHOWN]
        assert all("template" not in run for run in runs)  # the primary reading
        for draw, test in (
            (figures.one_alignment, mine.split(runs[0]).test),
            (figures.one_alignment_made_up, figures.made_up_pairs()),
        ):
            fig = plt.figure()
            draw(mine, fig)
            assert len(fig.axes) == 6
            predicted = [mine.model(run).predict(test.X) for run in runs]
            e = figures.most_different_pair(test, [homstrad.q_scores(test.Y, yhat)[0] for yhat in predicted])
            for ax, chain in zip(fig.axes, [test.Y[e], *(yhat[e] for yhat in predicted)], strict=True):
                assert len(ax.lines) == 2 + len(chain)  # template, target, and a line for every match
            helices = sum(state == 0 for part in (test.X[e].state, test.X[e].target_state)
                          for state, _, _ in figures.runs_of(part))  # fmt: skip
            assert len(fig.axes[0].patches) == helices
            plt.close(fig)


def test_stretches_of_structure():
    assert figures.runs_of(np.array([0, 0, 2, 1, 1])) == [(0, 0, 2), (2, 2, 3), (1, 3, 5)]
