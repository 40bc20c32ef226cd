"""n_jobs of a problem in Python: joblib's workers, whatever the backend; what travels, what goes wrong."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from helpers.every_problem import points
from helpers.sameness import bits, of_model
from helpers.slow_problems import Dies, Locked, Noted, OddError, Raises
from helpers.toy_chain import ToyChain, chains
from structmargin import SearchError, StructuredSVM
from structmargin.fit import ConvergenceWarning
from structmargin.kernels import RBF, Product
from structmargin.problems import Multiclass
from structmargin.training.parallel import workers
from structmargin.training.parallel.workers import WorkerError, Workers


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Send however little there is to search; returns how many tasks were sent, and how many with data."""
    monkeypatch.setattr(workers, "TRIAL_SECONDS", -1.0)
    monkeypatch.setattr(workers, "MIN_SECONDS", 1e-12)
    numbers: list[tuple[int, int]] = []
    call = Workers._call

    def counted(self: Workers, tasks: list[tuple[Any, ...]]) -> list[Any]:
        numbers.append((len(tasks), sum(task[1] is not None for task in tasks)))
        return call(self, tasks)

    monkeypatch.setattr(Workers, "_call", counted)
    return numbers


X, Y = chains(14, n_labels=3, noise=0.8, seed=3)


@pytest.mark.parametrize(
    "backend, solver",
    [
        ("loky", "n_slack"),
        *(
            ("threading", name)
            for name in ("n_slack_b", "staged", "one_slack", "bcfw", "olarank", "perceptron")
        ),
    ],
)
def test_workers_find_the_same_model(backend: str, solver: str, sent: list[tuple[int, int]]) -> None:
    model = StructuredSVM(ToyChain(3, 2, sparse=solver == "bcfw"), solver=solver, C=5.0, gap_tol=0.05)
    found = []
    for n_jobs in (1, 2) if backend == "loky" else (1, 2, 3):
        with warnings.catch_warnings(), joblib.parallel_config(backend):
            warnings.simplefilter("ignore", ConvergenceWarning)  # one pass of olarank
            found.append(of_model(clone(model).set_params(n_jobs=n_jobs).fit(X, Y), X, Y))
    assert found[1] == found[0] and found[-1] == found[0]
    assert sent


def test_problem_and_data_travel_once(sent: list[tuple[int, int]], tmp_path: Path) -> None:
    problem = Noted(3, 2, folder=str(tmp_path))
    fit = StructuredSVM(problem, C=5.0, gap_tol=0.05, n_jobs=2).fit(X, Y).fit_
    unpickled = {path.name: path.read_text() for path in tmp_path.glob("unpickled-*")}
    assert 1 <= len(unpickled) <= 2 and set(unpickled.values()) == {"x"}
    assert f"unpickled-{os.getpid()}" not in unpickled
    assert len(list(tmp_path.glob("searched-*"))) == 1 + len(unpickled)  # this process tries the first one
    assert sent[0] == (8, 0) and sent[1] == (8, 8)  # what is missing is sent
    assert len(sent) > 5 and sum(data == 8 for _, data in sent) == 1  # and not with every pass
    assert fit.primal == StructuredSVM(problem, C=5.0, gap_tol=0.05).fit(X, Y).fit_.primal
    assert fit.seconds >= fit.seconds_search > 0.0


def test_a_worker_that_holds_something_else_is_sent_it_again(
    sent: list[tuple[int, int]],
) -> None:
    first, second = (StructuredSVM(ToyChain(3, 2, loss), n_jobs=2) for loss in ("hamming", "zero_one"))
    for model in (first, second, first):
        before = len(sent)
        model.fit(X, Y)
        assert sent[before : before + 2] == [(8, 0), (8, 8)]
    assert np.array_equal(first.w_, StructuredSVM(ToyChain(3, 2, "hamming")).fit(X, Y).w_)


def test_threads_copy_nothing(sent: list[tuple[int, int]]) -> None:
    problem = Locked(3, 2)
    with joblib.parallel_config("threading", n_jobs=3):
        model = StructuredSVM(problem, C=5.0).fit(X, Y)
        assert model.predict(X) == StructuredSVM(problem, C=5.0, n_jobs=1).fit(X, Y).predict(X)
    assert sent and not any(data for _, data in sent)
    assert model.fit_.seconds < 60.0


@pytest.fixture(scope="module")
def dask_cluster() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_a_dask_cluster_of_two_processes(
    dask_cluster: Any, sent: list[tuple[int, int]], tmp_path: Path
) -> None:
    problem = Noted(3, 2, folder=str(tmp_path))
    alone = StructuredSVM(problem, C=5.0, gap_tol=0.1).fit(X, Y)
    with joblib.parallel_config("dask"):
        model = StructuredSVM(problem, C=5.0, gap_tol=0.1, n_jobs=2).fit(X, Y)
    assert bits(model.w_) == bits(alone.w_) and bits(model.fit_.xi) == bits(alone.fit_.xi)
    unpickled = {path.name: path.read_text() for path in tmp_path.glob("unpickled-*")}
    assert len(unpickled) == 2 and set(unpickled.values()) == {"x"}
    assert f"unpickled-{os.getpid()}" not in unpickled
    assert sent[0][1] == 0 and len(sent) > 3


def test_a_joint_kernel_stays_here(sent: list[tuple[int, int]]) -> None:
    class Rows:
        """Multiclass in Python, whose potentials a kernel makes."""

        def delta(self, y: int, ybar: int) -> float:
            return float(y != ybar)

        def psi(self, x: Any, y: int) -> Any:
            return np.outer(x, np.eye(3)[y]).ravel()

        def factors(self, X: Any) -> Any:
            return np.asarray(X), np.eye(3)

        def argmax(self, f: Any, x: Any) -> int:
            return int(np.argmax([f(x, y) for y in range(3)]))

        def augmented_argmax(self, f: Any, x: Any, y: int, H: Any) -> int:
            return int(np.argmax([float(H(float(y != c), f(x, y) - f(x, c))) for c in range(3)]))

    rows, y = points(12)
    found = [StructuredSVM(Rows(), kernel=Product(RBF(0.2)), n_jobs=n).fit(rows, y) for n in (1, 2)]
    assert np.array_equal(found[0].predict(rows), found[1].predict(rows)) and not sent


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_the_best_outputs_are_the_same(backend: str, sent: list[tuple[int, int]]) -> None:
    rows, y = points(12)
    model = StructuredSVM(Multiclass(3, 4), n_jobs=1).fit(rows, y)
    alone = bits([model.decision_function(rows), model.k_best(rows, 3)])
    with joblib.parallel_config(backend):
        model.set_params(n_jobs=2)
        assert bits([model.decision_function(rows), model.k_best(rows, 3)]) == alone
    assert len(sent) == (4 if backend == "loky" else 2)


def test_what_cannot_be_sent_is_named(sent: list[tuple[int, int]]) -> None:
    sentence = (
        r"Locked or its data cannot be sent to another process \(TypeError: cannot pickle '_thread.lock' "
        r"object\): define its class in a module .* joblib.parallel_config\('threading'\), or set n_jobs=1"
    )
    with pytest.raises(ValueError, match=sentence):
        StructuredSVM(Locked(3, 2), n_jobs=2).fit(X, Y)


@pytest.mark.parametrize(
    "kind, error, text",
    [("search", SearchError, "in the search for example {i}: no"), ("plain", KeyError, "lost")],
)
def test_an_error_is_that_of_the_first_example(
    kind: str, error: type[Exception], text: str, sent: list[tuple[int, int]]
) -> None:
    problem = Raises(3, 2, kind=kind, bound=sorted(float(x[0, 0]) for x in X)[-4])
    first = next(i for i, x in enumerate(X) if float(x[0, 0]) > problem.bound)
    raised = []
    for n_jobs in (1, 2):
        with pytest.raises(error, match=text.format(i=first)) as caught:
            StructuredSVM(problem, n_jobs=n_jobs).fit(X, Y)
        raised.append(caught.value)
    assert str(raised[0]) == str(raised[1])
    if kind == "plain":
        notes = [note for note in raised[1].__notes__ if "in the search for example" in note.split("\n")[0]]
        assert notes == raised[0].__notes__
        assert any("augmented_argmax" in note for note in raised[1].__notes__)


def test_an_error_that_cannot_travel_is_told_in_words(sent: list[tuple[int, int]]) -> None:
    problem = Raises(3, 2, kind="odd", bound=float(X[0][0, 0]))
    with pytest.raises(OddError):
        StructuredSVM(problem, n_jobs=1).fit(X, Y)
    with pytest.raises(RuntimeError, match="OddError: 1 and 2"):
        StructuredSVM(problem, n_jobs=2).fit(X, Y)


def test_little_work_stays_here() -> None:
    """Searches of microseconds: no process is started for them."""
    started: list[Any] = []
    call = Workers._call
    try:
        Workers._call = lambda self, tasks: started.append(tasks) or call(self, tasks)  # type: ignore[method-assign]
        few, labels = chains(4, n_labels=2, seed=1)
        StructuredSVM(ToyChain(2, 2), n_jobs=2).fit(few, labels)
    finally:
        Workers._call = call  # type: ignore[method-assign]
    assert not started


def test_a_worker_that_dies_leaves_the_model_so_far(sent: list[tuple[int, int]], tmp_path: Path) -> None:
    problem = Dies(3, 2, spared=os.getpid(), folder=str(tmp_path))
    model = StructuredSVM(problem, C=5.0, gap_tol=1e-6, n_jobs=2)
    sentence = r"a worker ended before its search did \(TerminatedWorkerError\): see whether memory ran out"
    with pytest.raises(WorkerError, match=sentence):
        model.fit(X, Y)
    assert isinstance(WorkerError(), SearchError)
    assert model.fit_.n_iter >= 2 and not model.fit_.converged and model.fit_.dual > 0.0
    assert np.any(model.w_ != 0.0)
    assert len(model.set_params(n_jobs=1).predict(X)) == len(X)
