"""Stage 7: whether every run succeeded. results/E/runs.csv -> results/complete.json, or an error.

Tables and the page show failed runs with their reasons and are there either way. A failed run is an error
of the whole all the same, unless its config has `allow_failed_runs`; it is tried again on the next call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from structmargin_suite.planning.plan import Experiment, Suite
from structmargin_suite.planning.runs import Job
from structmargin_suite.rerun.unfit import completion
from structmargin_suite.stages._command import arguments, guarded, layout_of, suite_of
from structmargin_suite.storage.csv_files import read_csv
from structmargin_suite.storage.errors import DataError
from structmargin_suite.storage.files import write_json
from structmargin_suite.storage.layout import ScaleLayout

FEW = 10
"""Failed runs that are listed of each experiment; the page has them all."""


class FailedRuns(DataError):
    """Some runs failed."""


def complete(suite: Suite, names: Sequence[str], layout: ScaleLayout | None = None) -> None:
    """Write down that these experiments have no failed run; raises FailedRuns where one has."""
    layout = layout or ScaleLayout(suite.root, suite.scale)
    lines = [line for name in names for line in failures(suite.experiments[name], layout)]
    if lines:
        raise FailedRuns("\n".join(lines))
    write_json(layout.complete, completion(suite, names))


def failures(experiment: Experiment, layout: ScaleLayout) -> Iterator[str]:
    """What to tell of an experiment's failed runs: how many, and of the first the reason and the log."""
    if experiment.config.get("allow_failed_runs"):
        return
    rows = read_csv(layout.shown(experiment.name) / "runs.csv")
    failed = [row for row in rows if row["status"] == "failed"]
    if not failed:
        return
    yield f"{len(failed)} of {len(rows)} runs of {experiment.name} failed; the next call tries them again:"
    for row in failed[:FEW]:
        yield f"  {row['run']}: {row['reason']} ({_log(experiment, row, layout)})"
    if len(failed) > FEW:
        yield f"  and {len(failed) - FEW} more: see {layout.page}"


def _log(experiment: Experiment, row: dict[str, str], layout: ScaleLayout) -> Path:
    stage = "evaluate" if row["reason"].startswith("evaluation: ") else "train"
    job: Job = next(job for job in experiment.jobs if row["run"] in {run.name for run in job.runs})
    return layout.log(experiment.name, f"{stage}_{job.name}")


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    parser = arguments("complete", "Find out whether every run succeeded.")
    parser.add_argument("--experiments", nargs="+", required=True)
    options = parser.parse_args(argv)
    suite = suite_of(options, options.experiments)
    complete(suite, options.experiments, layout_of(options, suite))


if __name__ == "__main__":
    guarded(main)
