"""CoNLL-2002: what is read, what is refused, and the features made of it."""

from __future__ import annotations

import gzip
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.toy_project import project
from structmargin import StructuredSVM
from structmargin.problems.sequence.problem import Sequence
from structmargin_suite.datasets import conll2002 as data
from structmargin_suite.datasets.conll2002.features import binary, degree2, merged, spelling
from structmargin_suite.planning.plan import load
from structmargin_suite.stages.prepare import prepare
from structmargin_suite.storage.errors import DataError

GOOD = "Ana NC B-PER\nvive VMI O\nen SP O\nNueva NC B-LOC\nYork NC I-LOC\n\n\nSí RG O\n. Fp O\n"


def zipped(folder: Path, text: str = GOOD, test: str = GOOD) -> Path:
    path = folder / "conll2002.zip"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("conll2002/esp.train", text)
        out.writestr("conll2002/esp.testb", test)
        out.writestr("conll2002/esp.testa", "Eva NC B-PER\n\n" + test)
    return path


def test_sentences_are_words_and_numbers_of_tags():
    first, second = data.sentences("x", GOOD.encode())
    assert first == [("Ana", 1), ("vive", 0), ("en", 0), ("Nueva", 5), ("York", 6)]
    assert second == [("Sí", 0), (".", 0)]


def test_a_sentence_may_begin_within_an_entity_and_lines_may_end_as_in_windows():
    assert data.sentences("x", b"San AQ I-LOC\r\nJuan NC I-LOC\r\n") == [[("San", 6), ("Juan", 6)]]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("Ana NC B-PER\nvive VMI\n", 2, "2 columns"),
        ("Ana NC B-PER\n\nvive VMI O O\n", 3, "4 columns"),
        ("Ana  B-PER\n", 1, "three"),
        ("Ana NC B-PERSON\n", 1, "'B-PERSON' is none of O, B-PER"),
        ("va VMI O\nAna NC I-PER\n", 2, "I-PER follows O"),
        ("Ana NC B-PER\nRoma NC I-LOC\n", 2, "I-LOC follows B-PER"),
    ],
)
def test_a_malformed_line_is_named(tmp_path, text, line, said):
    path = zipped(tmp_path, text)
    with pytest.raises(DataError) as error:
        data.parse({"conll2002.zip": path}, 0, draw="first", n_sentences=2)
    assert f"conll2002.zip/conll2002/esp.train, line {line}: " in str(error.value)
    assert said in str(error.value)


def test_text_in_another_encoding_is_named_by_line():
    with pytest.raises(DataError, match=r"f\.txt, line 2: the text is not UTF-8"):
        data.sentences("f.txt", b"a b O\n" + "Sí RG O\n".encode("latin-1"))


def test_a_mark_of_the_encoding_is_no_part_of_the_first_word_and_compressed_text_is_said_to_be():
    assert data.sentences("f.txt", b"\xef\xbb\xbfAna NC B-PER\n") == [[("Ana", data.TAGS.index("B-PER"))]]
    with pytest.raises(DataError, match=r"f\.gz is compressed by gzip; unpack it"):
        data.sentences("f.gz", gzip.compress(b"Ana NC B-PER\n"))
    with pytest.raises(DataError, match=r"line 1: an empty column in 'Ana  B-PER', but a token has three"):
        data.sentences("f.txt", b"Ana  B-PER\n")


def test_a_truncated_zip_and_a_missing_member_name_the_file(tmp_path):
    path = zipped(tmp_path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataError, match=r"conll2002.zip is no zip archive, or is damaged or cut short"):
        data.parse({"conll2002.zip": path}, 0, draw="first", n_sentences=2)
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("conll2002/ned.train", GOOD)
    with pytest.raises(DataError, match=r"no member conll2002/esp.train"):
        data.parse({"conll2002.zip": path}, 0, draw="first", n_sentences=2)
    damaged = bytearray(zipped(tmp_path).read_bytes())
    damaged[60] ^= 255
    path.write_bytes(damaged)
    with pytest.raises(DataError, match="damaged"):
        data.parse({"conll2002.zip": path}, 0, draw="first", n_sentences=2)


def test_too_few_sentences_are_counted(tmp_path):
    with pytest.raises(DataError, match="2 sentences to draw from and 0 and 0 to test on, but n_sent"):
        data.parse({"conll2002.zip": zipped(tmp_path)}, 0, draw="first", n_sentences=3)


def test_a_plain_file_of_ones_own_has_its_test_set_at_the_end(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text(GOOD + "\nFin NC O\n", encoding="utf-8")
    arrays = data.parse({"conll2002.zip": path}, 0, draw="first", n_sentences=2, n_test=1)
    assert list(arrays["pool_lengths"]) == [5, 2] and list(arrays["test_words"]) == ["Fin"]


TINY = {
    "title": "Tiny", "paper": "jmlr05", "where": "x", "about": "x",
    "data": {"c": {"from": "conll2002", "source": "real", "draw": "first", "n_sentences": 4, "folds": 2}},
    "methods": {"HMM": {"baseline": "hmm", "view": {"features": "words"}}},
    "studies": {"s": {"methods": ["HMM"], "vary": {"fold": 2}}},
    "tables": {}, "scales": {"smoke": {}, "standard": {}, "paper": {}},
}  # fmt: skip


@pytest.mark.parametrize("kind", ["wrong sum", "bad line"])
def test_refused_data_leave_nothing_behind(tmp_path, monkeypatch, kind):
    mirror = tmp_path / "mirror" / "conll2002"
    mirror.mkdir(parents=True)
    path = zipped(mirror, "Ana NC B-PER\nbad\n")
    own = {**TINY["data"]["c"], "source": "file", "path": str(path)}
    config = TINY if kind == "wrong sum" else {**TINY, "data": {"c": own}}
    monkeypatch.setenv("STRUCTMARGIN_DATA", str(tmp_path / "mirror"))
    root = project(tmp_path / "project", config, "tiny")
    with pytest.raises(DataError, match="SHA-256" if kind == "wrong sum" else "line 2: 1 columns"):
        prepare(load(root), "tiny", "c")
    assert [p for p in (root / "data").rglob("*") if p.is_file() and "published" not in p.parts] == []


def test_the_real_corpus_has_the_counts_it_should():
    folder = os.environ.get("STRUCTMARGIN_DATA")
    path = Path(folder or "") / data.FILES[0].mirror
    if not folder or not path.is_file():
        print("CoNLL-2002 is not at hand (STRUCTMARGIN_DATA): its counts were not checked")
        return
    counts = {}
    for part in ("train", "testa", "testb"):
        sentences = data.read(path, f"conll2002/esp.{part}")
        tags = [data.TAGS[tag] for sentence in sentences for _, tag in sentence]
        counts[part] = (len(sentences), len(tags), sum(tag[0] == "B" for tag in tags))
    assert counts["train"] == (8323, 264715, 18797)
    assert (counts["testa"][0], counts["testb"][0]) == (1915, 1517)


def stand_in(n=30, **more):
    return data.synthesize(3, draw="random", n_sentences=n, **more)


def test_the_stand_in_follows_its_seed_and_keeps_to_iob2():
    arrays, again = stand_in(200), stand_in(200)
    assert all(np.array_equal(arrays[name], again[name]) for name in arrays)
    other = data.synthesize(4, draw="random", n_sentences=200)
    assert not np.array_equal(arrays["pool_words"], other["pool_words"])
    lines = [
        [f"{word} X {data.TAGS[tag]}" for word, tag in zip(words, tags, strict=True)]
        for words, tags in zip(
            *(data._by_sentence(arrays[f"pool_{k}"], arrays["pool_lengths"]) for k in ("words", "tags")),
            strict=True,
        )
    ]
    text = "\n\n".join("\n".join(sentence) for sentence in lines)
    packed = data._sentence_arrays("pool", data.sentences("x", text.encode()))
    assert all(np.array_equal(arrays[name], packed[name]) for name in arrays)
    assert set(arrays["pool_tags"]) == set(range(9)) and 0.05 < np.mean(arrays["pool_tags"] > 0) < 0.3
    fixed = [data.synthesize(s, draw="first", n_sentences=5)["pool_words"] for s in (1, 2)]
    assert np.array_equal(*fixed)


def test_folds_part_the_draw_alike_for_every_view():
    arrays = stand_in(23)
    seen = []
    for fold in range(5):
        words = data.view(arrays, 7, features="words", folds=5, fold=fold)
        linear = data.view(arrays, 7, features="linear", folds=5, fold=fold)
        for part in ("train", "test"):
            ours, theirs = getattr(words, part), getattr(linear, part)
            assert all(np.array_equal(a, b) for a, b in zip(ours.Y, theirs.Y, strict=True))
            assert [len(x) for x in ours.X] == [x.shape[0] for x in theirs.X]
        assert len(words.train.Y) + len(words.test.Y) == 23
        seen += [" ".join(x) for x in words.test.X]
    every = data._by_sentence(arrays["pool_words"], arrays["pool_lengths"])
    assert sorted(seen) == sorted(" ".join(x) for x in every)


def test_sizes_are_nested_and_tested_on_other_sentences():
    arrays = stand_in(12, n_test=4)
    small, large = (data.view(arrays, 0, features="words", n_train=n) for n in (5, 9))
    assert all(np.array_equal(a, b) for a, b in zip(small.train.X, large.train.X, strict=False))
    assert np.array_equal(np.concatenate(small.test.X), arrays["test_words"]) and len(large.train.Y) == 9


def test_views_that_cannot_be_are_refused():
    prepared = {"n_sentences": 10}
    assert data.refuse(prepared, {"folds": 5, "fold": 4}) is None
    assert "folds must be above" in data.refuse(prepared, {"folds": 5, "fold": 5})
    assert "give one of" in data.refuse(prepared, {"folds": 5})
    assert "n_test" in data.refuse(prepared, {"n_train": 5})
    assert "11" in data.refuse({**prepared, "n_test": 2}, {"n_train": 11})


def test_linear_features_are_the_spelling_of_three_tokens():
    train = (np.array(["El", "tren", "25", ",", "IBM"]), np.array([3, 2]))
    test = (np.array(["tren", "IBM"]), np.array([2]))
    A, B = binary(train, test)
    words = ["El", "tren", "25"], [",", "IBM"]
    windows = [
        {(place, name) for place, near in zip("-0+", padded[t : t + 3], strict=True) for name in names(near)}
        for sentence in words
        for padded in [[None, *sentence, None]]
        for t in range(len(sentence))
    ]
    expected = np.array([[len(a & b) for b in windows] for a in windows])
    assert np.array_equal((A @ A.T).toarray(), expected)
    first = {("-", None), *(("0", n) for n in names("tren")), *(("+", n) for n in names("IBM"))}
    assert np.array_equal((B[0] @ A.T).toarray()[0], [len(first & b) for b in windows])
    assert set(spelling("IBM")) >= {"word=IBM", "lower=ibm", "case=all capitals"}
    assert "digit" in set(spelling("B52")) and "punctuation" in set(spelling("..."))


def names(word):
    return {None} if word is None else set(spelling(word))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 8), st.floats(0.1, 0.9))
def test_degree_two_is_the_polynomial_kernel_and_merging_keeps_it(seed, rows, columns, density):
    rng = np.random.default_rng(seed)
    x = (rng.random((rows, columns)) < density).astype(float)
    z = (rng.random((5, columns)) < density).astype(float)
    A, B = degree2(*(sp.csr_matrix(np.hstack([m, np.ones((len(m), 1))])) for m in (x, z)))
    kernel, across = ((2.0 + x @ m.T) ** 2 for m in (x, z))
    small, others = merged(A, B)
    for left, right in ((A, B), (small, others)):
        assert np.allclose((left @ left.T).toarray(), kernel)
        assert np.allclose((left @ right.T).toarray(), across)
    patterns = {tuple(np.flatnonzero(column)) for column in A.toarray().T}
    assert small.shape[1] == len(patterns)


def test_merged_columns_change_neither_objective_nor_predictions():
    arrays = stand_in(14)
    split = data.view(arrays, 1, features="linear", folds=2, fold=0)
    A, B = (sp.vstack(part.X, format="csr") for part in (split.train, split.test))
    results = []
    for X, Z in (degree2(A, B), merged(*degree2(A, B))):
        X, Z = (
            data._by_sentence(M, [len(y) for y in part.Y]) for M, part in ((X, split.train), (Z, split.test))
        )
        model = StructuredSVM(Sequence(9, X[0].shape[1]), "SVM2 margin", C=1.0, eps=1e-4, gap_tol=1e-7).fit(
            X, split.train.Y
        )
        results.append((model.fit_.primal, np.concatenate(model.predict(Z))))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-6)
    assert np.array_equal(results[0][1], results[1][1])


def test_token_error_and_entity_f1():
    N, BP, IP, BL, IL = 0, 1, 2, 5, 6
    alike = (
        [BP, IP, BP, N, IL, BL, IL],
        [BP, IP, BP, N, BL, BL, IL],
    )  # an I- that continues nothing begins one
    assert data.score([alike[0]], [alike[1]])["f1"] == 100.0
    assert data.score([[BP, IL]], [[BP, BL]])["f1"] == 100.0
    assert data.score([[BP, IL]], [[BP, IP]])["f1"] == 0.0
    Y, Yhat = [[BP, IP, N], [BL, N]], [[BP, N, N], [BL, N]]
    assert data.score(Y, Yhat) == pytest.approx({"error": 20.0, "f1": 50.0})
    assert data.score([[N]], [[N]]) == {"error": 0.0, "f1": 100.0}
    assert data.score([[N, BP]], [[N, N]])["f1"] == 0.0


def test_sentences_of_testa_are_a_test_set_of_every_fold(tmp_path):
    path = zipped(tmp_path, "\n".join([GOOD] * 3))
    arrays = data.parse({"conll2002.zip": path}, 0, draw="random", n_sentences=4, n_testa=2)
    assert arrays["testa_words"].tolist() == ["Eva", "Ana", "vive", "en", "Nueva", "York"]
    for fold in range(2):
        beside = data.view(arrays, 3, features="words", folds=2, fold=fold).beside["testa"]()
        assert [y.tolist() for y in beside.Y] == [[1], [1, 0, 0, 5, 6]]
        assert beside.X[0].tolist() == ["Eva"]
    with pytest.raises(DataError, match="0 and 3 to test on, but n_sentences is 4, n_test 0 and n_testa 4"):
        data.parse({"conll2002.zip": path}, 0, draw="random", n_sentences=4, n_testa=4)
    own = tmp_path / "own.txt"
    own.write_text("\n".join([GOOD] * 3), encoding="utf-8")
    ends = data.parse({"conll2002.zip": own}, 0, draw="first", n_sentences=3, n_test=1, n_testa=2)
    assert [ends[f"{name}_lengths"].tolist() for name in ("pool", "test", "testa")] == [
        [5, 2, 5],
        [2],
        [5, 2],
    ]


def test_a_file_that_changed_is_read_again(tmp_path):
    first = data.parse({"conll2002.zip": zipped(tmp_path)}, 0, draw="first", n_sentences=2)
    path = zipped(tmp_path, GOOD.replace("York", "Delhi"))
    os.utime(path, ns=(1, 1))
    again = data.parse({"conll2002.zip": path}, 0, draw="first", n_sentences=2)
    assert first["pool_words"][4] == "York" and again["pool_words"][4] == "Delhi"


@pytest.mark.parametrize("features", ["linear", "degree 2"])
def test_columns_are_those_of_the_training_sentences_whatever_is_tested(features):
    """So a model that was trained beside one test set can be tested on another."""
    arrays = stand_in(40, n_testa=25)
    split = data.view(arrays, 5, features=features, folds=4, fold=1)
    train = data._take("pool", arrays, np.arange(30))
    tests = [data._take("pool", arrays, np.arange(30, 40)), data._take("testa", arrays, np.arange(25))]
    columns = [data._rows(features, train, test)[0] for test in tests]
    assert (columns[0] != columns[1]).nnz == 0
    beside = split.beside["testa"]()
    assert len(beside.Y) == 25 and beside.X[0].shape[1] == split.train.X[0].shape[1]


def test_wrong_labels_are_kept_by_sentence():
    Y, yhat = [np.array([0, 1, 2]), np.array([0])], [np.array([0, 2, 1]), np.array([0])]
    kept = data.keep(Y, yhat)
    assert kept["wrong"].tolist() == [2, 0] and kept["tokens"].tolist() == [3, 1]
