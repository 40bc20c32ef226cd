"""Links of the site that lead out of docs/ become their text with the path behind it.

Documents link to notebooks, sources and results beside docs/, for readers of a checkout. The site has only
docs/, and no link of it should be dead.
"""

from __future__ import annotations

import re
from typing import Any

OUTWARD = re.compile(r"\[([^\]]+)\]\(\.\./([^)\s]+)\)")


def on_page_markdown(markdown: str, **given: Any) -> str:
    """mkdocs calls this for every page before it is rendered."""
    return OUTWARD.sub(lambda found: f"{found[1]} (`{found[2].partition('#')[0]}`)", markdown)
