"""Commands about what is planned: list, explain, status, check."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from structmargin_suite.planning.config import ConfigError, unknown
from structmargin_suite.planning.project import is_project
from structmargin_suite.storage.errors import DataError

if TYPE_CHECKING:
    from structmargin_suite.planning.plan import Suite


def listing(options: argparse.Namespace) -> int:
    """What the library offers, and in a project's folder the experiments first."""
    from structmargin import registry
    from structmargin.formulation import FORMULATIONS
    from structmargin_suite.planning.plan import load

    if is_project(options.root):
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


def require_experiment(suite: Suite, name: str) -> None:
    """Refuse a name that the suite does not have, or whose config is not in its list."""
    if name in suite.experiments:
        return
    if name != "suite" and (suite.root / "configs" / f"{name}.yaml").is_file():
        raise ConfigError(
            f"configs/{name}.yaml is not in use: add {name} to `experiments` in configs/suite.yaml"
        )
    raise ConfigError(unknown(name, list(suite.experiments), "experiment"))


def explain(options: argparse.Namespace) -> int:
    """What a config will run, and how long it took."""
    from structmargin_suite.planning.plan import load
    from structmargin_suite.publish.page.facts import clocks
    from structmargin_suite.publish.papers import PAPERS
    from structmargin_suite.results import Results
    from structmargin_suite.storage.layout import Layout

    suite = load(options.root, options.scale)
    require_experiment(suite, options.experiment)
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
    layout = Layout(options.root)
    for when, folder in (("last time", layout.results), ("in the snapshot", layout.snapshot)):
        known = Results(options.root, folder)
        if options.experiment in known:
            last = known[options.experiment]
            cost = clocks(last)
            print(
                f"{when} (scale {last.summary['scale']}): {cost['cpu']:.1f} CPU seconds of training, "
                f"{cost['peak']:.0f} MB in the largest job, on {'; '.join(cost['machine']) or 'no machine'}"
            )
    return 0


def status(options: argparse.Namespace) -> int:
    """How many runs the next call will train, about how long, and why."""
    from structmargin_suite.planning.plan import load
    from structmargin_suite.rerun.due import due_runs, reasons
    from structmargin_suite.rerun.times import Times
    from structmargin_suite.rerun.unfit import Check
    from structmargin_suite.storage.layout import ScaleLayout
    from structmargin_suite.storage.seal import SEAL
    from structmargin_suite.terminal.durations import duration

    suite = load(options.root, options.scale)
    for name in options.experiment:
        require_experiment(suite, name)
    times, layout = Times(suite), ScaleLayout(options.root, suite.scale)
    print(f"scale {suite.scale}")
    for name in options.experiment or suite.experiments:
        experiment = suite.experiments[name]
        due = due_runs(suite, name)
        if due:
            seconds = times.training(name, [each.run for each in due])
            guessed = ", a guess" if times.guesses else ""
            head = f"{len(due)} of {len(experiment.runs)} runs of {name} will train"
            print(f"{head}, about {duration(seconds)}{guessed}")
            for why, count in reasons(due).items():
                print(f"  {count}: {why}")
            times.guesses = 0
        elif not (layout.shown(name) / SEAL).is_file() or any(Check(suite, experiment, layout).faults()):
            print(f"no run of {name} will train, but some of its files are made again")
        else:
            print(f"{name} is up to date: {len(experiment.runs)} runs")
    return 0


def check(options: argparse.Namespace) -> int:
    """Configs and data, before anything runs."""
    from structmargin_suite.datasets import dataset
    from structmargin_suite.planning.catalogue import Catalogue
    from structmargin_suite.planning.plan import load, load_statements
    from structmargin_suite.planning.sources import missing_files, sources

    suite = load(options.root, options.scale)
    stated = load_statements(options.root)
    print(f"configuration: {len(suite.experiments)} experiments, {len(stated)} statements, no fault")
    print(*(f"  {source}" for source in sources(suite)), sep="\n")
    print("what has to be asked for or done by hand:")
    for name in Catalogue(options.root, library=False).datasets:
        home = dataset(name).HOME
        if home.by_hand:
            print(f"  {name}: {home.title} ({home.page}): {home.by_hand}")
    missing = missing_files(suite)
    if missing:
        raise DataError(
            "\n".join([f"{len(missing)} own file{'s are' if len(missing) > 1 else ' is'} missing:", *missing])
        )
    return 0
