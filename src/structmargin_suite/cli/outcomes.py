"""Commands about results: compare, unpack, resources, reseed, snapshot."""

from __future__ import annotations

import argparse
from pathlib import Path

from structmargin_suite.planning.config import ConfigError, unknown
from structmargin_suite.storage.errors import DataError


def compare(options: argparse.Namespace) -> int:
    """An experiment with its run before, a variant or the snapshot; or two folders, number by number."""
    first, second = options.first, options.second
    if (
        second is not None
        and (Path(first).is_dir() or Path(second).is_dir())
        and second not in ("before", "snapshot")
    ):
        return _folders(options, Path(first), Path(second))
    if options.exact or options.tolerance is not None:
        raise DataError("--exact and --tolerance compare two folders of results; name two")
    from structmargin_suite.publish.moved import comparison

    print(*comparison(options.root, first, second), sep="\n")
    return 0


def _folders(options: argparse.Namespace, first: Path, second: Path) -> int:
    from structmargin_suite.publish.compare import TOLERANCES, exact, numbers

    for folder in (first, second):
        if not folder.is_dir():
            raise DataError(f"there is no folder {folder}; give two folders of results")
    if options.exact:
        differences = exact(first, second)
        for difference in differences:
            print(difference)
        n = len(differences)
        print(
            f"{n} file{'s differ' if n > 1 else ' differs'} outside what is volatile"
            if n
            else "no difference"
        )
        return 1 if differences else 0
    compared = numbers(first, second, options.tolerance)
    for line in (*compared.notes, *compared.differences):
        print(line)
    beyond = sum(not difference.within for difference in compared.differences)
    share = f"within: {options.tolerance} of the larger number, or of 1"
    print(
        f"{compared.total} numbers and verdicts: {compared.total - len(compared.differences)} the same, "
        f"{len(compared.differences) - beyond} differ within the tolerance, {beyond} beyond it\n"
        f"({TOLERANCES if options.tolerance is None else share})"
    )
    return 1 if beyond else 0


def unpack(options: argparse.Namespace) -> int:
    """The files of an experiment's runs."""
    from structmargin_suite.results import Results
    from structmargin_suite.storage.files import write_bytes

    results = Results(options.root)
    if options.experiment not in results:
        raise ConfigError(unknown(options.experiment, list(results), "experiment with results"))
    experiment = results[options.experiment]
    names = experiment.runs["run"].tolist()
    if options.run is not None and options.run not in names:
        raise ConfigError(unknown(options.run, names, "run"))
    asked = names if options.run is None else [options.run]
    for run in asked:
        for name, data in experiment.files(run).items():
            write_bytes(options.folder / run / name, data)
    counted = "1 run is" if len(asked) == 1 else f"{len(asked)} runs are"
    print(f"{options.experiment}: {counted} in {options.folder}")
    return 0


def resources(options: argparse.Namespace) -> int:
    """Write what jobs took to workflow/resources.yaml."""
    from structmargin_suite.rerun.measured import write_resources

    print(write_resources(options.root))
    return 0


def reseed(options: argparse.Namespace) -> int:
    """The same experiments under other seeds."""
    from structmargin_suite.rerun.seeds import repeat

    for seed in options.seeds:
        print(f"the verdicts are in {repeat(options.root, options.scale, seed, options.only)}")
    print("run snakemake: the next report compares them")
    return 0


def snapshot(options: argparse.Namespace) -> int:
    """Copy the small files of results/ to results/snapshot/."""
    from structmargin_suite.publish.snapshot import snapshot

    for line in snapshot(options.root):
        print(f"left out: {line}")
    print(f"the copy is in {options.root / 'results' / 'snapshot'}: look at its index.html;")
    print("then structmargin docs, notebooks and picture renew what is made from it (make snapshot does all)")
    return 0
