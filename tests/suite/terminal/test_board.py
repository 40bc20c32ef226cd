"""The bar counts CPU seconds and not jobs, and the time left learns from the jobs that are done."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structmargin_suite.terminal.board import Board, Planned


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def board(*seconds: float, cores: int = 1) -> tuple[Board, Clock]:
    clock = Clock()
    jobs = {number: Planned(f"job {number}", each, "toy") for number, each in enumerate(seconds)}
    return Board(jobs, cores, clock), clock


def test_a_short_job_of_two_is_not_half_of_the_run():
    shown, clock = board(90.0, 10.0)
    shown.start([1])
    clock.now = 10.0
    assert shown.finish(1)
    assert shown.share == pytest.approx(0.1) and shown.left == pytest.approx(90.0)
    assert shown.line(80) == "[##......................]  10 %, 1 min 30 s left"


def test_a_running_job_counts_for_the_time_that_has_passed_but_never_for_all_of_it():
    shown, clock = board(100.0, 100.0)
    shown.start([0])
    clock.now = 50.0
    assert shown.share == pytest.approx(0.25)
    clock.now = 1000.0
    assert shown.share == pytest.approx(0.95 / 2)
    assert shown.line(80).endswith("left, now: job 0")


def test_a_slow_machine_makes_the_rest_longer_and_two_cores_make_it_shorter():
    shown, clock = board(10.0, 30.0, 30.0, cores=2)
    assert shown.left == pytest.approx(70.0 / 2)
    shown.start([0])
    clock.now = 20.0
    shown.finish(0)
    # 5% of the 70 s planned count as having taken what was expected
    assert shown.slowness == pytest.approx(23.5 / 13.5) and shown.left == pytest.approx(
        60.0 * 23.5 / 13.5 / 2
    )
    assert shown.done_line(0) == "1 of 3 jobs, 14 %: job 0 took 20 s, about 52 s left"


def test_a_few_short_jobs_that_are_quicker_than_guessed_do_not_shorten_a_long_run():
    shown, clock = board(*[5.0] * 20, 5000.0, 4900.0)
    for number in range(20):
        shown.start([number])
        clock.now += 0.5
        shown.finish(number)
    assert 0.8 * 9900.0 < shown.left < 9900.0
    shown.start([20])
    clock.now += 500.0
    shown.finish(20)
    assert shown.left < 0.2 * 4900.0


def test_stages_that_wait_for_each_other_do_not_get_shorter_on_more_cores():
    stages = {"train": (30.0, 30.0), "evaluate": (5.0, 5.0), "report": (10.0,)}
    jobs = [Planned("x", each, "toy", stage) for stage, seconds in stages.items() for each in seconds]
    assert Board(dict(enumerate(jobs)), cores=1).left == pytest.approx(80.0)
    assert Board(dict(enumerate(jobs)), cores=2).left == pytest.approx(45.0)
    assert Board(dict(enumerate(jobs)), cores=100).left == pytest.approx(30.0 + 5.0 + 10.0)


def test_jobs_that_the_plan_does_not_have_and_ends_without_a_beginning_do_no_harm():
    shown, clock = board(10.0, 10.0)
    shown.start([7])
    clock.now = 100.0
    assert not shown.finish(7) and not shown.running
    assert shown.finish(0) and not shown.finish(0)
    assert shown.slowness == 1.0 and shown.done_line(0).endswith("job 0 is done, about 10 s left")
    assert shown.fail(1) and not shown.fail(1)


def test_the_last_job_of_an_experiment_ends_it():
    shown, _ = board(1.0, 1.0)
    shown.finish(0)
    assert shown.finished_experiment(0) is None
    shown.finish(1)
    assert shown.finished_experiment(1) == "toy" and shown.share == 1.0
    assert shown.line(80) == "[########################] 100 %"


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=6), st.lists(st.floats(0, 1e4), max_size=12))
def test_the_share_never_falls_while_jobs_take_what_was_expected(seconds, steps):
    shown, clock = board(*seconds)
    before = shown.share
    for number, step in enumerate(steps):
        shown.start([number])
        clock.now += step if number >= len(seconds) else seconds[number]
        assert before - 1e-9 <= shown.share <= 1.0
        shown.finish(number)
        assert shown.left >= 0.0 and len(shown.line(40)) <= 40
        before = shown.share
    assert (shown.share == 1.0) == (len(shown.took) == len(seconds))
