"""A study's grid expanded: every key of `vary` and `fixed`, and of what a reading sets, finds its place.

A key is a parameter of the data set (`prepare` or its `view`), or an option of the method; dotted
keys (problem.eta, solver_options.idle) reach inside. A key that some method of the study does not
have is a fault, as is one that both the data set and the method have. What a reading sets goes over the
values of the data set and of the method, and the study goes over both; only a reading may set keys of a
method's choice (choose.among).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from structmargin_suite.datasets import DataSet, dataset
from structmargin_suite.methods.choice import CHOICE_KEY
from structmargin_suite.methods.method import NESTED, Method
from structmargin_suite.methods.reading import Reading
from structmargin_suite.planning.checks import Checks
from structmargin_suite.planning.config import Faults, unknown, validate
from structmargin_suite.planning.runs import Run, column_names, grid, last_name
from structmargin_suite.planning.tables.measures import known_measures, measure_faults
from structmargin_suite.storage.names import NameClash
from structmargin_suite.storage.yaml_text import Key

MAX_RUNS = 10_000
"""Of one experiment at one scale; the papers' largest has eight thousand. All scales are planned before
anything runs: with so many runs at each of the three that takes some seconds, and every job plans its own
scale again."""


def expand(checks: Checks) -> list[Run]:
    """The runs of an experiment at one scale; every fault on the way is added to the checks' own."""
    checks.check_all()
    expansion = Expansion(checks)
    runs = expansion.runs()
    columns = column_names(runs)
    expansion.check_tables(runs, columns)
    expansion.check_measures(columns)
    expansion.check_methods(runs)
    expansion.check_choices(columns)
    expansion.check_jobs(runs, columns)
    return runs


class Expansion:
    """One experiment's studies on their way to runs."""

    def __init__(self, checks: Checks) -> None:
        self.checks, self.config = checks, checks.config
        self.reported: set[tuple[Key, str]] = set()
        self.planned = 0

    def runs(self) -> list[Run]:
        """Every run of every study; runs that are impossible have a reason to skip."""
        corpora = self.checks.section("data")
        result = []
        for study, given in self.checks.section("studies").items():
            for corpus in given.get("data", list(corpora)):
                for method in given["methods"]:
                    source = corpora.get(corpus, {}).get("from")
                    known = method in self.checks.methods and source in self.checks.catalogue.datasets
                    if not known:
                        continue
                    for reading in self.readings_of(study, self.checks.methods[method]):
                        result += self.runs_of(
                            study, corpus, self.checks.methods[method], dataset(source), reading
                        )
        return result

    def readings_of(self, study: str, method: Method) -> list[Reading | None]:
        """The readings under which a method runs in a study; [None] for a method without readings."""
        if not method.readings:
            return [None]
        wanted = self.config["studies"][study].get("readings", method.readings)
        known = self.checks.readings
        return [known[name] for name in method.readings if name in wanted and name in known]

    def fits(self, study: str, axes: Mapping[str, Sequence[object]]) -> bool:
        """Whether a grid still leaves the experiment with a number of runs that can be planned."""
        self.planned += math.prod(len(values) for values in axes.values())
        if self.planned <= MAX_RUNS:
            return True
        if not self.reported & {(("studies",), "too many")}:
            self.reported.add((("studies",), "too many"))
            message = (
                f"with it the experiment has {self.planned} runs; let fewer values vary: at most {MAX_RUNS}"
            )
            self.checks.fault(("studies", study), message)
        return False

    def check_tables(self, runs: list[Run], columns: Mapping[str, str]) -> None:
        """Tables keyed by settings that their study's runs have."""
        for table, spec in self.checks.section("tables").items():
            studies = {spec["study"]} if isinstance(spec["study"], str) else set(spec["study"])
            shown = [run for run in runs if studies & set(run.studies)]
            known = list(dict.fromkeys(columns[name] for run in shown for name in run.options))
            for entry in ("keys", "over"):
                for position, key in enumerate(spec.get(entry, [])):
                    if shown and spec.get("found_as", {}).get(key, key) not in known:
                        self.checks.fault(
                            ("tables", table, entry, str(position)), unknown(key, known, "value")
                        )

    def check_measures(self, columns: Mapping[str, str]) -> None:
        """Measures of tables that some run has."""
        named = [given["from"] for given in self.checks.section("data").values()]
        sound = all(name in self.checks.catalogue.datasets for name in named)
        chosen = [
            column
            for method in self.checks.methods.values()
            if method.choice is not None
            for column in method.choice.columns.values()
        ]
        known = known_measures(named, [*columns.values(), *chosen]) if sound and columns else None
        for table, spec in self.checks.section("tables").items():
            for key, message in measure_faults(spec, known) if known is not None else ():
                self.checks.fault(("tables", table, *key), message)

    def check_methods(self, runs: list[Run]) -> None:
        """Methods that can be trained in some run under each of their readings; the others would be nothing
        but skipped rows."""
        for method in self.checks.methods:
            by_reading: dict[str, list[Run]] = {}
            for run in runs:
                if run.method == method:
                    by_reading.setdefault(run.reading, []).append(run)
            for own in by_reading.values():
                if own[0].skip is not None and all(run.skip is not None for run in own):
                    self.checks.fault(("methods", method), own[0].skip)
                    break

    def check_choices(self, columns: Mapping[str, str]) -> None:
        """Chosen options that have a column of their own in results."""
        for name, method in self.checks.methods.items():
            for option, column in (method.choice.columns if method.choice is not None else {}).items():
                if columns.get(option, column) != column:
                    twins = [other for other in columns if last_name(other) == column and other != option]
                    message = f"cannot choose {option!r}: results could not tell it from {', '.join(twins)}"
                    self.checks.fault(("methods", name, "choose"), f"{message}; give all of them one value")
            for position, key in enumerate(method.choice.over if method.choice is not None else ()):
                if columns and key not in columns.values():
                    where = ("methods", name, "choose", "over", str(position))
                    self.checks.fault(where, unknown(key, list(columns.values()), "value"))

    def check_jobs(self, runs: list[Run], columns: Mapping[str, str]) -> None:
        """Jobs grouped by settings that runs have."""
        known = list(dict.fromkeys([*columns.values(), "repetition"]))  # a faulty `repetitions` leaves it out
        for position, key in enumerate(self.checks.section("jobs").get("by", [])):
            if runs and key not in known:
                self.checks.fault(("jobs", "by", str(position)), unknown(key, known, "value"))
        names = {
            "corpus": self.checks.names("data"),
            "method": list(self.checks.methods),
            "reading": self.checks.names("readings"),
        }
        for position, entry in enumerate(self.checks.section("jobs").get("alone", [])):
            for key, value in entry.items():
                where = ("jobs", "alone", str(position), key)
                if runs and key not in ("threads", *known):
                    self.checks.fault(where, unknown(key, known, "value"))
                elif key in names and value not in names[key]:
                    self.checks.fault(where, unknown(value, names[key], key))

    def runs_of(
        self, study: str, corpus: str, method: Method, module: DataSet, reading: Reading | None
    ) -> list[Run]:
        """The runs of one method under one reading, on one corpus in one study."""
        given = self.config["studies"][study]
        if self.checks.options(method) is None:
            return []
        vary: dict[str, Sequence[object]] = {
            key: range(v) if isinstance(v, int) else v for key, v in given.get("vary", {}).items()
        }
        if "repetitions" in self.config and "repetition" not in vary:
            vary["repetition"] = range(self.config["repetitions"])
        start = self.config["data"][corpus]
        self.check_view(method, corpus, module)
        base = Run(
            experiment=self.checks.name,
            corpus=corpus,
            prepare={key: value for key, value in start.items() if key in module.PREPARE},
            view={key: value for key, value in start.items() if key in module.VIEW} | dict(method.view),
            configured=method,
            studies=(study,),
        )
        if reading is not None:
            base = self.under(base, reading, module)
        choice = base.configured.choice
        if choice is not None and choice.between_runs and choice.option not in vary:
            vary[choice.option] = choice.among
        if not self.fits(study, vary):
            return []
        settled = base
        for key, value in given.get("fixed", {}).items():
            settled = self.with_option(settled, module, ("studies", study, "fixed", key), key, value)
        runs = []
        for point in grid(vary):
            run = replace(settled, prepare={**settled.prepare}, view={**settled.view})
            for key, value in point.items():
                run = self.with_option(run, module, ("studies", study, "vary", key), key, value)
            price_fault = run.configured.price_fault()
            if price_fault is not None and base.configured.price_fault() is None:
                self.checks.fault(("studies", study), f"the method {method.name!r} {price_fault}")
            try:
                _ = run.options
            except NameClash as clash:
                self.checks.fault(("methods", method.name), f"on {corpus!r}: {clash}")
                continue
            runs.append(self.with_reason_to_skip(run, module, ("studies", study)))
        return runs

    def under(self, run: Run, reading: Reading, module: DataSet) -> Run:
        """The run with what its reading sets."""
        where = ("readings", reading.name, "sets")
        method, known = run.configured, set(run.configured.faults())
        run = replace(run, reading=reading.name, decided=tuple(reading.sets))
        for key, value in reading.sets.items():
            run = self.with_option(run, module, (*where, key), key, value)
        for place, message in run.configured.faults():
            if (place, message) not in known:
                self.checks.fault(where, f"for the method {method.name!r}: {' '.join([*place, message])}")
        choice = run.configured.choice
        if choice is not None and choice != method.choice:
            self.checks.check_choice(choice, self.checks.options(method) or {}, where)
        return run

    def check_view(self, method: Method, corpus: str, module: DataSet) -> None:
        """A method's own view of the data: parameters that the view knows and that the corpus leaves open."""
        where = ("methods", method.name, "view")
        self.checks.check_values(method.view, module.VIEW, where)
        for key in method.view:
            if key in self.config["data"][corpus]:
                self.checks.fault((*where, key), f"data.{corpus}.{key} is given too; keep one of them")

    def with_option(self, run: Run, module: DataSet, where: Key, key: str, value: object) -> Run:
        """The run with one key set where it belongs."""
        head, _, inner = key.partition(".")
        if head == CHOICE_KEY and where[0] == "readings":
            return self.with_choice(run, where, inner, value)
        options = self.checks.options(run.configured) or {}
        homes = [known for known in (module.PREPARE, module.VIEW, options) if head in known]
        if not homes:
            if (where, "unknown") not in self.reported:
                self.reported.add((where, "unknown"))
                written = self.config[where[0]][where[1]].get(where[2], {}).get(key, value)
                said = unknown(key, [*module.PREPARE, *module.VIEW, *options], "key", written)
                self.checks.fault(where, f"for {run.method!r} on {run.corpus!r}: {said}")
            return run
        if len(homes) > 1:
            self.checks.fault(
                where, f"both the data set and the method {run.method!r} have {head!r}; rename one"
            )
            return run
        if inner and head in NESTED:
            return replace(run, configured=run.configured.with_option(key, value))
        if (where, repr(value)) not in self.reported:
            self.reported.add((where, repr(value)))
            schema = homes[0][head]
            validate(value, schema, self.checks.document, self.checks.faults, where, self.checks.scale)
        if head in module.PREPARE:
            return replace(run, prepare={**run.prepare, head: value})
        if head in module.VIEW:
            return replace(run, view={**run.view, head: value})
        return replace(run, configured=run.configured.with_option(head, value))

    def with_choice(self, run: Run, where: Key, key: str, value: object) -> Run:
        """The run with one key of its method's choice set; the run itself where that is a fault."""
        if run.configured.choice is None:
            message = f"the method {run.method!r} has no `choose`; add it there, or do not set a key of it"
            self.checks.fault(where, message)
            return run
        schemas = self.checks.method_schemas[CHOICE_KEY]["properties"]
        if key not in schemas:
            known = [f"{CHOICE_KEY}.{each}" for each in schemas]
            self.checks.fault(where, unknown(f"{CHOICE_KEY}.{key}", known, "key", value))
            return run
        faults = Faults()
        validate(value, schemas[key], self.checks.document, faults, where, self.checks.scale)
        self.checks.faults.messages |= faults.messages
        configured = run.configured.with_option(f"{CHOICE_KEY}.{key}", value)
        return run if faults.messages else replace(run, configured=configured)

    def with_reason_to_skip(self, run: Run, module: DataSet, where: Key) -> Run:
        """The run, with its reason to skip if there is one."""
        given = {**run.prepare, **run.view}
        whole = all(isinstance(given.get(key), (int, float, str, bool)) for key in given)
        try:
            reason = module.refuse(run.prepare, run.view) if whole else None
        except (
            KeyError,
            TypeError,
        ) as error:  # a parameter is missing or faulty, which is a fault of its own
            missing = isinstance(error, KeyError) and error.args[0] not in given
            if not missing and not self.checks.faults.messages:
                raise
            reason = None
        if reason:
            self.checks.fault(where, reason)
        model = run.configured.library
        if model is None or not model.complete:
            return run
        fault, skip = self.checks.catalogue.refusal(model)
        if fault:
            self.checks.fault(("methods", run.method), fault)
        return run if skip is None else replace(run, skip=skip)
