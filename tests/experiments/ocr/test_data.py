"""Handwritten words: the parser, the real file's counts, the stand-in, the measures."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

from helpers.real_words import real
from helpers.toy_project import project
from structmargin.problems import Sequence
from structmargin_suite.datasets import ocr
from structmargin_suite.datasets.ocr.handwriting import GLYPHS, WORDS, glyphs, write_letters
from structmargin_suite.fetching.fetch import obtain
from structmargin_suite.planning.plan import load
from structmargin_suite.stages.prepare import prepare
from structmargin_suite.storage.errors import DataError

RNG = np.random.default_rng(3)
OWN_FILE = {
    "title": "Words", "paper": "jkse09", "where": "5.4", "about": "Words.",
    "data": {"ocr": {"from": "ocr", "source": "file", "path": "mine.gz"}},
    "problem": {"name": "Sequence"},
    "methods": {"JKSE": {"model": "JKSE", "nu": 0.5}},
    "studies": {"folds": {"methods": ["JKSE"], "vary": {"rotation": [0]}}},
    "tables": {
        "ocr": {"caption": "T.", "study": "folds", "keys": ["method"], "measures": ["test_letter_error"]},
    },
    "scales": {"smoke": {}, "standard": {}, "paper": {}},
}  # fmt: skip
PICTURES = RNG.integers(0, 2, size=(6, 128))
WORDS_HERE = [("ab", 0), ("z", 9), ("cab", 0)]


def lines() -> list[list[str]]:
    """Three words, six letters, as fields."""
    lines, k = [], 0
    for number, (word, fold) in enumerate(WORDS_HERE, start=1):
        for position, letter in enumerate(word, start=1):
            k += 1
            following = str(k + 1) if position < len(word) else "-1"
            head = [str(k), letter, following, str(number), str(position), str(fold)]
            lines.append([*head, *map(str, PICTURES[k - 1])])
    return lines


def written(path: Path, rows: list[list[str]], packed: bool = True, end: str = "\t\n") -> dict[str, Path]:
    text = "".join("\t".join(row) + end for row in rows).encode()
    path.write_bytes(gzip.compress(text, mtime=0) if packed else text)
    return {"letter.data.gz": path}


@pytest.mark.parametrize(("packed", "end"), [(True, "\t\n"), (False, "\n"), (True, "\t\r\n")])
def test_words_come_back_as_they_were_written(tmp_path, packed, end):
    arrays = ocr.parse(written(tmp_path / "f", lines(), packed, end), 0)
    assert np.array_equal(np.unpackbits(arrays["pixels"], axis=1), PICTURES)
    assert bytes(arrays["labels"] + ord("a")) == b"abzcab"
    assert arrays["lengths"].tolist() == [2, 1, 3]
    assert arrays["folds"].tolist() == [0, 9, 0]


def broken(line: int, column: int, value: str | None) -> list[list[str]]:
    rows = lines()
    if value is None:
        del rows[line - 1][column]
    else:
        rows[line - 1][column] = value
    return rows


@pytest.mark.parametrize(
    ("rows", "line", "message"),
    [
        (broken(2, 130, None), 2, "127 pixels, but there must be 128"),
        (broken(3, 6, "1\t0"), 3, "129 pixels, but there must be 128"),
        (broken(4, 7, "2"), 4, "pixel 2 is '2', but must be 0 or 1"),
        (broken(4, 8, "10"), 4, "pixel 3 is '10', but must be 0 or 1"),
        (broken(4, 8, ""), 4, "pixel 3 is '', but must be 0 or 1"),
        ([*lines()[:2], ["3", "z", "-1"]], 3, "3 columns, but id, letter, next_id"),
        (broken(1, 1, "A"), 1, "letter is 'A', but must be one of a to z"),
        (broken(1, 1, None), 1, "letter is '2', but must be"),
        (broken(5, 5, "10"), 5, "fold is 10, but must be from 0 to 9"),
        (broken(5, 5, "x"), 5, "fold is 'x', but must be a whole number"),
        (broken(2, 3, "7"), 2, "word_id is 7, but the line before announces 1"),
        (broken(5, 4, "4"), 5, "position is 4, but the line before announces 2"),
        (broken(5, 5, "1"), 5, "fold is 1, but the line before announces 0"),
        ([lines()[0], *lines()[2:]], 2, "id is 3, but the line before announces 2"),
        (lines()[:5], 5, "the file ends inside word 3"),
    ],
)
def test_a_broken_line_is_named(tmp_path, rows, line, message):
    files = written(tmp_path / "letters.gz", rows)
    with pytest.raises(DataError, match=message) as caught:
        ocr.parse(files, 0)
    assert f"letters.gz, line {line}: " in str(caught.value)


def test_a_truncated_or_damaged_gzip_file_is_refused_with_its_line(tmp_path):
    files = written(tmp_path / "letters.gz", lines() * 200)
    rows = [
        [str(k + 1), "a", "-1", str(k + 1), "1", "0", *map(str, RNG.integers(0, 2, 128))] for k in range(400)
    ]
    whole = written(files["letter.data.gz"], rows)["letter.data.gz"].read_bytes()
    (tmp_path / "letters.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"letters.gz, line \d\d+: the gzip file breaks off") as caught:
        ocr.parse(files, 0)
    assert 100 < int(str(caught.value).split("line ")[1].split(":")[0]) < 300
    (tmp_path / "letters.gz").write_bytes(whole[:-8] + bytes(8))
    with pytest.raises(DataError, match="damaged"):
        ocr.parse(files, 0)
    (tmp_path / "letters.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(DataError, match="holds no letters"):
        ocr.parse(files, 0)


def test_a_wrong_sum_is_an_error_and_nothing_is_left_behind(tmp_path):
    (tmp_path / "mirror" / "ocr").mkdir(parents=True)
    written(tmp_path / "mirror" / "ocr" / "letter.data.gz", lines())
    with pytest.raises(DataError, match=ocr.FILES[0].sha256):
        obtain(ocr.FILES[0], tmp_path / "raw", tmp_path / "mirror")
    assert not (tmp_path / "raw").exists() or not list((tmp_path / "raw").iterdir())


def test_a_malformed_own_file_leaves_nothing_prepared(tmp_path):
    root = project(tmp_path, OWN_FILE, "ocr")
    written(root / "mine.gz", broken(4, 7, "2"))
    suite = load(root, "smoke")
    with pytest.raises(DataError, match=r"mine.gz, line 4: pixel 2"):
        prepare(suite, "ocr", "ocr")
    assert not list((root / "data").glob("ready/**/*.*"))


def test_the_real_file_has_the_counts_it_should_have():
    path = real()
    if path is None:
        return
    text = gzip.decompress(path.read_bytes())
    assert (
        hashlib.sha256(text).hexdigest() == "535363d0b7bc34246b1f8731719540f526b6807b12dda5d430d011d160bc7882"
    )
    arrays = ocr.parse({"letter.data.gz": path}, 0)
    assert len(arrays["labels"]) == 52152
    assert np.bincount(arrays["folds"]).tolist() == [626, 704, 684, 698, 693, 651, 739, 717, 690, 675]
    assert bytes(arrays["labels"][:9] + ord("a")) == b"ommanding"
    few = ocr.parse({"letter.data.gz": path}, 0, words_per_fold=20)
    assert np.bincount(few["folds"]).tolist() == [20] * 10
    assert len({tuple(y) for y in np.split(few["labels"], np.cumsum(few["lengths"])[:-1])}) > 20


def test_a_rotation_uses_every_word_once():
    arrays = ocr.synthesize(5, words_per_fold=6)
    for rotation in (0, 4, 9):
        split = ocr.view(arrays, 0, rotation=rotation)
        parts = (split.train, split.validation, split.test)
        assert [len(part.Y) for part in parts] == [6, 6, 48]
        seen = sorted((*y, *x.ravel().astype(int)) for part in parts for x, y in zip(*part, strict=True))
        ends = np.cumsum(arrays["lengths"])[:-1]
        whole = zip(np.split(arrays["labels"], ends), np.split(np.unpackbits(arrays["pixels"], axis=1), ends))
        assert seen == sorted((*y.tolist(), *x.ravel().tolist()) for y, x in whole)
        validation = np.split(arrays["labels"], ends)[(rotation + 1) % 10]
        assert split.validation.Y[0].tolist() == validation.tolist()
        Sequence(**split.problem).check(*split.train)


def test_single_letters_are_letters_of_words_and_the_same_for_one_seed():
    arrays = ocr.synthesize(5, words_per_fold=6)
    N = len(arrays["labels"])
    pictures = np.unpackbits(arrays["pixels"], axis=1)
    known = {(*p, label) for p, label in zip(pictures.tolist(), arrays["labels"].tolist(), strict=True)}
    few, many, again = (ocr.view(arrays, 3, letters=n) for n in (50, 3 * N, 3 * N))
    for x, y in zip(few.train.X.astype(int).tolist(), few.train.Y.tolist(), strict=True):
        assert (*x, y) in known
    assert len(many.train.Y) == 3 * N
    assert np.array_equal(many.train.X, again.train.X)
    exact = N - len(many.test.Y)
    repeated = [(*x, y) in known for x, y in zip(many.train.X.astype(int).tolist(), many.train.Y.tolist())]
    assert all(repeated[:exact])
    assert not any(repeated[exact:][:50]) or np.mean(repeated[exact:]) < 0.3
    assert (
        0.01 < np.mean([min(np.abs(x - p).sum() for p in pictures) for x in many.train.X[-40:]]) / 128 < 0.03
    )


def test_the_stand_in_writes_every_letter_and_can_be_read():
    assert len(GLYPHS.split()) == 26 * 7
    shapes = glyphs().reshape(26, -1)
    apart = (shapes[:, None] != shapes[None]).sum(axis=2) + 100 * np.eye(26)
    assert apart.min() >= 2
    assert set("".join(WORDS)) == set("abcdefghijklmnopqrstuvwxyz")
    first, again, other = (ocr.synthesize(seed, words_per_fold=30) for seed in (1, 1, 2))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["pixels"][:20], other["pixels"][:20])
    words = {
        bytes(y + ord("a")).decode() for y in np.split(first["labels"], np.cumsum(first["lengths"])[:-1])
    }
    assert words <= set(WORDS)
    labels = np.tile(np.arange(26, dtype=np.uint8), 60)
    pictures = write_letters(np.random.default_rng(0), labels).astype(float)
    means = np.array([pictures[:780][labels[:780] == k].mean(axis=0) for k in range(26)])
    nearest = ((pictures[780:, None] - means[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert 0.05 < np.mean(nearest != labels[780:]) < 0.5


def test_measures_by_hand():
    Y = [np.array([0, 1, 2, 3]), np.array([4, 4]), np.array([5])]
    yhat = [np.array([0, 1, 1, 1]), np.array([4, 4]), np.array([1])]
    measures = ocr.score(Y, yhat)
    assert measures["letter_error"] == pytest.approx(100 * 3 / 7)
    assert measures["word_error"] == pytest.approx(100 * 2 / 3)
    assert measures["letters_predicted"] == 3
    assert ocr.letters_90(np.repeat([3, 7, 8], [85, 5, 10])) == 2
    assert ocr.letters_90(np.repeat([3, 7, 8], [84, 6, 10])) == 2
    assert ocr.letters_90(np.repeat([3, 7, 8], [79, 11, 10])) == 2
    assert ocr.letters_90(np.repeat([3, 7, 8], [78, 11, 11])) == 3
    assert ocr.score(np.array([1, 2, 3, 4]), np.array([1, 2, 3, 3]))["letter_error"] == 25.0


def test_shuffled_labels_are_the_same_letters_in_other_places():
    rng = np.random.default_rng(0)
    y = np.array([0, 1, 2, 3, 4, 5, 6, 0])
    for _ in range(50):
        z = ocr.shuffled(y, rng)
        assert sorted(z) == sorted(y)
        assert np.mean(z == y) <= 0.25
    assert ocr.shuffled(np.array([1, 1, 1]), rng) is None
