"""The rule of each kind on each verdict, its boundaries, and what must never happen when numbers change."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structmargin_suite.analysis.estimates import Estimate
from structmargin_suite.statements.rule import (
    COMPATIBLE,
    CONTRADICTED,
    INCONCLUSIVE,
    LARGER,
    REPRODUCED,
    SMALLER,
    UNKNOWN,
    level_of,
    more_needed,
    size,
    verdict,
)
from structmargin_suite.storage.statements_file import KINDS, Statement

numbers = st.floats(-5.0, 5.0)


def statement(kind, **given_):
    return Statement("x-1", "x", "jmlr05", "here", "A beats B.", "toy", kind, "samples", **given_)


def estimate(low, high, effect=None, n=10, se=None, grows=True):
    return Estimate((low + high) / 2 if effect is None else effect, low, high, n, "t over samples", se, grows)


CASES = [
    ("order", {}, (0.1, 2.0), REPRODUCED),
    ("order", {}, (0.0, 2.0), INCONCLUSIVE),  # the boundary itself is not wholly above 0
    ("order", {}, (-1.0, 1.0), INCONCLUSIVE),
    ("order", {}, (-1.0, 0.0), INCONCLUSIVE),
    ("order", {}, (-2.0, -0.1), CONTRADICTED),
    ("order", {"delta": 1.0}, (0.1, 2.0), REPRODUCED),
    ("order", {"delta": 1.0}, (0.1, 0.9), CONTRADICTED),  # better, but surely not substantially
    ("order", {"delta": 1.0}, (0.1, 1.0), REPRODUCED),
    ("order", {"delta": 1.0}, (-0.1, 1.0), INCONCLUSIVE),
    ("equivalence", {"delta": 1.0}, (-0.9, 0.9), REPRODUCED),
    ("equivalence", {"delta": 1.0}, (-1.0, 0.9), INCONCLUSIVE),
    ("equivalence", {"delta": 1.0}, (0.5, 1.0), INCONCLUSIVE),
    ("equivalence", {"delta": 1.0}, (1.0, 2.0), CONTRADICTED),
    ("equivalence", {"delta": 1.0}, (-3.0, -1.0), CONTRADICTED),
    ("equivalence", {"delta": 1.0, "side": "above"}, (-0.9, 7.0), REPRODUCED),
    ("equivalence", {"delta": 1.0, "side": "above"}, (2.0, 7.0), REPRODUCED),
    ("equivalence", {"delta": 1.0, "side": "above"}, (-1.0, 7.0), INCONCLUSIVE),
    ("equivalence", {"delta": 1.0, "side": "above"}, (-3.0, -1.0), CONTRADICTED),
    *[
        (kind, limits, interval, expected)
        for kind in ("slope", "count", "time")
        for limits, interval, expected in [
            ({"below": 1.0}, (0.2, 0.9), REPRODUCED),
            ({"below": 1.0}, (0.2, 1.0), INCONCLUSIVE),
            ({"below": 1.0}, (1.0, 1.5), INCONCLUSIVE),
            ({"below": 1.0}, (1.1, 1.5), CONTRADICTED),
            ({"above": 1.0}, (1.1, 1.5), REPRODUCED),
            ({"above": 1.0}, (0.2, 0.9), CONTRADICTED),
            ({"above": 1.5, "below": 2.5}, (1.6, 2.4), REPRODUCED),
            ({"above": 1.5, "below": 2.5}, (1.4, 2.4), INCONCLUSIVE),
            ({"above": 1.5, "below": 2.5}, (2.6, 2.7), CONTRADICTED),
            ({"above": 1.5, "below": 2.5}, (1.0, 1.4), CONTRADICTED),
        ]
    ],
    ("bound", {}, (0.0, 0.0), REPRODUCED),
    ("bound", {}, (1.0, 1.0), CONTRADICTED),
]


@pytest.mark.parametrize(("kind", "given_", "interval", "expected"), CASES)
def test_each_kind_on_each_verdict_with_boundaries(kind, given_, interval, expected):
    assert verdict(statement(kind, **given_), estimate(*interval)) == expected


def test_the_cases_cover_every_kind_and_verdict():
    seen = {(kind, expected) for kind, _, _, expected in CASES}
    assert seen == {(kind, v) for kind in KINDS for v in (REPRODUCED, INCONCLUSIVE, CONTRADICTED)} - {
        ("bound", INCONCLUSIVE)
    }


STATEMENTS = [
    statement("order"),
    statement("order", delta=1.0),
    statement("equivalence", delta=1.0),
    statement("equivalence", delta=1.0, side="above"),
    statement("slope", below=1.0),
    statement("count", above=-1.0, below=1.0),
]


@given(st.sampled_from(STATEMENTS), numbers, st.floats(0.0, 3.0), st.floats(0.0, 3.0), st.floats(0.0, 3.0))
def test_widening_an_interval_never_leaves_inconclusive(one, low, width, below, above):
    narrow, wide = estimate(low, low + width), estimate(low - below, low + width + above, low + width / 2)
    if verdict(one, narrow) == INCONCLUSIVE:
        assert verdict(one, wide) == INCONCLUSIVE


@given(
    numbers,
    st.floats(0.0, 3.0),
    st.floats(0.01, 3.0),
    st.floats(0.01, 3.0),
    st.sampled_from(["both", "above"]),
)
def test_shrinking_delta_never_makes_an_equivalence_reproduced(low, width, a, b, side):
    small, large = sorted((a, b))
    found = estimate(low, low + width)
    if verdict(statement("equivalence", delta=large, side=side), found) != REPRODUCED:
        assert verdict(statement("equivalence", delta=small, side=side), found) != REPRODUCED


@given(numbers, st.floats(0.0, 3.0), st.floats(0.0, 2.0))
def test_flipping_the_sign_never_keeps_an_order_reproduced(low, width, delta):
    one, found = statement("order", delta=delta), estimate(low, low + width)
    assert not (verdict(one, found) == REPRODUCED and verdict(one, -found) == REPRODUCED)
    if verdict(one, found) == REPRODUCED:
        assert verdict(one, -found) == CONTRADICTED


@given(st.sampled_from(STATEMENTS), numbers, st.floats(0.0, 3.0))
def test_no_interval_reproduces_and_contradicts(one, low, width):
    """A reproduced interval narrowed to one of its ends stays so, unless "substantially" is asked."""
    found = estimate(low, low + width)
    if verdict(one, found) == REPRODUCED and not (one.kind == "order" and one.delta):
        assert all(verdict(one, estimate(x, x)) == REPRODUCED for x in (low, low + width))


def test_a_number_that_is_none_is_an_error_of_ours():
    with pytest.raises(ValueError, match=r"x-1: an effect and its interval must be numbers"):
        verdict(statement("order"), estimate(math.nan, 1.0))


@pytest.mark.parametrize(
    ("effect", "se", "published", "published_se", "expected"),
    [
        (1.0, 0.3, 1.5, 0.4, COMPATIBLE),
        (1.0, 0.3, 1.98, 0.4, COMPATIBLE),  # 1.96 * 0.5 = 0.98 is the boundary
        (1.0, 0.3, 1.99, 0.4, SMALLER),
        (1.0, 0.3, 0.01, 0.4, LARGER),
        (1.0, 0.3, 1.5, None, UNKNOWN),
        (1.0, 0.3, None, None, UNKNOWN),
        (1.0, None, 1.5, 0.4, UNKNOWN),
    ],
)
def test_size_beside_the_printed_effect(effect, se, published, published_se, expected):
    one = statement("order", published=published, published_se=published_se)
    assert size(one, estimate(0.0, 2.0, effect, se=se)) == expected


@pytest.mark.parametrize(
    ("one", "found", "expected"),
    [
        (statement("order"), estimate(-1.0, 3.0), "of 1 would tell, it is 2: about 40 repetitions"),
        (statement("order", delta=2.0), estimate(-3.0, 5.0), "of 2 would tell, it is 4: about 40"),
        (statement("order"), estimate(-3.0, 1.0, grows=False), "is 2; none, since the test set is fixed"),
        (statement("equivalence", delta=1.0), estimate(-0.5, 1.5), "of 0.5 would tell, it is 1: about 40"),
        (statement("slope", below=1.0), estimate(0.5, 1.5, 0.75), "of 0.25 would tell, it is 0.5: about 40"),
        (statement("order"), estimate(-10000.0, 30000.0), "of 10000 would tell, it is 20000: about 40"),
        (statement("order"), estimate(-3.0, 3.02), "about 906,010 repetitions"),
        (statement("order"), estimate(-1.0, 1.0), "no sign; no half-width would tell"),
        (statement("order"), estimate(-1.0, 1.0 + 4e-15), "it is 1: more repetitions than anyone could make"),
    ],
)  # fmt: skip
def test_what_an_inconclusive_statement_would_need(one, found, expected):
    assert verdict(one, found) == INCONCLUSIVE
    assert expected in more_needed(one, found)


def test_units_crossed_with_draws_are_not_taken_for_draws():
    found = replace(estimate(-1.0, 3.0, n=44), crossed=True)
    assert more_needed(statement("order"), found).endswith(
        "it is 2; more repetitions narrow only a part of it, a larger test set the rest"
    )


def test_intervals_of_one_claim_hold_together():
    assert level_of(1) == pytest.approx(0.95)
    assert level_of(5) == pytest.approx(0.99)
