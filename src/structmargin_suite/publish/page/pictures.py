"""Figures on a page: SVG as part of the page, in the colours of its theme; pixels where it would be too much.

Beside a figure stands what it plots (figures/_plotted.py): from it come the words for those who do not see
the picture, and the plot that answers to the pointer and the keys.
"""

from __future__ import annotations

import base64
import io
import re
import xml.etree.ElementTree as ET
from typing import Any

from structmargin_suite.publish.page.plots import Panel, in_words, names_of, panels_of
from structmargin_suite.results import ExperimentResults
from structmargin_suite.storage.files import read_json

WIDEST = 1200
LARGEST_SVG = (150_000, 75_000, 30_000, 0)
"""Bytes up to which a figure is shown as vectors: where a page grows too large, the next of these."""
KINDS = ("pdf", "svg", "png")
BASE64 = 4 / 3
"""How many characters a byte of pixels needs on a page."""
LARGE = 400.0
"""Points of width beyond which a figure needs more than half of a page to be read."""
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
THEMED = {
    "#ffffff": "var(--plot-back)",
    "#000000": "var(--plot-ink)",
    "#666666": "var(--plot-soft)",
    "#dddddd": "var(--plot-grid)",
}
"""Colours of the house style that follow the theme."""
FORBIDDEN = {"script", "foreignObject", "metadata", "title"}
ET.register_namespace("", SVG)
ET.register_namespace("xlink", XLINK)


def shown_figures(config: dict[str, Any]) -> dict[str, Any]:
    """The figures that readers see: not those that only stand in for another in copies (`instead`)."""
    figures: dict[str, Any] = config.get("figures", {})
    stand_ins = {given.get("instead") for given in figures.values()}
    return {name: given for name, given in figures.items() if name not in stand_ins}


def picture(results: ExperimentResults, name: str, caption: str, limit: int) -> dict[str, Any]:
    """A figure as the template shows it: vectors up to `limit` bytes, beyond them whatever is smallest."""
    kinds = [kind for kind in KINDS if results.figure(name, kind).is_file()]
    data = {kind: results.figure(name, kind).read_bytes() for kind in kinds if kind != "pdf"}
    plotted = results.figure(name, "json")
    panels = panels_of(read_json(plotted)) if plotted.is_file() else []
    volatile = name.endswith("_time")
    vectors = pixels = ""
    shown = "svg"
    if "png" in data and len(data["svg"]) > limit:
        data["webp"] = webp(data["png"])
        sizes = {kind: len(data[kind]) * (1.0 if kind == "svg" else BASE64) for kind in data}
        shown = min(sizes, key=lambda kind: sizes[kind])
    if shown == "svg":
        vectors = inline(data["svg"], f"{results.name}-{name}")
    else:
        pixels = f"data:image/{shown};base64,{base64.b64encode(data[shown]).decode('ascii')}"
    return {
        "name": name,
        "caption": caption,
        "vectors": vectors,
        "pixels": pixels,
        "words": in_words(panels) or caption,
        "large": not vectors or _width(data["svg"]) > LARGE,
        "plot": plot_data(panels),
        "kinds": kinds,
        "volatile": volatile,
    }


def plot_data(panels: list[Panel]) -> list[dict[str, Any]]:
    """What the plot of a page draws: panels over numbers in which some series has three points."""
    shown = [panel for panel in panels if not panel.labels and any(len(s.points) > 2 for s in panel.series)]
    return [{**panel.data(), "name": name} for panel, name in zip(shown, names_of(shown), strict=True)]


def inline(svg: bytes, prefix: str) -> str:
    """SVG as a part of a page: no ids that another figure has, nothing that runs, colours of the theme."""
    root = ET.fromstring(svg)
    for parent in list(root.iter()):
        for child in list(parent):
            if str(child.tag).rpartition("}")[2] in FORBIDDEN:
                parent.remove(child)
    names = {node.get("id") for node in root.iter() if node.get("id")}
    for node in root.iter():
        for key, value in list(node.attrib.items()):
            if key.startswith("on"):
                del node.attrib[key]
            elif key == "id":
                node.set(key, f"{prefix}-{value}")
            elif key in ("href", f"{{{XLINK}}}href") and value[1:] in names:
                node.set(key, f"#{prefix}-{value[1:]}")
            else:
                node.set(key, _themed(re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", value)))
    if root.get("viewBox") is None and root.get("width"):
        root.set("viewBox", f"0 0 {_number(root.get('width'))} {_number(root.get('height'))}")
    root.set("style", f"max-width: {_number(root.get('width')) * 1.35:.0f}px")
    for key in ("width", "height"):
        root.attrib.pop(key, None)
    root.set("aria-hidden", "true")
    return ET.tostring(root, encoding="unicode")


def _width(svg: bytes) -> float:
    return _number(ET.fromstring(svg).get("width"))


def _number(text: str | None) -> float:
    found = re.match(r"[\d.]+", text or "")
    return float(found[0]) if found else 400.0


def _themed(value: str) -> str:
    return re.sub("|".join(THEMED), lambda found: THEMED[found[0]], value) if "#" in value else value


def webp(png: bytes) -> bytes:
    """A PNG picture as WebP, no wider than a screen shows it: far fewer bytes where there are photographs."""
    from PIL import Image

    with Image.open(io.BytesIO(png)) as image:
        pixels = image.convert("RGB")
    pixels.thumbnail((WIDEST, 4 * WIDEST))
    result = io.BytesIO()
    pixels.save(result, "WEBP", quality=80, method=4)
    return result.getvalue()
