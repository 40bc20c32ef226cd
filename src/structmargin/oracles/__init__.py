"""Exact searches: arrays of scores in, the best structure out. They know no w, no Psi and no C."""
