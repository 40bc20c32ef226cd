"""Learning to align a protein's sequence with a known structure (cacm09 Section 3.2; Yu et al. 2007).

Outputs and their gaps are those of `structmargin.oracles.chains`. Delta is 1 less 1/k for every match of ybar
that is near enough: it folds into the scores of matches, and one search serves prediction and SVM1 margin.
The chain of the truth has Delta = 0, and so have chains near it: margin re-scaling constrains them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from structmargin.formulation import Cost
from structmargin.inputs.containers import by_position, is_listed
from structmargin.inputs.gate import require_equal
from structmargin.problem import Scorer
from structmargin.problems._params import Params
from structmargin.problems.proteins.batch import ProteinBatch
from structmargin.problems.proteins.features import (
    MODELS,
    N_ACCESS,
    N_PLACES,
    RESIDUES,
    STATES,
    Pair,
    Terms,
    terms,
)

GAPS = {"linear": 2, "affine": 4}
"""How many weights a kind of place has for its gaps."""
_CODES = {
    0: ("residue", len(RESIDUES), True),
    1: ("state", len(STATES), True),
    2: ("access", N_ACCESS, True),
    3: ("target", len(RESIDUES), False),
    6: ("target_state", len(STATES), False),
    7: ("target_access", N_ACCESS, False),
}
"""The parts of a Pair that are codes: the name, how many values it has, and whether it is of the template."""
FIRST_OPTIONAL = 4
"""Parts from here on may be None."""


@dataclass(frozen=True)
class ProteinAlignment(Params):
    """Learning to align a protein's sequence with a protein of known structure.

    An input x is a `Pair` (`structmargin.problems.proteins.features`): a template of n residues with
    secondary structure and accessibility, and a target of m residues, whose structure may be known, predicted
    or None, all as integer codes. An output y is an integer array (k, 2) of matches (i, j), rising in both
    columns, that set place i of the template against place j of the target.

        Psi(x, y)       how often the alignment uses each feature of a match (`model`) and of a gap (`gaps`)
        Delta(y, ybar)  Q4-loss: the share of matches (i, j) of y whose j is not matched by ybar with a
                        place at most `tolerance` away from i

    The loss is a sum over matches and folds into their scores: exact for "SVM1 margin", and the other
    formulations are refused.

    Parameters
    ----------
    model : {"simple", "anova2", "tensor", "window", "profile"}, default="tensor"
        The features of a match, each model with those of all models before it; see
        `structmargin.problems.proteins.features`.
    gaps : {"linear", "affine"}, default="affine"
        Whether a residue that is left out costs the same wherever it stands in its gap, or the first one has
        a weight of its own; in both cases for each of 15 kinds of places of the template.
    tolerance : int, default=4
        How far from its true place a match may be and still be right.

    Attributes
    ----------
    n_weights : int
        The number of weights of matches and gaps.

    References
    ----------
    .. [1] Yu, Joachims, Elber and Pillardy, "Support vector training of protein alignment models", RECOMB
       2007.
    .. [2] Joachims, Hofmann, Yue and Yu, "Predicting structured objects with support vector machines",
       Communications of the ACM 52(11), 2009, Section 3.2.

    Examples
    --------
    A template of four residues and a target that lacks its second one:

    >>> import numpy as np
    >>> from structmargin import StructuredSVM
    >>> from structmargin.problems import ProteinAlignment
    >>> from structmargin.problems.proteins.features import Pair
    >>> x = Pair(residue=np.array([0, 7, 3, 9]), state=np.array([0, 0, 1, 1]),
    ...          access=np.array([4, 2, 0, 1]), target=np.array([0, 3, 9]))
    >>> y = np.array([[0, 0], [2, 1], [3, 2]])
    >>> problem = ProteinAlignment("simple", "linear", tolerance=0)
    >>> problem.delta(y, np.array([[0, 0], [1, 1], [3, 2]]))
    0.33333333333333337
    >>> StructuredSVM(problem, C=100.0).fit([x], [y]).predict([x])[0].tolist()
    [[0, 0], [2, 1], [3, 2]]
    """

    model: str = "tensor"
    gaps: str = "affine"
    tolerance: int = 4

    explicit_only: ClassVar[str] = "its search needs explicit weights of matches and gaps"

    def __post_init__(self) -> None:
        for name, known in (("model", MODELS), ("gaps", tuple(GAPS))):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is {getattr(self, name)!r}, but must be one of {', '.join(known)}")
        if not isinstance(self.tolerance, (int, np.integer)) or self.tolerance < 0:
            raise ValueError(f"tolerance must be a whole number of places from 0 on, not {self.tolerance!r}")

    @cached_property
    def terms(self) -> Terms:
        """The tables of match weights at the beginning of w."""
        return terms(self.model)

    @property
    def profiles(self) -> bool:
        """Whether matches have profile scores."""
        return self.model == MODELS[-1]

    @property
    def first_gap(self) -> int:
        """Where the gap weights begin in w: after the tables and 15 weights for each profile."""
        return self.terms.n_weights + (2 * N_PLACES if self.profiles else 0)

    @property
    def n_weights(self) -> int:
        """The length of w and of Psi(x, y)."""
        return self.first_gap + GAPS[self.gaps] * N_PLACES

    def gap_weights(self, w: np.ndarray) -> np.ndarray:
        """The last weights as a table (15, 4): first and further residue left out of the template, then of
        the target, for each kind of place."""
        table = w[self.first_gap :].reshape(N_PLACES, -1)
        return np.ascontiguousarray(table if self.gaps == "affine" else np.repeat(table, 2, axis=1))

    def psi(self, x: Pair, y: np.ndarray) -> sp.csr_matrix:
        """Psi(x, y), a sparse row of shape (1, n_weights); that of the empty alignment is 0."""
        if len(y) == 0:
            return sp.csr_matrix((1, self.n_weights))
        return self.batch([x], [y]).psi()

    def delta(self, y: np.ndarray, ybar: np.ndarray) -> float:
        """Delta(y, ybar): the loss of predicting ybar where y is right."""
        y, ybar = np.asarray(y), np.asarray(ybar)
        placed = dict(zip(ybar[:, 1].tolist(), ybar[:, 0].tolist(), strict=True))
        near = sum(abs(placed[j] - i) <= self.tolerance for i, j in y.tolist() if j in placed)
        loss: float = 1.0 - near / len(y)
        return loss

    def potentials(self, w: np.ndarray, x: Pair) -> tuple[np.ndarray, np.ndarray]:
        """The scores of matches (n, m), and of gaps (n, 4) as `best_chain` wants them."""
        return self.batch([x], None).potentials(np.ascontiguousarray(w, dtype=float))

    def argmax(self, f: Scorer, x: Pair) -> np.ndarray:
        """The best-scoring output of x under the scorer f."""
        return self.batch([x], None).argmax(f)[0]

    def augmented_argmax(self, f: Scorer, x: Pair, y: np.ndarray, H: Cost) -> np.ndarray:
        """The output that maximises H(Delta(y, .), f(x, y) - f(x, .))."""
        chain: np.ndarray = self.batch([x], [y]).search(f, np.array([0]), H).outputs[0]
        return chain

    def draw(self, x: Pair, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A random chain of at least one match."""
        n, m = len(x[0]), len(x[3])
        k = int(rng.integers(1, min(n, m) + 1))
        return np.sort(np.stack([rng.choice(length, k, replace=False) for length in (n, m)], axis=1), axis=0)

    def batch(self, X: Sequence[Pair], Y: Sequence[np.ndarray] | None) -> ProteinBatch:
        """The examples packed for both searches, or for `argmax` alone where Y is None."""
        self.check(X, Y)
        return ProteinBatch(self, X, Y)

    def refuse(self, H: Cost) -> str | None:
        """One sentence that says why the augmented search cannot handle H, or None if it can."""
        if H.folds:
            return None
        return (
            "its search folds the Q4-loss into the scores, which is exact for 'SVM1 margin' alone: use that"
        )

    def max_delta(self, y: np.ndarray) -> float:
        """An upper bound on Delta(y, .)."""
        return 1.0

    def check(self, X: Sequence[Pair], Y: Sequence[np.ndarray] | None) -> None:
        """Codes within their ranges, strings of one length, and chains that fit; Y None: inputs only."""
        self.check_inputs(X)
        if Y is not None:
            require_equal(X, Y)
            self.check_outputs(X, Y)

    def check_inputs(self, X: Sequence[Pair]) -> None:
        """Raise unless all codes are within their ranges and the strings of a chain of one length."""
        for e, x in enumerate(X):
            where = f"example {e}"
            if not is_listed(x) or len(x) < FIRST_OPTIONAL:
                what = f"has {len(x)} parts" if is_listed(x) else f"is of type {type(x).__name__}"
                raise ValueError(f"{where} {what}; give a Pair(residue, state, access, target)")
            given: dict[int, Any] = {
                k: x[k] for k in _CODES if k < FIRST_OPTIONAL or (len(x) > k and x[k] is not None)
            }
            for k, codes in given.items():
                _check_codes(where, _CODES[k][0], codes, _CODES[k][1])
            n, m = len(x[0]), len(x[3])
            for k, codes in given.items():
                name, _, of_template = _CODES[k]
                chain, places = ("template", n) if of_template else ("target", m)
                if len(codes) != places:
                    raise ValueError(
                        f"{where} has {len(codes)} values of {name} for a {chain} of {places} residues; "
                        "give one each"
                    )
            if self.profiles:
                for name, profile, length in zip(("template", "target"), [*x[4:6], None, None], (n, m)):
                    _check_profile(where, name, profile, length)

    def check_outputs(self, X: Sequence[Pair], Y: Sequence[np.ndarray]) -> None:
        """Raise unless every y is a chain of matches within its pair."""
        for e, (x, y) in enumerate(zip(X, Y, strict=True)):
            _check_chain(f"example {e}", y, len(x[0]), len(x[3]))


def _check_codes(where: str, name: str, codes: np.ndarray, limit: int) -> None:
    codes = np.asarray(by_position(codes, f"{name} of {where}"))
    if codes.ndim != 1 or not len(codes) or codes.dtype.kind not in "iu":
        raise ValueError(
            f"{name} of {where} must be a 1-d array of integers from 0 to {limit - 1}, not empty"
        )
    if codes.min() < 0 or codes.max() >= limit:
        place = int(np.flatnonzero((codes < 0) | (codes >= limit))[0])
        raise ValueError(
            f"{name} of {where} has the code {codes[place]} at place {place}, but codes go to {limit - 1}; "
            "recode"
        )


def _check_profile(where: str, name: str, profile: np.ndarray | None, length: int) -> None:
    shape = np.shape(profile) if profile is not None else None
    if shape != (length, len(RESIDUES)):
        raise ValueError(
            f"the {name} profile of {where} has the shape {shape}, but the model 'profile' needs "
            f"({length}, {len(RESIDUES)}); give it, or use the model 'window'"
        )
    if not np.isfinite(np.asarray(profile, dtype=float)).all():
        raise ValueError(f"the {name} profile of {where} is not finite; look for NaN or infinity in it")


def _check_chain(where: str, y: np.ndarray, n: int, m: int) -> None:
    chain = np.asarray(by_position(y, f"the output of {where}"))
    if chain.ndim != 2 or chain.shape[1] != 2 or not len(chain) or chain.dtype.kind not in "iu":
        raise ValueError(
            f"the output of {where} must be an integer array (k, 2) of matches (i, j), k >= 1, but has "
            f"the shape {chain.shape} and type {chain.dtype}"
        )
    if chain.min() < 0 or chain[:, 0].max() >= n or chain[:, 1].max() >= m:
        raise ValueError(f"the output of {where} matches places outside its pair of lengths {n} and {m}")
    falls = (chain[1:] <= chain[:-1]).any(axis=1)  # differences of unsigned numbers would never be below 0
    if falls.any():
        place = int(np.flatnonzero(falls)[0]) + 1
        raise ValueError(
            f"match {place} of the output of {where} does not rise in both columns; sort the chain"
        )
