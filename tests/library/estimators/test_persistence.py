"""Copies of fitted estimators by pickle, joblib and deepcopy; files by `save`, and files of other kinds."""

from __future__ import annotations

import copy
import os
import pickle
import stat
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from helpers.every_problem import EVERY, example, points
from structmargin import JKSE, ConvergenceWarning, ModelFileError, StructuredSVM, registry
from structmargin.adapted import adapt
from structmargin.kernels import RBF, Product
from structmargin.problems import Multiclass
from structmargin.solvers.n_slack import NSlack
from structmargin.solvers.olarank import OLaRank

SOLVERS = {name: name for name in registry.SOLVERS if name != "olarank"} | {"olarank": OLaRank(reprocess=1)}
CASES = [
    (name, solver, kernel)
    for name in EVERY
    for solver in (*SOLVERS, "JKSE")
    for kernel in ((False, True) if example(name).kernel is not None else (False,))
    if not (kernel and solver in ("one_slack", "bcfw"))  # these refuse kernels
]


def fitted(name: str, solver: str, kernel: bool) -> tuple[Any, Any, Any]:
    problem, X, Y, joint = example(name)
    joint = joint if kernel else None
    model: Any = JKSE(problem, kernel=joint, nu=0.5)
    if solver != "JKSE":
        model = StructuredSVM(problem, solver=SOLVERS[solver], kernel=joint, C=5.0, warm_start=True)
    return fit(model, X, Y), X, Y


def fit(model: Any, X: Any, Y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, Y)


def predictions(model: Any, X: Any) -> str:
    """As a text: outputs are arrays, trees and records."""
    with np.printoptions(threshold=10**6, precision=17):
        return repr(list(model.predict(X)))


@pytest.mark.parametrize(("name", "solver", "kernel"), CASES)
def test_a_copy_is_the_model(name: str, solver: str, kernel: bool, tmp_path: Path) -> None:
    model, X, Y = fitted(name, solver, kernel)
    joblib.dump(model, tmp_path / "model.joblib")
    copies = {
        "pickle": pickle.loads(pickle.dumps(model)),
        "joblib": joblib.load(tmp_path / "model.joblib"),
        "deepcopy": copy.deepcopy(model),
    }
    want = predictions(model, X)
    examples = adapt(model.problem_).wrap(X, Y)
    scores = [model.scorer_(examples[0][i], examples[1][i]) for i in range(len(examples[1]))]
    for how, other in copies.items():
        assert predictions(other, X) == want, how
        again = [other.scorer_(examples[0][i], examples[1][i]) for i in range(len(scores))]
        assert again == scores, how
        if model.w_ is not None:
            np.testing.assert_array_equal(other.w_, model.w_)
            assert other.w_ is not model.w_
        assert repr(other.fit_) == repr(model.fit_)
    # trained again, the copy goes on as the model does, or begins anew where inputs cannot be compared
    anew = repr(model.fit_)
    assert repr(fit(copies["pickle"], X, Y).fit_) in (anew, repr(fit(model, X, Y).fit_))


def test_every_problem_of_the_registry_is_among_them() -> None:
    assert set(EVERY) == set(registry.PROBLEMS)


@pytest.mark.parametrize("kernel", [None, Product(RBF(0.2))], ids=["features", "kernel"])
def test_a_warm_start_after_unpickling_goes_on(kernel: Any) -> None:
    X, Y = points()
    model = StructuredSVM(Multiclass(), C=5.0, gap_tol=1e-5, kernel=kernel, warm_start=True).fit(X, Y)
    again = pickle.loads(pickle.dumps(model)).fit(X.copy(), Y.copy()).fit_
    searches = 1 if kernel is None else 2  # over all labels one certifies; else a pass, and the last search
    assert again.n_constraints == 0 and again.oracle_calls == searches * len(Y)
    assert again.primal == pytest.approx(model.fit_.primal, rel=1e-5)
    other = pickle.loads(pickle.dumps(model)).fit(X[::-1], Y[::-1]).fit_
    assert other.n_constraints > 0 and other.primal == pytest.approx(model.fit_.primal, rel=2e-5)


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_file_follows_the_umask(mask: int, mode: int, tmp_path: Path) -> None:
    model = StructuredSVM(Multiclass(), C=5.0).fit(*points())
    before = os.umask(mask)
    try:
        model.save(tmp_path / "model.npz")
        model.save(tmp_path / "model.npz")  # over the one that is there
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model.npz").stat().st_mode) == mode
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


def test_settings_come_back() -> None:
    X, Y = points()
    model = StructuredSVM(
        Multiclass(), "SVM2 margin", NSlack(most=3, epochs=5), C_per_example=0.5, gap_tol=1e-3,
        oracle_tol=1e-9, max_iter=77, warm_start=True, random_state=5, verbose=0, kernel=Product(RBF(0.1)),
    ).fit(X, Y)  # fmt: skip
    again = StructuredSVM.from_arrays(model.to_arrays())
    for name, value in model.get_params(deep=False).items():
        if name not in ("problem", "progress"):
            assert getattr(again, name) == value, name
    assert again.fit_.C == model.fit_.C == 12.0
    assert repr(again.fit_) == repr(model.fit_)
    assert again.fit(X, Y).fit_.primal == model.fit_.primal
    loose = StructuredSVM(Multiclass(), C=1, max_iter=1e4, warm_start=1, verbose=False, gap_tol=1).fit(X, Y)
    again = StructuredSVM.from_arrays(loose.to_arrays())
    assert again.get_params(deep=False) == {**loose.get_params(deep=False), "problem": again.problem}
    generator = StructuredSVM(Multiclass(), random_state=np.random.default_rng(0)).fit(X, Y)
    assert StructuredSVM.from_arrays(generator.to_arrays()).random_state is None


def one_sentence(error: pytest.ExceptionInfo[BaseException]) -> str:
    text = str(error.value)
    assert "\n" not in text and ". " not in text
    return text


def test_a_file_of_another_kind_is_one_sentence(tmp_path: Path) -> None:
    X, Y = points()
    JKSE(Multiclass(), nu=0.5).fit(X, Y).save(tmp_path / "jkse.npz")
    with pytest.raises(ValueError, match=r"is a JKSE, not a StructuredSVM; load it with JKSE.load") as caught:
        StructuredSVM.load(tmp_path / "jkse.npz")
    one_sentence(caught)
    model = StructuredSVM(Multiclass()).fit(X, Y)
    model.save(tmp_path / "svm.npz")
    with pytest.raises(ValueError, match=r"is a StructuredSVM, not a JKSE"):
        JKSE.load(tmp_path / "svm.npz")
    (tmp_path / "text.npz").write_text("not a model")
    np.save(tmp_path / "array.npy", X)
    (tmp_path / "pickle.npz").write_bytes(pickle.dumps(model))
    trailer = (tmp_path / "svm.npz").read_bytes()[-22:]  # ends like an archive, by chance or on purpose
    (tmp_path / "ends.npz").write_bytes(pickle.dumps([1.0]) + trailer)
    (tmp_path / "begins.npz").write_bytes(b"PK\x03\x04" + pickle.dumps([1.0]))
    np.savez(tmp_path / "objects.npz", a=np.array([{}], dtype=object))
    (tmp_path / "cut.npz").write_bytes((tmp_path / "svm.npz").read_bytes()[:-40])
    foreign = ("text.npz", "array.npy", "pickle.npz", "ends.npz", "begins.npz", "objects.npz", "cut.npz")
    for name in foreign:
        with pytest.raises(ModelFileError, match=r"is no structmargin model|is damaged or cut off") as caught:
            StructuredSVM.load(tmp_path / name)
        assert name in one_sentence(caught)
    np.savez(tmp_path / "arrays.npz", X=X)
    with pytest.raises(ModelFileError, match="no structmargin model"):
        StructuredSVM.load(tmp_path / "arrays.npz")
    (tmp_path / "empty.npz").touch()
    for name in ("empty.npz", "."):
        with pytest.raises(ModelFileError, match=r"is no structmargin model|is a folder; give the .npz file"):
            StructuredSVM.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        StructuredSVM.load(tmp_path / "absent.npz")


def test_a_fit_in_one_line() -> None:
    X, Y = points()
    model = StructuredSVM(Multiclass(), C=5.0, gap_tol=1e-3).fit(X, Y)
    fit = model.fit_
    assert repr(fit) == (
        f"Fit(SVM1 margin, primal {fit.primal:.6g}, relative gap {fit.gap / fit.primal:.2g}, "
        f"{fit.n_constraints} cuts, {fit.n_iter} pass{'es' if fit.n_iter != 1 else ''}, converged)"
    )
    stream = StructuredSVM(Multiclass(), solver="olarank").partial_fit(X, Y).fit_
    assert repr(stream) == (
        f"Fit(SVM1 margin, dual {stream.dual:.6g}, no certified gap, {stream.n_constraints} cuts, 1 pass, "
        "not converged)"
    )
    estimate = JKSE(Multiclass(), nu=0.5).fit(X, Y).fit_
    assert repr(estimate).startswith(f"Estimate(primal {estimate.primal:.6g}, relative gap ")
    assert repr(estimate).endswith(f"{estimate.n_active} of 24 pairs with alpha > 0, converged)")
