"""The kinds of method there are: a model of the library, or a baseline.

Each kind trains on a split, loads what was stored, names the certificate that evaluation holds it to, and
names the modules that its training depends on.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Protocol

import numpy as np

from structmargin_suite.baselines import baseline
from structmargin_suite.datasets import Examples, Split
from structmargin_suite.methods.choice import Settings

SVM, JKSE = "StructuredSVM", "JKSE"
DEFAULT_SOLVER = "n_slack"
NUMBERS = (
    "C", "primal", "dual", "gap", "n_constraints", "n_active", "n_iter", "oracle_calls", "exact", "converged",
)  # fmt: skip
"""What a record keeps of every fit."""
CLOCKS = ("seconds", "seconds_loop", "seconds_qp", "seconds_search")
TRAINING_OPTIONS = ("eps", "gap_tol", "max_iter", "nu", "trainer")
"""Options that go to the estimator under their own names."""

Certificate = Callable[[Any, Examples, np.ndarray], tuple[dict[str, float], list[str]]]
"""(model, training set, losses of its predictions) -> (recomputed measures, what does not hold)."""


class Estimator(NamedTuple):
    """What the suite knows of an estimator of the library.

    The keys of a config that it takes, the numbers of its fit beside `NUMBERS`, the modules that its training
    imports, and the module that certifies it.
    """

    keys: tuple[str, ...]
    numbers: tuple[str, ...]
    modules: tuple[str, ...]
    certificate: str


ESTIMATORS = {
    SVM: Estimator(
        keys=(
            "model", "formulation", "solver", "solver_options", "problem", "C", "C_per_example", "price",
            "eps", "gap_tol", "max_iter", "kernel",
        ),
        numbers=("bound",),
        modules=("structmargin.estimators.structured_svm", "structmargin.kernels"),
        certificate="structmargin_suite.methods.certificate",
    ),
    JKSE: Estimator(
        keys=(
            "model", "problem", "kernel", "nu", "trainer", "C", "C_per_example", "price", "gap_tol",
            "max_iter",
        ),
        numbers=("nu", "rho", "n_outliers"),
        modules=(
            "structmargin.estimators.base", "structmargin.kernels", "structmargin.jkse.estimator",
            "structmargin.jkse.trainers",
        ),
        certificate="structmargin_suite.methods.jkse_certificate",
    ),
}  # fmt: skip


class Model(Protocol):
    """A trained model of any kind."""

    def predict(self, X: Any) -> Any: ...
    def to_arrays(self) -> dict[str, np.ndarray]: ...


@dataclass
class Trained:
    """A trained model and what is known of its training.

    `held_out` has the measure of another model, trained without some of the training set, on what it was
    trained without: one value for several runs is chosen by it.
    """

    model: Model
    numbers: dict[str, object] = field(default_factory=dict)
    clocks: dict[str, float] = field(default_factory=dict)
    trace: list[dict[str, float]] = field(default_factory=list)
    gains: list[dict[str, float]] = field(default_factory=list)
    chosen: dict[str, Any] = field(default_factory=dict)
    held_out: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


class Kind(Protocol):
    """What training, evaluation and planning ask of a method's kind."""

    def schemas(self) -> dict[str, Any]:
        """The options of a config that it takes, as JSON schemas by name."""
        ...

    def fit(self, split: Split, seed: int, former: Any = None, reusable: bool = False) -> Trained:
        """Train on split.train; `former` is a model of the same data with another C to start from, and a
        `reusable` model is one that another may start from."""
        ...

    def load(self, arrays: Mapping[str, np.ndarray]) -> Model:
        """The model that was stored as these arrays."""
        ...

    def weights(self, model: Any) -> np.ndarray:
        """The weights of a trained linear model."""
        ...

    @property
    def has_path(self) -> bool:
        """Whether training can start from a model with another C."""
        ...

    @property
    def certificate(self) -> str | None:
        """The module whose `recomputed` checks a trained model's recorded numbers; None if it has none."""
        ...

    @property
    def modules(self) -> list[str]:
        """Our modules that its training imports."""
        ...


@dataclass(frozen=True)
class BaselineMethod:
    """A module of `structmargin_suite.baselines` and the options that a config gives it."""

    name: str
    options: Settings = field(default_factory=dict)

    @classmethod
    def parse(cls, settings: Settings) -> BaselineMethod:
        return cls(settings["baseline"], {key: value for key, value in settings.items() if key != "baseline"})

    def schemas(self) -> dict[str, Any]:
        return dict(baseline(self.name).OPTIONS)

    def fit(self, split: Split, seed: int, former: Any = None, reusable: bool = False) -> Trained:
        module = baseline(self.name)
        options = {name: self.options[name] for name in module.OPTIONS if name in self.options}
        if former is not None:
            options["former"] = former
        model = module.train(split.train.X, split.train.Y, seed=seed, **options)
        return Trained(model, numbers=dict(getattr(model, "numbers", {})))

    def load(self, arrays: Mapping[str, np.ndarray]) -> Model:
        model: Model = baseline(self.name).from_arrays(arrays)
        return model

    def weights(self, model: Any) -> np.ndarray:
        return np.asarray(model.w, dtype=float)

    @property
    def has_path(self) -> bool:
        return getattr(baseline(self.name), "HAS_PATH", False)

    @property
    def certificate(self) -> str | None:
        return getattr(baseline(self.name), "CERTIFICATE", None)

    @property
    def modules(self) -> list[str]:
        return [f"structmargin_suite.baselines.{self.name}"]


@dataclass(frozen=True)
class LibraryModel:
    """An estimator of the library with its problem.

    A StructuredSVM has a formulation and a solver, JKSE a trainer. `price` is what one example's slack costs
    in units of C, in place of 1/n; `C_per_example` is that cost itself.
    """

    problem: Settings
    estimator: str = SVM
    formulation: str | None = None
    solver: str = DEFAULT_SOLVER
    solver_options: Settings = field(default_factory=dict)
    kernel: Settings | None = None
    trainer: str | None = None
    C: float | None = None
    C_per_example: float | None = None
    price: float | None = None
    training: Settings = field(default_factory=dict)

    @classmethod
    def parse(cls, settings: Settings) -> LibraryModel:
        return cls(
            problem=settings.get("problem", {}),
            estimator=settings.get("model", SVM),
            formulation=settings.get("formulation"),
            solver=settings.get("solver", DEFAULT_SOLVER),
            solver_options=settings.get("solver_options", {}),
            kernel=settings.get("kernel"),
            trainer=settings.get("trainer"),
            C=settings.get("C"),
            C_per_example=settings.get("C_per_example"),
            price=settings.get("price"),
            training={name: settings[name] for name in TRAINING_OPTIONS if name in settings},
        )

    @property
    def complete(self) -> bool:
        """Whether it names all that training needs; a config with faults may not."""
        return "name" in self.problem and not (self.has_formulation and self.formulation is None)

    @property
    def has_formulation(self) -> bool:
        """Whether its estimator is trained by a formulation and a solver."""
        return "formulation" in ESTIMATORS[self.estimator].keys

    def penalty(self, n: int) -> float | None:
        """The paper's C for n examples, which the objective divides by n; None for the estimator's own.

        Examples
        --------
        >>> LibraryModel({}, C=0.01, price=2.0).penalty(50), LibraryModel({}, C_per_example=0.02).penalty(50)
        (1.0, 1.0)
        """
        if self.price is None:
            return self.C if self.C_per_example is None else self.C_per_example * n
        if self.C is None or self.C_per_example is not None:
            raise ValueError(f"the price {self.price:g} is in units of C: give C, and not C_per_example")
        return self.price * self.C * n

    def schemas(self) -> dict[str, Any]:
        return {key: {} for key in ESTIMATORS[self.estimator].keys}  # the config's own schema has the types

    def fit(self, split: Split, seed: int, former: Any = None, reusable: bool = False) -> Trained:
        from structmargin import registry

        options = dict(self.training)
        C = self.penalty(len(split.train.Y))
        if C is not None:
            options["C"] = C
        if self.formulation is not None:
            options["formulation"] = self.formulation
            options["solver"] = registry.solver(self.solver, **self.solver_options)
        if reusable:
            options["warm_start"] = True
        if former is not None:
            model = former.set_params(C=options["C"])
        else:
            params = {**split.problem, **self.problem}  # a config takes precedence over the data
            problem = registry.problem(params.pop("name"), **params)
            model = _estimator(self.estimator)(
                problem, kernel=kernel_of(self.kernel, params), random_state=seed, **options
            )
        fit = model.fit(*split.train).fit_
        return Trained(
            model,
            numbers={name: getattr(fit, name) for name in (*NUMBERS, *ESTIMATORS[self.estimator].numbers)},
            clocks={name: float(getattr(fit, name, 0.0)) for name in CLOCKS},
            trace=fit.trace,
            gains=getattr(fit, "gains", []),
        )

    def load(self, arrays: Mapping[str, np.ndarray]) -> Model:
        model: Model = _estimator(self.estimator).from_arrays(arrays)
        return model

    def weights(self, model: Any) -> np.ndarray:
        return np.asarray(model.w_, dtype=float)

    @property
    def has_path(self) -> bool:
        return self.formulation is not None

    @property
    def certificate(self) -> str | None:
        return ESTIMATORS[self.estimator].certificate

    @property
    def modules(self) -> list[str]:
        from structmargin import registry

        modules = [*ESTIMATORS[self.estimator].modules, registry.PROBLEMS[self.problem["name"]].__module__]
        if self.kernel:
            modules.append(registry.KERNELS[self.kernel["name"]].__module__)
        if self.formulation is not None:
            modules.append(registry.SOLVERS[self.solver][0].__module__)
        return modules


def certificate_of(module: str) -> Certificate:
    """The function of a module of certificates.

    The module is imported by name, so that what certifies one kind of model does not count as code of the
    other's trainings.
    """
    recomputed: Certificate = importlib.import_module(module).recomputed
    return recomputed


def _estimator(name: str) -> Any:
    from structmargin import JKSE as JointKernelSupport
    from structmargin import StructuredSVM

    return {SVM: StructuredSVM, JKSE: JointKernelSupport}[name]


def kernel_of(given: Settings | None, problem: Settings | None = None) -> Any:
    """A kernel from its name and parameters, which may be kernels themselves; None for none.

    A parameter that the problem has too (the words of a histogram, say) is the problem's unless given.
    """
    from structmargin import registry

    if not given:
        return None
    if "name" not in given:
        raise ValueError(f"the kernel {dict(given)} has no 'name'; add it")
    params = {
        name: kernel_of(value) if isinstance(value, Mapping) else value
        for name, value in given.items()
        if name != "name"
    }
    make: Any = registry.KERNELS.get(given["name"])
    shared = {parameter.name for parameter in fields(make) if parameter.init} if make is not None else set()
    inherited = {name: value for name, value in (problem or {}).items() if name in shared - set(params)}
    return registry.kernel(given["name"], **params, **inherited)
