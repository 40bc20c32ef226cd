"""The data of diversified results: the parser and its faults, views, the made-up collection."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest

from structmargin.problems import Diversity
from structmargin.problems.diversity.problem import Selection
from structmargin_suite.datasets import _subtopics, ambient, collection, reuters_places
from structmargin_suite.fetching.fetch import obtain
from structmargin_suite.storage.errors import DataError

TEXTS = {
    "topics.txt": "ID\tdescription\n1\tJaguar\n2\tBeagle dog\n",
    "subTopics.txt": "ID\tdescription\n1.1\tcar\n1.2\tcat\n2.1\tdog\n",
    "results.txt": "ID\turl\ttitle\tsnippet\n1.1\tu\tJaguar cars\tThe car and cars\n"
    "1.2\tu\tJaguar\tA big cat\n1.3\tu\tNothing\t\n2.1\tu\tBeagle\tDogs\n",
    "STRel.txt": "subTopicID\tresultID\n1.1\t1.1\n1.2\t1.2\n1.2\t1.1\n2.1\t2.1\n",
}


def written(folder: Path, **changed: str) -> dict[str, Path]:
    files = {}
    for name, text in {**TEXTS, **{key.replace("_", "."): text for key, text in changed.items()}}.items():
        files[name] = folder / name
        files[name].write_text(text, encoding="utf-8")
    return files


def test_results_come_with_words_and_subtopics(tmp_path):
    arrays = ambient.parse(written(tmp_path), 0)
    assert arrays["query"].tolist() == [0, 0, 0, 1] and arrays["names"].tolist() == ["Jaguar", "Beagle dog"]
    X, Y = _subtopics.examples(arrays, 1, "labelled")
    assert [len(x) for x in X] == [2, 1] and [y.subtopics.shape for y in Y] == [(2, 2), (1, 1)]
    car = X[0].counts.toarray()[0]  # jaguar, car three times, no "the" and "and"
    assert sorted(car[car > 0].tolist()) == [1, 3] and X[0].counts[:, X[0].words].toarray().tolist() == [
        [1],
        [1],
    ]
    assert Y[0].documents.tolist() == [0] and Y[0].weights.tolist() == pytest.approx([1 / 3, 2 / 3])
    everything = _subtopics.examples(arrays, 1, "all")[0]
    assert [len(x) for x in everything] == [3, 1]
    assert (
        _subtopics.examples(arrays, 2, "labelled")[0][0].name == "Jaguar"
        and len(_subtopics.examples(arrays, 2, "all")[0]) == 1
    )


def test_items_have_levels_and_thresholds(tmp_path):
    (x, *_), _ = _subtopics.examples(ambient.parse(written(tmp_path), 0), 1, "labelled")
    m, T = len(x.phi), len(_subtopics.THRESHOLDS)
    # text: jaguar, car | big, cat; twice: car; title: jaguar, car
    assert m == 4 + 1 + 2 and x.indptr.tolist() == [0, 5, 9]
    levels = (x.phi * m).reshape(m, 3, T)
    assert (levels.sum(axis=2) > 0).sum(axis=0).tolist() == [4, 1, 2]
    shared = levels[:, 0].sum(axis=1) == T  # in both documents: at or above every threshold
    assert shared.sum() == 4 and levels[:, 2].sum(axis=1).tolist().count(T) == 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"STRel_txt": "h\th\n1.1\t1.1\n1.1\t1.9\n"}, "STRel.txt, line 3: '1.9' is not in results.txt"),
        ({"STRel_txt": "h\th\n1.7\t1.1\n"}, "STRel.txt, line 2: '1.7' is not in subTopics.txt"),
        ({"results_txt": TEXTS["results.txt"] + "3.1\tu\tt\ts\n"}, "line 6: '3.1' belongs to no topic"),
        ({"results_txt": "h\n1.1\tu\tt\n"}, "results.txt, line 2: has 3 fields"),
        ({"subTopics_txt": "h\n1.1 car\n"}, "subTopics.txt, line 2: has 1 fields"),
        ({"STRel_txt": "h\th\n"}, "STRel.txt has no pair"),
        ({"results_txt": "h\n"}, "results.txt has no result"),
    ],
)
def test_a_faulty_file_is_named_by_line(tmp_path, changed, message):
    with pytest.raises(DataError) as error:
        ambient.parse(written(tmp_path, **changed), 0)
    assert message in str(error.value) and str(tmp_path) in str(error.value)


def test_the_counts_of_the_real_collection(tmp_path):
    mirror = os.environ.get("STRUCTMARGIN_DATA")
    if not mirror:
        print("no real data of AMBIENT here: its counts are not checked")
        return
    files = {remote.name: obtain(remote, tmp_path, Path(mirror)) for remote in ambient.FILES}
    arrays = ambient.parse(files, 0)
    assert np.bincount(arrays["query"]).tolist() == [100] * 44
    assert len(arrays["pairs"]) == 2257 and arrays["pairs"][:, 1].max() + 1 == 349
    assert len(ambient.read(files["subTopics.txt"])) == 790
    assert len(_subtopics.examples(arrays, 5, "labelled")[0]) == 44


def test_the_made_up_collection_follows_from_its_seed_and_its_best_sets_miss_little():
    first, again, other = (collection.synthesize(seed, queries=8, documents=20) for seed in (1, 1, 2))
    assert all(np.array_equal(first[key], again[key]) for key in first)
    assert not np.array_equal(first["text_data"], other["text_data"])
    X, Y = _subtopics.examples(first, 5, "labelled")
    rng = np.random.default_rng(0)
    drawn = [Selection(rng.permutation(len(x))[:5]) for x in X]
    measures = _subtopics.score(Y, drawn)
    assert measures["best_loss"] < 0.5 * measures["subtopic_loss"]
    assert measures["best_loss"] == _subtopics.score(Y, Y)["subtopic_loss"]


def test_every_query_is_tested_once_in_four_rounds():
    arrays = collection.synthesize(0, queries=11, documents=12, length=20)
    for start in (0, 4):
        splits = [_subtopics.view(arrays, 3, K=2, round=start + k) for k in range(4)]
        names = [x.name for split in splits for x in split.test.X]
        assert sorted(names) == [f"query{q:02d}" for q in range(11)]
        for split in splits:
            parts = [{x.name for x in part.X} for part in (split.train, split.validation, split.test)]
            assert len(set.union(*parts)) == sum(map(len, parts)) == 11
            Diversity(**split.problem).check(*split.train)
    assert [x.name for x in splits[0].test.X] != [x.name for x in _subtopics.view(arrays, 3, K=2).test.X]


# ---- places of Reuters ----


def story(topics, places, title="Wheat ships", split="TRAIN", used="YES"):
    listed = ["".join(f"<D>{name}</D>" for name in names) for names in (topics, places)]
    return (
        f'<REUTERS TOPICS="{used}" LEWISSPLIT="{split}"><TOPICS>{listed[0]}</TOPICS>'
        f"<PLACES>{listed[1]}</PLACES><TEXT><TITLE>{title}</TITLE><BODY>The grain of the day</BODY></TEXT>"
        "</REUTERS>\n"
    )


def stories_of(path, text):
    with tarfile.open(path, "w:gz") as out:
        info = tarfile.TarInfo("reut2-000.sgm")
        info.size = len(text)
        out.addfile(info, io.BytesIO(text.encode("latin-1")))
    return {"reuters21578.tar.gz": path}


def places(tmp_path, chad=20, singles=30, **prepare):
    """peru: 20 stories of two topics and 30 of one; chad: some of the first; oman too few of two topics."""
    text = "".join(
        story(["corn", "oats"], ["peru", "chad"] if k < chad else ["peru"], split="NOT-USED")
        for k in range(20)
    )
    text += "".join(story(["rye"], ["peru"]) for _ in range(singles))
    text += "".join(story(["rye", "oats"], ["oman"]) for _ in range(19))
    text += story(["corn", "gold"], ["chad"], used="NO") + story([], ["peru"])
    return reuters_places.parse(stories_of(tmp_path / "r.tar.gz", text), 3, **prepare)


def test_places_with_twenty_stories_of_several_topics_are_queries(tmp_path):
    arrays = places(tmp_path)
    assert arrays["names"].tolist() == ["chad", "peru"]
    assert np.bincount(arrays["query"]).tolist() == [20, 40]  # as many single-topic stories as of several
    _, Y = _subtopics.examples(arrays, 5, "labelled")
    assert [y.subtopics.sum(axis=1).tolist() for y in Y] == [[2] * 20, [2] * 20 + [1] * 20]
    assert [y.subtopics.shape[1] for y in Y] == [2, 3]
    assert places(tmp_path, chad=19)["names"].tolist() == ["peru"]
    assert np.bincount(places(tmp_path, singles=4)["query"]).tolist() == [20, 24]
    assert places(tmp_path, without="chad")["names"].tolist() == ["peru"]
    assert places(tmp_path, queries=1)["names"].tolist() == ["chad"]
    with pytest.raises(DataError, match="no query 'oman' to leave out"):
        places(tmp_path, without="oman")


def test_a_story_has_the_stems_of_its_title_and_text_and_a_query_those_of_its_name(tmp_path):
    X, _ = _subtopics.examples(places(tmp_path), 5, "labelled")
    assert (X[0].counts > 0).sum(axis=1).ravel().tolist()[0] == [4] * 20  # wheat, ship, grain, day
    assert X[0].counts[:, X[0].words].sum() == 0 and len(X[0].words) == 1  # no text names the place


def test_the_real_places_are_27_and_half_of_their_documents_have_several_topics(tmp_path):
    mirror = os.environ.get("STRUCTMARGIN_DATA")
    if not mirror:
        print("the real stories are not here")
        return
    files = {remote.name: obtain(remote, tmp_path, Path(mirror)) for remote in reuters_places.FILES}
    arrays = reuters_places.parse(files, 0)
    assert len(arrays["names"]) == reuters_places.N_PLACES == 27 and "usa" in arrays["names"]
    _, Y = _subtopics.examples(arrays, 5, "labelled")
    several = np.concatenate([y.subtopics.sum(axis=1) > 1 for y in Y])
    assert 0.5 <= several.mean() < 0.52
    assert max(y.subtopics.shape[1] for y in Y) > 36  # as many as the paper's example, and more
