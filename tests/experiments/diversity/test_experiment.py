"""Diversified results: rivals, the small experiment and its figures."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import yaml

from helpers.made_up_results import judgements
from helpers.toy_project import HERE, project, run_all
from structmargin.problems.diversity.problem import best_selection, missed
from structmargin_suite.analysis.experiments import diversity as analysis
from structmargin_suite.baselines import okapi, random_subset, word_coverage
from structmargin_suite.datasets import _subtopics
from structmargin_suite.figures import diversity as figures
from structmargin_suite.figures._style import house
from structmargin_suite.results import Results
from structmargin_suite.storage.frames import frame_of, records

METHODS = ("structural SVM", "coverage heuristic", "random", "Okapi", "unweighted words")


def query(counts, words=(0,)):
    text = sp.csr_matrix(np.array(counts))
    return _subtopics.query_of(text, text, np.array(words), "q")


def test_okapi_is_its_formula():
    train = [query([[1, 0, 2], [0, 1, 0]]), query([[1, 1, 1], [0, 0, 3]])]
    Y = [best_selection(x, np.ones((2, 1), bool), 1) for x in train]
    model = okapi.train(train, Y, seed=0)
    x = query([[3, 0, 1], [1, 4, 0], [0, 1, 1]], words=(0, 2))

    def bm25(c, length, N_v, N=4, mean=2.5):
        return np.log(1 + (N - N_v + 0.5) / (N_v + 0.5)) * c * 2.2 / (c + 1.2 * (0.25 + 0.75 * length / mean))

    want = [bm25(3, 4, 2) + bm25(1, 4, 3), bm25(1, 5, 2), bm25(1, 2, 3)]
    np.testing.assert_allclose(model.scores(x), want)
    assert model.predict([x])[0].documents.tolist() == [int(np.argmax(want))]
    np.testing.assert_allclose(okapi.from_arrays(model.to_arrays()).scores(x), want)


def test_word_coverage_weighs_by_its_rule():
    x = query([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1], [1, 1, 0, 0]])
    for rule, want in {
        "unweighted": [1, 1, 1, 1],
        "entropy": [0, 0.5, 0.5, 0.5],
        "rare": [0, 1, 2, 2],
        "variance": [0, 0.25, 3 / 16, 3 / 16],
    }.items():
        np.testing.assert_allclose(word_coverage.coverage_of(x, rule)[2], want)
        y = best_selection(x, np.ones((4, 1), bool), 1)
        model = word_coverage.from_arrays(word_coverage.train([x], [y], seed=0, rule=rule).to_arrays())
        first = {"unweighted": 0, "entropy": 0, "rare": 1, "variance": 0}[rule]
        assert model.predict([x])[0].documents.tolist() == [first]


def test_random_subsets_follow_from_the_seed():
    x = query(np.ones((9, 2), int))
    y = best_selection(x, np.ones((9, 1), bool), 4)
    models = [random_subset.train([x], [y], seed=seed) for seed in (1, 1, 2)]
    a, b, c = (model.predict([x])[0].documents.tolist() for model in models)
    assert a == b != c and len(set(a)) == 4
    assert random_subset.from_arrays(models[0].to_arrays()).predict([x])[0].documents.tolist() == a


# ---- the whole experiment ----


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The experiment itself on made-up queries at its smallest."""
    config = yaml.safe_load((HERE / "configs" / "diversity.yaml").read_text(encoding="utf-8"))
    del config["data"]["reuters-places"], config["data"]["reuters-without-usa"]
    config["studies"]["sizes"]["data"] = ["AMBIENT", "collection"]
    config["data"]["AMBIENT"] |= {"source": "synthetic", "queries": 8}
    config["data"]["collection"] |= {"queries": 8, "documents": 15, "length": 20}
    config["methods"]["structural SVM"]["choose"]["among"] = [10.0, 1000.0]
    for study in config["studies"].values():
        study["vary"]["round"] = 4
    config["studies"]["everything"]["vary"]["round"] = 1
    config["studies"]["sizes"]["vary"] |= {"K": [2, 5], "round": 1}
    config["jobs"] = {"by": []}
    config["scales"] = {"smoke": {}, "standard": {}, "paper": {}}
    root = project(tmp_path_factory.mktemp("diversity"), config, "diversity")
    run_all(root)
    return Results(root)


def test_the_table_has_every_method_and_nothing_is_certified(small):
    mine = small["diversity"]
    assert mine.summary["runs"]["failed"] == mine.summary["runs"]["skipped"] == 0
    table = {(r["corpus"], r["method"], r["measure"]): r["value"] for r in records(mine.table("diversity"))}
    for corpus in ("AMBIENT", "collection"):
        assert len({table[corpus, name, "best"] for name in METHODS}) == 1
        assert all(
            table[corpus, name, "best"] <= table[corpus, name, "subtopic_loss"] + 1e-9 for name in METHODS
        )
    for one in records(mine.select("figure_4", method="structural SVM")):
        assert one["exact"] is False and one.get("gap") is None
        split = mine.split(one["run"])
        found = mine.model(one["run"]).predict(split.test.X)
        raw = [missed(y, s.documents) for y, s in zip(split.test.Y, found)]
        assert one["test_subtopic_loss"] == pytest.approx(np.mean(raw))


def of_statement(results, name):
    return [line for line in judgements(results, "diversity") if line["id"] == name]


def test_the_bound_of_greedy_is_measured_on_trained_models(small):
    for line in of_statement(small, "greedy-bound-holds"):
        assert line["verdict"] == "reproduced", line
        assert "with learnt benefits at least" in line["evidence"] and "falls short" in line["evidence"]


def test_a_greedy_search_below_its_bound_is_found_out(small, monkeypatch):
    def worst(indptr, items, worth, K):
        values = [worth[items[indptr[d] : indptr[d + 1]]].sum() for d in range(len(indptr) - 1)]
        return np.full(K, int(np.argmin(values)))

    monkeypatch.setattr(analysis, "greedy", worst)
    assert {line["verdict"] for line in of_statement(small, "greedy-bound-holds")} == {"contradicted"}
    made_up = {line["effect"] for line in of_statement(small, "greedy-bound-good")}
    assert max(made_up) < 0.816


def test_words_and_subtopics_of_trained_queries(small):
    for name in ("diversity-words-cover", "diversity-together-more"):
        for line in of_statement(small, name):
            assert -1.0 <= line["low"] <= line["effect"] <= line["high"] <= 1.0
    assert all(line["effect"] > 0.0 for line in of_statement(small, "diversity-together-more"))


@pytest.mark.parametrize("n", [1, 3, 4, 5])
def test_labels_of_panels_have_room_beside_each_other(n):
    names = [f"collection {k}" for k in range(n)]
    runs = frame_of([{"run": name, "corpus": name, "data": name} for name in names])
    weights = np.linspace(-1.0, 1.0, len(_subtopics.LEVELS) * len(_subtopics.THRESHOLDS))
    results = SimpleNamespace(select=lambda *a, **k: runs, model=lambda run: SimpleNamespace(w_=weights))
    with house() as plt:
        fig = plt.figure(layout="constrained")
        figures.worth(results, fig)
        fig.canvas.draw()
        boxes = [ax.xaxis.label.get_window_extent() for ax in fig.axes]
        plt.close(fig)
    assert len(boxes) == n
    assert not [pair for pair in itertools.combinations(boxes, 2) if pair[0].overlaps(pair[1])]


def test_figures_show_the_runs(small):
    mine = small["diversity"]
    with house() as plt:
        fig = plt.figure()
        figures.figure_4(mine, fig)
        pairs = mine.pairs("figure_4")
        assert [reading for name, reading in pairs if reading] == ["entropy", "variance", "rare"]
        bars = [patch.get_width() for patch in fig.axes[0].patches[: len(pairs)]]
        want = [
            mine.select("figure_4", corpus="AMBIENT", method=name, reading=reading)[
                "test_subtopic_loss"
            ].mean()
            for name, reading in pairs
        ]
        assert bars == pytest.approx(want)
        plt.close(fig)
        fig = plt.figure()
        figures.sizes(mine, fig)
        assert fig.axes[0].lines[0].get_xdata().tolist() == [2.0, 5.0] and len(fig.axes[0].lines) == 6
        plt.close(fig)
        _, y, each, together = figures.example_query(mine)
        assert missed(y, together) <= missed(y, each)
        fig = plt.figure()
        figures.figure_3(mine, fig)
        labels = [text.get_text() for text in fig.axes[0].get_yticklabels()]
        assert labels[3] == f"most each: {100 * (1 - missed(y, each)):.0f}%"
        assert labels[7] == f"most together: {100 * (1 - missed(y, together)):.0f}%"
        plt.close(fig)
        fig = plt.figure()
        figures.worth(mine, fig)
        assert np.abs([line.get_ydata() for line in fig.axes[0].lines[:3]]).max() == pytest.approx(1.0)
        plt.close(fig)
