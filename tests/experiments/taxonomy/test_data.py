"""Patents, their stand-in and newsgroups: parsers, counts of the real files, folds, class features."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest

from structmargin.problems import Taxonomy
from structmargin_suite.datasets import dataset, newsgroups, patents, wipo_d
from structmargin_suite.datasets._sparse import csr_of
from structmargin_suite.fetching.fetch import obtain
from structmargin_suite.storage.errors import DataError

CODES = ["D01D00", "D01F00", "D02G00"]


def real(module, tmp_path: Path) -> dict[str, Path] | None:
    """The real files, where the environment says that they are."""
    mirror = os.environ.get("STRUCTMARGIN_DATA")
    if not mirror:
        print(f"no real data of {module.__name__} here: its counts are not checked")
        return None
    return {remote.name: obtain(remote, tmp_path, Path(mirror)) for remote in module.FILES}


def written(folder: Path, n=(4, 2), labels=None, X=None) -> dict[str, Path]:
    files = {}
    for part, m in zip(("train", "test"), n, strict=True):
        files[f"{part}-D.npy"] = folder / f"{part}-D.npy"
        np.save(files[f"{part}-D.npy"], np.arange(m * 2.0).reshape(m, 2) if X is None else X)
        files[f"{part}_label-D.txt"] = folder / f"{part}_label-D.txt"
        codes = [CODES[k % 3] for k in range(m)] if labels is None else labels
        files[f"{part}_label-D.txt"].write_text("\n".join(codes) + "\n")
    return files


def test_both_files_of_patents_are_one_collection(tmp_path):
    arrays = wipo_d.parse(written(tmp_path), 0)
    assert arrays["codes"].tolist() == CODES
    assert arrays["y"].tolist() == [0, 1, 2, 0, 0, 1]
    assert arrays["X"].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7], [0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": ["D01D00", "D01"]}, "line 2: 'D01' is no IPC code"),
        ({"labels": ["D01D00", "", "D01F00", "D01F00"]}, "line 2: '' is no IPC code"),
        ({"labels": ["D01D00"] * 3}, "has 3 labels but"),
        ({"X": np.array([[1.0, np.nan]] * 4)}, "row 0 has a NaN"),
        ({"X": np.ones(4)}, "must hold one matrix of numbers"),
    ],
)
def test_a_faulty_file_of_patents_is_named(tmp_path, change, message):
    with pytest.raises(DataError) as error:
        wipo_d.parse(written(tmp_path, **change), 0)
    assert message in str(error.value) and str(tmp_path) in str(error.value)


def test_a_damaged_file_of_patents_is_named(tmp_path):
    files = written(tmp_path)
    files["test-D.npy"].write_bytes(b"\x93NUMPY broken")
    with pytest.raises(DataError, match=r"test-D\.npy is no file of numbers"):
        wipo_d.parse(files, 0)


def test_the_counts_of_the_real_patents(tmp_path):
    files = real(wipo_d, tmp_path)
    if files is None:
        return
    arrays = wipo_d.parse(files, 0)
    assert arrays["X"].shape == (1710, 100)
    codes = arrays["codes"].tolist()
    assert [len({code[:k] for code in codes}) for k in (3, 4, 6)] == [7, 20, 57]
    kept, y, left = patents.large_classes(arrays["y"], arrays["codes"])
    assert len(left) == 50 and len(kept) == len(y) == 1710 - 11


@pytest.mark.parametrize(("per_class", "folds"), [(4, 3), (2, 5)])
def test_a_cross_validation_tests_every_document_once(per_class, folds):
    y = np.random.default_rng(0).permutation(np.repeat(np.arange(6), [3, 4, 5, 9, 30, 31]))
    for repetition in range(15 // folds):
        rounds = [patents.fold_documents(y, 7, per_class, repetition * folds + k) for k in range(folds)]
        assert np.array_equal(np.sort(np.concatenate([test for _, test in rounds])), np.arange(len(y)))
        for train, test in rounds:
            assert not set(train) & set(test)
            available = np.bincount(y, minlength=6) - np.bincount(y[test], minlength=6)
            assert np.bincount(y[train], minlength=6).tolist() == np.minimum(available, per_class).tolist()
            assert np.ptp(np.bincount(y[test], minlength=6) - np.bincount(y, minlength=6) / folds) < 2
    first, other = (patents.fold_documents(y, 7, per_class, k * folds) for k in (0, 1))
    assert not np.array_equal(first[1], other[1])


@pytest.mark.parametrize(("per_class", "folds"), [(4, 3), (2, 5)])
def test_one_fold_is_trained_on_where_the_others_are_tested(per_class, folds):
    y = np.repeat(np.arange(4), [3, 7, 12, 20])
    for number in range(folds + 1):
        _, fold = patents.fold_documents(y, 7, per_class, number)
        train, test = patents.fold_documents(y, 7, per_class, number, "one fold")
        assert train.tolist() == fold.tolist()  # the fold that is tested otherwise
        assert sorted([*train, *test]) == list(range(len(y)))


def test_made_up_patents_have_the_papers_shape():
    arrays = patents.synthesize(1)
    codes = arrays["codes"].tolist()
    assert [len({code[:k] for code in codes}) for k in (1, 3, 4, 6)] == [1, 7, 20, 160]
    counts = csr_of(arrays)
    assert counts.shape == (1710, 5000) and np.bincount(arrays["y"]).min() >= 6
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    assert 100 < np.median(lengths) < 250 and lengths.min() >= 3
    # documents of one subclass are more alike than those of different classes
    X = patents.tfidf(counts, counts)[0]
    K = (X @ X.T).toarray()
    classes, subclasses = (np.array([codes[k][:n] for k in arrays["y"]]) for n in (3, 4))
    near = (subclasses[:, None] == subclasses) & (arrays["y"][:, None] != arrays["y"])
    far = classes[:, None] != classes
    assert K[near].mean() > 1.1 * K[far].mean()
    again = patents.synthesize(1)
    assert all(np.array_equal(arrays[name], again[name]) for name in arrays)


@pytest.mark.parametrize("module", [patents, wipo_d])
def test_a_view_gives_a_problem_that_fits_it(module):
    arrays = patents.synthesize(2, n_documents=120, n_groups=12, n_words=300)
    if module is wipo_d:
        arrays = {"X": csr_of(arrays).toarray(), "y": arrays["y"], "codes": arrays["codes"]}
    for features in ("flat", "taxonomy"):
        split = module.view(arrays, 3, instances_per_class=4, round=1, features=features)
        problem = Taxonomy(**split.problem)
        problem.check(*split.train)
        problem.check(*split.test)
        codes = patents.large_classes(arrays["y"], arrays["codes"])[2]
        for a, code in enumerate(codes):
            for b, other in enumerate(codes):
                shared = sum(code[:k] == other[:k] for k in patents.LEVELS)
                assert problem.losses()[a, b] == 4 - shared
                assert problem.L[a, b] == (shared if features == "taxonomy" else a == b)


def test_words_and_frequencies_are_those_of_the_training_set():
    import scipy.sparse as sp

    train, test = sp.csr_matrix([[1.0, 0, 2], [1, 0, 0]]), sp.csr_matrix([[0.0, 5, 1], [0, 5, 0]])
    A, B = patents.tfidf(train, test)
    assert A.shape == (2, 2) and B.toarray().tolist() == [[0, 1], [0, 0]]
    assert A[0, 1] > A[0, 0] > 0


def test_accuracy_and_error_make_a_hundred():
    assert patents.score([0, 1, 2, 2], [0, 1, 1, 2]) == {"accuracy": 75.0, "error": 25.0}


# ---- newsgroups ----

POSTING = "From: me\nSubject: pitching\n\nHe writes:\n> a quoted glove\n{}\n\n--\nmy signature\n"


def archive(path: Path, texts: dict[str, str]) -> dict[str, Path]:
    with tarfile.open(path, "w:xz") as out:
        for name, text in texts.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode("latin-1"))
            out.addfile(info, io.BytesIO(text.encode("latin-1")))
    return {"20news-bydate.tar.xz": path}


def small() -> dict[str, str]:
    words = {
        "rec.autos": "engines and brakes",
        "rec.sport.hockey": "skating",
        "rec.sport.baseball": "pitchers",
    }
    return {
        f"20news-bydate-{part}/{group}/{k}": POSTING.format(text)
        for part in ("train", "test")
        for group, text in words.items()
        for k in range(4)
    }


def test_postings_come_without_headers_quotes_and_footers_and_stemmed(tmp_path):
    arrays = newsgroups.parse(archive(tmp_path / "a", small()), 0)
    counts = csr_of(arrays)
    assert arrays["groups"].tolist() == ["rec.autos", "rec.sport.baseball", "rec.sport.hockey"]
    assert arrays["subset"].tolist() == [0] * 12 + [1] * 12
    # brake, engin, pitcher, skate: nothing of "From", "pitching", "quoted glove", "signature", "and"
    assert counts.shape == (24, 4)
    assert counts[0].toarray().tolist() == [[1, 1, 0, 0]] and counts[23].toarray().tolist() == [[0, 0, 0, 1]]
    few = newsgroups.parse(archive(tmp_path / "b", small()), 0, postings_per_group=3)
    assert len(few["y"]) == 18


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"README": "hello"}, "'README' is not where a posting belongs"),
        ({"20news-bydate-train/sci.med/1": "a\n\nb"}, "group 'sci.med' has no posting in its test set"),
    ],
)
def test_a_faulty_archive_is_named(tmp_path, change, message):
    with pytest.raises(DataError, match="20news") as error:
        newsgroups.parse(archive(tmp_path / "20news.tar.xz", {**small(), **change}), 0)
    assert message in str(error.value)
    (tmp_path / "20news").write_bytes(b"no archive")
    with pytest.raises(DataError, match="is no tar archive"):
        newsgroups.parse({"20news-bydate.tar.xz": tmp_path / "20news"}, 0)


def test_names_make_a_tree():
    order = newsgroups.parents(newsgroups.GROUPS)
    assert order["comp.sys.ibm.pc.hardware"] == "comp.sys" and order["comp.sys"] == "comp"
    assert order["comp.os.ms-windows.misc"] == "comp" and order["comp"] == "all"
    assert order["misc.forsale"] == "all" and order["talk.politics.guns"] == "talk.politics"
    assert len(set(order) | set(order.values())) == 20 + 1 + 7


def test_every_kind_of_class_features_fits():
    arrays = newsgroups.synthesize(0, postings_per_group=6)
    rec, sport = newsgroups.GROUPS.index("rec.autos"), newsgroups.GROUPS.index("rec.sport.hockey")
    med = newsgroups.GROUPS.index("sci.med")
    for features in ("flat", "taxonomy", "descriptions", "similarity"):
        split = newsgroups.view(arrays, 1, instances_per_class=4, round=0, features=features)
        problem = Taxonomy(**split.problem)
        problem.check(*split.train)
        assert np.bincount(split.train.Y).tolist() == [4] * 20 and len(split.test.Y) == 120
        assert problem.delta(rec, sport) == 2 and problem.delta(rec, med) == 3
        if features != "flat":
            assert problem.L[rec, sport] > problem.L[rec, med], features


def test_the_counts_of_the_real_postings(tmp_path):
    files = real(newsgroups, tmp_path)
    if files is None:
        return
    postings = newsgroups._postings(files["20news-bydate.tar.xz"])
    assert (
        sum(part == 0 for part, _, _ in postings) == 11314
        and sum(part == 1 for part, _, _ in postings) == 7532
    )
    assert sorted({group for _, group, _ in postings}) == list(newsgroups.GROUPS)


@pytest.mark.parametrize("name", ["patents", "wipo_d", "newsgroups"])
def test_stand_ins_follow_from_the_seed_alone(name):
    module = dataset(name)
    small = {
        "patents": {"n_documents": 60, "n_groups": 9, "n_words": 200},
        "newsgroups": {"postings_per_group": 4},
    }
    first, again, other = (module.synthesize(seed, **small.get(name, {})) for seed in (4, 4, 5))
    assert all(np.array_equal(first[key], again[key]) for key in first)
    key = "X" if name == "wipo_d" else "data"
    assert not np.array_equal(first[key], other[key])
