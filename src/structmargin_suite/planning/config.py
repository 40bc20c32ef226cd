"""Configuration files and what is wrong with them, all at once.

A fault names the file and line, the key, its value, the nearest known key where that helps, and what
to do. Nothing stops at the first fault: `Faults` collects them, and `Faults.done` raises one error.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, validators

from structmargin.names import nearest
from structmargin_suite.storage.errors import DamagedFile, one_line
from structmargin_suite.storage.files import read_bytes
from structmargin_suite.storage.names import file_name_fault, label_fault, title_fault
from structmargin_suite.storage.yaml_text import MAX_BYTES, MAX_KEY, Key, read_text

Change = tuple[Key, object, object]
"""A key, its value in a config as written, and its value at a scale."""
MAX_LISTED = 16
"""Of more known names than this, a message lists only those most alike."""
MAX_FAULTS = 40
"""Of more faults than this, the first are listed and the others counted."""
MAX_MESSAGE = 1200

FORMATS = {"file name": file_name_fault, "title": title_fault, "label": label_fault}
"""What `format` in a schema may ask of a text: functions that say what is wrong with it."""
_FORMAT_CHECKER = FormatChecker(formats=())
for _name, _fault in FORMATS.items():
    _FORMAT_CHECKER.checks(_name)(lambda text, fault=_fault: not isinstance(text, str) or fault(text) is None)
_Validator = validators.extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)
"""JSON Schema's validator, for which 2.0 is not a whole number: nothing counts to it."""


class ConfigError(ValueError):
    """Every fault of a configuration, one per line."""


@dataclass
class Document:
    """A YAML file: its values, the line of every key, and the keys whose values could not be read.

    `whole` is False where nothing of it could be read. A variant (planning/variants.py) has `inherited` keys,
    which stand in another file, `base`.
    """

    path: Path
    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[Key, int] = field(default_factory=dict)
    refused: set[Key] = field(default_factory=set)
    whole: bool = False
    base: Path | None = None
    inherited: frozenset[Key] = frozenset()

    def place(self, key: Key) -> tuple[Path, int | None]:
        """The file and the line of a key, or of the nearest key above it."""
        while key and key not in self.lines:
            key = key[:-1]
        path = self.base if self.base is not None and key in self.inherited else self.path
        return path, self.lines.get(key)


class Faults:
    """Faults found so far, in the order of files and lines."""

    def __init__(self) -> None:
        self.messages: dict[tuple[str, int, str], None] = {}

    def add(
        self, document: Document, key: Key, message: str, shown: Key | None = None, line: int | None = None
    ) -> None:
        """One fault at a key; `shown` is how the key is called in the message, if otherwise."""
        path, known = document.place(key) if line is None else (document.path, line)
        name = ".".join(shown if shown is not None else key)
        text = one_line(f"{name}: {message}" if name else message, MAX_MESSAGE)
        self.messages[(str(path), known or 0, text)] = None

    def done(self) -> None:
        """Raise if there is any fault."""
        if not self.messages:
            return
        count = len(self.messages)
        head = "1 problem in the configuration" if count == 1 else f"{count} problems in the configuration"
        lines = [
            f"{path}{f', line {line}' if line else ''}: {text}" for path, line, text in sorted(self.messages)
        ]
        if count > MAX_FAULTS:
            lines = [*lines[:MAX_FAULTS], f"and {count - MAX_FAULTS} more; correct these first"]
        raise ConfigError("\n".join([head + ":", *(f"  {line}" for line in lines)]))


def _is_penalty(key: Key) -> bool:
    """Whether a key is the C of a method: infinite where no slack is allowed, for the models that take it."""
    return key[-1:] == ("C",) and key[-3:-2] == ("methods",)


def read(path: Path, faults: Faults) -> Document:
    """Read a YAML mapping; a missing or foreign file, broken syntax or a value that is none is a fault."""
    document = Document(path)
    try:
        reading = read_text(read_bytes(path, MAX_BYTES), infinite=_is_penalty)
    except FileNotFoundError:
        faults.add(document, (), "no such file; create it or take its name out of configs/suite.yaml")
        return document
    except DamagedFile as error:
        faults.add(document, (), error.what)
        return document
    except OSError as error:
        faults.add(document, (), f"cannot be read ({error.strerror}); correct its name or its permissions")
        return document
    document.lines = reading.lines
    for fault in reading.faults:
        faults.add(document, fault.key, fault.message, line=fault.line)
        document.refused |= set() if fault.whole else {fault.key}
    if isinstance(reading.values, dict):
        document.values, document.whole = reading.values, reading.whole
    elif reading.whole and not reading.faults:
        what = "is empty" if reading.values is None else "holds no keys"
        faults.add(document, (), f"the file {what}; it must hold keys and values", line=1)
    return document


def validate(
    values: object,
    schema: Mapping[str, Any],
    document: Document,
    faults: Faults,
    where: Key = (),
    scale: str = "",
) -> None:
    """Check values against a JSON schema; faults point to `where` (and to the scale that set them)."""
    for error in _errors(values, schema):
        path = (*where, *(str(step) for step in error.absolute_path))
        for key, message in _explain(error):
            place = located(document, (*path, *key), scale)
            if not _known_as_refused(document, place, error.validator):
                faults.add(document, place, message, shown=(*path, *key))


def _errors(values: object, schema: Mapping[str, Any]) -> Iterator[Any]:
    return _Validator(schema, format_checker=_FORMAT_CHECKER).iter_errors(values)


def _known_as_refused(document: Document, place: Key, validator: str) -> bool:
    """Whether an error follows from a value that could not be read, which is a fault already."""
    if validator == "uniqueItems":
        return any(key[: len(place)] == place for key in document.refused)
    return any(place[: len(key)] == key for key in document.refused if key)


def repaired(values: object, schema: Mapping[str, Any], document: Document, scale: str = "") -> Any:
    """A copy of the values without what a schema refuses: what is left can be checked further.

    An unknown key or a wrong value goes; where a required key is missing, what should hold it goes. Removing
    may leave less than the schema asks for, so it is repeated until nothing is refused.
    """
    result: Any = copy.deepcopy(values)
    refused: set[tuple[Any, ...]] = {
        place for place in _places(values) if located(document, _named(place), scale) in document.refused
    }
    while True:
        for error in _errors(result, schema):
            path = tuple(error.absolute_path)
            if error.validator == "additionalProperties":
                refused |= {
                    (*path, key) for key in error.instance if key not in error.schema.get("properties", {})
                }
            elif _is_about_a_key(error):
                refused.add((*path, error.instance))
            elif path:
                refused.add(path)
        if not refused:
            return result
        for path in sorted(refused, key=lambda path: (len(path), str(path)), reverse=True):
            holder = result
            for step in path[:-1]:
                holder = holder[step]
            holder[path[-1]] = _REFUSED
        result = _without_refused(result)
        refused = set()


def _places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value below a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in inner:
        yield (*path, step)
        yield from _places(item, (*path, step))


def _named(path: tuple[Any, ...]) -> Key:
    return tuple(str(step) for step in path)


def _is_about_a_key(error: Any) -> bool:
    """Whether an error of a schema is about the name of a key, not about its value."""
    return "propertyNames" in error.relative_schema_path


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
    elif kind == "format":
        yield ((value,) if _is_about_a_key(error) else ()), f"{short(value)} {FORMATS[rule](value)}"
    elif kind == "type":
        kinds = [rule] if isinstance(rule, str) else list(rule)
        yield (), f"is {short(value)}, but must be {' or '.join(_KINDS[name] for name in kinds)}"
    elif kind == "enum":
        yield (), unknown(value, [str(item) for item in rule], "value")
    elif kind in _LIMITS:
        yield (), f"is {short(value)}, but must {_LIMITS[kind].format(rule)}"
    else:
        yield (), f"is {short(value)}, which does not fit the schema ({kind}: {short(rule)}); correct it"


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
    near = nearest(str(name)[:MAX_KEY], known)
    said = f" (its value is {short(value)})" if what == "key" else ""
    hint = f"the nearest known is {near[0]!r}; " if near else ""
    listed = ", ".join(known) or "none"
    if len(known) > MAX_LISTED:
        alike = nearest(str(name)[:MAX_KEY], known, n=4, cutoff=0.0)
        listed = f"{', '.join(alike)}, among others"  # no number: it may differ between scales
    return f"unknown {what} {short(str(name))}{said}; {hint}use one of {listed}"


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
