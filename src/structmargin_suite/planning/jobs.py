"""The runs of an experiment shared out among jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from structmargin_suite.planning.runs import Job, Run, refuse_long_name, slug


def grouped_into_jobs(
    experiment: str,
    runs: Sequence[Run],
    by: Sequence[str],
    at_most: int | None,
    alone: Sequence[Mapping[str, Any]] = (),
) -> list[Job]:
    """The jobs of an experiment.

    Runs that agree in the settings `by` belong to one group, and each group is a job; with more groups than
    `at_most`, the groups go to that many jobs in turn. A group that has only runs with the settings of an
    entry of `alone` is a job of its own in any case, with the entry's `threads`.
    """
    groups: dict[str, list[Run]] = {}
    written: dict[str, str] = {}  # labels that differ only in case are one job
    for run in runs:
        label = ",".join(f"{slug(key)}={slug(run.settings.get(key))}" for key in by) or "all"
        refuse_long_name(experiment, label)
        groups.setdefault(written.setdefault(label.casefold(), label), []).append(run)
    by_themselves = []
    for entry in alone:
        settings = {key: value for key, value in entry.items() if key != "threads"}
        for label, members in list(groups.items()):
            if all(settings.items() <= run.settings.items() for run in members):
                by_themselves.append(Job(experiment, label, tuple(groups.pop(label)), int(entry["threads"])))
    return by_themselves + _shared_out(experiment, groups, at_most)


def _shared_out(experiment: str, groups: Mapping[str, list[Run]], at_most: int | None) -> list[Job]:
    """The groups as jobs, `at_most` so many."""
    if at_most is None or len(groups) <= at_most:
        return [Job(experiment, label, tuple(members)) for label, members in groups.items()]
    shares: list[list[Run]] = [[] for _ in range(at_most)]
    for position, members in enumerate(groups.values()):
        shares[position % at_most] += members
    return [
        Job(experiment, f"{position + 1}-of-{at_most}", tuple(share)) for position, share in enumerate(shares)
    ]
