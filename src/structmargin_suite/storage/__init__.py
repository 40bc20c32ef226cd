"""Files on disk: written whole, read within limits, bound to what they were made from, laid out."""
