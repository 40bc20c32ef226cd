"""The tasks that several programs are trained on: data, problem, C, and which peers with what setting.

Real data are read from the folder STRUCTMARGIN_DATA (or data/mirror); without them a task of words or classes
takes the synthetic stand-in of the same form, and says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from peers import Data
from samples import data_folder, digits, documents, many_digits, tagged_sentences


@dataclass(frozen=True)
class Task:
    """One training problem.

    Attributes
    ----------
    title, text : str
        A heading, and what a reader has to know.
    load : callable
        (number of examples or None for all) -> Data.
    formulation : str
    C_per_example : float
        The price of one slack in 1/2 |w|^2 + C_per_example sum xi.
    gaps : tuple of float
        Relative gaps that our solvers are asked for, the smallest last; the last gives the dual bound.
    peers : dict
        Settings by the name of a peer.
    sizes : tuple of int
        Numbers of examples of the table of growth; none for no such table.
    """

    title: str
    text: str
    load: Callable[[int | None], Data]
    formulation: str
    C_per_example: float
    gaps: tuple[float, ...] = (1e-2, 1e-3)
    peers: dict[str, tuple[float, ...]] = field(default_factory=dict)
    sizes: tuple[int, ...] = ()


ROOT = Path(__file__).resolve().parent.parent
FOLD, ALL_BUT_FIRST = "fold", "all but the first fold"


def ocr_file() -> Path | None:
    """The file of handwritten words, in the mirror or already fetched; None if it is in neither."""
    from structmargin_suite.datasets import ocr

    fetched = ROOT / "data" / "raw" / "ocr" / ocr.FILES[0].name
    return next((p for p in (data_folder() / ocr.FILES[0].mirror, fetched) if p.is_file()), None)


def words(n: int | None, part: str, loss: str) -> Data:
    """Handwritten words: the second fold, or all but the first (6,251 words), at most n of them."""
    from structmargin.problems import Sequence
    from structmargin_suite.datasets import ocr

    path = ocr_file()
    arrays = ocr.synthesize(0) if path is None else ocr.parse({ocr.FILES[0].name: path}, 0)
    splits = [ocr.view(arrays, 0, rotation=k) for k in ((1,) if part == FOLD else range(1, 10))]
    X = [x for split in splits for x in split.train.X]
    Y = [y for split in splits for y in split.train.Y]
    test = tuple(splits[0].test) if part == FOLD else None
    return Data(Sequence(26, 128, loss=loss), X[:n], Y[:n], test)


def classes(n: int | None, sample: Callable[[], tuple[Any, np.ndarray, int]]) -> Data:
    """Classes without structure, at most n rows."""
    from structmargin.problems import Multiclass

    X, y, K = sample()
    return Data(Multiclass(K, X.shape[1]), X[:n], y[:n])


N_COLUMNS = 100


def measure_rows(n: int | None, measure: str) -> Data:
    """Two Gaussian clouds of n rows, 5% positive, with an intercept where prediction is by sign."""
    from structmargin.problems import Measure

    n = n or 20_000
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 20 == 0, 1, -1)
    shift = rng.standard_normal(N_COLUMNS)
    shift *= 2.5 / np.linalg.norm(shift)
    X = rng.standard_normal((n, N_COLUMNS)) + np.outer(y > 0, shift)
    return Data(Measure(measure, intercept=1.0 if measure in ("f1", "error_rate") else 0.0), X, y)


def tagging(n: int | None) -> Data:
    """Parts of speech of GUM, with sparse features of words."""
    from structmargin.problems import Sequence

    X, Y, tags, test = tagged_sentences(n)
    return Data(Sequence(len(tags), X[0].shape[1]), X, Y, test)


PERF = {"SVM-perf": (0.1,)}
TASKS = {
    "ocr": Task(
        "Handwritten words, one fold",
        "704 words, 26 letters, 128 pixels; Hamming loss; 1/2 |w|^2 + 0.1 sum xi.",
        partial(words, part=FOLD, loss="hamming"),
        "SVM1 margin",
        0.1,
        (1e-2, 1e-3, 1e-4),
        {
            "SVM-hmm": (0.1, 0.05, 0.01, 0.005),
            "pystruct 1-slack": (0.3,),
            "pystruct Frank-Wolfe": (30,),
            "dlib": (2.0,),
            "CRFsuite L-BFGS": (1.0,),
        },
    ),
    "ocr growth": Task(
        "Handwritten words, more and more of them",
        "As above, from one fold to eight.",
        partial(words, part=ALL_BUT_FIRST, loss="hamming"),
        "SVM1 margin",
        0.1,
        (1e-2,),
        {"SVM-hmm": (0.05,)},
        (704, 2_816, 5_632),
    ),
    "digits": Task(
        "Digits",
        "1,797 x 64, 10 classes, C = 1 per example.",
        partial(classes, sample=digits),
        "SVM1",
        1.0,
        (1e-2, 1e-3, 1e-4),
        {"LinearSVC": (0.1, 1e-3)},
    ),
    "digits growth": Task(
        "Digits, more and more of them",
        "64 pixels, 10 classes, C = 1 per example; beyond the 5,620 of Optdigits copies with noise.",
        lambda n: classes(n, lambda: (*many_digits(n or 60_000), 10)),
        "SVM1",
        1.0,
        (1e-3,),
        {"LinearSVC": (0.1,)},
        (1_000, 10_000, 60_000),
    ),
    "documents": Task(
        "Documents of 160 classes",
        "640 x 10,000 sparse, 4 documents per class, C = 1 per example.",
        partial(classes, sample=documents),
        "SVM1",
        1.0,
        (1e-2, 1e-3, 1e-4),
        {"LinearSVC": (0.1, 1e-3)},
    ),
    **{
        name: Task(
            f"Performance measures: {title}",
            f"20,000 x {N_COLUMNS}, two Gaussian clouds, 5% positive, C = 500.",
            partial(measure_rows, measure=name),
            "SVM1 margin",
            500.0,
            (1e-2, 1e-3),
            PERF,
            (5_000, 20_000),
        )
        for name, title in {
            "f1": "F1",
            "prbep": "break-even point",
            "roc_area": "ROC area",
            "error_rate": "error rate",
        }.items()
    },
    **{
        f"words {power}": Task(
            f"All handwritten words, normalised Hamming loss, lambda = 1e-{power}",
            "All words but those of the first fold (6,251); the share of wrong letters; C = 1 / lambda in "
            "1/2 |w|^2 + C/n sum xi. No peer here has this loss.",
            partial(words, part=ALL_BUT_FIRST, loss="hamming_normalised"),
            "SVM1 margin",
            10.0**power / 6_251,
            (1e-1, 1e-2, 1e-3, 1e-4),
        )
        for power in (3, 4)
    },
    "tagging": Task(
        "Part-of-speech tagging",
        "3,900 training sentences of GUM, 46 tags; each token has its word, suffixes of up to 3 letters, "
        "shape and both neighbours; Hamming loss.",
        tagging,
        "SVM1 margin",
        0.1,
        (1e-1, 1e-2, 1e-3, 1e-4),
        {"SVM-hmm": (0.5,), "CRFsuite L-BFGS": (1.0,)},
    ),
}
