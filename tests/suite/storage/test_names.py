"""Names for files, and paths that stay inside a folder, by the system's own idea of where a path leads."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structmargin_suite.planning.runs import slug
from structmargin_suite.storage.names import (
    MAX_NAME,
    OutsideError,
    alike,
    file_name_fault,
    inside,
    slug_of,
    title_fault,
)

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def test_every_character_of_a_file_name():
    for code in range(0x250):
        each = chr(code)
        assert (file_name_fault(each) is None) == (each in f"{LETTERS}_"), each
        assert (file_name_fault(f"a{each}b") is None) == (each in f"{LETTERS}_-."), each
        assert (file_name_fault(f"a{each}") is None) == (each in f"{LETTERS}_-"), each
        assert (title_fault(each) is None) == (each in LETTERS), each
        assert (title_fault(f"a{each}b") is None) == (each in f"{LETTERS} ._,=+/()-"), each


@pytest.mark.parametrize(
    "name",
    [
        "", ".", "..", "-rf", ".hidden", "a/b", "../../x", "c$(touch X)", "a b", "a;b", "a\nb", "a\n", "é",
        "x" * 65, "con", "NUL", "aux.txt", "COM1", "a.", "~", "a*", "{a}", "a,b", "a=b", "%s", "$HOME", "`x`",
        "a\0b", "a\\b", "C:",
    ],
)  # fmt: skip
def test_names_that_are_no_files(name):
    assert file_name_fault(name)


@given(st.text(max_size=70))
def test_an_accepted_name_is_one_word_of_a_shell_and_one_step_of_a_path(name):
    if file_name_fault(name) is None:
        assert shlex.split(f"echo {name}") == ["echo", name] == ["echo", shlex.quote(name)]
        assert Path("a", name).parent == Path("a") and Path(name).name == name and len(name) <= MAX_NAME
        assert not name.startswith(("-", ".")) and slug_of(name) == name.rstrip("-")


@given(st.text(max_size=70))
def test_the_slug_of_a_title_is_a_file_name_s_beginning(title):
    if title_fault(title) is None:
        name = slug_of(title)
        assert name[0] in LETTERS and shlex.quote(name) in (name, f"'{name}'") and "/" not in name
        assert all(each in f"{LETTERS}._+-" for each in name)


@given(
    st.lists(
        st.sampled_from(["a b", "a-b", "A-b", "a.b", "SVM", "svm", "x", "x ", "a, b", "a  b"]), unique=True
    )
)
def test_names_alike_are_those_with_equal_slugs_but_for_case(names):
    twins = alike(names)
    for position, name in enumerate(names):
        earlier = [each for each in names[:position] if slug_of(each).lower() == slug_of(name).lower()]
        assert twins.get(name) == (earlier[0] if earlier else None)


@given(st.text(max_size=300), st.text(max_size=300))
def test_long_values_have_short_slugs_that_differ(one, other):
    assert len(slug(one)) <= MAX_NAME
    if len(one) > MAX_NAME and len(other) > MAX_NAME and one != other:
        assert slug(one) != slug(other)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A folder with links: out of it, back into it, and to itself."""
    top = tmp_path_factory.mktemp("tree")
    root = top / "root"
    (root / "a" / "b").mkdir(parents=True)
    (top / "out").mkdir()
    (top / "root2").mkdir()
    (root / "away").symlink_to("../out")
    (root / "far").symlink_to(top / "root2")
    (root / "back").symlink_to("../root/a")
    (root / "loop").symlink_to("loop")
    return root


STEPS = st.sampled_from(["a", "b", "..", ".", "away", "far", "back", "new", "loop", "root", "out", ""])


@given(st.lists(STEPS, max_size=6), st.booleans())
def test_inside_agrees_with_the_system(tree, steps, whole):
    path = os.path.join(*steps) if any(steps) else "."
    path = os.path.join(tree, path) if whole else path
    real, home = os.path.realpath(os.path.join(tree, path)), os.path.realpath(tree)
    if "loop" in steps:
        return
    if os.path.commonpath([real, home]) == home and real != home:
        assert inside(tree, path) == tree / path
    else:
        with pytest.raises(OutsideError, match=r"leads out of .* name something inside that folder"):
            inside(tree, path)


@pytest.mark.parametrize("path", ["a\0b", "/etc/passwd", "../root2/x", "..", "", "."])
def test_paths_that_lead_out_or_nowhere(tree, path):
    with pytest.raises(OutsideError):
        inside(tree, path)
