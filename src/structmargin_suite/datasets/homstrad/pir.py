"""Alignments in PIR format, and the secondary structure and accessibility of one chain per family.

A record of PIR is `>P1;name`, a line of description, then lines of letters and gaps that end with `*`. The
structure table has one row per family: family, master, sequence, eight DSSP states and accessible surfaces in
square angstrom, separated by tabs. Faults are errors that give the file and the line.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from structmargin.problems.proteins.features import N_ACCESS, RESIDUES, STATES
from structmargin_suite.storage.errors import DataError

GAP = 255
"""The code of a gap; where unknown letters are allowed, also theirs."""
STATE_OF_DSSP = {**dict.fromkeys("HGI", "H"), **dict.fromkeys("EB", "E"), **dict.fromkeys("TSP-", "L")}
"""Helix, strand or loop for each of DSSP's eight states, and for P, which was added later."""
MAX_SURFACE = dict(
    zip(
        "ARNDCQEGHILKMFPSTWYV",
        (106, 248, 157, 163, 135, 198, 194, 84, 184, 169, 164, 205, 188, 197, 136, 130, 142, 227, 222, 142),
        strict=True,
    )
)
"""The largest accessible surface of each residue in square angstrom (Rost and Sander 1994)."""
SHARES = (0.05, 0.15, 0.3, 0.5)
"""The bounds between the five classes of accessibility, as shares of the largest surface."""


class Structure(NamedTuple):
    """A master chain: its name, and residue, state and access of each place as codes."""

    master: str
    residue: np.ndarray
    state: np.ndarray
    access: np.ndarray


def _table(letters: str, others: int) -> np.ndarray:
    table = np.full(256, others, dtype=np.uint8)
    table[np.frombuffer(letters.encode(), np.uint8)] = np.arange(len(letters))
    return table


_WRONG = 254
_STRICT, _LENIENT = _table(RESIDUES, _WRONG), _table(RESIDUES, GAP)
_STRICT[ord("-")] = GAP


def records(file: str, data: bytes, strict: bool = True) -> Iterator[tuple[int, str, np.ndarray]]:
    """(line, name, row of codes) of each record. Gaps are GAP, as are unknown letters if not strict."""
    if not data.lstrip().startswith(b">P1;"):
        raise DataError(f"{file}, line 1: a PIR record begins with '>P1;'; convert the file")
    line = 1 + data[: data.index(b">P1;")].count(b"\n")
    for record in data[data.index(b">P1;") + 4 :].split(b">P1;"):
        head, _, rest = record.partition(b"\n")
        _, _, body = rest.partition(b"\n")
        name = head.decode("latin-1").strip().split(" ")[0]
        text = body.translate(None, b" \t\r\n")
        if not text.endswith(b"*"):
            raise DataError(f"{file}, line {line}: the row of {name!r} has no '*' at its end; complete it")
        raw = np.frombuffer(text[:-1], np.uint8)
        row = (_STRICT if strict else _LENIENT)[raw]
        if strict and (row == _WRONG).any():
            wrong = chr(raw[int(np.argmax(row == _WRONG))])
            lines = body.split(b"\n")
            offset = next(k for k, text in enumerate(lines) if wrong.encode("latin-1") in text)
            raise DataError(
                f"{file}, line {line + 2 + offset}: {wrong!r} in the row of {name!r} is no residue; "
                f"use {RESIDUES} and '-'"
            )
        yield line, name, row
        line += record.count(b"\n")


def alignment(file: str, data: bytes, strict: bool = True) -> tuple[list[str], np.ndarray]:
    """(names, rows (count, columns) of codes) of an alignment, whose rows must be of one length."""
    names: list[str] = []
    rows: list[np.ndarray] = []
    for line, name, row in records(file, data, strict):
        if rows and len(row) != len(rows[0]):
            raise DataError(
                f"{file}, line {line}: the row of {name!r} has {len(row)} columns, but {names[0]!r} has "
                f"{len(rows[0])}; rows of an alignment must be of one length"
            )
        names.append(name)
        rows.append(row)
    return names, np.stack(rows)


def structures(path: Path) -> dict[str, Structure]:
    """The master chain of every family, by family."""
    data = path.read_bytes()
    try:
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("ascii")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read ({error}); fetch it again") from None
    lines = enumerate(text.splitlines()[1:], start=2)
    return dict(_structure(f"{path}, line {line}", row) for line, row in lines)


def _structure(where: str, row: str) -> tuple[str, Structure]:
    """(family, structure of its master) of one row of the table; `where` names the row in errors."""
    cells = row.split("\t")
    if len(cells) != 5:
        raise DataError(f"{where}: {len(cells)} columns, but a family has five, tab-separated; correct it")
    family, master, sequence, eight, surface = cells
    surfaces = surface.split(",")
    for what, length in (("states", len(eight)), ("surfaces", len(surfaces))):
        if length != len(sequence):
            raise DataError(
                f"{where}: {family!r} has {length} {what} for {len(sequence)} residues; give one for each"
            )
    for what, letters, known in (("residue", sequence, RESIDUES), ("state", eight, STATE_OF_DSSP)):
        wrong = [letter for letter in letters if letter not in known]
        if wrong:
            raise DataError(f"{where}: {wrong[0]!r} of {family!r} is no {what}; use {''.join(known)}")
    try:
        area = np.array([float(number) for number in surfaces])
    except ValueError as error:
        raise DataError(f"{where}: {family!r} has a surface that is no number ({error})") from None
    share = area / np.array([MAX_SURFACE[letter] for letter in sequence])
    return family, Structure(
        master,
        _STRICT[np.frombuffer(sequence.encode(), np.uint8)],
        np.array([STATES.index(STATE_OF_DSSP[letter]) for letter in eight], dtype=np.uint8),
        np.searchsorted(SHARES, share, side="right").astype(np.uint8),
    )


def fitted(family: str, structure: Structure, residue: np.ndarray) -> Structure:
    """The structure of a chain as its alignment has it.

    The table may lack residues at the chain's end, of which nothing is known: they count as exposed loop.
    """
    known = len(structure.residue)
    if known > len(residue) or np.any(residue[:known] != structure.residue):
        raise DataError(
            f"the structure of {family!r} is of another chain than {structure.master!r} of its alignment; "
            "use files of one release"
        )
    more = len(residue) - known
    loop, exposed = STATES.index("L"), N_ACCESS - 1
    return Structure(
        structure.master,
        residue,
        np.append(structure.state, np.full(more, loop, np.uint8)),
        np.append(structure.access, np.full(more, exposed, np.uint8)),
    )
