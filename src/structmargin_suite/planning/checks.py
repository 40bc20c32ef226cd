"""What the schema of a config cannot know: whether the names in it are those of something that exists.

Checks go on past faults: they look at what is left of a config without its faults, and a name
that stands in the file counts as defined even if what it names is faulty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from structmargin_suite.datasets import DataSet, dataset
from structmargin_suite.methods.choice import Choice
from structmargin_suite.methods.kinds import LibraryModel
from structmargin_suite.methods.method import COMMON_KEYS, Method
from structmargin_suite.methods.reading import Reading, readings_of
from structmargin_suite.planning.catalogue import Catalogue
from structmargin_suite.planning.config import Document, Faults, located, repaired, short, unknown, validate
from structmargin_suite.planning.tables.layouts import layout_faults
from structmargin_suite.planning.tables.references import reference_faults
from structmargin_suite.storage.layout import figure_kind
from structmargin_suite.storage.names import OutsideError, alike, inside
from structmargin_suite.storage.yaml_text import Key

RESULT_FILES = ("runs", "timings", "summary", "index")
"""What `tabulate` writes for every experiment beside its tables."""


@dataclass(frozen=True)
class Checks:
    """One experiment's config at one scale: `config` is what is left of `written` without what its
    `schema` refuses; what is wrong is added to `faults`."""

    name: str
    config: Mapping[str, Any]
    written: Mapping[str, Any]
    document: Document
    scale: str
    catalogue: Catalogue
    faults: Faults
    schema: Mapping[str, Any]

    def fault(self, key: Key, message: str) -> None:
        """One fault, at the line of the key or of the scale that overrides it."""
        self.faults.add(self.document, located(self.document, key, self.scale), message, shown=key)

    def section(self, name: str) -> Mapping[str, Any]:
        """A section of the config; empty where it is missing."""
        section: Mapping[str, Any] = self.config.get(name, {})
        return section

    def names(self, section: str) -> list[str]:
        """The names that a section of the file defines, whether or not they are free of faults."""
        defined = self.written.get(section)
        return list(defined) if isinstance(defined, Mapping) else []

    def check_all(self) -> None:
        """All checks."""
        self.check_names()
        self.check_data()
        self.check_methods()
        self.check_readings()
        self.check_studies()
        self.check_methods_used()
        self.check_tables()
        self.check_figures()
        self.check_deviations()

    def check_names(self) -> None:
        """Names that keep apart as files, and that no other file of an experiment has."""
        for section in ("data", "readings", "methods", "studies", "tables", "figures"):
            for name, twin in alike(self.section(section)).items():
                message = f"{short(name)} and {short(twin)} look alike in a file's name; rename one"
                self.fault((section, name), message)
        for table in self.section("tables"):
            if table.casefold() in RESULT_FILES:
                self.fault(("tables", table), "every experiment has a file of this name; rename the table")

    def check_data(self) -> None:
        """Data sets that exist, with parameters that they know."""
        for corpus, given in self.section("data").items():
            where = ("data", corpus)
            if given["from"] not in self.catalogue.datasets:
                self.fault((*where, "from"), unknown(given["from"], self.catalogue.datasets, "value"))
                continue
            module = dataset(given["from"])
            known = {**module.PREPARE, **module.VIEW, "from": {}, "source": {}, "path": {}, "papers_own": {}}
            self.check_values(given, known, where)
            if given["source"] == "file" and "path" not in given:
                self.fault(where, "the key 'path' is missing; name your own file there")
            if given["source"] != "synthetic" and not module.FILES:
                self.check_source_without_files(given, module, (*where, "source"))

    def check_source_without_files(
        self, given: Mapping[str, Any], module: DataSet, where: tuple[str, ...]
    ) -> None:
        """A data set that cannot be fetched is synthesized, or read from the user's own folder."""
        if module.own_folder is None:
            self.fault(where, f"data set {given['from']!r} has no files; use source: synthetic")
        elif given["source"] != "file":
            self.fault(
                where,
                f"data set {given['from']!r} cannot be fetched; use source: file and name your own folder as "
                "path, or use source: synthetic",
            )

    @cached_property
    def methods(self) -> dict[str, Method]:
        """The methods of the config."""
        problem = self.section("problem")
        return {name: Method.parse(name, given, problem) for name, given in self.section("methods").items()}

    def check_methods(self) -> None:
        """Methods that exist, with options that they know."""
        for name, method in self.methods.items():
            where = ("methods", name)
            options = self.options(method)
            if options is None:
                self.fault((*where, "baseline"), unknown(method.baseline, self.catalogue.baselines, "value"))
                continue
            self.check_values(method.given, {**options, **{key: {} for key in COMMON_KEYS}}, where)
            for key, message in method.faults():
                self.fault((*where, *key), message)
            if method.choice is not None:
                self.check_choice(method.choice, options, (*where, "choose"))
            if method.library is not None:
                self.check_library(method.library, where)

    @cached_property
    def readings(self) -> dict[str, Reading]:
        """The readings of the config."""
        return readings_of(self.config)

    def readings_named_by(self, method: str) -> list[str]:
        """The readings that a method names, whether or not the method is free of faults."""
        written = self.written.get("methods")
        entry = written.get(method) if isinstance(written, Mapping) else None
        named = entry.get("readings") if isinstance(entry, Mapping) else None
        return [name for name in named if isinstance(name, str)] if isinstance(named, list) else []

    def check_readings(self) -> None:
        """Readings that methods name, each method with one that is primary; none without a method."""
        defined = self.names("readings")
        used: set[str] = set()
        for method in self.names("methods"):
            named = self.readings_named_by(method)
            used |= set(named)
            for position, reading in enumerate(named):
                if reading not in defined:
                    where = ("methods", method, "readings", str(position))
                    self.fault(where, unknown(reading, defined, "value"))
            known = [self.readings[reading] for reading in named if reading in self.readings]
            primary = [reading.name for reading in known if reading.primary]
            if len(known) == len(named) > 0 and len(primary) != 1:
                said = " and ".join(map(repr, primary)) or "none"
                message = f"of its readings {said} has primary: true; name exactly one that is primary"
                self.fault(("methods", method, "readings"), message)
        for name, given in self.readings.items():
            for position, statement in enumerate(given.uses):
                if statement not in self.catalogue.statements:
                    where = ("readings", name, "uses", str(position))
                    self.fault(where, unknown(statement, list(self.catalogue.statements), "statement"))
        for reading in defined if used <= set(defined) else ():  # after a misspelt name, who knows
            if reading not in used:
                message = "no method names this reading; name it in the `readings` of one, or remove it"
                self.fault(("readings", reading), message)

    def check_choice(self, choice: Choice, options: Mapping[str, Any], where: Key) -> None:
        """Values to choose among that the option may have."""
        listed: dict[Key, tuple[str, tuple[Any, ...]]] = {("among",): (choice.option, choice.among)}
        listed |= {("with", option): (option, values) for option, values in choice.others.items()}
        for key, (option, values) in listed.items():
            for position, value in enumerate(values):
                place = (*where, *key, str(position))
                validate(value, options.get(option, {}), self.document, self.faults, place, self.scale)

    def check_library(self, model: LibraryModel, where: Key) -> None:
        """A model of the library: its problem, and its formulation and solver apart from the problem."""
        if "problem" not in self.written:
            self.fault(where, "trains a model of the library, so the file needs the key 'problem'; add it")
        written = located(self.document, (*where, "formulation"), self.scale) in self.document.lines
        if model.has_formulation and not written:
            self.fault(where, "has neither 'formulation' nor 'baseline'; add one of them")
        if model.C == math.inf and model.trainer != "binary":
            self.fault((*where, "C"), "is .inf, but must be a finite number; SVM0 allows no slack")
        if model.formulation is not None:
            alone = LibraryModel({"name": "Multiclass"}, formulation=model.formulation, solver=model.solver)
            fault, _ = self.catalogue.refusal(alone)
            if fault:
                self.fault(where, fault)

    def options(self, method: Method) -> dict[str, Any] | None:
        """The options of a method as schemas by name; None if its baseline does not exist."""
        if method.baseline is not None and method.baseline not in self.catalogue.baselines:
            return None
        in_schema = self.method_schemas
        return {name: own or in_schema.get(name, {}) for name, own in method.kind.schemas().items()}

    @property
    def method_schemas(self) -> dict[str, Any]:
        """The keys of a method's entry as schemas by name."""
        schemas: dict[str, Any] = self.schema["properties"]["methods"]["additionalProperties"]["properties"]
        return schemas

    def check_values(self, given: Mapping[str, Any], known: Mapping[str, Any], where: Key) -> None:
        """Values against a flat table of schemas."""
        schema = {"type": "object", "additionalProperties": False, "properties": dict(known)}
        validate(given, schema, self.document, self.faults, where, self.scale)

    def check_defined(self, key: Key, name: str, section: str) -> None:
        """A name that another section of the file must define."""
        if section in self.written and name not in self.names(section):
            self.fault(key, unknown(name, self.names(section), "value"))

    def check_studies(self) -> None:
        """Methods and corpora that studies name."""
        for study, given in self.section("studies").items():
            for position, method in enumerate(given["methods"]):
                self.check_defined(("studies", study, "methods", str(position)), method, "methods")
            for position, corpus in enumerate(given.get("data", [])):
                self.check_defined(("studies", study, "data", str(position)), corpus, "data")
            named = dict.fromkeys(
                reading for method in given["methods"] for reading in self.readings_named_by(method)
            )
            for position, reading in enumerate(given.get("readings", [])):
                if reading not in named:
                    said = unknown(reading, list(named), "value")
                    where = ("studies", study, "readings", str(position))
                    self.fault(where, f"no method of the study names it: {said}")

    def check_methods_used(self) -> None:
        """Methods that some study names, at some scale; not after a misspelt one, which may be meant."""
        values = self.document.values
        scales = values.get("scales")
        overrides = list(scales.values()) if isinstance(scales, Mapping) else []
        used = {
            method
            for part in (values, *overrides)
            if isinstance(part, Mapping) and isinstance(part.get("studies"), Mapping)
            for study in part["studies"].values()
            if isinstance(study, Mapping) and isinstance(study.get("methods"), list)
            for method in study["methods"]
            if isinstance(method, str)
        }
        defined = self.names("methods")
        for method in defined if used <= set(defined) else ():
            if method not in used:
                message = "no study names this method; name it in the `methods` of one, or remove it"
                self.fault(("methods", method), message)

    def check_tables(self) -> None:
        """Studies and published files that tables name, and what their layouts do."""
        folder = self.catalogue.root / "data" / "published"
        for table, given in self.section("tables").items():
            studies = [given["study"]] if isinstance(given["study"], str) else given["study"]
            for study in studies:
                self.check_defined(("tables", table, "study"), study, "studies")
            published = given.get("published")
            try:
                there = published is None or inside(folder, published).is_file()
            except OutsideError as error:
                self.fault(("tables", table, "published"), str(error))
                continue
            if not there:
                files = sorted(path.name for path in folder.glob("*.csv"))
                self.fault(("tables", table, "published"), unknown(published, files, "value"))
            for key, message in layout_faults(self.config, table, self.studies_as_written):
                self.fault(("tables", table, *key), message)

    @property
    def studies_as_written(self) -> Mapping[str, Any]:
        """The studies of the file before a scale overrides them, without what is faulty."""
        studies = repaired(self.document.values, self.schema, self.document).get("studies", {})
        return studies if isinstance(studies, Mapping) else {}

    def check_figures(self) -> None:
        """Figures that exist, also those that stand in for others."""
        figures = self.section("figures")
        for figure, given in figures.items():
            module, kind = figure_kind(self.config, self.name, figure)
            drawn = self.catalogue.figures(module)
            if kind not in drawn:
                where = ("figures", figure, "kind") if "kind" in given else ("figures", figure)
                self.fault(where, unknown(kind, drawn, "value"))
            stand_in = given.get("instead")
            if stand_in is not None and "withhold" not in given:
                self.fault(("figures", figure, "instead"), "goes with withhold only; say why, or remove it")
            if stand_in is not None and (stand_in not in figures or stand_in == figure):
                others = [name for name in figures if name != figure]
                self.fault(("figures", figure, "instead"), unknown(stand_in, others, "value"))

    def check_deviations(self) -> None:
        """Values that tables name in the texts of their deviations; not after other faults of the file.

        A misspelt key is one fault, not one for itself and one for every text that names it.
        """
        if any(path == str(self.document.path) for path, _, _ in self.faults.messages):
            return
        for table, given in self.section("tables").items():
            for position, deviation in enumerate(given.get("deviations", [])):
                for message in reference_faults(deviation["ours"], self.written):
                    self.fault(("tables", table, "deviations", str(position), "ours"), message)
