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
from structmargin_suite.datasets.homstrad import pir, structure
from structmargin_suite.datasets.homstrad.families import generate
from structmargin_suite.datasets.homstrad.pairs import ChainStructure, Truths, examples, usable_pairs
from structmargin_suite.datasets.homstrad.profiles import STEP, blosum, expected, nearest, profile
from structmargin_suite.datasets.homstrad.structure import chain_groups, known_structure
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
    """The three files of a release of n families that are all alike, but for the names of their chains."""
    homologues = mapped or aligned + ">P1;gi|1| near [ score 3 ]\nsequence\nMK-VLB*\n"

    def named(text: str, k: int) -> str:
        return text.replace("1abc", f"{1 + k}abc").replace("2xyz", f"{2 + k}xyz")

    (folder / "homstrad_master_dssp.tsv.gz").write_bytes(
        gzip.compress((TABLE + "".join(named(table.format(k), k) for k in range(n))).encode())
    )
    tarred(folder / "homstrad_ali.tar.xz", {f"homstrad_ali/fam{k}.ali": named(aligned, k) for k in range(n)})
    tarred(folder / "homstrad_map.tar.xz", {f"D/fam{k}/fam{k}.map": named(homologues, k) for k in range(n)})
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
    assert x.target_state.max() < 3 and x.target_access.max() < 5 and len(x.target_state) == 5
    assert not arrays["is_known"].any()
    assert data.view(arrays, 0, folds=2, fold=0, target_structure="none").test.X[0].target_state is None
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


def test_families_that_share_an_entry_are_one_group():
    chains = {"a": ["1abca", "2xyz"], "b": ["3abc"], "c": ["2xyzb1"], "d": ["9zzz", "3abca"], "e": ["4abc"]}
    assert chain_groups(chains) == {"a": "a", "b": "b", "c": "a", "d": "b", "e": "e"}


def test_a_target_that_is_part_of_a_master_is_known():
    master = pir.Structure(
        "1abc", *(np.array(part, np.uint8) for part in (codes("MKVLA"), [0, 0, 1, 2, 2], [0, 4, 2, 3, 4]))
    )
    found = known_structure(np.array(codes("VLA"), np.uint8), {"fam": master})
    assert (found.state.tolist(), found.access.tolist()) == ([1, 2, 2], [2, 3, 4])
    assert known_structure(np.array(codes("VLM"), np.uint8), {"fam": master}) is None


def test_windows_by_hand():
    profile_of_two = np.arange(40, dtype=np.int8).reshape(2, 20)
    X = structure.windows(profile_of_two).reshape(2, structure.WINDOW, 21)
    half = structure.WINDOW // 2
    np.testing.assert_allclose(X[0, half, :20], STEP * np.arange(20), rtol=1e-6)
    np.testing.assert_allclose(X[0, half + 1, :20], STEP * np.arange(20, 40), rtol=1e-6)
    np.testing.assert_array_equal(X[1, half - 1], X[0, half])
    assert X[0, :, 20].tolist() == [1.0] * half + [0.0, 0.0] + [1.0] * (half - 1)  # beyond the ends
    assert structure.WINDOW >= 15


def test_no_family_is_predicted_by_a_network_that_saw_its_group(monkeypatch):
    made = generate(np.random.default_rng(3), 12, 2)
    pairs = [entry._replace(group=f"group {int(entry.family[-2:]) // 2}") for entry in made]
    seen = []

    def trained(masters, rng, residues):
        seen.append({entry.group for entry in masters})
        return len(seen) - 1

    def predict(network, profile):
        by = next(e for e in pairs if e.profiles.target is profile or e.profiles.template is profile)
        assert by.group not in seen[network]
        return ChainStructure(np.zeros(len(profile), np.uint8), np.full(len(profile), 4, np.uint8))

    monkeypatch.setattr(structure, "_trained", trained)
    monkeypatch.setattr(structure, "_predict", predict)
    found = structure.predictions(pairs, 0, 3, None)
    assert len(seen) == 3 and set.union(*seen) == {entry.group for entry in pairs}
    for entry, prediction in zip(pairs, found, strict=True):
        assert len(prediction.target.state) == len(entry.pair.target)
        n, right, loop, access, *classes = prediction.counts
        assert n == len(entry.pair.residue) == sum(classes)
        assert (right, loop) == ((entry.pair.state == 0).sum(), (entry.pair.state == 2).sum())
        assert access == (entry.pair.access == 4).sum() == classes[4]
    shares = structure.accuracy(np.array([[8, 6, 4, 2, 5, 3, 0, 0, 0], [12, 4, 6, 3, 0, 12, 0, 0, 0]]))
    assert shares == {"states_right": 50.0, "all_loop": 50.0, "access_right": 25.0, "largest_class": 75.0}
    with pytest.raises(DataError, match="all families share chains"):
        structure.predictions([entry._replace(group="one") for entry in pairs], 0, 3, None)


def test_a_rule_between_profile_and_structure_is_learnt():
    """Made-up residues depend on their places: prediction is above always loop, and the same every time."""
    made = generate(np.random.default_rng(5), 30, 1)
    arrays = structure.with_predictions(made, 1, 2, 3000)
    shares = structure.accuracy(arrays["counts"])
    assert shares["states_right"] > shares["all_loop"] + 10
    assert shares["access_right"] > shares["largest_class"]
    assert np.mean(arrays["predicted_state"] == arrays["known_state"]) > 0.5  # of targets, too
    again = structure.with_predictions(made, 1, 2, 3000)
    assert all(np.array_equal(arrays[name], again[name]) for name in arrays)


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
    one = families | {"group": np.array([f"group {int(name[-2:]) // 3}" for name in families["family"]])}
    split = data.view(one, 5, folds=3, fold=0)
    groups = [
        {int(f[-2:]) // 3 for f in part.Y.family} for part in (split.train, split.validation, split.test)
    ]
    assert all(groups) and not (groups[0] & groups[1] or groups[0] & groups[2] or groups[1] & groups[2])
    assert "fold is 3" in data.refuse({}, {"folds": 3, "fold": 3})
    assert data.refuse({}, {"folds": 3, "fold": 2}) is None


def test_made_up_families_are_what_they_say(families):
    split = data.view(families, 5, folds=3, fold=0)
    ProteinAlignment("profile").check(*split.train)
    for x, y, identity in zip(*split.train, split.train.Y.identity, strict=True):
        assert np.mean(x.residue[y[:, 0]] == x.target[y[:, 1]]) == identity < 0.4
    beside = {name: made() for name, made in split.beside.items()}  # all structures are known
    for k, (known, x) in enumerate(zip(beside["with_known"].X, split.test.X, strict=True)):
        y = split.test.Y[k]
        assert (known.target_state[y[:, 1]] == x.state[y[:, 0]]).all()  # as it was made
        assert np.array_equal(beside["with_predicted"].X[k].target_state, x.target_state)
    assert data.view(families, 5, folds=3, fold=0, target_structure="none").beside == {}
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
    scores = {"q4": 75.0, "q0": 25.0, "pairs": 2.0, "q4_0_20": 100.0, "q4_30_40": 50.0}
    assert data.score(truths, yhat) == scores
    truths = Truths(
        [y, y], truths.identity, np.array(["a", "a"]), None, np.array([[4, 3, 2, 1, 4, 0, 0, 0, 0]] * 2)
    )
    assert data.score(truths, yhat) == scores | {
        "states_right": 75.0, "all_loop": 50.0, "access_right": 25.0, "largest_class": 100.0,
    }  # fmt: skip


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
