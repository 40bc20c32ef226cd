"""A method of a config as one value: what it is, what it chooses, how it is shown.

A method's config entry is read only here and in choice.py; all other code uses the attributes of `Method`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from structmargin_suite.methods.choice import LOSS, PATH_OPTIONS, Choice, Settings
from structmargin_suite.methods.kinds import BaselineMethod, Certificate, Kind, LibraryModel, certificate_of

DISPLAY_KEYS = ("label", "note", "published_as")
"""Keys that only say how a method is shown."""
COMMON_KEYS = ("baseline", *DISPLAY_KEYS, "readings", "choose", "view", "keep_cuts")
"""Keys every method may have."""
NESTED = ("problem", "solver_options", "kernel")
"""Options that hold options of their own; a dotted name reaches inside."""
ALTERNATIVES = {"C": "C_per_example", "C_per_example": "C"}
"""Two ways to say one thing: setting one removes the other."""


@dataclass(frozen=True)
class Method:
    """A method of an experiment, with the options of one run where it belongs to a run.

    Parameters
    ----------
    name : str
        Its key in the config.
    settings : mapping
        What decides its outcome, as a run's record holds it: the config's keys without `view` and without
        those that only show, the experiment's problem filled in.
    view : mapping
        How this method sees the data: parameters of the data set's view.
    label, note, published_as : str, optional
        How tables call it, a remark, and the method of a published table that it stands beside.
    readings : tuple of str
        The readings of the paper under which it runs, by their names in the config.
    given : mapping
        The config's entry as it stands, for `describe`; empty for a method from a run's record. It does not
        count when methods are compared.
    """

    name: str
    settings: Settings
    view: Settings = field(default_factory=dict)
    label: str = ""
    note: str = ""
    published_as: str = ""
    readings: tuple[str, ...] = ()
    given: Settings = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def parse(cls, name: str, given: Settings, problem: Settings | None = None) -> Method:
        """A method from a config's entry and the problem that its experiment's methods share."""
        settings = copy.deepcopy(
            {key: value for key, value in given.items() if key not in ("view", "readings", *DISPLAY_KEYS)}
        )
        if "baseline" not in settings:
            settings["problem"] = {**(problem or {}), **settings.get("problem", {})}
        return cls(
            name=name,
            settings=settings,
            view=given.get("view", {}),
            label=given.get("label", name),
            note=given.get("note", ""),
            published_as=given.get("published_as", name),
            readings=tuple(given.get("readings", ())),
            given=given,
        )

    @classmethod
    def from_record(cls, name: str, settings: Settings) -> Method:
        """The method of a run from the run's record."""
        return cls(name, settings, label=name, published_as=name)

    @cached_property
    def kind(self) -> Kind:
        """The baseline or the model of the library that it trains."""
        return (
            BaselineMethod.parse(self.settings)
            if self.baseline is not None
            else LibraryModel.parse(self.settings)
        )

    @property
    def library(self) -> LibraryModel | None:
        """The model of the library that it trains, if it does."""
        return self.kind if isinstance(self.kind, LibraryModel) else None

    @property
    def baseline(self) -> str | None:
        """The name of its baseline; None for a model of the library."""
        return self.settings.get("baseline")

    @cached_property
    def choice(self) -> Choice | None:
        """What it chooses, if anything."""
        return Choice.parse(self.settings["choose"]) if "choose" in self.settings else None

    @property
    def keeps_cuts(self) -> bool:
        """Whether a stored model has its cuts, so that they can be checked."""
        return bool(self.settings.get("keep_cuts", True))

    @property
    def record(self) -> dict[str, object]:
        """What a run's record says of it."""
        return dict(self.settings)

    def option(self, name: str, default: Any = None) -> Any:
        """The value of an option; a dotted name reaches inside.

        Where the outer option is not a mapping, a dotted name returns its whole value: "kernel.gamma" returns
        the value of `kernel`.
        """
        head, _, inner = name.partition(".")
        value = self.settings.get(head, default)
        return value.get(inner, default) if inner and isinstance(value, Mapping) else value

    def options(self) -> Iterator[tuple[str, object]]:
        """(dotted name, value) of all its options except `choose` and nested names."""
        for key, value in self.settings.items():
            if key == "choose":
                continue
            if isinstance(value, Mapping):
                yield from ((f"{key}.{inner}", item) for inner, item in value.items() if inner != "name")
            else:
                yield key, value

    def with_option(self, name: str, value: object) -> Method:
        """This method with one option set; a dotted name reaches inside."""
        head, _, inner = name.partition(".")
        settings = {key: item for key, item in self.settings.items() if key != ALTERNATIVES.get(head)}
        settings[head] = {**settings.get(head, {}), inner: value} if inner else value
        return replace(self, settings=settings)

    def with_options(self, options: Mapping[str, object]) -> Method:
        """This method with several options set."""
        method = self
        for name, value in options.items():
            method = method.with_option(name, value)
        return method

    def faults(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """(key, what is wrong with it) for what a schema cannot see."""
        choice = self.choice
        for key in ("with", "path"):
            if choice is not None and self.settings["choose"].get(key) and not choice.trains_apart:
                yield ("choose", key), "goes with a choice by validation_... without `over`, or by inner_..."
        for key in ("folds", "one_fold_from"):
            if choice is not None and key in self.settings["choose"] and not choice.within_training_set:
                yield ("choose", key), "is for a choice by inner_... only; remove it"
        if choice is not None and self.baseline is not None and choice.by.partition("_")[2] == LOSS:
            yield ("choose", "by"), "is the loss of a problem, which a baseline has not; name a measure"
        if choice is not None and choice.option in choice.others:
            yield ("choose", "with"), f"names {choice.option!r}, which `option` names already; keep one"
        if choice is not None and choice.path and not (self.kind.has_path and choice.option in PATH_OPTIONS):
            yield (
                ("choose", "path"),
                "is for the C or C_per_example of a formulation, or of a baseline that can start from "
                "another model; remove it",
            )
        if self.baseline is None and "C" in self.settings and "C_per_example" in self.settings:
            yield (), "has both C and C_per_example; keep one of them"
        price_fault = self.price_fault()
        if price_fault is not None:
            yield (), price_fault
        if "eps" in self.settings and "gap_tol" in self.settings:
            yield (), "has both eps and gap_tol, but where gap_tol is given it alone decides; remove eps"

    def price_fault(self) -> str | None:
        """What is wrong with its price, which is in units of C; None if nothing, or if it has none."""
        if self.baseline is not None or "price" not in self.settings:
            return None
        chosen = () if self.choice is None else (self.choice.option, *self.choice.others)
        if "C_per_example" in self.settings or "C_per_example" in chosen:
            return "has both price and C_per_example, but a price is in units of C; use C with it"
        if "C" not in self.settings and "C" not in chosen:
            return "has a price, which is in units of C, but no C; add C"
        return None

    def to_arrays(self, model: Any) -> dict[str, np.ndarray]:
        """A trained model as named arrays.

        Without its cuts if the settings say so: they are then dropped from the model that is given.
        """
        if not self.keeps_cuts:
            model.fit_.support = None
        arrays: dict[str, np.ndarray] = model.to_arrays()
        return arrays

    def from_arrays(self, arrays: Mapping[str, np.ndarray]) -> Any:
        """The trained model that was stored as these arrays."""
        return self.kind.load(arrays)

    def weights(self, model: Any) -> np.ndarray:
        """The weights of a trained linear model."""
        return self.kind.weights(model)

    @property
    def certificate(self) -> Certificate | None:
        """The check of a trained model's recorded numbers; None for a baseline, which has none."""
        module = self.kind.certificate
        return None if module is None else certificate_of(module)

    @property
    def modules(self) -> list[str]:
        """Our modules that its training imports."""
        return ["structmargin_suite.methods.training", *self.kind.modules]

    def describe(self) -> str:
        """Its settings as the config gives them, in one line."""
        hidden = (*DISPLAY_KEYS, "readings", "choose", "problem")
        settings = [f"{key} {value}" for key, value in self.given.items() if key not in hidden]
        return ", ".join([*settings, *([] if self.choice is None else [self.choice.describe()])])
