"""pystruct: chains with a Hamming loss, by its 1-slack and Frank-Wolfe learners.

It runs in a Python that imports it: this one, or that of STRUCTMARGIN_PYSTRUCT. Its C is ours per example,
its weights are those of the labels, (L, D), then of pairs of labels, (L, L).
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from peers import Data, Outcome, Peer
from peers.program import child, python_with

VARIABLE = "STRUCTMARGIN_PYSTRUCT"


def save(folder: Path, data: Data) -> None:
    """Dense tokens, labels and lengths as files."""
    np.save(folder / "tokens.npy", np.vstack([np.asarray(x, dtype=float) for x in data.X]))
    np.save(folder / "labels.npy", np.concatenate([np.asarray(y) for y in data.Y]))
    np.save(folder / "lengths.npy", np.array([len(y) for y in data.Y]))


def train(data: Data, C_per_example: float, setting: float, learner: str) -> Outcome:
    """Train to a tolerance (1-slack) or for a number of passes (Frank-Wolfe)."""
    python, _ = python_with(VARIABLE, "pystruct")
    assert python is not None
    L, D = data.problem.n_labels, data.problem.n_features
    with tempfile.TemporaryDirectory() as name:
        save(Path(name), data)
        settings = {"C": C_per_example, "setting": setting, "learner": learner, "L": L, "D": D}
        usage = child(python, "pystruct_child.py", Path(name), settings)
        w = np.load(Path(name) / "w.npy")
    return Outcome(usage.cpu, usage.mb, np.concatenate([w[: L * D].reshape(L, D).T.ravel(), w[L * D :]]))


def missing() -> str | None:
    return python_with(VARIABLE, "pystruct")[1]


PEERS = (
    Peer("pystruct 1-slack", missing, partial(train, learner="one_slack"), asks="tol"),
    Peer("pystruct Frank-Wolfe", missing, partial(train, learner="frank_wolfe"), asks="passes"),
)
