"""Intervals against known values, against scipy, and by how often they cover the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from structmargin_suite.analysis.estimates import (
    NotTestable,
    bootstrap,
    bootstrap_within,
    corrected_t,
    counterexamples,
    share_interval,
    sign_interval,
    t_interval,
)


def test_a_t_interval_is_scipys():
    x = [1.0, 2.0, 4.0, 7.0]
    found = t_interval(x, 0.9)
    expected = stats.ttest_1samp(x, 0.0).confidence_interval(0.9)
    assert (found.effect, found.n) == (3.5, 4)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.se == pytest.approx(stats.sem(x))


def test_the_correction_for_overlapping_draws_is_nadeau_and_bengios():
    """Variance s^2 (1/J + n_test/n_train), by hand for J = 4, s^2 = 7, n_test/n_train = 1/4."""
    x = [1.0, 2.0, 4.0, 7.0]
    found = corrected_t(x, 0.95, test_to_train=0.25)
    assert found.se == pytest.approx(math.sqrt(7.0 * (1 / 4 + 1 / 4)))
    assert found.high - found.effect == pytest.approx(3.182446305 * found.se)
    assert corrected_t(x, 0.95, 0.0).se == pytest.approx(t_interval(x, 0.95).se)


def test_corrected_draws_from_one_pool_cover_where_plain_t_does_not():
    """The mean of a pool of 40 by 10 draws of 30 for training and 10 for testing, which overlap."""
    rng = np.random.default_rng(3)
    plain = corrected = 0
    for _ in range(300):
        pool = rng.normal(size=40)
        means = [pool[rng.permutation(40)[30:]].mean() for _ in range(10)]
        a, b = t_interval(means, 0.95), corrected_t(means, 0.95, 10 / 30)
        plain += a.low <= 0.0 <= a.high
        corrected += b.low <= 0.0 <= b.high
    assert plain < 0.75 * 300 and 0.9 * 300 < corrected < 0.99 * 300


def test_a_bootstrap_over_units_is_near_the_standard_error_and_covers():
    rng = np.random.default_rng(5)
    x = rng.normal(1.0, 2.0, size=400)
    found = bootstrap(x, 0.95)
    assert found.effect == pytest.approx(x.mean())
    assert found.se == pytest.approx(stats.sem(x), rel=0.05)
    assert not found.grows and found.n == 400
    covered = sum(b.low <= 0.0 <= b.high for b in (bootstrap(rng.normal(size=60), 0.9) for _ in range(200)))
    assert 0.82 * 200 <= covered <= 0.96 * 200


def test_percentiles_of_few_units_are_expanded_so_that_they_cover():
    """Of 8 units plain percentiles, about 1.96 / 2.36 sqrt(7/8) as wide as Student's t, cover too rarely."""
    rng = np.random.default_rng(9)
    samples = rng.normal(size=(300, 8))
    covered = sum(b.low <= 0.0 <= b.high for b in (bootstrap(x, 0.95) for x in samples))
    assert 0.91 * 300 <= covered <= 0.985 * 300
    wide, student = bootstrap(samples[0], 0.95), t_interval(samples[0], 0.95)
    assert wide.high - wide.low == pytest.approx(student.high - student.low, rel=0.15)


def test_data_sets_judged_together_are_resampled_each_by_itself():
    """The smallest of three gains in two data sets, of which one is far noisier than the other."""
    rng = np.random.default_rng(11)
    first = np.array([2.0, 5.0]) + 0.1 * rng.normal(size=(50, 2))
    second = 1.0 + 3.0 * rng.normal(size=(30, 1))
    found = bootstrap_within([first, second], 0.95, lambda gains: gains.min(axis=1))
    assert found.effect == pytest.approx(min(*first.mean(axis=0), second.mean()))
    assert found.se == pytest.approx(stats.sem(second[:, 0]), rel=0.15)
    assert found.n == 80 and not found.grows and "80 units within 2 data sets" in found.interval
    alone = bootstrap_within([first], 0.95, lambda gains: gains[:, 1] - gains[:, 0])
    assert alone.se == pytest.approx(stats.sem(first[:, 1] - first[:, 0]), rel=0.1)  # units stay together
    with pytest.raises(NotTestable, match="1 units in a data set"):
        bootstrap_within([first, second[:1]], 0.95, lambda gains: gains.min(axis=1))


def test_units_crossed_with_draws_have_the_variance_of_both():
    """A large effect of each draw must widen the interval: units alone would not show it."""
    rng = np.random.default_rng(7)
    draws = rng.normal(0.0, 1.0, size=(5, 1))
    x = draws + 0.1 * rng.normal(size=(5, 300))
    found = bootstrap(x, 0.95)
    assert found.grows and found.n == 300 and "and 5 repetitions" in found.interval
    assert found.se == pytest.approx(draws.std() / math.sqrt(5), rel=0.15)
    assert bootstrap(x - draws, 0.95).se < 0.05 * found.se


def test_a_ratio_of_sums_is_no_mean_of_ratios():
    """F1 over all brackets: (right, given, predicted) of three sentences, the first large."""
    counts = np.array([[90, 100, 100], [0, 1, 1], [0, 1, 1]], dtype=float)
    f1 = bootstrap(counts, 0.95, lambda c: 2 * c[:, 0] / (c[:, 1] + c[:, 2]))
    assert f1.effect == pytest.approx(180 / 204)
    assert f1.low == 0.0 and f1.high == pytest.approx(0.9)


def test_a_ratio_that_some_resamples_do_not_have_is_not_testable():
    counts = np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    with pytest.raises(NotTestable, match="3 units are too few: some resamples have nothing to count"):
        bootstrap(counts, 0.95, lambda c: c[:, 0] / c[:, 1])


def test_the_same_numbers_have_the_same_bootstrap():
    x = np.arange(10.0)
    assert bootstrap(x, 0.95) == bootstrap(x, 0.95)
    assert bootstrap(x, 0.99).high > bootstrap(x, 0.95).high


def test_wins_and_losses_are_mcnemars_exact_test():
    """The interval excludes 0 just when the two-sided binomial test rejects."""
    for won in range(21):
        found = sign_interval(won, 20 - won, 0.95)
        assert found.effect == pytest.approx((2 * won - 20) / 20)
        decided = found.low > 0 or found.high < 0
        tail = stats.binom.cdf(min(won, 20 - won), 20, 0.5)
        assert decided == (tail < 0.025)
        exact = stats.binomtest(won, 20).proportion_ci(0.95, "exact")
        assert (found.low, found.high) == pytest.approx((2 * exact.low - 1, 2 * exact.high - 1), abs=1e-11)
        mirrored = sign_interval(20 - won, won, 0.95)
        assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low))


def test_a_share_has_an_exact_interval_also_where_all_units_agree():
    for have in (0, 1, 13, 40):
        found, exact = share_interval(have, 40, 0.9), stats.binomtest(have, 40).proportion_ci(0.9, "exact")
        assert found.effect == pytest.approx(2.5 * have) and found.n == 40 and not found.grows
        assert (found.low, found.high) == pytest.approx((100 * exact.low, 100 * exact.high))
    assert found.low < found.high == 100.0


def test_what_cannot_tell_says_so():
    for compute in (lambda: t_interval([1.0], 0.95), lambda: corrected_t([], 0.95, 0.1)):
        with pytest.raises(NotTestable, match="at least 2 are needed"):
            compute()
    with pytest.raises(NotTestable, match="never differ"):
        sign_interval(0, 0, 0.95)
    with pytest.raises(NotTestable, match="no unit that it applies to"):
        share_interval(0, 0, 0.95)
    with pytest.raises(NotTestable, match="no run that it applies to"):
        counterexamples(0, 0)
    with pytest.raises(NotTestable, match="1 units"):
        bootstrap(np.array([1.0]), 0.95)


def test_counterexamples_are_counted():
    found = counterexamples(2, 30, "the worst has 1.2 of its bound")
    assert (found.effect, found.low, found.high, found.n) == (2.0, 2.0, 2.0, 30)
    assert found.se is None
