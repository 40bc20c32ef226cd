"""What the papers compare with, over libraries that exist where they do. One module each, all of one shape.

`Baseline` is what a module of this folder must define, `BaselineModel` what its `train` returns.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, Protocol, cast

import numpy as np
import scipy.sparse as sp

Schemas = Mapping[str, Mapping[str, object]]
"""Options by name, each with the JSON schema of its values."""


class BaselineModel(Protocol):
    """A trained baseline."""

    def predict(self, X: Any) -> Any:
        """One prediction for each of the inputs X."""
        ...

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The model as named arrays, from which `from_arrays` of its module makes it again."""
        ...


class Baseline(Protocol):
    """A module of this folder.

    It may also define HAS_PATH = True, if `train` takes a `former` model of the same data with another C to
    start from, and CERTIFICATE, the module of `structmargin_suite.methods` that checks a trained model; a
    model's `numbers`, if it has them, are what training recorded of the fit.

    Attributes
    ----------
    OPTIONS : mapping of str to JSON schema
        The parameters of `train`.
    train : callable
        train(X, Y, *, seed, **options) returns a model trained on inputs X and outputs Y.
    from_arrays : callable
        from_arrays(arrays) returns the model whose `to_arrays` made the arrays.
    """

    @property
    def OPTIONS(self) -> Schemas: ...
    @property
    def train(self) -> Callable[Concatenate[Any, Any, ...], BaselineModel]: ...
    @property
    def from_arrays(self) -> Callable[[Mapping[str, np.ndarray]], BaselineModel]: ...


def baseline(name: str) -> Baseline:
    """The baseline that the module of this name defines."""
    return cast(Baseline, importlib.import_module(f"{__name__}.{name}"))


def digest_of_rows(*sequences: Any) -> str:
    """A digest of matrices, dense or sparse, and of vectors, by which trainings are remembered."""
    digest = hashlib.sha256()
    for rows in sequences:
        csr = sp.csr_matrix(rows) if sp.issparse(rows) else None
        arrays = (np.asarray(rows),) if csr is None else (csr.data, csr.indices, csr.indptr)
        digest.update(repr(np.shape(rows)).encode())
        for array in arrays:
            digest.update(array.dtype.str.encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
