"""Named entities in Spanish news: CoNLL-2002, three columns per token (word, part of speech, tag), IOB2.

A corpus is a draw of sentences, random by the seed or the first of the file (whole articles, which is
easier), and optionally test sets. A view is one of `folds` folds of the draw, or its first n_train sentences
against the test set. With n_testa, models of folds are also tested on esp.testa, the same for every draw.
The paper's set-up (jmlr05 5.2, Altun et al. 2003) is 300 sentences.

Tokens are seen as words, for generative models, or as rows of binary features of the token and its two
neighbours (`linear`), or as those under the degree-2 map (`degree 2`); `features.py` has both. About
15 features of a token are not zero, so |phi|^2 is about 15, or 260 with degree 2: values of C of the two are
not comparable.
"""

from __future__ import annotations

import codecs
import functools
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin_suite.datasets import Examples, Schemas, Split
from structmargin_suite.datasets._archives import zip_files
from structmargin_suite.datasets._measures import measures
from structmargin_suite.datasets.conll2002.features import binary, degree2, merged
from structmargin_suite.datasets.conll2002.language import made_up_language
from structmargin_suite.datasets.conll2002.tags import TAGS, Sentence
from structmargin_suite.fetching.fetch import Remote
from structmargin_suite.fetching.originals import Home
from structmargin_suite.storage.errors import DataError

FILES = (
    Remote(
        name="conll2002.zip",
        sha256="64440e49236d0d393e08e0b266284966d68e2d2a82a50cc41b8e96d98c03b5c8",
        mirror="conll2002/conll2002.zip",
        url="https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/conll2002.zip",
    ),
)
POOL = 8323
"""Sentences of esp.train, from which random draws are made."""
HOME = Home(
    title="CoNLL-2002, named entities in Spanish",
    page="https://www.clips.uantwerpen.be/conll2002/ner/",
    terms="research",
    folder="conll2002",
    version="nltk_data package conll2002",
    megabytes=1.8,
)
PREPARE: Schemas = {
    "draw": {"enum": ["random", "first"]},
    "n_sentences": {"type": "integer", "minimum": 2},
    "n_test": {"type": "integer", "minimum": 1},
    "n_testa": {"type": "integer", "minimum": 1},
    "repetition": {"type": "integer", "minimum": 0},
}
VIEW: Schemas = {
    "features": {"enum": ["words", "linear", "degree 2"]},
    "folds": {"type": "integer", "minimum": 2},
    "fold": {"type": "integer", "minimum": 0},
    "n_train": {"type": "integer", "minimum": 1},
}


def refuse(prepare: Mapping[str, Any], view: Mapping[str, Any]) -> str | None:
    """Why these parameters do not go together, or None."""
    n, fold, folds, n_train = (
        prepare["n_sentences"], view.get("fold"), view.get("folds"), view.get("n_train")
    )  # fmt: skip
    if (fold is None) == (n_train is None):
        return "a view is either a fold or the first n_train sentences; give one of fold and n_train"
    if fold is not None:
        if folds is None or not fold < folds <= n:
            return f"fold is {fold} of folds {folds}, but folds must be above it and at most {n} sentences"
    elif "n_test" not in prepare:
        return "n_train needs a test set; give n_test to the corpus"
    elif n_train is not None and n_train > n:
        return f"n_train is {n_train}, but the draw has {n} sentences; lower n_train or raise n_sentences"
    return None


def parse(
    files: Mapping[str, Path], seed: int, *, draw: str, n_sentences: int, n_test: int | None = None,
    n_testa: int | None = None, repetition: int = 0,
) -> dict[str, np.ndarray]:  # fmt: skip
    """A draw of sentences from esp.train, the first n_test of esp.testb and the first n_testa of esp.testa.

    A user's own file may also be plain text in the three columns; its last n_test + n_testa sentences are
    then these test sets, in this order, and the others are drawn from.
    """
    path, wanted = files[FILES[0].name], (n_test or 0, n_testa or 0)
    if zipfile.is_zipfile(path) or path.suffix == ".zip":
        at = path.stat().st_mtime_ns
        pool = read(path, "conll2002/esp.train", at)
        test, testa = (
            read(path, f"conll2002/{name}", at)[:n] if n else []
            for name, n in zip(("esp.testb", "esp.testa"), wanted, strict=True)
        )
    else:
        whole = sentences(str(path), path.read_bytes())
        ends = np.cumsum([max(len(whole) - sum(wanted), 0), *wanted])
        pool, test, testa = (whole[begin:end] for begin, end in zip([0, *ends], ends, strict=False))
    if len(pool) < n_sentences or (len(test), len(testa)) != wanted:
        raise DataError(
            f"{path} has {len(pool)} sentences to draw from and {len(test)} and {len(testa)} to test on, but "
            f"n_sentences is {n_sentences}, n_test {wanted[0]} and n_testa {wanted[1]}; lower them"
        )
    chosen = np.arange(n_sentences)
    if draw == "random":
        chosen = np.random.default_rng(seed).permutation(len(pool))[:n_sentences]
    return {
        **_sentence_arrays("pool", [pool[i] for i in chosen]),
        **(_sentence_arrays("test", test) if test else {}),
        **(_sentence_arrays("testa", testa) if testa else {}),
    }


@functools.lru_cache(maxsize=3)  # many draws come from the same members
def read(archive: Path, member: str, changed: int = 0) -> list[Sentence]:
    """The sentences of one member of a zip file; `changed` tells versions of the file apart."""
    contents = zip_files(archive, lambda name: name == member)
    if member not in contents:
        raise DataError(f"{archive} has no member {member}; use the archive of CoNLL-2002")
    return sentences(f"{archive}/{member}", contents[member])


def sentences(name: str, data: bytes) -> list[Sentence]:
    """Lines `word pos tag` separated by blank ones as sentences of (word, number of the tag).

    Anything else is an error that gives the line of the file `name`. A sentence may begin with an I-,
    where the corpus was cut within an entity: each of the Spanish files has one such sentence.
    """
    if data[:2] == b"\x1f\x8b":
        raise DataError(f"{name} is compressed by gzip; unpack it first")
    result: list[Sentence] = [[]]
    number = {tag: k for k, tag in enumerate(TAGS)}
    before: str | None = None
    for line, raw in enumerate(data.removeprefix(codecs.BOM_UTF8).splitlines(), start=1):
        where = f"{name}, line {line}"
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise DataError(f"{where}: the text is not UTF-8; convert it") from None
        if not raw.strip():
            if result[-1]:
                result.append([])
            before = None
            continue
        word, tag = _token(where, text, before)
        result[-1].append((word, number[tag]))
        before = tag
    return [sentence for sentence in result if sentence]


def _token(where: str, text: str, before: str | None) -> tuple[str, str]:
    """(word, tag) of a line; `before` is the tag of the token before it, None at the start of a sentence."""
    fields = text.split(" ")
    if len(fields) != 3 or not all(fields):
        fault = f"{len(fields)} columns" if len(fields) != 3 else "an empty column"
        raise DataError(
            f"{where}: {fault} in {text!r}, but a token has three "
            "(word, part of speech, tag), separated by single spaces; correct the line"
        )
    word, _, tag = fields
    if tag not in TAGS:
        raise DataError(f"{where}: the tag {tag!r} is none of {', '.join(TAGS)}; correct it")
    if tag[0] == "I" and before is not None and before[1:] != tag[1:]:
        raise DataError(
            f"{where}: {tag} follows {before}, but in IOB2 an entity begins with B{tag[1:]}; correct the tag"
        )
    return word, tag


def synthesize(
    seed: int,
    *,
    draw: str,
    n_sentences: int,
    n_test: int | None = None,
    n_testa: int | None = None,
    repetition: int = 0,
) -> dict[str, np.ndarray]:
    """Sentences of a hidden Markov model with word-like tokens; the language is always the same one.

    `first` is one fixed set of sentences, `random` follows the seed; the n_testa further ones are always the
    same.
    """
    language = made_up_language()
    rng = np.random.default_rng(0 if draw == "first" else seed)
    arrays = _sentence_arrays("pool", [language.speak(rng) for _ in range(n_sentences)])
    if n_test:
        arrays.update(_sentence_arrays("test", [language.speak(rng) for _ in range(n_test)]))
    if n_testa:
        fixed = np.random.default_rng(1)
        arrays.update(_sentence_arrays("testa", [language.speak(fixed) for _ in range(n_testa)]))
    return arrays


def view(
    arrays: Mapping[str, np.ndarray], seed: int, *, features: str = "linear", folds: int | None = None,
    fold: int | None = None, n_train: int | None = None,
) -> Split:  # fmt: skip
    """One fold against the others, or the first n_train sentences against the test set.

    Folds are of the seed: the same for every method, different from draw to draw.
    """
    if fold is not None and folds is not None:
        from sklearn.model_selection import KFold

        n = len(arrays["pool_lengths"])
        subsets = list(KFold(folds, shuffle=True, random_state=seed % 2**32).split(np.arange(n)))[fold]
        train, test = (_take("pool", arrays, subset) for subset in subsets)
    else:
        train = _take("pool", arrays, np.arange(n_train or 0))
        test = _take("test", arrays, np.arange(len(arrays["test_lengths"])))
    beside = {}
    if fold is not None and "testa_lengths" in arrays:
        testa = _take("testa", arrays, np.arange(len(arrays["testa_lengths"])))
        beside = {"testa": lambda: _examples(features, train, testa)[1]}
    learnt, tested = _examples(features, train, test)
    known = {"n_labels": len(TAGS), "n_features": learnt.X[0].shape[1]} if features != "words" else {}
    return Split(learnt, tested, problem=known, beside=beside)


Tokens = tuple[np.ndarray, np.ndarray, np.ndarray]
Rows = tuple[sp.csr_matrix, sp.csr_matrix]
_remembered: list[tuple[str, Tokens, Tokens, Rows]] = []


def _rows(features: str, train: Tokens, test: Tokens) -> Rows:
    """The features of the tokens of both subsets; the last four pairs are remembered, since methods of a job
    often see the same one."""
    for name, old_train, old_test, rows in _remembered:
        if name == features and all(
            np.array_equal(old, new)
            for old, new in zip((*old_train, *old_test), (*train, *test), strict=True)
        ):
            return rows
    rows = binary(*(subset[::2] for subset in (train, test)))
    if features == "degree 2":
        rows = merged(*degree2(*rows))
    _remembered.append((features, train, test, rows))
    del _remembered[:-4]
    return rows


def _examples(features: str, train: Tokens, test: Tokens) -> tuple[Examples, Examples]:
    """Both subsets by sentence, the second in the features of the first."""
    rows = (train[0], test[0]) if features == "words" else _rows(features, train, test)
    both = [
        Examples(_by_sentence(M, lengths), _by_sentence(tags, lengths))
        for M, (_, tags, lengths) in zip(rows, (train, test), strict=True)
    ]
    return both[0], both[1]


def keep(Y: Sequence[np.ndarray], Yhat: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """The number of wrong labels of every sentence, and its length."""
    wrong = [int(np.sum(np.asarray(y) != np.asarray(yhat))) for y, yhat in zip(Y, Yhat, strict=True)]
    return {"wrong": np.array(wrong), "tokens": np.array([len(y) for y in Y])}


@measures("error", "f1", beside=("testa",))
def score(Y: Sequence[np.ndarray], Yhat: Sequence[np.ndarray]) -> dict[str, float]:
    """`error`: wrong tokens in percent. `f1`: F1 of whole entities in percent (100 where there are none)."""
    from structmargin.scoring import span_matches, token_error

    both, true, predicted = span_matches(Y, Yhat, TAGS)
    f1 = 200.0 * both / (true + predicted) if true + predicted else 100.0
    return {"error": 100.0 * token_error(Y, Yhat), "f1": f1}


def _sentence_arrays(subset: str, pool: Sequence[Sentence]) -> dict[str, np.ndarray]:
    return {
        f"{subset}_words": np.array([word for sentence in pool for word, _ in sentence]),
        f"{subset}_tags": np.array([tag for sentence in pool for _, tag in sentence], dtype=np.int64),
        f"{subset}_lengths": np.array([len(sentence) for sentence in pool], dtype=np.int64),
    }


def _take(subset: str, arrays: Mapping[str, np.ndarray], which: np.ndarray) -> Tokens:
    """Words, tags and lengths of some sentences, one after the other."""
    words, tags, lengths = (arrays[f"{subset}_{name}"] for name in ("words", "tags", "lengths"))
    taken, begin = lengths[which], (np.cumsum(lengths) - lengths)[which]
    tokens = np.repeat(begin - (np.cumsum(taken) - taken), taken) + np.arange(taken.sum())
    return words[tokens], tags[tokens], taken


def _by_sentence(rows: np.ndarray | sp.csr_matrix, lengths: np.ndarray) -> list[np.ndarray | sp.csr_matrix]:
    ends = np.cumsum(lengths)
    return [rows[end - length : end] for end, length in zip(ends, lengths, strict=True)]
