"""SVM-hmm: chains with a Hamming loss and margin re-scaling, by the 1-slack algorithm with a cache.

Its -c is our C (the sum of slacks is divided by n), its -e is in units of the loss. Labels and features count
from 1. With L labels and D features, its weights are

    label a before label b       at  L a + b
    feature j of label l         at  L (L + 1) + 1 + D l + j

STRUCTMARGIN_SVM_HMM names the folder of svm_hmm_learn.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from peers import Data, Outcome, Peer, PeerFailed
from peers.program import fastest, program

VARIABLE, PROGRAM = "STRUCTMARGIN_SVM_HMM", "svm_hmm_learn"
AT_ONCE = 1e9
"""An epsilon with which it stops at once: what it takes then is the reading of its file."""


def write_examples(path: Path, X: Any, Y: Any) -> None:
    """Sequences in its format: one line per token."""
    with open(path, "w") as out:
        for q, (x, y) in enumerate(zip(X, Y, strict=True), start=1):
            tokens = sp.csr_matrix(x)
            tokens.sort_indices()
            for t, label in enumerate(y):
                part = slice(tokens.indptr[t], tokens.indptr[t + 1])
                pairs = zip(tokens.indices[part], tokens.data[part], strict=True)
                features = " ".join(f"{j + 1}:{value:.9g}" for j, value in pairs if value)
                out.write(f"{int(label) + 1} qid:{q} {features}\n")


def places(L: int, D: int) -> np.ndarray:
    """Its index of each of our weights: (D L,) of emissions, then (L L,) of transitions."""
    labels, features = np.arange(1, L + 1), np.arange(1, D + 1)
    emissions = L * (L + 1) + 1 + D * labels[None, :] + features[:, None]
    transitions = L * labels[:, None] + labels[None, :]
    return np.concatenate([emissions.ravel(), transitions.ravel()])


def read_weights(path: Path, L: int, D: int) -> np.ndarray:
    """The weights of a model file, in the order of `Sequence`."""
    with open(path) as lines:
        text = lines.read().rstrip()
    *head, last = text.split("\n")
    if not any("threshold b" in line for line in head[-1:]):
        raise PeerFailed("its model has more than one support vector: the kernel must be linear")
    factor, *pairs = last.split("#")[0].split()
    index, value = np.array([pair.split(":") for pair in pairs], dtype=float).reshape(-1, 2).T
    w = np.zeros(L * (L + 1) + 1 + D * (L + 1) + 1)
    w[index.astype(int)] = float(factor) * value
    return w[places(L, D)]


def write_model(path: Path, w: np.ndarray, L: int, D: int) -> None:
    """Our weights as a model file of its kind: the lines that `read_weights` looks at."""
    index, order = np.sort(places(L, D)), np.argsort(places(L, D))
    pairs = " ".join(f"{j}:{value:.17g}" for j, value in zip(index, w[order], strict=True) if value)
    path.write_text(f"0 # kernel type\n0 # threshold b, each following line is a SV\n1 {pairs} #\n")


def train(data: Data, C_per_example: float, eps: float) -> Outcome:
    """Train to its epsilon."""
    learn, _ = program(VARIABLE, PROGRAM)
    with tempfile.TemporaryDirectory() as name:
        examples, model = Path(name) / "examples", Path(name) / "model"
        write_examples(examples, data.X, data.Y)
        C = C_per_example * len(data.Y)

        def to(epsilon: float) -> list[str]:
            return [str(learn), "-c", f"{C:.9g}", "-e", f"{epsilon:g}", str(examples), str(model)]

        reading = fastest(to(AT_ONCE), model).cpu
        usage = fastest(to(eps), model)
        w = read_weights(model, data.problem.n_labels, data.problem.n_features)
    return Outcome(max(usage.cpu - reading, 0.0), usage.mb, w)


PEERS = (
    Peer("SVM-hmm", lambda: program(VARIABLE, PROGRAM)[1], train, remark="reading its file is not counted"),
)
