"""What was run, in sentences: methods, the values that choices fell on, data, time and memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from structmargin_suite.methods.choice import CHOICE_KEY, Choice
from structmargin_suite.methods.method import Method
from structmargin_suite.publish.tables.words import in_words
from structmargin_suite.results import ExperimentResults, column
from structmargin_suite.storage.files import cell
from structmargin_suite.storage.frames import records

WHERE_CHOSEN = {
    "validation": "on the validation set",
    "inner": "on examples held out of the training set",
    "test": "on the test set, over all runs",
}
SAID = ("model", "formulation", "solver", "baseline", "C", "C_per_example", "nu", "eps", "gap_tol", "choose")
"""Options of a method that have a place of their own in its sentence."""


def method_sentence(method: Method) -> str:
    """What a method is and how it is trained, in a sentence."""
    given = {key: value for key, value in method.given.items() if key not in ("label", "note", "readings")}
    if method.baseline is not None:
        text = f"the baseline {in_words(method.baseline)}"
    elif given.get("model") == "JKSE":
        text = "joint kernel support estimation (JKSE)"
    else:
        text = f"a structural SVM, {method.option('formulation') or 'its formulation varied'}"
        text += f", trained by {in_words(str(given['solver']))}" if "solver" in given else ""
    chosen = () if method.choice is None else tuple(method.choice.candidates)
    fixed = [f"{in_words(key)} = {cell(given[key])}" for key in ("C", "C_per_example", "nu", "eps")
             if key in given and key not in chosen]  # fmt: skip
    fixed += [f"to a relative gap of {cell(given['gap_tol'])}"] if given.get("gap_tol") is not None else []
    rest = [
        phrase
        for key, value in given.items()
        if key not in (*SAID, "problem")
        for phrase in _phrases(key, value)
    ]
    text = ", ".join([text, *fixed, *rest])
    return f"{text}; {choice_sentence(method.choice)}." if method.choice is not None else f"{text}."


def _phrases(key: str, value: Any) -> Iterator[str]:
    """Options as phrases: what is inside a mapping stands for itself."""
    if isinstance(value, Mapping):
        named = f"{in_words(key)} {in_words(str(value['name']))}" if "name" in value else ""
        inner = [phrase for name, item in value.items() if name != "name" for phrase in _phrases(name, item)]
        yield from [f"{named} ({', '.join(inner)})" if inner else named] if named else inner
    elif isinstance(value, bool):
        yield f"{'with' if value else 'without'} {in_words(key)}"
    else:
        yield f"{in_words(key)} {cell(value)}"


def choice_sentence(choice: Choice) -> str:
    """Which options are chosen among which values, and by what."""
    options, place, _, measure = _grid(choice), *choice.by.partition("_")
    if all(len(values) == 1 for values in choice.candidates.values()):
        return f"{options}, with nothing to choose from"
    side = "highest" if choice.largest else "lowest"
    folds = f", in {choice.folds} folds" if choice.folds > 1 else ""
    if choice.one_fold_from is not None:
        folds += f", or in one where the rarest label has {choice.one_fold_from} examples or more"
    return f"{options} is chosen by the {side} {in_words(measure)} {WHERE_CHOSEN[place]}{folds}"


def _grid(choice: Choice) -> str:
    """Each option with the values it is chosen among, or with its only value."""
    return " and ".join(
        f"{in_words(choice.columns[option])} {'among' if len(values) > 1 else '='} "
        f"{', '.join(cell(value) for value in values)}"
        for option, values in choice.candidates.items()
    )


def method(results: ExperimentResults, shown: Method) -> dict[str, Any]:
    """A method in a sentence, and what each of its readings sets."""
    readings = [results.readings[name] for name in shown.readings]
    under = [(each.label, ", ".join(_set_by(shown, each.sets))) for each in readings]
    return {"name": shown.label, "sentence": method_sentence(shown), "note": shown.note, "readings": under}


def _set_by(shown: Method, sets: Mapping[str, Any]) -> Iterator[str]:
    """What a reading sets for a method, as phrases; another choice with its values."""
    chosen = {key: value for key, value in sets.items() if key.startswith(CHOICE_KEY)}
    for key, value in sets.items():
        if key not in chosen:
            yield from _phrases(key.rpartition(".")[2], value)
    choice = shown.with_options(chosen).choice if chosen else None
    if choice is not None:
        yield _grid(choice)


GREATEST = {"nu": 1.0}
"""Values beyond which an option cannot go: a grid that ends there cannot be wider."""


def choices(results: ExperimentResults) -> list[dict[str, Any]]:
    """Which values each choice fell on; with a warning where that is an end of its grid."""
    found = []
    for name, method in results.methods.items():
        for reading in method.readings or ("",):
            sets = results.readings[reading].sets if reading else {}
            chosen = {key: value for key, value in sets.items() if key.startswith(CHOICE_KEY)}
            choice = method.with_options(chosen).choice
            runs = results.select(method=name, reading=reading)
            if choice is not None and len(runs):
                for option, among in choice.candidates.items():
                    found.append(
                        {"method": results.label(name, reading), **_fell_on(choice, option, among, runs)}
                    )
    return found


def _fell_on(choice: Choice, option: str, among: Sequence[Any], runs: pd.DataFrame) -> dict[str, Any]:
    """The values that a choice of an option fell on in some runs, most often first."""
    key = choice.columns[option]
    values = records(runs[[key]]) if key in runs else [{key: among[0]}] * len(runs)
    times = Counter(cell(row[key]) for row in values)
    grid = [cell(value) for value in among]
    at_ends = sum(
        (choice.at_edge(option, row[key]) and row[key] != GREATEST.get(key)) or _ends_in_part(among, row[key])
        for row in values
    )
    return {
        "option": in_words(key),
        "by": choice.by,
        "grid": grid,
        "times": times.most_common(),
        "runs": len(runs),
        "at_ends": at_ends,
    }


def _ends_in_part(among: Sequence[Any], value: Any) -> bool:
    """Whether one of the numbers of a value like 8/1/2 is the least or the greatest at its place."""
    try:
        grid = [[float(part) for part in each.split("/")] for each in among]
        own = [float(part) for part in value.split("/")]
    except (AttributeError, ValueError):
        return False
    places = [set(column) for column in zip(*grid, strict=False)]
    return any(
        len(place) > 2 and part in (min(place), max(place)) for place, part in zip(places, own, strict=False)
    )


def clocks(results: ExperimentResults) -> dict[str, Any]:
    """Time and memory of an experiment, and the machine."""
    timings = results.timings()
    machines = timings.reindex(columns=["cpu", "cores", "system", "python"]).drop_duplicates()
    return {
        "cpu": sum(column(timings, "cpu_seconds", 0.0)),
        "peak": max(column(timings, "job_peak_mb", 0.0), default=0.0),
        "runs": len(timings),
        "machine": sorted(
            f"{row['cpu']}, {row['cores']} cores, {row['system']}, Python {row['python']}"
            for row in records(machines)
        ),
    }


def data_sentence(results: ExperimentResults, corpus: Mapping[str, Any]) -> str:
    """Where a corpus comes from, in a sentence."""
    own = ", the paper's own" if results.papers_own(corpus["corpus"]) else ""
    if corpus["kind"] != "synthetic":
        return f"{'your own file' if corpus['kind'] == 'file' else corpus['kind']}{own}"
    if corpus["asked"] == "synthetic":
        return "made up, as the paper's own were" if own else "made up"
    return "a made-up stand-in: the real files were not available"
