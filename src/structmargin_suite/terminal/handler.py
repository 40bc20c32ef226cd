"""A logger plugin of Snakemake's: a quiet terminal, with Snakemake's own text in its log.

Snakemake hands every message to the handler, in a thread of its own. Until the workflow says what it is going
to do (`begin`, from the Snakefile's onstart), messages are held back: they are Snakemake's notes on planning.
If a run begins, or an error ends the planning, they are dropped; if none does (--unlock, --report, nothing to
be done), they are shown as Snakemake would show them. Warnings and errors are shown at once. With --dry-run,
--verbose, --debug-dag, --printshellcmds or --logger-structmargin-full, everything is.

A fault in here never ends a run: from then on Snakemake's own text is shown.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from structmargin_suite.terminal.board import Board, Planned
from structmargin_suite.terminal.durations import duration
from structmargin_suite.terminal.screen import Screen, say

LAST_LINES = 12
"""Of a failed job's log that are shown."""
MAX_LOG_BYTES = 65_536
INTERRUPTED = "KeyboardInterrupt"
"""How the log of a job ends that somebody stopped by Ctrl-C; where in the program it was does not matter."""
SAID_ALREADY = (
    "CalledProcessError in file",
    "Exiting because a job execution failed",
    "At least one job did not complete successfully",
)
"""In Snakemake's words on a failed job, which is shown with its log."""


class LogHandler(LogHandlerBase):
    """One bar on a terminal, one line per job in a pipe."""

    def __post_init__(self) -> None:
        from snakemake.logging import ColorizingTextHandler

        asked = self.common_settings
        stream = sys.stdout if asked.stdout else sys.stderr
        self.screen = Screen(stream, beside=sys.stdout)
        self.snakemake_text = ColorizingTextHandler(nocolor=asked.nocolor, stream=stream)
        full = getattr(self.settings, "full", False)
        self.full = bool(full or asked.dryrun or asked.verbose or asked.debug_dag or asked.printshellcmds)
        self.board: Board | None = None
        self.held: list[logging.LogRecord] = []
        self.ending: list[str] = []
        self.reword: Callable[[str], str | None] = lambda message: None
        self.erred = self.closed = False

    @property
    def writes_to_stream(self) -> bool:
        """Its lines go to a stream."""
        return True

    @property
    def writes_to_file(self) -> bool:
        """Snakemake's own log is left to Snakemake."""
        return False

    @property
    def has_filter(self) -> bool:
        """Snakemake's filter decides what its options leave out."""
        return False

    @property
    def has_formatter(self) -> bool:
        """Snakemake's text is formatted as Snakemake does."""
        return False

    @property
    def needs_rulegraph(self) -> bool:
        """The plan is handed over by the Snakefile (`begin`)."""
        return False

    # ---- what the Snakefile calls ----

    def begin(self, jobs: Mapping[int, Planned], cores: int) -> None:
        """From now on these jobs run, and only what is said of them is shown."""
        if not self.full:
            with self.screen.lock:
                self.held.clear()
                self.board = Board(dict(jobs), cores)
            self.screen.start(self.board.line)

    def end(self, *lines: str) -> None:
        """What to say when all is over, below everything else, on standard output."""
        self.ending += lines

    # ---- what Snakemake calls ----

    def emit(self, record: logging.LogRecord) -> None:
        """Show a message, or not; never raises."""
        try:
            self._show(record)
        except Exception as error:  # whatever it is, the run goes on
            self.full = True
            self.screen.stop()
            self.screen.say(f"(no more progress is shown: {type(error).__name__}: {error})")
            with contextlib.suppress(Exception):
                self._pass_on(record)

    def _show(self, record: logging.LogRecord) -> None:
        event = getattr(record, "event", None)
        self.erred |= record.levelno >= logging.ERROR
        better = self.reword(record.getMessage()) if record.levelno >= logging.ERROR else None
        if better is not None:
            self.screen.say(*f"error: {better}".splitlines())
        elif self.full:
            self._pass_on(record)
        elif self.board is None:
            self._hold_back(record, event)
        elif event in (LogEvent.JOB_STARTED, LogEvent.JOB_INFO):  # the second for members of a group
            facts = record.__dict__
            with self.screen.lock:
                self.board.start(facts["jobs"] if event == LogEvent.JOB_STARTED else [facts["jobid"]])
            self.screen.draw()
        elif event == LogEvent.JOB_FINISHED:
            self._finished(self.board, record.__dict__["job_id"])
        elif event == LogEvent.JOB_ERROR:
            self._failed(self.board, record.__dict__)
        elif event != LogEvent.GROUP_ERROR and _is_news(record):
            self._pass_on(record)

    def _hold_back(self, record: logging.LogRecord, event: Any) -> None:
        """Keep a note of planning; a job without a plan means that nobody will tell one (--no-hooks)."""
        if event == LogEvent.JOB_STARTED:
            self.full = True
            self._release()
        if self.full or record.levelno >= logging.WARNING:
            self._pass_on(record)
        elif event != LogEvent.WORKFLOW_STARTED:
            self.held.append(record)

    def _release(self) -> None:
        held, self.held = self.held, []
        for record in held:
            self._pass_on(record)

    def _pass_on(self, record: logging.LogRecord) -> None:
        """Show a message as Snakemake does."""
        with self.screen.lock:
            self.screen.clear()
            if self.snakemake_text.formatter is None:
                self.snakemake_text.setFormatter(self.formatter)
            self.snakemake_text.emit(record)
            self.screen.draw()

    def _finished(self, board: Board, number: int) -> None:
        with self.screen.lock:
            known = board.finish(number)
        if not known:
            return
        experiment = board.finished_experiment(number)
        if not self.screen.is_terminal:
            self.screen.say(board.done_line(number))
        elif experiment is not None:
            self.screen.say(f"{experiment}: done, {duration(board.seconds_of(experiment))} in all its jobs")

    def _failed(self, board: Board, facts: Mapping[str, Any]) -> None:
        with self.screen.lock:
            news = board.fail(int(facts["jobid"]))
        if not news:
            return
        job = board.jobs.get(int(facts["jobid"]))
        title = job.title if job is not None else str(facts["rule_name"])
        lines = last_lines(facts.get("log") or [])
        if lines and lines[-1].strip() == INTERRUPTED:
            self.screen.say(f"stopped: {title}")
        else:
            self.screen.say(f"failed: {title}", *lines)

    def close(self) -> None:
        """Say what is left to say."""
        if not self.closed:
            self.closed = True
            with contextlib.suppress(OSError, ValueError):  # nobody reads any more
                self.screen.stop()
                if self.board is None and not self.erred:
                    self._release()
            if self.ending:
                say(*self.ending)
        super().close()


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a message beside the jobs' own is a warning or an error that was not told yet."""
    said = any(words in record.getMessage() for words in SAID_ALREADY)
    return record.levelno >= logging.WARNING and not said


def last_lines(logs: list[str]) -> list[str]:
    """How the logs of a failed job end, each under its name."""
    said = []
    for log in logs:
        path = Path(str(log).removesuffix(" (check log file(s) for error details)"))
        try:
            with open(path, "rb") as handle:
                handle.seek(0, 2)
                handle.seek(max(handle.tell() - MAX_LOG_BYTES, 0))
                lines = handle.read().decode("utf-8", errors="replace").splitlines()
        except OSError as error:
            said.append(f"  its log, {path}, cannot be read: {error.strerror}")
            continue
        if not lines:
            said.append(f"  its log, {path}, is empty")
            continue
        said.append(f"  its log, {path}, ends with:")
        said += [f"    {line}" for line in lines[-LAST_LINES:]]
    return said
