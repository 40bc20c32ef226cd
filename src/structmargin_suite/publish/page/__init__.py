"""The pages: an overview of all results, and one per experiment. Styles, scripts and pictures are inside.
Beside each experiment's page its statements stand as Markdown.

What a clock, a memory meter or a machine decides stands between two marks and nowhere else (page/marks.py),
so that everything outside them is the same to the byte for the same configuration; verdicts on statements
about time are among it, and so are all counts of verdicts. Pages are built from result files alone: a new
experiment appears by itself.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Sequence
from typing import Any

import jinja2

from structmargin_suite.analysis.published_numbers import Finding
from structmargin_suite.planning.plan import Suite
from structmargin_suite.publish.page.contents import contents, words_of
from structmargin_suite.publish.page.marks import VOLATILE_BEGIN, VOLATILE_END, volatile_blocks
from structmargin_suite.publish.page.overview import overview
from structmargin_suite.publish.page.pictures import LARGEST_SVG
from structmargin_suite.publish.page.section import section
from structmargin_suite.publish.page.sentences import sentences, without_results
from structmargin_suite.publish.papers import PAPERS
from structmargin_suite.publish.stability import Change, Reseeded, Scattered
from structmargin_suite.rerun import machine
from structmargin_suite.results import ExperimentResults
from structmargin_suite.storage.layout import PAGE_FILE, SENTENCES_FILE
from structmargin_suite.storage.statements_file import Claim

LARGEST_PAGE = 1_900_000


def pages(
    experiments: Sequence[ExperimentResults],
    claims: Sequence[Claim],
    rows: Sequence[dict[str, Any]],
    suite: Suite,
    distances: bytes,
    misfits: Sequence[Finding] = (),
    stale: Sequence[str] = (),
    changed: Sequence[Change] | None = None,
    reseeded: Sequence[Reseeded] = (),
    scattered: Sequence[Scattered] = (),
) -> dict[str, str]:
    """All pages as texts, by their names below the folder of results.

    Parameters
    ----------
    experiments : sequence of ExperimentResults
    claims : sequence of Claim
        What the papers state.
    rows : sequence of dict
        The rows of statements.csv.
    suite : Suite
        Its experiments without results have a page that says so.
    distances : bytes
        The figure of ours against the papers' numbers, as SVG.
    misfits : sequence of Finding
        Published numbers that cannot be what the papers say they are.
    stale : sequence of str
        Experiments whose results were made under another configuration.
    changed : sequence of Change, optional
        Verdicts that differ from the committed run's; None where there is none, or where this is it.
    reseeded : sequence of Reseeded
        What other seeds of the suite say of the verdicts.
    scattered : sequence of Scattered
        How verdicts of other scales differ from seed to seed.
    """
    environment = _environment()
    titles = {results.name: results.config["title"] for results in experiments}
    shared: dict[str, Any] = {
        "suite": suite,
        "papers": PAPERS,
        "contents": contents(experiments, rows),
        "experiments": titles,
        "find_words": {results.name: words_of(results) for results in experiments},
        "commit": machine.commit(suite.root),
        "begin": VOLATILE_BEGIN,
        "end": VOLATILE_END,
    }
    front = overview(
        experiments, claims, rows, suite, distances, misfits, stale, changed, reseeded, scattered
    )
    made = {PAGE_FILE: environment.get_template("overview.html").render(root="", here="", **shared, **front)}
    for name, experiment in suite.experiments.items():
        if name not in titles:
            template = environment.get_template("missing.html")
            made[f"{name}/{PAGE_FILE}"] = template.render(
                root="../", here=name, name=name, title=experiment.config["title"], **shared
            )
            made[f"{name}/{SENTENCES_FILE}"] = without_results(experiment.config["title"], name)
    template = environment.get_template("experiment.html")
    for results in experiments:
        for limit in LARGEST_SVG:
            one = section(results, claims, rows, results.name in stale, limit)
            text = template.render(root="../", here=results.name, one=one, **shared)
            if len(volatile_blocks().sub("", text).encode("utf-8")) <= LARGEST_PAGE:
                break
        made[f"{results.name}/{PAGE_FILE}"] = text
        made[f"{results.name}/{SENTENCES_FILE}"] = sentences(one)
    return made


def _environment() -> jinja2.Environment:
    """Templates that escape every text, from the files beside this one."""
    files = importlib.resources.files(__name__)

    def load(name: str) -> str:
        return (files / name).read_text(encoding="utf-8")

    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        loader=jinja2.FunctionLoader(load),
    )
    environment.globals |= {
        "css": load("page.css"),
        "script": load("page.js"),
        "plot_script": load("plot.js"),
    }
    return environment
