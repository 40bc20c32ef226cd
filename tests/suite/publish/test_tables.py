"""Tables, figures, the page and comparisons, from results made up in memory or by the toy experiment."""

from __future__ import annotations

import copy
import html.parser
import re
import shutil

import pytest
from pandas.testing import assert_frame_equal

from helpers.made_up_results import frame
from helpers.toy_project import TOY, project, run_all
from structmargin_suite.analysis.estimates import counterexamples
from structmargin_suite.cli import main
from structmargin_suite.figures._grouped import mean_curve, published
from structmargin_suite.methods.method import Method
from structmargin_suite.planning.plan import load
from structmargin_suite.publish import tables
from structmargin_suite.publish.compare import exact, numbers, stable
from structmargin_suite.publish.page import pages
from structmargin_suite.publish.page.marks import volatile_blocks
from structmargin_suite.publish.tables.cells import ERRORS, POINTS
from structmargin_suite.results import Results
from structmargin_suite.stages.report import report
from structmargin_suite.stages.tabulate import _per_example, listed_values
from structmargin_suite.statements import judging
from structmargin_suite.statements.cases import Effect
from structmargin_suite.statements.judging import judge
from structmargin_suite.storage.csv_files import read_csv
from structmargin_suite.storage.frames import frame_of, records
from structmargin_suite.storage.statements_file import read_statements

SPEC = {"keys": ["n", "method"], "measures": ["error", "count"], "spread": "sd", "digits": {"count": 0}}
METHODS = {"a": Method.parse("a", {"label": "A & B"}), "b": Method.parse("b", {"published_as": "a"})}


def made(method, n, error, count=None, **more):
    fixed = {"data": "x", "status": "done", "chosen": True}
    return {"method": method, "n": n, "error": error, "count": count, **fixed, **more}


RUNS = frame([
    made("b", 2, 4.0, 10), made("b", 2, 8.0, 30), made("a", 2, 3.0), made("a", 1, 5.0),
    made("b", 1, 1.0, chosen=False), made("b", 1, None, status="failed"),
])  # fmt: skip
PUBLISHED = frame_of([{"n": 2, "method": "a", "measure": "error", "value": 5.5}])


def test_tidy_rows_average_what_was_done_and_chosen_and_leave_no_hole():
    rows = {
        (r["n"], r["method"], r["measure"]): r for r in records(tables.tidy(SPEC, RUNS, PUBLISHED, METHODS))
    }
    assert rows[2, "b", "error"]["value"] == 6.0 and rows[2, "b", "error"]["runs"] == 2
    assert rows[2, "b", "error"]["spread"] == pytest.approx(8**0.5) and rows[2, "b", "count"]["value"] == 20.0
    assert rows[2, "b", "error"]["published"] == rows[2, "a", "error"]["published"] == 5.5
    assert rows[1, "a", "error"]["published"] is None and rows[1, "a", "error"]["spread"] is None
    assert rows[1, "b", "error"]["value"] is None and rows[1, "b", "error"]["runs"] == 0
    assert (2, "a", "count") not in rows


def test_rows_stand_in_the_order_in_which_runs_first_have_the_values_of_each_key():
    table = tables.tidy(SPEC, RUNS, PUBLISHED, METHODS)
    errors = table[table["measure"] == "error"]
    assert list(zip(errors["n"], errors["method"], strict=True)) == [(2, "b"), (2, "a"), (1, "b"), (1, "a")]
    assert table["measure"].tolist() == ["error", "count", "error", "error", "count", "error"]
    assert list(table.columns) == tables.columns(SPEC)


def test_rows_stand_as_the_config_lists_values_and_others_after():
    table = tables.tidy(SPEC, RUNS, PUBLISHED, METHODS, listed={"n": [1, 2], "method": ["a"]})
    errors = table[table["measure"] == "error"]
    assert list(zip(errors["n"], errors["method"], strict=True)) == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("studies", "values"),
    [
        ({"one": {"vary": {"n": [4, 2], "repetition": 5}}}, [4, 2]),
        ({"one": {"fixed": {"n": 1.0}}, "two": {"vary": {"n": [0.1, 1.0, 10.0]}}}, [0.1, 1.0, 10.0]),
        ({"one": {"vary": {"solver_options.n": [8, 4]}}, "two": {"vary": {"n": [4, 2]}}}, [8, 4, 2]),
        ({"one": {"vary": {"n": [1, 3]}}, "two": {"vary": {"n": [3, 2]}}}, [1, 3, 2]),
        ({"one": {"vary": {"n": ["b", "a"]}}, "two": {"vary": {"n": ["c", "a"]}}}, ["b", "a", "c"]),
    ],
)
def test_values_are_listed_as_studies_do_and_numbers_of_several_studies_together(studies, values):
    found = listed_values({"studies": studies}, {"study": list(studies), "methods": ["b", "a"]})
    assert found == {"n": values, "method": ["b", "a"]}


def test_constraints_are_counted_per_training_example():
    assert _per_example({"n_train": 4}, {"constraints": 10}) == {"constraints_per_example": 2.5}
    assert _per_example({"n_train": 4}, {"test_error": 1.0}) == _per_example({}, {"constraints": 10}) == {}


def test_the_standard_error_is_the_deviation_over_the_root_of_the_runs():
    row = tables.tidy({**SPEC, "spread": "se"}, RUNS[:2], frame_of([]), METHODS).iloc[0]
    assert row["spread"] == pytest.approx(2.0) and row["spread_kind"] == "se"


def test_a_distance_is_in_standard_errors_where_both_are_known_and_only_for_the_papers_own_data():
    given = {"n": 2, "method": "a", "measure": "error", "value": 5.5}
    for spread, kind, expected, unit in (
        (1.5, "se", 0.5 / 2.5, ERRORS),  # ours: a deviation of sqrt 8 over the root of two runs, 2
        (1.5, "unknown", 0.5, POINTS),
        (None, None, 0.5, POINTS),
    ):
        printed = frame_of([{**given, "spread": spread, "spread_kind": kind}])
        rows = records(tables.tidy(SPEC, RUNS, printed, METHODS, own={"x"}))
        found = next(row for row in rows if (row["method"], row["n"], row["measure"]) == ("b", 2, "error"))
        assert found["distance"] == pytest.approx(expected) and found["distance_unit"] == unit
        assert all(row["distance"] is None for row in rows if row["published"] is None)
        one_run = next(row for row in rows if (row["method"], row["n"], row["measure"]) == ("a", 2, "error"))
        assert (one_run["distance"], one_run["distance_unit"]) == (-2.5, POINTS)
        others = records(tables.tidy(SPEC, RUNS, printed, METHODS, own={"y"}))
        assert all(row["distance"] is None and row["distance_unit"] is None for row in others)


def test_curves_are_means_with_standard_errors():
    line = mean_curve(RUNS, "n", "error")
    assert line.x == [1.0, 2.0] and line.mean == [3.0, 5.0]
    assert line.se[1] == pytest.approx(1.5275252)
    assert published(PUBLISHED, "n", method="a") == ([2], [5.5])


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    """The toy with an option chosen on the test set, and one chosen on a part that is not there."""
    config = copy.deepcopy(TOY)
    config["methods"]["margin"]["choose"] = {"option": "C", "among": [0.001, 5.0], "by": "test_error"}
    config["methods"]["hard"] = {
        **config["methods"]["margin"], "choose": {"option": "C", "among": [1.0], "by": "validation_error"}
    }  # fmt: skip
    root = project(tmp_path_factory.mktemp("chosen"), config)
    return root, run_all(root)


def test_the_option_that_does_best_over_all_runs_is_the_one_in_the_table(chosen):
    root, _ = chosen
    runs = [r for r in read_csv(root / "results" / "toy" / "runs.csv") if r["method"] == "margin"]
    mean = {C: sum(float(r["test_error"]) for r in runs if r["C"] == C) / 4 for C in ("0.001", "5")}
    best = min(mean, key=lambda C: mean[C])
    assert {r["C"] for r in runs if r["chosen"] == "true"} == {best} and len(runs) == 8
    table = read_csv(root / "results" / "toy" / "toy.csv")
    errors = [float(r["value"]) for r in table if r["measure"] == "test_error"]
    assert sum(errors) / 2 == pytest.approx(mean[best])


def test_a_choice_without_a_validation_part_fails_with_the_reason(chosen):
    root, _ = chosen
    runs = [r for r in read_csv(root / "results" / "toy" / "runs.csv") if r["method"] == "hard"]
    assert {r["status"] for r in runs} == {"failed"} and all(
        "needs a validation set" in r["reason"] for r in runs
    )


class Reader(html.parser.HTMLParser):
    """Collects addresses, ids and whether tags close in order."""

    def __init__(self):
        super().__init__()
        self.addresses, self.ids, self.open = [], [], []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.addresses += [given[name] for name in ("src", "href") if name in given]
        self.ids += [given["id"]] if "id" in given else []
        if tag not in ("meta", "br", "img", "link", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        """An empty element of a drawing."""

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_pages_stand_alone_and_show_every_claim_and_experiment(chosen):
    """What they name is there; the one address outside is a paper's, which only a click follows."""
    root, _ = chosen
    readers = {}
    for page in (root / "results" / "index.html", root / "results" / "toy" / "index.html"):
        reader = readers[page] = Reader()
        text = page.read_text()
        reader.feed(text)
        assert reader.open == [] and len(set(reader.ids)) == len(reader.ids)
        to_papers = r'href="https://(?:doi|jmlr)\.org/[^"]+"'
        bare = re.sub(rf'<code>.*?</code>|{to_papers}|"http://www.w3.org/[^"]+"', "", text)
        assert not re.search(r"https?://|//[a-z]+\.[a-z]|@import|url\((?!#)", bare)
    for page, reader in readers.items():
        for address in reader.addresses:
            file, _, anchor = address.partition("#")
            if not address.startswith(("data:", "https://doi.org/", "https://jmlr.org/")):
                target = (page.parent / file).resolve() if file else page
                assert target.is_file(), address
                assert not anchor or anchor in readers[target].ids, address
    index, toy = (page.read_text() for page in readers)
    ids = [each for reader in readers.values() for each in reader.ids]
    assert sum(one.startswith("claim-") for one in ids) >= 36
    assert "A toy" in index and "A toy" in toy and "needs a validation set" in toy and "bcfw" in toy
    assert "make reproduce SCALE=standard ONLY=&#34;toy&#34;" in toy


def test_nothing_outside_the_volatile_parts_changes_when_everything_is_done_again(chosen, tmp_path):
    root, _ = chosen
    again = project(tmp_path / "again", {})
    shutil.copy(root / "configs" / "toy.yaml", again / "configs" / "toy.yaml")
    run_all(again)
    assert exact(root / "results", again / "results") == []
    kept = stable(root / "results")
    assert (
        {"index.html", "toy/index.html", "toy/statements.md"} <= set(kept)
        and "toy/runs.csv" in kept
        and any(name.endswith(".trained.zip") for name in kept)
    )
    assert not any("timings" in name or "clock" in name or "trace" in name for name in kept)
    assert not re.search(rb"\d CPU seconds", kept["toy/index.html"]) and re.search(
        rb"\d CPU seconds", (root / "results" / "toy" / "index.html").read_bytes()
    )


def test_a_verdict_about_time_flips_without_a_difference_in_bytes(chosen):
    root, suite = chosen
    toy = Results(root)["toy"]
    claims = read_statements(root / "data" / "published" / "statements.yaml")
    listed = [{**row, "experiment": "toy"} for row in judge({}, claims)]
    clocked = sum(row["volatile"] for row in listed)
    assert 0 < clocked < len(listed)

    def shown(about_time, others):
        rows = [{**row, "verdict": about_time if row["volatile"] else others} for row in listed]
        made = pages([toy], claims, rows, suite, b"<svg/>")
        assert made["toy/index.html"].count(f">{about_time}<") >= clocked
        assert made["toy/statements.md"].count(f"{about_time}.**") >= clocked
        return {name: volatile_blocks().sub("", text) for name, text in made.items()}

    assert shown("reproduced", "contradicted") == shown("contradicted", "contradicted")
    assert shown("reproduced", "contradicted") != shown("reproduced", "reproduced")


def test_a_statement_whose_data_are_gone_says_what_to_do(chosen, tmp_path, monkeypatch):
    shutil.copytree(chosen[0], tmp_path / "root")
    results = Results(tmp_path / "root")

    def compute(case):
        toy = case.results["toy"]
        broken = len(toy.split(toy.runs["run"].iloc[0]).test.Y) == 0
        return counterexamples(int(broken), 1)

    monkeypatch.setattr(judging, "effects", lambda: {"bound-risk-slack": Effect(compute, (), ())})
    claims = read_statements(tmp_path / "root" / "data" / "published" / "statements.yaml")
    (claim,) = (claim for claim in claims if claim.id == "bound-risk")

    def row():
        return next(row for row in judge(results, [claim]) if row["id"] == "bound-risk-slack")

    assert row()["verdict"] == "reproduced"
    shutil.rmtree(tmp_path / "root" / "data" / "ready")
    assert row()["verdict"] == "not testable"
    assert "make reproduce ONLY=toy prepares them again" in row()["evidence"]


def test_comparisons_tell_numbers_apart_by_their_spread(chosen, tmp_path, capsys):
    root, suite = chosen
    shutil.copytree(root / "results", tmp_path / "other")
    assert (
        main(["--root", str(root), "compare", str(root / "results"), str(tmp_path / "other"), "--exact"]) == 0
    )
    table = tmp_path / "other" / "toy" / "toy.csv"
    row = read_csv(table)[0]
    value, spread = float(row["value"]), float(row["spread"])
    text = table.read_text()
    assert spread > 0
    table.write_text(
        text.replace(f"{row['value']},{row['spread']}", f"{value + spread:.10g},{row['spread']}", 1)
    )
    near = numbers(root / "results", tmp_path / "other").differences
    assert len(near) == 1 and near[0].within
    assert main(["--root", str(root), "compare", str(root / "results"), str(tmp_path / "other")]) == 0
    table.write_text(
        text.replace(f"{row['value']},{row['spread']}", f"{value + 9 * spread:.10g},{row['spread']}", 1)
    )
    assert main(["--root", str(root), "compare", str(root / "results"), str(tmp_path / "other")]) == 1
    assert (
        main(["--root", str(root), "compare", str(root / "results"), str(tmp_path / "other"), "--exact"]) == 1
    )
    assert re.search(r"toy/toy.csv: line 2 '.*' and line 2 '.*', differs", capsys.readouterr().out)
    assert suite.scale == "standard"


def test_the_command_lists_explains_and_checks(chosen, capsys):
    root, _ = chosen
    assert main(["--root", str(root), "list"]) == 0
    listed = capsys.readouterr().out
    assert "  toy            A toy (jmlr05, " in listed
    row = re.search(r"\n  one_slack +(.*)", listed).group(1)
    allowed = [cell != "no" for cell in row.split()]  # elsewhere "yes", or the number of problems
    assert allowed == [False, True, True, True, False, False, False, False]
    assert re.search(r"solver 'one_slack' takes.*'SVM2' has squared slacks", listed)
    assert listed.count("solver 'one_slack' takes") == 4  # one reason once, whatever the number of problems
    assert main(["--root", str(root), "explain", "toy"]) == 0
    told = capsys.readouterr().out
    assert (
        "study 'sizes': 8 runs of margin\n  for n_train in 12, 24\n" in told
        and "last time (scale standard)" in told
        and "left out: solver 'bcfw'" in told
    )
    assert main(["--root", str(root), "explain", "toi"]) == 1
    assert "the nearest known is 'toy'" in capsys.readouterr().err
    assert main(["--root", str(root), "check"]) == 0
    assert "toy, clusters: synthetic" in capsys.readouterr().out


def test_results_are_read_from_a_snapshot_where_there_are_no_others(chosen, tmp_path):
    root, _ = chosen
    kept = project(tmp_path)
    shutil.copytree(root / "results" / "toy", kept / "results" / "snapshot" / "toy")
    assert list(Results(kept)) == [] and list(Results.latest(kept)) == ["toy"]
    assert_frame_equal(Results.latest(kept)["toy"].table("toy"), Results(root)["toy"].table("toy"))
    assert list(Results.latest(root)) == ["toy"]


def test_results_under_another_configuration_are_marked_on_the_page(chosen, tmp_path):
    root, _ = chosen
    shutil.copytree(root, tmp_path / "copy")
    path = tmp_path / "copy" / "configs" / "toy.yaml"
    path.write_text(path.read_text().replace("eps: 0.1", "eps: 0.2", 1))
    report(load(tmp_path / "copy"))
    page = (tmp_path / "copy" / "results" / "toy" / "index.html").read_text()
    assert "made under another configuration" in page and "Only the configurations are compared" in page
    assert "other code" not in page
    assert "made under another configuration" not in (root / "results" / "toy" / "index.html").read_text()
