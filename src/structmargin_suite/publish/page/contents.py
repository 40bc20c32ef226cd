"""The way through the pages: for each paper its tables and figures by number, and where they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from structmargin_suite.publish.papers import PAPERS
from structmargin_suite.publish.verdicts import VERDICTS
from structmargin_suite.results import ExperimentResults

NUMBER = re.compile(r"(Table|Figure)s? (\d+)")


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper: its number, experiment and address, and its statements by verdict.

    `words` are the methods and data of its experiment, for the filter.
    """

    label: str
    experiment: str
    title: str
    address: str
    counts: dict[str, int]
    words: str = ""

    @property
    def verdict(self) -> str:
        """What its colour shows: the verdict of all its statements if they agree, else the weakest one."""
        decided = [verdict for verdict in VERDICTS[:3] if self.counts.get(verdict)]
        if not decided:
            return "not testable" if self.counts else "shown"
        return "contradicted" if "contradicted" in decided else decided[-1]

    @property
    def verdicts_in_words(self) -> str:
        """Its statements by verdict, in words."""
        return ", ".join(f"{n} {verdict}" for verdict, n in self.counts.items()) or "no statement rests on it"


def numbers_in(text: str) -> list[str]:
    """The tables and figures that a text names: Table 1, Figure 3."""
    return list(dict.fromkeys(f"{kind} {number}" for kind, number in NUMBER.findall(text)))


def number_of(caption: str) -> str:
    """The table or figure that a caption begins with; empty where it begins with none."""
    found = NUMBER.match(caption)
    return f"{found[1]} {found[2]}" if found else ""


def contents(
    experiments: Sequence[ExperimentResults], rows: Iterable[Mapping[str, Any]]
) -> dict[str, list[Item]]:
    """For each paper the tables and figures that experiments show or statements name, by number."""
    judged = [row for row in rows if row["primary"] and not row["volatile"]]
    papers: dict[str, list[Item]] = {paper: [] for paper in PAPERS}
    for results in experiments:
        own = results.config["paper"]
        anchors = _anchors(results.config)
        words = words_of(results)
        for paper in PAPERS:
            counts: dict[str, dict[str, int]] = {label: {} for label in (anchors if paper == own else {})}
            for row in judged:
                if row["experiment"] == results.name and row["paper"] == paper:
                    for label in numbers_in(row["where"]):
                        found = counts.setdefault(label, {})
                        found[row["verdict"]] = found.get(row["verdict"], 0) + 1
            for label, found in counts.items():
                address = f"{results.name}/index.html#{anchors.get(label, 'statements')}"
                ordered = {verdict: found[verdict] for verdict in VERDICTS if verdict in found}
                title = results.config["title"]
                papers[paper].append(Item(label, results.name, title, address, ordered, words))
    return {paper: sorted(items, key=_place) for paper, items in papers.items()}


def words_of(results: ExperimentResults) -> str:
    """The methods and the data of an experiment, as people call them, for the filter."""
    methods = [method.label for method in results.methods.values()]
    data = [corpus["label"] for corpus in results.summary.get("data", ())]
    return " ".join(dict.fromkeys([*methods, *data]))


def _place(item: Item) -> tuple[bool, int]:
    kind, number = item.label.split()
    return kind == "Figure", int(number)


def _anchors(config: Mapping[str, Any]) -> dict[str, str]:
    """Where an experiment's page shows which number: its tables first, then its figures."""
    found: dict[str, str] = {}
    for kind in ("tables", "figures"):
        for name, given in config.get(kind, {}).items():
            label = number_of(given["caption"])
            if label:
                found.setdefault(label, f"{kind[:-1]}-{name}")
    return found
