"""Real configuration files with something wrong in them, as strategies of hypothesis.

Three kinds of damage: in the bytes (as a bad disk, another encoding or a stray key would do), in single
tokens (as somebody who does not know YAML well, or means harm, would write them), and in the structure.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from helpers.toy_project import HERE, TOY
from structmargin_suite.planning.config import ConfigError
from structmargin_suite.planning.plan import load

NAMES = ("toy", "toy", "toy", "theory", "ocr", "ner", "taxonomy", "localization", "suite")
"""Which files are damaged: the toy most often, since it is planned fastest."""
LINE = re.compile(
    r"^  \S.*?\.yaml, line [0-9]+: \S|^  \S.*?\.yaml: \S|^  and [0-9]+ more; correct these first$"
)

DEEP = 3000
HOSTILE_TOKENS = (
    ".nan", ".inf", "-.inf", "1e999", "-1e999", "1e-999", "0", "-1", "0.5", "1", "9" * 400, "9" * 5000, "010",
    "0x1f", "0b11", "12:30", "190:20:30.15", "2005-09-01", "2005-13-45", "2001-12-14t21:59:43.10-05:00", "~",
    "null", "yes", "NO", "''", "[]", "{}", "[[]]", "{a: {}}", "*nobody", "&a [*a, *a]", "&a {b: *a}", "<<",
    "=", "{<<: {a: 1}}", "!!python/object/apply:os.system [true]", "!!python/name:os.system", "!mine x",
    "!!binary aGk=", "!!set {a, b}", "!!omap [a: 1]", "!!int abc", "!!float abc", "!!bool maybe", "!!str 5",
    "!!timestamp 5", "!!null x", '"\\0"', '"\\ud800"', '"\\x1b[31m"', '"a\\nb"', "'../../x'", "/etc/passwd",
    "'c$(touch X)'", "'a; b'", "'-rf'", "'.hidden'", "'a b'", "con", "'x' * 3", "{[1, 2]: 3}", "{{a: b}: c}",
    "{? [a] : b}", "[1, 1]", "[1, x, null, {}]", "{a: 1, a: 2}", "1000000000", "[100000, 2]", "x" * 300,
    "'" + "y" * 30000 + "'", "[" * DEEP + "]" * DEEP, "{a: " * DEEP + "1" + "}" * DEEP, "|", ">-", "|2", "%a",
    "@a", "`a`", "? a", "- a", "a: b: c", "'", '"', "[", "}", "#", "---", "...", "\ufeff", "\u2028", "ä",
    "\U0001f600",
    "{name: Multiclass}", "{name: [Multiclass]}", "{name: Product}", "{name: Product, inner: {}}", "SVM1",
    "{option: C, among: [1], by: test_error}", "{option: C, among: [1], by: 'inner_{x.__class__}'}", "real",
)  # fmt: skip
HOSTILE_BYTES = (
    b"\0", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xe4", b"\xc0\x80", b"\xed\xa0\x80", b"\t",
    b"\r", b"\x1b", b"\x85", b"\n", b"\n\n---\n", b": ", b"- ", b"  ", b"*", b"&a ", b"!!", b"<<: ", b"? ",
    b"\\",
    b"'", b'"', b"#", b"{", b"[", b"]", b"}", b",", b"|", b">", b"%YAML 9.9\n", b"%TAG ! tag:x:\n",
)  # fmt: skip
LAUGHS = "a0: &a0 [lol, lol, lol]\n" + "".join(
    f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]\n" for k in range(1, 12)
)
"""A text of some hundred bytes that stands for a million million values."""


def text_of(name: str) -> str:
    """A real config as it is written."""
    if name == "toy":
        return yaml.safe_dump(TOY, sort_keys=False)
    return (HERE / "configs" / f"{name}.yaml").read_text(encoding="utf-8")


@st.composite
def mangled_bytes(draw: st.DrawFn) -> tuple[str, bytes]:
    """A config with some bytes replaced, inserted, taken out or repeated, or in another encoding."""
    name = draw(st.sampled_from(NAMES))
    data = text_of(name).encode()
    kind = draw(st.sampled_from(["cut", "encoded", "edited", "edited", "edited", "edited"]))
    if kind == "cut":
        return name, data[: draw(st.integers(0, len(data)))]
    if kind == "encoded":
        codec = draw(st.sampled_from(["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "cp500", "latin-1"]))
        return name, data.decode().encode(codec, errors="replace")
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(data)))
        length = draw(st.sampled_from([0, 0, 1, 2, 7, 60]))
        piece = draw(
            st.one_of(
                st.sampled_from(HOSTILE_BYTES), st.binary(max_size=4), st.just(data[place : place + 200])
            )
        )
        data = data[:place] + piece + data[place + length :]
    return name, data


@st.composite
def mangled_tokens(draw: st.DrawFn) -> tuple[str, bytes]:
    """A config in which words, numbers or whole values are replaced by others."""
    name = draw(st.sampled_from(NAMES))
    text = text_of(name)
    for _ in range(draw(st.integers(1, 3))):
        tokens = list(re.finditer(r"(?<=: )[^\n]+|[\w.+-]+|[\[\]{},:]", text))
        if not tokens:
            break
        token = draw(st.sampled_from(tokens))
        other = draw(st.one_of(st.sampled_from(HOSTILE_TOKENS), st.just(draw(st.sampled_from(tokens))[0])))
        text = text[: token.start()] + other + text[token.end() :]
    if draw(st.integers(0, 19)) == 0:
        text += LAUGHS
    return name, text.encode("utf-8", errors="surrogatepass")


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 300), st.floats(), st.text(max_size=6),
    st.sampled_from([10**6, 10**12, 2**64, -(10**30)]),
    st.sampled_from(["synthetic", "file", "../x", "margin", "C", "n_train", "repetition", "a;b"]),
)  # fmt: skip
LISTS = st.lists(SCALARS, max_size=4)
MAPPINGS = st.dictionaries(st.text(max_size=6), SCALARS | LISTS, max_size=3)
VALUES = st.one_of(SCALARS, SCALARS, LISTS, MAPPINGS, st.lists(LISTS | MAPPINGS, max_size=3))


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value below a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in inner for place in [(*path, key), *_places(item, (*path, key))]]


@st.composite
def mangled_structure(draw: st.DrawFn) -> tuple[str, bytes]:
    """A config in which values are replaced, taken out, renamed, moved or wrapped."""
    name = draw(st.sampled_from(NAMES))
    config = copy.deepcopy(yaml.safe_load(text_of(name)))
    for _ in range(draw(st.integers(1, 4))):
        places = _places(config)
        if not places:
            break
        *above, key = draw(st.sampled_from(places))
        holder = config
        for step in above:
            holder = holder[step]
        kind = draw(st.sampled_from(["replace", "replace", "remove", "rename", "move", "wrap", "add"]))
        if kind == "replace":
            holder[key] = draw(VALUES)
        elif kind == "remove":
            del holder[key]
        elif kind == "rename" and isinstance(holder, dict):
            holder[draw(st.one_of(st.text(max_size=8), st.sampled_from(HOSTILE_TOKENS[:60])))] = holder.pop(
                key
            )
        elif kind == "move":
            other = config
            for step in draw(st.sampled_from(places)):
                if isinstance(other, (dict, list)) and isinstance(other[step], (dict, list)):
                    other = other[step]
            moved = copy.deepcopy(holder[key])
            if isinstance(other, dict):
                other[str(key)] = moved
            else:
                other.append(moved)
        elif kind == "wrap":
            holder[key] = draw(st.sampled_from([[holder[key]], {"a": holder[key]}, [[holder[key]] * 2]]))
        elif isinstance(holder, dict):
            holder[draw(st.text(max_size=8))] = draw(VALUES)
    text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
    return name, text.encode("utf-8", errors="surrogatepass")


def sentences(root: Path, name: str, data: bytes) -> list[str]:
    """What a check says of a damaged config, one sentence for each fault; none where it has no fault.

    Raises whatever else comes out of the check; afterwards the folder is as it was.
    """
    suite = root / "configs" / "suite.yaml"
    whole = suite.read_bytes()
    path = root / "configs" / f"{name}.yaml"
    try:
        if name != "suite":
            suite.write_text(f"seed: 7\nscale: smoke\nexperiments: [{name}]\n")
        path.write_bytes(data)
        load(root)
    except ConfigError as error:
        head, *lines = str(error).split("\n")
        assert re.fullmatch(r"(1 problem|[0-9]+ problems) in the configuration:", head), head
        assert lines, "a head without faults"
        for line in lines:
            assert LINE.match(line) and len(line) < 2000, line[:300]
            assert line.isprintable(), ascii(line)
        return lines
    finally:
        path.unlink()
        suite.write_bytes(whole)
        (root / "configs" / "toy.yaml").write_text(text_of("toy"))
    return []
