"""What a clock, a memory meter or a machine decides stands between two marks, and nowhere else on a page."""

from __future__ import annotations

import re

VOLATILE_BEGIN, VOLATILE_END = "<!-- volatile -->", "<!-- /volatile -->"


def volatile_blocks() -> re.Pattern[str]:
    """What stands between the marks, marks included."""
    return re.compile(re.escape(VOLATILE_BEGIN) + ".*?" + re.escape(VOLATILE_END), re.DOTALL)
