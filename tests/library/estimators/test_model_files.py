"""Files that are no models, or damaged ones: one sentence, whatever was done to them, and never a crash.

`make test-long` tries ten thousand (STRUCTMARGIN_CASES says how many) where `make test` tries some hundreds.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers import model_fuzz
from helpers.every_problem import points
from helpers.model_damage import foreign_files
from helpers.model_files import as_array, as_entry, entries, header_of, put_together, with_header
from structmargin import JKSE, ModelFileError, StructuredSVM
from structmargin.archive.npz import checked
from structmargin.inputs import labels
from structmargin.kernels import RBF, Product
from structmargin.problems import Multiclass, Sequence
from structmargin.problems.sequence.kernel import SequenceKernel

CASES = int(os.environ.get("STRUCTMARGIN_CASES", "300"))
BATCHES = max(2, CASES // 500)


def in_a_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    tests = Path(model_fuzz.__file__).parents[1]
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=tests, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("seed", range(BATCHES))
def test_damaged_models_are_refused_or_predict(seed: int, tmp_path: Path) -> None:
    """In a process of its own, since a crash would end this one; see `helpers.model_fuzz`."""
    run = in_a_process("helpers.model_fuzz", str(seed), str(CASES // BATCHES), str(tmp_path), str(BATCHES))
    case = (
        (tmp_path / "case.json").read_text() if (tmp_path / "case.json").exists() else "before the first case"
    )
    assert run.returncode == 0, (
        f"ended by {run.returncode} at {case}, file {tmp_path / 'model.npz'}\n{run.stderr[-5000:]}"
    )
    counts = json.loads((tmp_path / "counts.json").read_text())
    total = sum(counts["ends"].values())
    assert total >= counts["swept"] + CASES // BATCHES and counts["swept"]
    assert min(counts["ends"]["refused"], counts["ends"]["predicts"]) > 0.1 * total  # neither is all there is


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "svm.npz"
    StructuredSVM(Multiclass(), C=5.0, kernel=Product(RBF(0.2))).fit(*points()).save(path)
    return path


def said(path: Path, estimator: Any = StructuredSVM, **options: Any) -> str:
    """What load says of a file: one sentence that names it."""
    with pytest.raises(ModelFileError) as caught:
        estimator.load(path, **options)
    text = str(caught.value)
    assert path.name in text and "\n" not in text and ". " not in text
    return text


@pytest.mark.parametrize("estimator", [StructuredSVM, JKSE])
@pytest.mark.parametrize("kind", foreign_files())
def test_a_foreign_file_is_one_sentence_with_a_remedy(kind: str, estimator: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    path.write_bytes(foreign_files()[kind])
    assert any(remedy in said(path, estimator) for remedy in ("save the model again", "give one", "give "))


def test_a_small_file_that_unpacks_to_gigabytes(tmp_path: Path) -> None:
    """Refused before anything is unpacked: by the limit, and by what it claims to be."""
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a0.npy", "w") as entry:
        entry.write(as_entry(np.zeros(1)))
        for _ in range(300):
            entry.write(bytes(10**6))
    assert path.stat().st_size < 5 * 10**5
    code = (
        "import resource, sys\nfrom structmargin import ModelFileError, StructuredSVM\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n    StructuredSVM.load(sys.argv[1], max_bytes=10**8)\n"
        "except ModelFileError as error:\n    print(error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    sentence, kilobytes = run.stdout.splitlines()
    assert "more than the limit of 100000000; if you trust it, give a larger max_bytes" in sentence
    assert int(kilobytes) < 10**5


def test_many_short_names_take_no_more_memory_than_their_array() -> None:
    """A Python object takes twenty times what a character takes in an array, and no limit counts it."""
    names, peaks = np.full(2**20, "漢"), []
    tracemalloc.start()
    for call in (lambda: checked(names), lambda: labels.require_names(names, len(names), "classes")):
        tracemalloc.reset_peak()
        with contextlib.suppress(ValueError):  # they do not differ
            call()
        peaks.append(tracemalloc.get_traced_memory()[1] / len(names))
    tracemalloc.stop()
    assert peaks[0] < 8 and peaks[1] < 40, f"{peaks} bytes per name"


def test_a_character_that_does_not_exist_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    for code in (sys.maxunicode + 1, 2**32 - 1):
        path.write_bytes(put_together([("a0.npy", as_entry(np.array([65, code], np.uint32).view("<U2")))]))
        assert "characters that do not exist" in said(path)


def test_the_limit_is_what_the_caller_says(model: Path) -> None:
    total = sum(len(data) for _, data in entries(model.read_bytes()))
    assert StructuredSVM.load(model, max_bytes=total).predict(points()[0]).tolist()
    assert f"{total} bytes, more than the limit of {total - 1}" in said(model, max_bytes=total - 1)


def test_names_types_and_sizes_that_a_header_claims(model: Path, tmp_path: Path) -> None:
    """Each of these has the right checksum: only what is claimed is wrong."""
    parts, path = entries(model.read_bytes()), tmp_path / "model.npz"
    document = json.dumps(header_of(parts))
    claims = {
        "which is not known here": document.replace('"Product"', '"os.system"'),
        "n_classes of its Multiclass": document.replace('"n_classes": 3', '"n_classes": "3"'),
        "unknown formulation": document.replace('"SVM1 margin"', '"SVM3"'),
        "unknown solver": document.replace('"n_slack"', '"simplex"'),
        "gamma of RBF must be": document.replace('"gamma": 0.2', '"gamma": -0.2'),
        "features": document.replace('"n_features": 4', '"n_features": 5'),
        "classes must be 1000000000000 labels": document.replace(
            '"n_classes": 3', '"n_classes": 1000000000000'
        ),
        "nested too deep": document.replace('"C", 5.0', '"C", ' + "[" * 10**5 + "]" * 10**5, 1),
        "no JSON": document[:-1],
    }
    for words, text in claims.items():
        assert text != document, words
        path.write_bytes(put_together(with_header(parts, text)))
        assert words in said(path)


def test_a_sequence_kernel_trusts_no_label_of_a_file(tmp_path: Path) -> None:
    """Labels are indices of compiled code."""
    problem, path = Sequence(2, 1), tmp_path / "model.npz"
    X, Y = [np.array([[0.0], [1.0]]), np.array([[1.0]])], [np.array([0, 1]), np.array([1])]
    JKSE(problem, SequenceKernel(), nu=0.5).fit(X, Y).save(path)
    parts = entries(path.read_bytes())
    changed = 0
    for k, (name, data) in enumerate(parts):
        array = as_array(data)
        if array.dtype.kind == "i" and array.size:
            for bad in (-1, 2, 10**9, -(10**9)):
                array.flat[0] = bad
                path.write_bytes(put_together([*parts[:k], (name, as_entry(array)), *parts[k + 1 :]]))
                assert "is no integer from 0 to 1" in said(path, JKSE)
                changed += 1
    assert changed >= 4
