"""n_jobs on threads: the same bits for every number of jobs, whatever problem, solver, kernel and measure."""

from __future__ import annotations

import copy
import pickle
import threading
import time
import warnings
from dataclasses import replace
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from helpers.every_problem import EVERY, example, points
from helpers.sameness import bits, of_model
from structmargin import JKSE, StructuredSVM, certify, registry
from structmargin.adapted import adapt
from structmargin.cuts import Cuts, JoinedOutputs
from structmargin.dual.working_set import Dual, NotSeparableError
from structmargin.fit import ConvergenceWarning
from structmargin.formulation import FORMULATIONS
from structmargin.kernels import RBF, Product
from structmargin.problems import Grammar, Multiclass, Sequence
from structmargin.problems.multiclass import problem as multiclass
from structmargin.problems.proteins import batch as proteins
from structmargin.problems.sequence import batch as sequence
from structmargin.scorer import ClassScorer, LinearScorer
from structmargin.training.parallel import jobs as parallel
from structmargin.training.parallel.jobs import Jobs, Pace, n_threads, slices
from structmargin.training.parallel.searches import searches_of


@pytest.fixture
def finely(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Divide however little there is to do; returns the numbers of slices, as they come."""
    monkeypatch.setattr(parallel, "MIN_SECONDS", 1e-12)
    monkeypatch.setattr(multiclass, "GRAIN", 2)
    monkeypatch.setattr(multiclass.MulticlassBatch, "grain", 2)
    monkeypatch.setattr(sequence, "GRAIN", 2)
    numbers: list[int] = []
    side_by_side = Jobs._side_by_side

    def counted(self: Jobs, task: Any, n: int) -> Any:
        numbers.append(n)
        return side_by_side(self, task, n)

    monkeypatch.setattr(Jobs, "_side_by_side", counted)
    return numbers


def found_with(n_jobs: int, model: StructuredSVM, X: Any, Y: Any) -> dict[str, Any]:
    """What training with so many jobs amounts to, in bits; or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # olarank goes over the data once
        try:
            return of_model(clone(model).set_params(n_jobs=n_jobs).fit(X, Y), X, Y)
        except NotSeparableError as error:
            return {"error": str(error)}


@pytest.mark.parametrize("name", EVERY)
def test_every_problem_and_solver_is_the_same_for_every_n_jobs(name: str, finely: list[int]) -> None:
    problem, X, Y, joint = example(name)
    formulations, trained = list(FORMULATIONS), 0
    for kernel in (None, *([joint] if joint is not None else [])):
        for k, solver in enumerate(registry.SOLVERS):
            for formulation in (formulations[(k + 3) % 7], "SVM1 margin"):  # one that fits is enough
                space, trainable = registry.space(kernel), registry.solver(solver)
                if registry.check(problem, registry.formulation(formulation), trainable, space) is None:
                    break
            else:
                continue
            model = StructuredSVM(problem, formulation, solver, C=5.0, kernel=kernel)
            found = found_with(1, model, X, Y)
            for n_jobs in (2, 3):
                assert found_with(n_jobs, model, X, Y) == found, (solver, formulation, kernel, n_jobs)
            trained += "w" in found
    assert trained >= 6
    assert not any(n < 2 for n in finely)
    assert bool(finely) == (name != "Measure")  # one sample is one example


def random_chains(n: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(7)
    X = [rng.normal(size=(int(T), 301)) for T in rng.integers(1, 5, size=n)]
    W = rng.normal(size=(301, 5))
    return X, [np.argmax(x @ W + rng.normal(size=(len(x), 5)), axis=1) for x in X]


@pytest.mark.parametrize("kind", ["dense chains", "sparse chains", "dense rows", "sparse rows", "kernel"])
@pytest.mark.parametrize("smallest", [False, True])
def test_products_of_matrices_round_alike_in_slices(
    kind: str, smallest: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BLAS rounds a product by the shapes of its factors, and one row otherwise than many: nothing shows."""
    monkeypatch.setattr(parallel, "MIN_SECONDS", 1e-12)
    monkeypatch.setattr(sequence, "MIN_PART_ENTRIES", 1)  # margins are then sums of these products
    if smallest:
        monkeypatch.setattr(parallel, "PER_JOB", 1000)
        monkeypatch.setattr(multiclass, "GRAIN", 1)
        monkeypatch.setattr(multiclass.MulticlassBatch, "grain", 1)
        monkeypatch.setattr(sequence, "GRAIN", 1)
    rng = np.random.default_rng(0)
    problem: Any
    if "chains" in kind:
        X, Y = random_chains(3 * sequence.GRAIN + 77)
        problem = Sequence(5, 301)
        X = [sp.csr_matrix(np.where(x > 1.0, x, 0.0)) for x in X] if "sparse" in kind else X
    else:
        n = 3 * multiclass.GRAIN + 77
        X = rng.normal(size=(n, 101))
        X = sp.csr_matrix(np.where(X > 1.0, X, 0.0)) if "sparse" in kind else X
        Y, problem = rng.integers(7, size=n), Multiclass(7, 101)
    f: Any = LinearScorer(problem, rng.normal(size=problem.n_weights))
    if kind == "kernel":
        f = ClassScorer(problem, Product(RBF(0.1)), X[:50], rng.normal(size=(50, 7)))
    H = FORMULATIONS["SVM1 margin"].H
    adapted = adapt(problem)
    answers = []
    for n_jobs in (1, 2, 3):
        with Jobs(n_jobs) as jobs:
            searches = searches_of(adapted, adapted.batch(X, Y), X, Y, H, f.w is not None, jobs)
            cuts = searches.search(f, np.arange(len(Y)), H, 3)
            rest = cuts._replace(outputs=[np.asarray(ybar) for ybar in cuts.outputs])
            answers.append(bits([*rest, searches.argmax(f)]))
    assert answers[1] == answers[0] and answers[2] == answers[0]


@pytest.mark.parametrize(
    "name, module, function",
    [("Sequence", sequence, "difference_rows"), ("ProteinAlignment", proteins, "_search_all")],
)
def test_no_two_threads_write_to_one_work_space(
    name: str, module: Any, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each thread waits inside a compiled function for the other, and shows what it writes to."""
    monkeypatch.setattr(parallel, "PER_JOB", 1)
    both, compiled, written = threading.Barrier(2, timeout=20.0), getattr(module, function), []

    def seen(*arguments: Any) -> Any:
        work = arguments[-1] if name == "Sequence" else arguments[6].S
        written.append(work)
        both.wait()
        return compiled(*arguments)

    problem, X, Y, _ = example(name)
    adapted, H = adapt(problem), FORMULATIONS["SVM1 margin"].H
    batch = adapted.batch(X, Y)
    if name == "Sequence":
        batch = replace(batch, grain=1)  # the examples are fewer than the grain of dense ones
    f = LinearScorer(problem, np.random.default_rng(0).normal(size=problem.n_weights))
    monkeypatch.setattr(module, function, seen)
    with Jobs(2) as jobs:
        searches_of(adapted, batch, X, Y, H, True, jobs).search(f, np.arange(len(Y)), H, 1)
    assert len(written) == 2 and not np.shares_memory(*written)


def test_jkse_predicts_the_same(finely: list[int]) -> None:
    for name in ("Multiclass", "Sequence", "Grammar", "Localization"):
        problem, X, Y, joint = example(name)
        for kernel in (None, *([joint] if joint is not None else [])):
            models = [JKSE(problem, kernel, nu=0.5, n_jobs=n_jobs).fit(X, Y) for n_jobs in (1, 2, 3)]
            found = [bits([model.w_, model.predict(X), model.score(X, Y)]) for model in models]
            assert found[1] == found[0] and found[2] == found[0], (name, kernel)
    assert max(finely) > 2


def test_partial_fit_and_certify_are_the_same(finely: list[int]) -> None:
    problem, X, Y, _ = example("Sequence")
    found = []
    for n_jobs in (1, 2):
        model = StructuredSVM(problem, solver="olarank", C_per_example=1.0, n_jobs=n_jobs)
        for chunk in (slice(0, 3), slice(3, 6)):
            model.partial_fit(X[chunk], Y[chunk])
        certificate = certify(problem, X, Y, model.scorer_, FORMULATIONS["SVM1 margin"], 6.0, n_jobs=n_jobs)
        found.append(bits([model.w_, *certificate]))
    assert found[0] == found[1] and finely


def test_searches_do_run_side_by_side() -> None:
    """Two searches that wait for each other end only if both are under way at once."""
    both = threading.Barrier(2, timeout=20.0)

    class Meeting(Grammar):
        def batch(self, X: Any, Y: Any) -> Any:
            made = super().batch(X, Y)
            if Y is None:
                argmax = made.argmax
                made.argmax = lambda f, indices: (both.wait(), argmax(f, indices))[1]
            return made

    problem, X, Y, _ = example("Grammar")
    model = StructuredSVM(Meeting(), n_jobs=2).fit(X, Y)
    trees = StructuredSVM(problem).fit(X, Y).predict(X)
    assert model.predict(X) == trees
    assert len(trees) == 4  # which two threads meet over twice


def test_a_batch_that_says_nothing_is_searched_as_one() -> None:
    seen: list[int] = []

    class Whole(Multiclass):
        def batch(self, X: Any, Y: Any) -> Any:
            made = super().batch(X, Y)

            class Own:
                takes_kernels = True
                rows = made.rows

                def search(self, f: Any, indices: np.ndarray, H: Any) -> Cuts:
                    seen.append(len(indices))
                    return made.search(f, indices, H)

                def argmax(self, f: Any) -> np.ndarray:
                    return made.argmax(f)

            return Own()

    X, Y = points(24)
    model = StructuredSVM(Whole(3, 4), n_jobs=3).fit(X, Y)
    assert set(seen) == {24, 10}  # all of them, and those that are tried at the end
    assert np.array_equal(model.predict(X), StructuredSVM(Multiclass(3, 4)).fit(X, Y).predict(X))


def test_an_error_is_that_of_one_job(finely: list[int]) -> None:
    """A batch counts the sequences that it is given: an error must name them as if there were one slice."""
    problem = Sequence(2, 3, first=[True, False], final=[False, True])
    X = [np.eye(3)[[0, 1]], np.eye(3)[[1, 2]], np.eye(3)[[0, 2]]]
    model = StructuredSVM(problem, n_jobs=1).fit(X, [np.array([0, 1])] * 3)
    too_short = [*X, *X, np.eye(3)[[0]], X[0]]  # its one label would have to be 0 and 1
    messages = []
    for n_jobs in (1, 3):
        with pytest.raises(ValueError, match="no labelling of sequence 6 ") as caught:
            model.set_params(n_jobs=n_jobs).predict(too_short)
        messages.append(str(caught.value))
    assert messages[0] == messages[1] and finely[-1] > 2


def test_an_interrupted_search_leaves_the_model(finely: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is interrupted is the thread that waits: slices that have not begun are dropped."""
    problem, X, Y, _ = example("Grammar")
    waited = Jobs._side_by_side
    calls = iter(range(100))

    def interrupted(self: Jobs, task: Any, n: int) -> Any:
        if next(calls) == 1:
            raise KeyboardInterrupt
        return waited(self, task, n)

    monkeypatch.setattr(Jobs, "_side_by_side", interrupted)
    model = StructuredSVM(problem, C=5.0, gap_tol=1e-9, n_jobs=2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert not model.fit_.converged and np.any(model.w_ != 0.0)
    assert model.fit_.primal >= model.fit_.dual > 0.0  # certified by one more search, on the same threads
    assert threading.active_count() == 1 + sum(t.daemon for t in threading.enumerate())


def test_sentences_without_a_parse_are_told_once(finely: list[int]) -> None:
    problem, X, Y, _ = example("Grammar")
    model = StructuredSVM(problem, n_jobs=3).fit(X, Y)
    unparsed = [*X, ("DT", "DT"), *X, ("VBZ",)]
    with pytest.warns(match="2 of 10 sentences have no parse .*number 4, 9") as caught:
        assert [tree is None for tree in model.predict(unparsed)] == [False] * 4 + [True] + [False] * 4 + [
            True
        ]
    assert len(caught) == 1 and caught[0].filename == __file__
    assert finely[-1] > 1


@pytest.mark.parametrize("n", [0, 1, 2, 7, 16, 100])
@pytest.mark.parametrize("grain", [1, 4])
@pytest.mark.parametrize("most", [1, 3, 16])
def test_slices_are_multiples_of_the_grain(n: int, grain: int, most: int) -> None:
    parts = slices(np.arange(n), most, grain)
    assert np.array_equal(np.concatenate(parts), np.arange(n))
    assert len(parts) == max(min(most, -(-n // grain)), 1)
    assert all(len(part) % grain == 0 for part in parts[:-1])
    assert all(len(part) > 0 for part in parts) or n == 0
    assert max(map(len, parts)) - min(map(len, parts)) <= 2 * grain


def test_what_is_quick_is_not_divided() -> None:
    pace = Pace()
    assert pace.worth(40, 1e-3) == 40  # unknown
    pace.note(2e-3, 40)
    assert pace.worth(40, 1e-3) == 2 and pace.worth(10, 1e-3) == 0
    with Jobs(2) as jobs:
        fast, slow = Pace(), Pace()
        for pace, seconds, wanted in ((fast, 0.0, 1), (slow, 2e-3, 16)):
            pace.note(seconds * 40, 40)
            parts = jobs.divided(lambda part, s=seconds: time.sleep(s) or len(part), np.arange(40), 1, pace)
            assert len(parts) == wanted and sum(parts) == 40


def test_outputs_are_joined_without_being_made() -> None:
    class Lazy(list[Any]):
        def __getitem__(self, k: Any) -> Any:
            made.append(k)
            return super().__getitem__(k)

    made: list[int] = []
    joined = JoinedOutputs([Lazy("ab"), Lazy(), Lazy("cde")])
    assert len(joined) == 5 and made == []
    assert [joined[k] for k in (4, 0, 2, -1)] == ["e", "a", "c", "e"] and made == [2, 0, 0, 2]
    assert joined[1:4] == ["b", "c", "d"] and list(joined) == list("abcde")
    with pytest.raises(IndexError):
        joined[5]


@pytest.mark.parametrize("n_jobs", [0, "two", 1.5, True, [2]])
def test_other_numbers_of_jobs_are_refused(n_jobs: Any) -> None:
    problem, X, Y, _ = example("Multiclass")
    sentence = "n_jobs must be None or a whole number other than 0, such as 2, or -1 for all cores, but it is"
    for model in (StructuredSVM(problem), JKSE(problem)):
        with pytest.raises(ValueError, match=sentence):
            clone(model).set_params(n_jobs=n_jobs).fit(X, Y)
        with pytest.raises(ValueError, match=sentence):
            clone(model).fit(X, Y).set_params(n_jobs=n_jobs).predict(X)


def test_none_is_what_joblib_says() -> None:
    cores = joblib.cpu_count()
    assert [n_threads(n) for n in (None, 1, 3, -1)] == [1, 1, 3, cores]
    with joblib.parallel_config(n_jobs=2):
        assert n_threads(None) == min(2, cores)
        assert n_threads(5) == 5
    with joblib.parallel_config("threading", n_jobs=1):
        assert n_threads(None) == 1


def test_a_model_with_work_space_can_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cuts of sequences by their tokens keep what makes them, scratch memory included."""
    monkeypatch.setattr(sequence, "MIN_PART_ENTRIES", 1)
    problem, X, Y, _ = example("Sequence")
    model = StructuredSVM(problem, C=5.0, warm_start=True, n_jobs=2).fit(X, Y)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert bits(other.predict(X)) == bits(model.predict(X))
        assert isinstance(other.fit_.state, Dual)
        again = other.set_params(C=2.0).fit(X, Y).w_  # from the cuts of the copy
        assert bits(again) == bits(clone(model).set_params(C=5.0).fit(X, Y).set_params(C=2.0).fit(X, Y).w_)


def test_n_jobs_is_of_the_machine_not_of_the_model() -> None:
    problem, X, Y, _ = example("Multiclass")
    model = StructuredSVM(problem, n_jobs=2).fit(X, Y)
    assert clone(model).n_jobs == model.get_params()["n_jobs"] == 2
    loaded = StructuredSVM.from_arrays(model.to_arrays())
    assert loaded.n_jobs is None and np.array_equal(loaded.w_, model.w_)
    assert JKSE.from_arrays(JKSE(problem, n_jobs=2).fit(X, Y).to_arrays()).n_jobs is None
