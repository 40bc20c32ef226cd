"""Values compared with what a function or class says of its arguments: numbers, texts, booleans, None.

Only annotations made of these are looked at, such as `float | None`. What else an argument may be, its own
class has to check.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from structmargin.archive.errors import ModelFileError, short


def _whole(value: Any) -> bool:
    return type(value) is int and abs(value) < 2**63


PLAIN: dict[str, Any] = {
    "int": _whole,
    "float": lambda value: _whole(value) or (type(value) is float and not math.isnan(value)),
    "bool": lambda value: type(value) is bool,
    "str": lambda value: type(value) is str,
    "None": lambda value: value is None,
}
"""What each plain annotation accepts; infinity is a float, NaN is no value of any option."""


def _number(value: Any) -> bool:
    return type(value) is bool or bool(PLAIN["float"](value))


LENIENT: dict[str, Any] = {**PLAIN, "int": _number, "float": _number, "bool": _number}
"""The same for settings that are only numbers until training looks at them, such as verbose=True."""


def require_options(
    what: str, given: Any, annotations: Mapping[str, Any], accepts: Mapping[str, Any] = PLAIN
) -> None:
    """Raise unless all names are known, and all values of the type that their annotation says.

    Parameters
    ----------
    what : str
        What messages call the owner of these options.
    given : dict of str to value
    annotations : mapping of str to str
        By the names that are known; annotations as they stand in the source.
    accepts : mapping of str to callable, default=PLAIN
        Whether a value is of the type that a plain annotation says.
    """
    if type(given) is not dict:
        raise ModelFileError(f"its {what} are no options by name; save the model again")
    for name, value in given.items():
        if name not in annotations:
            raise ModelFileError(
                f"its {what} has the option {short(name)}, which is not known here; load it with the version "
                "that saved it"
            )
        parts = str(annotations[name]).split(" | ")
        if all(part in PLAIN for part in parts) and not any(accepts[part](value) for part in parts):
            raise ModelFileError(
                f"{name} of its {what} is {short(value)}, which is no {' or '.join(parts)}; save the model "
                "again"
            )
