"""Ours against the paper's, cell by cell, where the data are the paper's own."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from structmargin_suite.results import ExperimentResults, column

COLUMNS = (
    "experiment", "table", "measure", "primary", "value", "spread", "published", "distance", "distance_unit",
)  # fmt: skip


def compared_cells(results: Mapping[str, ExperimentResults]) -> pd.DataFrame:
    """Every cell that has a distance from a published number, in the order of experiments and tables.

    Returns
    -------
    DataFrame
        Columns `COLUMNS`; `primary` is False under a reading that is not primary.
    """
    pieces = [pd.DataFrame(columns=list(COLUMNS))]
    for name, experiment in results.items():
        for table, spec in experiment.config["tables"].items():
            cells = experiment.table(table) if "published" in spec else pd.DataFrame()
            cells = cells[column(cells, "distance").notna()] if len(cells) else cells
            if len(cells):
                others = [key for key, reading in experiment.readings.items() if not reading.primary]
                primary = ~column(cells, "reading", "").isin(others)
                pieces.append(cells.assign(experiment=name, table=table, primary=primary)[list(COLUMNS)])
    found = [piece for piece in pieces if len(piece)]
    return pd.concat(found, ignore_index=True) if found else pieces[0]
