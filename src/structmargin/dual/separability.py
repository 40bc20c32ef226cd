"""Whether hard margins can be had at all: one linear program over the cuts held.

    maximise t   subject to   <w, a_c / |a_c|> >= t for every cut,   -1 <= w_j <= 1

The optimum is above 0 exactly if some w satisfies <w, a_c> >= 1 for every cut. Where features are not
explicit, w = sum_c beta_c a_c / |a_c| and the bounds are on beta. The ascent of the dual decides the same by
itself, but on data that are not separable it may take for ever; so the linear program, which takes seconds,
is asked when the ascent does not come to an end.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from structmargin.cuts import FactoredRows


def largest_margin(rows: sp.csr_matrix | FactoredRows | None, gram: np.ndarray | None = None) -> float:
    """The largest t, given the cuts as rows (m, d), or their Gram matrix (m, m) where rows are None."""
    from scipy.optimize import linprog  # takes a quarter of a second to load, and few need it

    if rows is not None:
        A = sp.csr_matrix(rows.tocsr())
        lengths = np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel())
    else:
        assert gram is not None
        lengths = np.sqrt(np.maximum(np.diagonal(gram), 0.0))
        A = sp.csr_matrix(gram / np.where(lengths > 0.0, lengths, 1.0)[None, :])
    if np.any(lengths <= 0.0):
        return 0.0  # 0 >= 1 is asked of every w
    A = sp.diags(1.0 / lengths) @ A
    A = A[:, np.unique(A.tocoo().col)]  # features that no cut has make no difference
    m, d = A.shape
    constraints = sp.hstack([-A, sp.csr_matrix(np.ones((m, 1)))], format="csr")
    cost = np.append(np.zeros(d), -1.0)
    bounds = [(-1.0, 1.0)] * d + [(None, None)]
    solution = linprog(cost, A_ub=constraints, b_ub=np.zeros(m), bounds=bounds, method="highs")
    return float(solution.x[-1]) if solution.status == 0 else np.inf
