"""A study's grid expanded: every key of `vary` and `fixed` finds the stage it belongs to.

A key is a parameter of the data set (`prepare` or its `view`), or an option of the method; dotted
keys (problem.eta, solver_options.idle) reach inside. A key that some method of the study does not
have is a fault, as is one that both the data set and the method have.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from structmargin_suite.datasets import DataSet, dataset
from structmargin_suite.planning.checks import Checks
from structmargin_suite.planning.config import Key, unknown, validate
from structmargin_suite.planning.runs import Run, grid

NESTED = ("problem", "solver_options", "kernel")
POOLED = "test_"


def expand(checks: Checks) -> list[Run]:
    """The runs of an experiment at one scale; every fault on the way is added to the checks' own."""
    checks.everything()
    expansion = Expansion(checks)
    runs = expansion.runs()
    expansion.tables(runs)
    return runs


class Expansion:
    """One experiment's studies on their way to runs."""

    def __init__(self, checks: Checks) -> None:
        self.checks, self.config = checks, checks.config
        self.seen: set[tuple[Key, str]] = set()

    def runs(self) -> list[Run]:
        """Every run of every study; runs that cannot be have a reason to skip."""
        corpora = self.checks.of("data")
        result = []
        for study, given in self.checks.of("studies").items():
            for corpus in given.get("data", list(corpora)):
                for method in given["methods"]:
                    source = corpora.get(corpus, {}).get("from")
                    spec = self.checks.of("methods").get(method)
                    if source in self.checks.catalogue.datasets and spec is not None:
                        result += self.of(study, corpus, method, dataset(source))
        return result

    def tables(self, runs: list[Run]) -> None:
        """Tables keyed by settings that their study's runs have."""
        for table, spec in self.checks.of("tables").items():
            studies = {spec["study"]} if isinstance(spec["study"], str) else set(spec["study"])
            mine = [run for run in runs if studies & set(run.studies)]
            known = list(dict.fromkeys(key for run in mine for key in run.settings))
            for part in ("keys", "over"):
                for position, key in enumerate(spec.get(part, [])):
                    if mine and spec.get("found_as", {}).get(key, key) not in known:
                        self.checks.fault(
                            ("tables", table, part, str(position)), unknown(key, known, "value")
                        )

    def of(self, study: str, corpus: str, method: str, module: DataSet) -> list[Run]:
        """The runs of one method on one corpus in one study."""
        given, spec = self.config["studies"][study], self.config["methods"][method]
        if self.checks.options(spec) is None:
            return []
        vary = {key: list(range(v)) if isinstance(v, int) else v for key, v in given.get("vary", {}).items()}
        if "repetitions" in self.config and "repetition" not in vary:
            vary["repetition"] = list(range(self.config["repetitions"]))
        choose = spec.get("choose")
        if choose is not None and choose["by"].startswith(POOLED) and choose["option"] not in vary:
            vary[choose["option"]] = choose["among"]
        start = self.config["data"][corpus]
        own = spec.get("view", {})
        self.checks.flat(own, module.VIEW, ("methods", method, "view"))
        base = Run(
            experiment=self.checks.name,
            method=method,
            corpus=corpus,
            prepare={key: value for key, value in start.items() if key in module.PREPARE},
            view={key: value for key, value in {**start, **own}.items() if key in module.VIEW},
            model=self.model(spec),
            studies=(study,),
        )
        runs = []
        for point in grid(vary):
            run = replace(base, prepare={**base.prepare}, view={**base.view}, model={**base.model})
            for source, values in (("fixed", given.get("fixed", {})), ("vary", point)):
                for key, value in values.items():
                    self.put(run, module, ("studies", study, source, key), key, value)
            runs.append(self.judged(run, module, ("studies", study)))
        return runs

    def model(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """A method's settings with the experiment's problem filled in."""
        model = copy.deepcopy({key: value for key, value in spec.items() if key != "view"})
        if "baseline" not in model:
            model["problem"] = {**self.checks.of("problem"), **model.get("problem", {})}
        return model

    def put(self, run: Run, module: DataSet, at: Key, key: str, value: Any) -> None:
        """Set one key of a run where it belongs."""
        head, _, inner = key.partition(".")
        options = self.checks.options(run.model) or {}
        stages = ((run.prepare, module.PREPARE), (run.view, module.VIEW), (run.model, options))
        homes = [(home, known[head]) for home, known in stages if head in known]
        if not homes:
            if (at, "unknown") not in self.seen:
                self.seen.add((at, "unknown"))
                written = self.config["studies"][at[1]].get(at[2], {}).get(key, value)
                said = unknown(key, [*module.PREPARE, *module.VIEW, *options], "key", written)
                self.checks.fault(at, f"for {run.method!r} on {run.corpus!r}: {said}")
            return
        if len(homes) > 1:
            self.checks.fault(
                at, f"both the data set and the method {run.method!r} have {head!r}; rename one"
            )
            return
        home, schema = homes[0]
        if inner and head in NESTED:
            home[head] = {**home.get(head, {}), inner: value}
            return
        if (at, repr(value)) not in self.seen:
            self.seen.add((at, repr(value)))
            validate(value, schema, self.checks.document, self.checks.faults, at, self.checks.scale)
        home[head] = value
        for this, other in (("C", "C_per_example"), ("C_per_example", "C")):
            if head == this:
                home.pop(other, None)

    def judged(self, run: Run, module: DataSet, at: Key) -> Run:
        """The run, with its reason to skip if there is one."""
        given = {**run.prepare, **run.view}
        whole = all(isinstance(given.get(key), (int, float, str, bool)) for key in given)
        try:
            reason = module.refuse(run.prepare, run.view) if whole else None
        except (KeyError, TypeError):
            reason = None  # a parameter is missing or faulty, which is a fault of its own
        if reason:
            self.checks.fault(at, reason)
        named = {"formulation", "model"} & set(run.model)
        if "baseline" in run.model or not named or "name" not in run.model["problem"]:
            return run
        fault, skip = self.checks.catalogue.refusal(run.model)
        if fault:
            self.checks.fault(("methods", run.method), fault)
        return run if skip is None else replace(run, skip=skip)
