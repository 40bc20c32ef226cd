"""Names to objects, and why a combination cannot be.

The one place that compares names. `check` says in one sentence what does not go together; None
means it can be trained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from structmargin import kernels as _kernels
from structmargin.adapted import AdaptedProblem, adapt
from structmargin.cuts import FactoredRows
from structmargin.formulation import FORMULATIONS, Formulation
from structmargin.names import nearest
from structmargin.parts import PartRows
from structmargin.problem import Problem
from structmargin.problems.alignment.problem import Alignment
from structmargin.problems.diversity.problem import Diversity
from structmargin.problems.grammar.problem import Grammar
from structmargin.problems.localization.kernel import BoxChi2
from structmargin.problems.localization.problem import Localization
from structmargin.problems.measures.problem import Measure
from structmargin.problems.multiclass.problem import Multiclass
from structmargin.problems.proteins.problem import ProteinAlignment
from structmargin.problems.sequence.kernel import SequenceKernel
from structmargin.problems.sequence.problem import Sequence
from structmargin.problems.taxonomy.problem import Taxonomy
from structmargin.solvers.bcfw import BCFW
from structmargin.solvers.n_slack import NSlack
from structmargin.solvers.olarank import OLaRank
from structmargin.solvers.one_slack import OneSlack
from structmargin.solvers.perceptron import Perceptron
from structmargin.solvers.staged import Staged
from structmargin.training.online import Online
from structmargin.training.space import Joint, Linear
from structmargin.training.trainable import Trainable

PROBLEMS: dict[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (
        Multiclass,
        Taxonomy,
        Sequence,
        Alignment,
        Grammar,
        Localization,
        Measure,
        Diversity,
        ProteinAlignment,
    )
}

SOLVERS: dict[str, tuple[Callable[..., Trainable], dict[str, Any]]] = {
    "n_slack": (NSlack, {}),
    "n_slack_a": (NSlack, {"variant": "a"}),
    "n_slack_b": (NSlack, {"variant": "b"}),
    "n_slack_cvxopt": (NSlack, {"engine": "cvxopt"}),
    "staged": (Staged, {}),
    "one_slack": (OneSlack, {}),
    "bcfw": (BCFW, {}),
    "perceptron": (Perceptron, {}),
    "olarank": (OLaRank, {}),
}

KERNELS: dict[str, Callable[..., Any]] = {
    "linear": _kernels.LinearKernel,
    "polynomial": _kernels.Polynomial,
    "rbf": _kernels.RBF,
    "product": _kernels.Product,
    "sequence": SequenceKernel,
    "box_chi2": BoxChi2,
}


def unknown(kind: str, name: Any, known: Iterable[str]) -> ValueError:
    """The error for a name nobody knows: what is known, and the nearest."""
    known = list(known)
    near = nearest(str(name), known)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return ValueError(f"unknown {kind} {name!r}{hint}; known: {', '.join(known)}")


def class_given(what: str, value: Any) -> str | None:
    """One sentence about a class given in place of an object, or None."""
    if not isinstance(value, type):
        return None
    return f"{what} is the class {value.__name__}: give an object of it, such as {value.__name__}(...)"


def _known(name: Any, names: Iterable[str]) -> bool:
    return isinstance(name, str) and name in names


def formulation(name: str | Formulation) -> Formulation:
    """One of the seven, by name."""
    if isinstance(name, Formulation):
        return name
    if not _known(name, FORMULATIONS):
        raise unknown("formulation", name, FORMULATIONS)
    return FORMULATIONS[name]


def solver(name: str | Trainable, **options: Any) -> Trainable:
    """A solver by name, with its own options (see its class)."""
    if isinstance(name, Trainable):
        return name
    reason = class_given("solver", name)
    if reason:
        raise ValueError(reason)
    if not _known(name, SOLVERS):
        raise unknown("solver", name, SOLVERS)
    make, fixed = SOLVERS[name]
    made: Trainable = _make(f"solver {name!r}", make, {**fixed, **options})
    return made


def problem(name: str, **params: Any) -> Problem:
    """A problem by the name of its class."""
    if name not in PROBLEMS:
        raise unknown("problem", name, PROBLEMS)
    made: Problem = _make(f"problem {name!r}", PROBLEMS[name], params)
    return made


def kernel(name: str, **params: Any) -> Any:
    """A kernel on inputs, or a joint kernel, by name."""
    if name not in KERNELS:
        raise unknown("kernel", name, KERNELS)
    return _make(f"kernel {name!r}", KERNELS[name], params)


def classes() -> dict[str, Any]:
    """Every class a saved model may name."""
    solvers = {make for make, _ in SOLVERS.values()}
    return {
        **PROBLEMS,
        **{kind.__name__: kind for kind in (*KERNELS.values(), *solvers, FactoredRows, PartRows)},
    }


def space(joint_kernel: Any = None) -> Linear | Joint:
    """Explicit features, or the space of a joint kernel."""
    return Linear() if joint_kernel is None else Joint(joint_kernel)


def _make(what: str, make: Callable[..., Any], params: dict[str, Any]) -> Any:
    known = list(getattr(make, "__dataclass_fields__", {}))
    for name in params:
        if name not in known:
            raise unknown(f"option of {what}:", name, known)
    return make(**params)


def check(
    problem: Problem | AdaptedProblem, formulation: Formulation, solver: Trainable, space: Linear | Joint
) -> str | None:
    """Why this problem, formulation, solver and space do not go together, or None if they do."""
    reason = class_given("problem", problem)
    if reason:
        return reason
    problem = adapt(problem)
    if problem.lacks:
        lacks = ", ".join(problem.lacks)
        return f"problem {problem.name!r} lacks {lacks}: see structmargin.problem for what each must do"
    reason = solver.needs.refuse(solver.name, formulation, space.explicit)
    if reason:
        return reason
    reason = check_space(problem, space)
    if reason:
        return reason
    reason = problem.refuse(formulation.H) if solver.needs.augmented else None
    if reason:
        return f"problem {problem.name!r} cannot be trained with {formulation.name!r}: {reason}"
    return None


def check_space(problem: Problem | AdaptedProblem, space: Linear | Joint) -> str | None:
    """Why this problem cannot be used in this space, or None: all that JKSE asks of the two."""
    reason = class_given("problem", problem)
    if reason:
        return reason
    problem = adapt(problem)
    if isinstance(space, Linear):
        return None
    if problem.explicit_only:
        return f"problem {problem.name!r} takes no joint kernel: {problem.explicit_only}"
    return _no_joint_kernel(problem, space.kernel)


JOINT_KERNELS = {
    "Multiclass": "Product({})",
    "Taxonomy": "Product({}, L=problem.L)",
    "Sequence": "SequenceKernel({})",
}
"""How a kernel on inputs becomes a joint kernel for a problem."""


def _no_joint_kernel(problem: AdaptedProblem, kernel: Any) -> str | None:
    """One sentence about what was given as a joint kernel and is none, or None."""
    if hasattr(kernel, "gram") and not isinstance(kernel, type):
        return _no_kernel_on_inputs(kernel)
    made, on_inputs = kernel, repr(kernel)
    if _known(kernel, KERNELS):
        made = KERNELS[kernel]
    if isinstance(made, type):
        on_inputs = f"{made.__name__}()"
    if hasattr(made, "gram"):  # a joint kernel by name, or its class
        remedy = f"give an object, such as {made.__name__}(...)"
    elif not callable(made):
        remedy = "give an object from structmargin.kernels, or None for the problem's own features"
    elif problem.name in JOINT_KERNELS:
        remedy = f"give {JOINT_KERNELS[problem.name].format(on_inputs)}"
    else:
        remedy = "give one with a method gram(X, Y, X2, Y2), such as structmargin.kernels.Pairwise"
    if isinstance(kernel, str):
        given = f"the string {kernel!r}"
    elif isinstance(kernel, type):
        given = f"the class {kernel.__name__}"
    else:
        given = f"{kernel!r}"
    return f"kernel is {given}, but a joint kernel on pairs (x, y) is needed: {remedy}"


def _no_kernel_on_inputs(joint: Any) -> str | None:
    """One sentence about a joint kernel whose kernel on inputs is a name or a class, or None."""
    kx: Any = getattr(joint, "kx", None)
    if not isinstance(kx, (str, type)):
        return None
    made: Any = KERNELS[str(kx)] if _known(kx, KERNELS) else kx
    remedy = f"{made.__name__}()" if isinstance(made, type) else "an object such as RBF()"
    given = f"the string {kx!r}" if isinstance(kx, str) else f"the class {kx.__name__}"
    return f"kx of {type(joint).__name__} is {given}, but a kernel on inputs is needed: give {remedy}"


def check_saved_kernel(problem: Problem | AdaptedProblem, kernel: Any) -> str | None:
    """Why a model from a file cannot have this problem and joint kernel, or None if it can."""
    if type(kernel) not in KERNELS.values():
        return f"its kernel is of type {type(kernel).__name__}, which is none"
    kx = getattr(kernel, "kx", None)
    if kx is not None and (type(kx) not in KERNELS.values() or hasattr(kx, "gram")):
        return f"its kernel on inputs is of type {type(kx).__name__}, which is none"
    return check_space(problem, Joint(kernel))


def check_online(solver: Trainable) -> str | None:
    """Why a solver cannot learn from a stream, or None if it can."""
    if isinstance(solver, Online):
        return None
    kinds = {name: make for name, (make, _) in SOLVERS.items() if isinstance(make, type)}
    online = [name for name, kind in kinds.items() if issubclass(kind, Online)]
    return (
        f"solver {solver.name!r} cannot learn chunk by chunk: partial_fit needs solver "
        f"{' or '.join(map(repr, online))}"
    )
