"""Learning problems: each is Psi, Delta and one oracle."""

from structmargin.problems.alignment.problem import Alignment
from structmargin.problems.diversity.problem import Diversity
from structmargin.problems.grammar.problem import Grammar
from structmargin.problems.localization.problem import Localization
from structmargin.problems.measures.problem import Measure
from structmargin.problems.multiclass.problem import Multiclass
from structmargin.problems.proteins.problem import ProteinAlignment
from structmargin.problems.sequence.problem import Sequence
from structmargin.problems.taxonomy.problem import Taxonomy

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
