"""The block QP by cvxopt's interior-point method: a slow, independent reference for `ascent.ascend`.

cvxopt is optional to install; its licence (GPL) is its own. The problem is that of `ascent.py`,
handed over whole: minimise 1/2 alpha' (G + ridge * same block) alpha - b' alpha subject to
alpha >= 0 and, where the cap is finite, a sum per block of at most the cap.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


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
