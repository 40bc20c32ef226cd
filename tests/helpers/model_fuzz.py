"""Damaged models by the hundred in a process of its own: `python -m helpers.model_fuzz SEED CASES FOLDER N`.

Whatever was done to a file, `load` either raises one ModelFileError, or gives a model that predicts valid
outputs for good inputs or says in one sentence why not: no crash, no hang, no other exception, and memory
within a limit. A crash ends the process, so each case is noted in the folder before it is tried: `case.json`
says which it is, `model.npz` is its file. At the end `counts.json` says how many cases ended how.
"""

from __future__ import annotations

import faulthandler
import json
import resource
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from helpers.model_files import SavedModel, saved_models, what_is_wrong
from helpers.mutations import mutated, mutations, sweep
from structmargin import JKSE, ModelFileError, StructuredSVM

MAX_BYTES = 2**25
"""The limit that files are loaded with."""
MAX_GROWTH = 2**29
"""By how much the memory of the process may grow: the models, compiled code, and what a load may need."""
MAX_SECONDS = 60
ADDRESS_SPACE = 2**34


def one_sentence(error: Exception) -> str:
    text = str(error)
    assert text and "\n" not in text, f"not one sentence: {text!r}"
    return text


def tried(path: Path, original: SavedModel) -> str:
    """How a file ends: 'refused', 'cannot predict' or 'predicts'."""
    other = StructuredSVM if original.estimator is JKSE else JKSE
    try:
        other.load(path, max_bytes=MAX_BYTES)
        raise AssertionError(f"a {original.estimator.__name__} was loaded as a {other.__name__}")
    except ModelFileError as error:
        assert path.name in one_sentence(error)
    try:
        model = original.estimator.load(path, max_bytes=MAX_BYTES)
    except ModelFileError as error:
        assert path.name in one_sentence(error)
        return "refused"
    ends = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, call in calls(model, original).items():
            try:
                ends[name] = call()
            except (ValueError, TypeError) as error:
                one_sentence(error)
    if "predict" not in ends:
        return "cannot predict"
    wrong = what_is_wrong(model, original, ends["predict"])
    assert wrong is None, wrong
    return "predicts"


def calls(model: Any, original: SavedModel) -> dict[str, Any]:
    """Everything that a loaded model is asked for."""
    X, Y = original.X, original.Y
    asked = {
        "predict": lambda: model.predict(X),
        "score": lambda: model.score(X, Y),
        "repr": lambda: repr(model.fit_),
    }
    if original.problem in ("Multiclass", "Taxonomy", "Sequence"):
        asked["k_best"] = lambda: model.k_best(X, 2)
        asked["decision_function"] = lambda: model.decision_function(X)
    if isinstance(model, JKSE):
        asked["score_samples"] = lambda: model.is_novel(X, Y)
    elif model.fit_.support is not None and model.fit_.support.rows is not None:
        asked["support"] = lambda: model.fit_.support.rows.tocsr().T @ model.fit_.support.alpha
    return asked


def main(seed: int, cases: int, folder: Path, processes: int) -> None:
    """Some hundred drawn cases, and this process's share of the sweep over all indices."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    models = saved_models()
    path, ends = folder / "model.npz", Counter()
    for original in models.values():  # what is not damaged, so that all code is compiled
        path.write_bytes(original.content)
        assert tried(path, original) == "predicts"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def case(name: str, content: bytes) -> None:
        path.write_bytes(content)
        note = {"seed": seed, "case": sum(ends.values()), "model": name}
        (folder / "case.json").write_text(json.dumps(note))
        faulthandler.dump_traceback_later(MAX_SECONDS, exit=True)
        ends["unchanged" if content == models[name].content else tried(path, models[name])] += 1
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        assert grown <= MAX_GROWTH, f"memory grew by {grown} bytes"

    @seeded(seed)
    @settings(
        max_examples=cases,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(name=st.sampled_from(sorted(models)), changes=mutations)
    def all_cases(name: str, changes: Any) -> None:
        case(name, mutated(models[name].content, changes))

    for k, (name, content) in enumerate((n, c) for n, model in models.items() for c in sweep(model.content)):
        if k % processes == seed % processes:
            case(name, content)
    swept = sum(ends.values())
    all_cases()
    faulthandler.cancel_dump_traceback_later()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    (folder / "counts.json").write_text(json.dumps({"ends": ends, "swept": swept, "grown": grown}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
