"""Searches of a problem written in Python on joblib's workers: one pool per training.

Problem and data travel once to each worker, w with every pass. This needs no shared disk, and works whatever
the backend (loky, threading, dask, ray) and whichever worker a task goes to: a task has a token, the weights
and a slice of the examples; a worker that does not hold what the token stands for answers that it is missing,
and is sent the same task with all that is needed, which it keeps until another token comes.

Under a joint kernel not w but an expansion over examples would travel, longer after every pass: such searches
stay in this process.
"""

from __future__ import annotations

import os
import time
import traceback
import uuid
import weakref
from typing import Any, NamedTuple

import cloudpickle
import joblib
import numpy as np

from structmargin.cuts import SearchError
from structmargin.problem import Scorer
from structmargin.scorer import LinearScorer
from structmargin.training.parallel.jobs import Jobs, Pace, slices
from structmargin.training.parallel.one_by_one import OneByOne

PER_WORKER = 4
"""So many slices for each worker: fewer than for threads, since w travels with each."""
TRIAL_SECONDS = 0.1
"""The first examples are searched in this process for so long; if that is enough, no worker is needed."""
MIN_SECONDS = 0.02
"""A pass that takes less than this for each worker stays in this process too."""


class WorkerError(SearchError):
    """A worker came to an end before its search did."""


class Answer(NamedTuple):
    """What a worker returns: what was found or raised, pickled if it was elsewhere, and how long it took.

    `cpu_seconds` is 0 in the process that asks, whose clock has it already.
    """

    content: Any
    raised: bool = False
    seconds: float = 0.0
    cpu_seconds: float = 0.0


MISSING = "missing"
_own: weakref.WeakValueDictionary[str, OneByOne] = weakref.WeakValueDictionary()
"""What this process itself searches: threads find it here, without a copy."""
_held: dict[str, OneByOne] = {}
"""What this process was sent last."""


def answer(
    token: str,
    payload: np.ndarray | None,
    method: str,
    w: np.ndarray,
    indices: np.ndarray,
    options: tuple[Any, ...],
) -> Answer | str:
    """In a worker: call a method of what the token stands for; MISSING if that is not known here."""
    elsewhere = token.partition("-")[0] != str(os.getpid())
    began, cpu = time.perf_counter(), time.thread_time()
    try:
        held = _own.get(token) or _held.get(token)
        if held is None:
            if payload is None:
                return MISSING
            held = cloudpickle.loads(payload.tobytes())
            _held.clear()
            _held[token] = held
        found = getattr(held, method)(LinearScorer(held.problem, np.asarray(w)), indices, *options)
        content = cloudpickle.dumps(found) if elsewhere else found
        cpu_seconds = time.thread_time() - cpu if elsewhere else 0.0
        return Answer(content, False, time.perf_counter() - began, cpu_seconds)
    except Exception as error:
        return Answer(_portable(error) if elsewhere else error, True)


def _portable(error: Exception) -> bytes:
    """An exception pickled, with its traceback as a note; of one that cannot be pickled only the text."""
    error.add_note("in a worker:\n" + "".join(traceback.format_exception(error)))
    try:
        content: bytes = cloudpickle.dumps(error)
        cloudpickle.loads(content)
    except Exception:
        content = cloudpickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return content


class Workers:
    """The pool of one training or prediction, which is there from the first pass that is worth it."""

    def __init__(self, searches: OneByOne, jobs: Jobs) -> None:
        self.searches, self.jobs = searches, jobs
        self.n = int(joblib.effective_n_jobs(jobs.n_jobs))
        self.token = f"{os.getpid()}-{uuid.uuid4().hex}"
        if self.n > 1:
            self._parallel = joblib.Parallel(n_jobs=jobs.n_jobs, batch_size=1, pre_dispatch="all")
        self._payload: np.ndarray | None = None
        self._open = False
        jobs.at_end(self.close)

    def run(self, method: str, f: Scorer, indices: np.ndarray, pace: Pace, *options: Any) -> list[Any]:
        """What a method of the searches returns for parts of the indices, in order."""
        here = getattr(self.searches, method)
        if self.n == 1 or f.w is None:
            return [here(f, indices, *options)]
        parts, done, began = [], 0, time.perf_counter()
        while pace.seconds is None and done < len(indices):  # 1, 2, 4, ... of them
            parts.append(here(f, indices[done : 2 * done + 1], *options))
            done = min(2 * done + 1, len(indices))
            if time.perf_counter() - began > TRIAL_SECONDS or done == len(indices):
                pace.note(time.perf_counter() - began, done)
        rest = indices[done:]
        if len(rest) == 0:
            return parts
        if pace.worth(len(rest), MIN_SECONDS) < self.n:
            began = time.perf_counter()
            parts.append(here(f, rest, *options))
            pace.note(time.perf_counter() - began, len(rest))
            return parts
        return parts + self._sent(method, f.w, rest, pace, options)

    def _sent(
        self, method: str, w: np.ndarray, indices: np.ndarray, pace: Pace, options: tuple[Any, ...]
    ) -> list[Any]:
        parts = slices(indices, PER_WORKER * self.n)
        answers = self._call([(self.token, None, method, w, part, options) for part in parts])
        again = [k for k, found in enumerate(answers) if found == MISSING]
        if again:
            payload = self._pickled()
            tasks = [(self.token, payload, method, w, parts[k], options) for k in again]
            for k, found in zip(again, self._call(tasks), strict=True):
                answers[k] = found
        self.jobs.seconds += sum(found.cpu_seconds for found in answers)
        pace.note(sum(found.seconds for found in answers), len(indices))
        contents = [
            cloudpickle.loads(a.content) if isinstance(a.content, bytes) else a.content for a in answers
        ]
        for found, content in zip(answers, contents, strict=True):
            if found.raised:
                raise content
        return contents

    def _call(self, tasks: list[tuple[Any, ...]]) -> list[Any]:
        if not self._open:
            _own[self.token] = self.searches
            self._parallel.__enter__()
            self._open = True
        try:
            return list(self._parallel(joblib.delayed(answer)(*task) for task in tasks))
        except Exception as error:
            self._give_up()
            raise WorkerError(
                f"a worker ended before its search did ({type(error).__name__}): see whether memory ran out "
                f"or a function of {self.searches.problem.name} ends its process, or set n_jobs=1"
            ) from error
        except BaseException:  # interrupted: what is still to be searched is searched here
            self._give_up()
            raise

    def _pickled(self) -> np.ndarray:
        """Problem and data as bytes, in an array: joblib's backends share a large one among workers."""
        if self._payload is None:
            try:
                content = cloudpickle.dumps(self.searches)
            except Exception as error:
                raise ValueError(
                    f"{self.searches.problem.name} or its data cannot be sent to another process "
                    f"({type(error).__name__}: {error}): define its class in a module and keep locks, open "
                    "files and the like out of it, or use threads, with joblib.parallel_config('threading'), "
                    "or set n_jobs=1"
                ) from error
            self._payload = np.frombuffer(content, dtype=np.uint8)
        return self._payload

    def _give_up(self) -> None:
        """From here on everything is searched in this process."""
        self.n = 1

    def close(self) -> None:
        """Leave the pool to joblib, which may keep its processes for the next one."""
        if self._open:
            self._open = False
            self._parallel.__exit__(None, None, None)
