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
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from structmargin.compiled import compiled
from structmargin.kernels import LinearKernel

BLOCK = 1 << 25
"""The most token products made at a time, where they are not kept."""


class Packed(NamedTuple):
    """Pairs (x, y) with all labels in a row, and each input once."""

    inputs: list[Any]  # distinct x, in order of appearance
    which: np.ndarray  # (n,): the input of pair j
    at: np.ndarray  # (inputs + 1,): where the tokens of an input begin when all are stacked
    y: np.ndarray  # (N,)
    offsets: np.ndarray  # (n + 1,): the labels of pair j are y[offsets[j]:offsets[j + 1]]


class Memory:
    """Token products of known inputs, and the last expansion met; shared by copies, not pickled."""

    def __init__(self, X: Sequence[Any] = (), kx: Any = None) -> None:
        self.inputs = list(X)
        self.place = {id(x): j for j, x in enumerate(self.inputs)}
        self.at = _starts(self.inputs)
        self.tokens = _stack(self.inputs) if self.inputs else None
        self.G = np.ascontiguousarray(kx(self.tokens, self.tokens), dtype=float) if self.inputs else None
        self.packed: tuple[Any, Any, int, Packed] | None = None
        self.expansion: tuple[Any, Any, Any, int, Any] | None = None

    def __deepcopy__(self, memo: Any) -> Memory:
        return self

    def __reduce__(self) -> tuple[type[Memory], tuple[()]]:
        return Memory, ()

    def find(self, x: Any) -> int:
        """The number of a known input, or -1: the same object, not an equal one."""
        j = self.place.get(id(x), -1)
        return j if j >= 0 and self.inputs[j] is x else -1

    def starts(self, inputs: list[Any]) -> np.ndarray | None:
        """Where the tokens of these inputs begin in G, or None if one is not known."""
        found = [self.find(x) for x in inputs]
        return None if not self.inputs or min(found, default=-1) < 0 else self.at[found]


@dataclass(frozen=True)
class SequenceKernel:
    """k_seq with a kernel `kx` on tokens (a function of two matrices), `T` lags, history scaled by eta."""

    kx: Callable[[Any, Any], np.ndarray] = field(default_factory=LinearKernel)
    T: int = 1
    eta: float = 1.0
    memory: Memory = field(default_factory=Memory, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.T < 0 or self.T != int(self.T):
            raise ValueError(f"T must be an integer of at least 0, but it is {self.T!r}")
        if not 0.0 <= self.eta < np.inf:
            raise ValueError(f"eta must be finite and at least 0, but it is {self.eta!r}")

    def on(self, X: Sequence[Any]) -> SequenceKernel:
        """The same kernel with the token Gram matrix of the inputs X kept: 8 bytes a pair of their tokens.

        The inputs are known again as objects, so pass on the very arrays of X; others are computed anew.
        """
        copy = replace(self)
        object.__setattr__(copy, "memory", Memory(X, self.kx))
        return copy

    def gram(self, X: Any, Y: Any, X2: Any, Y2: Any) -> np.ndarray:
        """k_seq between two lists of pairs."""
        return self.data_gram(X, Y, X2, Y2) + self.history_gram(X, Y, X2, Y2)

    def data_gram(self, X: Any, Y: Any, X2: Any, Y2: Any) -> np.ndarray:
        """The data term of k_seq between two lists of pairs."""
        left, right = self._pack(X, Y), self._pack(X2, Y2)
        out = np.zeros((len(left.which), len(right.which)))
        if not out.size:
            return out
        n_labels = int(max(left.y.max(), right.y.max())) + 1
        rows, columns = self.memory.starts(left.inputs), self.memory.starts(right.inputs)
        if rows is not None and columns is not None:
            everyone = np.arange(len(left.which))
            _label_sums(
                self.memory.G, rows[left.which], columns[right.which], left, right, everyone, n_labels, out
            )
            return out
        others = _stack(right.inputs)
        per = np.diff(left.at)
        lo = 0
        while lo < len(per):
            most = np.searchsorted(np.cumsum(per[lo:]), max(BLOCK // others.shape[0], 1), side="right")
            hi = lo + max(int(most), 1)
            G = np.ascontiguousarray(self.kx(_stack(left.inputs[lo:hi]), others), dtype=float)
            some = np.flatnonzero((left.which >= lo) & (left.which < hi))
            begin = left.at[left.which] - left.at[lo]
            _label_sums(G, begin, right.at[right.which], left, right, some, n_labels, out)
            lo = hi
        return out

    def history_gram(self, X: Any, Y: Any, X2: Any, Y2: Any) -> np.ndarray:
        """The history term of k_seq between two lists of pairs, times eta^2."""
        left, right = self._pack(X, Y), self._pack(X2, Y2)
        out = np.zeros((len(left.which), len(right.which)))
        if out.size:
            n_labels = int(max(left.y.max(), right.y.max())) + 1
            for t in range(1, self.T + 1):
                out += (_pair_counts(left, t, n_labels) @ _pair_counts(right, t, n_labels).T).toarray()
        return self.eta**2 * out

    def potentials(
        self, problem: Any, x: Any, X: Any, Y: Any, coef: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The scores of labels, pairs and (for T = 2) triplets under sum_j coef_j k_seq((x_j, y_j), .)."""
        beta, tokens, transitions, triplets = self._expansion(problem, X, Y, coef)
        j = self.memory.find(x)
        if tokens is not None:
            emissions = np.asarray(self.kx(x, tokens)) @ beta
        elif j >= 0 and self.memory.G is not None:
            emissions = self.memory.G[self.memory.at[j] : self.memory.at[j + 1]] @ beta
        else:
            held = np.flatnonzero(np.any(beta != 0.0, axis=1))
            emissions = np.zeros((x.shape[0], problem.n_labels))
            if len(held):
                emissions = np.asarray(self.kx(x, self.memory.tokens[held])) @ beta[held]  # type: ignore[index]
        return emissions, transitions, triplets

    def _expansion(self, problem: Any, X: Any, Y: Any, coef: np.ndarray) -> Any:
        """What an expansion amounts to for any x: beta[token, label], its tokens (None: all those in memory),
        transitions (L, L), triplets (L, L, L) or None. Made once an expansion."""
        kept = self.memory.expansion
        if kept is not None and kept[0] is X and kept[1] is Y and kept[2] is coef and kept[3] == len(X):
            return kept[4]
        _require_plain(problem, self)
        L, packed = problem.n_labels, self._pack(X, Y)
        per_label = np.repeat(np.asarray(coef, dtype=float), np.diff(packed.offsets))
        known = self.memory.starts(packed.inputs)
        begin = packed.at[:-1] if known is None else known
        position = np.arange(len(packed.y)) - np.repeat(packed.offsets[:-1], np.diff(packed.offsets))
        token = position + np.repeat(begin[packed.which], np.diff(packed.offsets))
        beta = np.zeros((int(packed.at[-1] if known is None else self.memory.at[-1]), L))
        np.add.at(beta, (token, packed.y), per_label)
        tokens = None
        if known is None:
            tokens = _stack(packed.inputs) if packed.inputs else np.zeros((0, problem.n_features))
        lags = [
            self.eta**2 * np.asarray(_pair_counts(packed, t, L).T @ coef).reshape(L, L)
            for t in range(1, self.T + 1)
        ]
        triplets = np.repeat(lags[1][:, None, :], L, axis=1) if self.T == 2 else None
        found = beta, tokens, lags[0] if lags else np.zeros((L, L)), triplets
        self.memory.expansion = (X, Y, coef, len(X), found)
        return found

    def _pack(self, X: Any, Y: Any) -> Packed:
        kept = self.memory.packed
        if kept is not None and kept[0] is X and kept[1] is Y and kept[2] == len(X):
            return kept[3]
        number: dict[int, int] = {}
        inputs: list[Any] = []
        which = np.empty(len(X), dtype=np.int64)
        for j, x in enumerate(X):
            if id(x) not in number:
                number[id(x)] = len(inputs)
                inputs.append(x)
            which[j] = number[id(x)]
        labels = [np.asarray(y, dtype=np.int64) for y in Y]
        offsets = np.concatenate([[0], np.cumsum([len(y) for y in labels], dtype=np.int64)])
        packed = Packed(
            inputs, which, _starts(inputs), np.concatenate([np.zeros(0, np.int64), *labels]), offsets
        )
        wrong = np.flatnonzero(np.diff(packed.at)[which] != np.diff(offsets))
        if len(wrong):
            j = int(wrong[0])
            raise ValueError(f"pair {j} has {X[j].shape[0]} tokens but {len(labels[j])} labels")
        if len(X) > 1:
            self.memory.packed = (X, Y, len(X), packed)
        return packed


@compiled
def _sums(G, rows, columns, y, offsets, y2, offsets2, some, n_labels, out):  # type: ignore[no-untyped-def]
    """The loop of `_label_sums`: rows of G are added up by label first, where that saves work."""
    width, longest = G.shape[1], 0
    for p in some:
        longest = max(longest, offsets[p + 1] - offsets[p])
    few = offsets2[-1] < width
    by_label = np.empty((1 if few else min(longest, n_labels), width))
    slot = np.full(n_labels, -1)
    for p in some:
        lo, hi = offsets[p], offsets[p + 1]
        if few:
            for q in range(columns.shape[0]):
                total = 0.0
                for s in range(offsets2[q], offsets2[q + 1]):
                    c = columns[q] + s - offsets2[q]
                    for r in range(lo, hi):
                        if y[r] == y2[s]:
                            total += G[rows[p] + r - lo, c]
                out[p, q] = total
            continue
        used = 0
        for r in range(lo, hi):
            if slot[y[r]] < 0:
                slot[y[r]] = used
                by_label[used] = 0.0
                used += 1
            by_label[slot[y[r]]] += G[rows[p] + r - lo]
        for q in range(columns.shape[0]):
            total = 0.0
            for s in range(offsets2[q], offsets2[q + 1]):
                k = slot[y2[s]]
                if k >= 0:
                    total += by_label[k, columns[q] + s - offsets2[q]]
            out[p, q] = total
        for r in range(lo, hi):
            slot[y[r]] = -1


def _label_sums(
    G: Any,
    rows: np.ndarray,
    columns: np.ndarray,
    left: Packed,
    right: Packed,
    some: np.ndarray,
    n_labels: int,
    out: Any,
) -> None:
    """out[p, q] = sum of G over the positions of p and q with equal labels, for the left pairs in `some`.

    rows[p] and columns[q] say where the tokens of pairs p and q begin in G.
    """
    _sums(
        G, rows.astype(np.int64), columns.astype(np.int64), left.y, left.offsets, right.y, right.offsets,
        some, n_labels, out,
    )  # fmt: skip


def _pair_counts(packed: Packed, t: int, n_labels: int) -> sp.csr_matrix:
    """How often label b comes t positions after label a: (n, L * L), column a * L + b."""
    y, lengths = packed.y, np.diff(packed.offsets)
    pair = np.repeat(np.arange(len(lengths)), lengths)
    inside = pair[t:] == pair[:-t]
    codes = (y[:-t] * n_labels + y[t:])[inside]
    shape = (len(lengths), n_labels**2)
    return sp.csr_matrix((np.ones(len(codes)), (pair[t:][inside], codes)), shape=shape)


def _require_plain(problem: Any, kernel: SequenceKernel) -> None:
    """Refuse what a problem's own Psi has and k_seq has not."""
    extra = [name for name in ("window", "triplets", "input_transitions") if getattr(problem, name, False)]
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


def _starts(inputs: Sequence[Any]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum([x.shape[0] for x in inputs], dtype=np.int64)]).astype(np.int64)


def _stack(inputs: Sequence[Any]) -> Any:
    """The tokens of all inputs as one matrix, sparse if the first input is."""
    if sp.issparse(inputs[0]):
        return sp.vstack(inputs, format="csr")
    return np.vstack([np.asarray(x, dtype=float) for x in inputs])
