"""H, the cut (s, t), cap, ridge and price of each formulation, as the papers print them."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from helpers import references
from structmargin.formulation import FORMULATIONS, h_value

LOSSES = st.one_of(st.just(0.0), st.floats(1e-3, 50.0))
MARGINS = st.floats(-50.0, 50.0)

PRINTED = {
    "SVM0": lambda delta, margin: 1 - margin,
    "SVM1": lambda delta, margin: 1 - margin,
    "SVM2": lambda delta, margin: 1 - margin,
    "SVM1 slack": lambda delta, margin: (1 - margin) * delta,
    "SVM1 margin": lambda delta, margin: delta - margin,
    "SVM2 slack": lambda delta, margin: (1 - margin) * np.sqrt(delta),
    "SVM2 margin": lambda delta, margin: np.sqrt(delta) - margin,
}


def test_the_seven_and_their_order() -> None:
    assert tuple(FORMULATIONS) == references.NAMES


@pytest.mark.parametrize("name", FORMULATIONS)
@given(delta=LOSSES, margin=MARGINS)
@settings(max_examples=100)
def test_H_is_the_printed_cost(name: str, delta: float, margin: float) -> None:
    """Where the loss is 0 (the truth and its equals) H is 0, but for margin re-scaling, which has -margin."""
    H = FORMULATIONS[name].H
    want = PRINTED[name](delta, margin) if delta > 0 or "margin" in name else 0.0
    assert float(H(delta, margin)) == pytest.approx(want, rel=1e-12, abs=1e-12)
    assert h_value(H, delta, margin) == pytest.approx(want, rel=1e-12, abs=1e-12)
    assert float(H.t(delta) - H.s(delta) * margin) == pytest.approx(want, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(H([delta, 0.0], [margin, 0.0]), [want, 0.0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", FORMULATIONS)
@given(delta=st.floats(1e-3, 50.0), margin=MARGINS)
@settings(max_examples=100)
def test_the_slack_that_H_asks_for_satisfies_the_constraint(name: str, delta: float, margin: float) -> None:
    """xi = max(0, H) is the least slack of the constraint in the references."""
    margin, share = references.needed(name, delta)
    if share:
        xi = max(0.0, float(FORMULATIONS[name].H(delta, margin)))
        assert xi == pytest.approx(max(0.0, (margin - margin) / share), rel=1e-9, abs=1e-12)


def test_only_svm1_margin_folds_the_loss_into_the_scores() -> None:
    assert [name for name, one in FORMULATIONS.items() if one.H.folds] == ["SVM1 margin"]


@pytest.mark.parametrize("name", FORMULATIONS)
def test_what_the_dual_sees_and_what_the_primal_pays(name: str) -> None:
    one = FORMULATIONS[name]
    C, n, xi = 3.0, 4, np.array([0.0, 1.0, 2.0, 0.5])
    if name == "SVM0":
        assert (one.cap(C, n), one.ridge(C, n)) == (np.inf, 0.0)
        assert one.price(xi, C, n) == np.inf
        assert one.price(0 * xi, C, n) == 0.0
        return
    assert one.price(xi, C, n) == pytest.approx(references.objective(name, C, xi, np.zeros(1)))
    if name.startswith("SVM1"):
        assert (one.cap(C, n), one.ridge(C, n)) == (0.75, 0.0)
    else:
        assert (one.cap(C, n), one.ridge(C, n)) == (np.inf, 4 / 3)
