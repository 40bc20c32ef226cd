"""Train dlib's structural SVM on the chains of a folder; run by a Python that has it.

Prints CPU seconds. Weights are (D, L) of features and labels, then (L, L) of pairs of labels.
"""

import json
import sys
import time
from pathlib import Path

import dlib
import numpy as np

folder, settings = Path(sys.argv[1]), json.loads(sys.argv[2])
L, D = settings["L"], settings["D"]
ends = np.cumsum(np.load(folder / "lengths.npy"))[:-1]
X = np.split(np.load(folder / "tokens.npy"), ends)
Y = np.split(np.load(folder / "labels.npy").astype(int), ends)


def psi(x, y):
    """The joint features of a labelling."""
    both = np.zeros((D, L))
    np.add.at(both.T, y, x)
    pairs = np.zeros((L, L))
    np.add.at(pairs, (y[:-1], y[1:]), 1.0)
    return dlib.vector(np.concatenate([both.ravel(), pairs.ravel()]).tolist())


def viterbi(scores, A):
    """The best labels for scores (T, L) and transitions A (L, L)."""
    T = len(scores)
    back = np.zeros((T, L), dtype=int)
    best = scores[0]
    for t in range(1, T):
        ways = best[:, None] + A
        back[t] = ways.argmax(axis=0)
        best = ways.max(axis=0) + scores[t]
    y = [int(best.argmax())]
    for t in range(T - 1, 0, -1):
        y.append(int(back[t, y[-1]]))
    return np.array(y[::-1])


class Chains:
    """The problem in dlib's form."""

    C = settings["C"]
    epsilon = settings["eps"]
    num_samples = len(Y)
    num_dimensions = D * L + L * L

    def get_truth_joint_feature_vector(self, i):
        return psi(X[i], Y[i])

    def separation_oracle(self, i, current):
        w = np.asarray(current).ravel()
        scores = X[i] @ w[: D * L].reshape(D, L) + (np.arange(L)[None] != Y[i][:, None])
        y = viterbi(scores, w[D * L :].reshape(L, L))
        return float(np.sum(y != Y[i])), psi(X[i], y)


began = time.process_time()
w = dlib.solve_structural_svm_problem(Chains())
cpu = time.process_time() - began
np.save(folder / "w.npy", np.asarray(w).ravel())
print(json.dumps({"cpu": cpu}))
