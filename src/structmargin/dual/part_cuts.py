"""What the ascent does with `PartCuts`: cuts as short rows over the parts of their example.

A column stands for the features of one part at the weights of one label. Its product with w is computed when
a cut of the open block first asks for it, and serves all cuts of the block; what is moved is summed up by
columns, and carried into w when the block is closed.
"""

from __future__ import annotations

import numpy as np

from structmargin.compiled import compiled, overload
from structmargin.dual.compiled_cuts import (
    PartCuts,
    close_block,
    gathered,
    inner,
    move,
    open_block,
    scattered,
)


@overload(open_block)
def _open_block(cuts, i, k):  # type: ignore[no-untyped-def]
    if cuts.instance_class is not PartCuts:
        return None

    def parts(cuts, i, k):  # type: ignore[no-untyped-def]
        cuts.now[0] += 1
        cuts.now[1] = i

    return parts


@overload(inner)
def _inner(cuts, c):  # type: ignore[no-untyped-def]
    if cuts.instance_class is not PartCuts:
        return None

    def parts(cuts, c):  # type: ignore[no-untyped-def]
        total, opening, first = 0.0, cuts.now[0], cuts.offsets[cuts.now[1]]
        j, last = cuts.start[c], cuts.start[c + 1]
        while j < last and cuts.indices[j] < cuts.direct:
            column = np.uint32(cuts.indices[j])
            if cuts.known[column] != opening:
                part = first + cuts.part[column]
                lo, hi = cuts.part_start[part], cuts.part_start[part + 1]
                cuts.u[column] = gathered(
                    cuts.part_data[lo:hi], cuts.part_columns[lo:hi], cuts.w, cuts.label[column]
                )
                cuts.known[column] = opening
            total += cuts.data[j] * cuts.u[column]
            j += 1
        return total + gathered(cuts.data[j:last], cuts.indices[j:last], cuts.w, cuts.shift)

    return parts


@overload(move)
def _move(cuts, c, amount):  # type: ignore[no-untyped-def]
    if cuts.instance_class is not PartCuts:
        return None

    def parts(cuts, c, amount):  # type: ignore[no-untyped-def]
        j, last, n_moved = cuts.start[c], cuts.start[c + 1], cuts.now[2]
        while j < last and cuts.indices[j] < cuts.direct:
            column = np.uint32(cuts.indices[j])
            if not cuts.is_moved[column]:
                cuts.is_moved[column] = True
                cuts.moved[n_moved] = column
                n_moved += 1
            cuts.change[column] += amount * cuts.data[j]
            j += 1
        cuts.now[2] = n_moved
        scattered(cuts.data[j:last], cuts.indices[j:last], cuts.w, cuts.shift, amount)

    return parts


@overload(close_block)
def _close_block(cuts, i):  # type: ignore[no-untyped-def]
    if cuts.instance_class is not PartCuts:
        return None

    def parts(cuts, i):  # type: ignore[no-untyped-def]
        first = cuts.offsets[i]
        for k in range(cuts.now[2]):
            column = np.uint32(cuts.moved[k])
            part = first + cuts.part[column]
            lo, hi = cuts.part_start[part], cuts.part_start[part + 1]
            data, columns = cuts.part_data[lo:hi], cuts.part_columns[lo:hi]
            scattered(data, columns, cuts.w, cuts.label[column], cuts.change[column])
            cuts.change[column], cuts.is_moved[column] = 0.0, False
        cuts.now[2] = 0

    return parts


@compiled
def link_parts(cuts, first, block, blocks, norms2):  # type: ignore[no-untyped-def]
    """Fill the pool of the cuts from `first` on; cuts.w is scratch, all 0, and is left so."""
    for c in range(first, block.shape[0]):
        i = block[c]
        move(cuts, c, 1.0)
        close_block(cuts, i)
        open_block(cuts, i, blocks.size[i])
        for p in range(blocks.place[c] + 1):
            cuts.pool[cuts.pool_at[c] + p] = inner(cuts, blocks.members[i, p])
        norms2[c] = cuts.pool[cuts.pool_at[c] + blocks.place[c]]
        for j in range(cuts.start[c], cuts.start[c + 1]):
            column = cuts.indices[j]
            if column >= cuts.direct:
                cuts.w[column + cuts.shift] = 0.0
                continue
            part, label = cuts.offsets[i] + cuts.part[column], cuts.label[column]
            for q in range(cuts.part_start[part], cuts.part_start[part + 1]):
                cuts.w[cuts.part_columns[q] + label] = 0.0


@compiled
def parts_first(data, indices, start, first, last, direct):  # type: ignore[no-untyped-def]
    """Put the columns from `direct` on last in each of the rows first:last, else in the order they had."""
    for c in range(first, last):
        row, values = indices[start[c] : start[c + 1]].copy(), data[start[c] : start[c + 1]].copy()
        end = start[c]
        for of_part in (True, False):
            for j in range(row.shape[0]):
                if (row[j] < direct) == of_part:
                    indices[end], data[end] = row[j], values[j]
                    end += 1
