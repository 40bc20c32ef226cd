"""Microseconds per local alignment of two strings of 50 letters, beside parasail and Biopython.

All run on one thread over the same pairs with whole-number weights, so that the scores must agree
exactly; each figure is CPU time, the best of several rounds. Rows with a path also recover one best
alignment; ours can count its operations too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from Bio import Align
from Bio.Align import substitution_matrices
from fresh import cpu_seconds
from ledger import Ledger

from structmargin.oracles.smith_waterman import align, count_steps, pack, scores
from structmargin_suite.datasets.alignment import random_letters

LETTERS = "ACDEFGHIKLMNPQRSTVWY"
N_PAIRS, LENGTH, ROUNDS = 2000, 50, 7


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(0)
    strings = list(random_letters(rng, (2 * N_PAIRS, LENGTH), len(LETTERS)))
    pairs = np.arange(2 * N_PAIRS).reshape(N_PAIRS, 2)
    half = rng.integers(-3, 2, size=(20, 20)).astype(float)
    substitution, gap = (
        half + half.T + 5.0 * np.eye(20),
        -2.0,
    )  # symmetric: parasail's kernels differ in order
    packed, text = pack(strings), ["".join(LETTERS[c] for c in string) for string in strings]

    def with_counts() -> np.ndarray:
        aligned = align(packed, pairs, substitution, gap)
        count_steps(packed, pairs, aligned, substitution.shape)
        return aligned.score

    rows: list[tuple[str, Callable[[], np.ndarray]]] = [
        ("ours, score only", lambda: scores(packed, pairs, substitution, gap)),
        ("ours, path", lambda: align(packed, pairs, substitution, gap).score),
        ("ours, path and counts", with_counts),
        ("Biopython PairwiseAligner, path", biopython(text, substitution, gap)),
    ]
    absent = []
    try:
        for name, path in (("trace kernel alone", False), ("path", True)):
            rows.append((f"parasail sw_trace_scan_16, {name}", parasail(text, substitution, gap, path)))
    except ImportError:
        note = "not there: parasail is not installed, for want of a wheel"
        absent = [{"program": "parasail sw_trace_scan_16", "note": note}]

    expected = rows[0][1]()
    best: dict[str, float] = {}
    for name, run in rows:
        if not np.array_equal(run(), expected):
            raise SystemExit(f"{name} finds other scores")
        best[name] = min(cpu_seconds(run) for _ in range(ROUNDS)) / N_PAIRS * 1e6
    ours = best["ours, path and counts"]
    compared = [
        {"program": name, "us per alignment": value}
        | ({} if name.startswith("ours") else {"ours, us": ours, "times": value / ours})
        for name, value in best.items()
    ]
    columns = ["program", "us per alignment", "ours, us", "times", "note"]
    text = f"{N_PAIRS} pairs of {LENGTH} x {LENGTH} letters; all scores agree. Ours: with path and counts."
    with Ledger("smith_waterman") as ledger:
        ledger.add("Local alignment", compared + absent, columns, text)


def biopython(text: list[str], substitution: np.ndarray, gap: float) -> Callable[[], np.ndarray]:
    """Biopython's first optimal alignment of every pair, with its coordinates."""
    aligner = Align.PairwiseAligner(mode="local", open_gap_score=gap, extend_gap_score=gap)
    aligner.substitution_matrix = substitution_matrices.Array(LETTERS, dims=2, data=substitution)

    def run() -> np.ndarray:
        first = [aligner.align(a, b)[0] for a, b in zip(text[::2], text[1::2], strict=True)]
        return np.array([alignment.score for alignment in first if alignment.coordinates.size])

    return run


def parasail(text: list[str], substitution: np.ndarray, gap: float, path: bool) -> Callable[[], np.ndarray]:
    """Its traceback kernel, which fills a table, and with `path` also the path read from it."""
    import parasail as peer

    matrix = peer.matrix_create(LETTERS, 1, -1)
    for a in range(len(LETTERS)):
        for b in range(len(LETTERS)):
            matrix[a, b] = int(substitution[a, b])
    cost = int(-gap)

    def run() -> np.ndarray:
        score = []
        for a, b in zip(text[::2], text[1::2], strict=True):
            aligned = peer.sw_trace_scan_16(a, b, cost, cost, matrix)
            if path:
                aligned.get_cigar()
            score.append(aligned.score)
        return np.array(score, dtype=float)

    return run


if __name__ == "__main__":
    main()
