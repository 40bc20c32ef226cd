"""Real saved models of every problem, with explicit features, kernels and each trainer; and good inputs."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from helpers.data_kinds import KINDS
from helpers.every_problem import EVERY, example
from structmargin import JKSE, StructuredSVM
from structmargin.adapted import adapt
from structmargin.problems import Grammar
from structmargin.problems.grammar.trees import fault, leaves
from structmargin.problems.sequence import batch

TRAINERS = ("one_class", "binary", "online")


class SavedModel(NamedTuple):
    """A model's estimator, problem, inputs it can predict for, and the bytes of its file."""

    estimator: Any
    problem: str
    X: Any
    Y: Any
    content: bytes


def saved(model: Any, name: str, X: Any, Y: Any) -> SavedModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y)
    file = io.BytesIO()
    np.savez_compressed(file, **model.to_arrays())
    return SavedModel(type(model), name, X, Y, file.getvalue())


def saved_models() -> dict[str, SavedModel]:
    """Every problem x explicit features, its kernel, and JKSE with both, each trainer in turn."""
    models = {}
    for k, name in enumerate(EVERY):
        problem, X, Y, kernel = example(name)
        for space in (None, kernel) if kernel is not None else (None,):
            end = "" if space is None else " kernel"
            models[f"{name}{end}"] = saved(StructuredSVM(problem, C=5.0, kernel=space), name, X, Y)
            estimate = JKSE(problem, space, nu=0.5, C=10.0, trainer=TRAINERS[k % 3], gap_tol=1e-2)
            models[f"{name} JKSE{end}"] = saved(estimate, name, X, Y)
    for name in ("Multiclass", "Sequence"):  # names of labels and of features, and sparse examples
        examples = example(name)
        for kind in ("texts as labels", "dictionaries"):
            brought = KINDS[name][kind].bring(examples, Path())
            space = examples.kernel if kind == "dictionaries" else None
            model = StructuredSVM(brought.problem, C=5.0, kernel=space)
            models[f"{name} {kind}"] = saved(model, name, brought.X, brought.Y)
    problem, X, Y, _ = example("Sequence")
    with patch.object(batch, "MIN_PART_ENTRIES", 0):  # cuts as short rows, as of many sequences
        models["Sequence parts"] = saved(StructuredSVM(problem, C=5.0), "Sequence", X, Y)
    grammar = replace(Grammar(), horizontal=1, parents=True, spans=True)
    models["Grammar spans"] = saved(
        StructuredSVM(grammar, "SVM2", "n_slack_a"), "Grammar", *example("Grammar")[1:3]
    )
    return models


Entries = list[tuple[str, bytes]]
"""The entries of an archive in their order: a name may stand twice."""


def entries(content: bytes) -> Entries:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [(info.filename, archive.read(info)) for info in archive.infolist()]


def put_together(parts: Entries, deflated: bool = True) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that stand twice
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED) as archive:
            for name, data in parts:
                archive.writestr(name, data)
    return file.getvalue()


def as_array(data: bytes) -> np.ndarray:
    return np.load(io.BytesIO(data), allow_pickle=False)


def as_entry(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def header_of(parts: Entries) -> Any:
    return json.loads(as_array(dict(parts)["json.npy"]).tobytes())


def with_header(parts: Entries, document: Any) -> Entries:
    text = document if isinstance(document, str) else json.dumps(document)
    entry = as_entry(np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8))
    return [(name, entry if name == "json.npy" else data) for name, data in parts]


def what_is_wrong(model: Any, original: SavedModel, outputs: Any) -> str | None:
    """What keeps predictions for the good inputs from being outputs of the problem, or None."""
    name, X = original.problem, original.X
    n = len(X)
    if len(outputs) != n:
        return f"{len(outputs)} outputs for {n} inputs"
    if name in ("Multiclass", "Taxonomy"):
        known = set(model.classes_.tolist())
        return None if set(np.asarray(outputs).tolist()) <= known else f"{outputs} of {known}"
    if name == "Measure":
        return None if np.shape(outputs) == (n,) and np.asarray(outputs).dtype.kind in "if" else repr(outputs)
    if name == "Sequence":
        known = set(model.classes_.tolist())
        for x, y in zip(X, outputs):
            if len(y) != (len(x) if isinstance(x, list) else x.shape[0]) or not set(y) <= known:
                return f"{y} of {known}"
        return None
    if name == "Grammar":
        for x, y in zip(X, outputs):
            if y is not None and (fault(y) or tuple(leaves(y)) != tuple(x)):
                return repr(y)
        return None
    if name == "Diversity":
        for x, y in zip(X, outputs):
            chosen = set(np.asarray(y.documents).tolist())
            if len(chosen) != model.problem_.K or not chosen <= set(range(len(x))):
                return repr(y)
        return None
    matched = [(x, y) for x, y in zip(X, outputs) if len(y)]  # an alignment of proteins may be empty
    try:
        adapt(example(name).problem).check_outputs([x for x, _ in matched], [y for _, y in matched])
    except ValueError as error:
        return str(error)
    return None
