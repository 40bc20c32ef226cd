"""The documentation site has every document once, and its links lead somewhere: checked without its tool."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys

import yaml

from helpers.toy_project import HERE

SITE = yaml.safe_load((HERE / "mkdocs.yml").read_text(encoding="utf-8"))
DOCS = HERE / SITE["docs_dir"]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def pages(nav: object) -> list[str]:
    """Files that the navigation names, in order."""
    if isinstance(nav, str):
        return [nav]
    inner = nav.values() if isinstance(nav, dict) else nav
    return [page for part in inner for page in pages(part)]  # type: ignore[attr-defined]


def anchors(text: str) -> set[str]:
    """The addresses of a page's headings."""
    heads = re.findall(r"^#+ (.*)$", re.sub(r"(?s)```.*?```", "", text), re.M)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def dead_links(texts: dict[str, str]) -> list[tuple[str, str]]:
    """(page, address) for links to pages or headings that are not there; those out of docs/ are to files."""
    dead = []
    for page, text in texts.items():
        for address in LINK.findall(re.sub(r"(?s)```.*?```", "", text)):
            if re.match(r"https?:|mailto:", address):
                continue
            name, _, anchor = address.partition("#")
            if name.startswith("../"):
                good = (DOCS / name).exists()
            else:
                target = texts.get(name or page)
                good = target is not None and (not anchor or anchor in anchors(target))
            if not good:
                dead.append((page, address))
    return dead


TEXTS = {path.name: path.read_text(encoding="utf-8") for path in DOCS.glob("*.md")}


def test_every_document_is_in_the_navigation_once():
    assert sorted(pages(SITE["nav"])) == sorted(TEXTS)


def test_the_site_has_what_readers_look_for():
    parts = [name for part in SITE["nav"] for name in part]
    assert parts == ["Start here", "Tutorials", "How to", "The papers", "Reference"]
    tutorials = {"tutorial_entities.md", "tutorial_problem.md", "tutorial_data.md", "tutorial_experiment.md"}
    assert tutorials == {page for page in TEXTS if page.startswith("tutorial_")}
    assert tutorials == set(pages(SITE["nav"][1]))


def test_links_lead_somewhere():
    assert dead_links(TEXTS) == []


def test_a_dead_link_is_seen():
    texts = {
        "a.md": "# One thing\n[x](b.md#two) [y](#one-thing) [z](c.md) [w](../no/such)",
        "b.md": "# Three",
    }
    assert dead_links(texts) == [("a.md", "b.md#two"), ("a.md", "c.md"), ("a.md", "../no/such")]


def test_nothing_is_loaded_from_elsewhere():
    assert SITE["theme"]["font"] is False and not SITE.get("extra_javascript")


def test_links_out_of_the_documents_become_their_text():
    specification = importlib.util.spec_from_file_location("site_links", DOCS / "site_links.py")
    hook = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(hook)
    text = "see [the notebook](../notebooks/ner.ipynb#x) and [the guide](guide.md)"
    assert hook.on_page_markdown(text) == (
        "see the notebook (`notebooks/ner.ipynb`) and [the guide](guide.md)"
    )


def test_what_the_tool_needs_is_installed_with_it():
    """What mkdocs-material says it requires; one that the lock has for Windows only was missing here."""
    needed = {
        "babel", "backrefs", "colorama", "jinja2", "markdown", "mkdocs", "mkdocs-material-extensions",
        "paginate", "pygments", "pymdown-extensions", "requests",
    }  # fmt: skip
    files = ("requirements.lock", "requirements-docs.txt")
    text = "".join((HERE / name).read_text(encoding="utf-8") for name in files)
    everywhere = set(re.findall(r"^([a-z0-9-]+)==\S+(?: ; python_full_version.*)? \\$", text, re.M))
    assert needed - everywhere == set()


def test_the_tool_builds_it_where_it_is_installed(tmp_path):
    if importlib.util.find_spec("mkdocs") is None or importlib.util.find_spec("material") is None:
        print("mkdocs-material is not installed here (make docs does it): the site was not built")
        return
    for name in ("docs", "mkdocs.yml"):
        copy = shutil.copytree if (HERE / name).is_dir() else shutil.copy
        copy(HERE / name, tmp_path / name)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    site = tmp_path / "build" / "site"
    assert "Start here" in (site / "index.html").read_text(encoding="utf-8")
    assert not list(site.rglob("*.py*"))
