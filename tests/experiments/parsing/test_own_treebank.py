"""A licence holder's own treebank: a made-up folder in the layout of the Penn Treebank, end to end."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from helpers.foreign_files import foreign
from helpers.toy_project import project, run_all, write_config
from structmargin_suite.cli import main
from structmargin_suite.datasets import dataset, wsj
from structmargin_suite.planning.plan import load
from structmargin_suite.rerun.unfit import unfit
from structmargin_suite.results import Results
from structmargin_suite.storage.bundle import Bundle
from structmargin_suite.storage.errors import DataError
from structmargin_suite.storage.frames import records
from structmargin_suite.storage.layout import ScaleLayout

LONG = "( (S (NP-SBJ " + "(NN w) " * 11 + ") (VP (VBZ is))) )"
SENTENCES = (
    "( (S (NP-SBJ (DT The) (NN plan)) (VP (VBZ works) (NP (-NONE- *T*-1))) (. .)) )",
    "( (S (NP-SBJ (PRP It)) (VP (VBZ sells) (NP (DT the) (NN plan))) (. .)) )",
    "( (S (NP-SBJ (NN w))\n     (VP (VBZ is) (ADJP-PRD (JJ big)))) )",
)
CONFIG = {
    "title": "Trees", "paper": "jmlr05", "where": "5.4", "about": "Trees.",
    "data": {"wsj": {"from": "wsj", "source": "file", "path": "wsj", "longest": 10, "papers_own": True}},
    "problem": {"name": "Grammar"},
    "methods": {
        "PCFG": {"baseline": "pcfg"},
        "SVM2": {"formulation": "SVM2 margin", "solver": "n_slack", "C_per_example": 1.0, "eps": 0.01},
    },
    "studies": {"table 5": {"methods": ["PCFG", "SVM2"]}},
    "tables": {
        "trees": {"caption": "T.", "study": "table 5", "keys": ["method"], "measures": ["test_f1"]},
    },
    "scales": {"smoke": {}, "standard": {}, "paper": {}},
}  # fmt: skip


def treebank(folder: Path, upper: bool = False) -> Path:
    """Sections 00 to 24, in each two files; the k-th sentence is in every section, a long one between."""
    for section in range(25):
        for number, chosen in enumerate((SENTENCES[:2], SENTENCES[2:]), start=1):
            name = f"wsj_{section:02d}{number:02d}.mrg"
            path = folder / f"{section:02d}" / (name.upper() if upper else name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n\n".join([chosen[0], LONG, *chosen[1:]]) + "\n")
    return folder


def parsed(folder: Path, **prepare) -> dict[str, np.ndarray]:
    made = dataset("wsj")
    params = {"longest": 10, **prepare}
    return made.parse(made.own_folder(folder, **params), 0, **params)


def refused(folder: Path, **prepare) -> str:
    with pytest.raises(DataError) as error:
        parsed(folder, **prepare)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("upper", [False, True])
def test_the_papers_sections_are_the_default(tmp_path, upper):
    arrays = parsed(treebank(tmp_path, upper))
    cleaned = [
        "(S (NP DT NN) (VP VBZ) .)",
        "(S (NP PRP) (VP VBZ (NP DT NN)) .)",
        "(S (NP NN) (VP VBZ (ADJP JJ)))",
    ]
    assert arrays["trees"].tolist() == cleaned * 21  # without the long one
    assert arrays["subset"].tolist() == [0] * 60 + [1] * 3
    assert arrays["document"].tolist() == [2 * k + d for k in range(21) for d in (0, 0, 1)]
    split = wsj.view(arrays, 0)
    assert (len(split.train.Y), len(split.test.Y)) == (60, 3)
    assert split.test.X[0] == ("DT", "NN", "VBZ", ".")
    assert wsj.score(split.test.Y, split.test.Y)["f1"] == 100.0
    assert wsj.score(split.test.Y, [None, *split.test.Y[1:]])["unparsed"] == 1


def test_a_config_may_name_other_sections_and_the_filter_holds(tmp_path):
    folder = treebank(tmp_path)
    (folder / "23" / "wsj_2302.mrg").write_text("( (NP (NN only)\n (NN here)) )")
    arrays = parsed(folder, train_sections="00, 03-04", test_sections="23")
    assert np.bincount(arrays["subset"]).tolist() == [9, 3]
    assert arrays["trees"][-1] == "(NP NN NN)"
    clauses = parsed(folder, train_sections="00", test_sections="23", roots="clauses", longest=12)
    assert np.bincount(clauses["subset"]).tolist() == [5, 3]  # now with the long ones
    assert len(parsed(folder, punctuation="deleted", longest=3)["trees"]) == 2 * 21
    assert wsj.sections("02-04,22, 00") == [0, 2, 3, 4, 22]


def test_faults_are_told_with_the_file(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert refused(empty).startswith(f"{empty} has no file such as 02/wsj_0201.mrg")
    folder = treebank(tmp_path / "wsj")
    broken = folder / "05" / "wsj_0502.mrg"
    text = broken.read_text()
    broken.write_text("( (S (NN a)) )\n\n( (S (NN b)\n")
    assert refused(folder).startswith(f"{broken}, line 3: the bracket opened there is never closed")
    broken.write_text("( (S (NN a)) )\n)")
    assert refused(folder).startswith(f"{broken}, line 2: a bracket is closed that was never opened")
    broken.write_bytes(b"( (S (NN \xff)) )")
    assert refused(folder).startswith(f"{broken} is no text in UTF-8")
    broken.write_text(" \n")
    assert refused(folder) == f"{broken} is empty; copy it again from the treebank"
    broken.write_text(text)
    astray = broken.rename(folder / "05" / "wsj_0601.mrg")
    assert refused(folder).startswith(f"{astray} is not named like 02/wsj_0201.mrg")
    astray.unlink()
    (folder / "05" / "wsj_0501.mrg").unlink()
    assert refused(folder).startswith(f"{folder} has no file of section 05 (05/wsj_05NN.mrg); add it")
    assert np.bincount(parsed(folder, train_sections="02-04")["subset"]).tolist() == [9, 3]
    assert refused(treebank(tmp_path / "mrg" / "wsj").parent).endswith("with the sections 00 to 24 as `path`")


def test_sections_that_contradict_themselves_or_are_left_empty(tmp_path):
    folder = treebank(tmp_path)
    assert refused(folder, test_sections="20-23").startswith("section 20 is both in train_sections and in")
    assert refused(folder, train_sections="09-02").startswith("the sections 09-02 end before they begin")
    for path in (folder / "22").iterdir():
        path.write_text(LONG)
    assert refused(folder).startswith("no tree of test_sections is left; raise `longest`")


def test_the_sample_has_no_sections(tmp_path):
    (tmp_path / "sample.mrg").write_text(SENTENCES[0])
    files = {"treebank.zip": tmp_path / "sample.mrg"}
    assert wsj.parse(files, 0, longest=10)["subset"].tolist() == [-1]
    with pytest.raises(DataError, match=r"sample\.mrg has no sections; leave train_sections"):
        wsj.parse(files, 0, longest=10, test_sections="22")


def test_a_file_of_another_kind_is_an_error_that_names_it(tmp_path):
    folder = treebank(tmp_path)
    odd = folder / "22" / "wsj_2202.mrg"
    refusals = 0
    for data in list(foreign())[::8]:
        odd.write_bytes(data)
        try:
            parsed(folder, train_sections="02")
        except DataError as error:
            refusals += 1
            assert str(odd) in str(error)
    assert refusals > 10


@pytest.fixture()
def own(tmp_path) -> Path:
    treebank(tmp_path / "wsj")
    return project(tmp_path, CONFIG)


def test_the_whole_pipeline_runs_on_an_own_treebank_and_is_bound_to_its_files(own, capsys):
    assert main(["--root", str(own), "check"]) == 0
    assert "toy, wsj: here: from wsj" in capsys.readouterr().out
    suite = run_all(own)
    results = Results(own)["toy"]
    assert [(row["method"], row["status"]) for row in records(results.runs)] == [
        ("PCFG", "done"),
        ("SVM2", "done"),
    ]
    pcfg, svm = records(results.runs)
    assert svm["constraints_per_example"] == svm["constraints"] / 60
    assert pcfg["constraints_per_example"] is None
    assert all(row["test_f1"] == 100.0 for row in records(results.runs))  # the same sentences in all sections
    assert results.papers_own("wsj") and results.summary["data"][0]["label"] == "wsj (own file)"
    corpus = ScaleLayout(own, suite.scale).corpus("toy", "wsj")
    files = Bundle(corpus).about["files"]
    assert len(files) == 50
    first = own / "wsj" / "02" / "wsj_0201.mrg"
    assert files["02/wsj_0201.mrg"] == hashlib.sha256(first.read_bytes()).hexdigest()
    assert list(unfit(suite, ["toy"])) == []
    first.write_text(SENTENCES[2])
    assert corpus in [fault.path for fault in unfit(suite, ["toy"])]


def test_the_check_says_in_one_sentence_what_is_missing(own, capsys):
    for path in (own / "wsj" / "07").iterdir():
        path.unlink()
    assert main(["--root", str(own), "check"]) == 1
    output = capsys.readouterr()
    assert f"toy, wsj: missing: {own / 'wsj'} has no file of section 07" in output.out
    assert "1 own file is missing" in output.err
    wrong = {**CONFIG, "data": {"wsj": {**CONFIG["data"]["wsj"], "train_sections": "02-99"}}}
    write_config(own, wrong)
    assert main(["--root", str(own), "check"]) == 1
    assert "data.wsj.train_sections" in capsys.readouterr().err
    assert load(project(own, CONFIG)).experiments
