"""What all stage commands share: their arguments, where their files stand, and errors as one sentence."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from structmargin_suite.planning.config import ConfigError, unknown
from structmargin_suite.planning.plan import SCALE_VARIABLE, Suite, load
from structmargin_suite.planning.runs import Job
from structmargin_suite.rerun import machine
from structmargin_suite.storage.errors import DataError
from structmargin_suite.storage.layout import ScaleLayout


def arguments(stage: str, about: str, *names: str) -> argparse.ArgumentParser:
    """A parser with --root, --scale, --writes and one required option for each name."""
    parser = argparse.ArgumentParser(prog=f"python -m structmargin_suite.stages.{stage}", description=about)
    parser.add_argument("--root", type=Path, default=Path("."), help="the folder with configs/")
    parser.add_argument("--scale", default=os.environ.get(SCALE_VARIABLE), help="smoke, standard or paper")
    parser.add_argument(
        "--writes",
        type=Path,
        nargs="+",
        help="files that the command writes: data/ and results/ are the folders of these names above the "
        "first (those in --root by default)",
    )
    for name in names:
        parser.add_argument(f"--{name}", required=True)
    return parser


def suite_of(options: argparse.Namespace, names: Sequence[str], library: bool = False) -> Suite:
    """The plan of these experiments; one that is not in configs/suite.yaml is an error."""
    suite = load(options.root, options.scale, library=library, only=names)
    for name in names:
        if name not in suite.experiments:
            raise DataError(f"there is no experiment {name!r} in configs/suite.yaml; correct the name")
    return suite


def require_name(name: str, known: Sequence[str], what: str) -> None:
    """Raise where a job or a corpus of this name is not in the plan."""
    if name not in known:
        raise DataError(unknown(name, known, what))


def layout_of(options: argparse.Namespace, suite: Suite) -> ScaleLayout:
    """Where a command's files stand: below the folder in which the file that it is to write stands."""
    return ScaleLayout(suite.root if options.writes is None else base_of(options.writes[0]), suite.scale)


def base_of(path: Path) -> Path:
    """The folder with data/ready and results/, found from a path of a file in one of them."""
    steps = path.parts
    for position in reversed(range(len(steps))):
        if steps[position] == "results" or steps[position : position + 2] == ("data", "ready"):
            return Path(*steps[:position])
    raise DataError(f"{path} is neither in results/ nor in data/ready/: --writes must name such a file")


def job_of(
    argv: Sequence[str] | None, stage: str, about: str, library: bool = True
) -> tuple[Suite, Job, ScaleLayout]:
    """The job that --experiment and --job name, for a stage whose searches use --threads; see `plan.load`.

    Linear algebra works on one thread in any case. The number of threads changes no result, so that it is no
    part of a run: joblib is told, and trainings ask joblib.
    """
    parser = arguments(stage, about, "experiment", "job")
    parser.add_argument("--threads", type=int, default=1, help="how many searches run side by side")
    options = parser.parse_args(argv)
    machine.one_thread()
    if options.threads > 1:
        import joblib

        joblib.parallel_config(n_jobs=options.threads)
    suite = suite_of(options, [options.experiment], library)
    experiment = suite.experiments[options.experiment]
    require_name(options.job, [job.name for job in experiment.jobs], "job")
    return suite, experiment.job(options.job), layout_of(options, suite)


def guarded(main: Callable[[Sequence[str] | None], None]) -> None:
    """Run a command; an error that a user can correct is one sentence and exit status 1."""
    try:
        machine.require_address_space()
        main(None)
    except (ConfigError, DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except MemoryError as error:
        details = f" ({error})" if str(error) else ""
        print(
            f"error: there is not enough memory for this job{details}: give it more, or run fewer",
            file=sys.stderr,
        )
        raise SystemExit(1) from None
