"""From configs to a checked plan: configs, checks, studies, runs, and what there is to name."""
