"""The seven commands of the pipeline, one module each, and what they share."""
