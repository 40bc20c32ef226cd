"""The command `structmargin`: list experiments, explain and check configs, compare and copy results.

structmargin list                     experiments, problems, solvers, formulations and what goes together
structmargin explain alignment        what the config will run, and how long it took last time
structmargin check                    configs and data, before anything runs
structmargin fetch gum covertype      real data from their public homes, verified; all without a name
structmargin compare results other    number by number; --exact for bytes outside what is volatile
structmargin unpack alignment some/    the records, models and metrics of its runs, as files
structmargin resources                write what jobs took to workflow/resources.yaml, for clusters
structmargin reseed 1 2 --only ner    run experiments under other seeds, to see which verdicts are chance
structmargin snapshot                 copy the small files of results/ to results/snapshot/
structmargin init my-folder           copy configs and workflow there: the suite without the repository
structmargin warm                     compile all hot loops, on all cores, before anything waits for them
structmargin docs                     write what in docs/ follows from configs and modules
structmargin notebooks ner            renew the outputs of notebooks from the snapshot; all without a name
structmargin picture                  renew the picture of the overview in the README, by Chromium
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

try:
    from structmargin_suite.planning.config import ConfigError
    from structmargin_suite.storage.errors import DataError
except ModuleNotFoundError as error:
    raise SystemExit(
        f"error: the experiments need packages that are not installed ({error.name} is missing): "
        "pip install 'structmargin[suite]'"
    ) from None


def _parser() -> argparse.ArgumentParser:
    """All subcommands; --root and --scale may stand before or after a command."""
    parser = argparse.ArgumentParser(
        prog="structmargin", description="Experiments with structured prediction."
    )
    shared = argparse.ArgumentParser(add_help=False)
    for either, root, scale in ((parser, Path("."), None), (shared, argparse.SUPPRESS, argparse.SUPPRESS)):
        either.add_argument("--root", type=Path, default=root, help="the project's folder (this one)")
        either.add_argument("--scale", default=scale, help="smoke, standard or paper (the suite's)")
    commands = parser.add_subparsers(dest="command")
    commands.add_parser(
        "list", help="experiments, problems, solvers, and what goes together", parents=[shared]
    )
    explain = commands.add_parser(
        "explain", help="what a config will run, and how long it took", parents=[shared]
    )
    explain.add_argument("experiment")
    commands.add_parser("check", help="configs and data, before anything runs", parents=[shared])
    fetch = commands.add_parser("fetch", help="real data from their public homes", parents=[shared])
    fetch.add_argument("corpus", nargs="*", help="data sets by name (all)")
    compare = commands.add_parser("compare", help="two folders of results", parents=[shared])
    compare.add_argument("first", type=Path)
    compare.add_argument("second", type=Path)
    compare.add_argument("--exact", action="store_true", help="compare bytes, except what is volatile")
    compare.add_argument(
        "--tolerance", type=_share, help="the share by which numbers may differ, in place of their spread"
    )
    commands.add_parser(
        "snapshot", help="copy the small files of results/ to results/snapshot/", parents=[shared]
    )
    reseed = commands.add_parser("reseed", help="verdicts of the same under other seeds", parents=[shared])
    reseed.add_argument("seeds", type=int, nargs="+", help="in place of the seed of configs/suite.yaml")
    reseed.add_argument("--only", nargs="+", default=[], metavar="EXPERIMENT", help="all by default")
    unpack = commands.add_parser("unpack", help="the files of an experiment's runs", parents=[shared])
    unpack.add_argument("experiment")
    unpack.add_argument("folder", type=Path, help="where a folder per run is made")
    unpack.add_argument("--run", help="only this run, named as in runs.csv")
    commands.add_parser("resources", help="write what jobs took to workflow/resources.yaml", parents=[shared])
    commands.add_parser("warm", help="compile all hot loops, once, on all cores", parents=[shared])
    init = commands.add_parser(
        "init", help="copy configs and workflow into an empty folder", parents=[shared]
    )
    init.add_argument("folder", type=Path, nargs="?", help="where to (this one)")
    commands.add_parser("docs", help="write what in docs/ follows from configs and modules", parents=[shared])
    notebooks = commands.add_parser("notebooks", help="renew the outputs of notebooks", parents=[shared])
    notebooks.add_argument("notebook", nargs="*", help="notebooks by name (all)")
    commands.add_parser("picture", help="renew the picture of the overview", parents=[shared])
    return parser


def _share(text: str) -> float:
    """A number from 0 to 1."""
    share = float(text)
    if not 0.0 <= share <= 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return share


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns the exit status."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.command is None:
        parser.print_help()
        return 0
    try:
        if options.command not in ("list", "warm", "init") and not _is_project(options.root):
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
    except OSError as error:
        remedy = "correct the name, the permissions or the disk"
        what = str(error) if error.filename is None else f"{error.filename}: {error.strerror}; {remedy}"
        print(f"error: {what}", file=sys.stderr)
        return 1


def _is_project(root: Path) -> bool:
    """Whether a folder holds the configs of a suite."""
    return (root / "configs" / "suite.yaml").is_file()


def _list(options: argparse.Namespace) -> int:
    """What the library offers, and in a project's folder the experiments first."""
    from structmargin import registry
    from structmargin.formulation import FORMULATIONS
    from structmargin_suite.planning.plan import load

    if _is_project(options.root):
        suite = load(options.root, options.scale)
        print(f"experiments (scale {suite.scale})")
        for name, experiment in suite.experiments.items():
            config = experiment.config
            print(f"  {name:<14} {config['title']} ({config['paper']}, {len(experiment.runs)} runs)")
    else:
        print("experiments\n  none: no configs/suite.yaml here; go to the project's folder, or use --root")
    for title, known in (
        ("problems", registry.PROBLEMS),
        ("solvers", registry.SOLVERS),
        ("formulations", FORMULATIONS),
    ):
        print(f"{title}\n  {', '.join(known)}")
    print(*_combinations(), sep="\n")
    return 0


def _combinations() -> list[str]:
    """Which solver takes which formulation and joint kernels, as a table, and each reason why not, once."""
    from structmargin import registry
    from structmargin.formulation import FORMULATIONS
    from structmargin_suite.methods.combinations import refusal
    from structmargin_suite.methods.kinds import LibraryModel

    reasons: dict[str, None] = {}
    columns: list[tuple[str, str, dict[str, Any] | None]] = [(name, name, None) for name in FORMULATIONS]
    columns.append(("kernels", "SVM1 margin", {"name": "product", "kx": {"name": "linear"}}))
    widths = [max(len(title), 4) for title, _, _ in columns]
    lines = ["what can be combined (yes, no, or the number of problems that allow it)"]
    lines.append(" " * 17 + "  ".join(f"{title:>{width}}" for (title, _, _), width in zip(columns, widths)))
    for solver in registry.SOLVERS:
        cells = []
        for (_, formulation, kernel), width in zip(columns, widths):
            able = 0
            for problem in registry.PROBLEMS:
                why = refusal(
                    LibraryModel({"name": problem}, formulation=formulation, solver=solver, kernel=kernel)
                )
                able += why == (None, None)
                reasons |= dict.fromkeys(filter(None, why))
            whole = {0: "no", len(registry.PROBLEMS): "yes"}
            cells.append(f"{whole.get(able, able):>{width}}")
        lines.append(f"  {solver:<15}" + "  ".join(cells))
    return [*lines, "why not", *(f"  {reason}" for reason in reasons)]


def _explain(options: argparse.Namespace) -> int:
    from structmargin_suite.planning.config import unknown
    from structmargin_suite.planning.plan import load
    from structmargin_suite.publish.page.facts import clocks
    from structmargin_suite.publish.papers import PAPERS
    from structmargin_suite.results import Results

    suite = load(options.root, options.scale)
    if options.experiment not in suite.experiments:
        raise ConfigError(unknown(options.experiment, list(suite.experiments), "experiment"))
    experiment = suite.experiments[options.experiment]
    config = experiment.config
    print(f"{config['title']} ({PAPERS[config['paper']].short}: {config['where']})\n{config['about']}")
    for study, given in config["studies"].items():
        runs = [run for run in experiment.runs if study in run.studies]
        print(f"study {study!r}: {len(runs)} runs of {'; '.join(given['methods'])}")
        for key, values in given.get("vary", {}).items():
            several = values if isinstance(values, list) else range(values)
            print(f"  for {key} in {', '.join(str(value) for value in several)}")
    print(f"{len(experiment.runs)} runs in {len(experiment.jobs)} jobs at scale {suite.scale}")
    for key, old, new in experiment.shrunk:
        print(f"smaller than the paper: {key} {new} instead of {old}")
    for reason in dict.fromkeys(run.skip for run in experiment.runs if run.skip):
        print(f"left out: {reason}")
    results = options.root / "results"
    for when, folder in (("last time", results), ("in the snapshot", results / "snapshot")):
        known = Results(options.root, folder)
        if options.experiment in known:
            last = known[options.experiment]
            cost = clocks(last)
            print(
                f"{when} (scale {last.summary['scale']}): {cost['cpu']:.1f} CPU seconds of training, "
                f"{cost['peak']:.0f} MB in the largest job, on {'; '.join(cost['machine']) or 'no machine'}"
            )
    return 0


def _check(options: argparse.Namespace) -> int:
    from structmargin_suite.datasets import dataset
    from structmargin_suite.planning.catalogue import Catalogue
    from structmargin_suite.planning.plan import load, load_statements
    from structmargin_suite.planning.sources import MISSING, sources

    suite = load(options.root, options.scale)
    stated = load_statements(options.root)
    print(f"configuration: {len(suite.experiments)} experiments, {len(stated)} statements, no fault")
    found = list(sources(suite))
    print(*(f"  {source}" for source in found), sep="\n")
    print("what has to be asked for or done by hand:")
    for name in Catalogue(options.root, library=False).datasets:
        home = dataset(name).HOME
        if home.by_hand:
            print(f"  {name}: {home.title} ({home.page}): {home.by_hand}")
    missing = sum(source.state == MISSING for source in found)
    if missing:
        raise DataError(f"{missing} own file{'s are' if missing > 1 else ' is'} missing, as said above")
    return 0


def _fetch(options: argparse.Namespace) -> int:
    from structmargin_suite.datasets import dataset
    from structmargin_suite.fetching.bar import Bar
    from structmargin_suite.fetching.fetch import Unavailable
    from structmargin_suite.fetching.originals import obtain_files
    from structmargin_suite.planning.catalogue import Catalogue
    from structmargin_suite.planning.config import unknown
    from structmargin_suite.planning.plan import load
    from structmargin_suite.planning.sources import HERE, STAND_IN, offer, state_of
    from structmargin_suite.storage.layout import Layout

    suite = load(options.root, options.scale, library=False)
    names = [name for name in Catalogue(options.root, library=False).datasets if dataset(name).FILES]
    for name in options.corpus:
        if name not in names:
            raise ConfigError(unknown(name, names, "corpus with files"))
    failures = 0
    for name in options.corpus or names:
        module, bar = dataset(name), Bar()
        state, why = state_of(suite, name)
        if state == STAND_IN and not options.corpus:
            print(f"{name}: cannot be fetched: {why}")
            continue
        print(f"{name}: {'here' if state == HERE else offer(module)}", flush=True)
        try:
            obtain_files(module.FILES, module.HOME, Layout(options.root).raw(name), suite.mirror, bar)
        except Unavailable as error:
            failures += 1
            bar.close()
            print(f"  not fetched: {error}")
        else:
            bar.close()
            print(f"  verified, in {Layout(options.root).raw(name)}")
    return 1 if failures else 0


def _compare(options: argparse.Namespace) -> int:
    from structmargin_suite.publish.compare import TOLERANCES, exact, numbers

    for folder in (options.first, options.second):
        if not folder.is_dir():
            raise DataError(f"there is no folder {folder}; give two folders of results")
    if options.exact:
        differences = exact(options.first, options.second)
        for difference in differences:
            print(difference)
        print(f"{len(differences)} files differ outside what is volatile" if differences else "no difference")
        return 1 if differences else 0
    compared = numbers(options.first, options.second, options.tolerance)
    for line in (*compared.notes, *compared.differences):
        print(line)
    bad = sum(not difference.within for difference in compared.differences)
    share = f"within: {options.tolerance} of the larger number, or of 1"
    print(
        f"{compared.total} numbers and verdicts: {compared.total - len(compared.differences)} the same, "
        f"{len(compared.differences) - bad} differ within the tolerance, {bad} beyond it\n"
        f"({TOLERANCES if options.tolerance is None else share})"
    )
    return 1 if bad else 0


def _unpack(options: argparse.Namespace) -> int:
    from structmargin_suite.planning.config import unknown
    from structmargin_suite.results import Results
    from structmargin_suite.storage.files import write_bytes

    results = Results(options.root)
    if options.experiment not in results:
        raise ConfigError(unknown(options.experiment, list(results), "experiment with results"))
    experiment = results[options.experiment]
    names = experiment.runs["run"].tolist()
    if options.run is not None and options.run not in names:
        raise ConfigError(unknown(options.run, names, "run"))
    for run in names if options.run is None else [options.run]:
        for name, data in experiment.files(run).items():
            write_bytes(options.folder / run / name, data)
    print(f"{len(names) if options.run is None else 1} runs of {options.experiment} are in {options.folder}")
    return 0


def _resources(options: argparse.Namespace) -> int:
    from structmargin_suite.publish.measured import write_resources

    print(write_resources(options.root))
    return 0


def _reseed(options: argparse.Namespace) -> int:
    from structmargin_suite.rerun.seeds import repeat

    for seed in options.seeds:
        print(f"the verdicts are in {repeat(options.root, options.scale, seed, options.only)}")
    print("run snakemake: the next report compares them")
    return 0


def _snapshot(options: argparse.Namespace) -> int:
    from structmargin_suite.publish.snapshot import snapshot

    for line in snapshot(options.root):
        print(f"left out: {line}")
    print(f"the copy is in {options.root / 'results' / 'snapshot'}: look at its index.html;")
    print("then structmargin docs, notebooks and picture renew what is made from it (make snapshot does all)")
    return 0


def _warm(options: argparse.Namespace) -> int:
    from structmargin.warm.pool import compile_all

    print("compiled code: ", end="", flush=True)
    before = time.monotonic()
    count = compile_all()
    if count is None:
        print("cannot be kept; set NUMBA_CACHE_DIR to a folder that can be written to start faster")
    else:
        print(f"{count} functions in {time.monotonic() - before:.0f} s, once" if count else "all there")
    return 0


def _init(options: argparse.Namespace) -> int:
    from structmargin_suite.planning.project import copy_project

    folder = options.folder or options.root
    count = copy_project(folder)
    print(f"{count} files are in {folder}: the configs, the workflow and the papers' numbers")
    print("go there, then run structmargin check and snakemake (snakemake theory is a short experiment)")
    return 0


def _docs(options: argparse.Namespace) -> int:
    from structmargin_suite.publish.documents import documents
    from structmargin_suite.storage.files import write_text

    for path, text in documents(options.root).items():
        write_text(path, text)
        print(path)
    return 0


def _notebooks(options: argparse.Namespace) -> int:
    from structmargin_suite.publish.previews.notebooks import renew

    for path, size in renew(options.root, options.notebook):
        print(f"{path}: {size / 1000:.0f} kB")
    return 0


def _picture(options: argparse.Namespace) -> int:
    from structmargin_suite.publish.previews.picture import picture

    print(picture(options.root) or "there is no Chromium here: the picture stays as it is")
    return 0


COMMANDS = {
    "list": _list,
    "explain": _explain,
    "check": _check,
    "fetch": _fetch,
    "compare": _compare,
    "unpack": _unpack,
    "resources": _resources,
    "reseed": _reseed,
    "snapshot": _snapshot,
    "warm": _warm,
    "docs": _docs,
    "notebooks": _notebooks,
    "picture": _picture,
    "init": _init,
}


if __name__ == "__main__":
    sys.exit(main())
