"""Searches of many examples side by side: threads for batches, workers of joblib for problems in Python."""
