"""A reading of a paper as one value: what its words are taken to mean, why, and which options that sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from structmargin_suite.methods.choice import Settings


@dataclass(frozen=True)
class Reading:
    """One of the ways to understand a paper that leaves something open.

    Parameters
    ----------
    name : str
        Its key in the config.
    label : str
        How tables and figures call it.
    about : str
        What the words of the paper are taken to mean.
    evidence : str
        Where that comes from: the paper's words, its arithmetic, the authors' program, a cited paper, custom.
    chosen : {"before", "after first look"}
        Whether the reading was chosen before or after results under it had been seen.
    primary : bool
        Whether it is the one by which statements are judged.
    uses : tuple of str
        Statements whose printed results are evidence for it: they are used, and not judged, under it.
    sets : mapping
        The options that it sets, as keys of a study's `fixed`; `choose.among` and the like reach inside a
        method's choice.
    """

    name: str
    label: str
    about: str
    evidence: str
    chosen: str
    primary: bool = False
    sets: Settings = field(default_factory=dict)
    uses: tuple[str, ...] = ()

    @classmethod
    def parse(cls, name: str, given: Settings) -> Reading:
        """The reading that a config's entry describes."""
        return cls(
            name=name,
            label=given.get("label", name),
            about=given.get("about", ""),
            evidence=given["evidence"],
            chosen=given["chosen"],
            primary=bool(given.get("primary", False)),
            sets=given.get("sets", {}),
            uses=tuple(given.get("uses", ())),
        )

    def describe(self) -> str:
        """Why it is read so and when that was chosen, in one line."""
        standing = "Primary, chosen" if self.primary else "Chosen"
        return " ".join(
            filter(None, [self.about, f"Evidence: {self.evidence}", f"{standing} {self.chosen}."])
        )

    def describe_sets(self) -> str:
        """What it sets, in one line."""
        return ", ".join(f"{key} {value}" for key, value in self.sets.items())


def readings_of(config: Settings) -> dict[str, Reading]:
    """The readings of an experiment's config by name."""
    given: Mapping[str, Settings] = config.get("readings", {})
    return {name: Reading.parse(name, entry) for name, entry in given.items()}
