"""Claims about handwritten words and about JKSE, on results that must pass and must fail."""

from __future__ import annotations

from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from helpers.made_up_results import Fake, row
from structmargin_suite.datasets import Examples, ocr
from structmargin_suite.statements import checks
from structmargin_suite.statements.ocr import kernel_terms
from structmargin_suite.storage.frames import frame_of

CHECKS = checks()
SPLIT = ocr.view(ocr.synthesize(4, words_per_fold=12), 0, rotation=1)
TRUE = [np.repeat(np.arange(10), 10) for _ in range(3)]


class Words(Fake):
    """Made-up results over made-up words."""

    clocks: ClassVar[list[dict]] = []
    parts = SimpleNamespace(train=Examples([], []), test=Examples([], TRUE))

    def split(self, run):
        return self.parts

    def timings(self):
        return frame_of(self.clocks, ["run", "fit_seconds", "cpu_seconds"], {"run": "text"})

    def record(self, run):
        return {
            "chosen": {"option": "nu", "value": 0.95, "validation_letter_error": [[0.1, 84.0], [0.95, 65.0]]}
        }


def judged(claim, rows, weights=None, clocks=(), split=None):
    mine = Words("ocr", {}, rows, weights)
    mine.clocks = list(clocks)
    if split is not None:
        mine.parts = split
    return CHECKS[claim]({"ocr": mine})


def folds(s_svm=21.0, olarank=24.0, perceptron=30.0, jkse=89.0, letters=3.0, rotations=4):
    means = {"S-SVM": s_svm, "OLaRank": olarank, "Perceptron": perceptron, "JKSE": jkse}
    return [
        row("folds", f"{name}{r}", method=name, rotation=r, test_letter_error=mean + 0.1 * (r % 3),
            test_letters_90=letters if name == "JKSE" else 9.0)
        for name, mean in means.items() for r in range(rotations)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "verdict", "part"),
    [
        ({}, "holds", "JKSE near chance: yes"),
        ({"rotations": 2}, "not tested", "2 rotations"),
        ({"s_svm": 25.0, "olarank": 28.0}, "fails", "S-SVM about 21%: no"),
        ({"olarank": 20.9}, "fails", "S-SVM below each other: no"),
        ({"perceptron": 95.0}, "fails", "JKSE the highest: no"),
        ({"jkse": 70.0}, "fails", "JKSE near chance: no"),
        ({"letters": 6.0}, "fails", "JKSE answers with few letters: no"),
    ],
)
def test_jkse_fails_on_words(change, verdict, part):
    found = judged("jkse-ocr-fails", folds(**change))
    assert found.verdict == verdict and part in found.evidence
    if verdict != "not tested":
        assert "depends on nu: 65.0% at nu = 0.95, 84.0% at nu = 0.1" in found.evidence


def test_kernel_matrices_are_told_from_words():
    rows = [row("folds", "j", method="JKSE", rotation=1)]
    found = judged("jkse-kernel-matrices", rows, split=SPLIT)
    assert found.verdict == "holds"
    blank = [np.eye(128)[np.asarray(y)] for y in SPLIT.train.Y], SPLIT.train.Y
    other = [np.eye(128)[np.asarray(y)] for y in SPLIT.test.Y], SPLIT.test.Y
    alone = SimpleNamespace(train=Examples(*blank), test=Examples(*other))
    assert judged("jkse-kernel-matrices", rows, split=alone).verdict == "fails"
    assert judged("jkse-kernel-matrices", []).verdict == "not tested"


def test_kernel_terms_by_hand():
    """Two words of one-hot letters: the terms count equal letters with equal pictures, and equal pairs."""
    words = [np.array([0, 1, 2, 3]), np.array([2, 3, 1, 0])]
    part = Examples([np.eye(5)[y] for y in words], words)
    mine = Words("ocr", {}, [])
    mine.parts = SimpleNamespace(train=part, test=part)
    true, mixed = kernel_terms(mine, "r", 2)
    assert np.array_equal(true["data"], [[4, 4], [4, 4]])
    assert np.array_equal(true["history"], [[3, 1], [1, 3]])
    assert mixed["data"].max() <= 1


def mirror(apart=0.0, gap=1e-8):
    """|w|^2 = 4 at margin 4 - tiny for one class, margin 1 for the binary."""
    rows, weights = [], {}
    for r in range(2):
        one = {"margin": 4.0 * (1 - gap), "norm_w": 2.0, "gap": gap, "rotation": r}
        rows.append(row("mirror", f"o{r}", method="one-class without slack", **one))
        rows.append(
            row("mirror", f"b{r}", method="binary without slack", margin=1.0, gap=gap, norm_w=0.5, rotation=r)
        )
        weights.update({f"o{r}": [2.0, 0.0], f"b{r}": [0.5, apart]})
    return rows, weights


def test_one_class_and_binary_agree_or_do_not():
    assert judged("jkse-binary", *mirror()).verdict == "holds"
    assert judged("jkse-binary", *mirror(apart=0.01)).verdict == "fails"
    assert judged("jkse-binary", *mirror(apart=0.01, gap=1e-3)).verdict == "holds"
    assert judged("jkse-binary", []).verdict == "not tested"


def test_training_time_against_labels():
    def with_power(power, rotations=3):
        rows, clocks = [], []
        for name, p in (("JKSE, labels", power), ("S-SVM, labels", 1.5)):
            for labels in (26, 104):
                for r in range(rotations):
                    run = f"{name}{labels}{r}"
                    rows.append(row("output space", run, method=name, n_labels=labels, rotation=r))
                    clocks.append({"run": run, "fit_seconds": (labels / 26) ** p + 0.05 * r})
        return judged("jkse-label-space", rows, clocks=clocks)

    assert with_power(0.0).verdict == "holds"
    assert with_power(0.5).verdict == "fails"
    assert with_power(0.0, rotations=2).verdict == "not tested"


def test_scale_needs_size_certificate_and_time():
    def at(kernel=10_000, linear=1_000_000, gap=5e-4, seconds=20.0):
        rows = [
            row("many, kernel", "k", letters=kernel, relative_gap=5e-4),
            row("many, linear", "l", letters=linear, relative_gap=gap),
        ]
        clocks = [{"run": "k", "cpu_seconds": 5.0}, {"run": "l", "cpu_seconds": seconds}]
        return judged("jkse-scale", rows, clocks=clocks)

    assert at().verdict == "holds"
    assert at(gap=2e-3).verdict == "fails"
    assert at(seconds=100.0).verdict == "fails"
    assert at(kernel=5000).verdict == "not tested"
    assert at(linear=100_000).verdict == "not tested"


# ---- the experiment itself, small ----
