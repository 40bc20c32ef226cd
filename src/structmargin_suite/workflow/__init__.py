"""What the Snakefile asks: files and keys of jobs (pipeline), a check beforehand, and what a run says."""

from structmargin_suite.workflow.pipeline import Pipeline

__all__ = ["Pipeline"]
