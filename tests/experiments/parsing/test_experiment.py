"""The grammar experiment: tables by split, the pipeline."""

from __future__ import annotations

import pytest
import yaml
from scipy import stats

from helpers.made_up_results import frame, judgements
from helpers.toy_project import HERE, project, run_all
from structmargin_suite.figures.parsing import exact_interval
from structmargin_suite.publish import tables
from structmargin_suite.publish.tables.layout import tabs
from structmargin_suite.results import Results
from structmargin_suite.storage.frames import frame_of, records


def test_a_table_by_split_has_the_paper_beside_it():
    spec = {"keys": ["method"], "splits": ["train", "test"], "measures": ["f1", "constraints"], "study": "s"}
    runs = [
        {"method": "A", "data": "d", "chosen": True, "status": "done", "train_f1": 90.0, "test_f1": 80.0,
         "constraints": 7}
    ]  # fmt: skip
    published = [
        {"method": "A", "split": split, "measure": measure, "value": value}
        for split, measure, value in (
            ("test", "f1", 81.0),
            ("train", "f1", 92.0),
            ("train", "constraints", 9),
        )
    ]
    table = tables.tidy(spec, frame(runs), frame_of(published), {})
    assert [(r["split"], r["measure"], r["value"], r["published"]) for r in records(table)] == [
        ("train", "f1", 90.0, 92.0), ("train", "constraints", 7.0, 9), ("test", "f1", 80.0, 81.0),
    ]  # fmt: skip
    assert tables.columns(spec)[:3] == ["method", "split", "measure"]
    (tab,) = tabs(spec, table, {})
    assert [[each.text for each in line] for line in tab.header] == [
        ["train", "test"], ["F1", "constraints", "F1"]
    ]  # fmt: skip
    assert [each.span for each in tab.header[0]] == [2, 1]
    shown = [(cell.ours, cell.paper, cell.tint) for cell in tab.lines[0].cells]
    # no tint: the data are not said to be the paper's own
    assert shown == [("90.0", "92.0", ""), ("7.0", "9.0", ""), ("80.0", "81.0", "")]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The experiment itself, on made-up sentences, at its smallest."""
    config = yaml.safe_load((HERE / "configs" / "parsing.yaml").read_text(encoding="utf-8"))
    for corpus in ("gum", "gum-all-roots", "craft", "wsj-without-punctuation"):
        config["data"].pop(corpus)
    for table in config["tables"].values():
        table.pop("deviations", None)  # they name corpora that are not here
    config["data"]["wsj"] |= {"source": "synthetic", "at_most": 40, "longest": 6}
    config["data"]["synthetic"] |= {"at_most": 60, "longest": 8}
    for name in ("table 5", "price alone"):
        config["studies"][name]["data"] = ["synthetic"]
    studies = config["studies"]
    studies["splits"] |= {"data": ["wsj"], "methods": ["SVM2"], "vary": {"repetition": 2}}
    studies["splits, schedule"] |= {"data": ["wsj"], "methods": ["PCFG", "SVM2"], "vary": {"repetition": 2}}
    studies["C"] |= {"data": ["synthetic"], "vary": {"C": [0.1, 100.0]}}
    studies["C, splits"]["vary"] = {"C": [0.1, 100.0], "repetition": 1}
    for name in ("sizes", "sizes, schedule"):
        studies[name]["vary"] = {"n_train": [10, 30], "repetition": 1}
    studies["variants"]["vary"]["repetition"] = 1
    studies["richer"]["vary"] = {"repetition": 1}
    config["jobs"] = {"by": []}
    config["scales"] = {"smoke": {}, "standard": {}, "paper": {}}
    root = project(tmp_path_factory.mktemp("parsing"), config, "parsing")
    run_all(root)
    return Results(root)


def test_the_experiment_runs_through_on_made_up_data(small):
    mine = small["parsing"]
    assert {one["status"] for one in records(mine.runs)} == {"done"}
    keys = ("method", "reading", "split", "measure")
    assert list(mine.table("parsing").columns[:4]) == list(keys)
    table = {tuple(one[key] for key in keys): one for one in records(mine.table("parsing"))}
    assert table["PCFG", None, "test", "f1"]["published"] == 86.0
    for reading in ("printed", "per example", "authors price", "authors"):
        assert table["SVM2 slack", reading, "test", "f1"]["published"] == 88.5
        assert table["SVM2", reading, "train", "constraints"]["published"] == 7494
    right = table["SVM2", "authors", "train", "accuracy"]["value"]
    assert right >= table["PCFG", None, "train", "accuracy"]["value"]
    # each reading by its own algorithm: (b), on the sample (a), and the authors' schedule
    runs = mine.runs[mine.runs["method"] == "SVM2"]
    assert set(zip(runs["corpus"], runs["reading"], runs["solver"], strict=True)) == {
        *(("synthetic", reading, "n_slack_b") for reading in ("printed", "per example", "authors price")),
        *(("wsj", reading, "n_slack_a") for reading in ("printed", "per example")),
        *((corpus, "authors", "staged") for corpus in ("synthetic", "wsj")),
    }
    for name in mine.config["figures"]:
        assert mine.figure(name, "png").stat().st_size > 5000
    statements = judgements(small, "parsing")
    assert {one["verdict"] for one in statements} == {"not testable"}  # made-up sentences
    assert any("made-up data" in one["evidence"] for one in statements)


def test_the_paper_s_own_sentences_leave_wide_intervals():
    """58.9% are 96 of 163 trees; the ends solve the exact binomial equations with 2.5% beyond each."""
    low, high = exact_interval(58.9)
    assert stats.binom.sf(95, 163, low / 100) == pytest.approx(0.025, rel=1e-6)
    assert stats.binom.cdf(96, 163, high / 100) == pytest.approx(0.025, rel=1e-6)
    assert exact_interval(55.2)[1] > low  # the paper's 0/1 loss and its PCFG are not apart by these alone
