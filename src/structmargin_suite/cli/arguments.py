"""All subcommands and their options; --root and --scale may stand before or after a command."""

from __future__ import annotations

import argparse
from pathlib import Path


def parser() -> argparse.ArgumentParser:
    """All subcommands; --root and --scale may stand before or after a command."""
    result = argparse.ArgumentParser(
        prog="structmargin", description="Experiments with structured prediction."
    )
    shared = argparse.ArgumentParser(add_help=False)
    for either, root, scale in ((result, Path("."), None), (shared, argparse.SUPPRESS, argparse.SUPPRESS)):
        either.add_argument(
            "--root", type=Path, default=root, help="the project's folder (default: the current one)"
        )
        either.add_argument(
            "--scale", default=scale, help="smoke, standard or paper (that of configs/suite.yaml)"
        )
    commands = result.add_subparsers(dest="command")
    commands.add_parser(
        "list", help="experiments, problems, solvers, and what goes together", parents=[shared]
    )
    explain = commands.add_parser(
        "explain", help="what a config will run, and how long it took", parents=[shared]
    )
    explain.add_argument("experiment")
    status = commands.add_parser(
        "status", help="how many runs will train, about how long, and why", parents=[shared]
    )
    status.add_argument("experiment", nargs="*", help="experiments by name (all)")
    commands.add_parser("check", help="configs and data, before anything runs", parents=[shared])
    fetch = commands.add_parser("fetch", help="download real data from their public homes", parents=[shared])
    fetch.add_argument("corpus", nargs="*", help="data sets by name (all)")
    compare = commands.add_parser(
        "compare", help="an experiment with the run before, a variant or the snapshot", parents=[shared]
    )
    compare.add_argument("first", help="an experiment, or a folder of results")
    compare.add_argument(
        "second", nargs="?", help="before, snapshot or another experiment; or another folder of results"
    )
    compare.add_argument(
        "--exact", action="store_true", help="of folders: compare bytes, except what is volatile"
    )
    compare.add_argument(
        "--tolerance", type=_share, help="the share by which numbers may differ, in place of their spread"
    )
    commands.add_parser(
        "snapshot", help="copy the small files of results/ to results/snapshot/", parents=[shared]
    )
    reseed = commands.add_parser("reseed", help="run experiments again under other seeds", parents=[shared])
    reseed.add_argument("seeds", type=int, nargs="+", help="in place of the seed of configs/suite.yaml")
    reseed.add_argument("--only", nargs="+", default=[], metavar="EXPERIMENT", help="all by default")
    unpack = commands.add_parser("unpack", help="write an experiment's runs as files", parents=[shared])
    unpack.add_argument("experiment")
    unpack.add_argument("folder", type=Path, help="where a folder per run is made")
    unpack.add_argument("--run", help="only this run, named as in runs.csv")
    commands.add_parser("resources", help="write what jobs took to workflow/resources.yaml", parents=[shared])
    commands.add_parser("warm", help="compile all hot loops, once, on all cores", parents=[shared])
    init = commands.add_parser(
        "init", help="copy configs and workflow into an empty folder", parents=[shared]
    )
    init.add_argument("folder", type=Path, nargs="?", help="where to (this folder)")
    commands.add_parser("docs", help="write the generated parts of docs/ and of the README", parents=[shared])
    notebooks = commands.add_parser("notebooks", help="renew the outputs of notebooks", parents=[shared])
    notebooks.add_argument("notebook", nargs="*", help="notebooks by name (all)")
    commands.add_parser("picture", help="renew the picture of the overview", parents=[shared])
    return result


def _share(text: str) -> float:
    """A number from 0 to 1."""
    share = float(text)
    if not 0.0 <= share <= 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return share
