"""Whole-sample performance measures of a linear rule (cacm09 Section 3.3; Joachims 2005).

A binary sample is ONE structured example: x holds all n rows, y in {-1, +1}^n all labels, and Delta is
whatever the sample is judged by. The ROC area has an output for every pair of a positive and a negative
instead; any ranking of the rows gives one, and the truth ranks as its labels do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from structmargin.formulation import Cost
from structmargin.inputs.labels import label_array, text_of
from structmargin.inputs.matrices import matrix, row_not_finite
from structmargin.kernels import Matrix
from structmargin.oracles.contingency import Table, beaten, highest, pair_weights, worst_labelling
from structmargin.parts import IndependentRows
from structmargin.problem import Scorer
from structmargin.problems._params import Params
from structmargin.problems.measures.batch import MeasureBatch, Sample, weighted_sum


def _f(beta: float) -> Callable[[int, int, int], Table]:
    b2 = float(beta) ** 2
    return lambda P, N, k: Table(b2 * P, -b2, 1.0, b2 * P, 1.0, 1.0)


def _error_rate(P: int, N: int, k: int) -> Table:
    return Table(float(P), -1.0, 1.0, float(P + N), 0.0, 0.0)


def _prbep(P: int, N: int, k: int) -> Table:
    return Table(float(P), -1.0, 0.0, float(P), 0.0, 0.0, P)


def _precision_at(P: int, N: int, k: int) -> Table:
    return Table(float(min(k, P)), -1.0, 0.0, float(k), 0.0, 0.0, k)


def _recall_at(P: int, N: int, k: int) -> Table:
    return Table(float(min(k, P)), -1.0, 0.0, float(P), 0.0, 0.0, k)


MAX_BETA = 1e100
"""Beyond it beta^2 is no number, and recall alone counts long before."""
MEASURES = ("f1", "fbeta", "prbep", "precision_at_k", "recall_at_k", "error_rate", "roc_area")


@dataclass(frozen=True, eq=False)
class Measure(Params):
    """Binary classification for a performance measure of the whole sample, such as F1 or the ROC area.

    The estimators' `fit(X, Y)` takes a matrix X (n, d), dense or sparse, with one row per instance, and n
    labels Y in {-1, +1}; the whole sample becomes one structured example. With P positive and N negative
    instances, of which ybar calls a positives and b negatives positive,

        error_rate       Delta = (P - a + b) / n               f1, fbeta   Delta = 1 - F_beta
        prbep            Delta = 1 - a / P        a + b = P    F_beta = (1 + beta^2) a / (a + b + beta^2 P)
        precision_at_k   Delta = (m - a) / k      a + b = k    m = min(k, P), the most that k can find
        recall_at_k      Delta = (m - a) / P      a + b = k    (so that the best choice of k has Delta = 0)
        roc_area         Delta = the share of swapped pairs of a positive and a negative, ties counting half

    and Psi(x, y) = 1/n sum_i y_i x_i, for roc_area 1/(2 P N) sum_i sum_j sign(r_i - r_j) (x_i - x_j) with a
    ranking r. Prediction gives labels for error_rate, f1 and fbeta (positive where the score is above 0) and
    for both measures at k (the k highest), and scores to be ranked by for prbep and roc_area.

    Parameters
    ----------
    measure : str, default="f1"
        One of "f1", "fbeta", "prbep", "precision_at_k", "recall_at_k", "error_rate" and "roc_area".
    beta : float, default=1.0
        The beta of "fbeta"; above 1, recall counts more.
    k : int, default=None
        How many instances "precision_at_k" and "recall_at_k" call positive.
    positive : label, default=None
        The label that counts as positive, every other one being negative. None: labels are -1 and +1.
        Predicted labels are -1 and +1 either way.
    intercept : float, default=0.0
        The value of a constant feature added to every instance; 0 for none. F_beta and the error rate call
        positive what is above 0, and need one unless the features are centred about a good threshold. Its
        weight is the last entry of w, regularised like any other, the less so the larger the value.

    Notes
    -----
    All measures but "roc_area" take all seven formulations: "SVM1 margin" is searched in O(n log n), the
    others by going through all P N tables (where a + b is fixed, in O(n log n) as well). With "error_rate"
    and "SVM1 margin", 2 w is the linear SVM with hinge loss, no intercept and C' = 4 C / n for each slack.

    References
    ----------
    .. [1] Joachims, "A support vector method for multivariate performance measures", ICML 2005.
    .. [2] Joachims, Hofmann, Yue and Yu, "Predicting structured objects with support vector machines",
       Communications of the ACM 52(11), 2009, Section 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from structmargin import StructuredSVM
    >>> from structmargin.problems import Measure
    >>> X = np.array([[2.0], [1.0], [-1.0], [-2.0], [-1.5]])
    >>> Y = np.array([1, 1, -1, -1, -1])
    >>> model = StructuredSVM(Measure("f1"), C=100.0).fit(X, Y)
    >>> model.predict(X).tolist()
    [1, 1, -1, -1, -1]
    """

    measure: str = "f1"
    beta: float = 1.0
    k: int | None = None
    positive: Hashable = None
    intercept: float = 0.0

    matrix_inputs = True
    whole_sample = True
    explicit_only = "a sample is one example, and its Psi is a sum over rows that needs explicit features"

    # -- rows and labels as one example ------------------------------------------------------------

    def wrap(self, X: Matrix, Y: ArrayLike | None) -> tuple[list[Sample], list[np.ndarray] | None]:
        """n rows and n labels as one example; with Y = None the rows alone."""
        rows = matrix(X, "X", "row")
        if Y is None:
            return [Sample(rows)], None
        labels = label_array(Y)
        if len(labels) != rows.shape[0]:
            raise ValueError(f"X has {rows.shape[0]} rows, but Y has {len(labels)} labels: one label per row")
        objects = enumerate(labels) if labels.dtype == object else ()
        arrays = [i for i, label in objects if isinstance(label, np.ndarray)]
        if arrays:
            raise ValueError(
                f"label {text_of(labels, arrays[0])} of row {arrays[0]} is an array: give one label"
            )
        if self.positive is not None:
            y = np.where(labels == self.positive, 1, -1).astype(np.int8)
        else:
            wrong = np.flatnonzero(~_is_sign(labels))
            if len(wrong):
                raise ValueError(
                    f"label {text_of(labels, wrong[0])} of row {wrong[0]} is neither -1 nor +1: name the "
                    "label that counts as positive with positive=..."
                )
            y = labels.astype(np.int8)
        return [Sample(rows, y > 0)], [y]

    def unwrap(self, Y: Sequence[np.ndarray]) -> np.ndarray:
        """The labels, or scores, of the rows of the one example."""
        return Y[0]

    def check(self, X: Sequence[Sample], Y: Sequence[np.ndarray]) -> None:
        """Parameters, finite features, both classes, k rows to choose."""
        self.check_inputs(X)
        for i, y in enumerate(Y):
            P, n = int(np.sum(y > 0)), len(y)
            if P in (0, n):
                kind, where = "negative" if P == 0 else "positive", _of_sample(i, len(Y))
                raise ValueError(
                    _of_one_class(n, where, kind, f"{self.measure!r} needs rows of both classes")
                )

    def check_inputs(self, X: Sequence[Sample]) -> None:
        """Raise unless the parameters are right, all features finite, and there are k rows to choose."""
        self.check_params()
        for i, x in enumerate(X):
            row = row_not_finite(x.rows)
            if row is not None:
                raise ValueError(f"row {row}{_of_sample(i, len(X))} has a NaN or infinite feature")
            self._require_k(x.rows.shape[0])

    def check_outputs(self, X: Sequence[Sample], Y: Sequence[np.ndarray]) -> None:
        """Raise where there is no loss: the ROC area needs both classes, most others a positive row."""
        needs = f"{self.measure!r} needs {'rows of both classes' if self._pairs else 'a positive row'}"
        for i, y in enumerate(Y):
            P, n, where = int(np.sum(y > 0)), len(y), _of_sample(i, len(Y))
            if P == 0 and self.measure not in ("error_rate", "precision_at_k"):
                raise ValueError(_of_one_class(n, where, "negative", needs))
            if P == n and self._pairs:
                raise ValueError(_of_one_class(n, where, "positive", needs))

    def check_params(self) -> None:
        if self.measure not in MEASURES:
            raise ValueError(f"unknown measure {self.measure!r}; known: {', '.join(MEASURES)}")
        if not 0 < self.beta <= MAX_BETA:
            raise ValueError(f"beta must be above 0 and at most {MAX_BETA:g}, but it is {self.beta!r}")
        if not (np.isfinite(self.intercept) and self.intercept >= 0):
            raise ValueError(f"intercept must be a finite number, 0 for none, but it is {self.intercept!r}")
        if self._at_k and (self.k is None or self.k < 1 or self.k != int(self.k)):
            raise ValueError(f"{self.measure!r} needs k, a whole number from 1 on, but k is {self.k!r}")

    def _require_k(self, n: int) -> None:
        if self._at_k and self.k is not None and self.k > n:
            raise ValueError(f"k={self.k} is larger than the sample of {n} rows: choose at most {n}")

    @property
    def _at_k(self) -> bool:
        return self.measure in ("precision_at_k", "recall_at_k")

    @property
    def _pairs(self) -> bool:
        return self.measure == "roc_area"

    def table(self, y: np.ndarray) -> Table:
        """Delta(y, .) as a function of the contingency table."""
        P = int(np.sum(np.asarray(y) > 0))
        tables = {
            "f1": _f(1.0), "fbeta": _f(self.beta), "prbep": _prbep, "precision_at_k": _precision_at,
            "recall_at_k": _recall_at, "error_rate": _error_rate,
        }  # fmt: skip
        return tables[self.measure](P, len(y) - P, int(self.k or 0))

    # -- Psi, Delta and the searches ---------------------------------------------------------------

    def psi(self, x: Sample, y: np.ndarray) -> np.ndarray:
        """Psi(x, y), an array of shape (n_weights,)."""
        if not self._pairs:
            return self._sum(x, np.asarray(y, dtype=float) / len(y))
        if x.positive is None:
            raise ValueError(
                "Psi of the ROC area needs Sample(rows, positive): its pairs are of both classes"
            )
        return self._sum(x, pair_weights(x.positive, y))

    def _sum(self, x: Sample, v: np.ndarray) -> np.ndarray:
        """sum_i v_i x_i, with the constant feature if there is one."""
        total = weighted_sum(x.rows, v)
        return np.append(total, self.intercept * v.sum()) if self.intercept else total

    def delta(self, y: np.ndarray, ybar: np.ndarray) -> float:
        """The loss; for measures of an order `ybar` may be labels or scores (a tie at k counts its share)."""
        y, ybar = np.asarray(y), np.asarray(ybar)
        if self._pairs:
            pos, neg = np.sort(ybar[y > 0]).astype(float), ybar[y <= 0].astype(float)
            above = np.empty(len(pos))
            beaten(pos, neg, above, np.empty(len(neg)))
            return float(above.sum() / (len(pos) * len(neg)))
        table = self.table(y)
        if table.k < 0:
            return table.loss(int(np.sum((y > 0) & (ybar > 0))), int(np.sum((y <= 0) & (ybar > 0))))
        last = np.partition(ybar, len(ybar) - table.k)[len(ybar) - table.k]
        over, tied = ybar > last, ybar == last
        share = (table.k - over.sum()) / tied.sum()
        a = np.sum(over & (y > 0)) + share * np.sum(tied & (y > 0))
        return table.loss(float(min(a, table.k)), float(table.k - a))

    def potentials(self, w: np.ndarray, x: Sample) -> np.ndarray:
        """The score of every row: (n,)."""
        known = len(w) - (1 if self.intercept else 0)
        if x.rows.shape[1] != known:
            raise ValueError(f"the rows have {x.rows.shape[1]} features, but the weights are for {known}")
        if not self.intercept:
            return np.asarray(x.rows @ w)
        scores: np.ndarray = np.asarray(x.rows @ w[:-1]) + self.intercept * w[-1]
        return scores

    def argmax(self, f: Scorer, x: Sample) -> np.ndarray:
        """Labels, or scores to rank by; of a sample with known classes 'prbep' labels the P highest."""
        scores: np.ndarray = f.potentials(x)
        if self._pairs:
            return scores
        if self.measure == "prbep":
            return scores if x.positive is None else highest(scores, int(x.positive.sum()))
        if self._at_k:
            self._require_k(len(scores))
            return highest(scores, int(self.k or 0))
        return np.where(scores > 0.0, 1, -1).astype(np.int8)

    def augmented_argmax(self, f: Scorer, x: Sample, y: np.ndarray, H: Cost) -> np.ndarray:
        """The output that maximises H(Delta(y, .), f(x, y) - f(x, .))."""
        scores = f.potentials(x)
        # A swapped pair adds (1 - (s_i - s_j)) / (P N) to H = Delta - margin: it pays where
        # s_i - 1/2 < s_j + 1/2.
        return scores - 0.5 * y if self._pairs else worst_labelling(scores, y, self.table(y), H)

    def draw(self, x: Sample, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Random labels, as many positive ones as the measure asks for; or a random ranking, with ties."""
        n = len(y)
        if self._pairs:
            return rng.integers(n, size=n).astype(float)
        k, ybar = self.table(y).k, np.full(n, -1, dtype=np.int8)
        ybar[rng.random(n) < rng.random() if k < 0 else rng.choice(n, k, replace=False)] = 1
        return ybar

    def refuse(self, H: Cost) -> str | None:
        """One sentence that says why the augmented search cannot handle H, or None if it can."""
        if self._pairs and not H.folds:
            return (
                "the ROC area decides each pair by itself, which is exact for 'SVM1 margin' only; "
                "elsewhere all pairs would have to be sorted"
            )
        return None

    def batch(self, X: Sequence[Sample], Y: Sequence[np.ndarray] | None) -> MeasureBatch:
        """The examples packed, so that many are searched in one call."""
        return MeasureBatch(self, X, Y)

    def independent_rows(self, x: Sample, y: np.ndarray) -> IndependentRows | None:
        """For the error rate alone every label counts by itself: 1/n, and 2/n y_i x_i in deltaPsi."""
        if self.measure != "error_rate":
            return None
        n = len(y)
        return IndependentRows(x.rows, 2.0 * np.asarray(y) / n, self.intercept, np.full(n, 1.0 / n))

    def radius(self, x: Sample) -> float:
        """|Psi(x, y) - Psi(x, y')| <= 2/n sum |x_i|, or for pairs the two classes' mean norms together."""
        squares = x.rows.multiply(x.rows) if sp.issparse(x.rows) else np.square(x.rows)
        norms = np.sqrt(np.asarray(squares.sum(axis=1)).ravel() + self.intercept**2)
        if not self._pairs or x.positive is None:
            return float(2.0 * norms.max() if self._pairs else 2.0 * norms.mean())
        return float(norms[x.positive].mean() + norms[~x.positive].mean())

    def max_delta(self, y: np.ndarray) -> float:
        """An upper bound on Delta(y, .)."""
        return 1.0


def _is_sign(labels: np.ndarray) -> np.ndarray:
    """Which labels are -1 or +1; True is not."""
    if labels.dtype.kind in "iuf":
        return np.asarray((labels == 1) | (labels == -1))
    return np.array(
        [label in (-1, 1) and not isinstance(label, bool) for label in labels.tolist()], dtype=bool
    )


def _of_one_class(n: int, where: str, kind: str, needs: str) -> str:
    return f"all {n} labels{where} are {kind}: {needs}"


def _of_sample(i: int, n: int) -> str:
    return "" if n == 1 else f" of sample {i}"
