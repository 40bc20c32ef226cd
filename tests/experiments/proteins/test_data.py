"""HOMSTRAD: what is read and what is refused, profiles, folds of families, made-up families."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest

from structmargin.problems import ProteinAlignment
from structmargin.problems.proteins.features import RESIDUES
from structmargin_suite.datasets import homstrad as data
from structmargin_suite.datasets.homstrad import pir
from structmargin_suite.datasets.homstrad.families import generate
from structmargin_suite.datasets.homstrad.pairs import Truths, examples, usable_pairs
from structmargin_suite.datasets.homstrad.profiles import STEP, blosum, expected, nearest, profile
from structmargin_suite.storage.errors import DataError

ALIGNED = ">P1;1abca\nstructureX:1abc\nMK-\nVLA*\n>P1;2xyz\nstructureX:2xyz\n-RWV\nIA*\n"
TABLE = "family\tmaster\tdssp_sequence\tdssp_ss8\tdssp_acc_A2\n"
ROW = "fam{0}\t1abca\tMKVLA\tHGB-T\t0,205,21.3,49.2,53\n"


def codes(letters: str) -> list[int]:
    return [pir.GAP if letter == "-" else RESIDUES.index(letter) for letter in letters]


def tarred(path: Path, files: dict[str, str]) -> Path:
    with tarfile.open(path, "w:xz") as out:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            out.addfile(member, io.BytesIO(text.encode()))
    return path


def archive(folder: Path, n: int = 6, aligned: str = ALIGNED, table: str = ROW, mapped: str | None = None):
    """The three files of a release of n families that are all alike."""
    homologues = aligned + ">P1;gi|1| near [ score 3 ]\nsequence\nMK-VLB*\n"
    (folder / "homstrad_master_dssp.tsv.gz").write_bytes(
        gzip.compress((TABLE + "".join(table.format(k) for k in range(n))).encode())
    )
    tarred(folder / "homstrad_ali.tar.xz", {f"homstrad_ali/fam{k}.ali": aligned for k in range(n)})
    tarred(folder / "homstrad_map.tar.xz", {f"D/fam{k}/fam{k}.map": mapped or homologues for k in range(n)})
    return {remote.name: folder / remote.name for remote in data.FILES}


def test_a_family_becomes_a_pair(tmp_path):
    arrays = data.parse(archive(tmp_path), 0, identity_below=0.9, per_family=3)
    assert arrays["family"].tolist() == [f"fam{k}" for k in range(6)]
    x, y = (part[0] for part in examples(arrays, np.array([0])))
    assert x.residue.tolist() == codes("MKVLA")
    assert x.state.tolist() == [0, 0, 1, 2, 2]
    assert x.access.tolist() == [0, 4, 2, 3, 4]  # shares 0, 1, .15, .3 and .5 of the residue's largest
    assert x.target.tolist() == codes("RWVIA")
    assert y.tolist() == [[1, 0], [2, 2], [3, 3], [4, 4]]
    assert arrays["identity"][0] == 0.5
    alone = profile(np.array(codes("MKVLA"), np.uint8), np.array([codes("MKVL-")], np.uint8))
    assert x.template_profile == pytest.approx(STEP * alone)
    lonely = profile(x.target, np.zeros((0, 5), np.uint8))  # the homologue is nearer to the template
    assert x.target_profile == pytest.approx(STEP * lonely)
    assert data.parse(archive(tmp_path), 0, identity_below=0.9, per_family=3, n_families=5)[
        "lengths"
    ].shape == (5, 3)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"aligned": ALIGNED.replace("IA*", "IAA*")}, r"fam0.ali, line 5: .*'2xyz' has 7 col.*'1abca' has 6"),
        ({"aligned": ALIGNED.replace("VLA*", "VXA*")}, r"fam0.ali, line 4: 'X' in .* '1abca' is no residue"),
        ({"aligned": ALIGNED.replace("IA*", "IA")}, r"fam0.ali, line 5: the row of '2xyz' has no '\*'"),
        ({"aligned": "MKV\n" + ALIGNED}, r"fam0.ali, line 1: a PIR record begins with '>P1;'"),
        ({"table": ROW.replace("HGB-T", "HGB-")}, r"dssp.tsv.gz, line 2: 'fam0' has 4 states for 5 residues"),
        ({"table": ROW.replace(",53", "")}, r"line 2: 'fam0' has 4 surfaces for 5 residues"),
        ({"table": ROW.replace("HGB-T", "HGBQT")}, r"line 2: 'Q' of 'fam0' is no state"),
        ({"table": ROW.replace("MKVLA", "MKVZA")}, r"line 2: 'Z' of 'fam0' is no residue"),
        ({"table": ROW.replace("21.3", "much")}, r"line 2: 'fam0' has a surface that is no number"),
        ({"table": ROW.replace("\t1abca", "")}, r"line 2: 4 columns, but a family has five"),
        ({"table": ROW.replace("MKVLA", "MKVLC")}, r"structure of 'fam0' is of another chain than '1abca'"),
        ({"table": ROW.replace("fam", "other")}, r"no structure of the family 'fam0'"),
        ({"mapped": ALIGNED.replace("1abca", "1abcb")}, r"fam0.map: there is no row of '1abca'"),
        ({"mapped": ALIGNED.replace("RWV", "RWL")}, r"fam0.map: '2xyz' is another chain"),
        ({"n": 4}, r"4 families with a pair below 0.9 identity; at least 5"),
        ({"table": ROW.replace("1abca", "9zzz")}, r"0 families with a pair"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_file_and_line(tmp_path, changed, said):
    with pytest.raises(DataError, match=said):
        data.parse(archive(tmp_path, **changed), 0, identity_below=0.9, per_family=3)


def test_a_damaged_archive_and_a_table_that_is_cut_short(tmp_path):
    files = archive(tmp_path)
    whole = files["homstrad_ali.tar.xz"].read_bytes()
    files["homstrad_ali.tar.xz"].write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="damaged or cut short"):
        data.parse(files, 0, identity_below=0.9, per_family=3)
    files["homstrad_master_dssp.tsv.gz"].write_bytes(files["homstrad_master_dssp.tsv.gz"].read_bytes()[:40])
    with pytest.raises(DataError, match=r"dssp.tsv.gz cannot be read"):
        data.parse(files, 0, identity_below=0.9, per_family=3)


def test_residues_without_structure_at_the_end_are_exposed_loop():
    short = pir.Structure("1abca", *(np.array(part, np.uint8) for part in ([1, 2], [0, 1], [0, 3])))
    whole = pir.fitted("fam", short, np.array([1, 2, 7], np.uint8))
    assert (whole.state.tolist(), whole.access.tolist()) == ([0, 1, 2], [0, 3, 4])


def test_a_homologue_counts_for_the_nearest_member_alone():
    members = np.array([codes("ACDEF"), codes("ACW-Y")], np.uint8)
    others = np.array([codes("ACDEY"), codes("ACWEY"), codes("AC---"), codes("--W--")], np.uint8)
    assert nearest(members, others).tolist() == [0, 1, -1, 1]


def test_the_profile_of_a_lonely_chain_is_blosum62():
    p, g = expected()
    assert p.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(g.sum(axis=1), 1.0)
    chain = np.arange(20, dtype=np.uint8)
    scores = STEP * profile(chain, np.zeros((0, 20), np.uint8))
    np.testing.assert_allclose(
        scores, blosum() / 2, atol=0.51 * STEP + 0.02
    )  # in bits, BLOSUM62 in half bits


def test_homologues_move_a_profile_towards_what_they_have():
    chain = np.array(codes("AAAA"), np.uint8)
    others = np.array([codes(row) for row in ("WAAA", "WCAA", "WDA-", "WEA-")], np.uint8)
    before, after = profile(chain, others[:0]), profile(chain, others)
    w, a = RESIDUES.index("W"), RESIDUES.index("A")
    assert after[0, w] > before[0, w] and after[0, a] < before[0, a]
    assert after[2, a] > before[2, a]
    assert after[2, w] < after[0, w]


@pytest.fixture(scope="module")
def families():
    return data.synthesize(3, identity_below=0.4, per_family=2, n_families=30)


def test_no_family_is_in_two_parts_and_each_is_tested_once(families):
    tested = []
    for fold in range(3):
        split = data.view(families, 5, folds=3, fold=fold)
        parts = [set(part.Y.family) for part in (split.train, split.validation, split.test)]
        assert all(parts) and not (parts[0] & parts[1] or parts[0] & parts[2] or parts[1] & parts[2])
        assert sum(len(part.Y) for part in (split.train, split.validation, split.test)) == len(
            families["family"]
        )
        tested += sorted(parts[2])
    assert sorted(tested) == sorted(set(families["family"]))
    few = data.view(families, 5, folds=3, fold=0, n_train=7)
    assert len(few.train.Y) == 7
    assert set(few.train.Y.family) <= set(data.view(families, 5, folds=3, fold=0).train.Y.family)
    assert "fold is 3" in data.refuse({}, {"folds": 3, "fold": 3})
    assert data.refuse({}, {"folds": 3, "fold": 2}) is None


def test_made_up_families_are_what_they_say(families):
    split = data.view(families, 5, folds=3, fold=0)
    ProteinAlignment("profile").check(*split.train)
    for x, y, identity in zip(*split.train, split.train.Y.identity, strict=True):
        assert np.mean(x.residue[y[:, 0]] == x.target[y[:, 1]]) == identity < 0.4
    again = data.synthesize(3, identity_below=0.4, per_family=2, n_families=30)
    assert all(np.array_equal(families[name], again[name]) for name in families)
    short = data.synthesize(3, identity_below=0.4, per_family=2, n_families=30, longest=100)
    assert short["lengths"].max() <= 100 < families["lengths"].max()
    with pytest.raises(DataError, match="no pair is left"):
        data.synthesize(3, identity_below=0.4, per_family=2, n_families=5, longest=1)
    other = generate(np.random.default_rng(4), 1, 1)[0].pair
    assert not np.array_equal(other.residue, split.train.X[0].residue)


def test_scores_by_hand():
    y = np.column_stack([np.arange(10), np.arange(10)])
    truths = Truths([y, y], np.array([0.1, 0.35]), np.array(["a", "b"]))
    yhat = [y + np.array([2, 0]), np.vstack([y[:5], y[5:] + np.array([6, 0])])]
    assert data.score(truths, yhat) == {"q4": 75.0, "q0": 25.0, "q4_0_20": 100.0, "q4_30_40": 50.0}


def test_counts_of_the_real_data():
    mirror = os.environ.get("STRUCTMARGIN_DATA")
    folder = Path(mirror or "none") / "homstrad"
    if not folder.is_dir():
        print("HOMSTRAD is not at hand (STRUCTMARGIN_DATA): its counts were not checked")
        return
    structures = pir.structures(folder / "homstrad_master_dssp.tsv.gz")
    chains, pairs, usable = 0, 0, {}
    for family, file, content in data.members(folder / "homstrad_ali.tar.xz", None):
        names, rows = pir.alignment(file, content)
        chains += len(names)
        pairs += len(names) * (len(names) - 1) // 2
        usable[family] = usable_pairs(family, names, rows, structures[family], 2.0, None)
    assert (len(structures), len(usable), chains, pairs) == (1009, 1009, 3382, 9281)
    assert sum(map(len, usable.values())) == 2372
    assert [family for family in usable if not usable[family]] == ["cpn10"]
    assert sum(pair.identity < 0.4 for pairs_of in usable.values() for pair in pairs_of.values()) == 1276
    files = {remote.name: folder / remote.name for remote in data.FILES}
    first = data.parse(files, 0, identity_below=0.4, per_family=2, n_families=6)
    ProteinAlignment("profile").check(*examples(first, np.arange(len(first["family"]))))
    for family, file, content in data.members(folder / "homstrad_map.tar.xz", set(first["family"])):
        names, rows = pir.alignment(file, content, strict=False)
        known = [k for k, name in enumerate(names) if not name.startswith("gi|")]
        owner = nearest(rows[known], rows)
        for k, row in enumerate(known):  # a chain of the family is in nobody's profile but its own
            assert owner[row] in (k, -1), (family, names[row])
