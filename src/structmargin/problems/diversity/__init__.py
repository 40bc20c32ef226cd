"""Sets of documents that cover many subtopics (cacm09 Section 3.1)."""
