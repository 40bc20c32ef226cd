"""One thread for linear algebra, and the same examples from hypothesis in every run."""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

settings.register_profile(
    "same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("same")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that wait for whole runs begin first, the longest before all: nobody waits for them then."""
    first = ("test_elsewhere.py", "test_workflow.py")
    items.sort(key=lambda item: first.index(item.path.name) if item.path.name in first else len(first))
