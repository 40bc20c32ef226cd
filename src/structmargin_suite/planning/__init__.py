"""From configs to a checked plan: configs, checks, studies, runs, and the names that configs may use."""
