"""Learning problems: each is Psi, Delta and one oracle."""

from structmargin.problems.alignment import Alignment
from structmargin.problems.diversity import Diversity
from structmargin.problems.grammar import Grammar
from structmargin.problems.localization import Localization
from structmargin.problems.measures import Measure
from structmargin.problems.multiclass import Multiclass
from structmargin.problems.proteins import ProteinAlignment
from structmargin.problems.sequence import Sequence
from structmargin.problems.taxonomy import Taxonomy

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
