"""The page: one self-contained HTML file over all results. Styles, script and pictures are inside.

What a clock, a memory meter or a machine decides stands between the marks VOLATILE_BEGIN and
VOLATILE_END and nowhere else, so that everything outside them is the same to the byte for the
same configuration; verdicts on statements about time are among it, and so are all counts of verdicts.
Sections are built from result files alone: a new experiment appears by itself.
"""

from __future__ import annotations

import base64
import importlib.resources
import io
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import jinja2
import pandas as pd

from structmargin_suite.analysis.published_numbers import Finding
from structmargin_suite.methods.choice import CHOICE_KEY, Choice
from structmargin_suite.methods.method import Method
from structmargin_suite.planning.plan import Suite
from structmargin_suite.publish import tables
from structmargin_suite.publish.deviations import deviations
from structmargin_suite.publish.escapes import from_markdown
from structmargin_suite.publish.stability import Change
from structmargin_suite.publish.verdicts import by_paper, causes, counts
from structmargin_suite.rerun import machine
from structmargin_suite.results import ExperimentResults, column
from structmargin_suite.storage.files import cell
from structmargin_suite.storage.frames import records
from structmargin_suite.storage.statements_file import Claim

VOLATILE_BEGIN, VOLATILE_END = "<!-- volatile -->", "<!-- /volatile -->"
LARGEST_PAGE = 4_300_000
WIDEST = 1200
LARGEST_SVG = (150_000, 75_000, 30_000, 0)
KINDS = ("pdf", "svg", "png")
PAPERS = {
    "icml04": "Tsochantaridis, Hofmann, Joachims, Altun 2004 (ICML)",
    "jmlr05": "Tsochantaridis, Joachims, Hofmann, Altun 2005 (JMLR)",
    "cacm09": "Joachims, Hofmann, Yue, Yu 2009 (CACM)",
    "jkse09": "Lampert, Blaschko 2009 (MLJ)",
}


def page(
    experiments: Sequence[ExperimentResults],
    claims: Sequence[Claim],
    rows: Sequence[dict[str, Any]],
    suite: Suite,
    distances: bytes,
    misfits: Sequence[Finding] = (),
    stale: Sequence[str] = (),
    changed: Sequence[Change] | None = None,
) -> str:
    """The whole page as text: with vector pictures, and fewer of them where it would grow too large.

    Parameters
    ----------
    experiments : sequence of ExperimentResults
    claims : sequence of Claim
        What the papers state.
    rows : sequence of dict
        The rows of statements.csv.
    suite : Suite
    distances : bytes
        The figure of ours against the papers' numbers, as SVG.
    misfits : sequence of Finding
        Published numbers that cannot be what the papers say they are.
    stale : sequence of str
        Experiments whose results were made under another configuration.
    changed : sequence of Change, optional
        Verdicts that differ from the committed run's; None where there is none, or where this is it.
    """
    head = {
        "papers_claims": by_paper(claims, rows),
        "counts": counts(rows),
        "causes": causes(rows),
        "changed": changed,
        "misfits": misfits,
        "distances": _data_address("image/svg+xml", distances),
    }
    for limit in LARGEST_SVG:
        text = _page(experiments, rows, suite, stale, head, limit)
        if len(volatile_blocks().sub("", text).encode("utf-8")) <= LARGEST_PAGE:
            break
    return text


def volatile_blocks() -> re.Pattern[str]:
    """What stands between the marks, marks included."""
    return re.compile(re.escape(VOLATILE_BEGIN) + ".*?" + re.escape(VOLATILE_END), re.DOTALL)


def _page(
    experiments: Sequence[ExperimentResults],
    rows: Sequence[dict[str, Any]],
    suite: Suite,
    stale: Sequence[str],
    head: dict[str, Any],
    limit: int,
) -> str:
    files = importlib.resources.files(__name__)
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    template = environment.from_string((files / "page.html").read_text(encoding="utf-8"))
    return template.render(
        css=(files / "page.css").read_text(encoding="utf-8"),
        script=(files / "page.js").read_text(encoding="utf-8"),
        sections=[section(results, rows, results.name in stale, limit) for results in experiments],
        **head,
        suite=suite,
        papers=PAPERS,
        commit=machine.commit(suite.root),
        begin=VOLATILE_BEGIN,
        end=VOLATILE_END,
    )


def section(
    results: ExperimentResults, rows: Sequence[dict[str, Any]], stale: bool, limit: int
) -> dict[str, Any]:
    """What the template shows of one experiment."""
    config, summary = results.config, results.summary
    return {
        "name": results.name,
        "stale": stale,
        "config": config,
        "summary": summary,
        "paper": PAPERS[config["paper"]],
        "statements": [row for row in rows if row["experiment"] == results.name and row["primary"]],
        "tables": [table(results, name, spec) for name, spec in config["tables"].items()],
        "figures": [
            picture(results, name, spec["caption"], limit) for name, spec in config.get("figures", {}).items()
        ],
        "readings": list(results.readings.values()),
        "notes": config.get("notes", []),
        "methods": [method(results, each) for each in results.methods.values()],
        "choices": choices(results),
        "troubles": records(results.runs[results.runs["status"] != "done"]),
        "clocks": clocks(results),
        "command": f'make reproduce SCALE={summary["scale"]} ONLY="{results.name}"',
    }


def table(results: ExperimentResults, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """A table ready to show; the cells after the keys are numbers."""
    header, cells = tables.wide(spec, results.table(name), results.methods, results.readings)
    text = (results.folder / f"{name}.md").read_text(encoding="utf-8")
    return {
        "name": name,
        "caption": from_markdown(text.split("\n")[0]),
        "header": header,
        "cells": cells,
        "keys": len(spec["keys"]) + ("data" in header and "data" not in spec["keys"]),
        "deviations": deviations(results.config, name),
    }


def picture(results: ExperimentResults, name: str, caption: str, limit: int) -> dict[str, Any]:
    """A figure as a data address: SVG up to `limit` bytes, else pixels, in the smallest of three formats."""
    kinds = [kind for kind in KINDS if results.figure(name, kind).is_file()]
    data = {kind: results.figure(name, kind).read_bytes() for kind in kinds if kind != "pdf"}
    volatile = name.endswith("_time")
    shown = "svg"
    if "png" in data and (volatile or len(data["svg"]) > limit):
        data["webp"] = webp(data["png"])
        shown = min(data, key=lambda kind: len(data[kind]))
    media = {"svg": "image/svg+xml", "png": "image/png", "webp": "image/webp"}[shown]
    source = _data_address(media, data[shown])
    return {"name": name, "caption": caption, "source": source, "kinds": kinds, "volatile": volatile}


def _data_address(media: str, data: bytes) -> str:
    return f"data:{media};base64,{base64.b64encode(data).decode('ascii')}"


def webp(png: bytes) -> bytes:
    """A PNG picture as WebP, no wider than a screen shows it: far fewer bytes where there are photographs."""
    from PIL import Image

    with Image.open(io.BytesIO(png)) as image:
        pixels = image.convert("RGB")
    pixels.thumbnail((WIDEST, 4 * WIDEST))
    result = io.BytesIO()
    pixels.save(result, "WEBP", quality=80, method=4)
    return result.getvalue()


def method(results: ExperimentResults, shown: Method) -> dict[str, str]:
    """A method's settings in one line, and what each of its readings sets."""
    readings = [results.readings[name] for name in shown.readings]
    under = "; ".join(f"{each.label}: {each.describe_sets() or 'as it stands'}" for each in readings)
    return {"name": shown.label, "settings": shown.describe(), "note": shown.note, "readings": under}


def choices(results: ExperimentResults) -> list[str]:
    """Which values each choice fell on: one over all runs, or one in each."""
    sentences = []
    for name, method in results.methods.items():
        for reading in method.readings or ("",):
            sets = results.readings[reading].sets if reading else {}
            chosen = {key: value for key, value in sets.items() if key.startswith(CHOICE_KEY)}
            choice = method.with_options(chosen).choice
            runs = results.select(method=name, reading=reading)
            if choice is not None and len(runs):
                sentences += [f"{results.label(name, reading)}: {said}" for said in _fell_on(choice, runs)]
    return sentences


def _fell_on(choice: Choice, runs: pd.DataFrame) -> list[str]:
    """For each option of a choice, the values that it fell on in some runs."""
    sentences = []
    for option, among in choice.candidates.items():
        key = choice.columns[option]
        values = records(runs[[key]]) if key in runs else [{key: among[0]}] * len(runs)
        times = Counter(cell(row[key]) for row in values)
        often = ", ".join(f"{value} ({n})" for value, n in times.most_common())
        edge = sum(choice.at_edge(option, row[key]) for row in values)
        at_edge = f"; at the edge of its grid in {edge}" if edge else ""
        sentences.append(f"{key} chosen by {choice.by}, in {len(runs)} runs: {often}{at_edge}")
    return sentences


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
