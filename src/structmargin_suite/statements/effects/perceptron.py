"""Effects for cacm09 Section 2.5: the perceptron against the structural SVM, by draws of training sets."""

from __future__ import annotations

from structmargin_suite.analysis.estimates import Estimate, corrected_t
from structmargin_suite.analysis.experiments.ner import overlap
from structmargin_suite.statements.cases import Case, effect

PERCEPTRON = "Perceptron"


@effect("perceptron-less-accurate-ner", study="methods", methods=["SVM"])
def named_entities(case: Case) -> Estimate:
    """Token error over random draws of sentences."""
    differences = case.paired("methods", "test_error", PERCEPTRON, "SVM", by="repetition")
    return corrected_t(differences, case.level, overlap(case.experiment, case.corpus))
