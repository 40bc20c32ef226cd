"""How benchmarks run peers, score their models and write README.md; no times are tested."""

from __future__ import annotations

import ast
import importlib
import json
import platform
import re
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_literature import fastest, passed
from curves import curve, draw
from duel import compare, peer_row, relative_gap
from fresh import in_fresh_process, launched, measured
from ledger import Ledger, read
from peers import Data, PeerFailed, known, program, svm_hmm, svm_perf
from race import AS_IN_THE_PAPERS, LEFT_OUT, OutOfTime, primal, solvers, trained, within
from readme import main as write_readme
from readme import number
from task_data import cached, load
from tasks import TASKS, Task

from helpers.toy_project import HERE
from structmargin import registry
from structmargin.problems import Measure, Multiclass, Sequence

L, D = 3, 2


def chains(n: int = 12) -> Data:
    rng = np.random.default_rng(0)
    Y = [rng.integers(L, size=rng.integers(2, 6)) for _ in range(n)]
    X = [rng.normal(size=(len(y), D)) + 0.5 * np.eye(L)[y][:, :D] for y in Y]
    return Data(Sequence(L, D), X, Y)


CHAINS = Task("Chains", "", lambda n: chains(), "SVM1 margin", 0.5)


# ---- a peer's model, scored by our primal ----


def test_our_weights_in_the_format_of_svm_hmm_come_back_with_the_same_primal(tmp_path: Path) -> None:
    data = chains()
    model = trained(data, CHAINS, "n_slack", 1e-6)["model"]
    svm_hmm.write_model(tmp_path / "model", model.w_, L, D)
    w = svm_hmm.read_weights(tmp_path / "model", L, D)
    np.testing.assert_array_equal(w, model.w_)
    assert primal(data, CHAINS, w) == pytest.approx(model.fit_.primal, rel=1e-12)
    assert primal(data, CHAINS, np.roll(w, 1)) > 1.01 * model.fit_.primal


def test_weights_of_svm_hmm_stand_where_its_index_says(tmp_path: Path) -> None:
    # From 1 on: label 1 before 2 is at 3 + 2, feature 2 of label 3 at 12 + 1 + 2*3 + 2.
    text = "0 # kernel type\n0 # threshold b, each following line is a SV\n2 5:0.25 21:-1.5 #\n"
    (tmp_path / "model").write_text(text)
    emissions, transitions, *_ = Sequence(L, D).weights(svm_hmm.read_weights(tmp_path / "model", L, D))
    expected = np.zeros((D, L)), np.zeros((L, L))
    expected[0][1, 2], expected[1][0, 1] = -3.0, 0.5
    np.testing.assert_array_equal(emissions, expected[0])
    np.testing.assert_array_equal(transitions, expected[1])


def test_a_model_of_svm_hmm_with_many_support_vectors_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("0 # threshold b, each following line is a SV\n1 5:1 #\n1 6:1 #\n")
    with pytest.raises(PeerFailed, match="kernel must be linear"):
        svm_hmm.read_weights(tmp_path / "model", L, D)


def test_examples_of_svm_hmm_count_from_one(tmp_path: Path) -> None:
    svm_hmm.write_examples(tmp_path / "x", [np.array([[0.0, 2.0], [1.0, 0.0]])], [np.array([2, 0])])
    assert (tmp_path / "x").read_text() == "3 qid:1 2:2\n1 qid:1 1:1\n"


@pytest.mark.parametrize("intercept", [0.0, 2.0])
def test_weights_of_svm_perf_have_its_threshold_as_the_weight_of_the_constant(
    tmp_path: Path, intercept: float
) -> None:
    (tmp_path / "model").write_text("4 # highest feature index\n3.0 # threshold b, each\n2 1:0.5 3:-1 #\n")
    w = svm_perf.read_weights(tmp_path / "model", 3, intercept)
    assert w.tolist() == ([1.0, 0.0, -2.0, -1.5] if intercept else [1.0, 0.0, -2.0])


def test_our_primal_of_any_weights_is_that_of_the_definition() -> None:
    data = chains()
    assert primal(data, CHAINS, np.zeros(L * D + L * L)) == pytest.approx(0.5 * sum(map(len, data.Y)))
    y = np.array([1, -1, -1, 1])
    rows = Data(Measure("error_rate"), np.eye(4), y)
    task = Task("", "", lambda n: rows, "SVM1 margin", 10.0)
    # Psi = 1/n sum y x: a wrong label costs 1/4 - 2/4 w y, with w y = .2 here, for each of four rows.
    assert primal(rows, task, 0.2 * y) == pytest.approx(0.5 * 4 * 0.04 + 10.0 * 4 * (0.25 - 0.1))


def test_linear_svc_is_scored_as_it_scores_itself() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 3
    data = Data(Multiclass(3, 3), X, y)
    outcome = known()["LinearSVC"].train(data, 1.0, 1e-6)
    assert outcome.w is not None
    W = outcome.w.reshape(3, 3).T
    scores = X @ W.T
    xi = (scores + (np.arange(3)[None] != y[:, None])).max(axis=1) - scores[np.arange(40), y]
    task = Task("", "", lambda n: data, "SVM1", 1.0)
    value = primal(data, task, outcome.w)
    assert value == pytest.approx(0.5 * np.sum(W**2) + xi.sum())
    dual = trained(data, task, "n_slack", 1e-6)["dual"]
    assert -1e-9 < relative_gap(value, dual) < 1e-3


# ---- outside programs ----


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_a_program_must_end_well_and_make_its_file_anew(tmp_path: Path) -> None:
    made = tmp_path / "model"
    made.write_text("of an earlier run")
    with pytest.raises(PeerFailed, match="idle ended well but wrote no model"):
        program.run([script(tmp_path / "idle", "exit 0")], made)
    with pytest.raises(PeerFailed, match="bad ended with status 3: it is broken"):
        program.run([script(tmp_path / "bad", f"echo x > {made}; echo it is broken; exit 3")], made)
    with pytest.raises(PeerFailed, match=r"not within 0\.2 s"):
        program.run([script(tmp_path / "slow", "sleep 30")], made, limit=0.2)
    usage = program.run([script(tmp_path / "good", f"echo y > {made}; echo done")], made)
    assert (usage.printed, made.read_text()) == ("done\n", "y\n")


def test_the_memory_of_a_program_is_its_own() -> None:
    ballast = np.ones(40_000_000)  # 320 MB, which a child would begin with
    done = launched([sys.executable, "-I", "-S", "-c", "x = bytearray(60 * 2**20); print(len(x))"])
    assert ballast[0] == 1.0 and done is not None and done.status == 0
    assert done.stdout == f"{60 * 2**20}\n"
    assert 60 < done.mb < 150


def test_a_process_that_fails_is_named_with_its_error(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import sys\nprint(1)\nsys.exit('it cannot be')\n")
    with pytest.raises(RuntimeError, match=r"(?s)a\.py 7 failed:.*it cannot be"):
        in_fresh_process(str(tmp_path / "a.py"), "7")
    (tmp_path / "a.py").write_text("print('a word')\nprint('[1, 2]')\n")
    assert in_fresh_process(str(tmp_path / "a.py")) == [1, 2]


def test_repeated_runs_keep_the_figures_of_the_first() -> None:
    calls: list[int] = []

    def work() -> dict[str, int]:
        calls.append(len(calls))
        return {"call": calls[-1]}

    assert measured(lambda: None, work, repeats=3)["call"] == 0
    assert calls == [0, 1, 2]


PEER_VARIABLES = ("SVM_HMM", "SVM_PERF", "PYSTRUCT", "DLIB")


def test_a_peer_that_is_not_there_is_a_row_that_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in PEER_VARIABLES:
        monkeypatch.delenv(f"STRUCTMARGIN_{name}", raising=False)
    assert peer_row("ocr", "SVM-hmm", 0.1) == {
        "program": "SVM-hmm",
        "note": "not there: STRUCTMARGIN_SVM_HMM names no folder with svm_hmm_learn",
    }
    monkeypatch.setenv("STRUCTMARGIN_SVM_PERF", str(tmp_path))
    note = "not there: the folder of STRUCTMARGIN_SVM_PERF has no program svm_perf_learn"
    assert peer_row("f1", "SVM-perf", 0.1) == {"program": "SVM-perf", "note": note}
    monkeypatch.setenv("STRUCTMARGIN_DLIB", str(tmp_path / "python"))
    row = peer_row("ocr", "dlib", 1.0)
    assert row["note"].startswith("not there: STRUCTMARGIN_DLIB names no program that starts")
    python, why = program.python_with("STRUCTMARGIN_NO_PEER", "no_such_module")
    assert python is None
    assert why == (
        "not there: no_such_module cannot be imported, and STRUCTMARGIN_NO_PEER names no Python that can"
    )
    assert program.python_with("STRUCTMARGIN_NO_PEER", "json") == (sys.executable, None)


def test_every_task_names_peers_that_are_known() -> None:
    assert {peer for task in TASKS.values() for peer in task.peers} == set(known())


# ---- our side ----


def test_solvers_are_those_of_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Sequence(L, D)
    usual = solvers(problem, "SVM1 margin")
    assert set(registry.SOLVERS) == {*solvers(problem, "SVM1 margin", every=True), *LEFT_OUT} | {
        name
        for name in registry.SOLVERS
        if registry.check(
            problem, registry.formulation("SVM1 margin"), registry.solver(name), registry.space()
        )
    }
    assert not {*usual} & {*LEFT_OUT, *AS_IN_THE_PAPERS}
    monkeypatch.setitem(registry.SOLVERS, "new", registry.SOLVERS["n_slack"])
    assert solvers(problem, "SVM1 margin") == [*usual, "new"]
    assert "bcfw" in usual and "bcfw" not in solvers(problem, "SVM2 slack")


def test_a_training_ends_when_its_time_is_over_also_within_a_pass() -> None:
    problem = SlowTags()
    data = Data(problem, [0] * 100_000, [0] * 100_000)
    task = Task("", "", lambda n: data, "SVM1 margin", 1.0)
    row = trained(data, task, "n_slack", 1e-9, limit=0.2)
    assert row["gap"] is None and row["model"] is None and row["trace"] == []
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_time_that_is_over_as_compiled_code_returns_is_told_from_other_errors() -> None:
    with pytest.raises(OutOfTime), within(0.05):
        try:
            while True:
                sum(range(10_000))
        except OutOfTime:
            raise SystemError("returned a result with an exception set") from None
    with pytest.raises(SystemError, match="something else"), within(60.0):
        raise SystemError("something else")
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_data_are_read_once_while_they_are_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int | None] = []

    def read(n: int | None) -> Data:
        reads.append(n)
        return chains()._replace(Y=[np.array([0])] * (n or 5))

    monkeypatch.setitem(TASKS, "toy", Task("", "", read, "SVM1 margin", 0.5))
    with cached():
        sizes = [len(load("toy", n).Y) for n in (None, None, 3, None, 3)]
        assert np.array_equal(np.vstack(load("toy").X), np.vstack(chains().X))
    assert sizes == [5, 5, 3, 5, 3] and reads == [None, 3]
    load("toy")
    assert reads == [None, 3, None]


def test_a_peer_that_takes_too_long_is_a_row_that_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    endless = tmp_path / "endless.py"
    endless.write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr("duel.RUN", str(endless))
    monkeypatch.setattr("duel.PEER_LIMIT", 0.3)
    assert peer_row("digits", "LinearSVC", 0.1) == {
        "program": "LinearSVC",
        "asked for": "tol 0.1",
        "note": "not within 0.3 s",
    }


class SlowTags:
    """Two outputs, searched in a loop that takes CPU time."""

    def psi(self, x: int, y: int) -> np.ndarray:
        return np.eye(2)[y]

    def delta(self, y: int, ybar: int) -> float:
        return float(y != ybar)

    def argmax(self, f: Any, x: int) -> int:
        return 0

    def augmented_argmax(self, f: Any, x: int, y: int, H: Any) -> int:
        sum(range(10_000))
        return 1


def test_a_peer_is_compared_at_its_own_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task(
        "", "", lambda n: chains(), "SVM1 margin", 0.5, (1e-1, 1e-3), {"SVM-hmm": (0.1,), "dlib": (1.0,)}
    )
    monkeypatch.setitem(TASKS, "toy", task)
    peers = {
        "SVM-hmm": {"program": "SVM-hmm", "cpu": 6.0, "objective": 100.0, "note": ""},
        "dlib": {"program": "dlib", "cpu": 9.0, "objective": 90.009, "note": ""},
    }
    asked = []

    def ours(name: str, solver: str, gaps: list[float], n: int = 0) -> list[dict[str, Any]]:
        asked.append(gaps)
        seconds = {"n_slack": 1.0, "bcfw": 3.0}.get(solver, 9.0)
        return [{"asked": g, "gap": 0.9 * g, "dual": 90.0, "cpu": seconds * 10 ** (-10 * g)} for g in gaps]

    monkeypatch.setattr("duel.peer_row", lambda task, name, setting, n=0: dict(peers[name]))
    monkeypatch.setattr("duel.known", lambda: {name: known()["LinearSVC"] for name in peers})
    monkeypatch.setattr("duel.ours", ours)
    rows = compare("toy")
    assert asked[0] == [1e-3] and asked[1] == [1e-3, 1e-1]
    assert rows[0]["relative gap"] == pytest.approx(0.1)
    assert rows[0]["times"] == pytest.approx(60.0) and rows[0]["note"] == "ours by n_slack"
    assert rows[1]["relative gap"] == pytest.approx(1e-4, rel=1e-3)  # nearer than our bound: compared at 1e-3
    assert rows[1]["times"] == pytest.approx(9.0 * 10**0.01)
    assert [row["asked for"] for row in rows[2:4]] == ["gap 0.001", "gap 0.1"]


TRACE = [
    {"seconds": 1.0, "oracle_calls": 10, "dual": 0.0},
    {"seconds": 2.0, "oracle_calls": 20, "primal": 10.0, "dual": 5.0, "gap": 5.0},
    {"seconds": 3.0, "oracle_calls": 35, "primal": 20.0, "dual": 6.0, "gap": 14.0},
    {"seconds": 4.0, "oracle_calls": 40, "primal": 10.0, "dual": 9.5, "gap": 0.5},
]


def test_a_trace_says_when_a_gap_was_passed() -> None:
    assert passed(TRACE, 0.6) == TRACE[1]
    assert passed(TRACE, 0.1) == TRACE[3]
    assert passed(TRACE, 0.01) is None
    slower = [{**row, "seconds": 2 * row["seconds"]} for row in TRACE]
    assert fastest({"a": {"trace": slower}, "b": {"trace": TRACE}}, 0.1) == (4.0, "b")
    assert curve(TRACE, 10) == ([2.0, 3.0, 4.0], [2.0, 3.5, 4.0], [0.5, 0.5, 0.05])


def test_every_benchmark_finds_what_it_imports() -> None:
    names = sorted(path.stem for path in (HERE / "benchmarks").glob("bench_*.py"))
    assert len(names) >= 15
    assert all(callable(importlib.import_module(name).main) for name in names)


def test_no_benchmark_uses_private_members_of_the_library() -> None:
    """They may go without a word: a benchmark would fail after half an hour."""
    used = [
        f"{path.name}:{node.lineno}: {node.attr}"
        for path in sorted((HERE / "benchmarks").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")
        if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "os"))
    ]
    assert used == []


# ---- the document ----


def write_results(folder: Path) -> None:
    with Ledger("first", folder) as ledger:
        rows = [
            {"program": "Faster", "asked for": "tol 1", "relative gap": 0.0123, "CPU s": 1.0, "times": 0.5,
             "peak MB": 20.0, "size": 7},
            {"program": "Slower", "CPU s": 8.0, "times": 4.0, "peak MB": 900.0},
            {"program": "Absent", "note": "not there: a|b"},
            {"program": "ours, n_slack", "CPU s": 2.0, "peak MB": 300.0},
        ]  # fmt: skip
        columns = ["program", "relative gap", "CPU s", "times", "objective", "note"]
        ledger.add("One task", rows, columns, "What it is.", ["size"])
        ledger.figure("one.svg", "One curve")
    with Ledger("second", folder) as ledger:
        ledger.add(
            "Plain", [{"rows": 20_000, "ms": float("nan")}, {"rows": 5, "ms": 1.25e-7}], ["rows", "ms"]
        )


def test_the_document_is_made_from_the_last_results(tmp_path: Path, capsys: Any) -> None:
    write_results(tmp_path / "results")
    write_readme(tmp_path / "results", tmp_path / "README.md")
    text = (tmp_path / "README.md").read_text()
    assert "- One task (7): Faster (tol 1) takes 0.500 of our time at a relative gap of 0.0123.\n" in text
    assert "Slower (" not in text and "Slower takes" not in text
    assert "Not measured, so that nothing is known: Absent (not there: a|b)." in text
    assert "nothing is known of their tasks: cky, core, diversity, " in text
    assert "- One task: Faster 20.0 MB, ours 300 MB at least." in text and "Slower 900" not in text
    table = [
        "### One task",
        "",
        "What it is.",
        "",
        "| program | relative gap | CPU s | times | note |",
        "|---|---|---|---|---|",
        "| Faster | 0.0123 | 1.00 | 0.500 |  |",
        "| Slower |  | 8.00 | 4.00 |  |",
        "| Absent |  |  |  | not there: a\\|b |",
        "| ours, n_slack |  | 2.00 |  |  |",
        "",
        "![One curve](figures/one.svg)",
    ]
    assert "\n".join(table) in text
    assert "| 20,000 |  |\n| 5 | 1.2e-07 |" in text
    assert platform.python_version() in text
    said = r"second`, begun 20\d\d-\d\d-\d\d \d\d:\d\d UTC, \d+\.\d minutes(, commit \w+\+?)?; load before"
    assert re.search(said, text)
    assert re.search(r"\n2 benchmarks, the first begun .*; \d+\.\d minutes of", text)
    assert platform.node() not in text.split() and str(Path.home()) not in text


def test_only_what_was_measured_again_changes(tmp_path: Path, capsys: Any) -> None:
    write_results(tmp_path)
    before = read(tmp_path)
    with pytest.raises(RuntimeError, match="broken off"), Ledger("first", tmp_path) as ledger:
        ledger.add("Half a table", [{"a": 1}], ["a"])
        raise RuntimeError("broken off")
    assert json.dumps(read(tmp_path)) == json.dumps(before)
    with Ledger("first", tmp_path) as ledger:
        ledger.add("Another", [{"program": "Slower", "times": 1.0}], ["program", "times"])
    write_readme(tmp_path, tmp_path / "README.md")
    text = (tmp_path / "README.md").read_text()
    assert "One task" not in text and "### Plain" in text
    assert "In the benchmarks below no peer was faster." in text


def test_a_document_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="run make bench"):
        write_readme(tmp_path, tmp_path / "README.md")


@pytest.mark.parametrize(
    ("value", "cell"),
    [(None, ""), (0.0, "0"), (3, "3"), (123456.7, "123,457"), (0.00123, "0.00123"), (2e-5, "2.0e-05"),
     (True, "True"), (float("inf"), ""), (-12.345, "-12.3")],
)  # fmt: skip
def test_numbers_have_three_digits(value: Any, cell: str) -> None:
    assert number(value) == cell


def test_a_figure_has_a_curve_for_every_solver(tmp_path: Path) -> None:
    traces = {name: {"n": 10, "trace": TRACE} for name in ("n_slack", "bcfw")}
    draw("toy", "A toy", traces, tmp_path)
    svg = (tmp_path / "toy.svg").read_text()
    assert (tmp_path / "toy.png").stat().st_size > 5_000
    assert svg.count("<path") > 10 and str(HERE) not in svg
    draw("toy", "A toy", traces, tmp_path)
    assert (tmp_path / "toy.svg").read_text() == svg
