"""Links of the site that lead out of docs/: the files they name are shown, or named, where there is no link.

Documents link to notebooks, sources and results beside docs/, as is right for who reads them in a checkout. The
site has only docs/: such a link becomes its text with the path behind it, so that no link of the site is dead.
"""

from __future__ import annotations

import re
from typing import Any

OUTWARD = re.compile(r"\[([^\]]+)\]\(\.\./([^)\s]+)\)")


def on_page_markdown(markdown: str, **given: Any) -> str:
    """mkdocs calls this for every page before it is rendered."""
    return OUTWARD.sub(lambda found: f"{found[1]} (`{found[2].partition('#')[0]}`)", markdown)
