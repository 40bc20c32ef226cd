"""Handwritten words, one fold: CPU seconds and peak memory to a relative duality gap, beside other programs.

The second fold (704 words), SVM1 margin, Hamming loss, C = 70.4: 1/2 |w|^2 + 0.1 sum xi, optimum near 246.2.
Every row comes from a fresh process with one thread. The clock starts after a training on ten words, so that
nothing is compiled inside it; memory is the process's peak, and its growth over the peak with library and
data loaded.

CRFsuite minimises another objective; its row is for time and test error. Two programs are run only where
they are available:
    pystruct     if it can be imported
    SVM-hmm      if STRUCTMARGIN_SVM_HMM names the folder of svm_hmm_learn and svm_hmm_classify
Without the real data (STRUCTMARGIN_DATA or data/raw), the synthetic stand-in is used, which has a different
optimum.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from fresh import ONE_THREAD, peak_mb

from structmargin_suite.datasets import Split, ocr

C_PER_EXAMPLE = 0.1
TOLERANCES = (1e-2, 1e-3)
ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Print the table, or one measurement if a program and a tolerance are given."""
    if len(sys.argv) == 3:
        print(json.dumps(ROWS[sys.argv[1]](float(sys.argv[2]))))
        return
    source = "the real data" if real_file() is not None else "synthetic data: the optimum is different"
    print(f"one fold, SVM1 margin, C = {C_PER_EXAMPLE} per example; {source}")
    heads = ("asked gap", "CPU s", "primal", "gap", "error %", "peak MB", "growth")
    print(" " * 22 + "".join(f"{head:>10}" for head in heads))
    for name in ROWS:
        if name in MISSING and MISSING[name]():
            continue
        for tol in TOLERANCES if name != "CRFsuite L-BFGS" else TOLERANCES[:1]:
            done = subprocess.run(
                [sys.executable, __file__, name, str(tol)],
                capture_output=True,
                text=True,
                env={**os.environ, **ONE_THREAD},
            )
            if done.returncode:
                print(f"{name:22}{tol:10g}  failed: {done.stderr.strip().splitlines()[-1]}")
                continue
            print(formatted(name, tol, json.loads(done.stdout.splitlines()[-1])), flush=True)


def formatted(name: str, tol: float, figures: dict[str, Any]) -> str:
    """One line of the table."""
    no_primal = figures.get("primal") is None
    cells = [f"{name:22}", f"{'' if no_primal else format(tol, 'g'):>10}", f"{figures['seconds']:10.2f}"]
    cells += [f"{'':>10}" if no_primal else f"{figures['primal']:10.2f}"]
    cells += [f"{'':>10}" if figures.get("gap") is None else f"{figures['gap']:10.4f}"]
    return "".join([*cells, f"{figures['error']:10.2f}{figures['peak']:10.0f}{figures['growth']:10.0f}"])


def real_file() -> Path | None:
    """The file of the real data, in the mirror or already fetched; None if it is in neither."""
    mirror = Path(os.environ.get("STRUCTMARGIN_DATA") or ROOT / "data" / "mirror") / ocr.FILES[0].mirror
    for path in (mirror, ROOT / "data" / "raw" / "ocr" / ocr.FILES[0].name):
        if path.is_file():
            return path
    return None


def fold() -> Split:
    """The second fold to train on."""
    path = real_file()
    arrays = ocr.synthesize(0) if path is None else ocr.parse({ocr.FILES[0].name: path}, 0)
    return ocr.view(arrays, 0, rotation=1)


def measured(split: Split, train: Callable[[], Any], predict: Callable[[Any], Any]) -> dict[str, Any]:
    """CPU seconds and memory of train(), the model it returns, and the test error of predict(model)."""
    before, began = peak_mb(), time.process_time()
    model = train()
    seconds, peak = time.process_time() - began, peak_mb()
    error = ocr.score(split.test.Y, predict(model))["letter_error"]
    return {"seconds": seconds, "peak": peak, "growth": peak - before, "error": error, "model": model}


def ours(solver: str, tol: float) -> dict[str, Any]:
    """Train with one of our solvers to a relative gap of `tol`."""
    from structmargin import StructuredSVM
    from structmargin.problems import Sequence

    split = fold()

    def train(n: int | None = None) -> Any:
        X, Y = split.train.X[:n], split.train.Y[:n]
        model = StructuredSVM(
            Sequence(26, 128), "SVM1 margin", solver, C=C_PER_EXAMPLE * len(Y), eps=1e-6, gap_tol=tol
        )
        return model.fit(X, Y)

    train(10)
    figures = measured(split, train, lambda model: model.predict(split.test.X))
    fit = figures.pop("model").fit_
    return {**figures, "primal": fit.primal, "gap": fit.gap}


def crfsuite(tol: float) -> dict[str, Any]:
    """Train a conditional random field; `tol` is not used."""
    import pycrfsuite

    split = fold()

    def items(x: np.ndarray) -> list[list[str]]:
        return [[f"p{k}" for k in np.flatnonzero(letter)] for letter in x]

    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "model")

        def train() -> Any:
            trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
            trainer.set_params({"c1": 0.0, "c2": 1.0, "feature.possible_transitions": True})
            for x, y in zip(*split.train, strict=True):
                trainer.append(items(x), [str(k) for k in y])
            trainer.train(file)
            tagger = pycrfsuite.Tagger()
            tagger.open(file)
            return tagger

        figures = measured(
            split,
            train,
            lambda tagger: [np.array([int(k) for k in tagger.tag(items(x))]) for x in split.test.X],
        )
        figures.pop("model").close()
    return figures


def pystruct(tol: float) -> dict[str, Any]:
    """Train with pystruct to about a relative gap of `tol`."""
    from pystruct.learners import OneSlackSSVM
    from pystruct.models import ChainCRF

    split = fold()
    learner = OneSlackSSVM(
        ChainCRF(n_states=26, n_features=128, directed=True), C=C_PER_EXAMPLE, max_iter=10_000,
        tol=tol * 246.2 / len(split.train.Y) / C_PER_EXAMPLE, inference_cache=50,
    )  # fmt: skip
    figures = measured(split, lambda: learner.fit(*split.train), lambda model: model.predict(split.test.X))
    return {**figures, "primal": float(figures.pop("model").objective_curve_[-1])}


def svm_hmm(tol: float) -> dict[str, Any]:
    """Train with SVM-hmm to about a relative gap of `tol`."""
    split, folder = fold(), Path(os.environ["STRUCTMARGIN_SVM_HMM"])
    C = C_PER_EXAMPLE * len(split.train.Y)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for part, (X, Y) in (("train", split.train), ("test", split.test)):
            with open(place / part, "w") as out:
                for q, (x, y) in enumerate(zip(X, Y, strict=True), start=1):
                    for pixels, label in zip(x, y, strict=True):
                        on = " ".join(f"{k + 1}:1" for k in np.flatnonzero(pixels))
                        out.write(f"{label + 1} qid:{q} {on}\n")
        paths = [str(place / part) for part in ("train", "model", "test", "tags")]
        learn = [str(folder / "svm_hmm_learn"), "-c", f"{C:g}", "-e", f"{tol * 246.2 / C:g}", *paths[:2]]
        subprocess.run(learn, check=True, stdout=subprocess.DEVNULL)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        peak = peak_mb(resource.RUSAGE_CHILDREN)
        classify = [str(folder / "svm_hmm_classify"), paths[2], paths[1], paths[3]]
        subprocess.run(classify, check=True, stdout=subprocess.DEVNULL)
        tags = np.loadtxt(place / "tags", dtype=int).reshape(-1) - 1
    yhat = np.split(tags, np.cumsum([len(y) for y in split.test.Y])[:-1])
    error = ocr.score(split.test.Y, yhat)["letter_error"]
    return {"seconds": used.ru_utime + used.ru_stime, "peak": peak, "growth": peak, "error": error}


ROWS: dict[str, Callable[[float], dict[str, Any]]] = {
    **{name: lambda tol, name=name: ours(name, tol) for name in ("n_slack", "one_slack", "bcfw")},
    "CRFsuite L-BFGS": crfsuite,
    "pystruct 1-slack": pystruct,
    "SVM-hmm": svm_hmm,
}
MISSING: dict[str, Callable[[], bool]] = {
    "CRFsuite L-BFGS": lambda: importlib.util.find_spec("pycrfsuite") is None,
    "pystruct 1-slack": lambda: importlib.util.find_spec("pystruct") is None,
    "SVM-hmm": lambda: not os.environ.get("STRUCTMARGIN_SVM_HMM"),
}


if __name__ == "__main__":
    main()
