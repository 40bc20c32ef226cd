"""Every chain of matches of a short pair, and its score step by step."""

from __future__ import annotations


def chains(n, m):
    """Every chain of matches of an n by m pair, the empty one included."""

    def after(i, j):
        yield ()
        for ii in range(i, n):
            for jj in range(j, m):
                for rest in after(ii + 1, jj + 1):
                    yield ((ii, jj), *rest)

    return list(after(0, 0))


def score(chain, S, gaps):
    """A chain's score, step by step as the module's docstring says it."""
    total = 0.0
    for k, (i, j) in enumerate(chain):
        total += S[i, j]
        if k:
            left, below = chain[k - 1]
            for step, place in enumerate(range(left + 1, i)):
                total += gaps[place, 0 if step == 0 else 1]
            for step in range(j - below - 1):
                total += gaps[i - 1, 2 if step == 0 else 3]
    return total
