"""What no model can take is refused in one sentence that names the example: fit, predict, score and add."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from helpers import bad_examples
from helpers.data_kinds import KINDS, changed
from helpers.every_problem import example
from structmargin import JKSE, SearchError, StructuredSVM
from structmargin.adapted import adapt
from structmargin.kernels import LinearKernel, Product
from structmargin.problems import Multiclass, Sequence

ROWS = ("Multiclass", "Taxonomy", "Measure")


def fitted(name: str, estimator: Any = StructuredSVM) -> tuple[Any, Any, Any]:
    problem, X, Y, _ = example(name)
    return estimator(problem).fit(X, Y), X, Y


def refusals(model: Any, X: Any, Y: Any) -> list[str]:
    """What fit, predict and score say; add too, where there is one."""
    calls = [
        lambda: type(model)(model.problem).fit(X, Y),
        lambda: model.predict(X),
        lambda: model.score(X, Y),
    ]
    if hasattr(model, "add"):
        calls += [lambda: model.add(X, Y), lambda: model.score_samples(X, Y), lambda: model.is_novel(X, Y)]
    if adapt(model.problem).k_best is not None:
        calls += [lambda: model.k_best(X, 2), lambda: model.decision_function(X)]
    messages = []
    for call in calls:
        with pytest.raises((ValueError, TypeError)) as caught:
            call()
        messages.append(str(caught.value))
        assert "\n" not in messages[-1]
    return messages


def spoilt(X: np.ndarray, value: Any) -> np.ndarray:
    X = X.astype(type(value)) if isinstance(value, complex) else X.copy()
    X[2, 1] = value
    return X


class Rows:
    """Can be gone through, and nothing else."""

    def __init__(self, X: Any) -> None:
        self.X = X

    def __iter__(self) -> Any:
        return iter(self.X)


BAD_ROWS = {
    "NaN": (lambda X: spoilt(X, np.nan), "NaN or infinite feature"),
    "infinity": (lambda X: spoilt(X, -np.inf), "NaN or infinite feature"),
    "NaN in a list": (lambda X: spoilt(X, np.nan).tolist(), "NaN or infinite feature"),
    "sparse NaN": (lambda X: sp.coo_array(spoilt(X, np.nan)), "NaN or infinite feature"),
    "NaN in a frame": (lambda X: pd.DataFrame(spoilt(X, np.nan)), "NaN or infinite feature"),
    "NaN after a sum that overflows": (
        lambda X: spoilt(np.full_like(X, 1e308), np.nan),
        "NaN or infinite feature",
    ),
    "missing": (lambda X: pd.DataFrame(X).astype("Int64").where(X != X[2, 1]), "has the value <NA>"),
    "masked": (lambda X: np.ma.masked_array(X, X == 1), "masked array.*filled"),
    "complex": (lambda X: spoilt(X, 1j), "Complex data not supported"),
    "text": (
        lambda X: [[*row[:-1], "1"] for row in X.tolist()],
        "example 0 .*'1'.*number|row 0 .*'1'.*number",
    ),
    "texts": (lambda X: X.astype(str), "no numbers"),
    "ragged": (lambda X: [*X[:2].tolist(), [1.0], *X[3:].tolist()], r"2 of X has shape \(1,\)"),
    "one dimension": (lambda X: X[:, 0], "1 dimensions.*Reshape your data"),
    "three dimensions": (lambda X: X[:, :, None], "3 dimensions"),
    "no features": (lambda X: X[:, :0], r"0 feature(\(s\)|s, but)"),
    "an iterator": (lambda X: Rows(X), "X is of type Rows: give a list"),
    "a dictionary": (lambda X: dict(enumerate(X)), "X is of type dict: give a list"),
    "a text": (lambda X: "X", "X is of type str: give a list"),
    "a number": (lambda X: np.array(1.0), "X is a single value"),
    "None": (lambda X: None, "X is None"),
    "empty": (lambda X: X[:0], "empty|X has 0 examples"),
}


@pytest.mark.parametrize("estimator", [StructuredSVM, JKSE])
@pytest.mark.parametrize("kind", BAD_ROWS)
@pytest.mark.parametrize("name", ROWS)
def test_bad_rows_are_refused(name: str, kind: str, estimator: Any) -> None:
    model, X, Y = fitted(name, estimator)
    spoil, words = BAD_ROWS[kind]
    for message in refusals(model, spoil(X), Y):
        assert re.search(words, message), message
        if words.startswith("NaN"):
            assert "example 2" in message or "row 2" in message


@pytest.mark.parametrize("estimator", [StructuredSVM, JKSE])
@pytest.mark.parametrize("name", ROWS)
def test_width_and_length_must_agree(name: str, estimator: Any) -> None:
    model, X, Y = fitted(name, estimator)
    with pytest.raises(ValueError, match="3 features"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="3 features"):
        model.score(sp.csr_matrix(X[:, :3]), Y)
    for call in (model.fit, model.score):
        with pytest.raises(ValueError, match="X has 12 examples but Y has 5: each input needs one output"):
            call(X, Y[:5])
        with pytest.raises(ValueError, match="X has 5 examples but Y has 12"):
            call(X[:5], Y)
        with pytest.raises(ValueError, match="the target y is None"):
            call(X, None)
        with pytest.raises(ValueError, match="Y is a masked array"):
            call(X, np.ma.masked_array(Y, Y == 1))
        with pytest.raises(ValueError, match="set is empty: X and Y must hold"):
            call(X[:0], Y[:0])


@pytest.mark.parametrize(
    "names", [("Sequence", "Alignment", "Grammar"), ("Localization", "Diversity", "ProteinAlignment")]
)
def test_bad_inputs_are_refused_before_compiled_code_sees_them(names: tuple[str, ...]) -> None:
    """In a process of its own: an index out of range in compiled code may end the process."""
    assert set(names) <= set(bad_examples.INPUTS)
    code = (
        "import json, sys\n"
        f"sys.path.insert(0, {str(Path(bad_examples.__file__).parents[1])!r})\n"
        "from helpers.bad_examples import messages\n"
        f"json.dump([messages(name) for name in {names!r}], sys.stdout)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    for name, found in zip(names, json.loads(run.stdout), strict=True):
        wanted = [(kind, words) for kind, _, words in bad_examples.INPUTS[name]]
        wanted += [(kind, words) for kind, _, words in bad_examples.OUTPUTS[name]]
        assert [kind for kind, _ in found] == [kind for kind, _ in wanted]
        for (kind, said), (_, words) in zip(found, wanted, strict=True):
            for method, message in said.items():
                assert words in message and "example 1" in message, (name, kind, method, message)


def test_a_loaded_model_has_the_same_gate(tmp_path: Path) -> None:
    model, X, Y = fitted("Multiclass")
    model.save(tmp_path / "model.npz")
    loaded = StructuredSVM.load(tmp_path / "model.npz")
    assert refusals(loaded, spoilt(X, np.nan), Y) == refusals(model, spoilt(X, np.nan), Y)
    with pytest.raises(ValueError, match="X has 12 examples but Y has 5"):
        loaded.score(X, Y[:5])
    with pytest.raises(ValueError, match="label 3 of example 1 is not an integer from 0 to 2"):
        loaded.score(X, np.where(np.arange(12) == 1, 3, Y))


def test_right_outputs_that_training_refuses_may_still_be_scored() -> None:
    """A loss is all that `score` needs: unknown rules, forbidden labels and single candidates have one."""
    model, X, Y = fitted("Grammar")
    strange = [("S", ("NP", "DT"), ("VP", "NN", "VBZ")), *Y[1:]]
    with pytest.raises(ValueError, match="cannot derive the tree of example 0"):
        StructuredSVM(model.problem_).fit(X, strange)
    assert model.score(X, strange) == -np.mean(
        [model.problem.delta(y, yhat) for y, yhat in zip(strange, model.predict(X))]
    )
    model, X, Y = fitted("Alignment")
    single = [(x[0], [x[1][1]]) for x in X]
    with pytest.raises(ValueError, match="example 0 has no decoys"):
        StructuredSVM(model.problem).fit(single, [(0, y[1]) for y in Y])
    assert model.score(single, [(0, y[1]) for y in Y]) == 0.0
    model, X, Y = fitted("Measure")
    model.set_params(problem__measure="error_rate").fit(X, Y)
    positives = Y > 0
    assert model.score(X[positives], Y[positives]) == -np.mean(model.predict(X[positives]) < 0)


def test_only_weights_need_to_know_the_words_of_a_map() -> None:
    """Scores that come from elsewhere may be of any map; weights have an entry for each known word only."""
    model, X, _ = fitted("Localization")
    strange = (np.where(X[0][0] == 2, 10**9, X[0][0]), X[0][1])
    with pytest.raises(ValueError, match="this example has word 1000000000, but n_words is 3"):
        model.problem_.detect(model.scorer_, strange)

    class ByPlace:
        """The further down and right, the better."""

        def potentials(self, x: Any) -> np.ndarray:
            return np.arange(4.0 * 5.0)  # a box of 2 x 2 at each of 4 x 5 places

    assert model.problem_.detect(ByPlace(), strange, most=1).boxes.tolist() == [[3, 4, 5, 6]]


@pytest.mark.parametrize("column", [-1, 99, 10**8])
@pytest.mark.parametrize("name", ROWS)
def test_a_sparse_matrix_with_an_entry_outside_of_it(name: str, column: int) -> None:
    model, X, Y = fitted(name)
    bad = sp.csr_matrix(np.ones(np.shape(X)))
    n_columns = bad.shape[1]
    bad.indices[2 * n_columns + 1] = column
    sentence = f"row 2 of X has an entry in column {column}, but the sparse matrix has {n_columns} columns"
    assert all(message.startswith(sentence) for message in refusals(model, bad, Y))


def pointing_outside() -> dict[str, Any]:
    """Sparse matrices whose arrays were changed after they were made: scipy does not look again."""
    X = np.ones((12, 4))

    def changed(matrix: Any, part: str, place: Any, value: Any) -> Any:
        getattr(matrix, part)[place] = value
        return matrix

    coo = sp.coo_matrix(X)
    return {
        "csr falls": changed(sp.csr_matrix(X), "indptr", 3, 40),
        "csr begins late": changed(sp.csr_matrix(X), "indptr", 0, 2),
        "csr begins before": changed(sp.csr_matrix(X), "indptr", 0, -2),
        "csr ends late": changed(sp.csr_matrix(X), "indptr", -1, 10**6),
        "csc row": changed(sp.csc_array(X), "indices", 5, 12),
        "csc ends late": changed(sp.csc_matrix(X), "indptr", -1, 10**6),
        "bsr block": changed(sp.bsr_matrix(X, blocksize=(2, 2)), "indices", 1, 2),
        "bsr ends late": changed(sp.bsr_array(X, blocksize=(2, 2)), "indptr", -1, 10**6),
        "coo row": changed(coo, "row", 7, 10**6),
        "coo column": changed(sp.coo_array(X), "col", 7, -1),
        "lil column": changed(sp.lil_matrix(X), "rows", 2, [0, 1, 2, 99]),
    }


@pytest.mark.parametrize("kind", pointing_outside())
@pytest.mark.parametrize("name", ROWS)
def test_a_sparse_matrix_that_points_outside_of_itself(name: str, kind: str) -> None:
    for model, _, Y in (fitted(name), fitted(name, JKSE)):
        assert all(
            re.search("rebuild it with (scipy|the right shape)", message)
            for message in refusals(model, pointing_outside()[kind], Y)
        )


@pytest.mark.parametrize(
    ("solver", "kernel"),
    [
        *(
            (solver, None)
            for solver in ("n_slack", "n_slack_a", "n_slack_b", "staged", "one_slack", "bcfw", "olarank")
        ),
        ("n_slack", Product(LinearKernel())),
    ],
)
def test_features_whose_squares_overflow(solver: str, kernel: Any) -> None:
    """The compiled ascent would never end, and could not be interrupted."""
    X, Y = np.array([[1e160, 0.0], [0.0, 1e160], [-1e160, -1e160]]), np.array([0, 1, 2])
    with np.errstate(all="ignore"), pytest.raises(SearchError) as caught:
        StructuredSVM(Multiclass(3, 2), solver=solver, kernel=kernel).fit(X, Y)
    assert re.search(
        "joint features of .* scale the features|score of example .* not finite", str(caught.value)
    )


def test_tokens_that_are_texts() -> None:
    with pytest.raises(ValueError, match="token 0 of example 0 is the text 'Paris': give a dictionary"):
        StructuredSVM(Sequence()).fit([["Paris", "sleeps"]], [["N", "V"]])


@pytest.mark.parametrize("name", KINDS)
def test_masked_arrays_are_refused(name: str) -> None:
    """Around the examples, and inside of the second one: masked entries have no value."""
    problem, X, Y, _ = example(name)

    def masked(value: Any) -> Any:
        return changed(value, np.ma.masked_array)

    around = [np.ma.masked_array(np.fromiter(part, dtype=object, count=len(part))) for part in (X, Y)]
    spoilt = [(around[0], Y, "X is a masked array"), (X, around[1], "Y is a masked array")]
    if name not in ("Grammar", *ROWS):  # their inputs are texts, or rows of one matrix
        spoilt.append(([X[0], masked(X[1]), *X[2:]], Y, "example 1.* is a masked array"))
    if name in ("Sequence", "Localization", "Diversity", "ProteinAlignment"):
        spoilt.append((X, [Y[0], masked(Y[1]), *Y[2:]], "example 1.* is a masked array"))
    model, estimate = StructuredSVM(problem).fit(X, Y), JKSE(problem, nu=0.5).fit(X, Y)
    for inputs, outputs, words in spoilt:
        calls = [model.fit, model.score, estimate.fit, estimate.score, estimate.score_samples, estimate.add]
        if inputs is not X:
            calls += [lambda inputs, _: model.predict(inputs), lambda inputs, _: estimate.predict(inputs)]
        for call in calls:
            with pytest.raises(ValueError, match=words):
                call(inputs, outputs)
