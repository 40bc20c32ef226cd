"""What the baselines for diverse rankings look at."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy.sparse as sp


class QueryDocuments(Protocol):
    """A query with its n candidate documents; len() is n."""

    def __len__(self) -> int: ...
    @property
    def counts(self) -> sp.csr_matrix:
        """Word counts (n, V) of the documents."""
        ...

    @property
    def words(self) -> np.ndarray:
        """The numbers of the query's own words."""
        ...

    @property
    def name(self) -> str:
        """The query as text."""
        ...
