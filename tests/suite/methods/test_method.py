"""A method of a config as one value: parsed from each kind of entry, changed, described, stored and
loaded."""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np
import pytest

from helpers.toy_project import HERE
from structmargin_suite.datasets import Examples, Split
from structmargin_suite.methods import certificate, hinge_certificate, jkse_certificate, training
from structmargin_suite.methods.choice import Choice
from structmargin_suite.methods.combinations import refusal
from structmargin_suite.methods.kinds import BaselineMethod, LibraryModel, kernel_of
from structmargin_suite.methods.method import Method

PROBLEM = {"name": "Multiclass", "n_classes": 3}
SVM = {
    "label": "Ours", "note": "As printed.", "published_as": "SVM", "formulation": "SVM1 margin",
    "solver": "bcfw", "C_per_example": 2.0, "eps": 0.1, "problem": {"loss": "tree"},
    "view": {"n_train": 5},
}  # fmt: skip
JKSE = {"model": "JKSE", "nu": 0.2, "kernel": {"name": "product", "kx": {"name": "linear"}}}
RIVAL = {"baseline": "linear_svm", "C": 3.0}


def test_a_structured_svm_has_the_shared_problem_with_its_own_on_top():
    method = Method.parse("ours", SVM, PROBLEM)
    assert method.baseline is None and method.choice is None and method.keeps_cuts
    assert (method.label, method.note, method.published_as) == ("Ours", "As printed.", "SVM")
    assert method.view == {"n_train": 5}
    assert method.library == LibraryModel(
        problem={"name": "Multiclass", "n_classes": 3, "loss": "tree"}, formulation="SVM1 margin",
        solver="bcfw", C_per_example=2.0, training={"eps": 0.1},
    )  # fmt: skip
    assert method.certificate is certificate.recomputed
    assert "structmargin.solvers.bcfw" in method.modules
    assert list(method.record) == ["formulation", "solver", "C_per_example", "eps", "problem"]


def test_jkse_has_a_kernel_a_certificate_of_its_own_and_no_solver():
    method = Method.parse("theirs", JKSE, PROBLEM)
    assert method.library is not None and method.library.estimator == "JKSE"
    assert method.library.formulation is None and method.library.training == {"nu": 0.2}
    assert method.certificate is jkse_certificate.recomputed
    assert "structmargin.jkse.trainers" in method.modules
    assert not any("solvers" in module for module in method.modules)
    assert (method.label, method.published_as, method.note) == ("theirs", "theirs", "")


def test_a_baseline_has_no_problem_and_certifies_where_it_can():
    method = Method.parse("rival", RIVAL, PROBLEM)
    assert method.kind == BaselineMethod("linear_svm", {"C": 3.0})
    assert method.library is None and method.option("problem") is None
    assert method.certificate is hinge_certificate.recomputed
    assert Method.parse("none", {"baseline": "hmm"}).certificate is None
    assert method.modules[1:] == ["structmargin_suite.baselines.linear_svm"]


def test_a_record_is_the_method_again():
    for given in (SVM, JKSE, RIVAL):
        method = Method.parse("m", given, PROBLEM)
        assert Method.from_record("m", method.record).kind == method.kind


def test_options_are_set_in_a_copy_and_C_has_one_value():
    method = Method.parse("ours", SVM, PROBLEM)
    changed = method.with_options({"C": 1.0, "problem.loss": "zero_one"})
    assert (changed.option("C"), changed.option("C_per_example")) == (1.0, None)
    assert changed.option("problem.loss") == "zero_one" and changed.option("problem.n_classes") == 3
    assert (method.option("C"), method.option("problem.loss")) == (None, "tree")
    assert dict(changed.options()) == {
        "formulation": "SVM1 margin", "solver": "bcfw", "eps": 0.1, "C": 1.0,
        "problem.n_classes": 3, "problem.loss": "zero_one",
    }  # fmt: skip


def test_a_choice_says_where_it_is_made_and_what_is_best():
    given = {"option": "solver_options.epochs", "among": [1, 2], "with": {"C": [0.1, 1.0]}, "by": "inner_{m}"}
    choice = Choice.parse({**given, "largest": True, "ties": "middle"})
    assert choice.in_training and choice.within_training_set and not choice.between_runs
    assert choice.measure_name({"m": "f1"}) == "inner_f1"
    assert choice.columns == {"solver_options.epochs": "epochs", "C": "C"}
    measured = {(1, 0.1): 5.0, (1, 1.0): 7.0, (2, 0.1): 7.0, (2, 1.0): 7.0}
    assert choice.best(measured) == (2, 1.0)  # the medians of both options
    assert Choice.parse({**given, "largest": True}).best(measured) == (1, 1.0)
    assert Choice.parse(given).best(measured) == (1, 0.1)
    assert Choice.parse({**given, "by": "test_error"}).between_runs
    described = Method.parse("m", {**RIVAL, "choose": given}).describe()
    assert described.endswith(
        "C 3.0, solver_options.epochs chosen among [1, 2] and C chosen among [0.1, 1.0] by inner_{m}"
    )


def test_an_option_that_a_choice_names_twice_is_a_fault():
    choose = {"option": "C", "among": [1.0], "with": {"C": [2.0]}, "by": "inner_error"}
    method = Method.parse("m", {**RIVAL, "choose": choose})
    assert [key for key, _ in method.faults()] == [("choose", "with")]
    with pytest.raises(ValueError, match="'C' is both the option of a choice and among its `with`"):
        _ = method.choice.candidates


@pytest.mark.parametrize("given", [SVM, JKSE, RIVAL])
def test_each_kind_trains_and_is_loaded_as_it_was_stored(given):
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    X = rng.normal(size=(30, 2)) + y[:, None]
    Y = 2 * y - 1 if given is RIVAL else y
    split = Split(Examples(X, Y), Examples(X, Y), problem={"n_features": 2})
    given = {key: value for key, value in given.items() if key != "problem"}
    method = Method.parse("m", given, {"name": "Multiclass", "n_classes": 2})
    trained = training.train(method, split, 0, lambda Y, P: {})
    again = method.from_arrays(method.to_arrays(trained.model))
    np.testing.assert_array_equal(again.predict(X), trained.model.predict(X))


def test_a_kernel_has_the_problems_parameters_unless_it_has_its_own():
    problem = {"n_words": 7, "levels": 2, "normalise": "none", "search": "scan"}
    kernel = kernel_of({"name": "box_chi2", "levels": 3}, problem)
    assert (kernel.n_words, kernel.levels, kernel.normalise) == (7, 3, "none")
    assert kernel_of({"name": "product", "kx": {"name": "rbf"}}, {"gamma": 5.0}).kx.gamma == 1.0
    model = LibraryModel({"name": "Localization"}, "JKSE", kernel={"name": "box_chi2"})
    assert refusal(model) == (None, None)
    assert "'gama'" in refusal(replace(model, kernel={"name": "box_chi2", "gama": 1.0})).unknown


def test_nobody_else_looks_into_a_methods_dictionary():
    """Keys that tell kinds of methods apart are asked for in methods/ alone."""
    words = {"baseline", "formulation", "choose", "keep_cuts", "published_as", "C_per_example"}
    strangers = []
    for path in sorted((HERE / "src" / "structmargin_suite").rglob("*.py")):
        if {"methods", "datasets", "baselines"} & set(path.parts):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            key: ast.AST | None = None
            if isinstance(node, ast.Subscript):
                key = node.slice
            elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
                key = node.left
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                key = node.args[0] if node.func.attr == "get" else None
            column = (
                isinstance(node, ast.Subscript) and ast.unparse(node.slice) == "'formulation'"
            )  # of a row
            if isinstance(key, ast.Constant) and key.value in words and not column:
                strangers.append(f"{path.name}:{node.lineno}: {ast.unparse(node)}")
    assert strangers == []
