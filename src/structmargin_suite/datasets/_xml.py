"""XML files of a user, read without entities: a document may name its type, and may declare nothing.

A type that is named (<!DOCTYPE record SYSTEM "...">) is not opened; a document that declares types or
entities of its own is refused, so nothing expands and nothing else is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from structmargin_suite.storage.errors import DataError


def read_elements(
    path: Path,
    start: Callable[[str, Mapping[str, str]], None],
    end: Callable[[str], None],
    text: Callable[[str], None],
) -> None:
    """Call start(name, attributes), text(characters) and end(name) for all that a file holds, in its order.

    An entity that the named type may declare is unknown here: it counts as a space. A file that is not
    well-formed, or has declarations, is a DataError with the line.
    """
    parser = expat.ParserCreate()

    def refuse(what: str) -> NoReturn:
        raise DataError(f"{path}, line {parser.CurrentLineNumber}: {what}")

    def doctype(name: str, system: str | None, public: str | None, has_declarations: int) -> None:
        if has_declarations:
            refuse("the document declares types or entities of its own, which are not read; remove them")

    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.SkippedEntityHandler = lambda name, is_parameter: text(" ")
    try:
        parser.Parse(path.read_bytes(), True)
    except expat.ExpatError as error:
        raise DataError(
            f"{path}, line {error.lineno}: the XML is not well-formed ({expat.ErrorString(error.code)}); "
            "correct it, or copy the file again"
        ) from None
    except (ValueError, LookupError) as error:  # an encoding that Python does not know
        raise DataError(f"{path} is in an encoding that cannot be read ({error}); convert it") from None
