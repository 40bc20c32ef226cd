"""The list of what the papers state: the project's own, and every way in which a list can be wrong."""

from __future__ import annotations

import pytest
import yaml

from helpers.toy_project import HERE
from structmargin_suite.statements.cases import CAUSE_TESTS, effects
from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.statements_file import read_statements, statements_of

OWN = HERE / "data" / "published" / "statements.yaml"
GOOD = {
    "id": "c", "paper": "jmlr05", "where": "Table 1", "says": "A is better.", "experiment": "toy",
    "statements": [
        {"id": "c-1", "says": "A beats B.", "kind": "order", "unit": "samples",
         "published": {"effect": 2.5, "se": 0.5}, "where": "Table 2"},
        {"id": "c-2", "says": "A is like C.", "kind": "equivalence", "unit": "samples", "delta": 1.0,
         "because": "printed to a point", "side": "above", "volatile": True, "data": "any",
         "chosen": "after first look", "after_look": "that two rounds are needed"},
    ],
}  # fmt: skip


def written(path, *claims):
    path.write_text(yaml.safe_dump(list(claims)))
    return path


def test_a_list_is_read_whole(tmp_path):
    (claim,) = read_statements(written(tmp_path / "x.yaml", GOOD))
    first, second = claim.statements
    assert (claim.id, claim.says, claim.where) == ("c", "A is better.", "Table 1")
    assert (first.published, first.published_se, first.where, first.claim) == (2.5, 0.5, "Table 2", "c")
    assert (second.where, second.side, second.volatile, second.data) == ("Table 1", "above", True, "any")
    assert (second.published, second.delta, second.experiment) == (None, 1.0, "toy")
    assert (first.chosen, second.chosen) == ("", "after first look")
    assert (first.after_look, second.after_look) == ("", "that two rounds are needed")


def faulty(**change):
    statement = {**GOOD["statements"][0], **change}
    return {**GOOD, "statements": [{k: v for k, v in statement.items() if v is not None}]}


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ([], "it lists no claims"),
        ([{"id": "c"}], "entry 1 has not all of id, paper, where, says, experiment as texts"),
        ([{**GOOD, "verdict": "x"}], "entry 1 has the unknown key 'verdict'"),
        ([{**GOOD, "statements": []}], "the claim 'c' has no statements"),
        ([GOOD, GOOD], "two claims have the id 'c'"),
        ([GOOD, {**GOOD, "id": "d"}], "two statements have the id 'c-1'"),
        ([faulty(kind="rank")], "the statement 'c-1' has the kind 'rank'; there are order, equivalence"),
        ([faulty(unit=None)], "a statement of 'c' has not all of id, says, kind, unit as texts"),
        ([faulty(detla=1.0)], "a statement of 'c' has the unknown key 'detla'"),
        ([faulty(kind="slope")], "the statement 'c-1' is a slope and says neither above nor below what"),
        ([faulty(kind="equivalence")], "the statement 'c-1' is an equivalence and has no delta above 0"),
        ([faulty(delta=1.0)], "the statement 'c-1' does not say why its delta or stated value"),
        ([faulty(delta="much", because="b")], "the statement 'c-1' has no number as delta"),
        (
            [faulty(chosen="yesterday")],
            "the statement 'c-1' was chosen 'yesterday'; say before or after first look",
        ),
        ([faulty(after_look="delta")], "says what was fixed after a look, so that chosen must be"),
        ([faulty(after_look=["delta"])], "the statement 'c-1' has no text as after_look"),
        ([faulty(side="below")], "has a side other than both, above"),
        ([faulty(published=2.5)], "the statement 'c-1' has a published effect other than"),
    ],
)
def test_a_faulty_list_is_one_sentence(tmp_path, claims, said):
    path = written(tmp_path / "x.yaml", *claims)
    with pytest.raises(DamagedFile) as error:
        read_statements(path)
    assert (
        said in str(error.value) and "x.yaml" in str(error.value) and "correct the file" in str(error.value)
    )


def test_every_statement_of_the_papers_has_an_effect_or_a_reason():
    """And no effect or test of a cause is of a statement that the list does not have."""
    known = {statement.id: statement for statement in statements_of(read_statements(OWN))}
    computed = effects()
    neither = [name for name, one in known.items() if not one.untestable and name not in computed]
    both = [name for name, one in known.items() if one.untestable and name in computed]
    unlisted = sorted({*computed, *CAUSE_TESTS} - set(known))
    assert (neither, both, unlisted) == ([], [], [])


FIRST_36 = {
    "taxonomy-best", "taxonomy-features", "taxonomy-loss", "ner-discriminative", "ner-svm-best",
    "ner-formulations", "ner-support", "align-small-n", "align-sublinear", "align-epsilon",
    "align-epsilon-good", "parse-zero-one", "parse-f1", "parse-constraints", "parse-time", "parse-c",
    "bound-constraints", "bound-risk", "slack-invariance", "zero-one-equal", "one-slack-n",
    "measures-win", "measures-error-rate", "diversity-order", "greedy-bound", "protein-order",
    "jkse-fast", "jkse-noise-linear", "jkse-chi2", "jkse-nu", "jkse-ocr-fails", "jkse-kernel-matrices",
    "jkse-localization-kernel", "jkse-binary", "jkse-label-space", "jkse-scale",
}  # fmt: skip
"""The first claims; what their statements are judged by was written when verdicts were visible."""


def test_the_36_claims_are_headings():
    assert len(FIRST_36) == 36 and {claim.id for claim in read_statements(OWN)} >= FIRST_36


RULES_AFTER_A_LOOK = {
    "taxonomy-": "two whole cross-validations",
    "parse-zero-one-": "at least 30 documents or sentences",
    "parse-c-": "at least 30 documents or sentences",
    "parse-constraints-": "one training decides nothing",
    "parse-iterations-": "one training decides nothing",
    "parse-time-": "one training decides nothing",
    "parse-time-zero-one": "the test of its cause",
    "jkse-fast-share": "the test of its cause",
    "jkse-fast-calls": "Student's t",
    "jkse-localization-kernel-linear": "exact binomial",
    "perceptron-less-accurate-ocr": "crossed with rotations",
    "jkse-ocr-fails-chance": "one of the 26 letters",
}
"""How the ids of statements begin, and what of the rule that they are judged by was fixed after a look."""


def test_what_was_chosen_after_a_first_look_says_so():
    listed = {statement.id: statement for statement in statements_of(read_statements(OWN))}
    for name in ("protein-order-window-generative", "cutting-plane-precision-gap", "ner-discriminative-crf"):
        assert listed[name].chosen == "after first look", name
    for name, said in RULES_AFTER_A_LOOK.items():
        concerned = [one for key, one in listed.items() if key.startswith(name) and not one.untestable]
        assert concerned and all(said in one.after_look for one in concerned), name
