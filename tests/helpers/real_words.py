"""The real handwritten words where there is a mirror."""

from __future__ import annotations

import os
from pathlib import Path

from structmargin_suite.datasets import ocr


def real() -> Path | None:
    """The real file where there is a mirror; else one line says so."""
    folder = os.environ.get("STRUCTMARGIN_DATA")
    path = None if folder is None else Path(folder) / ocr.FILES[0].mirror
    if path is None or not path.is_file():
        print("the real handwritten words are not here (STRUCTMARGIN_DATA): their counts are not checked")
        return None
    return path
