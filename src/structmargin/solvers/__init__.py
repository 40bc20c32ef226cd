"""One training algorithm of one paper each."""
