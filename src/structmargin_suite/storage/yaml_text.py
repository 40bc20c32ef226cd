"""YAML as this project reads it: JSON's kinds of values in bounded numbers, each with its line.

YAML can say more than a config should: objects of any class, the same list a million times over by aliases,
numbers in base 60, dates, keys merged from elsewhere. Here a text is keys, lists, words, finite decimal
numbers, true, false and null; an alias stands for a copy. Everything else is a fault with its line, and all
faults of single values are found in one reading.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

from structmargin_suite.storage.errors import one_line

Key = tuple[str, ...]
MAX_BYTES = 256 * 1024
MAX_DEPTH = 20
MAX_VALUES = 10_000
"""Values with their copies by aliases; the largest config of the project has a tenth of them."""
MAX_ENTRIES = 500
"""Of one list or mapping."""
MAX_KEY = 100
MAX_TEXT = 10_000
LARGEST_INTEGER = 2**63 - 1

DECIMAL_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9_]*)")
DECIMAL = re.compile(r"[-+]?([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?")
OTHER_BASE = re.compile(r"[-+]?[0-9][0-9a-fA-Fxb_:.]*")
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that are no text."""
TAGS = "tag:yaml.org,2002:"
BOOLEANS = {"yes": True, "no": False, "true": True, "false": False, "on": True, "off": False}


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML's safe types by the compiled parser where there is one; 1e-3 and 1.5e3 are numbers too."""


Loader.add_implicit_resolver(
    f"{TAGS}float",
    re.compile(r"^[-+]?([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9][0-9_]*)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)


class Fault(NamedTuple):
    """Something that cannot be read: its line, the key it stands at, what it is and what to do.

    `whole` says whether the value of the key could be read all the same.
    """

    line: int
    key: Key
    message: str
    whole: bool = False


@dataclass
class Reading:
    """A text as values, the line of every key, and its faults.

    A value with a fault is None. `whole` is False where nothing could be read.
    """

    values: Any = None
    lines: dict[Key, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    whole: bool = False


class _Stop(Exception):
    """A fault after which nothing more is read."""

    def __init__(self, line: int, message: str, key: Key = ()) -> None:
        self.fault = Fault(line, key, message)


def nowhere(key: Key) -> bool:
    """The keys whose values may be infinite: none."""
    return False


def read_text(data: bytes, infinite: Callable[[Key], bool] = nowhere) -> Reading:
    """The values in the bytes of a YAML file; never raises. `infinite` says which keys may be .inf."""
    reading = Reading()
    try:
        text = _decoded(data)
        _check_events(text)
        node = Loader(text).get_single_node()
        reading.values = _Builder(reading, infinite).build(node, (), 0)
        reading.whole = True
    except _Stop as stop:
        reading.faults.append(stop.fault)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = one_line(getattr(error, "problem", None) or error)
        line = mark.line + 1 if mark is not None else 1
        reading.faults.append(
            Fault(line, (), f"not valid YAML: {what}; check the indentation and quotes there")
        )
    return reading


def _decoded(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise _Stop(1, f"the file has {len(data)} bytes; use at most {MAX_BYTES}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        coding = "UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "in another encoding"
        line = data.count(b"\n", 0, error.start) + 1
        raise _Stop(line, f"the file is not UTF-8 but {coding}, or damaged there; save it as UTF-8") from None
    wrong = CONTROL.search(text)
    if wrong:
        raise _Stop(text.count("\n", 0, wrong.start()) + 1, f"the file {_no_text(wrong[0])}")
    return text


def _no_text(character: str) -> str:
    return f"holds the character U+{ord(character):04X}, which is no text; remove it"


def _check_events(text: str) -> None:
    """Raise where a text is nested too deeply to be read at all: parsers recurse."""
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        line = event.start_mark.line + 1
        if depth > MAX_DEPTH:
            raise _Stop(line, f"values are nested more than {MAX_DEPTH} deep; write them flatter")
        if count > 4 * MAX_VALUES:
            raise _Stop(line, _too_many())


def _too_many() -> str:
    return f"the file holds more than {MAX_VALUES} values, copies by aliases included; use fewer"


class _Builder:
    """Nodes of a text on their way to values; lines and faults go to the reading."""

    def __init__(self, reading: Reading, infinite: Callable[[Key], bool]) -> None:
        self.reading, self.infinite = reading, infinite
        self.count = 0

    def fault(self, node: yaml.Node, key: Key, message: str, whole: bool = False) -> None:
        self.reading.faults.append(Fault(node.start_mark.line + 1, key, message, whole))

    def build(self, node: yaml.Node | None, path: Key, depth: int) -> Any:
        """The value of a node; of one with a fault, what is left of it."""
        if node is None:
            return None
        line = node.start_mark.line + 1
        self.count += 1
        if self.count > MAX_VALUES:
            raise _Stop(line, _too_many())
        if depth > MAX_DEPTH:  # an alias inside its own anchor
            raise _Stop(line, f"values are nested more than {MAX_DEPTH} deep; write them flatter", path)
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node, path)
        expected = "map" if isinstance(node, yaml.MappingNode) else "seq"
        if node.tag != TAGS + expected:
            self.fault(node, path, _tagged(node))
            return None
        if len(node.value) > MAX_ENTRIES:
            raise _Stop(line, f"holds {len(node.value)} entries; use at most {MAX_ENTRIES}", path)
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path, depth)
        items = []
        for position, item in enumerate(node.value):
            where = (*path, str(position))
            self.reading.lines[where] = item.start_mark.line + 1
            items.append(self.build(item, where, depth + 1))
        return items

    def mapping(self, node: yaml.MappingNode, path: Key, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self.key(key_node, path)
            if key is None:
                continue
            where = (*path, key)
            if key in result:
                self.fault(key_node, where, "given twice; keep one", whole=True)
                continue
            self.reading.lines[where] = key_node.start_mark.line + 1
            result[key] = self.build(value_node, where, depth + 1)
        return result

    def key(self, node: yaml.Node, path: Key) -> str | None:
        """The text of a key as it is written; None where it cannot be one."""
        if not isinstance(node, yaml.ScalarNode):
            self.fault(
                node, path, "a key must be a word, but here it is a list or a mapping; check the colons", True
            )
            return None
        if node.tag == f"{TAGS}merge":
            self.fault(node, path, "keys are not merged by '<<' here; write them out", True)
            return None
        if not node.tag.startswith(TAGS) or "python/" in node.tag:
            self.fault(node, path, _tagged(node), True)
            return None
        key = str(node.value)
        if len(key) > MAX_KEY or not key.isprintable():
            what = one_line(key, 40)
            self.fault(
                node, path, f"the key '{what}' is longer than {MAX_KEY} characters or not printable", True
            )
            return None
        return key

    def scalar(self, node: yaml.ScalarNode, path: Key) -> Any:
        """A word, a number, a truth value or null."""
        text, kind = str(node.value), node.tag.removeprefix(TAGS)
        if kind == "str":
            if len(text) > MAX_TEXT:
                self.fault(node, path, f"is a text of {len(text)} characters; use at most {MAX_TEXT}")
            elif wrong := CONTROL.search(text):
                self.fault(node, path, _no_text(wrong[0]))
            else:
                return text
            return None
        if kind == "null" and text.lower() in ("", "~", "null"):
            return None
        if kind == "bool" and text.lower() in BOOLEANS:
            return BOOLEANS[text.lower()]
        if kind in ("int", "float"):
            return self.number(node, path, text, kind)
        said = one_line(text, 40)
        if kind == "timestamp":
            self.fault(node, path, f"YAML reads {said} as a date; put it in quotes if it is a text")
        elif kind in ("merge", "value"):
            self.fault(node, path, f"{said} has a meaning of its own in YAML; put it in quotes")
        else:
            self.fault(node, path, _tagged(node))
        return None

    def number(self, node: yaml.ScalarNode, path: Key, text: str, kind: str) -> int | float | None:
        """A decimal number that is finite."""
        short = len(text) <= MAX_KEY
        if kind == "int" and short and DECIMAL_INTEGER.fullmatch(text):
            whole = int(text.replace("_", ""))
            if abs(whole) <= LARGEST_INTEGER:
                return whole
        elif kind == "float" and short and DECIMAL.fullmatch(text):
            number = float(text.replace("_", ""))
            if math.isfinite(number):
                return number
        elif text.lower() in (".inf", "+.inf") and self.infinite(path):
            return math.inf
        elif short and OTHER_BASE.fullmatch(text):
            remedy = (
                "write it in decimal, without leading zeros or colons, or put it in quotes if it is a text"
            )
            self.fault(node, path, f"YAML reads {text} as a number in another base; {remedy}")
            return None
        elif short and text.lower().lstrip("+-") not in (".nan", ".inf"):
            self.fault(node, path, _tagged(node))
            return None
        said = f"is {one_line(text, 40)}, but must be a finite number"
        self.fault(node, path, said if kind == "float" else f"{said} below 2^63")
        return None


def _tagged(node: yaml.Node) -> str:
    tag = one_line(str(node.tag).replace(TAGS, "!!"), 60)
    return f"the tag {tag} is not read here; remove it and write the value as text, a number, a list or keys"
