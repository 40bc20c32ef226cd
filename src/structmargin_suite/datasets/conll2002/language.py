"""A made-up language with named entities, for the stand-in: a hidden Markov model over the nine tags.

Outside of entities stand common words, numbers and punctuation, by Zipf's law; names are capitalised, each
kind has endings that it prefers, and some names are shared by all kinds, so that context matters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structmargin_suite.datasets.conll2002.tags import TAGS, Sentence

ENDINGS = {"PER": "ez ina aldo", "ORG": "sa fe cor", "LOC": "ia uela burgo", "MISC": "al ismo ix"}
"""The endings that each kind of name prefers."""
SYLLABLES = [c + v for c in "bcdfglmnprstv" for v in "aeiou"]
N_WORDS, N_SHARED, N_NAMES = 2000, 150, 700
"""Common words, names that all kinds share, and names that each kind has of its own."""


@dataclass(frozen=True)
class Language:
    """The words of the language.

    Attributes
    ----------
    common : list of str
        Tokens outside of entities, the most frequent first.
    frequency : ndarray (len(common),)
        Their probabilities up to a factor.
    names : dict of str to list of str
        The names of each kind of entity.
    """

    common: list[str]
    frequency: np.ndarray
    names: dict[str, list[str]]

    def speak(self, rng: np.random.Generator) -> Sentence:
        """A sentence of 4 to 44 tokens."""
        sentence: Sentence = []
        kind, left = "", 0
        for _ in range(rng.integers(4, 45)):
            begins = left == 0 and rng.random() < 0.09
            if begins:
                kind, left = str(rng.choice(list(self.names))), int(rng.geometric(0.55))
            if left:
                word = "de" if not begins and rng.random() < 0.15 else str(rng.choice(self.names[kind]))
                sentence.append((word, TAGS.index(("B-" if begins else "I-") + kind)))
                left -= 1
            else:
                k = rng.choice(len(self.common), p=self.frequency / self.frequency.sum())
                word = str(self.common[k])
                sentence.append((word if sentence else word.capitalize(), 0))
        return sentence


def made_up_language(seed: int = 2002) -> Language:
    """The language of a seed; the stand-in always uses the same one."""
    rng = np.random.default_rng(seed)

    def word(most: int) -> str:
        return "".join(rng.choice(SYLLABLES, size=rng.integers(1, most + 1)))

    words = [word(4) for _ in range(N_WORDS)]
    common = [",", ".", "(", ")", '"', *words, *(str(year) for year in range(1900, 2000))]
    shared = [word(2).capitalize() for _ in range(N_SHARED)]
    names = {
        kind: [word(2).capitalize() + str(rng.choice(text.split())) for _ in range(N_NAMES)] + shared
        for kind, text in ENDINGS.items()
    }
    return Language(common, 1.0 / np.arange(3, len(common) + 3), names)
