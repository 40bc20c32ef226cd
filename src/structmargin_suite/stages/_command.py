"""What all stage commands share: their arguments, and errors as one sentence."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from structmargin_suite.planning.config import ConfigError
from structmargin_suite.planning.plan import SCALE_VARIABLE, Suite, load
from structmargin_suite.planning.runs import Job
from structmargin_suite.rerun import machine
from structmargin_suite.storage.fetch import DataError


def arguments(stage: str, about: str, *names: str) -> argparse.ArgumentParser:
    """A parser with --root, --scale and one required option for each name."""
    parser = argparse.ArgumentParser(prog=f"python -m structmargin_suite.stages.{stage}", description=about)
    parser.add_argument("--root", type=Path, default=Path("."), help="the project's folder")
    parser.add_argument("--scale", default=os.environ.get(SCALE_VARIABLE), help="smoke, standard or paper")
    for name in names:
        parser.add_argument(f"--{name}", required=True)
    return parser


def job_of(argv: Sequence[str] | None, stage: str, about: str, library: bool = True) -> tuple[Suite, Job]:
    """The job that --experiment and --job name, for a stage that works on one thread; see `plan.load`."""
    options = arguments(stage, about, "experiment", "job").parse_args(argv)
    machine.one_thread()
    suite = load(options.root, options.scale, library=library, only=[options.experiment])
    return suite, suite.experiments[options.experiment].job(options.job)


def guarded(main: Callable[[Sequence[str] | None], None]) -> None:
    """Run a command; an error that a user can correct is one sentence and exit status 1."""
    try:
        main(None)
    except (ConfigError, DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from None
