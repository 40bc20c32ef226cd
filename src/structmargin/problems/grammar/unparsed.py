"""Sentences without a parse: which they are, why, and what to do.

A grammar of whole rules derives only what rules of the training trees derive. A test sentence then has no
tree where one of its tags, or the sequence of children of one of its nodes, was never seen.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Sequence

MAX_NAMED = 5
"""How many sentences, and how many tags, a warning names."""


class NoParseWarning(UserWarning):
    """Some sentences have no parse under the rules that a `Grammar` learnt; their prediction is None.

    The message says how many and which, and what to do: `horizontal=1` makes rules that were never seen
    possible, further training trees bring further rules, and a tag that no training tree has must be replaced
    by one that they have.

    Examples
    --------
    >>> import warnings
    >>> from structmargin import NoParseWarning, StructuredSVM
    >>> from structmargin.problems import Grammar
    >>> X, Y = [("DT", "NN", "VBZ")], [("S", ("NP", "DT", "NN"), ("VP", "VBZ"))]
    >>> model = StructuredSVM(Grammar()).fit(X, Y)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     yhat = model.predict([("DT", "NN", "NN", "VBZ")])
    >>> yhat, caught[0].category.__name__
    ([None], 'NoParseWarning')
    """


def warn_of_unparsed(X: Sequence[Sequence[str]], trees: Sequence[object], tags: Collection[str]) -> None:
    """Warn of the sentences of X whose tree is None; `tags` are those that the grammar knows."""
    unparsed = [i for i, tree in enumerate(trees) if tree is None]
    if not unparsed:
        return
    unknown = dict.fromkeys(repr(str(tag)) for i in unparsed for tag in X[i] if str(tag) not in tags)
    warnings.warn(
        f"{len(unparsed)} of {len(trees)} sentences have no parse under the grammar's rules and get None "
        f"(number {_named(map(str, unparsed))}, counted from 0): allow rules that no training tree has with "
        "Grammar(horizontal=1), or 0, or give more training trees"
        + (f"; no training tree has the tags {_named(unknown)}: replace them" if unknown else ""),
        NoParseWarning,
        stacklevel=7,
    )


def _named(names: Iterable[str]) -> str:
    """The first few of some names as text."""
    listed = list(names)
    return ", ".join(listed[:MAX_NAMED]) + (", ..." if len(listed) > MAX_NAMED else "")
