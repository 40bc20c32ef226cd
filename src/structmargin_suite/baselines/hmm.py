"""A hidden Markov model of words and labels, trained by nltk (the generative model of jmlr05 Table 2).

    p(x, y) = p(y_1) p(x_1 | y_1) prod_t p(y_t | y_{t-1}) p(x_t | y_t)

All estimates are Lidstone's with 0.1 added to each count, nltk's own choice. The model's error
depends on the probability of a word that training has not seen, which the papers do not give. The choices:

    equal     the same in every state: the neighbours of such a word decide
    counted   that of a word with count 0, nltk's own choice, which favours rare states
    spelled   words seen once in training or never are replaced by their kind: capitals, digits, punctuation

Estimates are nltk's; labels are found by the library's Viterbi search over them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from structmargin.problems.sequence.problem import Sequence as Chain
from structmargin_suite.baselines import Schemas

PSEUDOCOUNT = 0.1  # added to each count, nltk's own choice
OPTIONS: Schemas = {"unknown": {"enum": ["equal", "counted", "spelled"]}}


@dataclass(frozen=True)
class HiddenMarkovModel:
    """Log probabilities: `first` (L,), `transitions` (L, L), `outputs` (L, words), `unseen` (L,) for a word
    that is not among `words`; states are the labels `labels`. With `spelled`, words go by `symbol`."""

    labels: np.ndarray
    words: np.ndarray
    first: np.ndarray
    transitions: np.ndarray
    outputs: np.ndarray
    unseen: np.ndarray
    spelled: bool

    def predict(self, X: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The most probable labels of every sentence."""
        place = {str(word): k for k, word in enumerate(self.words)}
        table = np.vstack([self.outputs.T, self.unseen])
        chain = Chain(len(self.labels), 1)
        predictions = []
        for x in X:
            words = [str(word) for word in x]
            if self.spelled:
                words = [word if word in place else symbol(word) for word in words]
            numbers = [place.get(word, -1) for word in words]
            emissions = table[numbers]
            emissions[0] += self.first
            packed = chain.chains((emissions, self.transitions, None), np.array([0, len(numbers)]))
            predictions.append(self.labels[chain.decode(packed)])
        return predictions

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The model as arrays."""
        return {name: np.asarray(value) for name, value in vars(self).items()}


def from_arrays(arrays: Mapping[str, np.ndarray]) -> HiddenMarkovModel:
    """The model that `to_arrays` was called on."""
    return HiddenMarkovModel(**{**arrays, "spelled": bool(arrays["spelled"])})  # type: ignore[arg-type]


def train(
    X: Sequence[np.ndarray], Y: Sequence[np.ndarray], *, seed: int, unknown: str = "equal"
) -> HiddenMarkovModel:
    """Estimates from sentences X (arrays of words) and their labels Y; nothing here is random."""
    from nltk.probability import LidstoneProbDist
    from nltk.tag.hmm import HiddenMarkovModelTrainer

    words = [[str(word) for word in x] for x in X]
    if unknown == "spelled":
        frequency = Counter(word for sentence in words for word in sentence)
        words = [[word if frequency[word] > 1 else symbol(word) for word in sentence] for sentence in words]
    pairs = [list(zip(x, (int(k) for k in y), strict=True)) for x, y in zip(words, Y, strict=True)]
    states = sorted({label for sentence in pairs for _, label in sentence})
    symbols = sorted({word for sentence in pairs for word, _ in sentence})
    trainer = HiddenMarkovModelTrainer(states, symbols)
    tagger = trainer.train_supervised(pairs, lambda counts, bins: LidstoneProbDist(counts, PSEUDOCOUNT, bins))
    log = np.log(2.0)  # nltk's logarithms are of base 2
    first = log * np.array([tagger._priors.logprob(s) for s in states])
    transitions = log * np.array([[tagger._transitions[s].logprob(r) for r in states] for s in states])
    outputs = log * np.array([[tagger._outputs[s].logprob(word) for word in symbols] for s in states])
    unseen = np.zeros(len(states))
    if unknown != "equal":
        unseen = log * np.array([tagger._outputs[s].logprob("\0") for s in states])
    return HiddenMarkovModel(
        np.array(states), np.array(symbols), first, transitions, outputs, unseen, unknown == "spelled"
    )


def symbol(word: str) -> str:
    """What stands for a rare word: how it is spelled, after a character that no word has."""
    if not any(letter.isalnum() for letter in word):
        return "\0punctuation"
    if any(letter.isdigit() for letter in word):
        return "\0digit"
    return "\0capitals" if word.isupper() else "\0capital" if word[:1].isupper() else "\0small"
