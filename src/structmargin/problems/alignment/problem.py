"""Learning to align: which candidate is the homolog of a native string (jmlr05 Section 4.4).

Prediction takes the candidate whose best alignment scores highest (equation 15). A constraint says that <w,
Psi(x, homolog, given path)> exceeds <w, Psi(x, decoy, path)>, for every decoy and every path. With 0/1 loss
H(1, margin) = 1 - margin in every formulation: the best path of the best decoy maximises them all. A gap
weight that turns positive is no exception (see `structmargin.oracles.smith_waterman`). Equal scores go to the
candidate with the smallest index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from structmargin.compiled import compiled
from structmargin.cuts import Cuts
from structmargin.formulation import Cost
from structmargin.inputs.containers import by_position, is_listed
from structmargin.inputs.gate import require_equal
from structmargin.oracles.smith_waterman import Aligned, Path, add_steps, align, count_steps, pack, scores
from structmargin.problem import Scorer
from structmargin.problems._params import Params

Input = tuple[np.ndarray, Sequence[np.ndarray]]
"""The native string and the candidates."""


Output = tuple[int, tuple[int, int, str]]
"""A candidate and its path: a `ChosenCandidate`, or a plain tuple of the same."""


class ChosenCandidate(NamedTuple):
    """An output: the candidate's index and its alignment with the native."""

    candidate: int
    path: Path


@dataclass(frozen=True)
class Alignment(Params):
    """Learning to align: which of several candidate strings is the homolog of a native string.

    An input x = (native, candidates) holds strings as integer arrays of letters 0 .. n_letters - 1. An output
    y = (candidate, (i, j, ops)) is the index of a candidate and a local alignment of the native with it,
    which begins at letter i of the native and letter j of the candidate. In the text `ops`, M sets letter
    against letter, D leaves out a letter of the native, and I one of the candidate.

        Psi(x, y)       how often the alignment uses each of the n_letters^2 substitutions, then how many
                        letters it leaves out
        Delta(y, ybar)  1 if the candidates differ, else 0

    The homolog's alignment is given in training and unknown in prediction. Only decoys are constrained:
    another alignment of the homolog is equally right. Searches are exact for every w and every formulation.

    Parameters
    ----------
    n_letters : int, default=20
        The size of the alphabet.

    Attributes
    ----------
    n_weights : int
        n_letters^2 substitution weights and one gap weight.

    References
    ----------
    .. [1] Tsochantaridis, Joachims, Hofmann and Altun, "Large margin methods for structured and
       interdependent output variables", JMLR 6, 2005, Sections 4.4 and 5.3.

    Examples
    --------
    >>> import numpy as np
    >>> from structmargin import StructuredSVM
    >>> from structmargin.problems import Alignment
    >>> native = np.array([0, 1, 1, 0])
    >>> candidates = [np.array([1, 0, 0, 1]), np.array([0, 1, 0])]
    >>> x, y = (native, candidates), (1, (0, 0, "MMDM"))
    >>> problem = Alignment(n_letters=2)
    >>> problem.psi(x, y).tolist()
    [2.0, 0.0, 0.0, 1.0, 1.0]
    >>> model = StructuredSVM(problem, C=100.0).fit([x], [y])
    >>> model.predict([x])[0].candidate
    1
    """

    n_letters: int = 20

    explicit_only: ClassVar[str] = "its search needs explicit substitution and gap weights"

    @property
    def n_weights(self) -> int:
        """The length of w and of Psi(x, y)."""
        return self.n_letters**2 + 1

    def check_params(self) -> None:
        """Raise unless there is an alphabet."""
        if self.n_letters < 1:
            raise ValueError(f"n_letters must be at least 1, but it is {self.n_letters}")

    def psi(self, x: Input, y: Output) -> np.ndarray:
        """Psi(x, y), an array of shape (n_weights,)."""
        _check_output("this example", x, y)
        native, candidate = x[0], x[1][y[0]]
        for string in (native, candidate):
            self._check_letters(string, "a string of this example")
        pair, shape = np.array([[0, 1]]), (self.n_letters, self.n_letters)
        counts: np.ndarray = count_steps(pack([native, candidate]), pair, _aligned([y]), shape)[0]
        return counts

    def delta(self, y: Output, ybar: Output) -> float:
        """Delta(y, ybar): the loss of predicting ybar where y is right."""
        return float(y[0] != ybar[0])

    def potentials(self, w: np.ndarray, x: Input | None = None) -> tuple[np.ndarray, float]:
        """The substitution matrix (n_letters, n_letters) and the gap weight; the same for every x."""
        return w[:-1].reshape(self.n_letters, self.n_letters), float(w[-1])

    def argmax(self, f: Scorer, x: Input) -> ChosenCandidate:
        """The best-scoring output of x under the scorer f."""
        return self.batch([x], None).argmax(f)[0]

    def augmented_argmax(self, f: Scorer, x: Input, y: Output, H: Cost) -> ChosenCandidate:
        """The output that maximises H(Delta(y, .), f(x, y) - f(x, .))."""
        ybar: ChosenCandidate = self.batch([x], [y]).search(f, np.array([0]), H).outputs[0]
        return ybar

    def draw(self, x: Input, y: Output, rng: np.random.Generator) -> ChosenCandidate:
        """A random path between two random cells of a random decoy."""
        native, candidates = x
        decoy = int(rng.choice([c for c in range(len(candidates)) if c != y[0]]))
        i, end_a = np.sort(rng.integers(len(native) + 1, size=2)).tolist()
        j, end_b = np.sort(rng.integers(len(candidates[decoy]) + 1, size=2)).tolist()
        n_match = int(rng.integers(min(end_a - i, end_b - j) + 1))
        steps = "M" * n_match + "D" * (end_a - i - n_match) + "I" * (end_b - j - n_match)
        ops = "".join(steps[place] for place in rng.permutation(len(steps)))
        return ChosenCandidate(decoy, Path(i, j, ops))

    def batch(self, X: Sequence[Input], Y: Sequence[Output] | None) -> AlignmentBatch:
        """The examples packed for both searches, or for `argmax` alone where Y is None."""
        return AlignmentBatch(self, X, Y)

    def radius(self, x: Input) -> float:
        """sqrt((n + m)^2 + min(n, m)^2) for a native of length n and a longest candidate of length m.

        A path of s substitutions and g gaps reads 2s + g <= n + m letters, and counts are never
        negative: |Psi - Psi'|^2 <= s^2 + s'^2 + (g - g')^2, largest for n + m gaps against min(n, m)
        equal substitutions. For n = m = N this is sqrt(5) N, within Section 4.4.3's 2 sqrt(2) N.
        """
        n, m = len(x[0]), max((len(candidate) for candidate in x[1]), default=0)
        return float(np.hypot(n + m, min(n, m)))

    def max_delta(self, y: Output) -> float:
        """An upper bound on Delta(y, .)."""
        return 1.0

    def check(self, X: Sequence[Input], Y: Sequence[Output] | None) -> None:
        """Letters within the alphabet, at least one decoy, and alignments that fit; Y None: inputs only."""
        self.check_inputs(X)
        if Y is None:
            return
        require_equal(X, Y)
        self.check_outputs(X, Y)
        for i, x in enumerate(X):
            if len(x[1]) == 1:
                raise ValueError(f"example {i} has no decoys; give candidates beside the homolog")

    def check_inputs(self, X: Sequence[Input]) -> None:
        """Raise unless every x is a native string with candidates, all of them of known letters."""
        for i, x in enumerate(X):
            if not is_listed(x) or len(x) != 2:
                what = f"has {len(x)} parts" if is_listed(x) else f"is of type {type(x).__name__}"
                raise ValueError(f"example {i} is not a pair (native, candidates) but {what}")
            if not is_listed(x[1]) or len(x[1]) == 0:
                raise ValueError(f"example {i} has no candidates; give a list of strings to choose from")
        if not self._letters_fit([string for native, candidates in X for string in (native, *candidates)]):
            for i, (native, candidates) in enumerate(X):
                self._check_letters(native, f"the native string of example {i}")
                for c, candidate in enumerate(candidates):
                    self._check_letters(candidate, f"candidate {c} of example {i}")

    def check_outputs(self, X: Sequence[Input], Y: Sequence[Output]) -> None:
        """Raise unless every y is a candidate of its x and an alignment with it."""
        for i, (x, y) in enumerate(zip(X, Y, strict=True)):
            _check_output(f"example {i}", x, y)

    def _letters_fit(self, strings: Sequence[np.ndarray]) -> bool:
        """Whether all letters are in the alphabet, tested as one array: faster than one by one."""
        if any(isinstance(string, np.ma.MaskedArray) for string in strings):
            return False
        try:
            letters = np.concatenate(strings) if len(strings) else np.zeros(0, int)
        except (ValueError, TypeError):
            return False
        integers = letters.ndim == 1 and letters.dtype.kind in "iu"
        return integers and not np.any((letters < 0) | (letters >= self.n_letters))

    def _check_letters(self, string: np.ndarray, where: str) -> None:
        letters = np.asarray(by_position(string, where))
        if letters.ndim != 1 or (letters.size and letters.dtype.kind not in "iu"):
            raise ValueError(f"{where} must be a 1-d array of integers from 0 to {self.n_letters - 1}")
        wrong = np.flatnonzero((letters < 0) | (letters >= self.n_letters))
        if len(wrong):
            raise ValueError(
                f"{where} has the letter {letters[wrong[0]]} at position {wrong[0]}, but the alphabet is "
                f"0 to {self.n_letters - 1}; recode the string or raise n_letters"
            )


class AlignmentBatch:
    """All strings of all examples end to end, and the pairs (native, candidate) to align."""

    grain = 1

    def __init__(self, problem: Alignment, X: Sequence[Input], Y: Sequence[Output] | None) -> None:
        problem.check(X, Y)
        self.problem, self.x = problem, X[0] if len(X) else None
        self.strings = pack([string for native, candidates in X for string in (native, *candidates)])
        k = np.array([len(candidates) for _, candidates in X], dtype=np.int64)
        self.start = np.concatenate([[0], np.cumsum(k)])  # of each example's pairs
        self.candidate = np.arange(self.start[-1]) - np.repeat(self.start[:-1], k)
        example = np.repeat(np.arange(len(X)), k)
        native = self.start[:-1] + np.arange(len(X))  # an example has a string more than it has pairs
        self.pairs = np.column_stack([native[example], native[example] + 1 + self.candidate])
        if Y is not None:
            self.truth = _aligned(Y)
            homolog = self.start[:-1] + np.array([y[0] for y in Y], dtype=np.int64)
            self.truth_pairs = self.pairs[homolog]
            self.decoys = np.delete(np.arange(len(self.pairs)), homolog)
            self.decoy_start = self.start - np.arange(len(X) + 1)

    def search(self, f: Scorer, indices: np.ndarray, H: Cost) -> Cuts:
        """The best path of the best decoy of each example, whatever H is."""
        taken, groups = _some(self.decoy_start, indices)
        best, aligned = self._best(f, self.decoys[taken], groups)
        rows = self._rows(indices, best, aligned)
        outputs = self._choices(best, aligned)
        return Cuts.of_search(H, indices, outputs, np.ones(len(indices)), rows @ f.w, rows)

    def argmax(self, f: Scorer, indices: np.ndarray | None = None) -> list[ChosenCandidate]:
        """The best-scoring output of every example, or of some."""
        indices = np.arange(len(self.start) - 1) if indices is None else indices
        return self._choices(*self._best(f, *_some(self.start, indices)))

    def _best(self, f: Scorer, which: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, Aligned]:
        """The best pair of each group of pairs, and its alignment: only winners are walked back."""
        if len(groups) == 1:
            return which, _aligned([])
        substitution, gap = f.potentials(self.x)
        best = which[_first_best(scores(self.strings, self.pairs[which], substitution, gap), groups)]
        return best, align(self.strings, self.pairs[best], substitution, gap)

    def _choices(self, best: np.ndarray, aligned: Aligned) -> list[ChosenCandidate]:
        return [ChosenCandidate(int(self.candidate[p]), aligned.path(k)) for k, p in enumerate(best)]

    def _rows(self, indices: np.ndarray, best: np.ndarray, aligned: Aligned) -> sp.csr_matrix:
        """Psi(x, y) - Psi(x, ybar) as sorted sparse rows."""
        indices = np.ascontiguousarray(indices, dtype=np.int64)
        room = len(aligned.ops) + int(np.sum(self.truth.start[indices + 1] - self.truth.start[indices]))
        data, columns, indptr = np.empty(room), np.empty(room, np.int32), np.zeros(len(indices) + 1, np.int64)
        truth, violator = (self.truth_pairs, *self.truth[1:]), (self.pairs[best], *aligned[1:])
        counts, B = np.zeros(self.problem.n_weights), self.problem.n_letters
        _subtract(*self.strings, truth, indices, violator, B, counts, data, columns, indptr)
        used = indptr[-1]
        return sp.csr_matrix((data[:used], columns[:used], indptr), shape=(len(indices), len(counts)))


def _some(start: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(numbers of the chosen examples' pairs, where each one's begin among these), from where all begin."""
    low, high = start[indices], start[indices + 1]
    groups = np.concatenate([[0], np.cumsum(high - low)])
    return np.arange(groups[-1]) + np.repeat(low - groups[:-1], high - low), groups


@compiled
def _first_best(values, groups):  # type: ignore[no-untyped-def]
    """The index of the first largest value of each group values[groups[g]:groups[g + 1]]."""
    best = groups[:-1].copy()
    for g in range(len(best)):
        for k in range(groups[g] + 1, groups[g + 1]):
            if values[k] > values[best[g]]:
                best[g] = k
    return best


@compiled
def _subtract(letters, start, truth, indices, violator, B, counts, data, columns, indptr):  # type: ignore[no-untyped-def]
    """Write row r: the steps of truth's path indices[r] less those of the violator's path r."""
    used = 0
    for r in range(len(indices)):
        for (pairs, begin, ops, ops_start), k, sign in ((truth, indices[r], 1.0), (violator, r, -1.0)):
            s, t, i, j = pairs[k, 0], pairs[k, 1], begin[k, 0], begin[k, 1]
            add_steps(letters, start, s, t, i, j, ops, ops_start[k], ops_start[k + 1], B, sign, counts)
        for c in range(len(counts)):
            if counts[c] != 0.0:
                data[used], columns[used] = counts[c], c
                counts[c] = 0.0
                used += 1
        indptr[r + 1] = used


def _aligned(Y: Sequence[Output]) -> Aligned:
    """The paths of outputs, packed; no scores."""
    paths = [y[1] for y in Y]
    start = np.zeros(len(paths) + 1, dtype=np.int64)
    np.cumsum([len(ops) for _, _, ops in paths], out=start[1:])
    ops = np.frombuffer("".join(ops for _, _, ops in paths).encode("ascii"), dtype=np.uint8).copy()
    begin = np.array([(i, j) for i, j, _ in paths], dtype=np.int64).reshape(-1, 2)
    return Aligned(np.zeros(len(paths)), begin, ops, start)


def _check_output(where: str, x: Input, y: Output) -> None:
    """A candidate that exists, and a path that fits it and its native."""
    try:
        chosen, (i, j, ops) = y
        n_match, n_delete, n_insert = ops.count("M"), ops.count("D"), ops.count("I")
        begin_a, end_a = index(i), i + n_match + n_delete
        begin_b, end_b = index(j), j + n_match + n_insert
        chosen = index(chosen)
    except (TypeError, ValueError, AttributeError):
        raise ValueError(f"the output of {where} is not (candidate, (i, j, ops)): {y!r}") from None
    n, k = len(x[0]), len(x[1])
    if not 0 <= chosen < k:
        raise ValueError(f"{where} has the homolog {chosen}, but its candidates are 0 to {k - 1}")
    if n_match + n_delete + n_insert != len(ops):
        raise ValueError(f"the alignment of {where} is {ops!r}; use only the operations M, D and I")
    m = len(x[1][chosen])
    if begin_a < 0 or begin_b < 0 or end_a > n or end_b > m:
        raise ValueError(
            f"the alignment of {where} does not fit its pair: it reads {begin_a}:{end_a} of a "
            f"native of length {n} and {begin_b}:{end_b} of a homolog of length {m}; correct (i, j) or ops"
        )
