"""CRFsuite: conditional random fields by L-BFGS, another objective: seconds and test error only."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from fresh import measured

from peers import Data, Outcome, Peer


def items(x: Any) -> list[dict[str, float]]:
    """The tokens of a sequence in its form."""
    rows = sp.csr_matrix(x)
    return [
        {str(j): float(v) for j, v in zip(row.indices, row.data, strict=True) if v}
        for row in (rows[t] for t in range(rows.shape[0]))
    ]


def train(data: Data, C_per_example: float, c2: float) -> Outcome:
    """Train with the price c2 of squared weights; CPU seconds are those of the training alone."""
    import pycrfsuite

    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "model")
        trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
        trainer.set_params({"c1": 0.0, "c2": c2, "feature.possible_transitions": True})
        for x, y in zip(data.X, data.Y, strict=True):
            trainer.append(items(x), [str(k) for k in y])

        def work() -> dict[str, Any]:
            trainer.train(file)
            return {}

        figures = measured(lambda: None, work)
        yhat = None
        if data.test is not None:
            tagger = pycrfsuite.Tagger()
            tagger.open(file)
            yhat = [np.array([int(k) for k in tagger.tag(items(x))]) for x in data.test[0]]
            tagger.close()
    return Outcome(figures["cpu"], figures["mb"], None, yhat)


def missing() -> str | None:
    if importlib.util.find_spec("pycrfsuite") is None:
        return "not there: python-crfsuite is not installed"
    return None


PEERS = (Peer("CRFsuite L-BFGS", missing, train, asks="c2", remark="another objective"),)
