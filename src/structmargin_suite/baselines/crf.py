"""A linear-chain conditional random field, trained by CRFsuite (Lafferty et al. 2001; jmlr05 Table 2).

    min_w  f(w) = c2 |w|^2 - sum_i log p_w(y_i | x_i),    p_w(y | x) proportional to exp <w, Psi(x, y)>

with the features of the tokens and pairs of labels in Psi, by CRFsuite's L-BFGS. A model is stored as
the bytes of CRFsuite's own file. As f is strongly convex, the gradient g that CRFsuite tells certifies w:

    f(w) - min f <= |g|^2 / (4 c2)
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pycrfsuite
import scipy.sparse as sp

from structmargin.fit import relative
from structmargin_suite.baselines import Schemas

FeatureRows: TypeAlias = np.ndarray | sp.csr_matrix
"""The features (T, D) of the T tokens of a sequence."""
OPTIONS: Schemas = {
    "c2": {"type": "number", "minimum": 0},
    "iterations": {"type": "integer", "minimum": 1},
}


@dataclass(frozen=True)
class ConditionalRandomField:
    """The bytes of CRFsuite's file, and what its training reached."""

    written: np.ndarray
    numbers: dict[str, object] = field(default_factory=dict)

    def predict(self, X: Sequence[FeatureRows]) -> list[np.ndarray]:
        """The most probable labels of every sequence."""
        model = self.written.tobytes()  # the tagger reads from this memory but does not own it
        tagger = pycrfsuite.Tagger()
        tagger.open_inmemory(model)
        labels = [np.array([int(label) for label in tagger.tag(items(x))], dtype=np.int64) for x in X]
        tagger.close()
        del model
        return labels

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The model as arrays."""
        return {"written": self.written}


def from_arrays(arrays: Mapping[str, np.ndarray]) -> ConditionalRandomField:
    """The model that `to_arrays` was called on, without the numbers of its training."""
    return ConditionalRandomField(arrays["written"])


def train(
    X: Sequence[FeatureRows], Y: Sequence[np.ndarray], *, seed: int, c2: float = 0.1, iterations: int = 1000
) -> ConditionalRandomField:
    """Weights for X, sequences of feature rows (T, D), and labels Y; nothing here is random.

    Its `numbers` say whether L-BFGS ended before `iterations`, and by what share of the objective w may be
    above the optimum.
    """
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c2": c2, "max_iterations": iterations})
    for x, y in zip(X, Y, strict=True):
        trainer.append(items(x), [str(int(label)) for label in y])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        trainer.train(str(path))
        written = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    last = trainer.logparser.last_iteration
    numbers: dict[str, object] = {
        "primal": last["loss"], "n_iter": last["num"], "converged": last["num"] < iterations,
    }  # fmt: skip
    if c2 > 0.0:
        gap = last["error_norm"] ** 2 / (4.0 * c2)
        numbers |= {"gap": gap, "relative_gap": relative(gap, last["loss"])}
    return ConditionalRandomField(written, numbers)


def items(x: FeatureRows) -> pycrfsuite.ItemSequence:
    """The rows of x as CRFsuite takes them: the non-zero columns of every token with their values."""
    rows = sp.csr_matrix(x)
    names, ends = [str(column) for column in rows.indices], rows.indptr
    return pycrfsuite.ItemSequence(
        [
            dict(zip(names[begin:end], rows.data[begin:end].tolist(), strict=True))
            for begin, end in pairwise(ends)
        ]
    )
