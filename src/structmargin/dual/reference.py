"""What general solvers say of the cuts held: a quadratic and a linear program, slow and independent.

`solve` is the block QP by cvxopt's interior-point method, a reference for `ascent.ascend`. cvxopt is optional
to install; its licence (GPL) is its own. The problem is that of `ascent.py`, handed over whole: minimise
1/2 alpha' (G + ridge * same block) alpha - b' alpha subject to alpha >= 0 and, where the cap is finite, a sum
per block of at most the cap.

`largest_margin` tells whether any w has hard margins:

    maximise t   subject to   <w, a_c / |a_c|> >= t for every cut,   -1 <= w_j <= 1

The optimum is above 0 exactly if some w satisfies <w, a_c> >= 1 for every cut. Where features are not
explicit, w = sum_c beta_c a_c / |a_c| and the bounds are on beta. The ascent of the dual decides the same by
itself, but on data that are not separable it may never end; so the linear program, which takes seconds,
is asked when the ascent does not come to an end.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from structmargin.cuts import FactoredRows


def solve(G: np.ndarray, b: np.ndarray, block: np.ndarray, cap: np.ndarray, ridge: np.ndarray) -> np.ndarray:
    """The optimal alpha (m,) for a Gram matrix G (m, m), offsets b (m,) and the block of each cut (m,).

    cap and ridge have one entry per block.
    """
    try:
        from cvxopt import matrix, solvers, spmatrix
    except ImportError as error:
        raise ImportError("qp='cvxopt' needs the package cvxopt: pip install cvxopt") from error
    m = len(b)
    same = block[:, None] == block[None, :]
    P = G + ridge[block][:, None] * same
    ids, row = np.unique(block, return_inverse=True)
    lower = sp.identity(m, format="coo") * -1.0
    parts, limits = [lower], [np.zeros(m)]
    capped = np.flatnonzero(np.isfinite(cap[ids]))
    if len(capped):
        total_of = sp.csr_matrix((np.ones(m), (row, np.arange(m))), shape=(len(ids), m))
        parts.append(total_of[capped])
        limits.append(cap[ids[capped]])
    A = sp.vstack(parts).tocoo()
    options = {"show_progress": False, "abstol": 1e-13, "reltol": 1e-12, "feastol": 1e-12, "maxiters": 200}
    solution = solvers.qp(
        matrix(P),
        matrix(-b.astype(float)),
        spmatrix(A.data.tolist(), A.row.tolist(), A.col.tolist(), size=A.shape),
        matrix(np.concatenate(limits)),
        options=options,
    )
    alpha: np.ndarray = np.maximum(np.asarray(solution["x"]).ravel(), 0.0)
    if len(capped):
        total = np.bincount(row, weights=alpha)
        alpha *= np.minimum(1.0, cap[ids] / np.maximum(total, 1e-300))[row]
    return alpha


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
