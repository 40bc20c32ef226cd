"""The same configuration under another seed: run apart, kept with its keys, and read only where these fit."""

from __future__ import annotations

import copy
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers.toy_project import HERE, TOY, project, run_all, write_config
from structmargin_suite.cli import main
from structmargin_suite.planning.plan import load
from structmargin_suite.rerun import job_keys, seeds
from structmargin_suite.storage.csv_files import read_csv
from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.layout import ScaleLayout

STATEMENT = "bound-risk-margin"


@pytest.fixture(scope="module")
def repeated(tmp_path_factory):
    """A finished toy project, and its verdicts under the seed 8; all stages run in this process."""
    root = project(tmp_path_factory.mktemp("seeds"))
    stated = root / "data" / "published" / "statements.yaml"
    head, name, rest = stated.read_text().partition(f"{{id: {STATEMENT}, ")
    stated.write_text(f"{head}{name}experiment: toy, {rest}")
    for name in ("workflow", "profiles"):
        (root / name).symlink_to(HERE / name)
    (root / "Snakefile").symlink_to(HERE / "Snakefile")
    run_all(root)

    def in_this_process(command, cwd, **settings):
        assert command[-1] == "scale=standard"
        run_all(Path(cwd))
        return SimpleNamespace(returncode=0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seeds, "subprocess", SimpleNamespace(run=in_this_process))
        assert main(["--root", str(root), "reseed", "8"]) == 0
    return root


@pytest.fixture
def layout(repeated):
    return ScaleLayout(repeated, "standard")


def test_another_seed_draws_other_data_and_its_verdicts_are_kept(repeated, layout):
    own = repeated / ".cache" / "seeds" / "8"
    drawn = [ScaleLayout(root, "standard").corpus("toy", "clusters").read_bytes() for root in (repeated, own)]
    assert drawn[0] != drawn[1]
    kept = read_csv(layout.seed(8) / "statements.csv")
    assert kept == read_csv(own / "results" / "statements.csv")
    found = seeds.verdicts(load(repeated), layout)
    assert found[STATEMENT, "", ""] == {8: "reproduced"}
    assert list(found) == [(STATEMENT, "", "")], "the other statements are of no experiment here"
    assert seeds.verdicts(load(repeated, seed=8), layout) == {}, "its own seed is no other one"


def test_the_page_depends_on_them(repeated, layout):
    suite = load(repeated)
    before = job_keys.page_key(suite, layout)
    moved = layout.seed(8).rename(layout.seed(9))
    assert job_keys.page_key(suite, layout) != before
    moved.rename(layout.seed(8))


def test_another_scale_shows_the_primary_verdicts_of_this_one(repeated, layout):
    text = (layout.seed(8) / "statements.csv").read_text()
    assert f"{STATEMENT}," in text
    found = seeds.at_other_scales(load(repeated, "smoke"))
    assert found == {"standard": {(STATEMENT, "", ""): {8: "reproduced"}}}
    assert seeds.at_other_scales(load(repeated, "standard")) == {}
    smoke = ScaleLayout(repeated, "smoke")
    before = job_keys.page_key(load(repeated, "smoke"), smoke)
    moved = layout.seed(8).rename(layout.seed(9))
    assert job_keys.page_key(load(repeated, "smoke"), smoke) != before
    moved.rename(layout.seed(8))


def test_verdicts_of_another_configuration_do_not_count(repeated, layout):
    changed = copy.deepcopy(TOY)
    changed["methods"]["margin"]["C"] = 0.002
    write_config(repeated, changed)
    assert (STATEMENT, "", "") not in seeds.verdicts(load(repeated), layout)
    other_words = copy.deepcopy(TOY)
    other_words["tables"]["toy"]["caption"] = "Another caption."
    write_config(repeated, other_words)
    assert (STATEMENT, "", "") in seeds.verdicts(load(repeated), layout)
    write_config(repeated, TOY)


def test_an_edited_verdict_is_refused_by_name(repeated, layout):
    path = layout.seed(8) / "statements.csv"
    text = path.read_text()
    path.write_text(text.replace("reproduced", "contradicted", 1))
    with pytest.raises(DamagedFile, match=r"8/statements\.csv: the file is not as it was written"):
        seeds.verdicts(load(repeated), layout)
    path.write_text(text)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["reseed", "7"], "7 is the seed of configs/suite.yaml itself: name another one"),
        (["reseed", "8", "--only", "toys"], "the nearest known is 'toy'"),
    ],
)
def test_what_cannot_be_repeated_is_said(repeated, given, said, capsys):
    assert main(["--root", str(repeated), *given]) == 1
    assert said in capsys.readouterr().err
