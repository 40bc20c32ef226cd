"""The tags of named entities in IOB2, and sentences with such tags."""

from __future__ import annotations

TAGS = ("O", *(f"{place}-{kind}" for kind in ("PER", "ORG", "LOC", "MISC") for place in "BI"))
"""O outside of entities; B- at the first token of an entity and I- at its others, with the entity's kind."""
Sentence = list[tuple[str, int]]
"""Words, each with the number of its tag in TAGS."""
