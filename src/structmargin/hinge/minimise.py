"""Minimise a sum of hinges (`rows.py`): by Newton's method where weights are few, else row by row.

Where prices are many orders above the objective, Newton's method may not come to the goal for rounding: a
hinge of 1e-9 at a price of 1e4 is a gap of 1e-5. After half of the steps, or where no direction is left,
visits to single rows, which solve for one beta_r each, go on from there.

Row by row: each row is a block of one cut in the QP of `dual/ascent.py`, which is then dual coordinate ascent
with strides (Hsieh, Chang, Lin, Keerthi and Sundararajan, "A dual coordinate descent method for large-scale
linear SVM", ICML 2008).
"""

from __future__ import annotations

import numpy as np

from structmargin.dual import ascent
from structmargin.dual.blocks import QP, Blocks
from structmargin.dual.compiled_cuts import SparseCuts
from structmargin.dual.working_set import ROUNDING
from structmargin.hinge.newton import by_newton
from structmargin.hinge.rows import Goal, HingeFit, SignedRows, certified

MAX_WEIGHTS = 1000
"""Newton's method factorises a matrix of the weights: it is for so many at most."""
FIRST_EPOCHS, MORE_EPOCHS = 10, 4
"""Row by row, the objective is known after so many passes well enough to say what gap is small enough; if the
ascent has not reached it, it is given so many times as many passes again."""


def minimise(
    rows: SignedRows, price: np.ndarray, goal: Goal, *, max_iter: int = 1000, start: HingeFit | None = None
) -> HingeFit:
    """Minimise until the duality gap meets the goal; `start` is a solution for other prices of the same rows.

    `max_iter` is the number of Newton steps and passes over the rows, at most.
    """
    z = np.zeros(len(price)) if start is None else start.shares(price)
    if rows.n_weights <= MAX_WEIGHTS:
        w = np.zeros(rows.n_weights) if start is None else start.w
        fit = by_newton(rows, price, goal, max(1, max_iter // 2), w, z)
        if fit.converged or fit.n_iter >= max_iter:
            return fit
        more = row_by_row(rows, price, goal, max_iter - fit.n_iter, fit.beta)
        return more._replace(n_iter=fit.n_iter + more.n_iter)
    return row_by_row(rows, price, goal, max_iter, price * z)


def row_by_row(
    rows: SignedRows, price: np.ndarray, goal: Goal, max_epochs: int, beta: np.ndarray
) -> HingeFit:
    """Minimise from 0 <= beta <= price by visits to one row at a time."""
    A, m = rows.tocsr(), len(price)
    norms2 = np.asarray(A.multiply(A).sum(axis=1)).ravel()
    cuts = SparseCuts(
        A.data, A.indices.astype(np.int32), A.indptr.astype(np.int64), rows.combined(beta), norms2,
        np.arange(m, dtype=np.int64),
    )  # fmt: skip
    alone = Blocks(
        np.arange(m, dtype=np.int32).reshape(m, 1), np.ones(m, dtype=np.int32), np.zeros(m, dtype=np.int32)
    )
    qp = QP(cuts, alone, beta.copy(), np.ones(m), price, np.zeros(m))
    done, epochs, xi = 0, FIRST_EPOCHS, np.zeros(m)
    fit = certified(rows, price, beta, goal, done)
    while not fit.converged and done < max_epochs:
        spare = cuts._replace(w=np.zeros(len(cuts.w)))
        until = ascent.Until(
            max(goal.gap, goal.share * fit.dual), ROUNDING, 0.0, min(epochs, max_epochs - done)
        )
        measured, used, _ = ascent.ascend(qp, spare, until, done + 1, xi, np.empty(0))
        done, epochs = done + max(used, 1), MORE_EPOCHS * epochs
        fit = certified(rows, price, qp.alpha.copy(), goal, done)
        cuts.w[:] = fit.w  # without what rounding has added up to
        if measured[1] <= ROUNDING:  # no row has anything to gain
            break
    return fit
