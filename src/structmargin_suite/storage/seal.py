"""What a folder's files were made from and their sums, in one file beside them: files.json.

The seal is written last. Where it is missing or a file has another sum, the folder does not hold what
was made, and the workflow makes it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from structmargin_suite.storage.bundle import AGAIN
from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import json_bytes, sha256, write_json

SEAL = "files.json"


class Seal(NamedTuple):
    """The key of what was made, and the SHA-256 sums of the files by their names in the folder."""

    key: str
    files: dict[str, str]


def write_seal(folder: Path, key: str, names: Iterable[str]) -> None:
    """Seal files of a folder, given by their relative names."""
    seal = Seal(key, {name: sha256(folder / name) for name in names})
    write_json(folder / SEAL, seal._asdict())


def read_seal(folder: Path) -> Seal:
    """The seal of a folder.

    Raises
    ------
    DamagedFile
        If it cannot be read.
    """
    path = folder / SEAL
    try:
        data = path.read_bytes()
        stored: dict[str, Any] = json.loads(data)
        files = {str(name): str(total) for name, total in stored["files"].items()}
        seal = Seal(str(stored["key"]), files)
        if data != json_bytes(seal._asdict()):
            raise ValueError("not written by write_seal")
        return seal
    except FileNotFoundError:
        raise DamagedFile(path, "the file is missing", "run again to make it") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DamagedFile(path, "the file is not as it was written", AGAIN) from None


def verified(folder: Path) -> Seal:
    """The seal of a folder, after every file was found to be as it says."""
    seal = read_seal(folder)
    for name, total in seal.files.items():
        path = folder / name
        if not path.is_file():
            raise DamagedFile(path, "the file is missing", f"delete {folder / SEAL} and run again")
        if sha256(path) != total:
            raise DamagedFile(path, "the file is not as it was written", AGAIN)
    return seal
