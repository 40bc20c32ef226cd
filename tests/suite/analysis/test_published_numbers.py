"""The papers' numbers, checked: sizes that cannot be, planted misfits of every kind, and what was found."""

from __future__ import annotations

import itertools
import shutil

import pytest

from helpers.toy_project import HERE
from structmargin_suite.analysis.published_numbers import (
    Printed,
    _sums_of_squares,
    counts_that_fit,
    findings,
    size_fits,
    sizes_that_fit,
)

PUBLISHED = HERE / "data" / "published"


@pytest.fixture(scope="module")
def found():
    return {(one.check, one.file, one.cell): one for one in findings(PUBLISHED)}


def test_the_svm_columns_4_cannot_be_4_and_5_fits(found):
    one = found["granularity", "alignment.csv", "4; SVM2, train_error"]
    assert not one.fits
    assert one.sentence.startswith("2.0 ± 2.0 cannot come from 10 samples of 4; 5 fits")
    assert one.printed == "2.0 ± 2.0"
    beside = found["granularity", "alignment.csv", "4; generative, train_error"]
    assert beside.fits and not size_fits(Printed("10.0"), Printed("5.5"), 5, 10)


def test_what_does_not_fit_in_the_papers_tables(found):
    """Ten numbers and two groups of them; everything else fits."""
    misfits = {key for key, one in found.items() if not one.fits}
    accuracies = {
        ("granularity", "taxonomy.csv", f"{n}; {method}, accuracy")
        for n in (4, 2)
        for method in ("flt 0/1", "tax 0/1", "flt delta", "tax delta")
    }
    groups = {
        ("granularity", "taxonomy.csv", f"instances_per_class {n}, accuracy, all methods") for n in (4, 2)
    }
    others = {
        ("granularity", "alignment.csv", "4; SVM2, train_error"),
        ("gains", "taxonomy.csv", "4; tax delta, tree_loss"),
    }
    assert misfits == accuracies | groups | others


def test_sizes_that_fit_all_accuracies_of_table_1(found):
    sentence = found["granularity", "taxonomy.csv", "instances_per_class 4, accuracy, all methods"].sentence
    assert "1409 fit all of 28.32, 27.47, 29.74 as rounded shares" in sentence
    assert "353, 706, 1059, 1412, 1543 as shares whose further digits were cut off" in sentence


def test_shares_of_test_sentences_are_whole_trees(found):
    for method, printed, trees in (("PCFG", "55.2", 90), ("SVM2", "58.9", 96), ("SVM2 margin", "58.3", 95)):
        one = found["granularity", "parsing.csv", f"{method}; test, accuracy"]
        assert one.fits and f"{printed} fits 163 ({trees})" in one.sentence


def test_gains_are_of_the_old_or_of_the_new_value(found):
    of_new = found["gains", "taxonomy.csv", "4; tax delta, tree_loss"]
    assert "exactly of the new value; of the old value it is 11.03%" in of_new.sentence
    of_old = found["gains", "taxonomy.csv", "2; tax delta, tree_loss"]
    assert (
        of_old.fits and "within rounding of the old value; of the old value it is 13.64%" in of_old.sentence
    )
    assert "exactly of the old value" in found["gains", "taxonomy.csv", "4; tax delta, accuracy"].sentence


def test_sums_of_squares_are_those_of_all_ways_to_share_out():
    for total, parts, largest in ((4, 3, 2), (5, 4, 5), (3, 10, 1), (0, 2, 3), (9, 2, 4)):
        ways = itertools.product(range(largest + 1), repeat=parts)
        want = {sum(k * k for k in way) for way in ways if sum(way) == total}
        assert _sums_of_squares(total, parts, largest) == want


def test_sizes_by_hand():
    assert counts_that_fit(Printed("33.3"), 3) == [1] and counts_that_fit(Printed("33.4"), 3) == []
    assert counts_that_fit(Printed("18"), 200) == [35, 36, 37]  # 17.5 and 18.5 may be rounded to 18
    assert size_fits(Printed("20.0"), Printed("13.3"), 1, 10)  # two of ten: 100 sqrt(0.16 / 9)
    assert not size_fits(Printed("20.0"), Printed("13.4"), 1, 10)
    assert sizes_that_fit([Printed("66.6")], 10) == [] and sizes_that_fit(
        [Printed("66.6")], 10, cut=True
    ) == [3, 6, 9]
    assert sizes_that_fit([Printed("66.7"), Printed("50.0")], 10) == [6]


@pytest.mark.parametrize(
    ("file", "old", "new", "cell", "words"),
    [
        ("alignment.csv", "20,SVM2,train_error,1.0,0.7", "20,SVM2,train_error,1.2,0.7",
         "20; SVM2, train_error", "1.2 ± 0.7 cannot come from 10 samples of 20"),
        ("parsing.csv", "PCFG,test,accuracy,55.2", "PCFG,test,accuracy,55.4",
         "PCFG; test, accuracy", "55.4% is no share of 163: 90 are 55.215% and 91 are 55.828%"),
        ("parsing.csv", "PCFG,test,f1,86.0", "PCFG,test,f1,86.2",
         "PCFG; test, f1", "does not fit precision 86.8"),
        ("parsing.csv", "SVM2 margin,train,constraints,7117", "SVM2 margin,train,constraints,71170",
         "SVM2 margin; train, constraints", "17.37 times 4,098"),
        ("ner_methods.csv", "CRF,token_error,5.17", "CRF,token_error,5.71",
         "CRF, token_error", "icml04 prints 5.17, where jmlr05 prints 5.71"),
        ("icml04.csv", "1; SVM2,test_error,47.0,4.6", "1; SVM2,test_error,47.0,6.4",
         "1; SVM2, test_error", "icml04 prints 47.0 ± 6.4, where jmlr05 prints 47.0 ± 4.6"),
        ("taxonomy.csv", "2,tax delta,accuracy,21.73", "2,tax delta,accuracy,21.37",
         "2; tax delta, accuracy", "of neither value"),
    ],
)  # fmt: skip
def test_a_planted_misfit_is_found(tmp_path, file, old, new, cell, words):
    shutil.copytree(PUBLISHED, tmp_path / "published")
    path = tmp_path / "published" / file
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    sentences = [
        one.sentence for one in findings(tmp_path / "published") if one.cell == cell and not one.fits
    ]
    assert any(words in sentence for sentence in sentences), sentences
