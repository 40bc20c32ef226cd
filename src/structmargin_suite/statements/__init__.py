"""What the papers state, judged on our results: cases and effects, one rule per kind, causes, verdicts."""
