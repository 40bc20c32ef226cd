"""Records joined from groups of values: in order, and never two values of one name."""

from __future__ import annotations

import pytest

from structmargin_suite.storage.names import NameClash, joined


def test_parts_are_joined_in_their_order():
    assert list(joined({"one": {"b": 1, "a": 2}, "two": {"c": 3}}).items()) == [("b", 1), ("a", 2), ("c", 3)]


def test_a_name_in_two_parts_is_refused_even_with_the_same_value():
    with pytest.raises(NameClash, match="'C' is a name in both the settings and the metrics"):
        joined({"the settings": {"C": 1.0}, "the metrics": {"C": 1.0}})
