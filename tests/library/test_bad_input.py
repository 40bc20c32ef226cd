"""What bad input gets: an error that names the argument or the example, and says what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import structmargin
from helpers.toy_chain import ToyChain, chains
from structmargin import SearchError, StructuredSVM, registry
from structmargin.formulation import FORMULATIONS
from structmargin.kernels import LinearKernel, Product
from structmargin.problem import best_of, top_of
from structmargin.problems import Multiclass

X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, -1.0]])
Y = np.array([0, 1, 2, 0])
SOLVERS = ("n_slack", "n_slack_a", "n_slack_b", "staged", "one_slack", "bcfw")


def fit(**settings: Any) -> Any:
    problem = settings.pop("problem", Multiclass(3, 2))
    data = settings.pop("data", (X, Y))
    return StructuredSVM(problem, **settings).fit(*data)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"formulation": "SVM1 margins"},
            ["unknown formulation 'SVM1 margins'", "did you mean 'SVM1 margin'?", *FORMULATIONS],
        ),
        ({"formulation": "svm"}, ["unknown formulation 'svm'", *FORMULATIONS]),
        (
            {"solver": "nslack"},
            ["unknown solver 'nslack'", "did you mean 'n_slack'?", "one_slack", "bcfw", "perceptron"],
        ),
        ({"C": 0.0}, ["C must be a finite number above 0", "0.0"]),
        ({"C": -1}, ["C must be", "-1"]),
        ({"C": float("nan")}, ["C must be", "nan"]),
        ({"C": float("inf")}, ["C must be", "inf"]),
        ({"C": "1"}, ["C must be", "'1'"]),
        ({"eps": 0.0}, ["eps must be", "0.0"]),
        ({"eps": -0.1}, ["eps must be", "-0.1"]),
        ({"eps": float("nan")}, ["eps must be", "nan"]),
        ({"gap_tol": 0.0}, ["gap_tol must be", "0.0"]),
        ({"max_iter": 0}, ["max_iter must be", "0"]),
        ({"data": (X[:0], Y[:0])}, ["training set is empty", "X and Y"]),
        ({"data": ([], [])}, ["training set is empty"]),
        ({"data": (X, Y[:3])}, ["X has 4 examples but Y has 3"]),
        ({"data": (X, [0, 1, 3, 0])}, ["label", "3", "example 2", "0 to 2"]),
        ({"data": (X, [0, -1, 2, 0])}, ["-1", "example 1", "0 to 2"]),
        ({"data": (X, [0, 1, 0.5, 0])}, ["0.5", "example 2"]),
        ({"problem": Multiclass(3, 5)}, ["X has 2 features", "n_features=5"]),
        ({"problem": Multiclass(3, 2, loss=np.ones((3, 3)))}, ["loss", "0 on the diagonal"]),
        ({"problem": Multiclass(3, 2, loss=np.eye(3) - 1)}, ["loss", ">= 0"]),
        ({"problem": Multiclass(3, 2, loss=np.zeros((2, 2)))}, ["loss", "3 x 3", "(2, 2)"]),
        ({"problem": object()}, ["'object' lacks psi, delta, argmax, augmented_argmax"]),
        ({"formulation": "SVM2", "solver": "bcfw"}, ["'bcfw'", "'SVM2'", "squared slacks"]),
        ({"formulation": "SVM0", "solver": "one_slack"}, ["'one_slack'", "'SVM0'", "hard margins"]),
        ({"kernel": Product(LinearKernel()), "solver": "bcfw"}, ["'bcfw'", "joint kernel"]),
    ],
)
def test_the_error_names_what_is_wrong(settings: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ValueError) as caught:
        fit(**settings)
    text = str(caught.value)
    for word in words:
        assert word in text
    assert "\n" not in text


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("sparse", [False, True])
def test_features_that_are_no_numbers_name_their_example(value: float, sparse: bool) -> None:
    bad = X.copy()
    bad[2, 1] = value
    with pytest.raises(ValueError, match="NaN or infinite feature in example 2"):
        fit(data=(sp.csr_matrix(bad) if sparse else bad, Y))


@pytest.mark.parametrize("solver", SOLVERS)
def test_psi_that_is_no_number_names_its_example(solver: str) -> None:
    """A problem of one's own need not check its input: the search does."""
    inputs, outputs = chains(4)
    inputs[3][0, 1] = np.nan
    with pytest.raises(SearchError, match="Psi of example 3 at its truth is not finite"):
        registry.solver(solver).train(ToyChain(), (inputs, outputs), FORMULATIONS["SVM1 margin"])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: registry.solver("n_slack", varaint="a"),
            ["option", "'n_slack'", "'varaint'", "did you mean 'variant'?", "engine"],
        ),
        (lambda: registry.solver("bcfw", cache=3), ["option", "'bcfw'", "'cache'", "'cached'"]),
        (lambda: registry.solver("n_slack", variant="c"), ["variants 'a', 'b' and 'batch'", "'c'"]),
        (lambda: registry.solver("n_slack", engine="mosek"), ["engines 'ascent' and 'cvxopt'", "'mosek'"]),
        (
            lambda: registry.problem("Multiclas"),
            ["unknown problem 'Multiclas'", "did you mean 'Multiclass'?"],
        ),
        (lambda: registry.problem("Multiclass", n_clases=3), ["option", "'n_clases'", "n_classes"]),
        (lambda: registry.kernel("polynomal"), ["unknown kernel 'polynomal'", "did you mean 'polynomial'?"]),
        (lambda: registry.kernel("polynomial", degre=3), ["'degre'", "did you mean 'degree'?"]),
        (lambda: Multiclass(3, 2).with_params(los=1), ["Multiclass has no parameter 'los'", "'loss'"]),
        (
            lambda: StructuredSVM(Multiclass(3, 2)).set_params(problem__los=1),
            ["no parameter 'los'", "'loss'"],
        ),
        (lambda: StructuredSVM(Multiclass(3, 2)).set_params(c=1), ["'c'"]),
    ],
)
def test_unknown_names_suggest_the_nearest(make: Any, words: list[str]) -> None:
    with pytest.raises(ValueError) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


@dataclass(frozen=True)
class Broken(ToyChain):
    """A chain with one promise broken."""

    how: str = ""

    def delta(self, y: Any, ybar: Any) -> float:
        wrong = super().delta(y, ybar)
        if self.how == "negative":
            return -wrong
        if self.how == "nan":
            return np.nan if wrong else 0.0
        return wrong + 0.5 if self.how == "at truth" else wrong

    def augmented_argmax(self, f: Any, x: Any, y: Any, H: Any) -> Any:
        if self.how == "negative":
            return min(self.outputs(x), key=lambda ybar: self.delta(y, ybar))
        if self.how == "forgets the loss":
            return top_of(f, x, self.outputs(x))
        if self.how == "a bad day" and np.any(f.w):  # exact at w = 0 alone
            return y
        return best_of(self, f, x, y, H, self.outputs(x))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("negative", r"Delta of example 0 is -\d; a loss must be finite and >= 0"),
        ("nan", r"example \d.* is nan"),
        ("at truth", r"Delta\(y, y\) of example 0 is 0.5; a loss must be 0 at the truth"),
        ("a bad day", "search.*returned.*augmented_argmax does not maximise H.*exact = False"),
    ],
)
def test_a_broken_promise_is_named(how: str, words: str, solver: str) -> None:
    inputs, outputs = chains(4, noise=0.5)
    with pytest.raises(SearchError, match=words):
        registry.solver(solver).train(
            Broken(how=how), (inputs, outputs), FORMULATIONS["SVM1 margin"], C=0.5, eps=1e-3, max_iter=50
        )


def test_predicting_before_fitting_says_so() -> None:
    with pytest.raises(ValueError, match="not fitted"):
        StructuredSVM(Multiclass(3, 2)).predict(X)


NO_CACHE = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import structmargin
    from structmargin.formulation import FORMULATIONS, h_value
    value = h_value(FORMULATIONS["SVM2 slack"].H, 4.0, 0.25)
told = [str(w.message) for w in caught if "compiled code is not kept" in str(w.message)]
assert len(told) == 1, told
assert "NUMBA_CACHE_DIR" in told[0]
assert value == 1.5
from structmargin.dual import ascent
import numpy as np
assert ascent.solve_block(np.eye(1), np.ones(1), np.zeros(1), 1, np.inf, 0.0, 0.0, 1e-9, 10) == 1.0
print(structmargin.__file__)
"""


def test_without_a_folder_for_compiled_code_everything_works(tmp_path: Path) -> None:
    """A copy of the package whose cache folders cannot be made: files stand where they would be."""
    copy = tmp_path / "structmargin"
    shutil.copytree(Path(structmargin.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [copy, *(path for path in copy.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("in the way")
    (tmp_path / "home").write_text("in the way")
    hidden = {"NUMBA_CACHE_DIR", "PYTHONPATH", "HOME", "XDG_CACHE_HOME"}
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    home = str(tmp_path / "home" / "nobody")
    env |= {"PYTHONPATH": str(tmp_path), "HOME": home, "XDG_CACHE_HOME": home, "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run(
        [sys.executable, "-c", NO_CACHE], env=env, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert Path(run.stdout.strip()).parent == copy


CALLER = """
from structmargin.callee import f
from structmargin.compiled import compiled

@compiled
def g(x):
    return f(x)
"""
CALLEE = """
from structmargin.compiled import compiled

@compiled
def f(x):
    return {} * x
"""


def test_compiled_code_is_not_kept_beyond_a_change_of_what_it_calls(tmp_path: Path) -> None:
    """numba alone would go on with the caller's compiled code, since the caller's own file is the same."""
    copy = tmp_path / "structmargin"
    copy.mkdir()
    shutil.copy(Path(structmargin.__file__).parent / "compiled.py", copy)
    (copy / "__init__.py").write_text("")
    (copy / "caller.py").write_text(CALLER)
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    env.pop("NUMBA_CACHE_DIR", None)
    program = "from structmargin.caller import g; print(g(1.0), sum(g.dispatcher.stats.cache_hits.values()))"
    told = []
    for factor in (2, 2, 3):
        (copy / "callee.py").write_text(CALLEE.format(factor))
        run = subprocess.run(
            [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
        )
        told.append(run.stdout.split())
    assert told == [["2.0", "0"], ["2.0", "1"], ["3.0", "0"]]


TYPED = """
from structmargin.compiled import compiled
from structmargin.{} import Pair

@compiled
def g(pair):
    return pair.a + pair.b

print(g(Pair(1.0, 2.0)))
"""


def test_compiled_code_of_a_module_that_was_moved_is_not_read(tmp_path: Path) -> None:
    """numba's index names the types of arguments by their modules; reading it would fail after a move."""
    copy = tmp_path / "structmargin"
    copy.mkdir()
    shutil.copy(Path(structmargin.__file__).parent / "compiled.py", copy)
    (copy / "__init__.py").write_text("")
    pair = "from typing import NamedTuple\n\nclass Pair(NamedTuple):\n    a: float\n    b: float\n"
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    env.pop("NUMBA_CACHE_DIR", None)
    for home in ("before", "after"):
        (copy / "before.py").unlink(missing_ok=True)
        (copy / f"{home}.py").write_text(pair)
        (copy / "caller.py").write_text(TYPED.format(home))
        run = subprocess.run(
            [sys.executable, "-c", "import structmargin.caller"],
            env=env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (run.returncode, run.stdout) == (0, "3.0\n"), run.stderr
