"""`partial_fit`: examples come in chunks, and chunk after chunk is one pass over all of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Self

from structmargin import registry
from structmargin.adapted import adapt
from structmargin.estimators.base import Structured, seed_of
from structmargin.estimators.verbosity import reporting
from structmargin.fit import Fit
from structmargin.formulation import Formulation
from structmargin.inputs import gate
from structmargin.inputs.containers import count
from structmargin.problem import Problem
from structmargin.scorer import KernelScorer
from structmargin.training.online import joined
from structmargin.training.trainable import require_examples


class Stream(NamedTuple):
    """What `partial_fit` remembers: how it was set up, how many examples came, and these, if needed again."""

    problem: Any
    kernel: Any
    method: tuple[Any, Formulation]
    n: int
    examples: tuple[Any, Any] | None

    def is_of(self, model: LearnsInChunks, method: tuple[Any, Formulation]) -> bool:
        """Whether a model is still set up as it was."""
        return self.problem is model.problem and self.kernel is model.kernel and self.method == method


class LearnsInChunks(Structured):
    """`partial_fit`, for an estimator with a solver."""

    fit_: Fit
    solver: Any
    kernel: Any
    random_state: Any
    verbose: int
    progress: Any
    _stream: Stream | None

    @abstractmethod
    def _parts(self) -> tuple[Any, Formulation, Any]:
        """Solver, formulation and space."""

    @abstractmethod
    def _C_of(self, n: int) -> Any:
        """C for n examples."""

    @abstractmethod
    def _keep(self, problem: Problem, fit: Fit) -> None:
        """This fit is the model now."""

    @staticmethod
    def _bound(space: Any, former: Fit | None, X: Any, Y: Any) -> Any:
        """The space with what its kernel learns from the training pairs; of a former fit, that fit's own."""
        if space.explicit or former is None or not isinstance(former.scorer, KernelScorer):
            return space.bound(X, Y)
        return registry.space(former.scorer.kernel)

    @property
    def partial_fit(self) -> Callable[[Any, Any], Self]:
        """Learn one more chunk of examples, in one pass: `partial_fit(X, Y)`, for online solvers.

        These are 'olarank' and 'perceptron'; with another solver there is no such method. Chunk after chunk
        is one pass over all examples, as `fit` with one pass would be (without `shuffle`; with it, the order
        is random inside each chunk; and with 'olarank' rounding may break ties differently).

        For 'olarank' the objective is that of all examples so far. With `C_per_example` the price of a slack
        stays as examples come; with C it is C/n, and what was learnt is scaled down as n grows. It keeps all
        examples, as it visits old ones again; the perceptron keeps none.

        No gap is certified, since that needs a search over all examples so far: use `structmargin.certify`.
        Classes, grammar rules and kernels are learnt from the first chunk. After `fit`, `partial_fit`
        continues from its model; `fit` always starts over.

        Parameters
        ----------
        X : sequence of inputs, or matrix with one row per input
            As the problem takes them.
        Y : sequence of outputs
            The right ones, as many as there are inputs.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from structmargin import StructuredSVM
        >>> from structmargin.problems import Multiclass
        >>> X = np.array([[2.0, 0.1], [0.1, 1.8], [1.5, 0.2], [0.3, 2.2]])
        >>> Y = np.array([0, 1, 0, 1])
        >>> model = StructuredSVM(Multiclass(n_classes=2, n_features=2), solver="olarank", C_per_example=1.0)
        >>> for chunk in (slice(0, 2), slice(2, 4)):
        ...     model = model.partial_fit(X[chunk], Y[chunk])
        >>> model.predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
        [0, 1]
        """
        reason = registry.check_online(registry.solver(self.solver))
        if reason:
            raise AttributeError(reason)
        return self._partial_fit

    def _partial_fit(self, X: Any, Y: Any) -> Self:
        solver, formulation, space = self._parts()
        stream: Stream | None = getattr(self, "_stream", None)
        if stream is None and hasattr(self, "fit_"):
            raise ValueError(
                "partial_fit goes on from fit or partial_fit, but this model was loaded from a file, or its "
                "last training broke off: start again from sklearn.base.clone(model)"
            )
        if stream is not None and not stream.is_of(self, (solver, formulation)):
            raise ValueError(
                "problem, formulation, solver and kernel must stay as they were in fit or partial_fit "
                "before: start again from sklearn.base.clone(model)"
            )
        given = adapt(self.problem)
        X, Y = gate.pairs(self._inputs(given, X, first=stream is None), Y)
        problem = given.bind(X, Y) if stream is None else self.problem_
        new = adapt(problem).wrap(X, Y)
        require_examples(adapt(problem), *new)
        space = self._bound(space, None if stream is None else self.fit_, *new)
        n = count(new[1]) if stream is None else stream.n + count(new[1])
        examples = new
        if stream is not None and stream.examples is not None:
            examples = joined(stream.examples[0], new[0]), joined(stream.examples[1], new[1])
        self._stream = None
        with reporting(self.verbose, self.progress) as progress:
            fit = solver.learn(
                problem,
                examples,
                formulation,
                space,
                first=count(examples[1]) - count(new[1]),
                C=self._C_of(n),
                random_state=seed_of(self.random_state),
                warm_start=None if stream is None else self.fit_,
                progress=progress,
                n_jobs=self.n_jobs,
            )
        self._keep(problem, fit)
        self._remember(solver, formulation, n, examples)
        return self

    def _remember(self, solver: Any, formulation: Formulation, n: int, examples: tuple[Any, Any]) -> None:
        """Note what the next `partial_fit` has to know."""
        kept = examples if solver.revisits else None
        self._stream = Stream(self.problem, self.kernel, (solver, formulation), n, kept)
