"""What the ascent does with `PartCuts`: cuts as short rows over the parts of their example.

A column stands for the features of one part at the weights of one label. Its product with w is computed when
a cut of the open block first asks for it, and serves all cuts of the block; what is moved is summed up by
columns, and carried into w when the block is closed.
"""

from __future__ import annotations

from structmargin.compiled import compiled, overload
from structmargin.dual.compiled_cuts import PartCuts, close_block, inner, move, open_block


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
        total, opening, first, L = 0.0, cuts.now[0], cuts.offsets[cuts.now[1]], cuts.n_labels
        for j in range(cuts.start[c], cuts.start[c + 1]):
            column = cuts.indices[j]
            if column >= cuts.direct:
                total += cuts.data[j] * cuts.w[column + cuts.shift]
                continue
            if cuts.known[column] != opening:
                part, label, product = first + cuts.part[column], cuts.label[column], 0.0
                for p in range(cuts.part_start[part], cuts.part_start[part + 1]):
                    product += cuts.part_data[p] * cuts.w[cuts.part_indices[p] * L + label]
                cuts.u[column], cuts.known[column] = product, opening
            total += cuts.data[j] * cuts.u[column]
        return total

    return parts


@overload(move)
def _move(cuts, c, amount):  # type: ignore[no-untyped-def]
    if cuts.instance_class is not PartCuts:
        return None

    def parts(cuts, c, amount):  # type: ignore[no-untyped-def]
        for j in range(cuts.start[c], cuts.start[c + 1]):
            column, step = cuts.indices[j], amount * cuts.data[j]
            if column >= cuts.direct:
                cuts.w[column + cuts.shift] += step
                continue
            if not cuts.is_moved[column]:
                cuts.is_moved[column] = True
                cuts.moved[cuts.now[2]] = column
                cuts.now[2] += 1
            cuts.change[column] += step

    return parts


@overload(close_block)
def _close_block(cuts, i):  # type: ignore[no-untyped-def]
    if cuts.instance_class is not PartCuts:
        return None

    def parts(cuts, i):  # type: ignore[no-untyped-def]
        first, L = cuts.offsets[i], cuts.n_labels
        for k in range(cuts.now[2]):
            column = cuts.moved[k]
            part, label, step = first + cuts.part[column], cuts.label[column], cuts.change[column]
            for p in range(cuts.part_start[part], cuts.part_start[part + 1]):
                cuts.w[cuts.part_indices[p] * L + label] += step * cuts.part_data[p]
            cuts.change[column], cuts.is_moved[column] = 0.0, False
        cuts.now[2] = 0

    return parts


@compiled
def link_parts(cuts, first, block, blocks, norms2):  # type: ignore[no-untyped-def]
    """Fill the pool of the cuts from `first` on; cuts.w is scratch, all 0, and is left so."""
    L = cuts.n_labels
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
                cuts.w[cuts.part_indices[q] * L + label] = 0.0
