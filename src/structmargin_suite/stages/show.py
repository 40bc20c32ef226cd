"""Stage 5: show an experiment. results/scales/<scale>/E -> results/E, its tables and figures as they are.

results/E is the scale that was run last; every scale keeps its own files below results/scales.
"""

from __future__ import annotations

from collections.abc import Sequence

from structmargin_suite.planning.plan import Suite
from structmargin_suite.stages._command import arguments, guarded, layout_of, suite_of
from structmargin_suite.storage.files import write_bytes
from structmargin_suite.storage.layout import ScaleLayout
from structmargin_suite.storage.seal import SEAL, verified


def show(suite: Suite, experiment: str, layout: ScaleLayout | None = None) -> None:
    """Copy what was tabulated, the seal last; refused where a file is not as it was written."""
    layout = layout or ScaleLayout(suite.root, suite.scale)
    source, target = layout.experiment(experiment), layout.shown(experiment)
    for name in (*verified(source).files, SEAL):
        write_bytes(target / name, (source / name).read_bytes())


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    options = arguments("show", "Copy an experiment's tables to results/.", "experiment").parse_args(argv)
    suite = suite_of(options, [options.experiment])
    show(suite, options.experiment, layout_of(options, suite))


if __name__ == "__main__":
    guarded(main)
