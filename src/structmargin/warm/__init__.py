"""Compiling all hot loops at once, in parallel, so that nobody waits for them later."""
