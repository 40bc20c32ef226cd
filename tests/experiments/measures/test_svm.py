"""The conventional SVM: its optimum against libsvm's, its path, and the certificate of a stored model."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from structmargin_suite.baselines import linear_svm
from structmargin_suite.datasets import Examples, abstracts, covertype, optdigits
from structmargin_suite.methods import hinge_certificate
from structmargin_suite.methods.method import Method

TOPICS = {
    "digits": (optdigits, {"images": 300}, 4),
    "forest": (covertype, {"n_train": 300, "n_test": 100}, 1),
    "texts": (abstracts, {"n_train": 250, "n_test": 100, "n_topics": 4, "n_words": 1200}, 2),
}


def rows_of(name):
    module, prepare, topic = TOPICS[name]
    X, y = module.view(module.synthesize(5, **prepare), 0, topic=topic).train
    return X, y


def objective(w, X, y, C, cost, intercept):
    """By the formula, w with the weight of the constant feature last."""
    scores = X @ w[:-1] + intercept * w[-1]
    return 0.5 * w @ w + C * np.where(y > 0, cost, 1.0) @ np.maximum(0.0, 1.0 - y * scores)


def by_libsvm(X, y, C, cost, intercept):
    """libsvm's weights: every row has a mirror image, for which its own intercept must be 0."""
    Z = np.column_stack([X.toarray() if hasattr(X, "toarray") else X, np.full(len(y), intercept)])
    price = 0.5 * C * np.where(y > 0, cost, 1.0)
    peer = SVC(kernel="linear", C=1.0, tol=1e-6, cache_size=50)
    peer.fit(np.vstack([Z, -Z]), np.concatenate([y, -y]), sample_weight=np.concatenate([price, price]))
    return peer.coef_[0]


@pytest.mark.parametrize("name", TOPICS)
def test_it_is_within_a_hundredth_of_libsvms_optimum_all_along_the_path(name):
    X, y = rows_of(name)
    for cost in (1.0, 64.0):
        former = None
        for C in (0.01, 1.0, 100.0):
            former = linear_svm.train(
                X, y, seed=0, C=C, cost=cost, intercept=1.0, gap_tol=0.01, former=former
            )
            scratch = linear_svm.train(X, y, seed=0, C=C, cost=cost, intercept=1.0, gap_tol=0.01)
            best = objective(by_libsvm(X, y, C, cost, 1.0), X, y, C, cost, 1.0)
            for model in (former, scratch):
                value = objective(model.fit.w, X, y, C, cost, 1.0)
                assert value == pytest.approx(model.numbers["primal"], rel=1e-9)
                assert model.numbers["dual"] <= best * (1 + 1e-6)
                assert best * (1 - 1e-4) <= value <= best / 0.99
                assert model.numbers["relative_gap"] <= 0.01


def test_scores_are_those_of_the_weights_and_the_intercept():
    X, y = rows_of("forest")
    model = linear_svm.train(X, y, seed=0, C=0.5, cost=3.0, intercept=2.0)
    np.testing.assert_allclose(model.predict(X), X @ model.fit.w[:-1] + 2.0 * model.fit.w[-1])
    again = linear_svm.from_arrays(model.to_arrays())
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    plain = linear_svm.train(X, y, seed=0, C=0.5)
    np.testing.assert_allclose(plain.predict(X), X @ plain.w)
    assert len(plain.w) == X.shape[1]


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        (None, None, ""),
        ("w", lambda w: w * 1.001, "w differs from sum beta_i y_i x_i"),
        ("beta", lambda beta: beta * 1.5, "beyond a price"),
        ("objectives", lambda both: both * [0.99, 1.0], "the primal objective is"),
        ("objectives", lambda both: both * [1.0, 1.01], "the dual objective is"),
    ],
)
def test_the_certificate_is_computed_from_the_stored_model(name, change, says):
    X, y = rows_of("forest")
    arrays = linear_svm.train(X, y, seed=0, C=1.0, cost=8.0, intercept=1.0).to_arrays()
    if name is not None:
        arrays[name] = change(arrays[name])
    method = Method.parse("SVM", {"baseline": "linear_svm", "C": 1.0})
    numbers, wrong = method.certificate(method.from_arrays(arrays), Examples(X, y), np.empty(0))
    assert method.certificate is hinge_certificate.recomputed
    assert (any(says in fault for fault in wrong)) if says else wrong == []
    if name is None:
        assert 0.0 <= numbers["relative_gap"] <= 0.01
        assert numbers["gap"] == pytest.approx(numbers["primal"] - numbers["dual"])
