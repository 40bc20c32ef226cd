"""Named entities: how much folds of one draw overlap (jmlr05 Section 5.2)."""

from __future__ import annotations

from structmargin_suite.results import ExperimentResults

DRAW = ("repetition", "fold")
"""What tells one training and test set from another."""


def test_to_train(experiment: ExperimentResults, corpus: str) -> float:
    """Test sentences over training sentences of a fold: 1 / (folds - 1)."""
    return 1.0 / (int(experiment.config["data"][corpus]["folds"]) - 1)
