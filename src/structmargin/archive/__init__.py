"""Models as arrays and JSON, to files and back: nothing is pickled, and nothing from a file is trusted.

`tree` turns values into named arrays and back, `npz` reads the file that holds them, `typed` compares values
with what a class says of its arguments. What is wrong with a file is one `ModelFileError`.
"""

from structmargin.archive.errors import ModelFileError, reading
from structmargin.archive.npz import MAX_BYTES, read_arrays, unpacked
from structmargin.archive.tree import FORMAT, pack, unpack
from structmargin.archive.typed import LENIENT, require_options

__all__ = [
    "FORMAT",
    "LENIENT",
    "MAX_BYTES",
    "ModelFileError",
    "pack",
    "read_arrays",
    "reading",
    "require_options",
    "unpack",
    "unpacked",
]
