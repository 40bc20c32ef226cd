"""The four papers, as CITATION.cff lists them (a test compares both)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A paper.

    Attributes
    ----------
    title : str
    authors : tuple of str
        Their whole names.
    year : int
    venue, short_venue : str
        Where it appeared, and how that is called for short.
    doi : str
        Empty where it has none.
    url : str
        Its page, where there is no DOI.
    """

    title: str
    authors: tuple[str, ...]
    year: int
    venue: str
    short_venue: str
    doi: str = ""
    url: str = ""

    @property
    def address(self) -> str:
        """Where it can be read."""
        return f"https://doi.org/{self.doi}" if self.doi else self.url

    @property
    def short(self) -> str:
        """Authors, year and venue in a few words."""
        names = ", ".join(name.split()[-1] for name in self.authors)
        return f"{names} {self.year} ({self.short_venue})"


_JOACHIMS, _HOFMANN, _ALTUN = "Thorsten Joachims", "Thomas Hofmann", "Yasemin Altun"
PAPERS = {
    "jmlr05": Paper(
        "Large Margin Methods for Structured and Interdependent Output Variables",
        ("Ioannis Tsochantaridis", _JOACHIMS, _HOFMANN, _ALTUN),
        2005,
        "Journal of Machine Learning Research 6, 1453–1484",
        "JMLR",
        url="https://jmlr.org/papers/v6/tsochantaridis05a.html",
    ),
    "icml04": Paper(
        "Support Vector Machine Learning for Interdependent and Structured Output Spaces",
        ("Ioannis Tsochantaridis", _HOFMANN, _JOACHIMS, _ALTUN),
        2004,
        "Proceedings of the 21st International Conference on Machine Learning",
        "ICML",
        "10.1145/1015330.1015341",
    ),
    "cacm09": Paper(
        "Predicting Structured Objects with Support Vector Machines",
        (_JOACHIMS, _HOFMANN, "Yisong Yue", "Chun-Nam Yu"),
        2009,
        "Communications of the ACM 52(11), 97–104",
        "CACM",
        "10.1145/1592761.1592783",
    ),
    "jkse09": Paper(
        "Structured prediction by joint kernel support estimation",
        ("Christoph H. Lampert", "Matthew B. Blaschko"),
        2009,
        "Machine Learning 77, 249–269",
        "MLJ",
        "10.1007/s10994-009-5111-0",
    ),
}
"""By the names that configs and statements have for them, in the order of CITATION.cff."""
