"""WIPO-alpha's own XML: a made-up folder in its layout, end to end."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from helpers.foreign_files import foreign
from helpers.toy_project import project, run_all, write_config
from structmargin.problems import Taxonomy
from structmargin_suite.cli import main
from structmargin_suite.datasets import dataset, patents, wipo_alpha
from structmargin_suite.datasets._sparse import csr_of
from structmargin_suite.rerun.unfit import unfit
from structmargin_suite.results import Results
from structmargin_suite.storage.bundle import Bundle
from structmargin_suite.storage.errors import DataError
from structmargin_suite.storage.frames import records
from structmargin_suite.storage.layout import ScaleLayout

RECORD = """<?xml version="1.0" encoding="iso-8859-1"?>
<!DOCTYPE record SYSTEM "../../../../../types.dtd">
<record cy="WO" pn="WO{number}">
<ipcs ed="7" mc="{code}"><ipc ic="A01B00100"/></ipcs>
<tis><ti xml:lang="EN">{title}</ti><ti xml:lang="FR">Filature \xe9lastique</ti></tis>
<abs><ab xml:lang="EN">abstraction</ab></abs>
<cls><cl xml:lang="EN">{claims}</cl></cls>
<txts><txt xml:lang="EN">description</txt></txts>
</record>
"""
GROUPS = {"D01F006": "polymer filaments", "D01F009": "carbon fibres", "D01H001": "spinning machine",
          "D06M015": "textile finishing"}  # fmt: skip
CONFIG = {
    "title": "Patents", "paper": "jmlr05", "where": "5.1", "about": "Patents.",
    "data": {
        "wipo-alpha": {"from": "wipo_alpha", "source": "file", "path": "wipo-alpha", "papers_own": True},
    },
    "problem": {"name": "Taxonomy"},
    "methods": {
        "tax": {"formulation": "SVM1 slack", "solver": "n_slack", "C_per_example": 1.0, "gap_tol": 0.01,
                "view": {"features": "taxonomy"}},
    },
    "studies": {"table 1": {"methods": ["tax"], "vary": {"instances_per_class": [4, 2], "round": 2}}},
    "tables": {
        "patents": {"caption": "T.", "study": "table 1", "keys": ["instances_per_class", "method"],
                    "measures": ["test_accuracy", "test_loss"], "over": ["round"]},
    },
    "scales": {"smoke": {}, "standard": {}, "paper": {}},
}  # fmt: skip


def write(path: Path, **change: str) -> Path:
    given = {"number": "1", "code": "D01F00608", "title": "A title", "claims": "A claim", **change}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(RECORD.format(**given), encoding="latin-1")
    return path


def collection(folder: Path) -> Path:
    """Six patents of each group, four to train on; the k-th of a group has k claims about it."""
    number = 0
    for group, words in GROUPS.items():
        for k in range(6):
            number += 1
            subset = "train" if k < 4 else "test"
            place = folder / subset / group[0] / group[1:3] / group[3] / group[4:] / f"WO{number}.xml"
            write(place, number=str(number), code=f"{group}{k:02d}", title=words, claims=f"The {words}. " * k)
    return folder


def parsed(folder: Path) -> dict[str, np.ndarray]:
    made = dataset("wipo_alpha")
    return made.parse(made.own_folder(folder), 0)


def refused(folder: Path) -> str:
    with pytest.raises(DataError) as error:
        parsed(folder)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_titles_and_claims_in_english_are_counted_by_main_group(tmp_path):
    arrays = parsed(collection(tmp_path))
    assert arrays["codes"].tolist() == list(GROUPS)
    assert np.bincount(arrays["y"]).tolist() == [6] * 4
    counts = csr_of(arrays).toarray()
    # carbon, fibr, filament, finish, machin, polym, spin, textil: no French, abstract, description, stop word
    assert counts.shape == (24, 8)
    # in the order of the names: test first, with 4 and 5 claims, and a title
    assert counts[0].tolist() == [0, 0, 5, 0, 0, 5, 0, 0] and counts[1].tolist() == [0, 0, 6, 0, 0, 6, 0, 0]
    assert sorted(counts[arrays["y"] == 3].sum(axis=1).tolist()) == [2, 4, 6, 8, 10, 12]


def test_views_have_the_tree_of_the_codes_and_words_of_the_training_set(tmp_path):
    arrays = parsed(collection(tmp_path))
    for features, per_class in (("flat", 2), ("taxonomy", 4)):
        split = wipo_alpha.view(arrays, 3, instances_per_class=per_class, round=1, features=features)
        assert np.bincount(split.train.Y).tolist() == [per_class] * 4
        problem = Taxonomy(**split.problem)
        problem.check(*split.train)
        problem.check(*split.test)
        # groups of one subclass, of one class, of the section: 1, 2, 3
        assert problem.losses().tolist() == [[0, 1, 2, 3], [1, 0, 2, 3], [2, 2, 0, 3], [3, 3, 3, 0]]
        shared = [[4, 3, 2, 1], [3, 4, 2, 1], [2, 2, 4, 1], [1, 1, 1, 4]]
        assert problem.L.tolist() == (shared if features == "taxonomy" else np.eye(4).tolist())
        assert np.allclose(split.train.X.multiply(split.train.X).sum(axis=1), 1.0)
    assert wipo_alpha.score([0, 1], [0, 0])["accuracy"] == 50.0


def test_main_groups_that_share_two_digits_are_different_classes(tmp_path):
    folder = collection(tmp_path)
    codes = parsed(folder)["codes"].tolist()
    assert {"D01F006", "D01F009"} < {*codes} and len({code[:6] for code in codes}) == 3
    assert patents.parents(codes)["D01F006"] == "D01F"


def test_other_sections_and_languages_are_left_out(tmp_path):
    folder = collection(tmp_path)
    (folder / "train" / "A" / "01").mkdir(parents=True)
    (folder / "train" / "A" / "01" / "broken.xml").write_text("never read")
    write(folder / "train" / "B.xml", code="B01F00608")
    mixed = write(folder / "train" / "none.xml", title="Fibres &amp; <sub>carbon</sub>&unknown;spinning")
    mixed.write_text(mixed.read_text("latin-1").replace(' xml:lang="EN"', ""), "latin-1")
    arrays = parsed(folder)
    assert len(arrays["y"]) == 25 and "train/A/01/broken.xml" not in wipo_alpha.own_folder(folder)
    # carbon, claim, fibr, ..., spin, textil, titl: the entity that is not known parts words
    row = csr_of(arrays)[24].toarray()[0]
    assert row.sum() == 4 and csr_of(arrays).shape[1] == 9


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"code": "D01"}, "the main code is 'D01', not one such as D01F00608"),
        ({"code": ""}, "the main code is ''"),
        ({"title": "<b>", "claims": "x"}, "line 5: the XML is not well-formed (mismatched tag)"),
        ({"title": "of the", "claims": "12"}, "has no English word in its title (ti) or claims (cl)"),
    ],
)
def test_a_faulty_patent_is_named(tmp_path, change, said):
    path = write(collection(tmp_path) / "test" / "odd.xml", **change)
    assert refused(tmp_path).startswith(str(path)) and said in refused(tmp_path)


@pytest.mark.parametrize(
    "declared",
    [
        '<!DOCTYPE record [<!ENTITY a "spinning">]>',
        '<!DOCTYPE record [<!ENTITY a SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE record [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE record SYSTEM "types.dtd" [<!ENTITY % p SYSTEM "p.dtd"> %p;]>',
    ],
)
def test_declarations_of_entities_are_refused(tmp_path, declared):
    path = write(collection(tmp_path) / "train" / "odd.xml", title="&a;")
    text = path.read_text("latin-1").splitlines()
    path.write_text("\n".join([text[0], declared, *text[2:]]), "latin-1")
    assert refused(tmp_path).startswith(f"{path}, line 2: the document declares types or entities of its own")


def test_a_type_that_is_named_is_not_opened(tmp_path):
    folder = collection(tmp_path)
    before = csr_of(parsed(folder)).toarray()
    path = next((folder / "train").rglob("*.xml"))
    text = path.read_text("latin-1")
    (path.parent / "types.dtd").write_text('<!ENTITY a "smuggled">')
    path.write_text(
        text.replace("../../../../../types.dtd", "types.dtd").replace("</ti>", "&a;</ti>", 1), "latin-1"
    )
    assert np.array_equal(csr_of(parsed(folder)).toarray(), before)


def test_folders_that_lack_something_are_told(tmp_path):
    folder = collection(tmp_path / "wipo")
    for path in (folder / "test").rglob("*.xml"):
        path.unlink()
    assert refused(folder).startswith(f"{folder} has no .xml file below test; name the folder of WIPO-alpha")
    assert refused(tmp_path).startswith(f"{tmp_path} has no .xml file below train")
    for subset in ("train", "test"):
        write(tmp_path / "others" / subset / "a.xml", code="A01B00100")
    assert "others are of other sections than D" in refused(tmp_path / "others")


def test_a_file_of_another_kind_is_an_error_that_names_it(tmp_path):
    odd = write(collection(tmp_path) / "test" / "odd.xml")
    tried = list(foreign())[::8]
    for data in tried:
        odd.write_bytes(data)
        assert str(odd) in refused(tmp_path)
    assert tried


def test_the_stand_in_has_the_papers_size():
    made = wipo_alpha.synthesize(1)
    assert len(made["codes"]) == 160 and len(made["y"]) == 1710


def test_the_whole_pipeline_runs_on_own_patents_and_is_bound_to_their_files(tmp_path, capsys):
    folder = collection(tmp_path / "wipo-alpha")
    root = project(tmp_path, CONFIG)
    assert main(["--root", str(root), "check"]) == 0
    assert "toy, wipo-alpha: here: from wipo-alpha" in capsys.readouterr().out
    suite = run_all(root)
    results = Results(root)["toy"]
    assert results.summary["runs"] == {"done": 4, "skipped": 0, "failed": 0}
    assert all(row["test_accuracy"] == 100.0 for row in records(results.runs))  # no group shares a word
    assert results.papers_own("wipo-alpha")
    corpus = ScaleLayout(root, suite.scale).corpus("toy", "wipo-alpha")
    files = Bundle(corpus).about["files"]
    name = "train/D/01/F/006/WO1.xml"
    assert len(files) == 24 and files[name] == hashlib.sha256((folder / name).read_bytes()).hexdigest()
    assert list(unfit(suite, ["toy"])) == []
    write(folder / name, title="other words")
    assert corpus in [fault.path for fault in unfit(suite, ["toy"])]


def test_the_check_says_in_one_sentence_what_is_missing(tmp_path, capsys):
    root = project(tmp_path, CONFIG)
    assert main(["--root", str(root), "check"]) == 1
    assert "missing: there is no folder wipo-alpha; name yours as `path`" in capsys.readouterr().out
    (tmp_path / "wipo-alpha").mkdir()
    assert main(["--root", str(root), "check"]) == 1
    assert "wipo-alpha has no .xml file below train" in capsys.readouterr().out
    for source in ("auto", "real"):
        write_config(root, {**CONFIG, "data": {"wipo-alpha": {"from": "wipo_alpha", "source": source}}})
        assert main(["--root", str(root), "check"]) == 1
        assert "data set 'wipo_alpha' cannot be fetched; use source: file" in capsys.readouterr().err
