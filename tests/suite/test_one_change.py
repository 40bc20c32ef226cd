"""One value changed in one config is found in the table, in the statement and on the page."""

from __future__ import annotations

import copy

from helpers.toy_project import TOY, project, run_all, write_config
from structmargin_suite.results import Results


def shown(root):
    results = Results(root)
    table = results["toy"].table("toy")
    value = table[(table["n_train"] == 24) & (table["measure"] == "test_error")]["value"].item()
    stated = results.statements().set_index("id")
    pages = "".join((root / "results" / name).read_text() for name in ("index.html", "toy/index.html"))
    return (
        value,
        stated.loc["bound-risk-margin", "evidence"],
        pages,
    )


def test_another_c_changes_the_table_the_statement_and_the_page(tmp_path):
    root = project(tmp_path)
    run_all(root)
    value, evidence, page = shown(root)
    changed = copy.deepcopy(TOY)
    changed["methods"]["margin"]["C"] = 0.002
    write_config(root, changed)
    run_all(root)
    other_value, other_evidence, other_page = shown(root)
    assert value != other_value and evidence != other_evidence
    assert "runs of toy" in evidence and "0 of" in evidence and "0 of" in other_evidence
    for text, kept in ((page, (value, evidence)), (other_page, (other_value, other_evidence))):
        assert f"{kept[0]:.1f}" in text and kept[1] in text
    assert other_evidence not in page and evidence not in other_page
    assert "C = 0.002" in other_page and "C = 0.002" not in page
