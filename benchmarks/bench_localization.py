"""Cars in street pictures: milliseconds per image for each search, seconds for each training.

The real UIUC cars where the folder STRUCTMARGIN_DATA holds them, else pictures drawn by rule; 1,000 words,
four pyramid levels, C = 1 per example, to a relative gap of GAP (CHI2_GAP for the chi-squared machine, whose
training boxes are 16 pixels apart, as in the experiment). Test images are scanned at boxes of 100 x 40
pixels, 4 pixels apart; branch and bound finds the best box of any size up to 200 x 80 pixels in a map of
8-pixel squares. Each row comes from a fresh process. The paper reports 5 hours for an S-SVM, and minutes per
image for chi-squared.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from fresh import in_fresh_process, measured
from ledger import Ledger

WORDS, N_IMAGES = 1000, 40
GAP, CHI2_GAP = 0.01, 0.1
TRAININGS = {
    "JKSE, linear": ("JKSE", None),
    "JKSE, chi2": ("JKSE", "none"),
    "S-SVM, linear": ("SVM", None),
    "S-SVM, chi2": ("SVM", "cell"),
}
SEARCHES = ("linear scan", "chi2 scan", "exponential chi2 scan", "branch and bound")


def split(train_step: int = 1, stride: int = 4) -> Any:
    """The examples, with training boxes `train_step` squares of `stride` pixels apart."""
    from structmargin_suite.datasets import uiuc_cars

    options = {"stride": stride, "test_images": N_IMAGES, "crops": 20, "n_words": WORDS}
    path = Path(os.environ.get("STRUCTMARGIN_DATA") or "data/mirror") / uiuc_cars.FILES[0].mirror
    if path.is_file():
        arrays = uiuc_cars.parse({path.name: path}, 0, **options)
    else:
        arrays = uiuc_cars.synthesize(0, **options)
    return uiuc_cars.view(arrays, 0, train_step=train_step)


def trained(name: str, train: Any, gap_tol: float | None = None) -> Any:
    """A trained model of TRAININGS."""
    from structmargin import JKSE, StructuredSVM
    from structmargin.problems import Localization
    from structmargin.problems.localization.kernel import BoxChi2

    model, normalise = TRAININGS[name]
    kernel = None if normalise is None else BoxChi2(WORDS, 4, normalise)
    if model == "JKSE":
        return JKSE(Localization(WORDS), kernel=kernel, nu=0.1).fit(*train)
    gap = gap_tol or (GAP if kernel is None else CHI2_GAP)
    solver = "bcfw" if kernel is None else "n_slack"
    svm = StructuredSVM(
        Localization(WORDS), "SVM1 margin", solver, C=float(len(train.Y)), eps=1e-6, gap_tol=gap
    )
    return svm.set_params(kernel=kernel).fit(*train)


def training(name: str) -> dict[str, Any]:
    """The measurement of one training."""
    train = split(4 if name == "S-SVM, chi2" else 1).train
    first = type(train)(train.X[:6], train.Y[:6])

    def work() -> dict[str, Any]:
        fit = trained(name, train).fit_
        return {"boxes": len(train.Y), "searches": fit.oracle_calls, "gap": fit.relative_gap}

    return measured(lambda: trained(name, first, 0.5), work)


def search(name: str) -> dict[str, Any]:
    """The measurement of one search of SEARCHES."""
    from structmargin import JKSE
    from structmargin.oracles.box_search import count_boxes
    from structmargin.problems import Localization
    from structmargin.problems.localization.kernel import BoxChi2
    from structmargin.scorer import LinearScorer

    kernels = {
        "chi2 scan": BoxChi2(WORDS, 4, "none"),
        "exponential chi2 scan": BoxChi2(WORDS, 4, "cell", 1.0),
    }
    bounded = name == "branch and bound"
    parts = split(stride=8 if bounded else 4)
    X = parts.test.X[: 3 if bounded else N_IMAGES]
    if bounded:  # the S-SVM's weights, which have both signs
        sizes = np.array([[3, 6, 1], [10, 25, 1]])
        X = [(words, sizes) for words, _ in X]
        learnt = trained("S-SVM, linear", parts.train, 0.1)
        problem = learnt.problem_.with_params(search="branch_and_bound")
        f: Any = LinearScorer(problem, learnt.w_)
    else:
        model = JKSE(Localization(WORDS), kernel=kernels.get(name), nu=0.1).fit(*parts.train)
        problem, f = model.problem_, model.scorer_

    def work() -> dict[str, Any]:
        began = time.process_time()
        for x in X:
            problem.argmax(f, x)
        seconds = time.process_time() - began
        boxes = [count_boxes(*words.shape, windows) for words, windows in X]
        return {"ms per image": 1000 * seconds / len(X), "boxes": None if bounded else float(np.mean(boxes))}

    return measured(lambda: problem.argmax(f, X[0]), work)


def main() -> None:
    """Print the tables."""
    with Ledger("localization") as ledger:
        rows = [{"training": name, **in_fresh_process(__file__, name)} for name in TRAININGS]
        columns = ["training", "boxes", "cpu", "searches", "gap", "mb"]
        text = f"S-SVM to a relative gap of {GAP:g}, with chi-squared of {CHI2_GAP:g}."
        ledger.add("Cars: training on all boxes of the training images", rows, columns, text)
        rows = [{"search": name, **in_fresh_process(__file__, name)} for name in SEARCHES]
        ledger.add("Cars: search of test images", rows, ["search", "ms per image", "boxes", "mb"])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps((training if sys.argv[1] in TRAININGS else search)(sys.argv[1])))
    else:
        main()
