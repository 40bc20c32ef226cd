"""The committed copy of results: what it holds, what it must not hold, and how results compare with it."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess

import pytest

from helpers.toy_figures import SECRET, illustrated, known
from helpers.toy_project import HERE
from structmargin_suite.cli import main
from structmargin_suite.planning.config import ConfigError
from structmargin_suite.publish.compare import exact, numbers
from structmargin_suite.publish.page.marks import volatile_blocks
from structmargin_suite.publish.snapshot import LARGEST, snapshot
from structmargin_suite.rerun.machine import tree_digest
from structmargin_suite.results import Results
from structmargin_suite.storage.csv_files import read_csv, write_csv
from structmargin_suite.storage.files import read_json, write_json


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A project with results and, taken by the command, their copy."""
    root = illustrated(tmp_path_factory.mktemp("snapshot"))
    with pytest.MonkeyPatch.context() as patch:
        known(patch)
        assert main(["--root", str(root), "snapshot"]) == 0
    return root


def again(made, folder):
    """A project of one's own to spoil."""
    shutil.copytree(made, folder)
    return folder


def test_it_holds_tables_figures_verdicts_the_page_and_the_record_and_no_large_file(made):
    kept = made / "results" / "snapshot"
    files = {path.relative_to(kept).as_posix(): path for path in kept.rglob("*") if path.is_file()}
    tables = {f"toy/{table}.{kind}" for table in ("toy", "solvers") for kind in ("csv", "md", "tex")}
    pictures = {f"toy/figures/{name}.svg" for name in ("small", "large", "small_time")}
    others = {
        "distances.svg",
        "statements.csv",
        "index.html",
        "toy/index.html",
        "toy/statements.md",
        "toy/figures/large.json",
        "record.json",
        "toy/summary.json",
        "toy/runs.csv",
        "toy/timings.csv",
    }
    assert tables | pictures | others <= set(files)
    assert not any(re.search(r"\.(pdf|npz|log)$|runs/|jobs/", name) for name in files)
    assert all(path.stat().st_size < 500_000 for path in files.values())
    judged = {name for name in tables if name.endswith(".md")}
    for name in (tables - judged) | {"statements.csv", "toy/statements.md", "toy/runs.csv"}:
        assert files[name].read_bytes() == (made / "results" / name).read_bytes()
    for name in judged:
        text, first = files[name].read_text(), (made / "results" / name).read_text()
        assert text != first and volatile_blocks().sub("", text) == first
        assert "<!-- volatile --> Statements" in text and text.count("<!-- volatile -->") == 1
    for name in ("index.html", "toy/index.html"):
        page = files[name]
        links = re.findall(r'href="([^"#]+)[^"]*"', page.read_text())
        links = [
            link for link in links if not link.startswith(("data:", "https://doi.org/", "https://jmlr.org/"))
        ]
        assert len(links) > 5 and all((page.parent / link).is_file() for link in links)
    assert list(Results(made, kept)) == ["toy"] and len(Results(made, kept).statements()) == len(
        read_csv(made / "results" / "statements.csv")
    )


def test_the_record_says_which_code_data_and_machine_made_it(made):
    record = read_json(made / "results" / "snapshot" / "record.json")
    assert record["scale"] == "standard" and record["seed"] == 7
    assert record["command"] == "make reproduce SCALE=standard"
    toy = record["experiments"]["toy"]
    assert toy["data"] == {"clusters (synthetic)": "synthetic"} and toy["runs"]["done"] == 6
    assert toy["training"]["cpu"] > 0 and toy["training"]["peak"] > 10 and toy["training"]["machine"]
    assert toy["versions"]["numpy"] and toy["code"]


def test_a_figure_with_many_vectors_is_kept_as_pixels(made):
    large = made / "results" / "toy" / "figures" / "large.svg"
    copied = made / "results" / "snapshot" / "toy" / "figures" / "large.svg"
    assert large.stat().st_size > LARGEST["svg"] > copied.stat().st_size
    assert "data:image/webp;base64," in copied.read_text()
    replaced = read_json(made / "results" / "snapshot" / "record.json")["replaced"]
    assert list(replaced) == ["toy/figures/large.svg"]


def test_a_picture_of_data_whose_terms_forbid_it_is_not_copied(made, tmp_path, monkeypatch, capsys):
    known(monkeypatch)
    root = again(made, tmp_path / "real")
    path = root / "results" / "toy" / "summary.json"
    summary = read_json(path)
    summary["data"][0]["kind"] = "real"
    summary["data"][0]["files"] = {"file": "0" * 64}
    write_json(path, summary)
    assert main(["--root", str(root), "snapshot"]) == 0
    assert f"left out: toy/figures/small.svg: {SECRET}" in capsys.readouterr().out
    figures = root / "results" / "snapshot" / "toy" / "figures"
    assert "its terms &lt;forbid&gt; it" in (figures / "small.svg").read_text()
    assert not (figures / "small.png").exists() and (figures / "small_time.png").exists()
    assert (made / "results" / "snapshot" / "toy" / "figures" / "small.svg").read_bytes() == (
        made / "results" / "toy" / "figures" / "small.svg"
    ).read_bytes()
    drawn = root / "results" / "toy" / "figures"
    assert (figures / "private.svg").read_bytes() == (drawn / "public.svg").read_bytes()
    assert (figures / "private.svg").read_bytes() != (drawn / "private.svg").read_bytes()
    assert not (figures / "private.png").exists() and not (figures / "private.json").exists()
    assert not (figures / "public.svg").exists(), "it is there under the other's name"
    replaced = read_json(root / "results" / "snapshot" / "record.json")["replaced"]
    assert replaced["toy/figures/private.svg"] == f"{SECRET}; the copy shows public"
    for page in (root / "results", root / "results" / "snapshot"):
        text = (page / "toy" / "index.html").read_text()
        assert "A private figure." in text and "A public figure." not in text
    assert exact(root / "results", root / "results" / "snapshot") == []


def test_results_of_another_configuration_or_of_none_are_refused(made, tmp_path, monkeypatch, capsys):
    known(monkeypatch)
    root = again(made, tmp_path / "stale")
    config = root / "configs" / "toy.yaml"
    config.write_text(config.read_text().replace("eps: 0.1", "eps: 0.2", 1))
    before = (root / "results" / "snapshot" / "record.json").read_bytes()
    assert main(["--root", str(root), "snapshot"]) == 1
    assert "the results of toy were made under another configuration" in capsys.readouterr().err
    assert (root / "results" / "snapshot" / "record.json").read_bytes() == before
    shutil.rmtree(root / "results" / "toy")
    assert main(["--root", str(root), "snapshot"]) == 1
    assert "run make reproduce first" in capsys.readouterr().err


def test_results_are_compared_with_it_number_by_number_and_byte_by_byte(made, tmp_path, capsys):
    root = again(made, tmp_path / "compared")
    folders = [str(root / "results"), str(root / "results" / "snapshot")]
    assert main(["--root", str(root), "compare", *folders]) == 0
    told, n = capsys.readouterr().out, 6 + len(read_csv(root / "results" / "statements.csv"))
    assert f"{n} numbers and verdicts: {n} the same, 0 differ within the tolerance, 0 beyond it" in told
    assert "3 standard errors" in told and "1%" in told
    assert main(["--root", str(root), "compare", *folders, "--exact"]) == 0
    assert "no difference" in capsys.readouterr().out
    table = root / "results" / "toy" / "solvers.csv"
    table.write_text(table.read_text().replace("n_slack", "other"))
    assert main(["--root", str(root), "compare", *folders]) == 1
    told = capsys.readouterr().out
    assert "toy/solvers, other" in told and "toy/solvers, n_slack" in told and told.count("missing") == 2
    assert main(["--root", str(root), "compare", *folders, "--exact"]) == 1
    assert "toy/solvers.csv" in capsys.readouterr().out


def spoilt(made, folder, change):
    """How a copy compares with the original after change(row) for every row of its table."""
    root = again(made, folder)
    path = root / "results" / "toy" / "toy.csv"
    rows = read_csv(path)
    for row in rows:
        change(row)
    write_csv(path, rows, list(rows[0]))
    return numbers(made / "results", root / "results")


@pytest.mark.parametrize(("change", "within"), [(1.005, True), (1.02, False)])
def test_a_number_without_spread_has_one_percent(made, tmp_path, change, within):
    root = again(made, tmp_path / "one")
    for folder in (made, root):
        path = folder / "results" / "toy" / "toy.csv"
        rows = read_csv(path)
        value = float(rows[0]["value"])
        rows[0].update(spread="", spread_kind="", runs="1")
        if folder == root:
            rows[0]["value"] = f"{value * change:.10g}"
        write_csv(
            root / "results" / "toy" / ("toy.csv" if folder == root else "first.csv"), rows, list(rows[0])
        )
    first = tmp_path / "first"
    shutil.copytree(made / "results", first)
    shutil.move(root / "results" / "toy" / "first.csv", first / "toy" / "toy.csv")
    found = numbers(first, root / "results")
    assert [one.within for one in found.differences] == [within]


def test_a_tiny_difference_is_none_and_a_lost_value_is_one(made, tmp_path):
    def nudge(row):
        row["value"] = f"{float(row['value']) * (1 + 1e-8):.12g}"

    def lose(row):
        row["value"] = ""

    assert spoilt(made, tmp_path / "nudged", nudge).differences == []
    lost = spoilt(made, tmp_path / "lost", lose)
    assert len(lost.differences) == 4 and not any(one.within for one in lost.differences)


def test_verdicts_and_scales_are_compared_too(made, tmp_path):
    root = again(made, tmp_path / "verdicts")
    statements = root / "results" / "statements.csv"
    rows = read_csv(statements)
    assert rows[-1]["verdict"] == "not testable"
    rows[-1]["verdict"] = "contradicted"
    write_csv(statements, rows, list(rows[0]))
    found = numbers(made / "results", root / "results")
    assert [str(one) for one in found.differences] == [
        f"statement {rows[-1]['id']}: not testable and contradicted, differs"
    ]
    summary = read_json(root / "results" / "toy" / "summary.json")
    write_json(root / "results" / "toy" / "summary.json", {**summary, "scale": "paper"})
    table = root / "results" / "toy" / "toy.csv"
    write_csv(table, read_csv(table)[:2], list(read_csv(table)[0]))
    found = numbers(made / "results", root / "results")
    assert len(found.differences) == 1 and "scale standard" in found.notes[0] and "paper" in found.notes[0]


def git(root, *words):
    named = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    return subprocess.run(
        ["git", *named, *words], cwd=root, check=True, capture_output=True, text=True
    ).stdout


def test_the_record_has_a_digest_of_the_committed_tree_and_a_changed_tree_is_refused(
    made, tmp_path, monkeypatch
):
    root = again(made, tmp_path / "again")
    known(monkeypatch)
    git(root, "init", "-q")
    git(root, "add", "configs", "data/published")
    git(root, "commit", "-qm", "one")
    snapshot(root)
    record = read_json(root / "results" / "snapshot" / "record.json")
    listed = git(root, "ls-tree", "-r", "HEAD", "--", "configs", "data/published")
    assert record["tree"] == hashlib.sha256(listed.encode()).hexdigest()
    assert record["commit"] == git(root, "rev-parse", "--short=12", "HEAD").strip()
    suite = root / "configs" / "suite.yaml"
    suite.write_text(suite.read_text() + "# changed\n")
    with pytest.raises(ConfigError, match="files in git have changed since the last commit"):
        snapshot(root)
    git(root, "commit", "-qam", "two")
    snapshot(root)
    assert read_json(root / "results" / "snapshot" / "record.json")["tree"] != record["tree"]
    assert tree_digest(root, "HEAD~1") == record["tree"]  # which the history still holds


def test_the_committed_snapshot_was_made_from_a_tree_that_the_history_holds():
    """A record from before there was a digest names a commit; one with changes is refused either way."""
    record = read_json(HERE / "results" / "snapshot" / "record.json", ("commit",))
    assert "with changes" not in record["commit"]
    if record.get("tree") is None or tree_digest(HERE) in (None, record["tree"]):
        return
    if git(HERE, "rev-parse", "--is-shallow-repository").strip() == "true":
        return
    history = git(HERE, "log", "--format=%H", "-n", "400").split()
    assert any(tree_digest(HERE, commit) == record["tree"] for commit in history)


def test_one_tolerance_for_all_numbers(made, tmp_path, capsys):
    root = again(made, tmp_path / "again")
    other, table = root / "results", root / "results" / "toy" / "toy.csv"
    rows = read_csv(table)
    for row in rows:
        row["value"] = f"{1.04 * float(row['value']) + 0.01:.10g}"
    write_csv(table, rows, list(rows[0]))
    compared = {share: numbers(made / "results", other, share) for share in (0.0, 0.2)}
    assert (
        all(not difference.within for difference in compared[0.0].differences) and compared[0.0].differences
    )
    assert all(difference.within for difference in compared[0.2].differences)
    call = ["--root", str(made), "compare", str(made / "results"), str(other), "--tolerance"]
    assert main([*call, "0"]) == 1 and main([*call, "0.2"]) == 0
    assert "within: 0.2 of the larger number, or of 1" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*call, "2"])
