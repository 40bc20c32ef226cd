"""Stage 6: judge what the papers state and write the pages. results/*/ -> statements.csv, */index.html, ...

Every experiment of the configuration that has results is shown, whichever were asked for this time; results
made under an earlier configuration are shown with a note that says so. An experiment without results has a
page that says how to run it. A variant (`extends`) is shown, but no statement is judged by it.
"""

from __future__ import annotations

from collections.abc import Sequence

from structmargin_suite.analysis.published_numbers import misfits
from structmargin_suite.figures.suite import draw_distances
from structmargin_suite.planning.plan import Suite, load
from structmargin_suite.planning.variants import EXTENDS
from structmargin_suite.publish.page import pages
from structmargin_suite.publish.stability import Change, changes, reseeded, scattered
from structmargin_suite.rerun import job_keys, machine, seeds
from structmargin_suite.results import Results
from structmargin_suite.stages._command import arguments, guarded, layout_of
from structmargin_suite.stages._progress import Progress
from structmargin_suite.statements.judging import COLUMNS, judge
from structmargin_suite.storage.csv_files import write_csv
from structmargin_suite.storage.files import plain, write_text
from structmargin_suite.storage.frames import records
from structmargin_suite.storage.layout import Layout, ScaleLayout
from structmargin_suite.storage.seal import verified, write_seal
from structmargin_suite.storage.statements_file import STATEMENTS_FILE, read_statements


def report(suite: Suite, layout: ScaleLayout | None = None) -> None:
    """Judge every statement and write the pages, from results that are as they were written."""
    layout = layout or ScaleLayout(suite.root, suite.scale)
    progress = Progress("report", 3)
    results = Results(suite.root, layout.results, base=layout.root)
    for experiment in results.values():
        verified(experiment.folder)
    claims = read_statements(suite.root / "data" / "published" / STATEMENTS_FILE)
    judged = {name: experiment for name, experiment in results.items() if EXTENDS not in experiment.config}
    again = seeds.verdicts(suite, ScaleLayout(suite.root, suite.scale))
    rows = judge(judged, claims, again=again)
    write_csv(layout.statements, rows, COLUMNS)
    progress.step(layout.statements.name)
    current = {name: plain(experiment.config) for name, experiment in suite.experiments.items()}
    stale = [name for name, shown in results.items() if shown.config != current.get(name)]
    order = [name for name in suite.experiments if name in results]
    shown = [results[name] for name in order]
    draw_distances({name: judged[name] for name in order if name in judged}, layout.distances)
    progress.step(layout.distances.name)
    distances = layout.distances.read_bytes()
    wrong = misfits(suite.root / "data" / "published")
    made = pages(
        shown, claims, rows, suite, distances, wrong, stale,
        changed=_changes(suite, rows),
        reseeded=reseeded(rows, again),
        scattered=scattered(seeds.at_other_scales(suite)),
    )  # fmt: skip
    for name, text in made.items():
        write_text(layout.results / name, text)
    progress.step("the pages")
    written = (layout.statements, layout.distances)
    files = [*(path.relative_to(layout.results).as_posix() for path in written), *made]
    write_seal(layout.results, job_keys.page_key(suite, layout), files)
    progress.close()


def _changes(suite: Suite, rows: list[dict[str, object]]) -> list[Change] | None:
    """How verdicts differ from the committed run's; None where there is no committed run."""
    committed = Layout(suite.root).snapshot
    if not (committed / Layout(suite.root).statements.name).is_file():
        return None
    return changes(rows, records(Results(suite.root, committed).statements()))


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    options = arguments("report", "Judge what the papers state and write the pages.").parse_args(argv)
    machine.one_thread()
    suite = load(options.root, options.scale, library=False)
    report(suite, layout_of(options, suite))


if __name__ == "__main__":
    guarded(main)
