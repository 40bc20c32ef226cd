"""Quantities of one experiment each, which its statements and figures share."""
