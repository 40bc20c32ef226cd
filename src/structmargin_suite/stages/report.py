"""Stage 5: judge every claim and write the page. results/*/ -> results/claims.csv, results/index.html.

Everything that has results is shown, whichever experiments were asked for this time; results made
under an earlier configuration are shown with a note that says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from structmargin_suite.planning.plan import Suite, load
from structmargin_suite.publish.page import page
from structmargin_suite.rerun import job_keys, machine
from structmargin_suite.results import Results
from structmargin_suite.stages._command import arguments, guarded, layout_of
from structmargin_suite.stages._progress import Progress
from structmargin_suite.statements import judge
from structmargin_suite.storage.csv_files import write_csv
from structmargin_suite.storage.files import plain, write_text
from structmargin_suite.storage.layout import Layout
from structmargin_suite.storage.records import read_claims
from structmargin_suite.storage.seal import verified, write_seal


def report(suite: Suite, layout: Layout | None = None) -> None:
    """Judge every claim and write the page, from results that are as they were written."""
    layout = layout or Layout(suite.root)
    progress = Progress("report", 2)
    results = Results(suite.root, layout.results, base=layout.root)
    for experiment in results.values():
        verified(experiment.folder)
    claims = judge(results, read_claims(suite.root / "data" / "published" / "claims.yaml"))
    write_csv(layout.claims, claims, ["id", "verdict", "evidence"])
    progress.step("claims.csv")
    current = {name: plain(experiment.config) for name, experiment in suite.experiments.items()}
    stale = [name for name, shown in results.items() if shown.config != current.get(name)]
    order = [name for name in suite.experiments if name in results]
    order += [name for name in results if name not in order]
    write_text(layout.page, page([results[name] for name in order], claims, suite, stale))
    progress.step("index.html")
    files = [path.relative_to(layout.results).as_posix() for path in (layout.claims, layout.page)]
    write_seal(layout.results, job_keys.page_key(suite, layout), files)
    progress.close()


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    options = arguments("report", "Judge the claims and write the page.").parse_args(argv)
    machine.one_thread()
    suite = load(options.root, options.scale, library=False)
    report(suite, layout_of(options, suite))


if __name__ == "__main__":
    guarded(main)
