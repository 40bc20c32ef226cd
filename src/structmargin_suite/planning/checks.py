"""What the schema of a config cannot know: whether the names in it are those of something that exists.

Checks go on past faults: they look at what is left of a config without its faulty parts, and a name
that stands in the file counts as defined even if what it names is faulty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from structmargin_suite.baselines import baseline
from structmargin_suite.datasets import dataset
from structmargin_suite.methods.models import PATHS, SVM
from structmargin_suite.planning.catalogue import Catalogue
from structmargin_suite.planning.config import Document, Faults, Key, located, unknown, validate

SHARED = ("label", "note", "published_as", "choose", "view", "keep_cuts")
LIBRARY = {
    SVM: (
        "model", "formulation", "solver", "solver_options", "problem", "C", "C_per_example", "eps",
        "gap_tol", "max_iter", "kernel",
    ),
    "JKSE": (
        "model", "problem", "kernel", "nu", "trainer", "C", "C_per_example", "gap_tol", "max_iter",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Checks:
    """One experiment's config at one scale: `config` is what is left of `written` without the parts that its
    schema refuses; what is wrong is added to `faults`."""

    name: str
    config: Mapping[str, Any]
    written: Mapping[str, Any]
    document: Document
    scale: str
    catalogue: Catalogue
    faults: Faults

    def fault(self, key: Key, message: str) -> None:
        """One fault, at the line of the key or of the scale that overrides it."""
        self.faults.add(self.document, located(self.document, key, self.scale), message, shown=key)

    def of(self, part: str) -> Mapping[str, Any]:
        """A part of the config; empty where it is missing."""
        found: Mapping[str, Any] = self.config.get(part, {})
        return found

    def names(self, part: str) -> list[str]:
        """The names that a part of the file defines, whether or not they are free of faults."""
        found = self.written.get(part)
        return list(found) if isinstance(found, Mapping) else []

    def everything(self) -> None:
        """All checks."""
        self.corpora()
        self.methods()
        self.studies()
        self.tables()
        self.shown()

    def corpora(self) -> None:
        """Data sets that exist, with parameters that they know."""
        for corpus, given in self.of("data").items():
            at = ("data", corpus)
            if given["from"] not in self.catalogue.datasets:
                self.fault((*at, "from"), unknown(given["from"], self.catalogue.datasets, "value"))
                continue
            module = dataset(given["from"])
            known = {**module.PREPARE, **module.VIEW, "from": {}, "source": {}, "path": {}}
            self.flat(given, known, at)
            if given["source"] == "file" and "path" not in given:
                self.fault(at, "the key 'path' is missing; name your own file there")
            if given["source"] in ("real", "file") and not module.FILES:
                self.fault((*at, "source"), f"data set {given['from']!r} has no files; use source: synthetic")

    def methods(self) -> None:
        """Methods that exist, with options that they know."""
        for method, given in self.of("methods").items():
            at = ("methods", method)
            options = self.options(given)
            if options is None:
                found = unknown(given["baseline"], self.catalogue.baselines, "value")
                self.fault((*at, "baseline"), found)
                continue
            self.flat(given, {**options, **{key: {} for key in ("baseline", *SHARED)}}, at)
            choose = given.get("choose", {})
            if "with" in choose and choose["by"].startswith("test_"):
                self.fault((*at, "choose", "with"), "goes with a choice by validation_... or inner_... only")
            if choose.get("path") and ("formulation" not in given or choose["option"] not in PATHS):
                self.fault(
                    (*at, "choose", "path"), "is for a formulation's C or C_per_example only; remove it"
                )
            if "baseline" in given:
                continue
            if "problem" not in self.written:
                self.fault(at, "trains a model of the library, so the file needs the key 'problem'; add it")
            if "formulation" in options and "formulation" not in self.written["methods"][method]:
                self.fault(at, "has neither 'formulation' nor 'baseline'; add one of them")
            named = {key: given[key] for key in ("formulation", "solver") if key in given}
            if "formulation" in named:
                fault, _ = self.catalogue.refusal({**named, "problem": {"name": "Multiclass"}})
                if fault:
                    self.fault(at, fault)
            if "C" in given and "C_per_example" in given:
                self.fault(at, "has both C and C_per_example; keep one of them")

    def options(self, method: Mapping[str, Any]) -> dict[str, Any] | None:
        """The options of a method as schemas by name; None if its baseline does not exist."""
        if "baseline" not in method:
            return {key: {} for key in LIBRARY[method.get("model", SVM)]}
        if method["baseline"] not in self.catalogue.baselines:
            return None
        return dict(baseline(method["baseline"]).OPTIONS)

    def flat(self, given: Mapping[str, Any], known: Mapping[str, Any], at: Key) -> None:
        """Values against a flat table of schemas."""
        schema = {"type": "object", "additionalProperties": False, "properties": dict(known)}
        validate(given, schema, self.document, self.faults, at, self.scale)

    def named(self, key: Key, name: str, part: str) -> None:
        """A name that another part of the file must define."""
        if part in self.written and name not in self.names(part):
            self.fault(key, unknown(name, self.names(part), "value"))

    def studies(self) -> None:
        """Methods and corpora that studies name."""
        for study, given in self.of("studies").items():
            for position, method in enumerate(given["methods"]):
                self.named(("studies", study, "methods", str(position)), method, "methods")
            for position, corpus in enumerate(given.get("data", [])):
                self.named(("studies", study, "data", str(position)), corpus, "data")

    def tables(self) -> None:
        """Studies and published files that tables name."""
        folder = self.catalogue.root / "data" / "published"
        for table, given in self.of("tables").items():
            studies = [given["study"]] if isinstance(given["study"], str) else given["study"]
            for study in studies:
                self.named(("tables", table, "study"), study, "studies")
            published = given.get("published")
            if published and not (folder / published).is_file():
                files = sorted(path.name for path in folder.glob("*.csv"))
                self.fault(("tables", table, "published"), unknown(published, files, "value"))

    def shown(self) -> None:
        """Figures and claims that exist."""
        drawn = self.catalogue.figures(self.name)
        for figure in self.of("figures"):
            if figure not in drawn:
                self.fault(("figures", figure), unknown(figure, drawn, "value"))
        for position, claim in enumerate(self.config.get("claims", [])):
            if claim not in self.catalogue.claims:
                self.fault(("claims", str(position)), unknown(claim, list(self.catalogue.claims), "value"))
