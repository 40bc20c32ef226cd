"""JKSE that learns some labels later, without training again for the others (jkse09 Section 2).

Labels below `first` are learnt from their own examples; then those of the other labels are learnt alone and
put beside them (`JKSE.add` with retrain=False). The rows of X are inputs of a multiclass problem, so the
features of different labels have no weight in common.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from structmargin import JKSE
from structmargin.problems import Multiclass
from structmargin_suite.baselines import Schemas

OPTIONS: Schemas = {
    "nu": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "first": {"type": "integer", "minimum": 1},
    "gap_tol": {"type": "number", "exclusiveMinimum": 0},
}


def train(
    X: np.ndarray, Y: np.ndarray, *, seed: int, nu: float = 0.1, first: int = 13, gap_tol: float = 1e-3
) -> JKSE:
    """A model of all labels, trained on those below `first` and then extended by the others."""
    early = np.asarray(Y) < first
    if early.all() or not early.any():
        raise ValueError(f"no examples on one side of label {first}: set `first` to a label in between")
    problem = Multiclass(n_classes=int(np.max(Y)) + 1, n_features=X.shape[1])
    model = JKSE(problem, nu=nu, gap_tol=gap_tol, random_state=seed).fit(X[early], Y[early])
    return model.add(X[~early], Y[~early], retrain=False)


def from_arrays(arrays: Mapping[str, np.ndarray]) -> JKSE:
    """The model that `to_arrays` was called on."""
    return JKSE.from_arrays(arrays)
