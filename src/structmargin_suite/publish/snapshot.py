"""The committed copy of results: results/ -> results/snapshot/, small files only, with a record of the run.

    results/snapshot/<experiment>/    index.html, statements.md, summary.json, lists of runs, tables, figures
    results/snapshot/statements.csv, distances.svg, index.html, record.json
Models, single runs, logs and PDF files stay behind. Every figure has an SVG file, so that the page and the
notebooks find it: a large one holds the PNG picture instead, and one of which the config says
`withhold: <why>` only the reason, or the same figure of other data (`instead: <figure>`), unless it was drawn
from synthetic data. Small figures have a PNG file too, and what a figure plots is beside it unless it is
withheld. The pages are generated again from the copies, so that none of their links is broken, and the
Markdown tables say how many statements about them have which verdict.
"""

from __future__ import annotations

import base64
import datetime
import html
import shutil
import struct
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from structmargin_suite.analysis.published_numbers import misfits
from structmargin_suite.planning.config import ConfigError
from structmargin_suite.planning.plan import Suite, load
from structmargin_suite.publish.page import pages
from structmargin_suite.publish.page.facts import clocks
from structmargin_suite.publish.page.pictures import shown_figures, webp
from structmargin_suite.publish.page.sentences import with_verdicts
from structmargin_suite.publish.stability import reseeded, scattered
from structmargin_suite.rerun import machine, seeds
from structmargin_suite.results import ExperimentResults, Results
from structmargin_suite.storage.files import plain, write_bytes, write_json, write_text
from structmargin_suite.storage.frames import records
from structmargin_suite.storage.layout import Layout, ScaleLayout
from structmargin_suite.storage.statements_file import STATEMENTS_FILE, Claim, read_statements, statements_of

LARGEST = {"svg": 250_000, "png": 60_000}
RECORD = "record.json"


def snapshot(root: Path) -> list[str]:
    """Copy what there is under results/; returns what was left out, one sentence for each.

    The results must be of one scale and made under the present configuration, and the files in git must be
    as they were committed: the record has a digest of them (`machine.tree_digest`).
    """
    layout = Layout(root)
    results = Results(root)
    suite = _suite(root, results)
    if (machine.commit(root) or "").endswith("with changes"):
        raise ConfigError(
            "files in git have changed since the last commit, so no history would hold what the snapshot was "
            "made from: commit them (or git stash), run make reproduce again, then structmargin snapshot"
        )
    target = layout.snapshot
    beside = layout.results / ".snapshot.tmp"
    shutil.rmtree(beside, ignore_errors=True)
    left_out = [f"no results of {name!r}" for name in suite.experiments if name not in results]
    replaced: dict[str, str] = {}
    for experiment in results.values():
        replaced |= _copied(experiment, beside / experiment.name)
    left_out += [f"{file}: {reason}" for file, reason in replaced.items()]
    for path in (layout.statements, layout.distances):
        shutil.copy(path, beside / path.name)
    copied = Results(root, beside)
    order = [name for name in suite.experiments if name in copied]
    claims, rows = _judged(layout, copied)
    shown = [copied[name] for name in order]
    distances = (beside / layout.distances.name).read_bytes()
    under = reseeded(rows, seeds.verdicts(suite, ScaleLayout(root, suite.scale)))
    made = pages(
        shown, claims, rows, suite, distances, misfits(layout.published),
        reseeded=under,
        scattered=scattered(seeds.at_other_scales(suite)),
    )  # fmt: skip
    for name, text in made.items():
        write_text(beside / name, text)
    for experiment in shown:
        _verdicts_in_tables(experiment, rows)
    write_json(beside / RECORD, _record(suite, copied, replaced))
    shutil.rmtree(target, ignore_errors=True)
    beside.rename(target)
    return left_out


def _judged(layout: Layout, results: Results) -> tuple[list[Claim], list[dict[str, Any]]]:
    """What the papers state, and our verdicts."""
    claims = read_statements(layout.published / STATEMENTS_FILE)
    known = {statement.id for statement in statements_of(claims)}
    rows = records(results.statements())
    strange = [row["id"] for row in rows if row["id"] not in known]
    if strange:
        raise ConfigError(
            f"{layout.statements} judges {', '.join(strange)}, which data/published/{STATEMENTS_FILE} "
            "does not list: run make reproduce first"
        )
    return claims, rows


def _verdicts_in_tables(copied: ExperimentResults, rows: Sequence[Mapping[str, Any]]) -> None:
    """Say in each copied Markdown table how many statements about it have which verdict."""
    paper = copied.config["paper"]
    for name, spec in copied.config["tables"].items():
        path = copied.folder / f"{name}.md"
        text = path.read_text(encoding="utf-8")
        write_text(path, with_verdicts(text, spec["caption"], paper, copied.name, rows))


def withheld(results: ExperimentResults, figure: str) -> str | None:
    """Why a figure is not copied: the reason in its config, if any of the experiment's data are real."""
    reason: str | None = results.config["figures"][figure].get("withhold")
    real = any(corpus["kind"] != "synthetic" for corpus in results.summary["data"])
    return reason if real else None


def stand_in(config: dict[str, Any], figure: str) -> str | None:
    """The figure whose picture is copied in place of one that is withheld, if there is such."""
    named: str | None = config["figures"][figure].get("instead")
    return named


def _suite(root: Path, results: Results) -> Suite:
    """The present configuration at the scale of the results; refused where they do not go together."""
    if not results:
        raise ConfigError(f"there are no results in {results.folder}: run make reproduce first")
    scales = {experiment.summary["scale"]: name for name, experiment in results.items()}
    if len(scales) > 1:
        named = ", ".join(f"{name} at {scale}" for scale, name in scales.items())
        raise ConfigError(f"results are of several scales ({named}): run make reproduce with one SCALE first")
    suite = load(root, next(iter(scales)), library=False)
    stale = [
        name
        for name, experiment in results.items()
        if name not in suite.experiments or experiment.config != plain(suite.experiments[name].config)
    ]
    if stale:
        raise ConfigError(
            f"the results of {', '.join(stale)} were made under another configuration than the present one: "
            f"run make reproduce SCALE={suite.scale} first, or remove their folders"
        )
    return suite


def _copied(results: ExperimentResults, folder: Path) -> dict[str, str]:
    """Copy one experiment; returns the figures that were replaced, and why."""
    tables = [f"{table}.{kind}" for table in results.config["tables"] for kind in ("csv", "md", "tex")]
    for name in ("summary.json", "runs.csv", "timings.csv", *tables):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(results.folder / name, folder / name)
    replaced = {}
    for figure in shown_figures(results.config):
        reason = withheld(results, figure)
        source = stand_in(results.config, figure) if reason else figure
        copies = {kind: folder / "figures" / f"{figure}.{kind}" for kind in (*LARGEST, "json")}
        because = _vectors(results, source, reason, copies["svg"])
        if because:
            replaced[f"{results.name}/figures/{figure}.svg"] = because
        if reason:
            continue
        plotted, pixels = (results.figure(figure, kind) for kind in ("json", "png"))
        if plotted.is_file():
            write_bytes(copies["json"], plotted.read_bytes())
        if pixels.stat().st_size <= LARGEST["png"]:
            write_bytes(copies["png"], pixels.read_bytes())
    return replaced


def _vectors(results: ExperimentResults, source: str | None, reason: str | None, copy: Path) -> str:
    """Write a figure's SVG file: that of `source`, or the reason alone; returns why it is not its own."""
    if source is None:
        write_text(copy, _notice(str(reason)))
        return str(reason)
    vector = results.figure(source, "svg").read_bytes()
    large = len(vector) > LARGEST["svg"]
    if large:
        write_text(copy, _framed(results.figure(source, "png").read_bytes()))
    else:
        write_bytes(copy, vector)
    if reason:
        return f"{reason}; the copy shows {source}"
    return f"{len(vector)} bytes of vectors; the picture is kept as pixels" if large else ""


def _framed(pixels: bytes) -> str:
    """A PNG picture inside an SVG file, as WebP, at half its size in pixels."""
    width, height = struct.unpack(">II", pixels[16:24])
    inside = base64.b64encode(webp(pixels)).decode("ascii")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width // 2}" height="{height // 2}" '
        f'viewBox="0 0 {width} {height}">'
        f'<image width="{width}" height="{height}" href="data:image/webp;base64,{inside}"/></svg>\n'
    )


def _notice(reason: str) -> str:
    """A picture that says why there is none."""
    lines = textwrap.wrap(f"This picture is not in the copy: {reason}", 60)
    spans = "".join(f'<tspan x="20" dy="22">{html.escape(line)}</tspan>' for line in lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="520" height="{40 + 22 * len(lines)}">'
        f'<text y="20" font-family="sans-serif" font-size="14">{spans}</text></svg>\n'
    )


def _record(suite: Suite, results: Results, replaced: dict[str, str]) -> dict[str, Any]:
    """Which code on which data and machine made the copy, when, and at what cost."""
    return {
        "commit": machine.commit(suite.root),
        "tree": machine.tree_digest(suite.root),
        "made": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": f"make reproduce SCALE={suite.scale}",
        "scale": suite.scale,
        "seed": suite.seed,
        "experiments": {
            name: {
                "runs": experiment.summary["runs"],
                "data": {corpus["label"]: corpus["kind"] for corpus in experiment.summary["data"]},
                "code": experiment.summary["code"],
                "versions": experiment.summary["versions"],
                "training": clocks(experiment),
            }
            for name, experiment in results.items()
        },
        "replaced": replaced,
    }
