"""The perceptron against the structural SVM on named entities, on made-up errors (on words: with OCR's)."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from helpers.made_up_results import Fake, judgements, row

NOISE = (-0.2, 0.1, 0.1, -0.1, 0.1)
PLACES = {
    "ner": ("methods", "random-300", "SVM", "test_error", "repetition"),
}


class Errors(Fake):
    def split(self, run):
        return SimpleNamespace(train=SimpleNamespace(Y=range(4)), test=SimpleNamespace(Y=range(1)))


def made(experiment, more):
    """Results in which the perceptron has so many points more errors on average, over 5 draws."""
    study, corpus, rival, measure, by = PLACES[experiment]
    rows = [
        row(
            study,
            f"{method} {k}",
            method=method,
            corpus=corpus,
            data=corpus,
            **{by: k, measure: 20.0 + extra},
        )
        for k, noise in enumerate(NOISE)
        for method, extra in (("Perceptron", more + noise), (rival, 0.0))
    ]
    given = {"draw": "random", "n_sentences": 300, "folds": 5}
    return {experiment: Errors(experiment, {"data": {corpus: given}}, rows)}


@pytest.mark.parametrize("experiment", PLACES)
@pytest.mark.parametrize(
    ("more", "verdict"), [(1.0, "reproduced"), (-1.0, "contradicted"), (0.05, "inconclusive")]
)
def test_the_perceptron_is_judged_by_draws_that_overlap(experiment, more, verdict):
    rows = judgements(made(experiment, more), "ner", "perceptron-less-accurate")
    (line,) = (line for line in rows if line["id"] == f"perceptron-less-accurate-{experiment}")
    assert line["verdict"] == verdict and line["effect"] == pytest.approx(more)
    assert line["experiment"] == experiment
    # sd 0.1414; t(4) at 1 - 0.0125 is 3.495. Corrected: two draws have 300 / 8323 sentences in common
    assert line["high"] - line["effect"] == pytest.approx(
        3.495 * 0.14142 * (1 / 5 + 300 / 8023) ** 0.5, rel=1e-3
    )
    other = next(line for line in rows if line["experiment"] != experiment)
    assert other["verdict"] == "not testable" and "no results" in other["evidence"]
