"""A picture of the overview for the README: results/snapshot/index.html -> docs/pictures/overview.png.

The overview has numbers and texts of our own only, so that its picture may be passed on. It is taken by a
headless Chromium, made smaller and reduced to few colours: the file stays small.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

from structmargin_suite.storage.errors import DataError
from structmargin_suite.storage.files import write_bytes
from structmargin_suite.storage.layout import Layout

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WINDOW = (1400, 900)
WIDTH = 1000
COLOURS = 64
SECONDS = 60


def picture(root: Path) -> Path | None:
    """Take the picture; None where there is no browser, so that the old one stays."""
    browser = next((found for found in map(shutil.which, BROWSERS) if found), None)
    if browser is None:
        return None
    page = Layout(root).snapshot / "index.html"
    if not page.is_file():
        raise DataError(f"there is no {page}: run structmargin snapshot first")
    target = root / "docs" / "pictures" / "overview.png"
    write_bytes(target, small(_screenshot(browser, page)))
    return target


def _screenshot(browser: str, page: Path) -> bytes:
    """The first screen of a page, as PNG."""
    with tempfile.TemporaryDirectory(prefix="picture") as folder:
        shot = Path(folder) / "shot.png"
        command = [
            browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
            f"--user-data-dir={folder}/profile", f"--screenshot={shot}",
            f"--window-size={WINDOW[0]},{WINDOW[1]}", page.resolve().as_uri(),
        ]  # fmt: skip
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            raise DataError(f"{browser} took no picture of {page}: {error}") from None
        return shot.read_bytes()


def small(pixels: bytes) -> bytes:
    """A PNG picture of `WIDTH` pixels in `COLOURS` colours."""
    with Image.open(io.BytesIO(pixels)) as image:
        size = (WIDTH, round(image.height * WIDTH / image.width))
        reduced = image.convert("RGB").resize(size, Image.Resampling.LANCZOS).quantize(COLOURS)
    target = io.BytesIO()
    reduced.save(target, "PNG", optimize=True)
    return target.getvalue()
