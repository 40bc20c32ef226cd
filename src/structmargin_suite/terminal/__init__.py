"""What a run shows on the terminal: how far it is, what it does, what failed."""
