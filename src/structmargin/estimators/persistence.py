"""Fitted models as files: named arrays and JSON, with every option that training had. Nothing is pickled."""

from __future__ import annotations

import os
import uuid
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

import numpy as np

from structmargin import archive, registry
from structmargin.archive import ModelFileError
from structmargin.estimators.loaded import (
    require_expansion,
    require_parts,
    require_problem,
    require_settings,
    require_weights,
)
from structmargin.problem import Problem
from structmargin.scorer import LinearScorer, expanded


class Saved(ABC):
    """`save` and `load`, for an estimator that can name its arrays."""

    problem_: Problem
    scorer_: Any

    @abstractmethod
    def to_arrays(self) -> dict[str, np.ndarray]:
        """The fitted model as named arrays: the problem, the scorer, and its certificate.

        A problem of your own is left out: hand it to `from_arrays` or `load` again.

        Returns
        -------
        dict of str to ndarray
            For `numpy.savez`.
        """

    @classmethod
    def from_arrays(cls, arrays: Any, problem: Problem | None = None) -> Self:
        """The model that `to_arrays` was called on; a JKSE without its pairs: `add` needs a new `fit`.

        Parameters
        ----------
        arrays : mapping of str to ndarray
            What `to_arrays` returned.
        problem : Problem, optional
            Needed if it is not one of the library's.

        Returns
        -------
        The fitted model.

        Raises
        ------
        ModelFileError
            If the arrays are no model of this estimator, or do not fit together.
        """
        with archive.reading("these arrays"):
            return cls._restored(arrays, problem)

    @classmethod
    def _classes(cls) -> dict[str, Any]:
        """Every class that a saved model of this kind may name."""
        return registry.classes()

    def _settings(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Parameters by name, as a file keeps them: of a random generator, whose state has moved on, None."""
        generators = (np.random.Generator, np.random.RandomState)
        values = {name: getattr(self, name) for name in names}
        return {name: None if isinstance(value, generators) else value for name, value in values.items()}

    def _packed(self, settings: dict[str, Any], fit: dict[str, Any]) -> dict[str, np.ndarray]:
        """What every saved model holds: its kind, settings, problem, scorer, and what is kept of the fit."""
        classes, f = self._classes(), self.scorer_
        tree: dict[str, Any] = {
            "kind": type(self).__name__,
            "settings": settings,
            "problem": self.problem_ if type(self.problem_) in classes.values() else None,
            "w": f.w,
            "fit": fit,
        }
        if f.w is None:
            tree["expansion"] = {"kernel": f.kernel, **f.expansion()}
        return archive.pack(tree, classes)

    @classmethod
    @abstractmethod
    def _restored(cls, arrays: Any, problem: Problem | None) -> Self:
        """`from_arrays`, with errors of any type that say only what is wrong."""

    @classmethod
    def _unpacked(
        cls, arrays: Any, problem: Problem | None, settings: tuple[str, ...]
    ) -> tuple[Self, Any, dict[str, Any]]:
        """(an unfitted model with these settings, its scorer, what was kept of the fit); not yet the last."""
        parts = ("kind", "settings", "problem", "w", "fit")
        tree = require_parts("it", archive.unpack(arrays, cls._classes()), parts, ("expansion",))
        kind = tree["kind"]
        if not isinstance(kind, str) or not kind.isidentifier():
            raise ModelFileError("it does not say which estimator it is of; save the model again")
        if kind != cls.__name__:
            raise ModelFileError(
                f"the model is a {kind[:60]}, not a {cls.__name__}; load it with {kind[:60]}.load"
            )
        used = require_problem(tree["problem"], problem)
        options = require_settings(cls, tree["settings"], settings)
        make: Any = cls
        if (tree["w"] is None) != ("expansion" in tree):
            raise ModelFileError("it has not either weights or a kernel; save the model again")
        if tree["w"] is not None:
            w = require_weights(used, tree["w"])
            return make(used.given, **options), LinearScorer(used.given, w), tree["fit"]
        e = require_expansion(used, tree["expansion"])
        return make(used.given, kernel=e["kernel"], **options), expanded(used.given, **e), tree["fit"]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to an .npz file, whole or not at all.

        The file holds arrays and JSON. Its permissions are those of any new file, by the umask.

        Parameters
        ----------
        path : str or path-like
            Where to; a file that is there is replaced.

        See Also
        --------
        load : Reads it back.
        """
        path = Path(path)
        arrays: dict[str, Any] = self.to_arrays()
        part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
        try:
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
                np.savez_compressed(file, **arrays)
            os.replace(part, path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], problem: Problem | None = None, max_bytes: int = archive.MAX_BYTES
    ) -> Self:
        """Read a model that `save` wrote; nothing in the file is executed, and nothing in it is trusted.

        Parameters
        ----------
        path : str or path-like
            The file.
        problem : Problem, optional
            Needed if the model was trained on a problem of your own: files hold the library's only.
        max_bytes : int, default=2**30
            How large the arrays of the file may be together once they are unpacked: a small file may unpack
            to more than the machine has.

        Returns
        -------
        The fitted model, with all settings but callbacks, a random generator and n_jobs.

        Raises
        ------
        ModelFileError
            If the file is none of this estimator's models, or is damaged, or is larger than the limit.
        """
        with archive.reading(repr(os.fspath(path))):
            return cls._restored(archive.unpacked(path, max_bytes), problem)
