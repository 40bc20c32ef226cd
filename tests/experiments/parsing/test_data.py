"""Treebanks: what is read, cleaned and refused, counts on the real data, and the PCFG beside nltk's."""

from __future__ import annotations

import os
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from nltk import Nonterminal, Production, Tree, ViterbiParser, induce_pcfg

from structmargin.problems.grammar.trees import brackets, leaves, rules_of
from structmargin_suite.baselines import pcfg as baseline
from structmargin_suite.datasets import craft, gum, pcfg, predictions, wsj
from structmargin_suite.datasets._treebanks import (
    cleaned,
    read,
    score,
    text_of,
    tree_of,
    view,
)
from structmargin_suite.storage.errors import DataError

SENTENCE = """( (S (NP-SBJ-1 (DT The) (NN plan)) (VP (VBZ seems) (S (NP-SBJ (-NONE- *-1)) (VP (TO to)
   (VP (VB work) (PP=2 (-NONE- *ICH*)))))) (. .)) )"""


def test_traces_function_tags_and_words_go():
    (raw,) = read("x", SENTENCE)
    tree = ("S", ("NP", "DT", "NN"), ("VP", "VBZ", ("S", ("VP", "TO", ("VP", "VB")))), ".")
    assert cleaned(raw) == tree
    assert cleaned(raw, frozenset({"."})) == tree[:-1]
    assert tree_of(text_of(tree)) == tree
    assert text_of(tree) == "(S (NP DT NN) (VP VBZ (S (VP TO (VP VB)))) .)"


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("(ROOT (NP (NP (NN a)) (-NONE- *)))", ("NP", "NN")),
        ("(TOP (NP (QP (NP (CD 1) (NN a)))))", ("NP", "CD", "NN")),
        ("(ROOT (UH Oh))", "UH"),
        ("( (S (-NONE- 0)) )", None),
        ("(S (-LRB- -LRB-) (NN a))", ("S", "-LRB-", "NN")),
        ("( (S (NN thin\u2009space)) (S (NN b)) )", ("X", ("S", "NN"), ("S", "NN"))),
    ],
)
def test_roots_chains_and_odd_tags(text, tree):
    assert cleaned(read("x", text)[0]) == tree


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("(S (NN a))\n(S (NN b)", 2, "never closed"),
        ("(S (NN a))\n\n)", 3, "never opened"),
        ("(S (NN a) ())", 1, "an empty bracket"),
        ("(S\n (NP))", 2, r"(NP) has no children"),
        ("(S (NN a))\nword (S (NN b))", 2, "'word' stands outside all brackets"),
        ("(S (NP the (NN plan)))", 1, "'the' has no tag of its own"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path, text, line, said):
    path = tmp_path / "own.mrg"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as error:
        wsj.parse({"treebank.zip": path}, 0, longest=10)
    assert str(error.value).startswith(f"{path}, line {line}: ") and said in str(error.value)


def test_archives_that_are_not_what_they_should_be(tmp_path):
    bad = tmp_path / "treebank.zip"
    bad.write_bytes(b"PK no zip")
    with pytest.raises(DataError, match="damaged or cut short"):
        wsj.parse({"treebank.zip": bad}, 0, longest=10)
    with zipfile.ZipFile(bad, "w") as out:
        out.writestr("readme", "nothing")
    with pytest.raises(DataError, match=r"no member combined/\*\.mrg"):
        wsj.parse({"treebank.zip": bad}, 0, longest=10)
    tar, splits, tree = tmp_path / "gum_const.tar.xz", tmp_path / "splits.md", tmp_path / "GUM_a.ptb"
    tree.write_text("(ROOT (S (NN a) (VB b)))\n(ROOT (NP (NN c)))", encoding="utf-8")
    with tarfile.open(tar, "w:xz") as out:
        out.add(tree, "gum/GUM_a.ptb")
    splits.write_text("## train\n\n  * GUM_b\n", encoding="utf-8")
    files = {"gum_const.tar.xz": tar, "splits.md": splits}
    with pytest.raises(DataError, match="does not say in which subset GUM_a is"):
        gum.parse(files, 0, longest=10)
    splits.write_text("* GUM_a\n## train\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"splits\.md, line 1: GUM_a stands under no heading"):
        gum.parse(files, 0, longest=10)
    splits.write_text("## dev\n* GUM_a\n", encoding="utf-8")
    arrays = gum.parse(files, 0, longest=10, roots="clauses")
    assert arrays["trees"].tolist() == ["(S NN VB)"] and arrays["subset"].tolist() == [1]
    with pytest.raises(DataError, match="no tree is left"):
        gum.parse(files, 0, longest=1, roots="clauses")
    tar.write_bytes(b"no tar")
    with pytest.raises(DataError, match="no tar archive"):
        gum.parse(files, 0, longest=10)


def test_long_trees_are_passed_over_whatever_stands_on_their_line():
    text = "(S (NN a) (-NONE- 0)) (S (NN a) (NN b))\n(S (NN c)\n  (NN d) (NN e)) (S (NN f))\n"
    assert [cleaned(tree) for tree in read("x", text, 1)] == [("S", "NN"), ("S", "NN")]
    assert [cleaned(tree) for tree in read("x", text, 2)] == [("S", "NN"), ("S", "NN", "NN"), ("S", "NN")]
    assert read("x", "", 2) == read("x", " \n", None) == []


def test_views_part_the_trees_once():
    stored = wsj.synthesize(3, longest=10, at_most=50)
    assert set(stored["subset"]) == {-1}
    split, other = view(stored, 1), view(stored, 2)
    assert len(split.test.Y) == 10 and len(split.train.Y) == 40
    together = sorted(text_of(y) for y in [*split.train.Y, *split.test.Y])
    assert together == sorted(stored["trees"].tolist())
    assert split.test.Y != other.test.Y
    assert view(stored, 1, n_train=7).train.Y == split.train.Y[:7]
    assert view(stored, 1, n_train=7).test.Y == split.test.Y
    with pytest.raises(ValueError, match="n_train is 41, but the training set has 40"):
        view(stored, 1, n_train=41)
    own = pcfg.synthesize(3, longest=8, at_most=50)
    assert [len(part.Y) for part in (view(own, 9).train, view(own, 9).test)] == [40, 10]
    assert all(len(x) <= 8 and leaves(y) == list(x) for x, y in zip(*view(own, 9).train, strict=True))
    assert pcfg.synthesize(3, longest=8, at_most=50)["trees"].tolist() == own["trees"].tolist()


def test_measures_known_by_hand():
    Y = [("S", ("NP", "a"), ("VP", "b")), ("S", "a", "b"), ("S", ("NP", "a"), "b")]
    Yhat = [("S", ("NP", "a"), ("NP", "b")), ("S", "a", "b"), None]
    measures = score(Y, Yhat)
    assert measures["accuracy"] == pytest.approx(100 / 3)
    assert measures["precision"] == pytest.approx(100 * 3 / 4)
    assert measures["recall"] == pytest.approx(100 * 3 / 6)
    assert measures["f1"] == pytest.approx(200 * 3 / 10)
    assert measures["unparsed"] == 1


def real(module):
    """A data set's files in the mirror, or None with a note."""
    folder = os.environ.get("STRUCTMARGIN_DATA")
    if folder is None or not all((Path(folder) / remote.mirror).is_file() for remote in module.FILES):
        print(f"the real data of {module.__name__} are not here: set STRUCTMARGIN_DATA to check their counts")
        return None
    return {remote.name: Path(folder) / remote.mirror for remote in module.FILES}


@pytest.mark.parametrize(
    ("module", "prepare", "train", "test", "rules"),
    [
        (wsj, {"longest": 10}, 315, 78, 401),
        (wsj, {"longest": 10, "punctuation": "deleted"}, 430, 107, 450),
        (gum, {"longest": 10, "roots": "clauses"}, 2283, 601, 1279),
        (craft, {"longest": 15, "roots": "clauses"}, None, None, 1071),
    ],
)
def test_counts_of_the_real_corpora(module, prepare, train, test, rules):
    files = real(module)
    if files is None:
        return
    split = view(module.parse(files, 0, **prepare), 0)
    if train is None:
        assert len(split.train.Y) + len(split.test.Y) == 2395
    else:
        assert (len(split.train.Y), len(split.test.Y)) == (train, test)
    Y = [*split.train.Y, *split.test.Y]
    assert len({rule for y in Y for rule in rules_of(y, False)}) == rules
    assert all(len(set(spans)) == len(spans) for spans in map(brackets, Y))


def nltk_tree(tree):
    return tree if isinstance(tree, str) else Tree(tree[0], [nltk_tree(child) for child in tree[1:]])


def test_the_pcfg_is_that_of_nltk():
    """Probabilities as induced by nltk; best scores as found by its parser, on the real grammar if here."""
    files = real(wsj)
    stored = wsj.synthesize(0, longest=8, at_most=60) if files is None else wsj.parse(files, 0, longest=10)
    split = view(stored, 0)
    model = baseline.train(*split.train, seed=0)
    productions = [
        production
        for y in split.train.Y
        for production in [Production(Nonterminal("TOP"), [Nonterminal(y[0])]), *nltk_tree(y).productions()]
    ]
    grammar = induce_pcfg(Nonterminal("TOP"), productions)
    theirs = {
        f"{p.lhs()} -> {' '.join(map(str, p.rhs()))}": p.prob()
        for p in grammar.productions()
        if p.lhs() != Nonterminal("TOP")
    }
    ours = dict(zip(model.problem.weight_names, np.exp(model.w), strict=True))
    assert ours == pytest.approx(theirs)
    parser = ViterbiParser(grammar)
    short = [x for x in dict.fromkeys(split.test.X + split.train.X) if len(x) <= 6][:50]
    for x, yhat in zip(short, predictions(model, short), strict=True):
        if not all(tag in model.problem.tables.tags for tag in x):
            assert yhat is None
            continue
        best = next(parser.parse(list(x)), None)
        if best is None:
            assert yhat is None
            continue
        # nltk also weighs the root; and its best tree may have another root for that reason.
        root = {
            p.rhs()[0].symbol(): p.logprob() * np.log(2) for p in grammar.productions(lhs=Nonterminal("TOP"))
        }
        score_of_yhat = float(model.problem.psi(x, yhat) @ model.w)
        assert score_of_yhat >= np.log(best.prob()) - root[best[0].label()] - 1e-9
        assert score_of_yhat + root[yhat[0]] <= np.log(best.prob()) + 1e-9


def test_a_pcfg_is_saved_and_loaded():
    split = view(wsj.synthesize(1, longest=8, at_most=60), 0)
    for options in ({}, {"parents": True}, {"horizontal": 1}):
        model = baseline.train(*split.train, seed=0, **options)
        again = baseline.from_arrays(model.to_arrays())
        assert predictions(again, split.test.X) == predictions(model, split.test.X)
        assert np.all(model.w <= 0)
