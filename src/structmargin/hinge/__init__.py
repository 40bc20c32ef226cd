"""Sums of hinges over independent rows, the linear SVM among them, to a certified duality gap."""
