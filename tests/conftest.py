"""One thread for linear algebra, and the same examples from hypothesis in every run."""

import os
from collections import Counter

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
    first = ("test_elsewhere.py", "test_disturbed_runs.py", "test_damaged_files.py", "test_workflow.py")
    items.sort(key=lambda item: first.index(item.path.name) if item.path.name in first else len(first))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How the faults ended that were inflicted on whole runs (tests/tools)."""
    counts: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed"):
        kept = dict(report.user_properties)
        if report.when == "call" and "outcome" in kept:
            counts[str(kept["outcome"])] += int(str(kept["faults"]))
    if counts:
        healed, told = counts["healed"], counts["sentence"]
        terminalreporter.write_line(f"faults: {healed} healed, {told} ended in a sentence and then healed")
