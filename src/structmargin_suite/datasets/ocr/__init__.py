"""Handwritten words, letter by letter: Kassel's data as released by Taskar (jkse09 Section 5.4).

letter.data.gz has a line for each of 52,152 letters of 6,877 words: id, letter, id of the next letter (-1
ends a word), word, position, fold, then 128 pixels (16 rows of 8), tab-separated. First letters of words
were left out by those who made the data, since many are capitals.

Rotation r trains on fold r, chooses parameters on fold r + 1, and is tested on the other eight. With
`base_scale` b the inner product of two letters is <x, z> / b: every pixel is divided by the root of b.

With `letters` a view is of single letters instead, rows of a matrix, as many as asked for. With `synonyms` m
each letter l then has m right labels, l, l + 26, ..., and every training example has one of them, drawn at
random; a prediction is right if it is any of the letter's labels.

The stand-in draws its words from a list with English letter frequencies and writes each letter by itself: a
glyph, slanted, stretched and shifted at random, with pixels flipped.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np

from structmargin_suite.datasets import Examples, Schemas, Split
from structmargin_suite.datasets._measures import measures
from structmargin_suite.datasets.ocr.handwriting import FIRST_LETTER, PIXELS, write_words
from structmargin_suite.fetching.contents import Unpacked
from structmargin_suite.fetching.fetch import Remote
from structmargin_suite.fetching.originals import Home
from structmargin_suite.storage.errors import DataError

FILES: tuple[Remote, ...] = (
    Remote(
        "letter.data.gz",
        "760e2b69f54109a2bd5e7c81bbea05d5ffc6e939420b1a8038e19f1ee79fd46d",
        "ocr/letter.data.gz",
        "https://ai.stanford.edu/~btaskar/ocr/letter.data.gz",
        contents=Unpacked("535363d0b7bc34246b1f8731719540f526b6807b12dda5d430d011d160bc7882"),
    ),
)
HOME = Home(
    title="Handwritten words (Kassel, Taskar)",
    page="https://ai.stanford.edu/~btaskar/ocr/",
    terms="free for research",
    folder="ocr",
    version="letter.data",
    megabytes=1.2,
)
FOLDS, N_LABELS = 10, 26
PREPARE: Schemas = {"words_per_fold": {"type": "integer", "minimum": 1}}
VIEW: Schemas = {
    "rotation": {"type": "integer", "minimum": 0, "maximum": FOLDS - 1},
    "letters": {"type": "integer", "minimum": 1},
    "base_scale": {"type": "number", "exclusiveMinimum": 0},
    "synonyms": {"type": "integer", "minimum": 1},
}
COLUMNS = ("id", "letter", "next_id", "word_id", "position", "fold")
FLIPPED_SHARE = 0.02
"""Of the pixels of a letter that is drawn again, the share that is flipped."""
Labels: TypeAlias = list[np.ndarray] | np.ndarray
"""The labels of words, one array per word, or (N,) of single letters."""


def parse(
    files: Mapping[str, Path], seed: int, *, words_per_fold: int | None = None
) -> dict[str, np.ndarray]:
    """Arrays pixels (N, 16) of packed bits, labels (N,), lengths and folds (n,); words_per_fold words of
    every fold, or all. A line that breaks the format is an error that names it.
    """
    path = files[FILES[0].name]
    labels, pixels = bytearray(), bytearray()
    lengths: list[int] = []
    folds: list[int] = []
    before: tuple[int, ...] | None = None
    for line, text in enumerate(_lines(path), start=1):
        here, letter, bits = _letter(path, line, text)
        if before is not None and before[1] >= 0:
            _check_continues(path, line, before, here)
            lengths[-1] += 1
        else:
            lengths.append(1)
            folds.append(here[4])
        labels.append(letter)
        pixels += bits
        before = here
    if before is None:
        raise DataError(f"{path} holds no letters; fetch it again or correct `path`")
    if before[1] >= 0:
        raise DataError(
            f"{path}, line {line}: the file ends inside word {before[2]} (next_id is {before[1]}); "
            "some of it is missing, fetch it again"
        )
    arrays: dict[str, np.ndarray] = {
        "pixels": np.packbits(np.frombuffer(bytes(pixels), dtype=np.uint8).reshape(-1, PIXELS), axis=1),
        "labels": np.frombuffer(bytes(labels), dtype=np.uint8),
        "lengths": np.array(lengths, dtype=np.int64),
        "folds": np.array(folds, dtype=np.int64),
    }
    return _thinned(arrays, words_per_fold)


def synthesize(seed: int, *, words_per_fold: int | None = None) -> dict[str, np.ndarray]:
    """The same arrays, ten folds of words_per_fold words (690 by default) written by rule."""
    rng = np.random.default_rng(seed)
    n = FOLDS * (690 if words_per_fold is None else words_per_fold)
    labels, lengths, pixels = write_words(rng, n)
    return {
        "pixels": np.packbits(pixels, axis=1),
        "labels": labels,
        "lengths": lengths,
        "folds": np.arange(n, dtype=np.int64) % FOLDS,
    }


def refuse(prepare: Mapping[str, object], view: Mapping[str, object]) -> str | None:
    """Why these parameters do not go together, or None."""
    if "synonyms" in view and "letters" not in view:
        return "synonyms are of single letters, but the view is of words; set letters, or leave synonyms out"
    if "base_scale" in view and "letters" in view:
        return "base_scale is of words, but the view is of single letters; leave one of the two out"
    return None


def view(
    arrays: Mapping[str, np.ndarray], seed: int, *, rotation: int = 0, letters: int | None = None,
    base_scale: float = 1.0, synonyms: int = 1,
) -> Split:  # fmt: skip
    """Words of a rotation, or `letters` single letters to train on and a thousand more to test on."""
    if letters is not None:
        return _single_letters(arrays, seed, letters, synonyms)
    pixels = np.unpackbits(arrays["pixels"], axis=1) / np.sqrt(base_scale)
    ends = np.cumsum(arrays["lengths"])[:-1]
    X, Y = np.split(pixels, ends), np.split(arrays["labels"].astype(np.int64), ends)
    folds = arrays["folds"]

    def subset(mask: np.ndarray) -> Examples:
        return Examples([X[i] for i in np.flatnonzero(mask)], [Y[i] for i in np.flatnonzero(mask)])

    train, validation = folds == rotation, folds == (rotation + 1) % FOLDS
    problem = {"n_labels": N_LABELS, "n_features": PIXELS}
    return Split(subset(train), subset(~train & ~validation), subset(validation), problem=problem)


def _single_letters(arrays: Mapping[str, np.ndarray], seed: int, n: int, synonyms: int) -> Split:
    """Single letters in random order; beyond those there are, drawn again with some pixels flipped."""
    rng = np.random.default_rng(seed)
    N, n_test = len(arrays["labels"]), min(1000, len(arrays["labels"]) // 5)
    order = rng.permutation(N)
    test, train = order[:n_test], order[n_test:]
    drawn = train[:n] if n <= len(train) else np.concatenate([train, rng.choice(train, n - len(train))])
    subsets = []
    for chosen, exact in ((drawn, len(train)), (test, n_test)):
        bits = np.unpackbits(arrays["pixels"][chosen], axis=1)
        if len(chosen) > exact:
            again = bits[exact:]
            flips = rng.integers(0, again.size, size=int(FLIPPED_SHARE * again.size))
            again.reshape(-1)[flips] ^= 1
        subsets.append(Examples(bits.astype(float), arrays["labels"][chosen].astype(np.int64)))
    train_letters, test_letters = subsets
    if synonyms > 1:
        drawn_labels = train_letters.Y + N_LABELS * rng.integers(0, synonyms, size=len(train_letters.Y))
        train_letters = Examples(train_letters.X, drawn_labels)
    problem = {"n_classes": synonyms * N_LABELS, "n_features": PIXELS}
    return Split(train_letters, test_letters, problem=problem)


@measures("letter_error", "word_error", "letters_predicted", "letters_90")
def score(Y: Labels, Yhat: Labels) -> dict[str, float]:
    """`letter_error` and `word_error` in percent; `letters_predicted`, how many different letters occur among
    the predictions; `letters_90`, the smallest number of them that make up nine tenths. Labels of single
    letters that differ by 26 are synonyms."""
    y, yhat = _flat(Y), _flat(Yhat)
    if not isinstance(Y, list):
        y, yhat = y % N_LABELS, yhat % N_LABELS
    wrong = y != yhat
    begins = np.concatenate([[0], np.cumsum([len(word) for word in Y])[:-1]]) if isinstance(Y, list) else None
    whole = wrong if begins is None else np.add.reduceat(wrong, begins, dtype=np.int64) > 0
    return {
        "letter_error": 100.0 * float(np.mean(wrong)),
        "word_error": 100.0 * float(np.mean(whole)),
        "letters_predicted": float(len(np.unique(yhat))),
        "letters_90": letters_90(yhat),
    }


def keep(Y: Labels, Yhat: Labels) -> dict[str, np.ndarray]:
    """What statements need of a test set: `labels` and `predicted` (N,), of words end to end with their
    `lengths`; of single letters without, a synonym as its letter."""
    y, yhat = _flat(Y), _flat(Yhat)
    if not isinstance(Y, list):
        return {"labels": (y % N_LABELS).astype(np.uint8), "predicted": (yhat % N_LABELS).astype(np.uint8)}
    lengths = np.array([len(word) for word in Y])
    return {"labels": y.astype(np.uint8), "predicted": yhat.astype(np.uint8), "lengths": lengths}


def letters_90(y: np.ndarray) -> float:
    """The least number of different letters that make up nine tenths of y (N,)."""
    counts = np.sort(np.bincount(y))[::-1]
    return float(np.searchsorted(np.cumsum(counts), 0.9 * counts.sum()) + 1)


def shuffled(
    y: np.ndarray, rng: np.random.Generator, right: float = 0.25, tries: int = 200
) -> np.ndarray | None:
    """The labels of a word in another order, with at most a share `right` of the positions as before; None if
    no such order is found."""
    for _ in range(tries):
        other = rng.permutation(y)
        if np.mean(other == y) <= right:
            return other
    return None


def shifted(y: np.ndarray, right: float = 0.25) -> np.ndarray | None:
    """The labels of a word moved on cyclically by as few positions as leave at most a share `right` of them
    as before; None if there is no such shift."""
    shifts = (np.roll(y, k) for k in range(1, len(y)))
    return next((other for other in shifts if np.mean(other == y) <= right), None)


def _flat(Y: Labels) -> np.ndarray:
    return np.concatenate(Y) if isinstance(Y, list) else np.asarray(Y)


def _thinned(arrays: dict[str, np.ndarray], words_per_fold: int | None) -> dict[str, np.ndarray]:
    """The arrays of words_per_fold words per fold, evenly spread, since neighbours are often
    the same word."""
    if words_per_fold is None:
        return arrays
    chosen = np.zeros(len(arrays["folds"]), dtype=bool)
    for fold in range(FOLDS):
        words = np.flatnonzero(arrays["folds"] == fold)
        spread = np.linspace(0, len(words) - 1, min(words_per_fold, len(words)))
        chosen[words[spread.astype(int)]] = True
    tokens = np.repeat(chosen, arrays["lengths"])
    per_letter = {name: arrays[name][tokens] for name in ("pixels", "labels")}
    return {**per_letter, **{name: arrays[name][chosen] for name in ("lengths", "folds")}}


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, gzipped or plain; an incomplete gzip file is an error."""
    with open(path, "rb") as start:
        packed = start.read(2) == b"\x1f\x8b"
    line = 0
    with gzip.open(path, "rb") if packed else open(path, "rb") as handle:
        try:
            for text in handle:
                line += 1
                yield text
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(
                f"{path}, line {line + 1}: the gzip file breaks off or is damaged there ({error}); "
                "fetch it again"
            ) from None


def _letter(path: Path, line: int, text: bytes) -> tuple[tuple[int, ...], int, bytes]:
    """((id, next_id, word_id, position, fold), label, 128 bytes of 0 and 1) of one line."""
    where = f"{path}, line {line}"
    fields = text.rstrip(b"\r\n").removesuffix(b"\t").split(b"\t", len(COLUMNS))
    if len(fields) <= len(COLUMNS):
        raise DataError(
            f"{where}: {len(fields)} columns, but {', '.join(COLUMNS)} and {PIXELS} pixels are needed; "
            "correct the line"
        )
    numbers = []
    for name in ("id", "next_id", "word_id", "position", "fold"):
        value = fields[COLUMNS.index(name)]
        if not value.removeprefix(b"-").isdigit():
            raise DataError(
                f"{where}: {name} is {_shown(value)}, but must be a whole number; correct the line"
            )
        numbers.append(int(value))
    letter = fields[1]
    if len(letter) != 1 or not b"a" <= letter <= b"z":
        raise DataError(f"{where}: letter is {_shown(letter)}, but must be one of a to z; correct the line")
    if not 0 <= numbers[4] < FOLDS:
        raise DataError(f"{where}: fold is {numbers[4]}, but must be from 0 to {FOLDS - 1}; correct the line")
    pixels = fields[-1]
    bits = pixels[::2]
    if len(pixels) != 2 * PIXELS - 1 or pixels[1::2] != _TABS or bits.strip(b"01"):
        values = pixels.split(b"\t")
        if len(values) != PIXELS:
            raise DataError(f"{where}: {len(values)} pixels, but there must be {PIXELS}; correct the line")
        wrong = next(k for k, value in enumerate(values) if value not in (b"0", b"1"))
        raise DataError(
            f"{where}: pixel {wrong + 1} is {_shown(values[wrong])}, but must be 0 or 1; correct the line"
        )
    return tuple(numbers), letter[0] - FIRST_LETTER, bits.translate(_BITS)


_TABS = b"\t" * (PIXELS - 1)
_BITS = bytes.maketrans(b"01", b"\x00\x01")


def _check_continues(path: Path, line: int, before: tuple[int, ...], here: tuple[int, ...]) -> None:
    """Raise unless a letter goes on with the word of the letter before it."""
    announced = (before[1], before[2], before[3] + 1, before[4])
    values = (here[0], here[2], here[3], here[4])
    names = ("id", "word_id", "position", "fold")
    for name, expected, value in zip(names, announced, values, strict=True):
        if expected != value:
            raise DataError(
                f"{path}, line {line}: {name} is {value}, but the line before announces {expected}; "
                "a line is missing or out of order"
            )


def _shown(value: bytes) -> str:
    return repr(value[:20].decode("utf-8", "replace"))
