"""The dual over the cuts found so far: cuts and their combination (stores), the block QP and its ascent."""
