"""Sequences to be aligned with structures: HOMSTRAD, families of chains aligned by structure.

An example is a master chain, whose structure is known, and another chain of its family; the truth is the
family's alignment. Pairs with a share of equal residues of `identity_below` and more are left out. A view
is one of `folds` folds of families, drawn from the seed: no family is in two parts. Of the families to
train on a fifth is kept to choose by.

Profiles come from the family's homologues (`protein_profiles`): a homologue counts for the chain that it is
nearest to, so that none of a template's profile is the target or closer to it.

Where the files cannot be had, `families` makes families of its own.
"""

from __future__ import annotations

import lzma
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from structmargin.problems import ProteinAlignment
from structmargin.problems.proteins.features import Pair
from structmargin_suite.datasets import Examples, Split
from structmargin_suite.datasets.homstrad import families, pir
from structmargin_suite.datasets.homstrad.profiles import STEP, nearest, profile
from structmargin_suite.storage.fetch import DataError, Remote

FILES = (
    Remote(
        name="homstrad_ali.tar.xz",
        sha256="c1c9cd1b5e05a620c7273507cb194189ba7ac6816517f6e98a4933152d46bfd3",
        mirror="homstrad/homstrad_ali.tar.xz",
    ),
    Remote(
        name="homstrad_master_dssp.tsv.gz",
        sha256="23b55b3979c761fdad02af18b80e03e4b5421adc1050b87856c1409cef94e615",
        mirror="homstrad/homstrad_master_dssp.tsv.gz",
    ),
    Remote(
        name="homstrad_map.tar.xz",
        sha256="a50d5f560f2b91643f2627fab04d11afac277aa813008e270052f981baf1be21",
        mirror="homstrad/homstrad_map.tar.xz",
    ),
)
PREPARE: dict[str, Any] = {
    "identity_below": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "per_family": {"type": "integer", "minimum": 1},
    "longest": {"type": "integer", "minimum": 1},
    "n_families": {"type": "integer", "minimum": 5},
    "repetition": {"type": "integer", "minimum": 0},
}
VIEW: dict[str, Any] = {
    "folds": {"type": "integer", "minimum": 2},
    "fold": {"type": "integer", "minimum": 0},
    "n_train": {"type": "integer", "minimum": 1},
}
BINS = (0.0, 0.2, 0.3, 0.4)
"""Shares of equal residues that part the measures by identity."""
TO_CHOOSE_BY = 5


class Truths(list[np.ndarray]):
    """True alignments, and the share of equal residues and the family of each."""

    def __init__(self, chains: Sequence[np.ndarray], identity: np.ndarray, family: np.ndarray) -> None:
        super().__init__(chains)
        self.identity, self.family = identity, family


def refuse(prepare: Mapping[str, Any], view: Mapping[str, Any]) -> str | None:
    """Why these parameters do not go together, or None."""
    if not view["fold"] < view["folds"]:
        return f"fold is {view['fold']}, but folds are 0 to {view['folds'] - 1}"
    return None


def parse(
    files: Mapping[str, Path], seed: int, *, identity_below: float, per_family: int,
    longest: int | None = None, n_families: int | None = None, repetition: int = 0,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Pairs of the first n_families that have one, at most per_family of a family, drawn from the seed.

    `longest` leaves out pairs with a longer chain.
    """
    structures = pir.structures(files["homstrad_master_dssp.tsv.gz"])
    rng = np.random.default_rng(seed)
    families: dict[str, tuple[str, list[str]]] = {}
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for family, file, data in members(files["homstrad_ali.tar.xz"], None):
        if family not in structures:
            raise DataError(
                f"{file}: there is no structure of the family {family!r}; use files of one release"
            )
        names, rows = pir.alignment(file, data)
        usable = pairs(family, names, rows, structures[family], identity_below, longest)
        if not usable:
            continue
        kept = sorted(rng.permutation(len(usable))[:per_family])
        found.update({(family, names[usable[k][0]]): usable[k][1] for k in kept})
        families[family] = structures[family].master, [names[usable[k][0]] for k in kept]
        if n_families is not None and len(families) == n_families:
            break
    if len(families) < 5:
        raise DataError(
            f"{files['homstrad_ali.tar.xz']} has {len(families)} families with a pair below "
            f"{identity_below:g} identity; at least 5 are needed"
        )
    for family, file, data in members(files["homstrad_map.tar.xz"], set(families)):
        _profiles(family, file, data, *families[family], found)
    bare = [family for family, name in found if "template_profile" not in found[family, name]]
    if bare:
        raise DataError(f"{files['homstrad_map.tar.xz']} has no homologues of {bare[0]!r}; use one release")
    return packed([(family, pair) for (family, _), pair in found.items()])


def members(archive: Path, wanted: set[str] | None) -> Iterator[tuple[str, str, bytes]]:
    """(family, name for errors, content) of a tar archive's files in order, up to the last one wanted."""
    left = None if wanted is None else set(wanted)
    try:
        with tarfile.open(archive, "r|*") as opened:
            for member in opened:
                source = opened.extractfile(member) if member.isfile() else None
                family = PurePosixPath(member.name).stem
                if source is None or (left is not None and family not in left):
                    continue
                yield family, f"{archive.name}/{member.name}", source.read()
                if left is not None:
                    left.discard(family)
                    if not left:
                        return
    except (tarfile.TarError, EOFError, lzma.LZMAError) as error:
        raise DataError(
            f"{archive} is damaged or cut short ({error}); delete it and fetch it again"
        ) from None


def pairs(
    family: str, names: Sequence[str], rows: np.ndarray, structure: pir.Structure, below: float,
    longest: int | None,
) -> list[tuple[int, dict[str, Any]]]:  # fmt: skip
    """(row of the target, arrays of the pair) for every usable pair; none if the master is not aligned."""
    if structure.master not in names:
        return []
    one = rows[names.index(structure.master)]
    template = pir.fitted(family, structure, one[one != pir.GAP])
    usable = []
    for k, other in enumerate(rows):
        both = (one != pir.GAP) & (other != pir.GAP)
        if names[k] == structure.master or not both.any():
            continue
        identity = float(np.mean(one[both] == other[both]))
        target = other[other != pir.GAP]
        if identity >= below or (longest is not None and max(len(template.residue), len(target)) > longest):
            continue
        place = [(np.cumsum(row != pir.GAP) - 1)[both] for row in (one, other)]
        usable.append(
            (
                k,
                {
                    "residue": template.residue,
                    "state": template.state,
                    "access": template.access,
                    "target": target,
                    "chain": np.column_stack(place).astype(np.int32),
                    "identity": identity,
                },
            )
        )
    return usable


def _profiles(
    family: str, file: str, data: bytes, master: str, targets: Sequence[str],
    found: Mapping[tuple[str, str], dict[str, Any]],
) -> None:  # fmt: skip
    """Enter the profiles of a family's chains into its pairs."""
    names, rows = pir.alignment(file, data, strict=False)
    kinds = [record.split(b"\n", 2)[1] for record in data.split(b">P1;")[1:]]
    of_structure = np.array([kind.startswith(b"structure") for kind in kinds])
    chains, homologues = rows[of_structure], rows[~of_structure]
    known = [name for name, mine in zip(names, of_structure, strict=True) if mine]
    owner = nearest(chains, homologues)

    def made(name: str, residue: np.ndarray) -> np.ndarray:
        if name not in known:
            raise DataError(f"{file}: there is no row of {name!r}; use files of one release")
        at = known.index(name)
        columns = chains[at] != pir.GAP
        if not np.array_equal(chains[at][columns], residue):
            raise DataError(f"{file}: {name!r} is another chain than in the alignment; use one release")
        return profile(residue, homologues[owner == at][:, columns])

    template = made(master, found[family, targets[0]]["residue"])
    for name in targets:
        pair = found[family, name]
        pair["template_profile"], pair["target_profile"] = template, made(name, pair["target"])


def synthesize(
    seed: int, *, identity_below: float, per_family: int, longest: int | None = None,
    n_families: int | None = None, repetition: int = 0,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Families made by `families`, 300 unless told."""
    made = families.generate(np.random.default_rng(seed), n_families or 300, min(per_family, 3))
    return packed(
        [
            (family, pair)
            for family, pair in made
            if pair["identity"] < identity_below
            and (longest is None or max(len(pair["residue"]), len(pair["target"])) <= longest)
        ]
    )


def packed(found: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, np.ndarray]:
    """Pairs end to end, with the lengths of their parts."""
    if not found:
        raise DataError("no pair is left; raise `longest` or `identity_below`")
    joined = {
        name: np.concatenate([pair[name] for _, pair in found])
        for name in ("residue", "state", "access", "target", "chain", "template_profile", "target_profile")
    }
    lengths = [[len(pair[name]) for name in ("residue", "target", "chain")] for _, pair in found]
    return {
        **joined,
        "lengths": np.array(lengths, dtype=np.int64),
        "identity": np.array([pair["identity"] for _, pair in found]),
        "family": np.array([family for family, _ in found]),
    }


def view(
    arrays: Mapping[str, np.ndarray], seed: int, *, folds: int, fold: int, n_train: int | None = None
) -> Split:
    """Fold `fold` of the families to test on; of the others every fifth to choose by, the rest to train on,
    up to n_train pairs."""
    families = np.unique(arrays["family"])
    order = families[np.random.default_rng(seed).permutation(len(families))]
    place = np.arange(len(order))
    test = order[place % folds == fold]
    others = order[place % folds != fold]
    chosen = np.arange(len(others)) % TO_CHOOSE_BY == 0
    rank = {family: k for k, family in enumerate(others[~chosen])}
    train = [k for k, family in enumerate(arrays["family"]) if family in rank]
    if n_train is not None:
        first = sorted(train, key=lambda k: rank[arrays["family"][k]])[:n_train]
        train = sorted(first)
    held = (np.flatnonzero(np.isin(arrays["family"], part)) for part in (test, others[chosen]))
    tested, validated = (_examples(arrays, which) for which in held)
    return Split(_examples(arrays, np.array(train)), tested, validated)


def _examples(arrays: Mapping[str, np.ndarray], which: np.ndarray) -> Examples:
    """Some pairs as the problem wants them."""
    end = np.cumsum(arrays["lengths"], axis=0)
    start = end - arrays["lengths"]
    X, chains = [], []
    for k in which:
        a, b, c = (slice(start[k, part], end[k, part]) for part in range(3))
        X.append(
            Pair(
                arrays["residue"][a],
                arrays["state"][a],
                arrays["access"][a],
                arrays["target"][b],
                STEP * arrays["template_profile"][a].astype(float),
                STEP * arrays["target_profile"][b].astype(float),
            )
        )
        chains.append(arrays["chain"][c])
    return Examples(X, Truths(chains, arrays["identity"][which], arrays["family"][which]))


def score(Y: Truths, Yhat: Sequence[np.ndarray]) -> dict[str, float]:
    """`q4`: 100 less the mean Q4-loss in percent, over all pairs and by identity; `q0`: matches that are
    exactly right, in percent."""
    q4, q0 = q_scores(Y, Yhat)
    measures = {"q4": float(q4.mean()), "q0": float(q0.mean())}
    for low, high in pairwise(BINS):
        mine = (Y.identity >= low) & (Y.identity < high)
        if mine.any():
            measures[f"q4_{100 * low:.0f}_{100 * high:.0f}"] = float(q4[mine].mean())
    return measures


def q_scores(Y: Sequence[np.ndarray], Yhat: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(Q4, Q0) of every pair, in percent: matches at most 4 places off, and exactly right ones."""
    near, right = ProteinAlignment(tolerance=4), ProteinAlignment(tolerance=0)
    losses = [[kind.delta(y, yhat) for kind in (near, right)] for y, yhat in zip(Y, Yhat, strict=True)]
    found = 100.0 - 100.0 * np.array(losses).reshape(-1, 2)
    return found[:, 0], found[:, 1]
