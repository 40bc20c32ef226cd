"""20 Newsgroups by date: postings without headers, footers and quotes; the names of the groups form a tree.

Words are runs of letters in lower case, stemmed (Porter), without stop words; those in fewer than 3 training
postings are left out. A round draws `instances_per_class` postings of every group from the training set; the
test set stays whole. Inputs are tf-idf vectors of unit length, words and frequencies from the postings drawn.
The features of a group:

    flat          one feature of its own
    taxonomy      the nodes of the tree of names (comp, comp.sys, ...; not those with a single child)
    descriptions  tf-idf of the words in its name
    similarity    from a similarity of classes: the cosine between the sums of their training inputs

The stand-in draws word distributions down the same tree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from structmargin.problems.taxonomy.taxonomies import (
    description_features,
    node_features,
    similarity_features,
    tree_loss,
)
from structmargin_suite.datasets import Examples, Schemas, Split
from structmargin_suite.datasets._archives import tar_files
from structmargin_suite.datasets._sparse import csr_arrays, csr_of
from structmargin_suite.datasets._words import counts_over, stem_counts
from structmargin_suite.datasets.patents import score, tfidf, word_counts
from structmargin_suite.fetching.contents import Members
from structmargin_suite.fetching.fetch import Remote
from structmargin_suite.fetching.originals import Home, Original, members_of
from structmargin_suite.storage.errors import DataError

__all__ = ["FILES", "HOME", "PREPARE", "VIEW", "parse", "score", "synthesize", "view"]

POSTINGS = Members(
    r"(?:.*/)?(20news-bydate-(?:train|test)/[a-z.-]+/[0-9]+)",
    "",
    "f00af3d96eebb37594022b305a96307906926ae05f60ed30c7f53a6589a76115",
)
FILES = (
    Remote(
        "20news-bydate.tar.xz",
        "3a5c29719aa8d898965136b4ebdb98ae634d4cb746f516fd39b9bfb5b44e3906",
        "newsgroups/20news-bydate.tar.xz",
        contents=POSTINGS,
    ),
)
HOME = Home(
    title="20 Newsgroups, by date",
    page="http://qwone.com/~jason/20Newsgroups/",
    terms="free",
    folder="newsgroups",
    version="20news-bydate",
    originals=(
        Original(
            "20news-bydate.tar.gz",
            (
                "https://ndownloader.figshare.com/files/5975967",
                "http://qwone.com/~jason/20Newsgroups/20news-bydate.tar.gz",
            ),
            (FILES[0].name,),
            members_of({FILES[0].name: POSTINGS}),
            sha256="8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
            megabytes=14.5,
        ),
    ),
    megabytes=14.5,
)
PREPARE: Schemas = {"postings_per_group": {"type": "integer", "minimum": 4}}
VIEW: Schemas = {
    "instances_per_class": {"type": "integer", "minimum": 1},
    "round": {"type": "integer", "minimum": 0},
    "features": {"enum": ["flat", "taxonomy", "descriptions", "similarity"]},
}
GROUPS = (
    "alt.atheism", "comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware", "comp.windows.x", "misc.forsale", "rec.autos", "rec.motorcycles",
    "rec.sport.baseball", "rec.sport.hockey", "sci.crypt", "sci.electronics", "sci.med", "sci.space",
    "soc.religion.christian", "talk.politics.guns", "talk.politics.mideast", "talk.politics.misc",
    "talk.religion.misc",
)  # fmt: skip
SUBSETS = ("train", "test")
MIN_POSTINGS = 3  # words in fewer training postings are left out


class Posting(NamedTuple):
    """A posting as the archive has it: the number of its subset, the name of its group, its text."""

    subset: int
    group: str
    text: str


def parse(
    files: Mapping[str, Path], seed: int, *, postings_per_group: int | None = None
) -> dict[str, np.ndarray]:
    """Word counts, y, subset (0 train, 1 test), groups; at most postings_per_group per group and subset."""
    path = files[FILES[0].name]
    postings = _postings(path)
    groups = sorted({posting.group for posting in postings})
    y: list[int] = []
    subsets: list[int] = []
    documents: list[Counter[str]] = []
    for subset in range(len(SUBSETS)):
        for label, group in enumerate(groups):
            texts = [
                posting.text for posting in postings if (posting.subset, posting.group) == (subset, group)
            ]
            if not texts:
                raise DataError(
                    f"{path}: group {group!r} has no posting in its {SUBSETS[subset]} set; add some"
                )
            for text in texts[:postings_per_group]:
                documents.append(stem_counts(_stripped(text)))
                y.append(label)
                subsets.append(subset)
    trained_on = [counts for counts, subset in zip(documents, subsets, strict=True) if subset == 0]
    return {
        **csr_arrays(counts_over(documents, trained_on, MIN_POSTINGS)),
        "y": np.array(y),
        "subset": np.array(subsets),
        "groups": np.array(groups),
    }


def _postings(path: Path) -> list[Posting]:
    """The postings of an archive, sorted by subset, group and name of the file."""
    postings = []
    for name, content in tar_files(path, lambda name: True):
        place = re.search(r"20news-bydate-(train|test)/([^/]+)/[^/]+$", name)
        if place is None:
            raise DataError(
                f"{path}: {name!r} is not where a posting belongs "
                "(20news-bydate-train or -test, group, number); remove it"
            )
        postings.append((SUBSETS.index(place[1]), place[2], name, content.decode("latin-1")))
    return [Posting(subset, group, text) for subset, group, _, text in sorted(postings)]


def _stripped(text: str) -> str:
    from sklearn.datasets import _twenty_newsgroups as rules

    body = rules.strip_newsgroup_quoting(rules.strip_newsgroup_header(text))
    return str(rules.strip_newsgroup_footer(body))


def synthesize(seed: int, *, postings_per_group: int | None = None) -> dict[str, np.ndarray]:
    """The same arrays, over 3,000 words; by default 100 postings of a group in each subset."""
    rng = np.random.default_rng(seed)
    each = 100 if postings_per_group is None else postings_per_group
    y = np.tile(np.repeat(np.arange(len(GROUPS)), each), 2)
    counts = word_counts(rng, parents(GROUPS), GROUPS, y, 3000)
    subset = np.repeat([0, 1], len(GROUPS) * each)
    return {**csr_arrays(counts), "y": y, "subset": subset, "groups": np.array(GROUPS)}


def parents(groups: Sequence[str]) -> dict[str, str]:
    """The tree of names: "all", then the prefixes that at least two groups share, then the groups."""
    names = [str(group) for group in groups]
    prefixes = {
        name: [".".join(name.split(".")[:k]) for k in range(1, name.count(".") + 1)] for name in names
    }
    members = Counter(prefix for above in prefixes.values() for prefix in above)
    order: dict[str, str] = {}
    for name, above in prefixes.items():
        chain, size = ["all"], len(names)
        for prefix in above:
            if 1 < members[prefix] < size:  # otherwise it is the node above it, or the group itself
                chain.append(prefix)
                size = members[prefix]
        chain.append(name)
        order.update(zip(chain[1:], chain, strict=False))
    return order


def view(
    arrays: Mapping[str, np.ndarray],
    seed: int,
    *,
    instances_per_class: int = 4,
    round: int = 0,
    features: str = "flat",
) -> Split:
    """instances_per_class postings of every group to train on, and the whole test set."""
    y, subset, groups = arrays["y"], arrays["subset"], [str(group) for group in arrays["groups"]]
    order = np.random.default_rng([seed, round]).permutation(len(y))
    drawn = [order[(y[order] == k) & (subset[order] == 0)][:instances_per_class] for k in range(len(groups))]
    train, test = np.sort(np.concatenate(drawn)), np.flatnonzero(subset == 1)
    counts = csr_of(arrays)
    X_train, X_test = tfidf(counts[train], counts[test])
    tree = parents(groups)
    problem = {
        "n_classes": len(groups),
        "n_features": X_train.shape[1],
        "loss": tree_loss(tree, groups),
        "Lambda": _features(features, tree, groups, X_train, y[train]),
    }
    return Split(Examples(X_train, y[train]), Examples(X_test, y[test]), problem=problem)


def _features(
    name: str, tree: dict[str, str], groups: list[str], X: sp.csr_matrix, y: np.ndarray
) -> np.ndarray | None:
    if name == "flat":
        return None
    if name == "taxonomy":
        return node_features(tree, groups)[1].toarray()
    if name == "descriptions":
        return description_features(groups, token_pattern=r"[a-z-]+").toarray()
    sums = np.asarray((sp.csr_matrix((np.ones(len(y)), (y, np.arange(len(y))))) @ X).todense())
    sums /= np.linalg.norm(sums, axis=1, keepdims=True)
    return similarity_features(sums @ sums.T)
