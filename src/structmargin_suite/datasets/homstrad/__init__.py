"""Sequences to be aligned with structures: HOMSTRAD, families of chains aligned by structure.

An example is a master chain, whose structure is known, and another chain of its family; the truth is the
family's alignment. Pairs with a share of equal residues of `identity_below` and more are left out. A view
is one of `folds` folds of families, drawn from the seed: no family is in two subsets, nor are two families
that share a PDB entry. A fifth of the other families is for choosing options.

The structure of the other chain, the target, is predicted (`structure.py`), or a view leaves it out. Where a
target is part of another family's master, it is known: `beside` has these few test pairs twice, with the
structure that is known and with the predicted one.

Profiles come from the family's homologues (`profiles.py`): a homologue counts only for the chain that it is
nearest to, so that no homologue in a template's profile is the target or nearer to it.

Where the files are not available, `families.py` makes up families.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from structmargin.problems import ProteinAlignment
from structmargin_suite.datasets import Schemas, Split
from structmargin_suite.datasets._archives import tar_files
from structmargin_suite.datasets._measures import measures
from structmargin_suite.datasets.homstrad import families, pir
from structmargin_suite.datasets.homstrad.pairs import (
    AlignedPair,
    FamilyPair,
    Profiles,
    Truths,
    examples,
    usable_pairs,
)
from structmargin_suite.datasets.homstrad.profiles import nearest, profile
from structmargin_suite.datasets.homstrad.releases import (
    ALIGNMENTS,
    HOMOLOGUES,
    STRUCTURES,
    from_collection,
    from_release,
)
from structmargin_suite.datasets.homstrad.structure import (
    ACCURACIES,
    accuracy,
    chain_groups,
    known_structure,
    with_predictions,
)
from structmargin_suite.fetching.fetch import Remote
from structmargin_suite.fetching.originals import Home, Original
from structmargin_suite.storage.errors import DataError

FILES = (
    Remote(
        name="homstrad_ali.tar.xz",
        sha256="c1c9cd1b5e05a620c7273507cb194189ba7ac6816517f6e98a4933152d46bfd3",
        mirror="homstrad/homstrad_ali.tar.xz",
        contents=ALIGNMENTS,
    ),
    Remote(
        name="homstrad_master_dssp.tsv.gz",
        sha256="23b55b3979c761fdad02af18b80e03e4b5421adc1050b87856c1409cef94e615",
        mirror="homstrad/homstrad_master_dssp.tsv.gz",
        contents=STRUCTURES,
    ),
    Remote(
        name="homstrad_map.tar.xz",
        sha256="a50d5f560f2b91643f2627fab04d11afac277aa813008e270052f981baf1be21",
        mirror="homstrad/homstrad_map.tar.xz",
        contents=HOMOLOGUES,
    ),
)
ADDRESS = "https://homstrad.mizuguchilab.org/homstrad/data"
COLLECTION = "https://github.com/meetU-MasterStudents/2019---2020-partage/archive"
"""HOMSTRAD's families with homologues and coordinates, as a course of universities in Paris shares them."""
HOME = Home(
    title="HOMSTRAD",
    page="https://homstrad.mizuguchilab.org/homstrad/",
    terms="academic",
    folder="homstrad",
    version="1,009 families, commit b393f5c83485; of another release the same families, and its name is kept",
    originals=(
        Original(
            "meet-u-2019-2020.tar.gz",
            (f"{COLLECTION}/b393f5c834853a1e2d119dea9bf0ff63e87b693e.tar.gz",),
            tuple(file.name for file in FILES),
            from_collection,
        ),
        Original(
            "homstrad_ali_only.tar.gz",
            tuple(f"{ADDRESS}/homstrad_ali_only_{date}.tar.gz" for date in ("2021_Feb_1", "2025_Dec_1")),
            ("homstrad_ali.tar.xz",),
            from_release,
        ),
    ),
    megabytes=200,
    sure="more than",
)
PREPARE: Schemas = {
    "identity_below": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "per_family": {"type": "integer", "minimum": 1},
    "longest": {"type": "integer", "minimum": 1},
    "n_families": {"type": "integer", "minimum": 5},
    "structure_folds": {"type": "integer", "minimum": 2},
    "structure_residues": {"type": "integer", "minimum": 1},
    "repetition": {"type": "integer", "minimum": 0},
}
VIEW: Schemas = {
    "folds": {"type": "integer", "minimum": 2},
    "fold": {"type": "integer", "minimum": 0},
    "n_train": {"type": "integer", "minimum": 1},
    "target_structure": {"enum": ["predicted", "none"]},
}
BINS = (0.0, 0.2, 0.3, 0.4)
"""The measures are also given for pairs between these shares of equal residues."""
MIN_FAMILIES = 5
VALIDATION_STEP = 5
"""Every fifth family that is not tested on is for validation."""


def refuse(prepare: Mapping[str, Any], view: Mapping[str, Any]) -> str | None:
    """Why these parameters do not go together, or None."""
    if not view["fold"] < view["folds"]:
        return f"fold is {view['fold']}, but folds are 0 to {view['folds'] - 1}"
    return None


def parse(
    files: Mapping[str, Path], seed: int, *, identity_below: float, per_family: int,
    longest: int | None = None, n_families: int | None = None, structure_folds: int = 3,
    structure_residues: int | None = None, repetition: int = 0,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Pairs of the first n_families that have one, at most per_family of a family, drawn from the seed.

    `longest` leaves out pairs with a longer chain. The structures of targets are predicted in
    `structure_folds` folds, each by a network trained on at most `structure_residues` places.
    """
    structures = pir.structures(files["homstrad_master_dssp.tsv.gz"])
    alignments = members(files["homstrad_ali.tar.xz"], None, ".ali")
    rng = np.random.default_rng(seed)
    chosen: dict[str, dict[str, AlignedPair]] = {}
    chains: dict[str, list[str]] = {}
    for family, names, pairs in _usable_families(alignments, structures, identity_below, longest):
        targets = list(pairs)
        drawn = sorted(rng.permutation(len(pairs))[:per_family])
        chosen[family] = {targets[k]: pairs[targets[k]] for k in drawn}
        chains[family] = names
        if n_families is not None and len(chosen) == n_families:
            break
    if len(chosen) < MIN_FAMILIES:
        raise DataError(
            f"{files['homstrad_ali.tar.xz']} has {len(chosen)} families with a pair below "
            f"{identity_below:g} identity; at least {MIN_FAMILIES} are needed"
        )
    profiles = {
        family: _profiles(file, data, structures[family].master, chosen[family])
        for family, file, data in members(files["homstrad_map.tar.xz"], set(chosen))
    }
    missing = [family for family in chosen if family not in profiles]
    if missing:
        raise DataError(
            f"{files['homstrad_map.tar.xz']} has no homologues of {missing[0]!r}; use one release"
        )
    group = chain_groups(chains)
    return with_predictions(
        [
            FamilyPair(
                family,
                group[family],
                pair,
                profiles[family][target],
                known_structure(pair.target, structures),
            )
            for family, pairs in chosen.items()
            for target, pair in pairs.items()
        ],
        seed,
        structure_folds,
        structure_residues,
    )


def _usable_families(
    alignments: Iterable[tuple[str, str, bytes]], structures: Mapping[str, pir.Structure], below: float,
    longest: int | None,
) -> Iterator[tuple[str, list[str], dict[str, AlignedPair]]]:  # fmt: skip
    """(family, names of its chains, its usable pairs by target) of every family that has such pairs."""
    for family, file, data in alignments:
        if family not in structures:
            raise DataError(
                f"{file}: there is no structure of the family {family!r}; use files of one release"
            )
        names, rows = pir.alignment(file, data)
        usable = usable_pairs(family, names, rows, structures[family], below, longest)
        if usable:
            yield family, names, usable


def members(archive: Path, wanted: set[str] | None, suffix: str = "") -> Iterator[tuple[str, str, bytes]]:
    """(family, name for errors, content) of the wanted families' files in a tar archive, or of all files.

    Only names that end in `suffix` count.
    """
    left = None if wanted is None else set(wanted)

    def usable(name: str) -> bool:
        return name.endswith(suffix) and (left is None or PurePosixPath(name).stem in left)

    for name, content in tar_files(archive, usable):
        family = PurePosixPath(name).stem
        yield family, f"{archive.name}/{name}", content
        if left is not None:
            left.discard(family)
            if not left:
                return


def _profiles(file: str, data: bytes, master: str, pairs: Mapping[str, AlignedPair]) -> dict[str, Profiles]:
    """The profiles of a family's pairs by target, from the alignment of its chains with their homologues."""
    names, rows = pir.alignment(file, data, strict=False)
    kinds = [record.split(b"\n", 2)[1] for record in data.split(b">P1;")[1:]]
    of_structure = np.array([kind.startswith(b"structure") for kind in kinds])
    chains, homologues = rows[of_structure], rows[~of_structure]
    known = [name for name, is_chain in zip(names, of_structure, strict=True) if is_chain]
    owner = nearest(chains, homologues)

    def of_chain(name: str, residue: np.ndarray) -> np.ndarray:
        if name not in known:
            raise DataError(f"{file}: there is no row of {name!r}; use files of one release")
        row = known.index(name)
        columns = chains[row] != pir.GAP
        if not np.array_equal(chains[row][columns], residue):
            raise DataError(f"{file}: {name!r} is another chain than in the alignment; use one release")
        return profile(residue, homologues[owner == row][:, columns])

    template = of_chain(master, next(iter(pairs.values())).residue)
    return {name: Profiles(template, of_chain(name, pair.target)) for name, pair in pairs.items()}


def synthesize(
    seed: int, *, identity_below: float, per_family: int, longest: int | None = None,
    n_families: int | None = None, structure_folds: int = 3, structure_residues: int | None = None,
    repetition: int = 0,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Families made by `families`, by default 300; the structures of all targets are known."""
    made = families.generate(np.random.default_rng(seed), n_families or 300, min(per_family, 3))
    usable = [
        entry
        for entry in made
        if entry.pair.identity < identity_below and (longest is None or entry.pair.longer <= longest)
    ]
    return with_predictions(usable, seed, structure_folds, structure_residues)


def view(
    arrays: Mapping[str, np.ndarray], seed: int, *, folds: int, fold: int, n_train: int | None = None,
    target_structure: str = "predicted",
) -> Split:  # fmt: skip
    """Fold `fold` of the groups of families to test on; of the others every fifth to choose options by, the
    rest to train on, up to n_train pairs. Targets have the structure that is predicted, or none."""
    groups = np.unique(arrays["group"])
    order = groups[np.random.default_rng(seed).permutation(len(groups))]
    place = np.arange(len(order))
    test = order[place % folds == fold]
    others = order[place % folds != fold]
    validated = np.arange(len(others)) % VALIDATION_STEP == 0
    rank = {group: k for k, group in enumerate(others[~validated])}
    train = [k for k, group in enumerate(arrays["group"]) if group in rank]
    if n_train is not None:
        first = sorted(train, key=lambda k: rank[arrays["group"][k]])[:n_train]
        train = sorted(first)
    tested = np.isin(arrays["group"], test)
    validation = np.isin(arrays["group"], others[validated])
    known = np.flatnonzero(tested & arrays["is_known"])
    beside = {
        f"with_{structure}": partial(examples, arrays, known, structure)
        for structure in ("known", "predicted")
        if len(known) and target_structure != "none"
    }
    return Split(
        examples(arrays, np.array(train), target_structure),
        examples(arrays, np.flatnonzero(tested), target_structure),
        examples(arrays, np.flatnonzero(validation), target_structure),
        beside=beside,
    )


@measures(
    "q4", "q0", "pairs", *ACCURACIES,
    *(f"q4_{100 * low:.0f}_{100 * high:.0f}" for low, high in pairwise(BINS)),
    beside=("with_known", "with_predicted"),
)  # fmt: skip
def score(Y: Truths, Yhat: Sequence[np.ndarray]) -> dict[str, float]:
    """`q4`: 100 less the mean Q4-loss in percent, over all pairs and by identity; `q0`: matches that are
    exactly right, in percent; `pairs`: how many there are; and `structure.accuracy` over the families'
    masters."""
    q4, q0 = q_scores(Y, Yhat)
    measures = {"q4": float(q4.mean()), "q0": float(q0.mean()), "pairs": float(len(q4))}
    if Y.counts.shape[1]:
        _, first = np.unique(Y.family, return_index=True)
        measures |= accuracy(Y.counts[first])
    for low, high in pairwise(BINS):
        in_bin = (Y.identity >= low) & (Y.identity < high)
        if in_bin.any():
            measures[f"q4_{100 * low:.0f}_{100 * high:.0f}"] = float(q4[in_bin].mean())
    return measures


def q_scores(Y: Sequence[np.ndarray], Yhat: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(Q4, Q0) of every pair, in percent: matches at most 4 places off, and exactly right ones."""
    near, exact = ProteinAlignment(tolerance=4), ProteinAlignment(tolerance=0)
    losses = [[problem.delta(y, yhat) for problem in (near, exact)] for y, yhat in zip(Y, Yhat, strict=True)]
    scores = 100.0 - 100.0 * np.array(losses).reshape(-1, 2)
    return scores[:, 0], scores[:, 1]
