"""What `verbose` and `progress` tell: a line and a call per pass, in step with the trace; and compiling."""

from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest

from helpers.every_problem import points
from structmargin import StructuredSVM
from structmargin.compiled import on_compiling
from structmargin.estimators.verbosity import COMPILING
from structmargin.problems import Multiclass
from structmargin.solvers.perceptron import Perceptron

LINE = re.compile(r"pass (\d+): primal (\S+), relative gap (\S+), (\d+) cuts, (\d+\.\d\d) s")


@pytest.mark.parametrize("solver", ["n_slack", "one_slack", "bcfw"])
def test_a_line_per_pass(solver: str, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[dict[str, float]] = []
    X, Y = points()
    model = StructuredSVM(Multiclass(), solver=solver, C=20.0, verbose=1, progress=told.append).fit(X, Y)
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("compiling")]
    assert told == model.fit_.trace and len(lines) == len(told) > 1
    for line, row in zip(lines, told):
        match = LINE.fullmatch(line)
        assert match, line
        assert int(match[1]) == row["iteration"] and int(match[4]) == row["constraints"]
        assert float(match[2]) == pytest.approx(row["primal"], rel=1e-5)
        assert float(match[3]) == pytest.approx(row["gap"] / row["primal"], rel=0.06)
        assert float(match[5]) == pytest.approx(row["seconds"], abs=0.006)
    assert float(LINE.fullmatch(lines[-1])[3]) <= 0.01  # type: ignore[index]


def test_solvers_without_a_primal_say_what_they_know(capsys: pytest.CaptureFixture[str]) -> None:
    X, Y = points()
    stream = StructuredSVM(Multiclass(), solver="olarank", verbose=1)
    stream.partial_fit(X[:12], Y[:12]).partial_fit(X[12:], Y[12:])
    StructuredSVM(Multiclass(), solver=Perceptron(epochs=1), verbose=1).fit(X, Y)
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("compiling")]
    assert [re.sub(r"\d+\.\d\d s", "T", line) for line in lines[:2]] == [
        f"pass {1 + k}: dual {row['dual']:.6g}, {row['constraints']:.0f} cuts, T"
        for k, row in enumerate(stream.fit_.trace)
    ]
    assert re.fullmatch(r"pass 1: \d+ mistakes, \d+\.\d\d s", lines[2])


def test_nothing_is_written_unless_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[Any] = []
    StructuredSVM(Multiclass(), progress=told.append).fit(*points())
    said = capsys.readouterr()
    assert told and said.out == "" and said.err in ("", f"{COMPILING}\n")


def test_compiling_is_told_once_and_only_where_it_happens() -> None:
    @numba.njit  # without a cache: each process compiles it
    def double(x):  # type: ignore[no-untyped-def]
        return 2 * x

    told: list[str] = []
    with on_compiling(lambda: told.append("compiling")):
        assert double(1) == 2
        assert double(1.5) == 3.0
    assert told == ["compiling"]
    with on_compiling(lambda: told.append("again")):
        assert double(2) == 4
    assert told == ["compiling"]
    assert double(np.float32(1.0)) == 2.0  # compiled outside of the context
    assert told == ["compiling"]


def test_verbose_tells_of_compiling(capsys: pytest.CaptureFixture[str]) -> None:
    class Compiles(Multiclass):
        def check(self, X: Any, Y: Any) -> None:
            @numba.njit  # without a cache, and anew in each call
            def first(x):  # type: ignore[no-untyped-def]
                return x[0]

            first(np.asarray(X))
            super().check(X, Y)

    X, Y = points()
    StructuredSVM(Compiles(3, 4), verbose=0).fit(X, Y)
    assert capsys.readouterr() == ("", f"{COMPILING}\n")
    StructuredSVM(Compiles(3, 4), verbose=1).fit(X, Y)
    said = capsys.readouterr()
    assert said.out.startswith("compiling, once: the code is kept for later runs\npass 1: ")
    assert said.err == ""


def test_compiling_is_told_to_the_outermost_listener_alone() -> None:
    told: list[str] = []
    for k in (1, 2):
        with on_compiling(lambda: told.append("outer")):
            with on_compiling(lambda: told.append("inner")):
                numba.njit(lambda x: x + 1)(k)
            numba.njit(lambda x: x + 2)(k)
    assert told == ["outer", "outer"]
