"""Problems as scikit-learn sees them: frozen dataclasses whose fields can be listed and searched."""

from __future__ import annotations

import difflib
from dataclasses import fields, replace
from typing import Any, Self


class Params:
    """`get_params` for `clone` and for grids over `problem__name`, and a changed copy of a problem."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments by name, untouched."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.init}  # type: ignore[arg-type]

    def with_params(self, **params: Any) -> Self:
        """A copy with some arguments changed; an unknown name is an error that suggests the nearest."""
        known = list(self.get_params())
        for name in params:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}{hint} (it has {', '.join(known)})"
                )
        return replace(self, **params)  # type: ignore[type-var]

    @property
    def n_weights(self) -> int | None:
        """The length of w; None where it depends on the inputs."""
        return None

    def check_params(self) -> None:
        """Raise ValueError unless the parameters fit together."""

    def check_loaded(self, n_weights: int | None) -> None:
        """Raise ValueError unless the parameters fit together, with so many weights where these are known."""
        self.check_params()
        known = self.n_weights
        if None not in (n_weights, known) and n_weights != known:
            raise ValueError(f"there are {n_weights} weights, but {type(self).__name__} has {known}")
