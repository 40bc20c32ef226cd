"""What a saved model consists of, checked part by part before a model is made of it.

Settings, the certificate, the cuts with alpha > 0 and a kernel's stored examples may come from a damaged or
crafted file. Compiled code trusts indices and lengths, so these are compared with each other here; examples
go through the problem's own checks, as those of users do.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin import archive, registry
from structmargin.adapted import AdaptedProblem, adapt
from structmargin.archive import ModelFileError
from structmargin.cuts import FactoredRows
from structmargin.inputs import gate
from structmargin.inputs.containers import count
from structmargin.parts import PartRows

AGAIN = "save the model again"


def require_parts(
    what: str, given: Any, names: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, Any]:
    """The parts by name; all of `names` must be there, and none but those and the optional ones."""
    if type(given) is not dict or not set(names) <= set(given) <= {*names, *optional}:
        raise ModelFileError(f"{what} has other parts than a model of this version; {AGAIN}")
    return given


def require_settings(estimator: type, settings: Any, names: Sequence[str]) -> dict[str, Any]:
    """The settings of an estimator, which has these parameters: names and types as its constructor says."""
    parameters = inspect.signature(estimator).parameters
    annotations = {name: parameters[name].annotation for name in names}
    archive.require_options("settings", settings, annotations, archive.LENIENT)
    return dict(settings)


def require_vector(what: str, values: Any, n: int | None = None) -> np.ndarray:
    """A 1-d array of finite floats, of length n where that is known."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype != np.float64:
        raise ModelFileError(f"{what} is no 1-d array of floats; {AGAIN}")
    if n is not None and len(values) != n:
        raise ModelFileError(f"{what} has {len(values)} entries where {n} belong; {AGAIN}")
    if not np.isfinite(values).all():
        raise ModelFileError(f"{what} has an entry that is not finite; {AGAIN}")
    return values


def require_indices(what: str, values: Any, n: int, below: int) -> None:
    """A 1-d array of n whole numbers from 0 to below - 1."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in "iu":
        raise ModelFileError(f"{what} is no 1-d array of whole numbers; {AGAIN}")
    if len(values) != n or (n and not (values.min() >= 0 and values.max() < below)):
        raise ModelFileError(f"{what} are not {n} numbers from 0 to {below - 1}; {AGAIN}")


def require_record(kind: Any, given: Any, names: Sequence[str], vectors: Sequence[str]) -> None:
    """What is kept of a `Fit` or `Estimate`: plain values as its class says, and vectors of floats."""
    archive.require_options("certificate", given, {f.name: f.type for f in fields(kind) if f.name in names})
    for name in vectors:
        require_vector(name, given[name])


def require_support(support: Any, names: Sequence[str], n: int, n_weights: int | None) -> dict[str, Any]:
    """The cuts with alpha > 0 of n examples: as many of each part, and rows that are as long as w."""
    parts = require_parts("the support", support, names)
    m = len(require_vector("alpha", parts["alpha"]))
    for name in ("losses", "scale", "b", "H"):
        require_vector(name, parts[name], m)
    require_indices("the examples of cuts", parts["example"], m, max(n, 1))
    rows = parts["rows"]
    if isinstance(rows, FactoredRows):
        _require_factors(rows, m, n_weights)
    elif isinstance(rows, PartRows):
        _require_part_rows(rows, m, n_weights)
    elif (n_weights is not None or rows is not None) and (
        not isinstance(rows, sp.csr_matrix) or rows.shape != (m, n_weights)
    ):
        raise ModelFileError(f"the rows of cuts do not fit the weights; {AGAIN}")
    return parts


def _require_factors(rows: FactoredRows, m: int, n_weights: int | None) -> None:
    phi, apart = rows.phi, rows.apart
    matrices = isinstance(phi, sp.csr_matrix) and isinstance(apart, sp.csr_matrix)
    if not matrices or apart.shape[0] != m or phi.shape[1] * apart.shape[1] != n_weights:
        raise ModelFileError(f"the rows of cuts do not fit the weights; {AGAIN}")
    require_indices("the examples of cuts", rows.example, m, phi.shape[0])


def _require_part_rows(rows: PartRows, m: int, n_weights: int | None) -> None:
    short, phi, L, longest = rows.short, rows.phi, rows.n_labels, rows.longest
    counts = type(L) is int and type(longest) is int and L >= 1 and longest >= 0
    matrices = isinstance(short, sp.csr_matrix) and isinstance(phi, sp.csr_matrix)
    if not (counts and matrices) or short.shape[0] != m or short.shape[1] < longest * L:
        raise ModelFileError(f"the rows of cuts do not fit the weights; {AGAIN}")
    if phi.shape[1] * L + short.shape[1] - longest * L != n_weights:
        raise ModelFileError(f"the rows of cuts do not fit the weights; {AGAIN}")
    require_indices("the first parts of cuts", rows.first, m, max(phi.shape[0], 1))
    used = short.tocoo()
    of_part = used.col < longest * L
    require_indices(
        "the parts of cuts",
        rows.first[used.row[of_part]].astype(np.int64) + used.col[of_part] // L,
        int(of_part.sum()),
        phi.shape[0],
    )


def require_weights(problem: AdaptedProblem, w: Any) -> np.ndarray:
    """Weights, as many as the problem has, whose squares add up to a number."""
    require_vector("w", w)
    with np.errstate(over="ignore"):
        if not np.isfinite(w @ w):
            raise ModelFileError(f"w is too large for any score to be computed; {AGAIN}")
    problem.check_loaded(len(w))
    return w  # type: ignore[no-any-return]


def require_expansion(problem: AdaptedProblem, expansion: Any) -> dict[str, Any]:
    """A kernel, examples that the problem takes, and one coefficient for each, or one for each class."""
    parts = require_parts("the expansion", expansion, ("kernel", "X", "coef"), ("Y",))
    kernel, X, Y, coef = parts["kernel"], parts["X"], parts.get("Y"), parts["coef"]
    reason = registry.check_saved_kernel(problem, kernel)
    if reason:
        raise ModelFileError(f"{reason}; {AGAIN}")
    for items in (X, Y):
        if items is not None and not isinstance(items, (list, np.ndarray, sp.csr_matrix)):
            raise ModelFileError(f"the examples of its kernel are no sequence; {AGAIN}")
    problem.check_loaded(None)
    require_vector("coef", coef.ravel() if isinstance(coef, np.ndarray) else coef)
    with np.errstate(over="ignore"):
        if not np.isfinite(coef.ravel() @ coef.ravel()):
            raise ModelFileError(f"the coefficients are too large for any score to be computed; {AGAIN}")
    n = count(X)
    if coef.shape[:1] != (n,) or coef.ndim != (2 if Y is None else 1):
        raise ModelFileError(f"{coef.shape} coefficients do not go with {n} examples; {AGAIN}")
    if n:
        if Y is None:
            problem.check_inputs(X)
        else:
            gate.require_equal(X, Y)
            problem.check(X, Y)
    kernel.check_expansion(problem.given, X, Y, coef, archive.MAX_BYTES)
    return parts


def require_problem(problem: Any, given: Any) -> AdaptedProblem:
    """The problem that was given, or that of the file, adapted."""
    if problem is not None and type(problem) not in registry.PROBLEMS.values():
        raise ModelFileError(f"its problem is of type {type(problem).__name__}, which is none; {AGAIN}")
    if given is None and problem is None:
        raise ModelFileError("it was trained on a problem of your own; pass it as problem=...")
    return adapt(problem if given is None else given)
