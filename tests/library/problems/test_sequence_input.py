"""`Sequence` and bad input: examples and parameters that cannot be are named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from structmargin.formulation import FORMULATIONS
from structmargin.problems.sequence.problem import Sequence
from structmargin.scorer import LinearScorer

L, D = 3, 2


GOOD = (np.ones((2, D)), np.array([0, 1]))
BAD = {
    "features": (np.ones((2, D + 1)), np.array([0, 1]), "x of example 1 must be a "),
    "rank": (np.ones(D), np.array([0]), "x of example 1 must be a "),
    "list": ([[1.0, 2.0]], np.array([0]), "x of example 1 must be a "),
    "empty": (np.ones((0, D)), np.zeros(0, dtype=int), "x of example 1 has no tokens"),
    "nan": (np.full((2, D), np.nan), np.array([0, 1]), "x of example 1 has a NaN or infinite feature"),
    "inf": (sp.csr_matrix([[0.0, np.inf]]), np.array([0]), "x of example 1 has a NaN or infinite feature"),
    "ragged": (np.ones((2, D)), np.array([0]), "example 1 has 2 tokens, but labels of shape"),
    "large": (np.ones((2, D)), np.array([0, L]), "label 3 of token 1 of example 1 is no integer from 0 to 2"),
    "negative": (np.ones((2, D)), np.array([-1, 0]), "label -1 of token 0 of example 1"),
    "fraction": (np.ones((2, D)), np.array([0.5, 0]), "label 0.5 of token 0 of example 1"),
    "names": (np.ones((2, D)), np.array(["a", "b"]), "label a of token 0 of example 1 is no integer"),
    "nan label": (np.ones((2, D)), np.array([0, np.nan]), "label nan of token 1 of example 1"),
}


@pytest.mark.parametrize(("x", "y", "message"), BAD.values(), ids=BAD)
def test_bad_examples_are_named(x: Any, y: Any, message: str) -> None:
    problem = Sequence(L, D)
    with pytest.raises(ValueError, match=message):
        problem.check([GOOD[0], x], [GOOD[1], y])
    with pytest.raises(ValueError, match=message):
        problem.batch([GOOD[0], x], [GOOD[1], y])


def test_forbidden_truths_are_named_and_inputs_without_output_refused() -> None:
    x = np.ones((2, D))
    masks: list[dict[str, Any]] = [
        {"allowed": [[True, False], [True, True]]},
        {"first": [False, True]},
        {"final": [True, False]},
    ]
    for mask in masks:
        with pytest.raises(ValueError, match="forbid the labels of example 1"):
            Sequence(2, D, **mask).check([x, x], [np.array([1, 0]), np.array([0, 1])])
    stuck = Sequence(2, D, first=[True, False], final=[False, True], allowed=[[True, False], [True, True]])
    with pytest.raises(ValueError, match="no labelling of sequence 0 has a finite score"):
        stuck.argmax(LinearScorer(stuck, np.zeros(stuck.n_weights)), x)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_labels": 0}, "n_labels and n_features must be at least 1"),
        ({"loss": "squared"}, "loss must be one of hamming, hamming_normalised, zero_one"),
        ({"eta": -1.0}, "eta must be finite and at least 0"),
        ({"eta": np.nan}, "eta must be finite and at least 0"),
        ({"window": 1.5}, "window must be an integer"),
        ({"allowed": [[True, False]]}, r"allowed must have shape \(3, 3\), but it has \(1, 2\)"),
        ({"first": [True]}, r"first must have shape \(3,\)"),
        ({"n_features": 2**30}, "weights are too many"),
    ],
)
def test_bad_parameters_are_named(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sequence(**{"n_labels": L, "n_features": D, **params})


def test_lengths_must_agree() -> None:
    problem = Sequence(L, D)
    with pytest.raises(ValueError, match="labellings of 2 and 3 labels cannot be compared"):
        problem.delta(np.array([0, 1]), np.array([0, 1, 2]))
    with pytest.raises(ValueError, match="w has 3 weights, but this problem has 15"):
        problem.potentials(np.zeros(3), np.ones((2, D)))


@pytest.mark.parametrize("extension", [{}, {"triplets": True}, {"input_transitions": True}])
def test_a_sequence_of_length_0_is_refused_by_both_searches(extension: dict[str, Any]) -> None:
    problem = Sequence(L, D, **extension)
    f, x = LinearScorer(problem, np.zeros(problem.n_weights)), np.ones((0, D))
    with pytest.raises(ValueError, match="sequence 0 has no tokens"):
        problem.argmax(f, x)
    with pytest.raises(ValueError, match="sequence 0 has no tokens"):
        problem.augmented_argmax(f, x, np.zeros(0, dtype=int), FORMULATIONS["SVM1 margin"].H)
