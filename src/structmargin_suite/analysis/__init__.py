"""Statistics and quantities of results that statements and figures share."""
