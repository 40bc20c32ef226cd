"""SVM-perf 3.00: multivariate performance measures, by the 1-slack algorithm.

Its losses run to 100, so its epsilon is 100 times ours; a gap of 2/n <w, x> is there 100/n <w, x>, so that
its w is twice ours at C / 25, and with the ROC area, whose gaps have no 2, the same at C / 100. The constant
feature of its --b is written as a threshold, which is subtracted. Without `-w 3` it makes no model; it prints
no time, so that its CPU time is taken from outside, less that of a run which stops at once.

STRUCTMARGIN_SVM_PERF names the folder of svm_perf_learn.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from peers import Data, Outcome, Peer, PeerFailed
from peers.program import fastest, program
from peers.svm_hmm import AT_ONCE

VARIABLE, PROGRAM = "STRUCTMARGIN_SVM_PERF", "svm_perf_learn"
LOSS = {"f1": 1, "prbep": 3, "roc_area": 10, "error_rate": 2}
"""Its numbers for the measures."""
TIMES_OURS = {"f1": 2.0, "prbep": 2.0, "roc_area": 1.0, "error_rate": 2.0}
"""By what its w is ours multiplied."""


def write_rows(path: Path, X: np.ndarray, y: np.ndarray) -> None:
    """Dense rows in its format."""
    with open(path, "w") as out:
        for x, label in zip(X, y, strict=True):
            out.write(f"{label} " + " ".join(f"{j + 1}:{v:.9g}" for j, v in enumerate(x)) + "\n")


def read_weights(path: Path, D: int, intercept: float) -> np.ndarray:
    """The weights (D,), and one more for the constant feature where there is one."""
    *_, before, last = path.read_text().rstrip().split("\n")
    if "threshold b" not in before:
        raise PeerFailed("its model has more than one support vector: the kernel must be linear")
    factor, *pairs = last.split("#")[0].split()
    w = np.zeros(D)
    for pair in pairs:
        j, value = pair.split(":")
        w[int(j) - 1] = float(factor) * float(value)
    return np.append(w, -float(before.split()[0]) / intercept) if intercept else w


def train(data: Data, C: float, eps: float) -> Outcome:
    """Train to its epsilon on one sample; C is ours."""
    learn, _ = program(VARIABLE, PROGRAM)
    measure, intercept = data.problem.measure, data.problem.intercept
    times = TIMES_OURS[measure]
    with tempfile.TemporaryDirectory() as name:
        rows, model = Path(name) / "rows", Path(name) / "model"
        write_rows(rows, data.X, data.Y)

        def to(epsilon: float) -> list[str]:
            options = {
                "-w": 3, "-c": C * times**2 / 100, "-e": epsilon, "-l": LOSS[measure], "--b": intercept,
            }  # fmt: skip
            words = [word for option, value in options.items() for word in (option, f"{value:g}")]
            return [str(learn), *words, str(rows), str(model)]

        reading = fastest(to(AT_ONCE), model).cpu
        usage = fastest(to(eps), model)
        w = read_weights(model, data.X.shape[1], intercept) / times
    return Outcome(max(usage.cpu - reading, 0.0), usage.mb, w)


PEERS = (
    Peer("SVM-perf", lambda: program(VARIABLE, PROGRAM)[1], train, remark="reading its file is not counted"),
)
