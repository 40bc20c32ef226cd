"""Second examples that do not fit their problem, and what every method says that takes examples.

`INPUTS` and `OUTPUTS` hold, for each problem with compiled searches, (what is wrong, a function of the good
second input or output, words of the message).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from helpers.every_problem import example
from structmargin import JKSE, StructuredSVM
from structmargin.adapted import adapt
from structmargin.problems.diversity.problem import Candidates, Selection


def put(array: np.ndarray, value: Any) -> np.ndarray:
    """A copy with another last entry."""
    array = np.array(array)
    array.flat[-1] = value
    return array


def word(x: Any, value: Any) -> Any:
    return (put(x[0], value), x[1])


def candidate(x: Any, value: Any) -> Any:
    return (x[0], [*x[1][:-1], put(x[1][-1], value)])


def items(x: Candidates, value: int) -> Candidates:
    return Candidates(x.indptr, put(x.items, value), x.phi)


FAR = 10**9

INPUTS: dict[str, list[Any]] = {
    "Sequence": [
        ("width", lambda x: x[:, :3], "(T, 4) array"),
        ("sparse width", lambda x: sp.csr_matrix((1, FAR)), "(T, 4) array"),
        ("NaN", lambda x: put(x, np.nan), "NaN or infinite"),
        ("no tokens", lambda x: x[:0], "no tokens"),
        ("one dimension", lambda x: x[0], "matrix with one row per token"),
        ("masked", lambda x: np.ma.masked_array(x), "masked array"),
    ],
    "Alignment": [
        *(
            (f"native {k}", lambda x, k=k: (put(x[0], k), x[1]), f"letter {k} at position 3")
            for k in (4, FAR, -1)
        ),
        *(
            (f"candidate {k}", lambda x, k=k: candidate(x, k), f"letter {k} at position 2")
            for k in (4, FAR, -1)
        ),
        ("halves", lambda x: (x[0] + 0.5, x[1]), "1-d array of integers"),
        ("no candidates", lambda x: (x[0], []), "no candidates"),
        ("one part", lambda x: (x[0],), "not a pair"),
        ("a number", lambda x: 3, "not a pair (native, candidates) but is of type int"),
        ("a number of candidates", lambda x: (x[0], 3), "no candidates"),
        ("masked", lambda x: (np.ma.masked_array(x[0]), x[1]), "masked array"),
    ],
    "Grammar": [
        ("a text", lambda x: "NN", "sequence of one tag or more"),
        ("no tags", lambda x: (), "sequence of one tag or more"),
        ("numbers", lambda x: (0, 1, 2, FAR), "sequence of one tag or more"),
        ("a number", lambda x: 3, "x of example 1 is of type int"),
    ],
    "Localization": [
        *((f"word {k}", lambda x, k=k: word(x, k), f"has word {k}, but n_words is 3") for k in (3, 4, FAR)),
        ("halves", lambda x: (x[0] + 0.5, x[1]), "must be integers"),
        ("windows", lambda x: (x[0], np.array([[2, 2, 0]])), "not of three numbers of at least 1"),
        ("large windows", lambda x: (x[0], np.array([[FAR, 2, 1]])), "no window of example 1 fits"),
        ("shape", lambda x: (x[0][0], x[1]), "not (words, windows)"),
    ],
    "Diversity": [
        *((f"item {k}", lambda x, k=k: items(x, k), f"has item {k}, but phi has rows for 0 to 3")
          for k in (4, FAR, -1)),
        ("indptr", lambda x: Candidates(put(x.indptr, FAR), x.items, x.phi), "indptr must rise from 0"),
        ("falling", lambda x: Candidates(np.array([0, 5, 2, 6, 7]), x.items, x.phi), "indptr must rise"),
        ("width", lambda x: Candidates(x.indptr, x.items, x.phi[:, :1]), "must have 2 columns"),
        ("NaN", lambda x: Candidates(x.indptr, x.items, put(x.phi, np.nan)), "item 3 has a NaN"),
        ("few", lambda x: Candidates(np.array([0, 7]), x.items, x.phi), "fewer than K=2"),
        ("another class", lambda x: (x.indptr, x.items, x.phi), "give Candidates(indptr, items, phi)"),
        ("sparse", lambda x: Candidates(x.indptr, x.items, sp.csr_matrix(x.phi)), "with phi.toarray()"),
        ("no indptr", lambda x: Candidates(x.indptr[:0], x.items, x.phi), "indptr of x of example 1 is"),
        ("halves", lambda x: Candidates(x.indptr, x.items + 0.5, x.phi), "1-d array of integers"),
    ],
    "ProteinAlignment": [
        *(
            (f"{part} {k}", lambda x, part=part, k=k: x._replace(**{part: put(getattr(x, part), k)}),
             f"has the code {k}")
            for part in ("residue", "state", "access", "target")
            for k in (20, FAR, -1)
        ),
        ("halves", lambda x: x._replace(residue=x.residue + 0.5), "1-d array of integers"),
        ("lengths", lambda x: x._replace(state=x.state[1:]), "3 values of state for a template of 4"),
        ("parts", lambda x: x[:3], "3 parts"),
        ("None", lambda x: None, "example 1 is of type NoneType"),
        ("no residues", lambda x: x._replace(residue=None), "residue of example 1 is None"),
    ],
}  # fmt: skip

OUTPUTS: dict[str, list[Any]] = {
    "Sequence": [
        *((f"label {k}", lambda y, k=k: put(y, k), f"label {k} of token 0") for k in (3, FAR, -1)),
        ("half", lambda y: np.array([0.5]), "label 0.5"),
        ("text", lambda y: ["a"], "label a of token 0"),
        ("long", lambda y: np.array([0, 1]), "1 tokens, but labels of shape (2,)"),
    ],
    "Alignment": [
        *((f"homolog {k}", lambda y, k=k: (k, y[1]), f"has the homolog {k}") for k in (3, FAR, -1)),
        ("place", lambda y: (1, (FAR, 0, "M")), "does not fit its pair"),
        ("before", lambda y: (1, (0, -1, "M")), "does not fit its pair"),
        ("long", lambda y: (1, (0, 0, "M" * 6)), "does not fit its pair"),
        ("steps", lambda y: (1, (0, 0, "MXM")), "only the operations"),
        ("a number", lambda y: 1, "not (candidate, (i, j, ops))"),
    ],
    "Grammar": [
        ("other leaves", lambda y: ("S", ("NP", "DT")), "leaves of the tree of"),
        ("no tree", lambda y: ["S"], "is no tree"),
    ],
    "Localization": [
        *((f"edge {k}", lambda y, k=k: put(y, k), "empty or outside its map") for k in (7, FAR, 0)),
        ("before", lambda y: y - 10, "empty or outside its map"),
        ("none", lambda y: y[:0], "has no box"),
        ("shape", lambda y: y[0], "shape (4,)"),
        ("halves", lambda y: y + 0.5, "whole numbers"),
    ],
    "Diversity": [
        *(
            (
                f"document {k}",
                lambda y, k=k: y._replace(documents=put(y.documents, k)),
                "documents are 0 to 3",
            )
            for k in (4, FAR, -1)
        ),
        ("few", lambda y: y._replace(documents=y.documents[:1]), "1 documents, not K=2"),
        ("no subtopics", lambda y: Selection(y.documents), "no subtopic"),
        ("shape", lambda y: y._replace(subtopics=y.subtopics[:2]), "subtopics have shape (2, 2)"),
        ("another class", lambda y: (y.documents, y.subtopics, y.weights), "y of example 1 is of type tuple"),
        ("two dimensions", lambda y: y._replace(documents=y.documents[:, None]), "K whole numbers"),
        ("lists", lambda y: y._replace(subtopics=y.subtopics.tolist()), "subtopics of example 1 are a list"),
        *(
            (f"weight {w}", lambda y, w=w: y._replace(weights=put(y.weights, w)), "add up to 1")
            for w in (np.nan, np.inf, -1.0, 1.0)
        ),
    ],
    "ProteinAlignment": [
        *((f"place {k}", lambda y, k=k: put(y, k), "outside its pair") for k in (3, FAR, -1)),
        ("order", lambda y: y[::-1], "does not rise"),
        ("unsigned order", lambda y: y[::-1].astype(np.uint64), "does not rise"),
        ("shape", lambda y: y[:, :1], "(k, 2)"),
        ("empty", lambda y: y[:0], "k >= 1"),
    ],
}


def messages(name: str) -> list[tuple[str, dict[str, str]]]:
    """(what is wrong, what each method says): all that take inputs, and all that take outputs.

    A problem with a kernel is asked with it too, as the kernel's own compiled code trusts indices.
    """
    problem, X, Y, kernel = example(name)
    model, estimates = StructuredSVM(problem).fit(X, Y), {"": JKSE(problem, nu=0.5).fit(X, Y)}
    if kernel is not None:
        estimates[" with a kernel"] = JKSE(problem, kernel, nu=0.5).fit(X, Y)
    result = []
    for kind, spoil, _ in INPUTS[name]:
        bad = [X[0], spoil(X[1]), *X[2:]]
        calls = {
            "fit": lambda bad=bad: StructuredSVM(problem).fit(bad, Y),
            "predict": lambda bad=bad: model.predict(bad),
            "score": lambda bad=bad: model.score(bad, Y),
        }
        if adapt(problem).k_best is not None:
            calls["k_best"] = lambda bad=bad: model.k_best(bad, 2)
            calls["decision_function"] = lambda bad=bad: model.decision_function(bad)
        for which, estimate in estimates.items():
            calls |= _of_estimate(estimate, which, bad, Y)
            calls[f"predict{which}"] = lambda bad=bad, estimate=estimate: estimate.predict(bad)
        result.append((kind, {method: said(call) for method, call in calls.items()}))
    for kind, spoil, _ in OUTPUTS[name]:
        bad = [Y[0], spoil(Y[1]), *Y[2:]]
        calls = {
            "fit": lambda bad=bad: StructuredSVM(problem).fit(X, bad),
            "score": lambda bad=bad: model.score(X, bad),
        }
        for which, estimate in estimates.items():
            calls |= _of_estimate(estimate, which, X, bad)
        result.append((kind, {method: said(call) for method, call in calls.items()}))
    return result


def _of_estimate(estimate: JKSE, which: str, X: Any, Y: Any) -> dict[str, Any]:
    return {
        f"{method.__name__} of an estimate{which}": lambda method=method: method(X, Y)
        for method in (estimate.fit, estimate.score, estimate.score_samples, estimate.is_novel, estimate.add)
    }


def said(call: Any) -> str:
    """The message of the error that a call ends with."""
    try:
        return f"no error, but {call()!r}"
    except (ValueError, TypeError) as error:
        return str(error)
