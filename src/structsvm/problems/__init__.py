"""Learning problems: each is Psi, Delta and one oracle."""

from structsvm.problems.multiclass import Multiclass

__all__ = ["Multiclass"]
