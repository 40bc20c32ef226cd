"""The named entity experiment: its baselines, its figures, and what its config asks of runs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import yaml
from nltk.probability import LidstoneProbDist
from nltk.tag.hmm import HiddenMarkovModelTrainer

from helpers.toy_project import HERE, project, run_all
from structmargin_suite.baselines import crf, hmm
from structmargin_suite.datasets import Examples, Split
from structmargin_suite.datasets import conll2002 as data
from structmargin_suite.methods import training
from structmargin_suite.methods.kinds import Trained
from structmargin_suite.methods.method import Method
from structmargin_suite.results import Results
from structmargin_suite.storage.csv_files import read_csv
from structmargin_suite.storage.frames import records


def spoken(n=40):
    arrays = data.synthesize(5, draw="random", n_sentences=n)
    return data.view(arrays, 2, features="words", folds=4, fold=1)


def test_the_hidden_markov_model_has_its_estimates_by_hand():
    X, Y = [np.array(["a", "b"]), np.array(["a"])], [np.array([0, 1]), np.array([0])]
    model = hmm.train(X, Y, seed=0, unknown="counted")
    assert np.exp(model.first) == pytest.approx([2.1 / 2.2, 0.1 / 2.2])
    assert np.exp(model.transitions[0]) == pytest.approx([0.1 / 1.2, 1.1 / 1.2])
    assert np.exp(model.transitions[1]) == pytest.approx([0.5, 0.5])
    assert np.exp(model.outputs) == pytest.approx(np.array([[2.1, 0.1], [0.1, 1.1]]) / [[2.2], [1.2]])
    assert np.exp(model.unseen) == pytest.approx([0.1 / 2.2, 0.1 / 1.2])
    assert list(model.predict([np.array(["a", "b"])])[0]) == [0, 1]


def test_unknown_words_counted_as_nltk_counts_them_give_nltks_own_labels():
    split = spoken()
    pairs = [list(zip(map(str, x), map(int, y), strict=True)) for x, y in zip(*split.train, strict=True)]
    symbols = sorted({word for sentence in pairs for word, _ in sentence})
    trainer = HiddenMarkovModelTrainer(sorted({tag for s in pairs for _, tag in s}), symbols)
    tagger = trainer.train_supervised(pairs, lambda counts, bins: LidstoneProbDist(counts, 0.1, bins))
    theirs = [[tag for _, tag in tagger.tag([str(word) for word in x])] for x in split.test.X]
    ours = hmm.train(*split.train, seed=0, unknown="counted").predict(split.test.X)
    assert [list(y) for y in ours] == theirs
    assert any(str(word) not in symbols for x in split.test.X for word in x)


def test_a_word_that_says_nothing_leaves_its_neighbours_to_decide():
    X = [np.array(["in", "Rome"]), np.array(["in", "Oslo"]), np.array(["go", "go"]), np.array(["go", "go"])]
    Y = [np.array([0, 1]), np.array([0, 1]), np.array([0, 0]), np.array([0, 0])]
    model = hmm.train(X, Y, seed=0, unknown="equal")
    assert np.array_equal(model.unseen, [0.0, 0.0])
    prior = model.transitions[0] - np.max(model.transitions[0])
    best = model.predict([np.array(["in", "never"])])[0][1]
    assert best == int(np.argmax(prior))


def test_rare_words_go_by_their_spelling():
    X = [np.array(["ver", "ver", name]) for name in ("Ana", "Eva", "Iris")] * 1
    Y = [np.array([0, 0, 1])] * 3
    model = hmm.train(X, Y, seed=0, unknown="spelled")
    assert set(model.words) == {"ver", "\0capital"}
    assert list(model.predict([np.array(["ver", "ver", "Zoe"])])[0]) == [0, 0, 1]
    kinds = {word: hmm.symbol(word)[1:] for word in ("IBM", "Ana", "casa", "1999", "B-52", "...")}
    assert list(kinds.values()) == ["capitals", "capital", "small", "digit", "digit", "punctuation"]


def test_the_random_field_finds_the_maximum_of_its_objective():
    """One token, one feature, two labels: the weights solve a scalar equation."""
    x = sp.csr_matrix([[1.0]])
    c2 = 0.5
    model = crf.train([x, x, x], [np.array([0]), np.array([0]), np.array([1])], seed=0, c2=c2)
    tagger = crf.pycrfsuite.Tagger()
    written = model.written.tobytes()
    tagger.open_inmemory(written)
    tagger.set(crf.items(x))
    odds = math.log(tagger.marginal("0", 0) / tagger.marginal("1", 0))
    half = odds / 2.0  # by symmetry the weights are half and -half
    assert 2.0 - 3.0 / (1.0 + math.exp(-odds)) == pytest.approx(2.0 * c2 * half, abs=1e-3)
    assert [list(y) for y in model.predict([x])] == [[0]]


def test_the_conditional_random_field_says_how_far_from_its_optimum_it_is():
    """The bound by the gradient holds wherever training is ended; at its own end it is far below 1%."""
    arrays = data.synthesize(6, draw="random", n_sentences=30)
    X, Y = data.view(arrays, 2, features="linear", folds=3, fold=0).train
    best = crf.train(X, Y, seed=0, c2=0.5).numbers
    assert best["converged"] and best["relative_gap"] < 1e-3
    for iterations in (1, 3, 10):
        early = crf.train(X, Y, seed=0, c2=0.5, iterations=iterations).numbers
        assert (early["n_iter"], early["converged"]) == (iterations, False)
        assert 0.0 < early["primal"] - best["primal"] <= early["gap"] * (1 + 1e-6)
    assert "gap" not in crf.train(X, Y, seed=0, c2=0.0, iterations=3).numbers  # then nothing bounds it


@pytest.mark.parametrize("module", [hmm, crf])
def test_stored_baselines_predict_the_same(module):
    features = "words" if module is hmm else "linear"
    arrays = data.synthesize(6, draw="random", n_sentences=30)
    split = data.view(arrays, 2, features=features, folds=3, fold=0)
    model = module.train(*split.train, seed=0)
    stored = model.to_arrays()
    assert not any(np.asarray(a).dtype.hasobject for a in stored.values())
    ours, again = model.predict(split.test.X), module.from_arrays(stored).predict(split.test.X)
    assert all(np.array_equal(a, b) for a, b in zip(ours, again, strict=True))
    assert data.score(split.test.Y, ours)["error"] < 25.0


def test_an_option_chosen_within_the_training_set_never_sees_the_test_set(monkeypatch):
    seen = []

    class Told:
        def __init__(self, level):
            self.level = level

        def predict(self, X):
            return [self.level] * len(X)

    def fit(method, split, seed, former=None):
        seen.append((method.option("level"), list(split.train.X)))
        return Trained(Told(method.option("level")))

    monkeypatch.setattr(training, "_fit", fit)
    split = Split(Examples(list(range(8)), [3.0] * 8), Examples([99], [1.0]))
    spec = {"choose": {"option": "level", "among": [1.0, 3.0, 5.0], "by": "inner_error"}}
    trained = training.train(Method.parse("m", spec), split, 0, lambda Y, P: {"error": abs(Y[0] - P[0])})
    assert trained.chosen["value"] == 3.0
    assert [level for level, _ in seen] == [1.0, 3.0, 5.0, 3.0]
    assert [len(X) for _, X in seen] == [6, 6, 6, 8] and all(99 not in X for _, X in seen)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The experiment itself, made tiny and on the stand-in, through every stage."""
    config = yaml.safe_load((HERE / "configs" / "ner.yaml").read_text(encoding="utf-8"))
    for corpus in config["data"].values():
        corpus.update(source="synthetic", n_sentences=10)
    config["data"]["more"]["n_test"] = 6
    for corpus in ("random-300", "first-300"):
        config["data"][corpus]["n_testa"] = 7
    for study in config["studies"].values():
        for key, values in (("repetition", 1), ("fold", 1), ("n_train", [5, 10])):
            if key in study["vary"]:
                study["vary"][key] = values
    for method in config["methods"].values():
        if "eps" in method:
            method["eps"] = 0.1
        if "choose" in method:
            method["choose"] = {**method["choose"], "among": method["choose"]["among"][:2]}
    config["scales"] = {"smoke": {}, "standard": {}, "paper": {}}
    root = project(tmp_path_factory.mktemp("ner"), config, "ner")
    run_all(root)
    return root, config


def test_every_run_is_done_and_says_that_its_data_are_synthetic(small):
    root, _ = small
    rows = read_csv(root / "results" / "ner" / "runs.csv")
    assert {row["status"] for row in rows} == {"done"}, [row["reason"] for row in rows if row["reason"]]
    assert all(row["data"].endswith("(synthetic)") for row in rows)
    views = {(row["method"], row["features"]) for row in rows}
    assert {("HMM", "words"), ("CRF", "linear"), ("SVM", "degree 2")} <= views


def test_tables_have_the_papers_keys_and_numbers_beside_ours(small):
    root, _ = small
    for table, wanted in (
        ("ner_methods", {("HMM", "token_error"): 9.36, ("SVM", "token_error"): 5.08}),
        ("ner_formulations", {("SVM2", "constraints"): 2824, ("SVM2 margin", "average_loss"): 1.17}),
    ):
        rows = read_csv(root / "results" / "ner" / f"{table}.csv")
        printed = {(row["method"], row["measure"]): row for row in rows}
        assert all(
            row["published"] == printed[row["method"], row["measure"]]["published"] for row in rows
        )  # whatever the reading
        for key, value in wanted.items():
            assert float(printed[key]["published"]) == value and float(printed[key]["value"]) >= 0.0
        papers = read_csv(Path(HERE) / "data" / "published" / f"{table}.csv")
        assert {(row["method"], row["measure"]) for row in papers} <= set(printed)


def test_measures_of_the_support_are_those_of_the_stored_model(small):
    root, _ = small
    mine = Results(root)["ner"]
    for one in records(mine.select("formulations")):
        losses = mine.model(one["run"]).fit_.support.losses
        assert one["average_loss"] == pytest.approx(np.mean(losses)) and one["average_loss"] >= 1.0
        assert one["support_at_one"] == pytest.approx(np.mean(losses == 1))
    runs = [
        records(mine.select("formulations", method="SVM2", reading=reading))[0]["run"]
        for reading in ("printed", "per example")
    ]
    n = len(mine.split(runs[0]).train.Y)
    assert [mine.record(run)["numbers"]["C"] for run in runs] == [1.0, n]


def test_every_model_is_also_tested_on_the_sentences_beside_its_fold(small):
    root, _ = small
    mine = Results(root)["ner"]
    seen = set()
    for one in records(mine.select(("methods", "methods, first", "formulations"))):
        beside = mine.split(one["run"]).beside["testa"]()
        yhat = mine.model(one["run"]).predict(beside.X)
        kept = mine.kept_predictions(one["run"])
        wrong = [int(np.sum(a != b)) for a, b in zip(beside.Y, yhat, strict=True)]
        assert kept["testa_wrong"].tolist() == wrong and kept["testa_tokens"].tolist() == list(
            map(len, beside.Y)
        )
        assert one["testa_error"] == pytest.approx(100.0 * sum(wrong) / sum(map(len, beside.Y)))
        seen.add(tuple(np.concatenate(beside.Y)))
    assert len(seen) == 1  # the same sentences for every draw


def test_readings_of_table_2_set_features_and_C(small):
    root, _ = small
    mine = Results(root)["ner"]
    runs = mine.select("methods", method="SVM").set_index("reading")
    assert runs["features"].to_dict() == {
        "degree 2": "degree 2", "linear": "linear", "C one": "degree 2", "C one over n": "degree 2",
    }  # fmt: skip
    n = len(mine.split(runs["run"].iloc[0]).train.Y)
    fixed = {reading: mine.record(runs.loc[reading, "run"])["numbers"]["C"] for reading in runs.index[2:]}
    assert fixed == {"C one": n, "C one over n": 1.0}


def test_every_figure_is_drawn_the_same_twice(small):
    root, config = small
    mine = Results(root)["ner"]
    before = {name: mine.figure(name).read_bytes() for name in config["figures"]}
    assert all(len(image) > 5000 for image in before.values())
    from structmargin_suite.figures import draw

    draw(mine, "support")
    assert mine.figure("support").read_bytes() == before["support"]
