"""Profiles: how well each residue fits each place of a chain, from the chain's homologues.

    score[i, c] = log2(q_i(c) / p(c)),    q_i = (alpha f_i + 10 g_i) / (alpha + 10)

f_i are the weighted frequencies of column i (position-based weights, Henikoff and Henikoff 1994), g_i what
BLOSUM62 expects beside the chain's own residue, and alpha the mean number of different residues in a column
less 1, as PSI-BLAST mixes them (Altschul et al. 1997). Without homologues a profile is BLOSUM62 itself.

A family's homologues are aligned with all its chains, so one that is near the target would tell how the
target is aligned with the template. Each homologue therefore counts for one chain alone: the member of
the family with which it shares most residues, and for none where two share equally many.
"""

from __future__ import annotations

import functools

import numpy as np

from structmargin.problems.proteins.features import RESIDUES
from structmargin_suite.datasets.homstrad.pir import GAP

MAX_HOMOLOGUES = 200
"""Only this many homologues of a chain, the first in the file, are used."""
PSEUDOCOUNTS = 10.0
STEP = 0.1
"""Scores are stored as whole multiples of this many bits."""


@functools.cache
def blosum() -> np.ndarray:
    """BLOSUM62 in half bits, (20, 20) in the order of RESIDUES."""
    from Bio.Align import substitution_matrices

    matrix = substitution_matrices.load("BLOSUM62")
    return np.array([[matrix[a, b] for b in RESIDUES] for a in RESIDUES])


@functools.cache
def expected() -> tuple[np.ndarray, np.ndarray]:
    """(p, g): the background (20,) and g[a], what stands beside residue a, that BLOSUM62 goes with."""
    odds = 2.0 ** (blosum() / 2)
    p = np.full(20, 0.05)
    for _ in range(200):  # the background under which every row of p_a p_b odds_ab adds up to p_a
        p = p * np.sqrt(1.0 / (odds @ p))
        p /= p.sum()
    joint = p[:, None] * odds * p
    return p, joint / joint.sum(axis=1, keepdims=True)


def nearest(members: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The member each other row shares most residues with, -1 where the first two share equally many.

    Both are rows of codes over the same columns, (k, columns) and (r, columns).
    """
    shared = np.stack([((others == member) & (member != GAP)).sum(axis=1) for member in members])
    order = np.sort(shared, axis=0)
    tied = order[-1] == order[-2] if len(members) > 1 else np.zeros(others.shape[0], dtype=bool)
    return np.where(tied, -1, shared.argmax(axis=0))


def profile(chain: np.ndarray, homologues: np.ndarray) -> np.ndarray:
    """Scores (n, 20) as int8 in steps of STEP bits, for a chain (n,) and homologues (r, n) over its places.

    Both are rows of codes; GAP where a homologue has no residue.
    """
    p, g = expected()
    rows = np.vstack([chain[None], homologues[:MAX_HOMOLOGUES]]).astype(np.int64)
    n = len(chain)
    present = rows < 20
    counts = np.zeros((n, 20))
    place = np.broadcast_to(np.arange(n), rows.shape)
    np.add.at(counts, (place[present], rows[present]), 1.0)
    different = (counts > 0).sum(axis=1)
    share = np.zeros(rows.shape)
    share[present] = 1.0 / (different[place[present]] * counts[place[present], rows[present]])
    weight = share.sum(axis=1) / np.maximum(present.sum(axis=1), 1)
    f = np.zeros((n, 20))
    np.add.at(f, (place[present], rows[present]), np.broadcast_to(weight[:, None], rows.shape)[present])
    f /= f.sum(axis=1, keepdims=True)
    alpha = float(different.mean()) - 1.0
    q = (alpha * f + PSEUDOCOUNTS * g[chain]) / (alpha + PSEUDOCOUNTS)
    return np.clip(np.rint(np.log2(q / p) / STEP), -127, 127).astype(np.int8)
