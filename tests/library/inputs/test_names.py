"""Labels of any hashable kind and features by name: learnt, returned as given, saved, mapped to rows."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from sklearn.base import clone
from sklearn.feature_extraction import DictVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score

from helpers.every_problem import LAMBDA, rows, sequences
from structmargin import JKSE, StructuredSVM
from structmargin.problems import Alignment, Multiclass, Sequence, Taxonomy
from structmargin.problems.taxonomy.taxonomies import node_features, tree_loss

X, NUMBERS = rows()
NAMES: dict[str, list[Any]] = {
    "texts": ["ant", "bee", "cat"],
    "numbers": [-7, 3, 40],
    "floats": [-0.5, 0.25, 1e300],
    "tuples": [("a", 1), ("a", 2), ("b", 0)],
    "mixed": ["z", None, (1, "a")],
    "mixed numbers": [1, 2.5, 3],
    "empty text": ["", "\0", "a"],
}
"""Three labels of each kind."""


def named(names: list[Any], numbers: Any = NUMBERS) -> list[Any]:
    return [names[k] for k in numbers]


def of_first_appearance(names: list[Any]) -> list[Any]:
    try:
        return sorted(names)
    except TypeError:
        return [names[k] for k in dict.fromkeys(NUMBERS)]


@pytest.mark.parametrize("estimator", [StructuredSVM, JKSE])
@pytest.mark.parametrize("kind", NAMES)
def test_labels_come_back_as_given(kind: str, estimator: Any, tmp_path: Path) -> None:
    names = NAMES[kind]
    Y = named(names)
    order = of_first_appearance(names)
    numbers = np.array([order.index(y) for y in Y])
    plain = estimator(Multiclass(3, 4)).fit(X, numbers)
    model = estimator(Multiclass()).fit(X, Y)
    assert model.w_.tobytes() == plain.w_.tobytes()
    model.save(tmp_path / "model.npz")
    for fitted in (model, estimator.load(tmp_path / "model.npz")):
        assert fitted.classes_.tolist() == order
        predictions = fitted.predict(X)
        assert isinstance(predictions, np.ndarray) and predictions.dtype == model.classes_.dtype
        assert predictions.tolist() == [order[k] for k in plain.predict(X)]
        assert list(map(type, predictions.tolist())) == [type(order[k]) for k in plain.predict(X)]
        assert fitted.score(X, Y) == plain.score(X, numbers)
    assert (fitted.problem_.n_classes, fitted.problem_.n_features) == (3, 4)


@pytest.mark.parametrize("dtype", ["<U5", object, np.int16, np.float32, bool, "datetime64[D]"])
def test_predictions_have_the_type_of_the_labels(dtype: Any) -> None:
    names = np.array([10, 0, 20]).astype(dtype)
    model = StructuredSVM(Multiclass()).fit(X, names[NUMBERS])
    assert model.predict(X).dtype == model.classes_.dtype == np.dtype(dtype)
    assert model.classes_.tolist() == sorted(set(names.tolist()))


@given(st.lists(st.integers(-2, 2), min_size=2, max_size=12), st.sampled_from([int, str, float, repr]))
@settings(max_examples=30)
def test_numbers_and_names_give_one_model(labels: list[int], kind: Any) -> None:
    inputs = np.vander(np.arange(len(labels)) / 4.0, 3)
    names = [kind(label) for label in labels]
    order = sorted(set(names))
    numbers = [order.index(name) for name in names]
    plain = StructuredSVM(Multiclass(len(order), 3)).fit(inputs, numbers)
    model = StructuredSVM(Multiclass()).fit(inputs, names)
    assert model.w_.tobytes() == plain.w_.tobytes()
    assert model.predict(inputs).tolist() == [order[k] for k in plain.predict(inputs)]


def test_sizes_alone_mean_whole_numbers_as_ever() -> None:
    model = StructuredSVM(Multiclass(n_classes=5, n_features=4)).fit(X, NUMBERS)
    assert model.classes_.tolist() == [0, 1, 2, 3, 4] and model.problem_ is model.problem
    only_classes = StructuredSVM(Multiclass(n_classes=5)).fit(X, NUMBERS)
    assert only_classes.problem_.n_features == 4 and only_classes.problem_.classes is None
    assert only_classes.w_.tobytes() == model.w_.tobytes()
    for bad, words in (([3.5, 0], "label 3.5 of example 0"), (["a", 0], "label 'a' of example 0")):
        with pytest.raises(ValueError, match=f"{words} is not an integer from 0 to 4.*classes="):
            StructuredSVM(Multiclass(n_classes=5)).fit(X[:2], bad)


COSTS = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [3.0, 4.0, 0.0]])


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 0, 2]])
def test_rows_of_a_loss_are_in_the_order_of_the_classes_given(order: list[int]) -> None:
    """Permuting names, rows and columns alike is the same problem: the same predictions, the same losses."""
    names = ["ant", "bee", "cat"]
    Y = named(names)
    plain = StructuredSVM(Multiclass(3, 4, loss=COSTS), C=0.1, eps=1e-4).fit(X, NUMBERS)
    permuted = Multiclass(loss=COSTS[np.ix_(order, order)], classes=named(names, order))
    model = StructuredSVM(permuted, C=0.1, eps=1e-4).fit(X, Y)
    assert model.classes_.tolist() == named(names, order)
    predictions = [names.index(y) for y in model.predict(X)]
    expected = -np.mean([COSTS[y, yhat] for y, yhat in zip(NUMBERS, predictions)])
    assert model.score(X, Y) == pytest.approx(expected)
    assert predictions == plain.predict(X).tolist()
    assert expected != -np.mean(NUMBERS != predictions)


def test_names_are_never_guessed_for_the_rows_of_a_matrix() -> None:
    with pytest.raises(ValueError, match=r"label 'ant' of example \d+ is not an integer .* classes="):
        StructuredSVM(Multiclass(loss=COSTS)).fit(X, named(["ant", "bee", "cat"]))
    with pytest.raises(ValueError, match=r"label 'ant' of example \d+ is not an integer .* classes="):
        StructuredSVM(Taxonomy(Lambda=LAMBDA)).fit(X, named(["ant", "bee", "cat"]))
    model = StructuredSVM(Multiclass(loss=COSTS)).fit(X, NUMBERS)
    assert model.problem_.n_classes == 3 and model.predict(X).dtype.kind == "i"


def test_leaves_of_a_taxonomy_by_name() -> None:
    parents = {"cat": "mammal", "dog": "mammal", "trout": "fish", "mammal": "animal", "fish": "animal"}
    leaves = ["trout", "dog", "cat"]  # not in order of the alphabet
    loss, (_, Lambda) = tree_loss(parents, leaves), node_features(parents, leaves)
    Y = named(leaves)
    model = StructuredSVM(Taxonomy(loss=loss, Lambda=Lambda, classes=leaves)).fit(X, Y)
    plain = StructuredSVM(Taxonomy(3, 4, loss=loss, Lambda=Lambda)).fit(X, NUMBERS)
    assert model.w_.tobytes() == plain.w_.tobytes()
    assert model.predict(X).tolist() == named(leaves, plain.predict(X))
    assert model.score(X, Y) == plain.score(X, NUMBERS)


@pytest.mark.parametrize("estimator", [StructuredSVM, JKSE])
def test_a_label_that_fit_has_not_met(estimator: Any) -> None:
    """It is wrong whatever is predicted, no model can learn from it, and it must be of the same kind."""
    Y = named(["ant", "bee", "cat"])
    later = [*Y[:3], "dog", *Y[4:]]
    words = r"the label of example 3 is none of the 3 classes that Multiclass knows: .*classes="
    for problem in (Multiclass(), Multiclass(classes=["ant", "bee", "cat"])):
        model = estimator(problem).fit(X, Y)
        wrong = [y != yhat for y, yhat in zip(later, model.predict(X))]
        assert wrong[3] and model.score(X, later) == -np.mean(wrong)
        with pytest.raises(ValueError, match=r"label 7 of example 3 is of type int, but .* such as 'ant'"):
            model.score(X, [*Y[:3], 7, *Y[4:]])
    with pytest.raises(ValueError, match=words):
        model.fit(X, later)
    if estimator is JKSE:
        with pytest.raises(ValueError, match=words):
            estimator(Multiclass()).fit(X, Y).add(X, later)
    costs = estimator(Multiclass(loss=COSTS, classes=["ant", "bee", "cat"])).fit(X, Y)
    with pytest.raises(ValueError, match=words):
        costs.score(X, later)


@pytest.mark.parametrize("loss", ["hamming", "hamming_normalised", "zero_one"])
def test_a_label_of_a_token_that_fit_has_not_met(loss: str) -> None:
    Y = [named(["ant", "bee", "cat"], y) for y in LABELS]
    model = StructuredSVM(Sequence(loss=loss)).fit(TOKENS, Y)
    later = [[*Y[0][:2], "dog"], *Y[1:]]
    losses = []
    for y, yhat in zip(later, model.predict(TOKENS)):
        wrong = sum(a != b for a, b in zip(y, yhat, strict=True))
        losses.append({"hamming": wrong, "hamming_normalised": wrong / len(y), "zero_one": wrong > 0}[loss])
    assert losses[0] > 0 and model.score(TOKENS, later) == pytest.approx(-np.mean(losses))
    with pytest.raises(ValueError, match="the label of token 2 of example 0 is none of the 3 labels"):
        StructuredSVM(Sequence(labels=["ant", "bee", "cat"])).fit(TOKENS, later)
    with pytest.raises(ValueError, match=r"label 1\.5 of token 2 of example 0 is of type float, but"):
        model.score(TOKENS, [[*Y[0][:2], 1.5], *Y[1:]])


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([0.0, np.nan], "label nan of example 1 names no class"),
        (np.array([np.inf, 0.0]), "label inf of example 0"),
        (np.array(["a", np.nan], dtype=object), "label nan of example 1"),
        (pd.Series([1, None], dtype="Int64"), "label (<NA>|nan) of example 1"),
        ([[1], [2, 3]], r"label \[1\] of example 0 names no class: a label must be hashable"),
        (np.zeros((2, 2)), r"Y must have one label per example, but is an array of shape \(2, 2\)"),
    ],
)
def test_what_is_no_label(labels: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        StructuredSVM(Multiclass()).fit(X[:2], labels)


def test_names_that_contradict_each_other() -> None:
    with pytest.raises(ValueError, match="classes has 2 labels, but n_classes is 3"):
        StructuredSVM(Multiclass(3, classes=["a", "b"])).fit(X, named(["a", "b", "b"]))
    with pytest.raises(ValueError, match="classes has 'a' twice, the second time as number 1"):
        StructuredSVM(Multiclass(classes=["a", "a"])).fit(X, ["a"] * 12)
    with pytest.raises(ValueError, match=r"labels must have shape \(3,\), but it has \(2,\)"):
        Sequence(3, labels=["a", "b"])
    with pytest.raises(ValueError, match="labels has 'a' twice"):
        StructuredSVM(Sequence(labels=["a", "a"])).fit([X], [["a"] * 12])
    for problem in (Multiclass(), Taxonomy(), Sequence()):
        with pytest.raises(ValueError, match="not known before `fit`, or `bind`"):
            problem.n_weights  # noqa: B018


def test_problems_without_class_labels_have_no_classes() -> None:
    model = StructuredSVM(Alignment(2))
    assert not hasattr(model, "classes_")
    x = (np.array([0, 1]), [np.array([0, 1]), np.array([1, 1])])
    assert not hasattr(model.fit([x], [(0, (0, 0, "MM"))]), "classes_")


def test_searches_and_copies_keep_names() -> None:
    Y = named(["ant", "bee", "cat"])
    model = StructuredSVM(Multiclass(classes=["cat", "bee", "ant"], loss=COSTS))
    assert clone(model).problem.classes == ["cat", "bee", "ant"]
    search = GridSearchCV(model, {"C": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert search.best_estimator_.classes_.tolist() == ["cat", "bee", "ant"]
    assert np.isfinite(cross_val_score(StructuredSVM(Multiclass()), X, Y, cv=2)).all()


# -- sequences ---------------------------------------------------------------------------------------

TOKENS, LABELS = sequences()
SENTENCES = [[{f"f{k}": value for k, value in enumerate(token) if value} for token in x] for x in TOKENS]


@pytest.mark.parametrize("estimator", [StructuredSVM, JKSE])
@pytest.mark.parametrize("kind", [kind for kind in NAMES if kind != "mixed"])
def test_labels_of_tokens_come_back_as_given(kind: str, estimator: Any, tmp_path: Path) -> None:
    names = sorted(NAMES[kind])
    Y = [named(names, y) for y in LABELS]
    plain = estimator(Sequence(3, 4)).fit(TOKENS, LABELS)
    model = estimator(Sequence()).fit(TOKENS, Y)
    assert model.w_.tobytes() == plain.w_.tobytes()
    model.save(tmp_path / "model.npz")
    for fitted in (model, estimator.load(tmp_path / "model.npz")):
        predictions = fitted.predict(TOKENS)
        assert predictions == [named(names, y) for y in plain.predict(TOKENS)]
        assert all(type(y) is list for y in predictions)
        assert fitted.score(TOKENS, Y) == plain.score(TOKENS, LABELS)
        assert fitted.classes_.tolist() == names


def test_arrays_of_labels_come_back_as_arrays() -> None:
    names = np.array(["ant", "bee", "cat"])
    model = StructuredSVM(Sequence()).fit(TOKENS, [names[y] for y in LABELS])
    for y, yhat in zip(
        StructuredSVM(Sequence(3, 4)).fit(TOKENS, LABELS).predict(TOKENS), model.predict(TOKENS)
    ):
        assert yhat.dtype == names.dtype and yhat.tolist() == names[y].tolist()


def test_masks_are_in_the_order_of_the_labels_given() -> None:
    """B may begin, I may not follow O: labels in an order that is not that of the alphabet."""
    labels = ["O", "B", "I"]
    allowed = [[True, True, False], [True, True, True], [True, True, True]]
    first = [True, True, False]
    X, Y = [np.eye(3)[[0, 2, 1, 2]]], [["O", "O", "B", "I"]]
    model = StructuredSVM(Sequence(labels=labels, allowed=allowed, first=first), C=100.0).fit(X, Y)
    assert model.predict(X) == [["O", "O", "B", "I"]]
    for yhat in model.predict([np.random.default_rng(0).normal(size=(30, 3)) for _ in range(5)]):
        assert all((a, b) != ("O", "I") for a, b in pairwise(yhat)) and yhat[0] != "I"
    assert model.score(X, [["I", "O", "B", "I"]]) == -1.0  # forbidden, but there is a loss
    with pytest.raises(ValueError, match="forbid the labels of example 0"):
        clone(model).fit(X, [["I", "O", "B", "I"]])
    with pytest.raises(ValueError, match=r"label O of token 0 of example 0 is no integer .* labels="):
        StructuredSVM(Sequence(first=first)).fit(X, Y)


@pytest.mark.parametrize("estimator", [StructuredSVM, JKSE])
def test_tokens_as_dictionaries(estimator: Any, tmp_path: Path) -> None:
    plain = estimator(Sequence()).fit([sp.csr_matrix(x) for x in TOKENS], LABELS)
    model = estimator(Sequence()).fit(SENTENCES, LABELS)
    assert model.problem_.features == ("f0", "f1", "f2", "f3")
    assert model.w_.tobytes() == plain.w_.tobytes()
    model.save(tmp_path / "model.npz")
    unknown = [[{**token, "new": 3, "word": "x"} for token in x] for x in SENTENCES]
    for fitted in (model, estimator.load(tmp_path / "model.npz")):
        for inputs in (SENTENCES, unknown):
            assert list(map(list, fitted.predict(inputs))) == list(map(list, plain.predict(TOKENS)))
        assert fitted.score(SENTENCES, LABELS) == plain.score(TOKENS, LABELS)


VALUES = st.one_of(
    st.text("ab", max_size=2), st.booleans(), st.integers(-3, 3), st.lists(st.sampled_from("xyz"))
)
TOKEN = st.one_of(
    st.dictionaries(st.sampled_from(["word", "cap", "len"]), VALUES), st.lists(st.sampled_from("pqr"))
)


@given(st.lists(st.lists(TOKEN, min_size=1, max_size=3), min_size=2, max_size=4))
@settings(max_examples=30)
def test_columns_are_those_of_scikit_learn(sentences: list[list[Any]]) -> None:
    """As if every token had gone through a DictVectorizer that was fitted on all of them."""
    Y = [["odd" if (i + t) % 2 else "even" for t in range(len(x))] for i, x in enumerate(sentences)]
    as_dictionaries = [
        [token if isinstance(token, dict) else dict.fromkeys(token, 1) for token in x] for x in sentences
    ]
    vectorizer = DictVectorizer().fit([token for x in as_dictionaries for token in x])
    if not vectorizer.feature_names_:
        with pytest.raises(ValueError, match="no example has a feature"):
            StructuredSVM(Sequence()).fit(sentences, Y)
        return
    model = StructuredSVM(Sequence()).fit(sentences, Y)
    plain = StructuredSVM(Sequence()).fit([vectorizer.transform(x) for x in as_dictionaries], Y)
    assert list(model.problem_.features) == vectorizer.feature_names_
    assert model.w_.tobytes() == plain.w_.tobytes()


def test_inputs_of_multiclass_as_dictionaries() -> None:
    inputs = [{f"f{k}": value for k, value in enumerate(x) if value} for x in X]
    plain = StructuredSVM(Multiclass()).fit(sp.csr_matrix(X), NUMBERS)
    for brought in (inputs, pd.Series(inputs, index=range(12)[::-1])):
        model = StructuredSVM(Multiclass()).fit(brought, NUMBERS)
        assert model.w_.tobytes() == plain.w_.tobytes()
        assert (
            model.predict([{"f0": 3.0, "strange": 1.0}]).tolist() == plain.predict([[3.0, 0, 0, 0]]).tolist()
        )


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ([[{"f0": 1}], TOKENS[0]], r"token 0 of example 1 is array\(.*features come by name"),
        ([[{"f0": 1}], ["Paris"]], "token 0 of example 1 is 'Paris', but features come by name"),
        (
            [[{"f0": 1}], [{"f0": {"a": 1}}]],
            r"feature 'f0' of token 0 of example 1 is \{'a': 1\}: give a number",
        ),
        ([[{"f0": 1}], [{"f0": np.nan}]], "x of example 1 has a NaN"),
        ([[{"f0": 1}], []], "x of example 1 has no tokens"),
    ],
)
def test_tokens_that_have_no_names(inputs: Any, words: str) -> None:
    model = StructuredSVM(Sequence()).fit(SENTENCES, LABELS)
    with pytest.raises(ValueError, match=words):
        model.predict(inputs)


def test_names_where_numbers_were_learnt() -> None:
    model = StructuredSVM(Sequence()).fit(TOKENS, LABELS)
    with pytest.raises(ValueError, match=r"token 0 of example 0 is {'f.*features have no names"):
        model.predict(SENTENCES)
    with pytest.raises(ValueError, match="token 0 of example 0 is the text 'Paris': give a dictionary"):
        model.predict([["Paris"]])
    with pytest.raises(ValueError, match=r"example 0 is {'f.*leave n_features out"):
        StructuredSVM(Multiclass(n_features=4)).fit(SENTENCES[0], LABELS[0])
