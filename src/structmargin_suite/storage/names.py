"""Names from configs that become names of files, wildcards or words of a shell; paths that must stay inside;
records joined from groups that must not share a name.

    file names   experiments, corpora, tables, figures: letters, digits, `_`, `-` and `.`
    titles       methods and studies, which results show as they are: spaces and `,=+/()` too

Files have titles and values as slugs, so that runs, parts and jobs have names of files too. No name begins
with `.` or `-`. Names that differ only in case are one file on some systems, so they count as equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from structmargin_suite.storage.errors import DataError

MAX_NAME = 64
MAX_FILE_NAME = 180
"""Of a run, a part or a job; systems allow 255 bytes with what is added."""
FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*", re.ASCII)
TITLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._,=+/()-]*", re.ASCII)
DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
"""Names that mean a device on Windows, with any suffix."""


class OutsideError(DataError, ValueError):
    """A path that leads out of the folder that it must stay in."""


def file_name_fault(name: str) -> str | None:
    """What is wrong with a name that files are called by; None if nothing."""
    if len(name) > MAX_NAME:
        return f"has {len(name)} characters; use at most {MAX_NAME}"
    if not FILE_NAME.fullmatch(name) or name.endswith("."):
        return (
            "cannot be the name of a file; use letters (a to z), digits, '_', '-' and '.' only, "
            "and begin with a letter, a digit or '_'"
        )
    if DEVICES.fullmatch(name):
        return "means a device on some systems; use another name"
    return None


def title_fault(name: str) -> str | None:
    """What is wrong with a name that results show, and that files have as a slug; None if nothing."""
    if len(name) > MAX_NAME:
        return f"has {len(name)} characters; use at most {MAX_NAME}, and `label` or `about` for more"
    if not TITLE.fullmatch(name) or name != name.strip():
        return (
            "cannot be a name; use letters (a to z), digits, spaces and '._,=+/()-' only, begin with a "
            "letter or a digit, and say the rest in `label` or `about`"
        )
    return None


def label_fault(label: str) -> str | None:
    """What is wrong with a text that figures show; None if nothing."""
    if "$" in label or "\n" in label:
        return "has a '$', which figures take for mathematics, or a line's end; write it otherwise"
    return None


def slug_of(text: str) -> str:
    """Text as it is written in a file's name."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", text).rstrip("-") or "none"


def alike(names: Iterable[str]) -> dict[str, str]:
    """Names that are equal to an earlier one as slugs or in another case: name to that earlier one."""
    first: dict[str, str] = {}
    twins = {}
    for name in names:
        earlier = first.setdefault(slug_of(name).casefold(), name)
        if earlier != name:
            twins[name] = earlier
    return twins


def inside(root: Path, path: str | Path) -> Path:
    """`path` below `root`, where it truly leads: links and `..` are followed.

    Parameters
    ----------
    root : Path
        The folder to stay in.
    path : str or Path
        A path relative to it, or a whole one.

    Returns
    -------
    Path
        root / path as it was given.

    Raises
    ------
    OutsideError
        Where it leads out of the folder, or cannot be a path.
    """
    joined = Path(root) / path
    try:
        resolved, home = joined.resolve(), Path(root).resolve()
    except (OSError, ValueError, RuntimeError) as error:  # a link to itself, a NUL
        raise OutsideError(f"{str(path)!r} cannot be a path ({error}); give another name") from None
    if resolved == home or not resolved.is_relative_to(home):
        raise OutsideError(f"{str(path)!r} leads out of {root}; name something inside that folder")
    return joined


class NameClash(ValueError):
    """Two groups of a record have a value of the same name."""


def joined(groups: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    """The groups of a record as one flat mapping, in their order.

    Parameters
    ----------
    groups : mapping
        Values by name, for each group by what to call it in an error.

    Raises
    ------
    NameClash
        If a name stands in two groups; nothing takes precedence.
    """
    record: dict[str, object] = {}
    owner: dict[str, str] = {}
    for group, values in groups.items():
        for name, value in values.items():
            if name in owner:
                raise NameClash(f"{name!r} is a name in both {owner[name]} and {group}; rename one of them")
            record[name], owner[name] = value, group
    return record
