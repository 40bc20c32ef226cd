"""Configuration files and what is wrong with them, all at once.

A fault names the file and line, the key, its value, the nearest known key where that helps, and what
to do. Nothing stops at the first fault: `Faults` collects them, and `Faults.done` raises one error.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from structmargin.names import nearest
from structmargin_suite.storage.files import YAML

Key = tuple[str, ...]
Change = tuple[Key, object, object]
"""A key, its value in a config as written, and its value at a scale."""
MAX_LISTED = 16
"""Of more known names than this, a message lists only those most alike."""


class ConfigError(ValueError):
    """Every fault of a configuration, one per line."""


@dataclass
class Document:
    """A YAML file: its values, and the line of every key."""

    path: Path
    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[Key, int] = field(default_factory=dict)

    def line(self, key: Key) -> int | None:
        """The line of a key, or of the nearest key above it."""
        while key and key not in self.lines:
            key = key[:-1]
        return self.lines.get(key)


class Faults:
    """Faults found so far, in the order of files and lines."""

    def __init__(self) -> None:
        self.messages: dict[tuple[str, int, str], None] = {}

    def add(self, document: Document, key: Key, message: str, shown: Key | None = None) -> None:
        """One fault at a key; `shown` is how the key is called in the message, if otherwise."""
        line = document.line(key)
        name = ".".join(shown if shown is not None else key)
        self.messages[(str(document.path), line or 0, f"{name}: {message}" if name else message)] = None

    def done(self) -> None:
        """Raise if there is any fault."""
        if not self.messages:
            return
        count = len(self.messages)
        head = "1 problem in the configuration" if count == 1 else f"{count} problems in the configuration"
        lines = [
            f"{path}{f', line {line}' if line else ''}: {text}" for path, line, text in sorted(self.messages)
        ]
        raise ConfigError("\n".join([head + ":", *(f"  {line}" for line in lines)]))


class _Loader(YAML):  # type: ignore[misc, valid-type]
    """YAML's safe types; 1e-3 is read as a number."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def read(path: Path, faults: Faults) -> Document:
    """Read a YAML mapping; a missing file, broken syntax or a repeated key is a fault."""
    document = Document(path)
    try:
        loader = _Loader(path.read_text(encoding="utf-8"))
        node = loader.get_single_node()
    except FileNotFoundError:
        faults.add(document, (), "no such file; create it or take its name out of configs/suite.yaml")
        return document
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        document.lines[()] = mark.line + 1 if mark is not None else 1
        what = getattr(error, "problem", None) or str(error)
        faults.add(document, (), f"not valid YAML: {what}; check the indentation and quotes there")
        return document
    value = _build(loader, node, (), document, faults)
    if isinstance(value, dict):
        document.values = value
    else:
        faults.add(document, (), "the file must hold keys and values")
    return document


def _build(loader: _Loader, node: yaml.Node | None, path: Key, document: Document, faults: Faults) -> Any:
    """The value of a node, noting lines and repeated keys on the way."""
    if isinstance(node, yaml.MappingNode):
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            where = (*path, key)
            if key in result:
                document.lines[(*where, "again")] = key_node.start_mark.line + 1
                faults.add(document, (*where, "again"), "given twice; keep one", shown=where)
            document.lines[where] = key_node.start_mark.line + 1
            result[key] = _build(loader, value_node, where, document, faults)
        return result
    if isinstance(node, yaml.SequenceNode):
        items = []
        for position, item in enumerate(node.value):
            where = (*path, str(position))
            document.lines[where] = item.start_mark.line + 1
            items.append(_build(loader, item, where, document, faults))
        return items
    return None if node is None else loader.construct_object(node)


def validate(
    values: object,
    schema: Mapping[str, Any],
    document: Document,
    faults: Faults,
    where: Key = (),
    scale: str = "",
) -> None:
    """Check values against a JSON schema; faults point to `where` (and to the scale that set them)."""
    for error in Draft202012Validator(schema).iter_errors(values):
        path = (*where, *(str(step) for step in error.absolute_path))
        for key, message in _explain(error):
            place = (*path, *key)
            faults.add(document, located(document, place, scale), message, shown=place)


def repaired(values: object, schema: Mapping[str, Any]) -> Any:
    """A copy of the values without what a schema refuses: what is left can be checked further.

    An unknown key or a wrong value goes; where a required key is missing, what should hold it goes.
    """
    result: Any = copy.deepcopy(values)
    refused: set[tuple[Any, ...]] = set()
    for error in Draft202012Validator(schema).iter_errors(values):
        path = tuple(error.absolute_path)
        if error.validator == "additionalProperties":
            refused |= {
                (*path, key) for key in error.instance if key not in error.schema.get("properties", {})
            }
        elif path:
            refused.add(path)
    for path in sorted(refused, key=lambda path: (len(path), str(path)), reverse=True):
        holder = result
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = _REFUSED
    return _without_refused(result)


_REFUSED = object()


def _without_refused(value: object) -> Any:
    if isinstance(value, dict):
        return {key: _without_refused(item) for key, item in value.items() if item is not _REFUSED}
    if isinstance(value, list):
        return [_without_refused(item) for item in value if item is not _REFUSED]
    return value


def located(document: Document, key: Key, scale: str) -> Key:
    """Where a value stands: under the scale that overrides it, else at its own key."""
    override = ("scales", scale, *key)
    return override if scale and override in document.lines else key


def _explain(error: Any) -> Iterable[tuple[Key, str]]:
    """What a schema error says, as (key below the error's own, sentence)."""
    kind, rule, value = error.validator, error.validator_value, error.instance
    if kind == "additionalProperties":
        known = list(error.schema.get("properties", {}))
        for key in value:
            if key not in known:
                yield (key,), unknown(key, known, "key", value[key])
    elif kind == "required":
        for key in rule:
            if key not in value:
                yield (), f"the key {key!r} is missing; add it"
    elif kind == "type":
        kinds = [rule] if isinstance(rule, str) else list(rule)
        yield (), f"is {short(value)}, but must be {' or '.join(_KINDS[name] for name in kinds)}"
    elif kind == "enum":
        yield (), unknown(value, [str(item) for item in rule], "value")
    elif kind in _LIMITS:
        yield (), f"is {short(value)}, but must {_LIMITS[kind].format(rule)}"
    else:
        yield (), f"is {short(value)}: {error.message}"


_KINDS = {
    "object": "a mapping of keys",
    "array": "a list",
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}
_LIMITS = {
    "minimum": "be at least {}",
    "maximum": "be at most {}",
    "exclusiveMinimum": "be above {}",
    "exclusiveMaximum": "be below {}",
    "minItems": "hold at least {} item",
    "minProperties": "hold at least {} entry",
    "uniqueItems": "hold no item twice",
}


def unknown(name: object, known: Sequence[str], what: str, value: object = None) -> str:
    """The sentence for an unknown name: the nearest known name, and the names there are."""
    near = nearest(str(name), known)
    said = f" (its value is {short(value)})" if what == "key" else ""
    hint = f"the nearest known is {near[0]!r}; " if near else ""
    listed = ", ".join(known) or "none"
    if len(known) > MAX_LISTED:
        alike = nearest(str(name), known, n=4, cutoff=0.0)
        listed = f"{', '.join(alike)} or another of the {len(known)} there are"
    return f"unknown {what} {str(name)!r}{said}; {hint}use one of {listed}, or remove it"


def short(value: object) -> str:
    """A value, in at most some sixty characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def merged(base: object, override: object) -> Any:
    """`base` with the values of `override`: mappings key by key, everything else as a whole."""
    if isinstance(base, dict) and isinstance(override, dict):
        return {**base, **{key: merged(base.get(key), value) for key, value in override.items()}}
    return override


def changes(base: object, override: object, where: Key = ()) -> list[Change]:
    """(key, value in base, value in override) wherever an override says something else."""
    if isinstance(override, dict) and isinstance(base, dict):
        return [
            change
            for key, value in override.items()
            for change in changes(base.get(key), value, (*where, key))
        ]
    return [] if base == override else [(where, base, override)]
