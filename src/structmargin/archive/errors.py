"""The one error for files and arrays that are no model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

MAX_REASON = 300
"""How many characters of another error's message are kept: it may quote a whole file."""


class ModelFileError(ValueError):
    """A file, or arrays, from which no model can be made: of another kind, damaged, or made to do harm.

    The message is one sentence that names the file and says what to do. `load` and `from_arrays` raise
    nothing else, except for errors of the operating system, such as FileNotFoundError.

    Examples
    --------
    >>> from structmargin import ModelFileError, StructuredSVM
    >>> try:
    ...     StructuredSVM.from_arrays({})
    ... except ModelFileError as error:
    ...     print(error)  # doctest: +ELLIPSIS
    these arrays cannot be loaded: there is no entry 'json', so it is no structmargin model; give ...
    """


def short(value: object) -> str:
    """A value from a file as messages show it: its text, or its type if that is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"a long {type(value).__name__}"


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn every error of the block into a ModelFileError about `what`.

    Values from a file may be wrong in more ways than can be listed, and each check raises what suits its
    ordinary callers: here all of it means the same.
    """
    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    except ModelFileError as error:
        raise ModelFileError(f"{what} cannot be loaded: {error}") from error.__cause__
    except MemoryError as error:
        raise ModelFileError(
            f"{what} cannot be loaded: it asks for more memory than there is; save the model again, or "
            "take a larger machine"
        ) from error
    except RecursionError as error:
        raise ModelFileError(
            f"{what} cannot be loaded: its header is nested too deep; save the model again"
        ) from error
    except Exception as error:
        reason = " ".join(str(error).split()).replace(". ", "; ").rstrip(".")[:MAX_REASON]
        raise ModelFileError(
            f"{what} cannot be loaded: it is damaged or no structmargin model "
            f"({reason or type(error).__name__}); save the model again"
        ) from error
