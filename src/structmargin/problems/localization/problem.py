"""Object localization: the box of an object in an image (jkse09 Section 5.1; Blaschko, Lampert 2008).

Delta also takes fractions of the map's units, and does not mind further columns of boxes (scores, say).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy.sparse as sp

from structmargin.cuts import Cuts
from structmargin.formulation import Cost
from structmargin.inputs.gate import require_equal
from structmargin.oracles.box_search import box_loss, n_cells
from structmargin.problem import Scorer
from structmargin.problems._params import Params
from structmargin.problems.localization.boxes import (
    KINDS,
    Image,
    as_boxes,
    as_input,
    pyramids,
    require_inside,
    require_known_words,
)
from structmargin.problems.localization.search import SEARCHES, Detections, SignedIntegrals

MAX_PREPARED_BYTES = 1 << 28
"""The memory that a batch spends on boxes and losses that are the same in every pass: 256 MB."""


class BoxScorer(Protocol):
    """Scores boxes: a `Scorer`, or anything else that has potentials."""

    def potentials(self, x: Image) -> Any:
        """The scores of all boxes of x, or what branch and bound works on."""


@dataclass(frozen=True)
class Localization(Params):
    """Object localization: the box of an object in an image.

    An input x = (words, windows): `words` is an integer array (rows, columns) of visual words 0 .. n_words -
    1, below 0 where there is none, and `windows` an integer array (k, 3) of rows (height, width, step), the
    sizes of boxes to choose from and the step between their positions. An output y is an array (k, 4) of
    boxes (top, left, bottom, right), half open, in units of the map. The first box is the one that is meant;
    in a truth the others are right as well. An image with several objects is given once with each of them
    first.

        Psi(x, y)       the histograms of visual words in the cells of a spatial pyramid of the first box,
                        with L x L cells at each level L = 1 .. levels
        Delta(y, ybar)  1 - area of intersection / area of union with the nearest true box

    No true box is ever a violator. Both searches are exact for every formulation.

    Parameters
    ----------
    n_words : int
        The number of visual words.
    levels : int, default=4
        The levels of the pyramid: 1 + 4 + ... + levels^2 cells.
    normalise : {"none", "cell", "box"}, default="none"
        Whether counts are divided by nothing, by the number of cells and the cell's area, or by the number of
        levels and the box's area.
    search : {"scan", "branch_and_bound"}, default="scan"
        "scan" scores every box that the windows allow. "branch_and_bound" finds the best of all boxes, at any
        position, whose height and width lie between the smallest and the largest of the windows; it needs
        normalise="none".
    scale : float, default=None
        The factor of Psi. None: the one that makes the mean square of its norm over the training pairs 1.

    Attributes
    ----------
    n_weights : int
        The number of cells times n_words.

    See Also
    --------
    structmargin.problems.localization.kernel.BoxChi2 : The chi-squared kernel that goes with this problem.

    References
    ----------
    .. [1] Lampert and Blaschko, "Structured prediction by joint kernel support estimation", Machine Learning
       77, 2009, Section 5.
    .. [2] Blaschko and Lampert, "Learning to localize objects with structured output regression", ECCV 2008.
    .. [3] Lampert, Blaschko and Hofmann, "Beyond sliding windows: object localization by efficient subwindow
       search", CVPR 2008.

    Examples
    --------
    An object of 2 x 2 words of kind 1 in a background of kind 0:

    >>> import numpy as np
    >>> from structmargin import StructuredSVM
    >>> from structmargin.problems import Localization
    >>> words = np.zeros((4, 6), dtype=int)
    >>> words[1:3, 2:4] = 1
    >>> x, y = (words, np.array([[2, 2, 1]])), np.array([[1, 2, 3, 4]])
    >>> problem = Localization(n_words=2, levels=1)
    >>> problem.psi(x, y).toarray()
    array([[0., 4.]])
    >>> problem.delta(y, np.array([[1, 3, 3, 5]]))
    0.6666666666666667
    >>> StructuredSVM(problem, C=100.0).fit([x], [y]).predict([x])[0]
    array([[1, 2, 3, 4]])
    """

    n_words: int
    levels: int = 4
    normalise: str = "none"
    search: str = "scan"
    scale: float | None = None

    reaches_truth: ClassVar[bool] = False  # a true box may lie off the grid of boxes that are searched

    def __post_init__(self) -> None:
        if self.n_words < 1 or self.levels < 1:
            raise ValueError(
                f"n_words and levels must be at least 1, but they are {self.n_words} and {self.levels}"
            )
        if self.normalise not in KINDS:
            raise ValueError(f"normalise must be one of {', '.join(KINDS)}, but it is {self.normalise!r}")
        if self.search not in SEARCHES:
            raise ValueError(f"search must be one of {', '.join(SEARCHES)}, but it is {self.search!r}")
        if self.search == "branch_and_bound" and self.normalise != "none":
            raise ValueError(
                f"search 'branch_and_bound' bounds counts only, but normalise is {self.normalise!r}: choose "
                "normalise 'none', or search 'scan'"
            )

    @property
    def n_weights(self) -> int:
        """The length of w and of Psi(x, y)."""
        return n_cells(self.levels) * self.n_words

    def check_params(self) -> None:
        """Raise unless the scale, where it is known, is a number above 0."""
        if self.scale is not None and not 0.0 < self.scale < np.inf:
            raise ValueError(f"scale must be a finite number above 0, but it is {self.scale!r}")

    @property
    def explicit_only(self) -> str | None:
        """Why no joint kernel can be used, where that is so."""
        if self.search == "scan":
            return None
        return f"search {self.search!r} bounds explicit weights; choose search 'scan'"

    @property
    def factor(self) -> float:
        """The scale of Psi, 1 unless given or bound."""
        return 1.0 if self.scale is None else float(self.scale)

    def bind(self, X: Sequence[Image], Y: Sequence[np.ndarray]) -> Localization:
        """The problem with its scale learnt from training pairs, unless it is given."""
        if self.scale is not None:
            return self
        self.check(X, Y)
        rows = pyramids(X, Y, self.n_words, self.levels, KINDS[self.normalise])
        square = float(rows.multiply(rows).sum()) / rows.shape[0]
        return replace(self, scale=1.0 / np.sqrt(square) if square > 0.0 else 1.0)

    def psi(self, x: Image, y: np.ndarray) -> sp.csr_matrix:
        """Psi(x, y), a sparse row of shape (1, n_weights)."""
        return self.factor * pyramids([x], [y], self.n_words, self.levels, KINDS[self.normalise])

    def delta(self, y: np.ndarray, ybar: np.ndarray) -> float:
        """Delta(y, ybar): the loss of predicting ybar where y is right."""
        truths, predicted = (np.asarray(part, dtype=float) for part in (y, ybar))
        if truths.ndim != 2 or predicted.ndim != 2 or not len(predicted):
            raise ValueError(
                f"an output is an array (k, 4) of boxes, but these have shapes {truths.shape} and "
                f"{predicted.shape}"
            )
        return float(box_loss(truths, predicted[0]))

    def potentials(self, w: np.ndarray, x: Image) -> np.ndarray | SignedIntegrals:
        """Scores (m,) of all boxes of x; for branch and bound, integral images."""
        require_known_words(as_input(x)[0], self.n_words, "this example")
        potentials: np.ndarray | SignedIntegrals = SEARCHES[self.search].potentials(self, w, x)
        return potentials

    def worth(self, w: np.ndarray) -> np.ndarray:
        """w as the worth (cells, n_words) of each word in each cell."""
        if len(w) != self.n_weights:
            raise ValueError(f"w has {len(w)} weights, but this problem has {self.n_weights}")
        return self.factor * w.reshape(-1, self.n_words)

    def detect(
        self, f: BoxScorer, x: Image, *, down: float = 1.0, across: float = 0.9, most: int = 10
    ) -> Detections:
        """Up to `most` boxes by repeated search, each the best whose centre is not within `down` heights and
        `across` widths of an earlier one's."""
        words, windows = as_input(x)
        return SEARCHES[self.search].detect(self, f.potentials(x), words, windows, down, across, most)

    def argmax(self, f: BoxScorer, x: Image) -> np.ndarray:
        """The best-scoring output of x under the scorer f."""
        detections = self.detect(f, x, most=1)
        if not len(detections.boxes):
            raise ValueError(f"no window of this example fits its map of {np.shape(x[0])}: give smaller ones")
        return detections.boxes

    def augmented_argmax(self, f: Scorer, x: Image, y: np.ndarray, H: Cost) -> np.ndarray:
        """The output that maximises H(Delta(y, .), f(x, y) - f(x, .))."""
        search, y = SEARCHES[self.search], as_boxes(y)
        box, _, _ = search.violator(self, f.potentials(x), search.prepared(*as_input(x), y, H), f(x, y))
        return y if box is None else box

    def draw(self, x: Image, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A random box among those that the search looks at; y itself where it is a true box."""
        y, box = as_boxes(y), SEARCHES[self.search].draw(*as_input(x), rng)
        return box if self.delta(y, box) > 0.0 else y

    def batch(self, X: Sequence[Image], Y: Sequence[np.ndarray] | None) -> LocalizationBatch:
        """Images for searches, each scored once for all its examples."""
        return LocalizationBatch(self, X, Y)

    def radius(self, x: Image) -> float:
        """|Psi(x, y) - Psi(x, y')| <= sqrt(2) max |Psi|, counts never being negative.

        A cell's histogram sums to at most its area, so |Psi| is at most the norm of the cells' areas times
        their weights; the largest window has the largest areas.
        """
        words, windows = as_input(x)
        fit = windows[(windows[:, 0] <= words.shape[0]) & (windows[:, 1] <= words.shape[1])]
        largest = 0.0
        for height, width in fit[:, :2]:
            full = np.zeros((height, width), dtype=np.int64)
            full_pyramid = pyramids(
                [(full, fit)], [[[0, 0, height, width]]], 1, self.levels, KINDS[self.normalise]
            )
            largest = max(largest, float(np.sqrt(full_pyramid.multiply(full_pyramid).sum())))
        return float(np.sqrt(2.0)) * self.factor * largest

    def max_delta(self, y: np.ndarray) -> float:
        """An upper bound on Delta(y, .)."""
        return 1.0

    def check(self, X: Sequence[Image], Y: Sequence[np.ndarray] | None) -> None:
        """Maps of known words, windows that fit, and true boxes inside their maps; Y None: inputs only."""
        self.check_inputs(X)
        if Y is not None:
            require_equal(X, Y)
            self.check_outputs(X, Y)

    def check_inputs(self, X: Sequence[Image]) -> None:
        """Raise unless every x is a map of known words with windows that fit it."""
        for i, x in enumerate(X):
            try:
                words, windows = as_input(x)
            except (TypeError, ValueError) as error:
                raise ValueError(f"x of example {i} is not (words, windows): {error}") from None
            require_known_words(words, self.n_words, f"example {i}")
            if np.any(windows < 1):
                raise ValueError(f"a window of example {i} is not of three numbers of at least 1")
            if not np.any((windows[:, 0] <= words.shape[0]) & (windows[:, 1] <= words.shape[1])):
                raise ValueError(
                    f"no window of example {i} fits its map of {words.shape[0]} x {words.shape[1]}: leave "
                    "the image out, or give smaller windows"
                )

    def check_outputs(self, X: Sequence[Image], Y: Sequence[np.ndarray]) -> None:
        """Raise unless every y has boxes, all of them inside the map of its x."""
        for i, y in enumerate(Y):
            try:
                boxes, words = as_boxes(y), np.asarray(X[i][0])
            except ValueError as error:
                raise ValueError(f"y of example {i} has no boxes: {error}") from None
            if not len(boxes):
                raise ValueError(f"example {i} has no box: an image without an object cannot be trained on")
            require_inside(boxes, words, f"example {i}")


class PreparedSearches:
    """What the search of each example works on, the same for every w, kept within a limit of memory.

    Passes visit all examples in turn, so what is kept first stays kept: replacing the oldest entry would drop
    each one just before it is asked for again. Another H empties the whole.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.H: Cost | None = None
        self.entries: dict[int, tuple[Any, ...]] = {}
        self.n_bytes = 0
        self._lock = threading.Lock()  # slices are searched side by side

    def get(self, i: int, H: Cost, prepare: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """The entry of example i under H; `prepare` makes one that is not kept."""
        with self._lock:
            if H != self.H:
                self.H, self.entries, self.n_bytes = H, {}, 0
            entry = self.entries.get(i)
        if entry is None:
            entry = prepare()
            size = sum(part.nbytes for part in entry if isinstance(part, np.ndarray))
            with self._lock:
                if i not in self.entries and self.n_bytes + size <= self.max_bytes:
                    self.entries[i] = entry
                    self.n_bytes += size
        return entry


class LocalizationBatch:
    """Images and truths; an image with several examples is scored once a search."""

    takes_kernels = True
    grain = 1

    def __init__(self, problem: Localization, X: Sequence[Image], Y: Sequence[np.ndarray] | None) -> None:
        self.problem, self.X, self.inputs = problem, X, [as_input(x) for x in X]
        self.kind = KINDS[problem.normalise]
        self.prepared = PreparedSearches(MAX_PREPARED_BYTES)
        if Y is not None:
            self.Y = [as_boxes(y) for y in Y]
            self.truths = self._pyramids(X, self.Y)

    def _pyramids(self, X: Sequence[Image], Y: Sequence[np.ndarray]) -> sp.csr_matrix:
        p = self.problem
        return p.factor * pyramids(X, Y, p.n_words, p.levels, self.kind)

    def psi(self) -> sp.csr_matrix:
        """Psi of every example, one row per example."""
        return self.truths

    def search(self, f: Any, indices: np.ndarray, H: Cost) -> Cuts:
        """The most violated box of each example; rows of deltaPsi where f is explicit, else margins."""
        search, scored, outputs = SEARCHES[self.problem.search], {}, []
        losses, margins = np.empty(len(indices)), np.empty(len(indices))
        explicit = f.w is not None
        at_truth = self.truths[indices] @ f.w if explicit else None
        for j, i in enumerate(indices):
            x, y = self.X[i], self.Y[i]
            words, windows = self.inputs[i]
            if id(x[0]) not in scored:
                scored[id(x[0])] = f.potentials(x)
            own = float(at_truth[j] if at_truth is not None else f(x, y))
            among = self.prepared.get(int(i), H, partial(search.prepared, words, windows, y, H))
            box, losses[j], score = search.violator(self.problem, scored[id(x[0])], among, own)
            outputs.append(y if box is None else box)
            margins[j] = own - score
        if not explicit:
            return Cuts.of_search(H, indices, outputs, losses, margins)
        there = self._pyramids([self.X[i] for i in indices], outputs)
        rows = self.truths[indices] - there
        return Cuts.of_search(H, indices, outputs, losses, rows @ f.w, rows)

    def argmax(self, f: Scorer, indices: np.ndarray | None = None) -> list[np.ndarray]:
        """The best-scoring output of every example, or of some."""
        which = range(len(self.X)) if indices is None else indices
        return [self.problem.argmax(f, self.X[i]) for i in which]
