"""Trees of a weighted context-free grammar, with the F1 loss (jmlr05 Section 5.4)."""
