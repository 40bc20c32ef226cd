"""Everything of a fitted model that may not depend on n_jobs, as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

CLOCKS = ("seconds", "seconds_qp", "seconds_search")


def bits(value: Any) -> Any:
    """Arrays, matrices, numbers and containers of these as something that equals only the same bits."""
    if sp.issparse(value):
        return [bits(part) for part in (value.data, value.indices, value.indptr, value.shape)]
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return [bits(item) for item in value.tolist()]
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, (float, np.floating)):
        return float(value).hex()
    if isinstance(value, dict):
        return {name: bits(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [bits(item) for item in value]
    return value


def of_model(model: Any, X: Any, Y: Any) -> dict[str, Any]:
    """The model, how it was found but for clocks, and what it predicts."""
    fit = model.fit_
    trace = [{name: v for name, v in row.items() if name not in CLOCKS} for row in fit.trace]
    same = {
        "w": bits(model.w_),
        "arrays": bits(model.to_arrays()),
        "xi": bits(fit.xi),
        "objectives": bits([fit.primal, fit.dual, fit.gap]),
        "trace": bits(trace),
        "predictions": bits(model.predict(X)),
        "score": bits(model.score(X, Y)),
    }
    if model.w_ is None:
        same["expansion"] = bits(model.scorer_.expansion()["coef"])
    return same
