"""A product kernel in disguise, so that it is treated as any joint kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from structmargin.kernels import Product


@dataclass(frozen=True)
class Unfactored:
    """A product kernel that does not say so: its cuts are kept by their Gram matrix, its sums by pairs."""

    kernel: Product

    def gram(self, *pairs: Any) -> np.ndarray:
        return self.kernel.gram(*pairs)

    def potentials(self, *expansion: Any) -> np.ndarray:
        return self.kernel.potentials(*expansion)
