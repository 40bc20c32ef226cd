"""What the tables of a config name, and what is wrong with it: layouts, measures, values in texts."""
