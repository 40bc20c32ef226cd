"""Data sets of one topic against the rest: parsers, counts of the real files, stand-ins, views and scores."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

from structmargin.problems import Measure
from structmargin_suite.datasets import _one_vs_rest, abstracts, covertype, optdigits, reuters
from structmargin_suite.fetching.fetch import obtain
from structmargin_suite.storage.errors import DataError


def real(module, tmp_path: Path) -> dict[str, Path] | None:
    """The real files, where the environment says that they are."""
    mirror = os.environ.get("STRUCTMARGIN_DATA")
    if not mirror:
        print(f"no real data of {module.__name__} here: its counts are not checked")
        return None
    return {remote.name: obtain(remote, tmp_path, Path(mirror)) for remote in module.FILES}


# ---- Reuters ----

STORY = """<REUTERS TOPICS="{}" LEWISSPLIT="{}" NEWID="1">
<TOPICS>{}</TOPICS>
<TEXT>&#2;
<TITLE>{}</TITLE>
<BODY>Dlrs &lt;BP> rose
</BODY></TEXT>
</REUTERS>
"""


def story(split="TRAIN", topics=("grain",), title="WHEAT AND CORN", used="YES") -> str:
    return STORY.format(used, split, "".join(f"<D>{name}</D>" for name in topics), title)


def archive(path: Path, **files: str) -> dict[str, Path]:
    with tarfile.open(path, "w:gz") as out:
        for name, text in files.items():
            info = tarfile.TarInfo(f"reuters21578/{name}.sgm")
            info.size = len(text.encode("latin-1"))
            out.addfile(info, io.BytesIO(text.encode("latin-1")))
    return {"reuters21578.tar.gz": path}


def test_stories_of_the_split_come_with_topics_and_words(tmp_path):
    files = archive(
        tmp_path / "a.tar.gz",
        b=story("TEST", ("corn", "grain")) + story("NOT-USED"),
        a=story() * 2 + story(used="NO") + story(topics=(), title="Prices \xa3") + story(used="BYPASS"),
    )
    arrays = reuters.parse(files, 0)
    assert arrays["names"].tolist() == ["corn", "grain"]
    assert arrays["train_topics"].tolist() == [[0, 1], [0, 1], [0, 0]]
    assert arrays["test_topics"].tolist() == [[1, 1]]
    train, test = (_one_vs_rest.inputs_of(arrays, part) for part in ("train", "test"))
    # bp, dlrs, rose: the words of all three training stories; others are of two at most
    assert train.shape == (3, 3) and test.shape == (1, 3)
    np.testing.assert_allclose(np.asarray(train.multiply(train).sum(axis=1)).ravel(), 1.0, rtol=1e-6)
    np.testing.assert_allclose(test.toarray(), np.sqrt(1 / 3), rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (story() + story()[:60] + "\n" + story("TEST"), "line 8: the story is not closed before the next"),
        (story() + story("TEST").replace("</REUTERS>", ""), "a.sgm, line 8: the story is not closed"),
        (story().replace("LEWISSPLIT", "SPLIT"), "a.sgm, line 1: the story has no LEWISSPLIT"),
        (story() + story("TEST").replace("TOPICS>", "T>"), "line 8: the story has no <TOPICS> element"),
        (story().replace("TEXT>", "T>"), "a.sgm, line 1: the story has no <TEXT> element"),
        (story(), 'no story of the test set with TOPICS="YES"'),
    ],
)  # fmt: skip
def test_a_faulty_story_is_named_by_file_and_line(tmp_path, text, message):
    with pytest.raises(DataError) as error:
        reuters.parse(archive(tmp_path / "r.tar.gz", a=text), 0)
    assert message in str(error.value) and str(tmp_path) in str(error.value)


def test_a_damaged_archive_is_named(tmp_path):
    (tmp_path / "r.tar.gz").write_bytes(b"no archive")
    with pytest.raises(DataError, match=r"r\.tar\.gz is no tar archive"):
        reuters.parse({"reuters21578.tar.gz": tmp_path / "r.tar.gz"}, 0)
    with pytest.raises(DataError, match=r"holds no file that ends in \.sgm"):
        reuters.parse(archive(tmp_path / "empty.tar.gz"), 0)


def test_the_counts_of_the_real_stories(tmp_path):
    files = real(reuters, tmp_path)
    if files is None:
        return
    arrays = reuters.parse(files, 0)
    train, test = arrays["train_topics"], arrays["test_topics"]
    assert (len(train), len(test)) == (9603, 3299)
    assert int(np.sum((train.sum(axis=0) > 0) & (test.sum(axis=0) > 0))) == 90
    largest = arrays["names"][_one_vs_rest.usable_topics(arrays)[:3]].tolist()
    assert largest == ["earn", "acq", "money-fx"] and len(_one_vs_rest.usable_topics(arrays)) == 90
    assert (
        train[:, arrays["names"] == "earn"].sum() == 2877 and test[:, arrays["names"] == "earn"].sum() == 1087
    )


# ---- Optdigits and Covertype ----


def digits(path: Path, lines: list[str]) -> dict[str, Path]:
    path.write_text("\n".join(lines) + "\n")
    return {"optdigits.tra": path, "optdigits.tes": path}


def image(count: int, digit: int) -> str:
    return ",".join([str(count)] * 64 + [str(digit)])


def test_images_are_scaled_by_the_training_set(tmp_path):
    arrays = optdigits.parse(digits(tmp_path / "d", [image(8, 3), image(16, 7), image(0, 3)]), 0)
    assert arrays["train_topics"].argmax(axis=1).tolist() == [3, 7, 3]
    assert np.mean(np.sum(arrays["train_X"] ** 2, axis=1)) == pytest.approx(1.0)
    assert arrays["train_X"][1] == pytest.approx(2 * arrays["train_X"][0]) and not arrays["train_X"][2].any()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,2,3", "line 2: must have 64 counts and a digit"),
        (image(1, 1).replace("1,", "x,", 1), "line 2: must have 64 counts and a digit"),
        (image(17, 1), "line 2: counts run to 16"),
        (image(3, 10), "line 2: counts run to 16 and digits to 9"),
    ],
)
def test_a_faulty_image_is_named_by_file_and_line(tmp_path, line, message):
    with pytest.raises(DataError, match=message) as error:
        optdigits.parse(digits(tmp_path / "d", [image(1, 1), line]), 0)
    assert str(tmp_path) in str(error.value)
    (tmp_path / "e").write_text("")
    with pytest.raises(DataError, match="is empty"):
        optdigits.read(tmp_path / "e")


def test_the_counts_of_the_real_digits(tmp_path):
    files = real(optdigits, tmp_path)
    if files is None:
        return
    arrays = optdigits.parse(files, 0)
    assert arrays["train_X"].shape == (3823, 64) and arrays["test_X"].shape == (1797, 64)
    assert len(_one_vs_rest.usable_topics(arrays)) == 10
    few = optdigits.parse(files, 0, images=300)
    assert (few["train_topics"].sum(axis=0) > 10).all()  # the files are sorted, what is drawn is not


def patches(path: Path, lines: list[str]) -> dict[str, Path]:
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))
    return {"covtype.20k.data.gz": path}


def patch(height: int, kind: int) -> str:
    return ",".join([str(height), *["-1"] * 9, *["0", "1"] * 22, str(kind)])


def test_quantities_are_standardised_by_the_training_set(tmp_path):
    lines = [patch(h, 1 + h % 7) for h in range(200)]
    arrays = covertype.parse(patches(tmp_path / "c", lines), 5, n_train=100, n_test=100)
    assert np.mean(np.sum(arrays["train_X"] ** 2, axis=1)) == pytest.approx(1.0)
    assert arrays["train_X"][:, 0].mean() == pytest.approx(0.0, abs=1e-12)
    assert not arrays["train_X"][:, 1:10].any()  # a quantity that does not vary
    order = np.random.default_rng(5).permutation(200)
    assert arrays["test_topics"].argmax(axis=1).tolist() == (order[100:] % 7).tolist()
    ratio = (order[1] - order[0]) / (order[101] - order[100])
    rows = arrays["train_X"], arrays["test_X"]
    assert (rows[0][1, 0] - rows[0][0, 0]) / (rows[1][1, 0] - rows[1][0, 0]) == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (patch(1, 8), "line 3: must have 54 whole numbers and a type from 1 to 7"),
        (patch(1, 1)[:-4], "line 3: must have 54"),
        (patch(1, 1).replace("-1", "1.5", 1), "line 3: must have 54"),
    ],
)
def test_a_faulty_patch_is_named_by_file_and_line(tmp_path, line, message):
    with pytest.raises(DataError, match=message) as error:
        covertype.read(
            patches(tmp_path / "c", [patch(1, 1), patch(2, 2), line, patch(3, 3)])["covtype.20k.data.gz"]
        )
    assert str(tmp_path) in str(error.value)


def test_other_faults_of_patches(tmp_path):
    (tmp_path / "c").write_bytes(b"plain")
    with pytest.raises(DataError, match="is no gzip file"):
        covertype.read(tmp_path / "c")
    with pytest.raises(DataError, match="has 1 patches, but n_train and n_test ask for 200"):
        covertype.parse(patches(tmp_path / "d", [patch(1, 1)]), 0, n_train=100, n_test=100)
    with pytest.raises(DataError, match="is empty"):
        covertype.read(patches(tmp_path / "e", [])["covtype.20k.data.gz"])


def test_the_counts_of_the_real_patches(tmp_path):
    files = real(covertype, tmp_path)
    if files is None:
        return
    X, y = covertype.read(files["covtype.20k.data.gz"])
    assert X.shape == (20000, 54)
    assert np.bincount(y)[1:].tolist() == [2942, 6022, 2160, 2160, 2396, 2160, 2160]


# ---- what all share ----

SMALL = {
    abstracts: {"n_train": 150, "n_test": 100, "n_topics": 3, "n_words": 300},
    reuters: {"stories": 400},
    optdigits: {"images": 200},
    covertype: {"n_train": 150, "n_test": 150},
}


@pytest.mark.parametrize("module", SMALL, ids=lambda module: module.__name__.rpartition(".")[2])
def test_stand_ins_follow_from_the_seed_and_can_be_learnt(module):
    first, again, other = (module.synthesize(seed, **SMALL[module]) for seed in (4, 4, 5))
    assert all(np.array_equal(first[key], again[key]) for key in first)
    assert not np.array_equal(first["train_topics"], other["train_topics"])
    split = module.view(first, 0, topic=0)
    X, y = split.train
    w = np.asarray(X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)).ravel()
    assert module.score(split.test.Y, split.test.X @ w)["roc_area"] > 70.0


def test_abstracts_have_the_papers_shape():
    arrays = abstracts.synthesize(1, n_test=500)
    assert tuple(arrays["train_shape"]) == (1168, 13525) and arrays["train_topics"].shape[1] == 14
    both = np.mean(arrays["train_topics"].sum(axis=1) == 2)
    assert 0.25 < both < 1 / 3  # one of three has a second topic, which may be the first again


def test_a_view_has_three_folds_with_a_third_of_either_class():
    arrays = optdigits.synthesize(2, images=400)
    sizes = arrays["train_topics"].sum(axis=0)
    for topic in (0, 9):
        split = optdigits.view(arrays, 3, topic=topic, measure="prbep")
        positive = split.train.Y > 0
        assert positive.sum() == np.sort(sizes)[::-1][topic]
        assert np.sort(np.concatenate(split.held)).tolist() == list(range(len(positive)))
        for label in (positive, ~positive):
            counts = sorted(int(label[rows].sum()) for rows in split.held)
            assert len(counts) == 3 and counts[-1] - counts[0] <= 1
        assert split.problem == {"measure": "prbep"}
    again = optdigits.view(arrays, 3, topic=9)
    assert all(np.array_equal(*both) for both in zip(split.held, again.held, strict=True))
    with pytest.raises(ValueError, match="topic is 10, but there are 10 topics"):
        optdigits.view(arrays, 3, topic=10)


@pytest.mark.parametrize(("positives", "usable"), [(1, 0), (2, 2), (3, 3), (7, 3)])
def test_a_fold_counts_if_the_topic_is_inside_and_outside_of_it(positives, usable):
    y = np.where(np.arange(40) < positives, 1, -1)
    held = list(_one_vs_rest.folds(y, np.random.default_rng(0)))
    assert len(held) == usable
    for rows in held:
        assert 0 < (y[rows] > 0).sum() < positives


def test_a_topic_is_usable_with_one_row_in_each_subset():
    topics = {"train": np.array([[1, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]]), "test": np.array([[1, 1, 1, 0]])}
    arrays = {f"{name}_topics": values for name, values in topics.items()}
    assert _one_vs_rest.usable_topics(arrays).tolist() == [1, 2]  # 0 has no other rows, 3 no test row


@given(
    y=st.lists(st.booleans(), min_size=2, max_size=12).filter(lambda y: any(y) and not all(y)),
    seed=st.integers(0, 10**6),
    coarse=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_scores_are_those_of_scikit_learn_and_of_the_library(y, seed, coarse):
    rng = np.random.default_rng(seed)
    s = rng.integers(-2, 3, size=len(y)).astype(float) if coarse else rng.normal(size=len(y))
    labels = np.where(y, 1, -1)
    measures = _one_vs_rest.score(labels, s)
    yhat = np.where(s > 0, 1, -1)
    assert measures["f1"] == pytest.approx(100 * f1_score(labels, yhat, zero_division=0.0))
    assert measures["roc_area"] == pytest.approx(100 * roc_auc_score(labels, s))
    assert measures["error_rate"] == pytest.approx(100 * (1 - accuracy_score(labels, yhat)))
    assert measures["prbep"] == pytest.approx(100 * (1 - Measure("prbep").delta(labels, s)))
