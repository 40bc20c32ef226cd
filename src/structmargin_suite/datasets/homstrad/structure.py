"""Secondary structure and accessibility of chains of which only the sequence is known, predicted.

A small neural network (scikit-learn's) reads a window of the chain's profile, WINDOW places with 20 scores
and a mark beyond the chain's ends each, and predicts the place's kind, state x access, out of 15. The
predicted state is the one with the largest sum over its kinds, and likewise the accessibility. It is trained
on master chains, whose structure DSSP gives, and never on a chain of the group of families that it predicts
(`chain_groups`): groups are dealt into folds, and the targets and masters of each fold are predicted by a
network that saw the masters of the other folds alone. Predictions for masters are compared with DSSP: that is
the accuracy that is reported.

Number of epochs, hidden units and width of the window were set once, by the accuracy on masters, before any
alignment was made with predicted structures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from structmargin.problems.proteins.features import N_ACCESS, N_PLACES, STATES
from structmargin_suite.datasets.homstrad import pir
from structmargin_suite.datasets.homstrad.pairs import ChainStructure, FamilyPair, to_arrays
from structmargin_suite.datasets.homstrad.profiles import STEP
from structmargin_suite.storage.errors import DataError

WINDOW = 15
HIDDEN, EPOCHS, BATCH = 50, 6, 256
ACCURACIES = ("states_right", "all_loop", "access_right", "largest_class")
CODE_LENGTH = 4  # of a PDB entry, at the beginning of a chain's name


class Prediction(NamedTuple):
    """The predicted structure of a pair's target, and how well that of its master was predicted.

    `counts` has the master's residues, correct states, places in a loop, correct classes of accessibility,
    and places in each class of accessibility.
    """

    target: ChainStructure
    counts: np.ndarray  # (4 + N_ACCESS,)


def chain_groups(chains: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The group of each family, named by its first family; families that share a PDB entry are of one group.

    `chains` has the names of every family's chains. Domains of one entry are in several families of HOMSTRAD.
    """
    families = list(chains)
    codes = {code: k for k, code in enumerate(sorted({n[:CODE_LENGTH] for c in chains.values() for n in c}))}
    edges = [
        (row, len(families) + codes[name[:CODE_LENGTH]])
        for row, family in enumerate(families)
        for name in chains[family]
    ]
    size = len(families) + len(codes)
    rows, columns = np.array(edges).T
    graph = sp.coo_matrix((np.ones(len(edges)), (rows, columns)), shape=(size, size))
    _, component = connected_components(graph, directed=False)
    first: dict[int, str] = {}
    return {family: first.setdefault(int(component[k]), family) for k, family in enumerate(families)}


def known_structure(target: np.ndarray, structures: Mapping[str, pir.Structure]) -> ChainStructure | None:
    """The structure of a target that is part of a master chain of any family, or None."""
    for master in structures.values():
        begin = master.residue.tobytes().find(target.tobytes())
        if begin >= 0:
            part = slice(begin, begin + len(target))
            return ChainStructure(master.state[part], master.access[part])
    return None


def with_predictions(
    pairs: Sequence[FamilyPair], seed: int, folds: int, residues: int | None
) -> dict[str, np.ndarray]:
    """The pairs as arrays, with the predicted structures of their targets and how good those of masters are.

    The parameters are those of `predictions`.
    """
    arrays = to_arrays(pairs)
    predicted = predictions(pairs, seed, folds, residues)
    return {
        **arrays,
        "predicted_state": np.concatenate([each.target.state for each in predicted]),
        "predicted_access": np.concatenate([each.target.access for each in predicted]),
        "counts": np.array([each.counts for each in predicted]),
    }


def predictions(pairs: Sequence[FamilyPair], seed: int, folds: int, residues: int | None) -> list[Prediction]:
    """One for each pair; each network is trained on at most `residues` places of masters, drawn at random."""
    rng = np.random.default_rng(seed)
    groups = np.unique([entry.group for entry in pairs])
    if len(groups) < 2:
        raise DataError(
            "all families share chains, so that no structure can be predicted from other families; use more"
        )
    order = rng.permutation(len(groups))
    fold_of = {groups[k]: place % folds for place, k in enumerate(order)}
    masters = {entry.family: entry for entry in reversed(pairs)}
    found: dict[int, Prediction] = {}
    for fold in range(min(folds, len(groups))):
        network = _trained(
            [entry for entry in masters.values() if fold_of[entry.group] != fold], rng, residues
        )
        inside = [k for k, entry in enumerate(pairs) if fold_of[entry.group] == fold]
        counts = {pairs[k].family: _counts(network, masters[pairs[k].family]) for k in inside}
        for k in inside:
            target = _predict(network, pairs[k].profiles.target)
            found[k] = Prediction(target, counts[pairs[k].family])
    return [found[k] for k in range(len(pairs))]


def windows(profile: np.ndarray) -> np.ndarray:
    """The inputs for every place of a chain, (n, 21 * WINDOW) float32, from its profile (n, 20) in STEPs."""
    n, half = len(profile), WINDOW // 2
    padded = np.zeros((n + 2 * half, 21), np.float32)
    padded[:, 20] = 1.0
    padded[half : half + n, :20] = STEP * profile.astype(np.float32)
    padded[half : half + n, 20] = 0.0
    around = np.lib.stride_tricks.sliding_window_view(padded, WINDOW, axis=0)  # (n, 21, WINDOW)
    return np.ascontiguousarray(around.transpose(0, 2, 1)).reshape(n, -1)


def _trained(masters: Sequence[FamilyPair], rng: np.random.Generator, residues: int | None) -> Any:
    from sklearn.neural_network import MLPClassifier

    X = np.concatenate([windows(entry.profiles.template) for entry in masters])
    kinds = [N_ACCESS * entry.pair.state.astype(int) + entry.pair.access for entry in masters]
    y = np.concatenate(kinds)
    kept = np.sort(rng.permutation(len(y))[:residues])
    network = MLPClassifier(
        (HIDDEN,), batch_size=min(BATCH, len(kept)), random_state=int(rng.integers(0, 2**31))
    )
    for _ in range(EPOCHS):  # partial_fit makes one epoch, so that the time is bounded
        network.partial_fit(X[kept], y[kept], classes=np.arange(N_PLACES))
    return network


def _predict(network: Any, profile: np.ndarray) -> ChainStructure:
    chances = network.predict_proba(windows(profile)).reshape(-1, len(STATES), N_ACCESS)
    return ChainStructure(
        chances.sum(axis=2).argmax(axis=1).astype(np.uint8),
        chances.sum(axis=1).argmax(axis=1).astype(np.uint8),
    )


def _counts(network: Any, master: FamilyPair) -> np.ndarray:
    predicted, known = _predict(network, master.profiles.template), master.pair
    return np.array(
        [
            len(known.residue),
            (predicted.state == known.state).sum(),
            (known.state == STATES.index("L")).sum(),
            (predicted.access == known.access).sum(),
            *np.bincount(known.access, minlength=N_ACCESS),
        ],
        dtype=np.int64,
    )


def accuracy(counts: np.ndarray) -> dict[str, float]:
    """Shares in percent over masters with these counts (masters, 4 + N_ACCESS): of correct states, and what
    it would be if every place were a loop; of correct classes of accessibility, and of the largest class."""
    n, state, loop, access, *classes = (float(number) for number in counts.sum(axis=0))
    shares = (state, loop, access, max(classes))
    return {name: 100.0 * share / n for name, share in zip(ACCURACIES, shares, strict=True)}
