"""Learning problems: each is Psi, Delta and one oracle."""

from structsvm.problems.alignment import Alignment
from structsvm.problems.multiclass import Multiclass
from structsvm.problems.sequence import Sequence

__all__ = ["Alignment", "Multiclass", "Sequence"]
