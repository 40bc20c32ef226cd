"""The kernel on labelled sequences (Altun, Tsochantaridis, Hofmann 2003; jkse09 equations 15, 16).

    k_seq((x, y), (x', y')) = sum_r sum_s 1[y_r = y'_s] ( kx(x_r, x'_s) + eta^2 sum_t 1[y_{r-t} = y'_{s-t}] )

over all positions r of one and s of the other, and lags t = 1 .. T inside both sequences. The first part is
the data term, the second the history term, which counts pairs of labels at equal lags. With a linear kx and
T = 1 this is <Psi(x, y), Psi(x', y')> of `Sequence`, so its searches run on the potentials of an expansion:
of order 1 for T = 1, of order 2 for T = 2.

`structmargin.kernels.degree2` gives explicit features for kx(x, z) = (1 + <x, z>)^2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from structmargin.compiled import compiled
from structmargin.kernels import LinearKernel, Matrix
from structmargin.problems._memory import KernelMemory

MAX_PRODUCTS = 1 << 25
"""The most token products made at a time, where they are not kept."""

TokenKernel = Callable[[Matrix, Matrix], np.ndarray]
"""A kernel on tokens: the matrix of its values between the rows of two matrices."""


Inputs = Sequence[Matrix]
Labels = Sequence[np.ndarray]


class Chain(Protocol):
    """What the kernel asks of a problem: parameters of `Sequence`, some of which k_seq has no terms for."""

    @property
    def n_labels(self) -> int: ...

    @property
    def n_features(self) -> int: ...

    @property
    def eta(self) -> float: ...

    @property
    def window(self) -> int: ...

    @property
    def triplets(self) -> bool: ...

    @property
    def input_transitions(self) -> bool: ...


class LabelledPairs(NamedTuple):
    """Pairs (x, y) with the labels of all pairs end to end, and each input once."""

    inputs: list[Matrix]  # distinct x, in order of appearance
    which: np.ndarray  # (n,): the input of pair j
    token_start: np.ndarray  # (inputs + 1,): where the tokens of an input begin when all are stacked
    y: np.ndarray  # (N,)
    offsets: np.ndarray  # (n + 1,): the labels of pair j are y[offsets[j]:offsets[j + 1]]


class LabelScores(NamedTuple):
    """What an expansion amounts to for any x."""

    beta: np.ndarray  # (tokens, L): the coefficient of each token under each label
    tokens: Matrix | None  # the tokens of beta as a matrix; None: those that the kernel's store holds
    transitions: np.ndarray  # (L, L)
    triplets: np.ndarray | None  # (L, L, L)


class TokenProducts:
    """The Gram matrix of the tokens of known inputs; empty unless inputs are given."""

    def __init__(self, X: Sequence[Matrix] = (), kx: TokenKernel | None = None) -> None:
        self.inputs = list(X)
        self.place = {id(x): j for j, x in enumerate(self.inputs)}
        self.start = _starts(self.inputs)
        self.tokens: Matrix = None
        self.G: np.ndarray | None = None
        if self.inputs and kx is not None:
            self.tokens = _stack(self.inputs)
            self.G = np.ascontiguousarray(kx(self.tokens, self.tokens), dtype=float)

    def find(self, x: Matrix) -> int:
        """The number of a known input, or -1: the same object, not an equal one."""
        j = self.place.get(id(x), -1)
        return j if j >= 0 and self.inputs[j] is x else -1

    def starts(self, inputs: list[Matrix]) -> np.ndarray | None:
        """Where the tokens of these inputs begin in G, or None if one is not known."""
        numbers = [self.find(x) for x in inputs]
        return None if not self.inputs or min(numbers, default=-1) < 0 else self.start[numbers]


Memory = KernelMemory[LabelledPairs, LabelScores, TokenProducts]


@dataclass(frozen=True)
class SequenceKernel:
    """The joint kernel on labelled sequences, for `Sequence`.

        k((x, y), (x', y')) = sum_r sum_s 1[y_r = y'_s] ( kx(x_r, x'_s) + eta^2 sum_t 1[y_{r-t} = y'_{s-t}] )

    over all positions r of one sequence and s of the other, and lags t = 1 .. T that stay inside both. The
    first part compares tokens with equal labels, the second counts equal pairs of labels at equal lags. With
    a linear kx and T = 1 it is <Psi(x, y), Psi(x', y')> of `Sequence`. Searches take T up to 2.

    Parameters
    ----------
    kx : callable, default=LinearKernel()
        A kernel on tokens: kx(X, Z) is the matrix of its values between the rows of X and those of Z.
    T : int, default=1
        The number of lags.
    eta : float, default=1.0
        The weight of label pairs; must equal the problem's.

    References
    ----------
    .. [1] Altun, Tsochantaridis and Hofmann, "Hidden Markov support vector machines", ICML 2003.
    .. [2] Lampert and Blaschko, "Structured prediction by joint kernel support estimation", Machine Learning
       77, 2009, equations 15 and 16.

    Examples
    --------
    >>> import numpy as np
    >>> from structmargin import StructuredSVM
    >>> from structmargin.kernels import RBF
    >>> from structmargin.problems import Sequence
    >>> from structmargin.problems.sequence.kernel import SequenceKernel
    >>> X = [np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [2.0]])]
    >>> Y = [np.array([0, 1, 0]), np.array([1, 0])]
    >>> kernel = SequenceKernel(RBF(gamma=2.0))
    >>> kernel.gram(X, Y, X, Y).round(2)
    array([[5., 3.],
           [3., 3.]])
    >>> model = StructuredSVM(Sequence(2, 1), kernel=kernel, C=100.0).fit(X, Y)
    >>> [y.tolist() for y in model.predict(X)]
    [[0, 1, 0], [1, 0]]
    """

    kx: TokenKernel = field(default_factory=LinearKernel)
    T: int = 1
    eta: float = 1.0
    memory: Memory = field(
        default_factory=lambda: KernelMemory(TokenProducts()), init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.T < 0 or self.T != int(self.T):
            raise ValueError(f"T must be an integer of at least 0, but it is {self.T!r}")
        if not 0.0 <= self.eta < np.inf:
            raise ValueError(f"eta must be finite and at least 0, but it is {self.eta!r}")

    def on(self, X: Sequence[Matrix]) -> SequenceKernel:
        """The same kernel with the token Gram matrix of the inputs X kept: 8 bytes a pair of their tokens.

        The inputs are known again as objects, so pass on the very arrays of X; others are computed anew.
        """
        copy = replace(self)
        object.__setattr__(copy, "memory", KernelMemory(TokenProducts(X, self.kx)))
        return copy

    def gram(self, X: Inputs, Y: Labels, X2: Inputs, Y2: Labels) -> np.ndarray:
        """k_seq between two lists of pairs."""
        gram: np.ndarray = self.data_gram(X, Y, X2, Y2) + self.history_gram(X, Y, X2, Y2)
        return gram

    def data_gram(self, X: Inputs, Y: Labels, X2: Inputs, Y2: Labels) -> np.ndarray:
        """The data term of k_seq between two lists of pairs."""
        left, right = self._pack(X, Y), self._pack(X2, Y2)
        out = np.zeros((len(left.which), len(right.which)))
        if not out.size:
            return out
        n_labels = int(max(left.y.max(), right.y.max())) + 1
        store = self.memory.store
        row_start, column_start = store.starts(left.inputs), store.starts(right.inputs)
        if row_start is not None and column_start is not None:
            all_pairs = np.arange(len(left.which))
            _label_sums(
                store.G,
                row_start[left.which],
                column_start[right.which],
                left,
                right,
                all_pairs,
                n_labels,
                out,
            )
            return out
        others = _stack(right.inputs)
        per = np.diff(left.token_start)
        lo = 0
        while lo < len(per):
            n_inputs = np.searchsorted(
                np.cumsum(per[lo:]), max(MAX_PRODUCTS // others.shape[0], 1), side="right"
            )
            hi = lo + max(int(n_inputs), 1)
            G = np.ascontiguousarray(self.kx(_stack(left.inputs[lo:hi]), others), dtype=float)
            some = np.flatnonzero((left.which >= lo) & (left.which < hi))
            begin = left.token_start[left.which] - left.token_start[lo]
            _label_sums(G, begin, right.token_start[right.which], left, right, some, n_labels, out)
            lo = hi
        return out

    def history_gram(self, X: Inputs, Y: Labels, X2: Inputs, Y2: Labels) -> np.ndarray:
        """The history term of k_seq between two lists of pairs, times eta^2."""
        left, right = self._pack(X, Y), self._pack(X2, Y2)
        out = np.zeros((len(left.which), len(right.which)))
        if out.size:
            n_labels = int(max(left.y.max(), right.y.max())) + 1
            for t in range(1, self.T + 1):
                out += (_pair_counts(left, t, n_labels) @ _pair_counts(right, t, n_labels).T).toarray()
        return self.eta**2 * out

    def potentials(
        self, problem: Chain, x: Matrix, X: Inputs, Y: Labels, coef: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The scores of labels, pairs and (for T = 2) triplets under sum_j coef_j k_seq((x_j, y_j), .)."""
        scores, store = self._expansion(problem, X, Y, coef), self.memory.store
        beta, j = scores.beta, store.find(x)
        if scores.tokens is not None:
            emissions = np.asarray(self.kx(x, scores.tokens)) @ beta
        elif j >= 0 and store.G is not None:
            emissions = store.G[store.start[j] : store.start[j + 1]] @ beta
        else:
            held = np.flatnonzero(np.any(beta != 0.0, axis=1))
            emissions = np.zeros((x.shape[0], problem.n_labels))
            if len(held):
                emissions = np.asarray(self.kx(x, store.tokens[held])) @ beta[held]
        return emissions, scores.transitions, scores.triplets

    def check_expansion(self, problem: Any, X: Inputs, Y: Labels, coef: np.ndarray, max_bytes: int) -> None:
        """Raise unless problem, kernel and tokens fit together: for expansions that come from a file."""
        _require_plain(problem, self)
        L, n_tokens = problem.L, sum(x.shape[0] for x in X)
        if 8 * L * max(L * L if self.T == 2 else L, n_tokens) > max_bytes:
            raise ValueError(f"{L} labels for {n_tokens} tokens need more than {max_bytes} bytes")
        if len({sp.issparse(x) for x in X}) > 1:
            raise ValueError("some of the sequences are sparse and some are not")

    def _expansion(self, problem: Chain, X: Inputs, Y: Labels, coef: np.ndarray) -> LabelScores:
        """sum_j coef_j k_seq((x_j, y_j), .) as scores of labels, pairs and triplets, computed once."""
        known = self.memory.expansion.get(X, Y, coef)
        if known is not None:
            return known
        _require_plain(problem, self)
        L, packed = problem.n_labels, self._pack(X, Y)
        per_label = np.repeat(np.asarray(coef, dtype=float), np.diff(packed.offsets))
        stored = self.memory.store.starts(packed.inputs)
        begin = packed.token_start[:-1] if stored is None else stored
        position = np.arange(len(packed.y)) - np.repeat(packed.offsets[:-1], np.diff(packed.offsets))
        token = position + np.repeat(begin[packed.which], np.diff(packed.offsets))
        n_tokens = packed.token_start[-1] if stored is None else self.memory.store.start[-1]
        beta = np.zeros((int(n_tokens), L))
        np.add.at(beta, (token, packed.y), per_label)
        tokens = None
        if stored is None:
            tokens = _stack(packed.inputs) if packed.inputs else np.zeros((0, problem.n_features))
        lags = [
            self.eta**2 * np.asarray(_pair_counts(packed, t, L).T @ coef).reshape(L, L)
            for t in range(1, self.T + 1)
        ]
        triplets = np.repeat(lags[1][:, None, :], L, axis=1) if self.T == 2 else None
        scores = LabelScores(beta, tokens, lags[0] if lags else np.zeros((L, L)), triplets)
        return self.memory.expansion.set(scores, X, Y, coef)

    def _pack(self, X: Inputs, Y: Labels) -> LabelledPairs:
        known = self.memory.packed.get(X, Y)
        if known is not None:
            return known
        number: dict[int, int] = {}
        inputs: list[Matrix] = []
        which = np.empty(len(X), dtype=np.int64)
        for j, x in enumerate(X):
            if id(x) not in number:
                number[id(x)] = len(inputs)
                inputs.append(x)
            which[j] = number[id(x)]
        labels = [np.asarray(y, dtype=np.int64) for y in Y]
        offsets = np.concatenate([[0], np.cumsum([len(y) for y in labels], dtype=np.int64)])
        packed = LabelledPairs(
            inputs, which, _starts(inputs), np.concatenate([np.zeros(0, np.int64), *labels]), offsets
        )
        wrong = np.flatnonzero(np.diff(packed.token_start)[which] != np.diff(offsets))
        if len(wrong):
            j = int(wrong[0])
            raise ValueError(f"pair {j} has {X[j].shape[0]} tokens but {len(labels[j])} labels")
        if len(X) > 1:
            self.memory.packed.set(packed, X, Y)
        return packed


@compiled
def _sums(G, row_start, column_start, y, offsets, y2, offsets2, some, n_labels, out):  # type: ignore[no-untyped-def]
    """The loop of `_label_sums`, twice for speed.

    With most columns of G in use its rows are added up by label first: twice as fast as adding up entries one
    by one. For two short sequences among many columns the latter is some 350 times faster.
    """
    width, longest = G.shape[1], 0
    for p in some:
        longest = max(longest, offsets[p + 1] - offsets[p])
    few_columns = offsets2[-1] < width
    by_label = np.empty((1 if few_columns else min(longest, n_labels), width))
    slot = np.full(n_labels, -1)
    for p in some:
        lo, hi = offsets[p], offsets[p + 1]
        if few_columns:
            for q in range(column_start.shape[0]):
                total = 0.0
                for s in range(offsets2[q], offsets2[q + 1]):
                    c = column_start[q] + s - offsets2[q]
                    for r in range(lo, hi):
                        if y[r] == y2[s]:
                            total += G[row_start[p] + r - lo, c]
                out[p, q] = total
            continue
        used = 0
        for r in range(lo, hi):
            if slot[y[r]] < 0:
                slot[y[r]] = used
                by_label[used] = 0.0
                used += 1
            by_label[slot[y[r]]] += G[row_start[p] + r - lo]
        for q in range(column_start.shape[0]):
            total = 0.0
            for s in range(offsets2[q], offsets2[q + 1]):
                k = slot[y2[s]]
                if k >= 0:
                    total += by_label[k, column_start[q] + s - offsets2[q]]
            out[p, q] = total
        for r in range(lo, hi):
            slot[y[r]] = -1


def _label_sums(
    G: np.ndarray | None,
    row_start: np.ndarray,
    column_start: np.ndarray,
    left: LabelledPairs,
    right: LabelledPairs,
    some: np.ndarray,
    n_labels: int,
    out: np.ndarray,
) -> None:
    """out[p, q] = sum of G over the positions of p and q with equal labels, for the left pairs in `some`.

    row_start[p] and column_start[q] say where the tokens of pairs p and q begin in G.
    """
    _sums(
        G, row_start.astype(np.int64), column_start.astype(np.int64), left.y, left.offsets, right.y,
        right.offsets, some, n_labels, out,
    )  # fmt: skip


def _pair_counts(packed: LabelledPairs, t: int, n_labels: int) -> sp.csr_matrix:
    """How often label b comes t positions after label a: (n, L * L), column a * L + b."""
    y, lengths = packed.y, np.diff(packed.offsets)
    pair = np.repeat(np.arange(len(lengths)), lengths)
    inside = pair[t:] == pair[:-t]
    codes = (y[:-t] * n_labels + y[t:])[inside]
    shape = (len(lengths), n_labels**2)
    return sp.csr_matrix((np.ones(len(codes)), (pair[t:][inside], codes)), shape=shape)


def _require_plain(problem: Chain, kernel: SequenceKernel) -> None:
    """Refuse what a problem's own Psi has and k_seq has not."""
    extensions = {
        "window": problem.window,
        "triplets": problem.triplets,
        "input_transitions": problem.input_transitions,
    }
    extra = [name for name, value in extensions.items() if value]
    if extra:
        raise ValueError(
            f"SequenceKernel compares tokens and label pairs only, but the problem sets {', '.join(extra)}: "
            "unset it, and put windows into x"
        )
    if problem.eta != kernel.eta:
        raise ValueError(
            f"the problem has eta={problem.eta:g} but the kernel eta={kernel.eta:g}: make them equal"
        )
    if kernel.T > 2:
        raise ValueError(f"no search takes T={kernel.T} lags: choose T of at most 2 to predict")


def _starts(inputs: Sequence[Matrix]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum([x.shape[0] for x in inputs], dtype=np.int64)]).astype(np.int64)


def _stack(inputs: Sequence[Matrix]) -> Matrix:
    """The tokens of all inputs as one matrix, sparse if the first input is."""
    if sp.issparse(inputs[0]):
        return sp.vstack(inputs, format="csr")
    return np.vstack([np.asarray(x, dtype=float) for x in inputs])
