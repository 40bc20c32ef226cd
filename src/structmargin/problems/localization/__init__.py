"""Boxes in images (jkse09 Section 5)."""
