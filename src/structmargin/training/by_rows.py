"""A single example that is a sum of independent rows: solved as such, and held in the dual as one cut.

With the loss and deltaPsi of an output being sums over its wrong labels, the slack of 'SVM1 margin' is

    max over sets S of  sum_{r in S} (losses_r - <w, a_r>)  =  sum_r max(0, losses_r - <w, a_r>),

and the whole problem a sum of hinges, row r at the price cap losses_r (`hinge/minimise.py`). In its solution
0 <= beta_r <= cap losses_r. The shares beta_r / (cap losses_r) are the frequencies of wrong labels under some
convex combination of outputs, and so

    sum_r beta_r / (cap losses_r) a_r   with the offset   sum_r beta_r / cap

is an average of cuts. With alpha = cap it has the same w and the same dual value. The search over whole
outputs then certifies it, or finds what is missing.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp

from structmargin.cuts import Cuts, SearchError
from structmargin.dual.working_set import Dual
from structmargin.hinge.minimise import minimise
from structmargin.hinge.rows import Goal, SignedRows
from structmargin.training.contract import tolerance
from structmargin.training.task import Task

SHARE = 0.9
"""The gap is made smaller than what stops training by this factor: the search sums in another order."""


def start_by_rows(task: Task, dual: Dual) -> None:
    """Hold the solution as one cut, where the only example is a sum of independent rows; else do nothing."""
    if task.n != 1 or not task.formulation.H.folds or not task.space.explicit or not task.separation.exact:
        return
    found = task.problem.independent_rows(task.X[0], task.Y[0])
    if found is None:
        return
    began = time.process_time()
    of_example = float(task.formulation.cap(task.C, 1, task.weights)[0])
    price = of_example * found.losses
    rows = SignedRows(found.X, found.factor / found.losses, found.constant)
    gap_tol = task.criterion.gap_tol
    allowed = Goal(task.cost_of(dual, task.eps_now), 0.0) if gap_tol is None else Goal(0.0, gap_tol)
    fit = minimise(rows, price, Goal(SHARE * allowed.gap, SHARE * allowed.share))
    if fit.dual > dual.value:
        cap = dual.cap
        b, row, block = fit.beta.sum() / cap, sp.csr_matrix(fit.w[None] / cap), np.zeros(1, dtype=int)
        dual.replace(Cuts(block, [None], b, np.ones(1), b, row, np.zeros(1), cap))
        dual.added += 1
        dual.refresh()
        slack = (fit.primal - 0.5 * float(fit.w @ fit.w)) / of_example
        require_same_slack(task, dual, slack, float(found.losses.sum()))
    dual.seconds += time.process_time() - began


def require_same_slack(task: Task, dual: Dual, slack: float, largest: float) -> None:
    """Raise SearchError unless the search over whole outputs finds the slack that the rows add up to.

    `largest` is the largest loss of an output.
    """
    found = float(task.separation.answers(dual.scorer(), task.separation.all).largest_H(1)[0])
    if abs(max(found, 0.0) - slack) > tolerance(max(found, slack, largest), task.oracle_tol):
        raise SearchError(
            f"independent_rows of {task.problem.name} add up to a slack of {slack:.6g}, but the search finds "
            f"{found:.6g}: they are not the terms of delta and psi"
        )
