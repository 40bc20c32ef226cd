"""Effects for cacm09 Section 2.5: the perceptron against the structural SVM, by draws of training sets."""

from __future__ import annotations

from structmargin_suite.analysis.estimates import Estimate, corrected_t
from structmargin_suite.statements.cases import Case, effect

PERCEPTRON = "Perceptron"


def _more_errors(case: Case, study: str, measure: str, rival: str, by: str) -> Estimate:
    """The perceptron's error minus the SVM's over draws that overlap."""
    differences = case.paired(study, measure, PERCEPTRON, rival, by=by)
    split = case.experiment.split(case.runs(study, PERCEPTRON)["run"].iloc[0])
    return corrected_t(differences, case.level, len(split.test.Y) / len(split.train.Y))


@effect("perceptron-less-accurate-ner", study="methods", methods=["SVM"])
def named_entities(case: Case) -> Estimate:
    """Token error over random draws of sentences."""
    return _more_errors(case, "methods", "test_error", "SVM", "repetition")


@effect("perceptron-less-accurate-ocr", study="folds", methods=["S-SVM"])
def handwriting(case: Case) -> Estimate:
    """Letter error over rotations of the folds."""
    return _more_errors(case, "folds", "test_letter_error", "S-SVM", "rotation")
