"""The data of diversified results: the parser and its faults, views, the made-up collection."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from structmargin.problems import Diversity
from structmargin.problems.diversity.problem import Selection
from structmargin_suite.datasets import _subtopics, ambient, collection
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
