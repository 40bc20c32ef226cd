"""What the estimators share: predicting, scoring by loss, nested parameters, what X looks like, seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from structmargin.adapted import AdaptedProblem, adapt
from structmargin.estimators.verbosity import telling_of_compiling
from structmargin.inputs import gate
from structmargin.inputs.features import has_names
from structmargin.inputs.matrices import matrix
from structmargin.problem import Problem
from structmargin.scorer import best_and_margin
from structmargin.training.parallel.jobs import Jobs
from structmargin.training.parallel.searches import example_searches, searches_of

MAX_SEED = 2**31 - 1
"""Seeds drawn from a user's generator are below this."""


def seed_of(random_state: Any) -> int | None:
    """What solvers take as a seed: an int or None as they are, or a number drawn from a generator."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(MAX_SEED))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(MAX_SEED))
    whole = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if random_state is not None and not (whole and random_state >= 0):
        raise ValueError(
            "random_state must be an int of at least 0, None, a numpy Generator or a RandomState, "
            f"but it is {random_state!r}"
        )
    return None if random_state is None else int(random_state)


class Structured(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What both estimators share: predicting with a scorer, scoring by loss, nested parameters."""

    problem: Problem
    problem_: Problem
    scorer_: Any
    n_jobs: int | None

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as in scikit-learn.

        A problem is immutable, so `problem__eta=.5` puts a changed copy in its place.

        Parameters
        ----------
        **params
            Parameters by name; `problem__name` for one of the problem's own.

        Returns
        -------
        self
        """
        nested = {k.removeprefix("problem__"): v for k, v in params.items() if k.startswith("problem__")}
        super().set_params(**{k: v for k, v in params.items() if not k.startswith("problem__")})
        if nested:
            self.problem = adapt(self.problem).with_params(**nested)
        return self

    @property
    def classes_(self) -> np.ndarray:
        """The labels that predictions are made of, in the order of their numbers, where there are such."""
        check_is_fitted(self, "scorer_")
        labels = adapt(self.problem_).class_labels
        if labels is None:
            raise AttributeError(f"outputs of {type(self.problem_).__name__!r} are not made of class labels")
        return labels()

    def predict(self, X: Any) -> Sequence[Any]:
        """Predict the best-scoring output of every input.

        Parameters
        ----------
        X : sequence of inputs, or matrix with one row per input
            As the problem takes them.

        Returns
        -------
        sequence of outputs
            As the problem gives them: an array of class numbers, a list of label sequences, ...
        """
        check_is_fitted(self, "scorer_")
        problem = adapt(self.problem_)
        inputs = gate.inputs_of(problem, self._inputs(problem, X))
        yhat: Sequence[Any] = problem.unwrap(self._argmax(problem, inputs))
        return yhat

    def score(self, X: Any, Y: Any) -> float:
        """Minus the mean loss: larger is better, as scikit-learn's searches expect.

        Parameters
        ----------
        X : sequence of inputs, or matrix with one row per input
        Y : sequence of outputs
            The right ones, as many as there are inputs.

        Returns
        -------
        float
        """
        check_is_fitted(self, "scorer_")
        problem = adapt(self.problem_)
        X, Y = gate.scored(problem, self._inputs(problem, X), Y)
        yhat = self._argmax(problem, X)
        return -float(np.mean(problem.losses(X, Y, yhat)))

    def k_best(self, X: Any, k: int) -> list[list[tuple[float, Any]]]:
        """The k best-scoring outputs of every input, with their scores.

        For problems with a search for them: `Multiclass`, `Taxonomy`, `Sequence`, or one of your own that has
        a `k_best`.

        Parameters
        ----------
        X : sequence of inputs, or matrix with one row per input
            As the problem takes them.
        k : int
            How many outputs, at least 1.

        Returns
        -------
        list of lists of (score, output)
            One list per input, best first; fewer than k where there are no more outputs.

        Raises
        ------
        TypeError
            If the problem has no such search.

        Examples
        --------
        >>> import numpy as np
        >>> from structmargin import StructuredSVM
        >>> from structmargin.problems import Multiclass
        >>> X, Y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]), np.array([0, 1, 2])
        >>> model = StructuredSVM(Multiclass(n_classes=3, n_features=2), C=100.0).fit(X, Y)
        >>> [[y for _, y in outputs] for outputs in model.k_best([[1.0, 0.5]], k=3)]
        [[0, 1, 2]]
        """
        check_is_fitted(self, "scorer_")
        problem = adapt(self.problem_)
        inputs = gate.inputs_of(problem, self._inputs(problem, X))
        found = self._k_best(problem, inputs, k)
        outputs = iter(problem.unwrap([y for several in found for _, y in several]))
        return [[(score, next(outputs)) for score, _ in several] for several in found]

    def decision_function(self, X: Any) -> np.ndarray:
        """How clear the prediction is: the best score of every input, and its margin to the second best.

        Not the scores of all classes: outputs are too many to list, and two numbers mean the same for every
        problem. `k_best` gives more scores, for `Multiclass` and `Taxonomy` those of all classes.

        Parameters
        ----------
        X : sequence of inputs, or matrix with one row per input
            As the problem takes them.

        Returns
        -------
        ndarray of shape (n_inputs, 2)
            f(x, y) of the best output, and how much it is above that of the second best: at least 0, and
            infinite where there is only one output.

        Raises
        ------
        TypeError
            If the problem has no search for the second best output; see `k_best`.
        """
        check_is_fitted(self, "scorer_")
        problem = adapt(self.problem_)
        inputs = gate.inputs_of(problem, self._inputs(problem, X))
        return best_and_margin(self._k_best(problem, inputs, 2))

    @telling_of_compiling()
    def _argmax(self, problem: AdaptedProblem, X: Any) -> Sequence[Any]:
        """The best-scoring outputs of inputs that are wrapped already."""
        f = self.scorer_
        with Jobs(self.n_jobs) as jobs:
            batch = problem.batch(X, None)
            return searches_of(problem, batch, X, None, None, f.w is not None, jobs).argmax(f)

    def _k_best(self, problem: AdaptedProblem, X: Any, k: int) -> list[list[tuple[float, Any]]]:
        """The k best outputs of inputs that are wrapped already, with their scores."""
        f = self.scorer_
        with Jobs(self.n_jobs) as jobs:
            return example_searches(problem, X, None, None, f.w is not None, jobs).k_best(f, k)

    def _inputs(self, problem: AdaptedProblem, X: Any, *, first: bool = False) -> Any:
        """X as it is, but a list of rows as a matrix; its columns are noted at first, and compared later.

        Where inputs are the rows of a matrix, `n_features_in_` and the names of a table's columns are kept as
        in scikit-learn. What is no matrix is left to the gate, which says what is wrong.
        """
        if problem.matrix_inputs:
            if isinstance(X, (list, tuple)) and len(X) and not any(map(has_names, X)):
                X = matrix(X)
            if getattr(X, "ndim", 0) == 2:
                validate_data(self, X, reset=first, skip_check_array=True)
        return X

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn may expect: outputs are needed, inputs are a matrix if the problem says so."""
        tags = super().__sklearn_tags__()
        rows = adapt(self.problem).matrix_inputs
        tags.target_tags.required = True
        tags.input_tags.two_d_array, tags.input_tags.sparse = rows, rows
        return tags
