"""Methods of a config as trained models: a model of the library, or a baseline.

A library method names a formulation, a solver and a problem (StructuredSVM), or a problem and `model:
JKSE`; `C_per_example` stands for C = value * n, the reading in which the penalty is not divided by n. A
method may choose an option, or several, by a measure on the validation part, or on a part of the training
part (inner_...): every value is trained, the best trained anew from nothing on the whole training part, so
that what is recorded of a fit does not depend on the others. With `path` the values of C are tried in the
order given, each training from the cuts of the one before.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin_suite.baselines import baseline
from structmargin_suite.datasets import Examples, Split

NUMBERS = (
    "primal", "dual", "gap", "n_constraints", "n_active", "n_iter", "oracle_calls", "exact", "converged",
)  # fmt: skip
SVM = "StructuredSVM"
MORE: dict[str, tuple[str, ...]] = {SVM: ("bound",), "JKSE": ("nu", "rho", "n_outliers")}
"""What is known of a fit beside NUMBERS, by the kind of model."""
PATHS = ("C", "C_per_example")
"""Options that `path` can run along."""
CLOCKS = ("seconds", "seconds_qp", "seconds_search")


@dataclass
class Trained:
    """A trained model and what is known of its training."""

    model: Any
    numbers: dict[str, Any] = field(default_factory=dict)
    clocks: dict[str, float] = field(default_factory=dict)
    trace: list[dict[str, float]] = field(default_factory=list)
    chosen: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def train(
    spec: Mapping[str, Any],
    split: Split,
    seed: int,
    score: Callable[[Any, Any], Mapping[str, float]],
    predict: Callable[[Any, Any], Any] = lambda model, X: model.predict(X),
) -> Trained:
    """Train what a method's settings say on split.train; `score` and `predict` are the data set's own."""
    choose = spec.get("choose")
    if choose is None or not choose["by"].startswith(("validation_", "inner_")):
        return _fit(spec, split, seed)
    inner = _inner(split, seed) if choose["by"].startswith("inner_") else split
    if inner.validation is None:
        raise ValueError(
            f"choose: by {choose['by']} needs a validation part, but this data set's view gives none"
        )
    by = choose["by"].format(**split.problem)
    measure, sign = by.partition("_")[2], -1.0 if choose.get("largest") else 1.0
    among = {choose["option"]: choose["among"], **choose.get("with", {})}
    tried: dict[tuple[Any, ...], float] = {}
    former, kept = None, None
    for values in itertools.product(*among.values()):
        one = _fit(with_options(spec, dict(zip(among, values, strict=True))), inner, seed, former)
        tried[values] = float(score(inner.validation.Y, predict(one.model, inner.validation.X))[measure])
        former = one.model if choose.get("path") else None
        if inner is split and former is None and min(tried, key=lambda v: sign * tried[v]) == values:
            kept = values, one
    least = min(sign * found for found in tried.values())
    ties = [values for values, found in tried.items() if sign * found == least]
    best = ties[(len(ties) - 1) // 2 if choose.get("ties") == "middle" else 0]
    if kept is not None and kept[0] == best:  # trained from nothing on the whole training part already
        final = kept[1]
    else:
        final = _fit(with_options(spec, dict(zip(among, best, strict=True))), split, seed)
    final.chosen = {
        "option": choose["option"], "value": best[0], by: [[*values, tried[values]] for values in tried],
    }  # fmt: skip
    if len(best) > 1:
        final.chosen["with"] = dict(zip(list(among)[1:], best[1:], strict=True))
    return final


def _inner(split: Split, seed: int) -> Split:
    """Of the training part alone, what the view holds out, else a quarter by the seed, to choose by, and the
    rest to train on."""
    order = np.random.default_rng(seed).permutation(len(split.train.Y))
    held = order[: max(1, len(order) // 4)] if split.held is None else np.asarray(split.held)
    kept = np.setdiff1d(order, held)
    parts = [Examples(*(_taken(part, which) for part in split.train)) for which in (np.sort(held), kept)]
    return Split(parts[1], parts[0], parts[0], split.problem)


def _taken(part: Any, which: np.ndarray) -> Any:
    """Some of a part's inputs or outputs, as what they come as: rows of a matrix, or items of a list."""
    rows = sp.issparse(part) or isinstance(part, np.ndarray)
    return part[which] if rows else [part[i] for i in which]


def with_options(spec: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the settings with some options set."""
    return functools.reduce(lambda made, one: with_option(made, *one), options.items(), dict(spec))


def with_option(spec: Mapping[str, Any], option: str, value: Any) -> dict[str, Any]:
    """A copy of the settings with one option set; a dotted option reaches inside."""
    head, _, inner = option.partition(".")
    return {**spec, head: {**spec.get(head, {}), inner: value} if inner else value}


def _fit(spec: Mapping[str, Any], split: Split, seed: int, former: Any = None) -> Trained:
    """Train what the settings say; `former` is a model of the same data with another C, to start from."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if "baseline" in spec:
            module = baseline(spec["baseline"])
            options = {name: spec[name] for name in module.OPTIONS if name in spec}
            result = Trained(module.train(split.train.X, split.train.Y, seed=seed, **options))
        else:
            result = _library(spec, split, seed, former)
    ours = [w for w in caught if not issubclass(w.category, (DeprecationWarning, PendingDeprecationWarning))]
    result.warnings = list(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in ours))
    return result


def _library(spec: Mapping[str, Any], split: Split, seed: int, former: Any) -> Trained:
    from structmargin import registry

    named = {**split.problem, **spec["problem"]}
    options = {name: spec[name] for name in ("eps", "gap_tol", "max_iter", "nu", "trainer") if name in spec}
    if "C_per_example" in spec:
        options["C"] = spec["C_per_example"] * len(split.train.Y)
    elif "C" in spec:
        options["C"] = spec["C"]
    kind = spec.get("model", SVM)
    if "formulation" in spec:
        options["formulation"] = spec["formulation"]
        options["solver"] = registry.solver(spec.get("solver", "n_slack"), **spec.get("solver_options", {}))
    if spec.get("choose", {}).get("path"):
        options["warm_start"] = True
    if former is not None:
        model = former.set_params(C=options["C"])
    else:
        problem = registry.problem(named.pop("name"), **named)
        model = estimator(kind)(problem, kernel=kernel_of(spec.get("kernel")), random_state=seed, **options)
    fit = model.fit(*split.train).fit_
    return Trained(
        model,
        numbers={name: getattr(fit, name) for name in ("C", *NUMBERS, *MORE[kind])},
        clocks={name: float(getattr(fit, name, 0.0)) for name in CLOCKS},
        trace=fit.trace,
    )


def estimator(kind: str) -> Any:
    """The estimator that `model:` names."""
    from structmargin import JKSE, StructuredSVM

    return {SVM: StructuredSVM, "JKSE": JKSE}[kind]


def kernel_of(spec: Mapping[str, Any] | None) -> Any:
    """A kernel from its name and parameters, which may be kernels themselves; None for none."""
    from structmargin import registry

    if not spec:
        return None
    params = {
        name: kernel_of(v) if isinstance(v, Mapping) else v for name, v in spec.items() if name != "name"
    }
    return registry.kernel(spec["name"], **params)


def to_arrays(spec: Mapping[str, Any], model: Any) -> dict[str, np.ndarray]:
    """A model as named arrays, without the cuts if the settings say so."""
    if not spec.get("keep_cuts", True):
        model.fit_.support = None
    arrays: dict[str, np.ndarray] = model.to_arrays()
    return arrays


def from_arrays(spec: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """The model that was stored under these settings."""
    if "baseline" in spec:
        return baseline(spec["baseline"]).from_arrays(arrays)
    return estimator(spec.get("model", SVM)).from_arrays(arrays)


def modules_of(spec: Mapping[str, Any]) -> list[str]:
    """The modules that training this method begins with: its baseline's, or of the library its problem's, its
    solver's, its kernel's and its estimator's own."""
    modules = [__name__]
    if "baseline" in spec:
        return [*modules, f"structmargin_suite.baselines.{spec['baseline']}"]
    from structmargin import registry

    problem = registry.PROBLEMS[spec["problem"]["name"]]
    modules += ["structmargin.estimators", "structmargin.kernels", problem.__module__]
    if spec.get("model") == "JKSE":
        modules += ["structmargin.jkse.estimator", "structmargin.jkse.trainers"]
    if spec.get("kernel"):
        modules.append(registry.KERNELS[spec["kernel"]["name"]].__module__)
    if "formulation" in spec:
        modules.append(registry.SOLVERS[spec.get("solver", "n_slack")][0].__module__)
    return modules
