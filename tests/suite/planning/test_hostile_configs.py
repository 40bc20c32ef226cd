"""Whatever stands in a config: a plan, or every fault as a sentence with its file and line, within bounds.

Each kind of damage by itself first, then real configs damaged at random. `make test-long` tries ten thousand
(STRUCTMARGIN_CASES says how many).
"""

from __future__ import annotations

import copy
import os
import re

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.limits import TooLongError, bounded
from helpers.mangled_configs import (
    DEEP,
    LAUGHS,
    NAMES,
    mangled_bytes,
    mangled_structure,
    mangled_tokens,
    sentences,
    text_of,
)
from helpers.toy_project import TOY, project, write_config
from structmargin_suite.cli import main
from structmargin_suite.planning.plan import load
from structmargin_suite.planning.studies import MAX_RUNS

CASES = int(os.environ.get("STRUCTMARGIN_CASES", "180"))
TOY_TEXT = text_of("toy")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    made = project(tmp_path_factory.mktemp("configs"))
    load(made)  # so that what is imported once does not count
    return made


@pytest.mark.parametrize("kind", [mangled_bytes, mangled_tokens, mangled_structure])
def test_damaged_configs_are_planned_or_refused_in_sentences(root, kind):
    refused = []

    @settings(max_examples=max(CASES // 3, 1), database=None)
    @given(kind())
    def check(case):
        with bounded(cpu_seconds=60.0):
            refused.append(bool(sentences(root, *case)))

    check()
    assert sum(refused) > len(refused) / 2, "most of these are not configs"


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"suite"}))
def test_undamaged_they_have_no_fault(root, name):
    assert sentences(root, name, text_of(name).encode()) == []
    assert sentences(root, name, b"\xef\xbb\xbf" + text_of(name).encode()) == [], "a BOM is no fault"


def test_the_largest_plan_that_is_allowed_takes_seconds(root):
    """Two runs for each repetition, at all three scales; with one repetition more they are refused."""
    config = {
        **TOY,
        "methods": {"margin": TOY["methods"]["margin"]},
        "studies": {"sizes": TOY["studies"]["sizes"]},
        "tables": {"toy": TOY["tables"]["toy"]},
        "scales": {"smoke": {}, "standard": {}, "paper": {}},
    }
    for repetitions, refused in ((MAX_RUNS // 2, 0), (MAX_RUNS // 2 + 1, 1)):
        config["repetitions"] = repetitions
        with bounded(cpu_seconds=60.0):  # some seconds on a usual machine, several times that on a slow one
            said = sentences(root, "toy", yaml.safe_dump(config, sort_keys=False).encode())
        assert (
            sum(f"let fewer values vary: at most {MAX_RUNS}" in line for line in said) == len(said) == refused
        )


NUMBERS = {
    "C: 1.0": "methods.margin.C",
    "eps: 0.1": "methods.margin.eps",
    "scatter: 1.0": "data.clusters.scatter",
    "repetitions: 2": "repetitions",
}


def at(text: str, old: str, new: str) -> tuple[str, int]:
    """The text with its first `old` replaced, and the line where that is."""
    assert old in text
    return text.replace(old, new, 1), text[: text.index(old)].count("\n") + 1


@pytest.mark.parametrize("value", [".nan", ".NaN", ".inf", "-.inf", "1e999", "-1.5e400", "9" * 5000])
@pytest.mark.parametrize(("place", "key"), NUMBERS.items())
def test_numbers_are_finite_everywhere(root, place, key, value):
    text, line = at(TOY_TEXT, place, f"{place.split(':')[0]}: {value}")
    (said,) = sentences(root, "toy", text.encode())
    assert f"toy.yaml, line {line}: {key}: is {value[:30]}" in said and "must be a finite number" in said


def test_faults_of_numbers_come_with_all_the_others(root):
    text = TOY_TEXT
    for old, new in (
        ("C: 1.0", "C: .nan"), ("scatter: 1.0", "scatter: .inf"), ("paper: jmlr05", "paper: jmlr06"),
        ("title: A toy", "title: 2005-09-01"), ("C_per_example: 0.5", "C_per_example: -1"),
        ("siblings: 2", "siblings: 0x2"), ("study: sizes", "study: sises"),
        ("pool: 40", "pool: 40\n    pool: 41"),
    ):  # fmt: skip
        text, _ = at(text, old, new)
    lines = sentences(root, "toy", text.encode())
    said = "\n".join(lines)
    assert len(lines) == 8, said
    for key in (
        "methods.margin.C: is .nan", "data.clusters.scatter: is .inf", "paper: unknown value 'jmlr06'",
        "title: YAML reads 2005-09-01 as a date", "methods.any.C_per_example: is -1", "pool: given twice",
        "data.clusters.siblings: YAML reads 0x2 as a number in another base", "unknown value 'sises'",
    ):  # fmt: skip
        assert sum(key in line for line in lines) == 1, (key, said)
    numbers = [int(re.search(r"line (\d+):", line)[1]) for line in lines]
    assert numbers == sorted(numbers) and len(set(numbers)) == 8


@pytest.mark.parametrize("old", ["repetitions: 2", "pool: 40", "n_classes: 3"])
def test_a_number_with_a_point_counts_nothing(root, old):
    text, line = at(TOY_TEXT, old, f"{old}.0")
    (said,) = sentences(root, "toy", text.encode())
    assert f"line {line}: " in said and f"is {old.split()[1]}.0, but must be a whole number" in said
    text, _ = at(TOY_TEXT, "n_train:\n      - 12\n      - 24\n", "n_train: 12.0\n")
    (said,) = sentences(root, "toy", text.encode())
    assert "studies.sizes.vary.n_train: is 12.0, but must be a list or a whole number" in said


def test_only_a_model_that_takes_it_has_an_infinite_penalty(root):
    """`C: .inf` is how a config asks JKSE's binary trainer for no slack."""
    assert "    C: .inf\n" in text_of("ocr") and sentences(root, "ocr", text_of("ocr").encode()) == []
    wrong, _ = at(
        text_of("ocr"), "    trainer: binary\n    C: .inf\n", "    trainer: one_class\n    C: .inf\n"
    )
    (said,) = sentences(root, "ocr", wrong.encode())
    assert "methods.binary without slack.C: is .inf, but must be a finite number" in said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("!!python/object/apply:os.system [true]", "the tag !!python/object/apply:os.system is not read"),
        ("!mine x", "the tag !mine is not read here"),
        ("!!binary aGk=", "the tag !!binary is not read here"),
        ("!!set {a, b}", "the tag !!set is not read here"),
        ("!!float abc", "the tag !!float is not read here"),
        ("!!bool maybe", "the tag !!bool is not read here"),
        ("2005-13-45", "YAML reads 2005-13-45 as a date; put it in quotes"),
        ("2001-12-14t21:59:43.10-05:00", "as a date; put it in quotes"),
        ("12:30", "YAML reads 12:30 as a number in another base"),
        ("190:20:30.15", "YAML reads 190:20:30.15 as a number in another base"),
        ("010", "YAML reads 010 as a number in another base"),
        ("=", "= has a meaning of its own in YAML; put it in quotes"),
        ("{<<: {a: 1}}", "keys are not merged by '<<' here; write them out"),
        ("{[1, 2]: 3}", "a key must be a word"),
        ("{? {a: b} : c}", "a key must be a word"),
        ('"a\\0b"', "holds the character U+0000, which is no text; remove it"),
        ('"a\\x1b[31m"', "holds the character U+001B"),
        ("'" + "y" * 10_001 + "'", "is a text of 10001 characters; use at most 10000"),
        ("{" + "k" * 101 + ": 1}", "is longer than 100 characters"),
        ("[" * DEEP + "]" * DEEP, "values are nested more than 20 deep; write them flatter"),
        ("&a [*a]", "values are nested more than 20 deep; write them flatter"),
        ("[" + ", ".join(map(str, range(501))) + "]", "holds 501 entries; use at most 500"),
        ("*nobody", "not valid YAML: found undefined alias"),
        ("[", "not valid YAML"),
    ],
)  # fmt: skip
def test_what_yaml_can_say_and_a_config_cannot_is_a_fault_at_its_line(root, value, said):
    text, line = at(TOY_TEXT, "about: Clusters.", f"about: {value}")
    found = [each for each in sentences(root, "toy", text.encode()) if said in each]
    assert len(found) == 1, sentences(root, "toy", text.encode())
    assert f"toy.yaml, line {line}: " in found[0] or value == "["


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "the file is empty; it must hold keys and values"),
        (b"# only a comment\n", "the file is empty"),
        (b"- a\n- b\n", "the file holds no keys"),
        (b"just a word", "the file holds no keys"),
        (TOY_TEXT.encode("utf-16"), "the file is not UTF-8 but UTF-16"),
        (TOY_TEXT.encode("utf-16-be"), "the file holds the character U+0000"),
        (TOY_TEXT.replace("A toy", "Ein Spaß").encode("latin-1"), "line 1: the file is not UTF-8"),
        (TOY_TEXT.encode().replace(b"where", b"whe\0re"), "line 3: the file holds the character U+0000"),
        (TOY_TEXT.encode() + b"\n---\na: 1\n", "not valid YAML: but found another document"),
        (TOY_TEXT.encode() + b"#" * 300_000, "the file has 301559 bytes, more than the 262144 allowed"),
        (b"a: [" + b"1, " * 50_000 + b"]", "the file holds more than 10000 values"),
        (LAUGHS.encode(), "the file holds more than 10000 values, copies by aliases included"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_config_is_one_sentence(root, data, said):
    with bounded():
        (line,) = sentences(root, "toy", data)
    assert re.sub("has [0-9]+ bytes", "has 301559 bytes", said) in re.sub(
        "has [0-9]+ bytes", "has 301559 bytes", line
    )
    assert "toy.yaml" in line


@pytest.mark.parametrize("name", ["toy", "suite"])
def test_a_folder_a_pipe_and_an_unreadable_file_are_one_sentence(tmp_path, name, monkeypatch, capsys):
    root = project(tmp_path)
    path = root / "configs" / f"{name}.yaml"
    whole = path.read_bytes()
    makers = {
        "folder": path.mkdir,
        "device": lambda: os.mkfifo(path),
        "no such file": lambda: None,
        "cannot be read": lambda: path.symlink_to(path),  # as any other refusal of the system
    }
    for said, make in makers.items():
        path.unlink(missing_ok=True)
        make()
        assert main(["--root", str(root), "check"]) == 1
        output = capsys.readouterr().err.splitlines()
        assert (said in output[-1] or name == "suite") and len(output) == (2 if name == "toy" else 1), output
        assert "suite.yaml" in output[-1] if name == "suite" else "toy.yaml" in output[-1]
        path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
    path.write_bytes(whole)
    assert main(["--root", str(root), "check"]) == 0


def test_an_alias_is_a_copy(root):
    text, _ = at(TOY_TEXT, "methods:\n    - margin\n", "methods: &some\n    - margin\n    - hard\n")
    text, _ = at(text, "methods:\n    - hard\n", "methods: *some\n")
    said = sentences(root, "toy", text.encode())
    assert said == [], said


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["studies"]["sizes"]["vary"].update(n_train=10**18),
        lambda c: c.update(repetitions=10**12),
        lambda c: c["studies"]["sizes"].update(vary={f"n_{k}": list(range(100)) for k in range(9)}),
    ],
)
def test_more_runs_than_can_be_planned_are_refused_before_they_are_listed(root, change):
    config = copy.deepcopy(TOY)
    change(config)
    write_config(root, config)
    with (
        bounded(cpu_seconds=60.0),
        pytest.raises(ValueError, match=f"runs; let fewer values vary: at most {MAX_RUNS}"),
    ):
        load(root)
    write_config(root, TOY)


def test_long_lists_of_anything_are_compared_in_time(root):
    """Whether an item stands twice in a list takes a number of comparisons that grows with its square."""
    config = copy.deepcopy(TOY)
    config["studies"]["sizes"]["vary"]["n_train"] = [{"a": k} if k % 2 else [k] for k in range(500)]
    write_config(root, config)
    with bounded(cpu_seconds=15.0), pytest.raises(ValueError, match="500 problems in the configuration"):
        load(root)
    write_config(root, TOY)


def test_many_faults_are_counted_and_the_first_listed(root):
    text = "".join(f"unknown{k}: 1\n" for k in range(450)) + TOY_TEXT
    with bounded(cpu_seconds=20.0):
        lines = sentences(root, "toy", text.encode())
    assert len(lines) == 41 and lines[-1] == "  and 410 more; correct these first"


def test_the_guard_itself_ends_loops_and_floods():
    with pytest.raises(TooLongError), bounded(cpu_seconds=0.05):
        while True:
            pass
    with pytest.raises(MemoryError), bounded(more_bytes=2**26):
        bytearray(2**28)


@settings(max_examples=60)
@given(st.text(max_size=30))
def test_any_text_in_quotes_is_read_as_it_stands_or_refused(text):
    from structmargin_suite.storage.yaml_text import CONTROL, read_text

    escaped = "".join(
        each if each.isascii() and each.isprintable() and each not in '"\\' else f"\\U{ord(each):08x}"
        for each in text
    )
    reading = read_text(f'about: "{escaped}"'.encode())
    if CONTROL.search(text):
        assert [fault.line for fault in reading.faults] == [1]
    else:
        assert reading.values == {"about": text} and not reading.faults
