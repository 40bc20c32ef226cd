"""The record of the papers that pages show is that of CITATION.cff."""

from __future__ import annotations

import yaml

from helpers.toy_project import HERE
from structmargin_suite.publish.papers import PAPERS


def test_papers_are_those_of_the_citation_file():
    listed = yaml.safe_load((HERE / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    assert len(listed) == len(PAPERS) == 4
    for given in listed:
        (paper,) = (p for key, p in PAPERS.items() if f"Called {key} in" in given["notes"])
        names = tuple(f"{a['given-names']} {a['family-names']}" for a in given["authors"])
        assert (paper.title, paper.authors, paper.year) == (given["title"], names, given["year"])
        assert paper.doi == given.get("doi", "")
        assert given.get("journal", given.get("collection-title")) in paper.venue
    assert PAPERS["jmlr05"].short == "Tsochantaridis, Joachims, Hofmann, Altun 2005 (JMLR)"
