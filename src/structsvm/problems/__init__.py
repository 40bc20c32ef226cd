"""Learning problems: each is Psi, Delta and one oracle."""

from structsvm.problems.alignment import Alignment
from structsvm.problems.diversity import Diversity
from structsvm.problems.grammar import Grammar
from structsvm.problems.localization import Localization
from structsvm.problems.measures import Measure
from structsvm.problems.multiclass import Multiclass
from structsvm.problems.proteins import ProteinAlignment
from structsvm.problems.sequence import Sequence
from structsvm.problems.taxonomy import Taxonomy

__all__ = [
    "Alignment",
    "Diversity",
    "Grammar",
    "Localization",
    "Measure",
    "Multiclass",
    "ProteinAlignment",
    "Sequence",
    "Taxonomy",
]
