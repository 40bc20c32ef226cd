"""The command `structmargin`: list experiments, explain and check configs, compare and copy results.

structmargin list                     experiments, problems, solvers, formulations and what goes together
structmargin explain alignment        what the config will run, and how long it took last time
structmargin status alignment         how many runs the next call will train, about how long, and why
structmargin check                    configs and data, before anything runs
structmargin fetch gum covertype      real data from their public homes, verified; all without a name
structmargin compare alignment        what moved since the run before; or a variant's name, or snapshot
structmargin compare results other    two folders, number by number; --exact for bytes
structmargin unpack alignment some/   write the records, models and metrics of its runs as files
structmargin resources                write what jobs took to workflow/resources.yaml, for clusters
structmargin reseed 1 2 --only ner    run experiments under other seeds, to see which verdicts are chance
structmargin snapshot                 copy the small files of results/ to results/snapshot/
structmargin init my-folder           copy configs and workflow there: the suite without the repository
structmargin warm                     compile all hot loops, on all cores, before anything waits for them
structmargin docs                     write the generated parts of docs/ and of the README
structmargin notebooks ner            renew the outputs of notebooks from the snapshot; all without a name
structmargin picture                  renew the picture of the overview in the README, by Chromium
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def not_installed(error: ModuleNotFoundError) -> str:
    """What to install, for a package of the suite that is not there."""
    return (
        f"error: the experiments need packages that are not installed ({error.name} is missing): "
        "pip install 'structmargin[suite]'"
    )


try:
    from structmargin_suite.cli import arguments, outcomes, plans, project
    from structmargin_suite.planning.config import ConfigError
    from structmargin_suite.planning.project import is_project
    from structmargin_suite.storage.errors import DataError
except ModuleNotFoundError as error:
    raise SystemExit(not_installed(error)) from None

COMMANDS = {
    "list": plans.listing,
    "explain": plans.explain,
    "status": plans.status,
    "check": plans.check,
    "fetch": project.fetch,
    "compare": outcomes.compare,
    "unpack": outcomes.unpack,
    "resources": outcomes.resources,
    "reseed": outcomes.reseed,
    "snapshot": outcomes.snapshot,
    "warm": project.warm,
    "docs": project.docs,
    "notebooks": project.notebooks,
    "picture": project.picture,
    "init": project.init,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns the exit status."""
    parser = arguments.parser()
    options = parser.parse_args(argv)
    if options.command is None:
        parser.print_help()
        return 0
    try:
        if options.command not in ("list", "warm", "init") and not is_project(options.root):
            raise DataError(
                f"{options.root.resolve()} has no configs/suite.yaml: go to the project's folder, name it "
                "with --root, or make one with structmargin init"
            )
        return COMMANDS[options.command](options)
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ConfigError, DataError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:  # commands import what only they need
        if (error.name or "").partition(".")[0] in ("structmargin", "structmargin_suite"):
            raise
        print(not_installed(error), file=sys.stderr)
        return 1
    except OSError as error:
        remedy = "correct the name, the permissions or the disk"
        what = str(error) if error.filename is None else f"{error.filename}: {error.strerror}; {remedy}"
        print(f"error: {what}", file=sys.stderr)
        return 1
