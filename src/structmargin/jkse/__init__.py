"""Joint kernel support estimation (jkse09): the estimator, its pairs, its trainers, the one-class SVM."""
