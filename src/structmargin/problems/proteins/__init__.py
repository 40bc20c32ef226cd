"""Alignments of protein sequences with structures (cacm09 Section 3.2)."""
