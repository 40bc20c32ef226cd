"""A config's methods as trained models, and their certificates."""
