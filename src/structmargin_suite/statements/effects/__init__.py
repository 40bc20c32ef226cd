"""How effects are computed, one module per experiment; statements/cases.py says how they are registered."""
