"""Write README.md from the results of the last runs: machine, where we lose, one section per benchmark."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ledger import HERE, RESULTS, read

Table = dict[str, Any]
INTRODUCTION = """# Benchmarks

Written by `make bench` from the last run of each benchmark; not to be edited by hand. `make bench ONLY=ocr` runs one
benchmark and renews its section, `make bench ONLY="measures core"` two of them. Each section says when it was run,
at which commit (with a plus sign: and changes not committed), and the load of the machine (how many processes wanted
a core in the minute before).

All seconds are CPU seconds of one thread, code compiled beforehand. "times" is a peer's seconds over ours at the same
relative gap, so that below 1 the peer is faster. A peer's gap is our primal objective of its model over our best
certified dual bound: no program judges itself. Peak memory is that of a process of its own; "grew" is how much the
training added to library and data. A peer that is not on the machine has a row that says so:

| peer | how it is found |
|---|---|
| LinearSVC, SVC, OneClassSVM, CRFsuite, nltk, Biopython | in `requirements.lock` |
| parasail | in `requirements-bench.txt`, which `make bench` installs if there is a wheel |
| SVM-hmm, SVM-perf 3.00 | `STRUCTMARGIN_SVM_HMM` and `STRUCTMARGIN_SVM_PERF` name the folders of their programs |
| pystruct, dlib | imported, or `STRUCTMARGIN_PYSTRUCT` and `STRUCTMARGIN_DLIB` name a Python that imports them |

Real data are taken from the folder `STRUCTMARGIN_DATA`. `STRUCTMARGIN_BENCH_LONG=1` adds the long runs of growth (64,000
sequences with heavy tokens)."""  # noqa: E501


def number(value: Any) -> str:
    """A cell: three significant digits, no exponents between 0.001 and a million."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value).replace("|", "\\|").replace("\n", " ")
    if isinstance(value, int):
        return f"{value:,}"
    if not math.isfinite(value):
        return ""
    if value == 0.0:
        return "0"
    if 1e-3 <= abs(value) < 1e6:
        digits = max(0, 2 - math.floor(math.log10(abs(value))))
        return f"{value:,.{digits}f}"
    return f"{value:.1e}"


def markdown(table: Table) -> str:
    """One table with its title, text and figure."""
    columns = table["columns"]
    lines = [f"### {table['title']}", ""]
    if table["text"]:
        lines += [table["text"], ""]
    lines += ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(number(row.get(name)) for name in columns) + " |" for row in table["rows"]]
    if "figure" in table:
        lines += ["", f"![{table['figure']['caption']}](figures/{table['figure']['file']})"]
    return "\n".join(lines)


def losses(tables: list[Table]) -> Iterator[str]:
    """A sentence for every row in which a peer is faster."""
    for table in tables:
        for row in table["rows"]:
            times = row.get("times")
            if times is not None and times < 1.0:
                gap = row.get("relative gap")
                at = "" if gap is None else f" at a relative gap of {number(gap)}"
                asked = f" ({row['asked for']})" if row.get("asked for") else ""
                case = ", ".join(str(row[key]) for key in table["case"] if key in row)
                yield (
                    f"- {table['title']}{f' ({case})' if case else ''}: {row['program']}{asked} takes "
                    f"{number(times)} of our time{at}."
                )


def heavier(tables: list[Table]) -> Iterator[str]:
    """A sentence for every table in which a peer's whole process is smaller than our smallest."""
    for table in tables:
        peaks: dict[str, list[float]] = {}
        for row in table["rows"]:
            if row.get("peak MB") and row.get("program"):
                name = "ours" if row["program"].startswith("ours") else row["program"]
                peaks.setdefault(name, []).append(row["peak MB"])
        ours = min(peaks.pop("ours", [0.0]))
        for name, peak in peaks.items():
            if max(peak) < ours:
                yield f"- {table['title']}: {name} {number(max(peak))} MB, ours {number(ours)} MB at least."


def run_of(name: str, run: dict[str, Any]) -> str:
    """When a benchmark was run, in one sentence."""
    at = f", commit {run['commit']}" if run["commit"] else ""
    return (
        f"`make bench ONLY={name}`, begun {run['began']} UTC, {run['minutes']:.1f} minutes{at}; load before "
        f"{run['load before']:.1f}, after {run['load after']:.1f}."
    )


def runs(results: dict[str, list[Table]]) -> str:
    """How many benchmarks were run from when to when, and how long they took together."""
    each = [several[0]["run"] for several in results.values()]
    first, last = min(run["began"] for run in each), max(run["began"] for run in each)
    minutes = sum(run["minutes"] for run in each)
    return (
        f"{len(each)} benchmarks, the first begun {first} and the last {last} UTC; "
        f"{minutes:.1f} minutes of measuring together."
    )


def text(results: dict[str, list[Table]], unmeasured: list[str]) -> str:
    """The whole document; `unmeasured` are the benchmarks without results."""
    if not results:
        raise SystemExit("There are no results: run make bench")
    tables = [table for several in results.values() for table in several]
    latest = max(tables, key=lambda table: table["run"]["began"])
    machine = ", ".join(f"{name} {value}" for name, value in latest["machine"].items())
    parts = [INTRODUCTION, f"## Machine\n\n{machine}.\n\n{runs(results)}"]
    slower = list(losses(tables)) or ["In the benchmarks below no peer was faster."]
    parts.append("\n".join(["## Where we lose", "", *slower]))
    missing = {
        row["program"]: row["note"]
        for table in tables
        for row in table["rows"]
        if str(row.get("note", "")).startswith("not there")
    }
    if missing:
        parts.append(
            "Not measured, so that nothing is known: "
            + "; ".join(f"{n} ({why})" for n, why in missing.items())
            + "."
        )
    if unmeasured:
        parts.append(f"Not run, so that nothing is known of their tasks: {', '.join(unmeasured)}.")
    memory = list(heavier(tables))
    if memory:
        parts.append(
            "Memory of the whole process, of which Python, numba and compiled code are most:\n\n"
            + "\n".join(memory)
        )
    for name, several in results.items():
        parts.append(f"## {name}\n\n{run_of(name, several[0]['run'])}")
        parts += [markdown(table) for table in several]
    return "\n\n".join(parts) + "\n"


def main(results: Path = RESULTS, readme: Path = HERE / "README.md") -> None:
    """Write the document."""
    measured = read(results)
    names = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    readme.write_text(text(measured, [name for name in names if name not in measured]), encoding="utf-8")


if __name__ == "__main__":
    main()
