"""Labels of a whole sample, judged by F1, break-even point, ROC area and the like (cacm09 Section 3.3)."""
