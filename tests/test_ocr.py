"""Handwritten words through the whole pipeline: certificates, JKSE as it is stored, claims, figures."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import yaml
from test_ocr_data import real
from test_suite_claims import Fake, row
from test_suite_toy import HERE, project, run_all

from structsvm import JKSE, StructuredSVM
from structsvm.kernels import RBF, Product
from structsvm.problems import Multiclass, Sequence
from structsvm_suite.claims import checks
from structsvm_suite.claims.ocr import kernel_terms
from structsvm_suite.datasets import Examples, ocr
from structsvm_suite.figures import ocr as figures
from structsvm_suite.figures.style import house
from structsvm_suite.models import combination
from structsvm_suite.results import Results
from structsvm_suite.support import recomputed

CHECKS = checks()
ARRAYS = ocr.synthesize(4, words_per_fold=12)
SPLIT = ocr.view(ARRAYS, 0, rotation=1)


def test_three_solvers_certify_the_known_optimum_of_the_second_fold():
    """SVM1 margin at C = 70.4: the optimum lies between 246.17 and 246.23."""
    path = real()
    if path is None:
        return
    split = ocr.view(ocr.parse({"letter.data.gz": path}, 0), 0, rotation=1)
    assert len(split.train.Y) == 704
    for solver in ("n_slack", "one_slack", "bcfw"):
        model = StructuredSVM(Sequence(26, 128), "SVM1 margin", solver, C=70.4, eps=1e-6, gap_tol=1e-3)
        fit = model.fit(*split.train).fit_
        assert fit.converged and fit.exact and fit.relative_gap <= 1e-3, solver
        assert fit.primal == pytest.approx(246.2, rel=1e-3), solver
        assert fit.dual <= 246.23, solver
        assert 21.0 < ocr.score(split.test.Y, model.predict(split.test.X))["letter_error"] < 22.0, solver


def jkse(**options) -> tuple[JKSE, Examples]:
    """A trained model and its pairs: words, or single letters under a kernel."""
    if options.pop("letters", False):
        part = ocr.view(ARRAYS, 0, letters=60).train
        return JKSE(Multiclass(26, 128), Product(RBF(0.02)), nu=0.3, **options).fit(*part), part
    return JKSE(Sequence(26, 128), nu=0.3, **options).fit(*SPLIT.train), SPLIT.train


KINDS = [
    {}, {"trainer": "binary"}, {"trainer": "binary", "C": float("inf")}, {"trainer": "online"},
    {"letters": True},
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_stored_jkse_predicts_alike_and_keeps_its_word(kind):
    model, part = jkse(**kind)
    again = JKSE.from_arrays(model.to_arrays())
    for x, z in zip(model.predict(part.X), again.predict(part.X), strict=True):
        assert np.array_equal(x, z)
    numbers, wrong = recomputed(again, part, np.zeros(0))
    assert wrong == []
    assert numbers["primal"] == pytest.approx(model.fit_.primal)
    assert numbers["gap"] == pytest.approx(model.fit_.gap, abs=1e-9)
    assert numbers["support"] == pytest.approx(100 * np.mean(model.fit_.alpha > 0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("lie", "message"),
    [
        (lambda fit: fit.alpha.__imul__(1.01), "objective is"),
        (lambda fit: fit.alpha.__setitem__(0, -0.01), "coefficients run from"),
        (lambda fit: fit.__setattr__("dual", fit.dual + 0.01 * abs(fit.dual)), "the dual objective is"),
        (
            lambda fit: fit.__setattr__("primal", fit.primal - 0.01 * abs(fit.primal)),
            "the primal objective is",
        ),
    ],
)
def test_a_lie_of_a_stored_jkse_is_found(kind, lie, message):
    model, part = jkse(**kind)
    model = JKSE.from_arrays(model.to_arrays())
    lie(model.fit_)
    assert message in "; ".join(recomputed(model, part, np.zeros(0))[1])


def test_weights_that_are_not_the_coefficients_are_found():
    model, part = jkse()
    model.w_ = model.w_ + 0.01
    assert "w differs from sum alpha_i psi_i" in recomputed(model, part, np.zeros(0))[1][0]


def test_what_a_config_may_say_of_jkse():
    words = {"model": "JKSE", "problem": {"name": "Sequence"}}
    assert combination(words) == (None, None)
    fault, _ = combination({**words, "trainer": "binery"})
    assert "'binery'" in fault and "'binary'" in fault
    nested = {"name": "product", "kx": {"name": "rbf", "gama": 1.0}}
    fault, _ = combination({"model": "JKSE", "problem": {"name": "Multiclass"}, "kernel": nested})
    assert "'gama'" in fault and "'gamma'" in fault
    _, reason = combination({"model": "JKSE", "problem": {"name": "Alignment"}, "kernel": {"name": "linear"}})
    assert "takes no joint kernel" in reason


# ---- claims ----

TRUE = [np.repeat(np.arange(10), 10) for _ in range(3)]


class Words(Fake):
    """Made-up results over made-up words."""

    clocks: ClassVar[list[dict]] = []
    parts = SimpleNamespace(train=Examples([], []), test=Examples([], TRUE))

    def split(self, run):
        return self.parts

    def timings(self):
        return self.clocks


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


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """configs/ocr.yaml at its smoke scale, on a few synthetic words."""
    config = yaml.safe_load((HERE / "configs" / "ocr.yaml").read_text(encoding="utf-8"))
    config["data"]["ocr"]["source"] = "synthetic"
    smoke = copy.deepcopy(config["scales"]["smoke"])
    smoke["data"]["ocr"]["words_per_fold"] = 12
    config["scales"]["smoke"] = smoke
    config["figures"] = {}
    root = project(tmp_path_factory.mktemp("ocr"), config, "ocr")
    run_all(root, "smoke")
    return Results(root)


def test_every_run_of_the_small_experiment_keeps_its_word(small):
    rows = small["ocr"].runs
    assert [r["reason"] for r in rows if r["status"] != "done"] == []
    assert {r["data"] for r in rows} == {"ocr (synthetic)"}
    table = {r["method"]: r for r in small["ocr"].table("ocr") if r["measure"] == "letter_error"}
    assert table["JKSE"]["published"] == 88.3 and table["S-SVM"]["published"] == 21.1
    assert table["S-SVM"]["value"] < table["JKSE"]["value"]
    certified = [r for r in rows if r["relative_gap"] is not None and "OLaRank" not in r["method"]]
    assert len(certified) >= 12 and all(r["relative_gap"] <= 0.1 for r in certified)
    verdicts = {r["id"]: r["verdict"] for r in small.claims()}
    assert verdicts["jkse-binary"] == "holds"
    assert verdicts["jkse-scale"] == verdicts["jkse-ocr-fails"] == "not tested"


def drawn(small, name):
    with house() as plt:
        fig = plt.figure()
        getattr(figures, name)(small["ocr"], fig)
        plt.close(fig)
    return fig


def test_the_error_figure_has_our_means_and_the_papers(small):
    ax = drawn(small, "errors").axes[0]
    points = {
        (round(float(x), 6), float(y)) for line in ax.lines for x, y in zip(*line.get_data(), strict=True)
    }
    means = [r["value"] for r in small["ocr"].table("ocr") if r["measure"] == "letter_error"]
    assert {(round(mean, 6), float(k)) for k, mean in enumerate(means)} <= points
    assert {(21.1, 0.0), (88.3, 4.0)} <= points


def test_matrices_are_drawn_on_one_scale(small):
    fig = drawn(small, "both_terms")
    images = [ax.images[0] for ax in fig.axes[:4]]
    assert images[0].get_clim() == images[1].get_clim() and images[2].get_clim() == images[3].get_clim()
    assert images[2].get_array().mean() > images[3].get_array().mean()
    whole = [ax.images[0].get_array() for ax in drawn(small, "kernel_matrices").axes[:2]]
    assert np.allclose(whole[0], images[0].get_array() + images[2].get_array())


def test_words_are_shown_with_what_was_read(small):
    mine = small["ocr"]
    test = mine.split("S-SVM").test
    yhat = mine.model("S-SVM").predict(test.X)
    chosen = figures._telling(test.Y, yhat)
    fig = drawn(small, "words")
    for ax, i in zip(fig.axes, chosen, strict=False):
        shown = [text.get_text() for text in ax.texts]
        assert shown[: 1 + len(yhat[i])] == ["S-SVM", *(chr(97 + k) for k in yhat[i])]
        assert np.array_equal(1.0 - np.asarray(ax.images[0].get_array()).ravel(), test.X[i][0])
        underlined = len(ax.lines)
        others = mine.model("JKSE").predict([test.X[i]])[0]
        assert underlined == np.sum(yhat[i] != test.Y[i]) + np.sum(others != test.Y[i])


def test_shares_and_convergence_are_those_of_the_runs(small):
    panels = drawn(small, "letters").axes
    for ax in panels:
        for bars in ax.containers:
            assert sum(bar.get_height() for bar in bars) == pytest.approx(100.0)
    for name in ("convergence", "convergence_time"):
        ax = drawn(small, name).axes[0]
        assert [line.get_label() for line in ax.lines] == ["n_slack", "one_slack", "bcfw", "OLaRank"]
        for line, r in zip(ax.lines, small["ocr"].rows("solvers"), strict=False):
            assert line.get_ydata()[-1] == pytest.approx(r["relative_gap"], rel=1e-3)
    ax = drawn(small, "output_space_time").axes[0]
    assert [list(line.get_xdata()) for line in ax.lines] == [[26.0, 52.0]] * 2
