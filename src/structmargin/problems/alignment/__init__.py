"""Local alignments of a sequence with its homolog among decoys (jmlr05 Section 5.3)."""
