"""scikit-learn's LinearSVC, which minimises the objective of SVM1 for classes without structure."""

from __future__ import annotations

from typing import Any

import numpy as np


def crammer_singer(X: Any, y: np.ndarray) -> dict[str, float]:
    """Train with C = 1 per example on inputs X (n, d) and labels y (n,); returns the objective it reaches."""
    from sklearn.svm import LinearSVC

    model = LinearSVC(multi_class="crammer_singer", C=1.0, fit_intercept=False, tol=1e-3, max_iter=100_000)
    W = model.fit(X, y).coef_
    scores = np.asarray(X @ W.T)
    augmented = scores + (np.arange(len(W))[None] != y[:, None])
    xi = augmented.max(axis=1) - scores[np.arange(len(y)), y]
    return {"objective": 0.5 * float(np.sum(W * W)) + float(xi.sum())}
