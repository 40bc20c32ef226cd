"""Fitted models as files: named arrays and JSON, with every option that training had. Nothing is pickled."""

from __future__ import annotations

import os
import uuid
import zipfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

import numpy as np

from structmargin import archive, registry
from structmargin.problem import Problem
from structmargin.scorer import LinearScorer, expanded

ZIP_MAGIC = b"PK\x03\x04"
"""How an .npz file begins. That these bytes occur further on does not make a file one."""


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
    @abstractmethod
    def from_arrays(cls, arrays: Any, problem: Problem | None = None) -> Self:
        """The model that `to_arrays` was called on.

        Parameters
        ----------
        arrays : mapping of str to ndarray
            What `to_arrays` returned.
        problem : Problem, optional
            Needed if it is not one of the library's.

        Returns
        -------
        The fitted model.
        """

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
    def _unpacked(cls, arrays: Any, problem: Problem | None) -> tuple[Self, Any, dict[str, Any]]:
        """(an unfitted model, its scorer, what was kept of the fit)."""
        tree = archive.unpack(arrays, cls._classes())
        kind = tree.get("kind", cls.__name__)
        if kind != cls.__name__:
            raise ValueError(f"the model is a {kind}, not a {cls.__name__}: load it with {kind}.load")
        problem = tree["problem"] if problem is None else problem
        if problem is None:
            raise ValueError("this model was trained on a problem of your own: pass it as problem=...")
        make: Any = cls
        e = tree.get("expansion")
        if e is None:
            return make(problem, **tree["settings"]), LinearScorer(problem, tree["w"]), tree["fit"]
        model = make(problem, kernel=e["kernel"], **tree["settings"])
        return model, expanded(problem, **e), tree["fit"]

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
    def load(cls, path: str | os.PathLike[str], problem: Problem | None = None) -> Self:
        """Read a model that `save` wrote; nothing in the file is executed.

        Parameters
        ----------
        path : str or path-like
            The file.
        problem : Problem, optional
            Needed if the model was trained on a problem of your own: files hold the library's only.

        Returns
        -------
        The fitted model, with all settings but callbacks and a random generator.
        """
        with Path(path).open("rb") as file:
            if file.read(len(ZIP_MAGIC)) != ZIP_MAGIC:
                raise ValueError(
                    f"{str(path)!r} is no structmargin model: it is not an .npz file that save wrote"
                )
            file.seek(0)
            try:
                with np.load(file, allow_pickle=False) as stored:
                    arrays = {name: stored[name] for name in stored.files}
            except (ValueError, EOFError, zipfile.BadZipFile) as error:
                raise ValueError(
                    f"{str(path)!r} is no structmargin model, or it is damaged: save it again"
                ) from error
        return cls.from_arrays(arrays, problem)
