"""Labels of a sequence: chains with a window of features (jmlr05 Section 5.2, jkse09 Section 5.3)."""
