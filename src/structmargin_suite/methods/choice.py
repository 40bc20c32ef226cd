"""A choice among values of a method's options, as the key `choose` of a config describes it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Value = float | int | str | bool
Settings = Mapping[str, Any]
"""Values of a config by their names; its schema says what each may be."""
INNER, TEST = "inner_", "test_"
"""Prefix of a choice's measure that is taken on some of the training set, or on the test set; the others are
taken on the validation set."""
CHOICE_KEY = "choose"
"""The key of a method's choice in a config."""
LOSS = "loss"
"""The measure that is the mean loss of the problem; all others are the data set's own."""
PATH_OPTIONS = ("C", "C_per_example")
"""Options that `path` can run along."""


@dataclass(frozen=True)
class Choice:
    """An option, or several, chosen by a measure.

    Parameters
    ----------
    option : str
        The option that is chosen; a dotted name reaches inside (solver_options.epochs).
    among : tuple
        Its values, in the order in which they are tried.
    by : str
        Name of the measure to minimise with its prefix (`validation_`, `inner_` or `test_`), for example
        validation_loss. `{name}` stands for that parameter of the problem.
    largest : bool
        Whether the measure is maximised instead.
    others : mapping
        More options with their values; every combination is tried. The key `with` in a config.
    path : bool
        Whether each training while choosing starts from the cuts of the one before.
    ties : {"first", "middle"}
        Which of several best combinations is taken: the first, or the one nearest to the middle of them,
        option by option.
    over : tuple of str
        Settings of runs (round, repetition) over which the measure is averaged: one value is chosen for all
        runs that differ in nothing else, and every value is a run of its own. Without it each training
        chooses for itself, or, by the test set, one value is chosen for all runs. `others` are still chosen
        by each training for itself.
    folds : int
        How many parts of the training set are held out in turn, for a measure on the training set; the
        measure is averaged over them.
    one_fold_from : int, optional
        Where the rarest label has so many training examples or more, the first fold alone is held out.
    """

    option: str
    among: tuple[Value, ...]
    by: str
    largest: bool = False
    others: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    path: bool = False
    ties: str = "first"
    over: tuple[str, ...] = ()
    folds: int = 1
    one_fold_from: int | None = None

    @classmethod
    def parse(cls, given: Settings) -> Choice:
        """The choice that a config's `choose` describes."""
        return cls(
            option=given["option"],
            among=tuple(given["among"]),
            by=given["by"],
            largest=bool(given.get("largest", False)),
            others={option: tuple(values) for option, values in given.get("with", {}).items()},
            path=bool(given.get("path", False)),
            ties=given.get("ties", "first"),
            over=tuple(given.get("over", ())),
            folds=given.get("folds", 1),
            one_fold_from=given.get("one_fold_from"),
        )

    @property
    def between_runs(self) -> bool:
        """Whether one value is chosen for several runs, so that every value is a run of its own."""
        return self.by.startswith(TEST) or bool(self.over)

    @property
    def in_training(self) -> bool:
        """Whether each training chooses for itself."""
        return not self.between_runs

    @property
    def trains_apart(self) -> bool:
        """Whether trainings that only serve to choose are made, as along a path."""
        return self.in_training or self.within_training_set

    @property
    def within_training_set(self) -> bool:
        """Whether it holds out some of the training set to choose by."""
        return self.by.startswith(INNER)

    @property
    def candidates(self) -> dict[str, tuple[Value, ...]]:
        """The values of every option to choose, the choice's own option first."""
        if self.option in self.others:
            raise ValueError(f"{self.option!r} is both the option of a choice and among its `with`; keep one")
        return {self.option: self.among} | dict(self.others)

    @property
    def single(self) -> tuple[Value, ...]:
        """The only combination where there is but one to choose from, and () otherwise."""
        lists = list(self.candidates.values())
        return tuple(values[0] for values in lists) if all(len(values) == 1 for values in lists) else ()

    @property
    def columns(self) -> dict[str, str]:
        """The last name in each option's dotted name, by which results show it."""
        return {option: option.rpartition(".")[2] for option in self.candidates}

    @property
    def sign(self) -> float:
        """The sign with which the best measure is the smallest."""
        return -1.0 if self.largest else 1.0

    def measure_name(self, problem: Settings) -> str:
        """Name of the measure with its prefix, for example validation_loss.

        Parameters of the problem are filled in.
        """
        return self.by.format(**problem)

    def best(self, measured: Mapping[tuple[Value, ...], float]) -> tuple[Value, ...]:
        """The best combination of values by the measure of each."""
        best_value = min(self.sign * measure for measure in measured.values())
        tied = [values for values, measure in measured.items() if self.sign * measure == best_value]
        return self.middle(tied) if self.ties == "middle" else tied[0]

    def middle(self, tied: Sequence[tuple[Value, ...]]) -> tuple[Value, ...]:
        """Of some combinations, the first of those nearest to their medians.

        Places in the lists of values are compared, and of two medians the lower counts.
        """
        lists = list(self.candidates.values())
        places = [
            [values.index(value) if value in values else 0 for values, value in zip(lists, each, strict=True)]
            for each in tied
        ]
        medians = [sorted(column)[(len(tied) - 1) // 2] for column in zip(*places, strict=True)]
        away = [sum(abs(p - m) for p, m in zip(each, medians, strict=True)) for each in places]
        return tied[away.index(min(away))]

    @property
    def combinations(self) -> list[tuple[Value, ...]]:
        """Every combination of values, the last option moving fastest."""
        return list(itertools.product(*self.candidates.values()))

    def describe(self) -> str:
        """The choice in one line."""
        options = " and ".join(
            f"{option} chosen among {list(values)}" for option, values in self.candidates.items()
        )
        averaged = f", averaged over {' and '.join(f'{key}s' for key in self.over)}" if self.over else ""
        return f"{options} by {self.by}{averaged}"

    def at_edge(self, option: str, value: Value) -> bool:
        """Whether a value is the least or the greatest of the numbers that an option is chosen among."""
        numbers = [each for each in self.candidates[option] if isinstance(each, (int, float))]
        return len(numbers) > 2 and value in (min(numbers), max(numbers))
