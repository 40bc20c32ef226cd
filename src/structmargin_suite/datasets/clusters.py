"""Clusters on a tree: small multiclass data on which all formulations differ, to test theorems with.

n_classes classes form groups of `siblings`. The mean of a class is its group's mean plus a vector of its own,
with all coordinates normal; examples scatter around it. The losses, for VIEW's `loss`:
    zero_one   1 for every wrong class
    tree       1 for a wrong class of the right group, 2 for one of another group
each times `loss_scale`. A constant feature serves as intercept. With VIEW's `outputs` there are that many
classes to choose from: those beyond n_classes are of no example, and each is a group of its own. So the
number of outputs can grow while examples, norms and the largest loss stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from structmargin_suite.datasets import Examples, Schemas, Split, _pool
from structmargin_suite.datasets._measures import measures
from structmargin_suite.fetching.fetch import Remote

__all__ = ["FILES", "PREPARE", "VIEW", "refuse", "score", "synthesize", "view"]

FILES: tuple[Remote, ...] = ()
PREPARE: Schemas = {
    "n_classes": {"type": "integer", "minimum": 2},
    "siblings": {"type": "integer", "minimum": 1},
    "n_features": {"type": "integer", "minimum": 1},
    "scatter": {"type": "number", "exclusiveMinimum": 0},
    "pool": {"type": "integer", "minimum": 1},
    "n_test": {"type": "integer", "minimum": 1},
    "repetition": {"type": "integer", "minimum": 0},
}
VIEW: Schemas = {
    "n_train": {"type": "integer", "minimum": 1},
    "loss": {"enum": ["zero_one", "tree"]},
    "loss_scale": {"type": "number", "exclusiveMinimum": 0},
    "outputs": {"type": "integer", "minimum": 2},
}


def refuse(prepare: Mapping[str, Any], view: Mapping[str, Any]) -> str | None:
    """Why these parameters do not go together, or None."""
    outputs = view.get("outputs")
    if outputs is not None and outputs < prepare["n_classes"]:
        return f"outputs is {outputs}, but there are {prepare['n_classes']} classes; raise outputs"
    return _pool.refuse(prepare, view)


def synthesize(
    seed: int, *, n_classes: int, siblings: int, n_features: int, scatter: float, pool: int, n_test: int,
    repetition: int = 0,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Arrays X_train (pool, n_features + 1), y_train, X_test, y_test, groups (n_classes,)."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n_classes) // siblings
    means = rng.normal(size=(groups[-1] + 1, n_features))[groups] + rng.normal(size=(n_classes, n_features))
    arrays = {"groups": groups}
    for subset, n in (("train", pool), ("test", n_test)):
        y = rng.integers(0, n_classes, size=n)
        x = means[y] + scatter * rng.normal(size=(n, n_features))
        arrays[f"X_{subset}"] = np.column_stack([x, np.ones(n)])
        arrays[f"y_{subset}"] = y
    return arrays


def view(
    arrays: Mapping[str, np.ndarray],
    seed: int,
    *,
    n_train: int,
    loss: str = "zero_one",
    loss_scale: float = 1.0,
    outputs: int | None = None,
) -> Split:
    """The first n_train examples of the pool, the whole test set, and the problem's shape and loss."""
    groups = arrays["groups"]
    more = 0 if outputs is None else outputs - len(groups)
    groups = np.concatenate([groups, groups[-1] + 1 + np.arange(more)])
    losses = 1.0 - np.eye(len(groups))
    if loss == "tree":
        losses += groups[:, None] != groups[None, :]
    X, y = arrays["X_train"], arrays["y_train"]
    problem = {"n_classes": len(groups), "n_features": X.shape[1], "loss": loss_scale * losses}
    test = Examples(arrays["X_test"], arrays["y_test"])
    return Split(Examples(X[:n_train], y[:n_train]), test, problem=problem)


@measures("error")
def score(Y: np.ndarray, Yhat: np.ndarray) -> dict[str, float]:
    """Error in percent."""
    return {"error": 100.0 * float(np.mean(np.asarray(Y) != np.asarray(Yhat)))}
