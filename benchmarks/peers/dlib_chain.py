"""dlib: its structural SVM (1-slack) through its Python interface, given chains and a search in numpy.

It runs in a Python that imports it: this one, or that of STRUCTMARGIN_DLIB. Its C is ours, its weights are
handed over in our own order.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from peers import Data, Outcome, Peer
from peers.program import child, python_with
from peers.pystruct_chain import save

VARIABLE = "STRUCTMARGIN_DLIB"


def train(data: Data, C_per_example: float, eps: float) -> Outcome:
    """Train to its epsilon."""
    python, _ = python_with(VARIABLE, "dlib")
    assert python is not None
    L, D = data.problem.n_labels, data.problem.n_features
    with tempfile.TemporaryDirectory() as name:
        save(Path(name), data)
        settings = {"C": C_per_example * len(data.Y), "eps": eps, "L": L, "D": D}
        usage = child(python, "dlib_child.py", Path(name), settings)
        return Outcome(usage.cpu, usage.mb, np.load(Path(name) / "w.npy"))


PEERS = (
    Peer(
        "dlib",
        lambda: python_with(VARIABLE, "dlib")[1],
        train,
        remark="its search is ours to give it, and is in Python",
    ),
)
