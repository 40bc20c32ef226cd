"""Random pairs of proteins."""

from __future__ import annotations

from structmargin.problems.proteins.features import Pair


def random_pair(rng, n, m, letters=20, known=True):
    """A pair with profiles; `known` says whether the target has a structure."""
    structure = (rng.integers(0, 3, m), rng.integers(0, 5, m)) if known else (None, None)
    return Pair(
        rng.integers(0, letters, n), rng.integers(0, 3, n), rng.integers(0, 5, n),
        rng.integers(0, letters, m), rng.normal(size=(n, 20)), rng.normal(size=(m, 20)), *structure,
    )  # fmt: skip
