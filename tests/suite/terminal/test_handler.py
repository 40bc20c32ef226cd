"""The logger plugin by itself: what is shown and what is held back, and that nothing in it ends a run."""

from __future__ import annotations

import io
import logging
from types import SimpleNamespace

import pytest
from snakemake.logging import DefaultFormatter
from snakemake_interface_logger_plugins.common import LogEvent

from structmargin_suite.terminal.board import Planned
from structmargin_suite.terminal.handler import LAST_LINES, LogHandler
from structmargin_suite.terminal.screen import CLEAR, Screen

JOBS = {1: Planned("train toy a", 30.0, "toy"), 2: Planned("report", 10.0)}


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


class Unwritable(io.StringIO):
    """A stream on a full disk."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


class Broken(io.StringIO):
    """A pipe that nobody reads any more."""

    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


@pytest.fixture
def make(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")

    def handler(stream: io.StringIO, piped: bool = False, **options: bool) -> LogHandler:
        monkeypatch.setattr("sys.stderr", stream)
        if isinstance(stream, Terminal) and not piped:
            monkeypatch.setattr("sys.stdout", Terminal())
        names = ("stdout", "nocolor", "dryrun", "verbose", "debug_dag", "printshellcmds")
        made = LogHandler(SimpleNamespace(**dict.fromkeys(names, False) | {"nocolor": True} | options), None)
        made.setFormatter(DefaultFormatter())
        return made

    return handler


def record(text: str, level: int = logging.INFO, **facts: object) -> logging.LogRecord:
    made = logging.LogRecord("snakemake", level, __file__, 1, text, None, None)
    made.__dict__.update(facts)
    return made


def test_in_a_pipe_there_is_one_plain_line_per_job(make, capsys):
    stream = io.StringIO()
    handler = make(stream)
    handler.emit(record("Building DAG of jobs..."))
    handler.begin(JOBS, cores=1)
    handler.emit(record("Execute 1 jobs...", event=LogEvent.JOB_STARTED, jobs=[1]))
    handler.emit(record("Finished jobid: 1", event=LogEvent.JOB_FINISHED, job_id=1))
    handler.emit(record("1 of 2 steps done", event=LogEvent.PROGRESS, done=1, total=2))
    handler.emit(record("Finished jobid: 2", event=LogEvent.JOB_FINISHED, job_id=2))
    handler.end("see results/index.html")
    assert capsys.readouterr().out == ""
    handler.close()
    handler.close()
    lines = stream.getvalue().splitlines()
    assert lines == [
        "1 of 2 jobs, 75 %: train toy a took 1 s, about 1 s left",
        "2 of 2 jobs, 100 %: report is done",
    ]
    assert capsys.readouterr().out == "see results/index.html\n"


def test_on_a_terminal_there_is_a_bar_below_the_lines_that_stay(make):
    stream = Terminal()
    handler = make(stream)
    handler.begin(JOBS, cores=1)
    handler.emit(record("x", event=LogEvent.JOB_STARTED, jobs=[1]))
    handler.emit(record("Careful", logging.WARNING))
    handler.emit(record("x", event=LogEvent.JOB_FINISHED, job_id=1))
    handler.close()
    shown = stream.getvalue()
    assert f"{CLEAR}[" in shown and "now: train toy a" in shown and f"{CLEAR}Careful\n{CLEAR}[" in shown
    assert f"{CLEAR}toy: done, 1 s in all its jobs\n" in shown and shown.endswith(CLEAR)


def test_where_standard_output_goes_elsewhere_there_are_lines_on_the_terminal_too(make):
    stream = Terminal()
    handler = make(stream, piped=True)
    handler.begin(JOBS, cores=1)
    handler.emit(record("x", event=LogEvent.JOB_FINISHED, job_id=1))
    handler.close()
    assert stream.getvalue() == "1 of 2 jobs, 75 %: train toy a is done, about 10 s left\n"


def test_without_a_run_snakemake_is_heard_and_after_an_error_only_the_error(make):
    stream = io.StringIO()
    handler = make(stream)
    handler.emit(record("SNAKEMAKE ...", event=LogEvent.WORKFLOW_STARTED))
    handler.emit(record("Nothing to be done"))
    assert stream.getvalue() == ""
    handler.close()
    assert stream.getvalue() == "Nothing to be done\n"
    stream = io.StringIO()
    handler = make(stream)
    handler.emit(record("Building DAG of jobs..."))
    handler.emit(record("LockException", logging.ERROR))
    handler.close()
    assert stream.getvalue() == "LockException\n"


@pytest.mark.parametrize("option", ["dryrun", "verbose", "debug_dag", "printshellcmds"])
def test_whoever_asks_for_more_gets_all_of_it(make, option):
    stream = io.StringIO()
    handler = make(stream, **{option: True})
    handler.begin(JOBS, cores=1)
    handler.emit(record("Building DAG of jobs..."))
    handler.emit(record("Finished jobid: 1", event=LogEvent.JOB_FINISHED, job_id=1))
    assert "Building DAG of jobs...\n" in stream.getvalue() and "Finished jobid: 1\n" in stream.getvalue()


def test_without_hooks_nobody_tells_a_plan_and_snakemake_is_heard(make):
    stream = io.StringIO()
    handler = make(stream)
    handler.emit(record("Building DAG of jobs..."))
    handler.emit(record("Execute 1 jobs...", event=LogEvent.JOB_STARTED, jobs=[1]))
    handler.emit(record("Finished jobid: 1", event=LogEvent.JOB_FINISHED, job_id=1))
    shown = stream.getvalue()
    assert [word in shown for word in ("Building DAG", "Execute 1 jobs", "Finished jobid")] == [True] * 3


def test_a_failed_job_is_told_once_with_the_end_of_its_log_and_no_control_characters(make, tmp_path):
    log = tmp_path / "train.log"
    log.write_bytes(b"".join(b"line %d\n" % n for n in range(30)) + b"\x1b[31mred\xff\n")
    stream = io.StringIO()
    handler = make(stream)
    handler.begin(JOBS, cores=1)
    facts = {"event": LogEvent.JOB_ERROR, "jobid": 1, "rule_name": "train", "log": [str(log), "gone.log"]}
    for _ in range(2):
        handler.emit(record("Error in rule train", logging.ERROR, **facts))
    handler.emit(record("WorkflowError:\nAt least one job did not complete successfully.", logging.ERROR))
    first, head, *lines, gone = stream.getvalue().splitlines()
    assert first == "failed: train toy a" and head == f"  its log, {log}, ends with:"
    assert len(lines) == LAST_LINES and lines[0] == f"    line {31 - LAST_LINES}" and "red" in lines[-1]
    assert gone == "  its log, gone.log, cannot be read: No such file or directory"
    assert "\x1b" not in stream.getvalue()


def test_a_job_that_somebody_stopped_did_not_fail(make, tmp_path):
    log = tmp_path / "train.log"
    log.write_text("Traceback (most recent call last):\n  somewhere\nKeyboardInterrupt\n")
    stream = io.StringIO()
    handler = make(stream)
    handler.begin(JOBS, cores=1)
    facts = {"event": LogEvent.JOB_ERROR, "jobid": 1, "rule_name": "train", "log": [str(log)]}
    handler.emit(record("Error in rule train", logging.ERROR, **facts))
    assert stream.getvalue() == "stopped: train toy a\n"


def test_a_fault_of_the_logger_is_told_and_snakemake_is_heard_from_then_on(make):
    stream = io.StringIO()
    handler = make(stream)
    handler.begin(JOBS, cores=1)
    handler.emit(record("x", event=LogEvent.JOB_FINISHED))  # without the number of the job
    handler.emit(record("Finished jobid: 2", event=LogEvent.JOB_FINISHED, job_id=2))
    shown = stream.getvalue()
    assert "(no more progress is shown: KeyError: 'job_id')" in shown and "Finished jobid: 2" in shown


@pytest.mark.filterwarnings("default")
def test_a_stream_that_cannot_be_written_ends_nothing(make, monkeypatch):
    monkeypatch.setattr(logging, "raiseExceptions", False)
    handler = make(Unwritable())
    handler.begin(JOBS, cores=1)
    handler.emit(record("x", event=LogEvent.JOB_STARTED, jobs=[1]))
    handler.emit(record("x", event=LogEvent.JOB_FINISHED, job_id=1))
    handler.emit(record("Careful", logging.WARNING))
    handler.close()
    pipe = make(Broken(), verbose=True)
    pipe.emit(record("nobody reads"))
    closed = Terminal()
    screen = Screen(closed)
    screen.start(lambda width: "bar")
    closed.close()
    screen.say("a line")
    screen.stop()
    assert handler.board is not None and 1 in handler.board.took and screen.bar is None


def test_a_mistyped_target_is_told_in_one_sentence(make):
    stream = io.StringIO()
    handler = make(stream)
    handler.reword = lambda text: "unknown experiment 'tyo'" if "No rule" in text else None
    handler.emit(record("MissingRuleException:\nNo rule to produce tyo", logging.ERROR))
    assert stream.getvalue() == "error: unknown experiment 'tyo'\n"
