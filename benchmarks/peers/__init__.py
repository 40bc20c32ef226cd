"""Outside programs: how each is run, and its model in our own order of weights, to be scored by our primal.

A peer is asked for by a setting of its own (mostly an epsilon). It returns its CPU seconds, the peak memory
of its process and its weights; where these minimise another objective, or cannot be read, `w` is None and the
row has seconds and test error only. `missing` says in one sentence why a peer is not there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


class Data(NamedTuple):
    """A problem with its training and test examples; `test` is None where nothing is predicted."""

    problem: Any
    X: Any
    Y: Any
    test: tuple[Any, Any] | None = None


class Outcome(NamedTuple):
    """A peer's training: CPU seconds, peak megabytes, weights as ours or None, predictions of its own."""

    cpu: float
    mb: float
    w: np.ndarray | None
    yhat: Any = None


class PeerFailed(RuntimeError):
    """A peer that is there but did not do what it was asked for; the sentence says what happened."""


@dataclass(frozen=True)
class Peer:
    """One way to run an outside program.

    Attributes
    ----------
    name : str
        As it stands in the tables.
    missing : callable
        () -> one sentence why it cannot be run here, or None if it can.
    train : callable
        (data, C per example, setting) -> Outcome.
    asks : str
        What a setting is called, such as "epsilon".
    remark : str
        What a reader must know to compare it.
    """

    name: str
    missing: Callable[[], str | None]
    train: Callable[[Data, float, float], Outcome]
    asks: str = "epsilon"
    remark: str = ""


def known() -> dict[str, Peer]:
    """All peers by name."""
    from peers import crfsuite, dlib_chain, pystruct_chain, scikit, svm_hmm, svm_perf

    modules = (svm_hmm, pystruct_chain, dlib_chain, crfsuite, scikit, svm_perf)
    return {peer.name: peer for module in modules for peer in module.PEERS}
