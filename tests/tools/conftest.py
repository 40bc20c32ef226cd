"""A finished project that many tests copy and then disturb."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.outcomes import finished_project, once


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory) -> Path:
    """Three experiments that were run to the end in peace; nobody changes this folder."""
    return once(tmp_path_factory, "undisturbed", finished_project) / "project"
