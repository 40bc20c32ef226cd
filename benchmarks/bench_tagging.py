"""A task of the literature: part-of-speech tagging, beside SVM-hmm and CRFsuite.

As in `bench_literature.py`: every solver of the registry that certifies a gap, once, within a limit. The
corpus is GUM, which must be in STRUCTMARGIN_DATA.
"""

from __future__ import annotations

from bench_literature import main as race


def main() -> None:
    """Measure tagging."""
    race("tagging", ("tagging",))


if __name__ == "__main__":
    main()
