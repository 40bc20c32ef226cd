"""Which measures a table may show: what evaluation finds of a model, what its data set scores, settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from structmargin_suite.datasets import dataset
from structmargin_suite.planning.config import unknown
from structmargin_suite.storage.yaml_text import Key

TRAIN, INNER = "train_", "inner_"
"""Prefixes of what is scored on the training set, and on the part of it that a choice holds out."""
LOSSES = ("train_loss", "validation_loss", "test_loss", "train_risk", "inner_error", "inner_loss")
CERTIFICATES = (
    "norm_w", "primal", "dual", "gap", "relative_gap", "mean_slack", "average_loss", "support_at_one",
    "margin", "nu", "rho", "outliers", "support",
)  # fmt: skip
COUNTS = (
    "constraints", "constraints_per_example", "active", "iterations", "oracle_calls", "C", "bound", "exact",
    "converged",
)  # fmt: skip
OF_MODELS = (*LOSSES, *CERTIFICATES, *COUNTS)
"""What evaluation and training note of a model, whatever its data."""


def known_measures(modules: Iterable[str], settings: Iterable[str]) -> list[str] | None:
    """The measures of experiments on these data sets; None where one of them does not say what it scores."""
    columns = [dataset(module).columns for module in dict.fromkeys(modules)]
    scored = [name for each in columns if each is not None for name in each]
    inner = [f"{INNER}{name.removeprefix(TRAIN)}" for name in scored if name.startswith(TRAIN)]
    return None if None in columns else list(dict.fromkeys([*scored, *OF_MODELS, *inner, *settings]))


def measure_faults(spec: Mapping[str, Any], known: list[str]) -> Iterator[tuple[Key, str]]:
    """(key below the table, sentence) for each measure of a table that no run has."""
    found_as, splits = spec.get("found_as", {}), spec.get("splits", [])
    for position, measure in enumerate(spec["measures"]):
        column = found_as.get(measure, measure)
        if not {column, *(f"{split}_{column}" for split in splits)} & set(known):
            where = ("found_as", measure) if measure in found_as else ("measures", str(position))
            yield where, unknown(column, known, "measure")
