"""Names from configs and columns as the words that people say."""

from __future__ import annotations

WORDS = {
    "n_train": "training examples",
    "f1": "F1",
    "prbep": "break-even point",
    "roc_area": "ROC area",
    "C_per_example": "C per example",
    "nu": "ν",
    "eps": "ε",
    "n_slack": "n-slack",
    "n_slack_a": "n-slack, variant (a)",
    "n_slack_b": "n-slack, variant (b)",
    "one_slack": "1-slack",
    "bcfw": "block-coordinate Frank-Wolfe",
}
"""Names whose own words are not those that people say."""


def in_words(name: str) -> str:
    """A name from a config or a column as words.

    Examples
    --------
    >>> in_words("tree_loss"), in_words("nu")
    ('tree loss', 'ν')
    """
    return WORDS.get(name, name.replace("_", " "))
