"""How people call the keys and values of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from structmargin_suite.methods.method import Method
from structmargin_suite.methods.reading import Reading
from structmargin_suite.publish.tables.words import in_words


def written(value: Any) -> str:
    """A value as configs and names write it."""
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


class Names:
    """How people call keys and values: by the config's `names`, by labels, else by their own words."""

    def __init__(
        self, spec: Mapping[str, Any], methods: Mapping[str, Method], readings: Mapping[str, Reading]
    ) -> None:
        self.given: Mapping[str, str] = spec.get("names", {})
        self.labels: dict[str, Mapping[str, Method | Reading]] = {"method": methods, "reading": readings}

    def of_key(self, key: str) -> str:
        """The heading of a key; a name with a place for its values needs none."""
        name = self.given.get(key, in_words(key))
        return "" if "{}" in name else name

    def of_value(self, key: str, value: Any) -> str:
        """A value of a key."""
        text = written(value)
        for name in (f"{key}={text}", text):
            if name in self.given and name != key:
                return self.given[name]
        if "{}" in self.given.get(key, ""):
            return self.given[key].replace("{}", text)
        if text in self.labels.get(key, {}):
            return self.labels[key][text].label
        return in_words(text) if key in ("measure", "split") else text
