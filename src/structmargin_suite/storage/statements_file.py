"""What the papers assert, as data/published/statements.yaml lists it: claims, and the statements of each.

A claim is a heading: what a reader remembers of a paper. A statement is one sentence that one comparison can
decide. Its kind, its unit of analysis and `delta`, the smallest effect that matters, are fixed in the file,
so that they do not depend on what a run finds.

    - id: parse-f1                        a claim: id, paper, where, says, experiment
      statements:
        - id: parse-f1-slack
          says: Test F1 after training on the F1 loss with slack re-scaling is above the PCFG's.
          kind: order                     positive effects are on the claimed side
          unit: sentences of the test set
          delta: 1.0
          because: the paper calls 0.2 points marginal and 2.5 substantial
          published: {effect: 2.5, se: 1.1}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import read_yaml

STATEMENTS_FILE = "statements.yaml"
KINDS = ("order", "equivalence", "slope", "count", "time", "bound")
STATED_KINDS = ("slope", "count", "time")
"""Kinds that compare an effect with a stated value: `above`, `below` or both."""
CLAIM_KEYS = ("id", "paper", "where", "says", "experiment")
STATEMENT_KEYS = ("id", "says", "kind", "unit")
OPTIONAL_KEYS = (
    "where",
    "experiment",
    "delta",
    "because",
    "side",
    "above",
    "below",
    "published",
    "volatile",
    "data",
    "untestable",
    "chosen",
    "after_look",
)
AFTER_LOOK = "after first look"
CHOSEN = ("before", AFTER_LOOK)
"""Whether delta, stated value or rule were fixed before results were seen; not said where it is not known."""


@dataclass(frozen=True)
class Statement:
    """One sentence of a paper that one comparison can decide.

    Parameters
    ----------
    id, claim, paper, where, says, experiment : str
        Its name, its claim, where the papers say it, the sentence in our words, whose results decide it.
    kind : {"order", "equivalence", "slope", "count", "time", "bound"}
        The rule that turns effect and interval into a verdict (statements/rule.py).
    unit : str
        What is counted: samples, sentences of the test set, cars, topics, runs.
    delta : float
        The smallest effect that matters; 0 where any does.
    because : str
        Why this delta, or this stated value.
    side : {"both", "above"}
        For an equivalence: "above" where only a loss counts ("never worse").
    above, below : float, optional
        For a slope, a count or a time: the claimed side of the stated value, or a range.
    published, published_se : float, optional
        The effect that the paper's numbers give, and its standard error where the paper prints one.
    volatile : bool
        Whether a clock decides it.
    data : {"real", "any"}
        "any" where made-up data decide it as well as real ones.
    untestable : str
        Why it cannot be tested here; empty where it can.
    chosen : {"before", "after first look", ""}
        When delta, the stated value or the rule was fixed; empty where the file does not say.
    after_look : str
        What of it was fixed after a first look, where that is not its delta or stated value alone.
    """

    id: str
    claim: str
    paper: str
    where: str
    says: str
    experiment: str
    kind: str
    unit: str
    delta: float = 0.0
    because: str = ""
    side: str = "both"
    above: float | None = None
    below: float | None = None
    published: float | None = None
    published_se: float | None = None
    volatile: bool = False
    data: str = "real"
    untestable: str = ""
    chosen: str = ""
    after_look: str = ""


@dataclass(frozen=True)
class Claim:
    """A heading with its statements."""

    id: str
    paper: str
    where: str
    says: str
    experiment: str
    statements: tuple[Statement, ...]


def read_statements(path: Path) -> list[Claim]:
    """The claims of the papers with their statements; a fault is a sentence with the entry's name."""
    entries = read_yaml(path)
    if not isinstance(entries, list) or not entries:
        raise _fault(path, "it lists no claims")
    claims = [_claim(path, number, entry) for number, entry in enumerate(entries, 1)]
    _refuse_twins(path, [claim.id for claim in claims], "claims")
    _refuse_twins(path, [statement.id for statement in statements_of(claims)], "statements")
    return claims


def statements_of(claims: list[Claim]) -> Iterator[Statement]:
    """Every statement of every claim, in their order."""
    for claim in claims:
        yield from claim.statements


def _claim(path: Path, number: int, entry: Any) -> Claim:
    _check(path, f"entry {number}", entry, CLAIM_KEYS, ("statements",))
    listed = entry.get("statements")
    if not isinstance(listed, list) or not listed:
        raise _fault(path, f"the claim {entry['id']!r} has no statements")
    head = {key: entry[key] for key in CLAIM_KEYS}
    return Claim(**head, statements=tuple(_statement(path, entry, given) for given in listed))


def _statement(path: Path, claim: Mapping[str, Any], given: Any) -> Statement:
    name = f"a statement of {claim['id']!r}"
    _check(path, name, given, STATEMENT_KEYS, OPTIONAL_KEYS)
    name = f"the statement {given['id']!r}"
    if given["kind"] not in KINDS:
        raise _fault(path, f"{name} has the kind {given['kind']!r}; there are {', '.join(KINDS)}")
    if given["kind"] in STATED_KINDS and not {"above", "below", "untestable"} & set(given):
        raise _fault(path, f"{name} is a {given['kind']} and says neither above nor below what")
    if given["kind"] == "equivalence" and not given.get("delta") and "untestable" not in given:
        raise _fault(path, f"{name} is an equivalence and has no delta above 0")
    if (given.get("delta") or {"above", "below"} & set(given)) and not given.get("because"):
        raise _fault(path, f"{name} does not say why its delta or stated value is what it is (because)")
    if given.get("side", "both") not in ("both", "above") or given.get("data", "real") not in ("real", "any"):
        raise _fault(path, f"{name} has a side other than both, above, or data other than real, any")
    if given.get("chosen", CHOSEN[0]) not in CHOSEN:
        raise _fault(path, f"{name} was chosen {given['chosen']!r}; say {' or '.join(CHOSEN)}")
    if not isinstance(given.get("after_look", ""), str):
        raise _fault(path, f"{name} has no text as after_look")
    if "after_look" in given and given.get("chosen") != AFTER_LOOK:
        raise _fault(path, f"{name} says what was fixed after a look, so that chosen must be {AFTER_LOOK!r}")
    for key in ("delta", "above", "below"):
        if not isinstance(given.get(key, 0.0), (int, float)) or isinstance(given.get(key), bool):
            raise _fault(path, f"{name} has no number as {key}")
    printed = given.get("published", {})
    if not isinstance(printed, dict) or not set(printed) <= {"effect", "se"}:
        raise _fault(path, f"{name} has a published effect other than {{effect: number, se: number}}")
    known = {key: given[key] for key in given if key not in ("published", "where", "experiment")}
    return Statement(
        **known,
        claim=claim["id"],
        paper=claim["paper"],
        where=given.get("where", claim["where"]),
        experiment=given.get("experiment", claim["experiment"]),
        published=printed.get("effect"),
        published_se=printed.get("se"),
    )


def _check(path: Path, name: str, entry: Any, texts: tuple[str, ...], others: tuple[str, ...]) -> None:
    """Raise unless an entry has all these texts and no key besides them and the others."""
    if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in texts):
        raise _fault(path, f"{name} has not all of {', '.join(texts)} as texts")
    strange = [str(key) for key in entry if key not in (*texts, *others)]
    if strange:
        raise _fault(
            path, f"{name} has the unknown key {strange[0]!r}; known: {', '.join((*texts, *others))}"
        )


def _refuse_twins(path: Path, ids: list[str], what: str) -> None:
    twins = sorted({name for name in ids if ids.count(name) > 1})
    if twins:
        raise _fault(path, f"two {what} have the id {twins[0]!r}")


def _fault(path: Path, what: str) -> DamagedFile:
    return DamagedFile(path, what, "correct the file")
