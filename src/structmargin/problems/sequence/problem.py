"""Label sequence learning: a label for every token of a sequence (jmlr05 Section 4.3).

`structmargin.problems.sequence.features` has the order of the weights. Every formulation is searched exactly,
by one of three searches:

    the best other labelling             where only right or wrong counts: the loss "zero_one", and
                                         formulations that ignore the size of the loss
    a loss-augmented Viterbi             where the loss folds into the scores: SVM1 margin with a Hamming loss
    the best labelling for each number   everywhere else; numbers that cannot give the largest H are left out
    of wrong labels
"""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from structmargin.formulation import Cost
from structmargin.inputs.gate import require_equal
from structmargin.inputs.labels import Names
from structmargin.kernels import Matrix
from structmargin.oracles.viterbi import Chains, best, best_folded, best_other
from structmargin.oracles.viterbi_by_distance import MAX_BOUNDS, best_by_loss
from structmargin.oracles.viterbi_k_best import k_best
from structmargin.problem import Scorer
from structmargin.problems.sequence.batch import SequenceBatch
from structmargin.problems.sequence.data import SequenceData
from structmargin.problems.sequence.features import FeatureLayout, pack
from structmargin.problems.sequence.potentials import (
    MaskScores,
    PotentialArrays,
    Potentials,
    chains,
    mask_scores,
)


class Loss(NamedTuple):
    """Whether the number of wrong labels counts (or only that there is one), and whether as a share."""

    counts: bool
    share: bool


LOSSES = {
    "hamming": Loss(counts=True, share=False),
    "hamming_normalised": Loss(counts=True, share=True),
    "zero_one": Loss(counts=False, share=False),
}


@dataclass(frozen=True, eq=False)
class Sequence(SequenceData):
    """Label sequence learning: one label for every token of a sequence.

    An input x is an array of shape (T, n_features), dense or scipy.sparse, with one row of features per
    token; or a list of T tokens with named features, each a dictionary such as {"word": "Paris", "cap": True}
    or a list of the names of features that are on. The length T may differ from input to input. An output y
    has one label of any hashable kind per token: an array of shape (T,) or a list. With phi(x_t) the features
    of token t and e_a the indicator of label a,

        Psi(x, y) = ( sum_t phi(x_t) ⊗ e_{y_t},
                      eta sum_t e_{y_t} ⊗ e_{y_{t+1}},
                      sum_t phi(x_t) ⊗ e_{y_t} ⊗ e_{y_{t+1}}             with input_transitions,
                      eta sum_t e_{y_t} ⊗ e_{y_{t+1}} ⊗ e_{y_{t+2}} )    with triplets

    where ⊗ is the outer product, flattened.

    Prediction is the Viterbi algorithm. The search for a violated constraint is exact for every formulation.

    Parameters
    ----------
    n_labels : int, default=None
        The number of labels; these are then the whole numbers 0 .. n_labels - 1, unless `labels` names them.
        None: as many as `labels`, `allowed`, `first` or `final` have, or else as many as `fit` meets.
    n_features : int, default=None
        The number of features per token: the columns of every x. None: `fit` learns it.
    eta : float, default=1.0
        The weight of the parts of Psi that count labels alone.
    loss : {"hamming", "hamming_normalised", "zero_one"}, default="hamming"
        Delta: the number of wrong labels, their share, or 1 if any label is wrong.
    window : int, default=0
        phi(x_t) holds the features of tokens t - window .. t + window side by side, zeros beyond the ends.
    triplets : bool, default=False
        Whether triplets of labels have weights. The chain is then of order 2.
    input_transitions : bool, default=False
        Whether a pair of labels has a weight for each feature of its first token.
    allowed : array-like of bool of shape (n_labels, n_labels), default=None
        allowed[a][b] says whether label b may follow label a. None allows all.
    first : array-like of bool of shape (n_labels,), default=None
        Which labels a sequence may begin with. None allows all.
    final : array-like of bool of shape (n_labels,), default=None
        Which labels a sequence may end with. None allows all.
    labels : sequence, default=None
        The labels in the order of their numbers, which is that of `allowed`, `first` and `final`. None:
        labels are numbers where `n_labels` or one of these is given; else `fit` learns them, sorted, or in
        order of first appearance where they cannot be sorted. Predictions come back as labels: in arrays if
        all y in `fit` are arrays of one type, else in lists.
    features : sequence of str, default=None
        Names of the columns, where tokens have named features. None: `fit` learns them, and other features
        are ignored later.

    Attributes
    ----------
    n_weights : int
        The length of w: D L + L^2, with input transitions D L^2 more, with triplets L^3 more, for L =
        n_labels and D = n_features (2 window + 1), the length of phi(x_t).

    See Also
    --------
    structmargin.problems.sequence.kernel.SequenceKernel : The joint kernel that goes with this problem.

    Notes
    -----
    A label that is not among the labels learnt or given cannot be predicted: `score` counts it as wrong, and
    `JKSE.add` refuses it. Name all in `labels` where some may be missing from the training data. The
    functions of a problem itself, such as `psi` and `delta`, take arrays of label numbers.

    References
    ----------
    .. [1] Tsochantaridis, Joachims, Hofmann and Altun, "Large margin methods for structured and
       interdependent output variables", JMLR 6, 2005, Section 4.3.

    Examples
    --------
    Two sequences, of three tokens and of two, with two features per token:

    >>> import numpy as np
    >>> from structmargin import StructuredSVM
    >>> from structmargin.problems import Sequence
    >>> X = [np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])]
    >>> Y = [np.array([0, 1, 1]), np.array([1, 0])]
    >>> problem = Sequence(n_labels=2, n_features=2)
    >>> problem.delta(Y[0], np.array([0, 0, 0]))
    2.0
    >>> model = StructuredSVM(problem, C=100.0).fit(X, Y)
    >>> [y.tolist() for y in model.predict(X)]
    [[0, 1, 1], [1, 0]]

    Names of labels and features, learnt in `fit`:

    >>> X = [[{"word": "in"}, {"word": "Paris", "cap": True}], [{"word": "Rome", "cap": True}]]
    >>> model = StructuredSVM(Sequence(), C=100.0).fit(X, [["out", "place"], ["place"]])
    >>> model.predict([[{"word": "in"}, {"word": "Oslo", "cap": True}]])
    [['out', 'place']]
    """

    n_labels: int | None = None
    n_features: int | None = None
    eta: float = 1.0
    loss: str = "hamming"
    window: int = 0
    triplets: bool = False
    input_transitions: bool = False
    allowed: ArrayLike | None = None
    first: ArrayLike | None = None
    final: ArrayLike | None = None
    labels: Names | None = field(default=None, kw_only=True)
    features: abc.Sequence[str] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for size in (self.n_labels, self.n_features):
            if size is not None and size < 1:
                raise ValueError(
                    f"n_labels and n_features must be at least 1, but they are {self.n_labels} and "
                    f"{self.n_features}"
                )
        if self.loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(LOSSES)}, but it is {self.loss!r}")
        if not 0.0 <= self.eta < np.inf:
            raise ValueError(f"eta must be finite and at least 0, but it is {self.eta!r}")
        if self.window < 0 or self.window != int(self.window):
            raise ValueError(f"window must be an integer of at least 0, but it is {self.window!r}")
        if self._one_entry_per_label():
            L = self.L
            shapes = (("labels", (L,)), ("allowed", (L, L)), ("first", (L,)), ("final", (L,)))
            for name, shape in shapes:
                given = getattr(self, name)
                if given is not None and (len(given),) + np.shape(given)[1:] * (name == "allowed") != shape:
                    raise ValueError(f"{name} must have shape {shape}, but it has {np.shape(given)}")
        if self.n_labels is not None and self.n_features is not None and self.n_weights >= 2**31:
            raise ValueError(f"{self.n_weights} weights are too many: use fewer features or extensions")

    @cached_property
    def layout(self) -> FeatureLayout:
        """What Psi is made of, for compiled code."""
        D = self.n_columns * (2 * int(self.window) + 1)
        return FeatureLayout(self.L, D, float(self.eta), bool(self.input_transitions), bool(self.triplets))

    @cached_property
    def n_weights(self) -> int:
        """The length of w and of Psi(x, y), with D the length of phi(x_t) and L the number of labels."""
        L, D = self.L, self.layout.n_features
        return D * L + L**2 + self.layout.input_transitions * D * L**2 + self.layout.triplets * L**3

    @cached_property
    def masks(self) -> MaskScores:
        """The masks as scores: 0 where a label may stand, -inf where it may not."""
        return MaskScores(mask_scores(self.allowed), mask_scores(self.first), mask_scores(self.final))

    def psi(self, x: Matrix, y: np.ndarray) -> sp.csr_matrix:
        """Psi(x, y), a sparse row of shape (1, n_weights)."""
        return self.batch([x], [y]).psi()

    def delta(self, y: np.ndarray, ybar: np.ndarray) -> float:
        """Delta(y, ybar): the loss of predicting ybar where y is right."""
        y, ybar = np.asarray(y), np.asarray(ybar)
        if y.shape != ybar.shape:
            raise ValueError(f"labellings of {len(y)} and {len(ybar)} labels cannot be compared")
        wrong = int(np.count_nonzero(y != ybar))
        loss = LOSSES[self.loss]
        return float(wrong if loss.counts else wrong > 0) / (len(y) if loss.share else 1)

    def phi(self, x: Matrix) -> Matrix:
        """phi(x_t), one row per token: x itself, or a CSR matrix of T rows if there is a window."""
        if self.window == 0:
            return x if sp.issparse(x) else np.asarray(x, dtype=float)
        return pack([x], self.n_columns, self.window)[0].matrix(self.layout.n_features)

    def weights(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Views of w by block: (D, L), (L, L), (D, L * L) or None, (L, L, L) or None, as in `n_weights`."""
        L, D = self.L, self.layout.n_features
        if len(w) != self.n_weights:
            raise ValueError(f"w has {len(w)} weights, but this problem has {self.n_weights}")
        a, b = D * L, D * L + L * L
        c = b + self.layout.input_transitions * D * L * L
        return (
            w[:a].reshape(D, L),
            w[a:b].reshape(L, L),
            w[b:c].reshape(D, L * L) if self.layout.input_transitions else None,
            w[c:].reshape(L, L, L) if self.layout.triplets else None,
        )

    def potentials(self, w: np.ndarray, x: Matrix) -> Potentials:
        """The scores of one sequence under explicit weights."""
        phi = self.phi(x)
        W, _, V, _ = self.weights(w)
        return self.scores(w, phi @ W, None if V is None else phi @ V)

    def scores(self, w: np.ndarray, emissions: np.ndarray, inputs: np.ndarray | None) -> Potentials:
        """Potentials from w and the tokens' products with its blocks: (T, L), and (T, L * L) or None."""
        _, A, _, triplets = self.weights(w)
        transitions = self.eta * A
        if inputs is not None:
            transitions = transitions + inputs.reshape(-1, *A.shape)
        return Potentials(emissions, transitions, None if triplets is None else self.eta * triplets)

    def chains(self, potentials: PotentialArrays, offsets: np.ndarray) -> Chains:
        """What the oracles search, for sequences packed at `offsets`."""
        return chains(potentials, offsets, self.masks)

    def decode(self, packed: Chains) -> np.ndarray:
        """The best labels (N,) of packed sequences."""
        labels: np.ndarray
        labels, scores = best(packed)
        if not np.all(scores > -np.inf):
            raise _no_labelling(int(np.flatnonzero(~(scores > -np.inf))[0]))
        return labels

    def search(self, packed: Chains, y: np.ndarray, H: Cost) -> tuple[np.ndarray, np.ndarray]:
        """The labels (N,) that maximise H for packed sequences with truth y (N,), and their losses (n,)."""
        loss, lengths = LOSSES[self.loss], np.diff(packed.offsets)
        scale = 1.0 / lengths if loss.share else np.ones(len(lengths))
        if not loss.counts or H.power == 0.0:
            labels = best_other(packed, y)[0]
        elif H.folds:
            labels = best_folded(packed, y, scale)[0]
        else:
            labels = best_by_loss(packed, y, scale, H, MAX_BOUNDS)[0]
        wrong = np.add.reduceat(labels != y, packed.offsets[:-1], dtype=np.int64)
        return labels, wrong * scale if loss.counts else (wrong > 0).astype(float)

    def argmax(self, f: Scorer, x: Matrix) -> np.ndarray:
        """The best-scoring output of x under the scorer f."""
        return self.decode(self.chains(f.potentials(x), np.array([0, x.shape[0]])))

    def k_best(self, f: Scorer, x: Matrix, k: int) -> list[tuple[float, np.ndarray]]:
        """The k best-scoring labellings with their scores, best first; fewer where fewer are allowed."""
        T = x.shape[0]
        packed = self.chains(f.potentials(x), np.array([0, T]))
        labels, scores = k_best(packed, min(k, int(self.L) ** T))
        if not len(scores):
            raise _no_labelling(0)
        return [(float(score), y) for score, y in zip(scores, labels, strict=True)]

    def draw(self, x: Matrix, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A random labelling among those that the masks allow."""
        return self.masks.draw(x.shape[0], self.L, rng)

    def augmented_argmax(self, f: Scorer, x: Matrix, y: np.ndarray, H: Cost) -> np.ndarray:
        """The output that maximises H(Delta(y, .), f(x, y) - f(x, .))."""
        self.require_label_numbers([x], [y])
        packed = self.chains(f.potentials(x), np.array([0, x.shape[0]]))
        return self.search(packed, np.asarray(y, dtype=np.int64), H)[0]

    def batch(self, X: abc.Sequence[Matrix], Y: abc.Sequence[np.ndarray] | None) -> SequenceBatch:
        """All tokens packed for both searches, or for `argmax` alone where Y is None."""
        return SequenceBatch(self, X, Y)

    def check(self, X: abc.Sequence[Matrix], Y: abc.Sequence[np.ndarray]) -> None:
        """Shapes, finite features, labels in range and allowed; the error names the first bad example."""
        require_equal(X, Y)
        self.check_inputs(X)
        self.require_label_numbers(X, Y)
        for i, y in enumerate(Y):
            if self.masks.forbid(np.asarray(y, dtype=np.int64)):
                raise ValueError(
                    f"allowed, first or final forbid the labels of example {i}: "
                    "correct the masks or the labels"
                )

    def radius(self, x: Matrix) -> float:
        """|Psi(x, y) - Psi(x, y')| <= sqrt(2 ((sum_t |phi_t|)^2 + eta^2 (T-1)^2 + ...)): Proposition 25.

        Each token adds phi_t ⊗ (e_a - e_b) to the difference, of norm 0 or sqrt(2) |phi_t|, and each pair
        or triplet a vector of the same kind; the triangle inequality inside each block and Pythagoras across
        blocks give the bound. Its square is at most the paper's 2 T^2 (R^2 + eta^2), where there are neither
        input transitions nor triplets, for features of any sign: the difference is bounded as a whole;
        bounding |Psi(x, y)| and |Psi(x, y')| separately would give 4 instead of 2.
        """
        if self.L == 1:
            return 0.0
        phi = self.phi(x)
        squares = phi.multiply(phi) if sp.issparse(phi) else phi * phi
        norms = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
        T, layout = len(norms), self.layout
        total = norms.sum() ** 2 + (self.eta * (T - 1)) ** 2
        total += layout.input_transitions * norms[:-1].sum() ** 2
        total += layout.triplets * (self.eta * max(T - 2, 0)) ** 2
        return float(np.sqrt(2.0 * total))

    def max_delta(self, y: np.ndarray) -> float:
        """An upper bound on Delta(y, .)."""
        loss = LOSSES[self.loss]
        return float(len(y)) if loss.counts and not loss.share else 1.0


def _no_labelling(i: int) -> ValueError:
    return ValueError(
        f"no labelling of sequence {i} has a finite score: see that allowed, first and final let one "
        "through, and that no feature or weight is NaN"
    )
