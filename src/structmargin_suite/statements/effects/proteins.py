"""Effects for protein alignment (cacm09 Section 3.2, Figure 6).

Pairs of a family share their template, so families are resampled, each with all its pairs; every family is
tested once, by models that saw no pair of it. Families that share a PDB entry count as one. Scores are means
over pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structmargin_suite.analysis.estimates import Estimate, NotTestable, bootstrap
from structmargin_suite.analysis.experiments.proteins import PairScores, family_sums, pair_scores
from structmargin_suite.results import column
from structmargin_suite.statements.cases import Case, effect

STUDIES = ("models", "template only")
GENERATIVE, BLAST = "generative", "BLOSUM62"
MODELS = ("Simple", "Anova2", "Tensor", "Window", "Profile")
LOW_IDENTITY = 0.2
USEFUL = 60.0  # percent of states that must be predicted right for them to say much
MIN_FAMILIES = 10  # on either side of 20% identity: a resample without any is then rare (e^-10)
COMPARED = {
    "protein-order-window-generative": ("Window", GENERATIVE),
    "protein-order-profile-generative": ("Profile", GENERATIVE),
    "protein-order-profile-window": ("Profile", "Window"),
    "protein-features-interactions": ("Anova2", "Simple"),
    "protein-features-rich": ("Window", "Simple"),
    "protein-features-discriminative": ("Tensor", GENERATIVE),
}


def _smallest_lead(case: Case, better: Sequence[str], other: str, below: float = 1.0) -> Estimate:
    """The mean score of a model minus that of another; of several models the one with the smallest lead.

    Only pairs below a share of identical residues count.
    """
    of_other, *of_better = (_below(scores, below) for scores in _scores(case, (other, *better)))
    leads = np.column_stack([scores.q4 - of_other.q4 for scores in of_better])
    sums = family_sums(of_other.family, np.column_stack([leads, np.ones(len(leads))]))
    estimate = bootstrap(sums, case.level, lambda s: (s[:, :-1] / s[:, -1:]).min(axis=1))
    return estimate.noted(f"{better[int(leads.mean(axis=0).argmin())]} against {other}")


@effect(*COMPARED, study=STUDIES, methods=(GENERATIVE, *MODELS))
def lead(case: Case) -> Estimate:
    """Q4-score of the first model minus that of the second."""
    better, other = COMPARED[case.statement.id]
    estimate = _smallest_lead(case, [better], other)
    return estimate.noted(f"{estimate.note}{_predicted_structure(case, better)}")


def _predicted_structure(case: Case, method: str) -> str:
    """How good the predicted structure of targets is that a method uses; nothing where it uses none."""
    runs, reading = case.runs(STUDIES, method), case.reading_of(method)
    right, loop = (column(runs, f"test_{name}").mean() for name in ("states_right", "all_loop"))
    if np.isnan(right) or (reading and case.experiment.readings[reading].sets["target_structure"] == "none"):
        return ""
    poor = "" if right >= USEFUL else f", which is below {USEFUL:g}%: they say little"
    return f"; states are predicted right at {right:.1f}% of places (all loop: {loop:.1f}%){poor}"


@effect(*COMPARED, study=STUDIES, methods=(GENERATIVE, *MODELS), cause="data")
def lead_below_20(case: Case) -> Estimate:
    """The same on pairs with less than 20% identical residues, which the paper calls difficult."""
    better, other = COMPARED[case.statement.id]
    estimate = _smallest_lead(case, [better], other, LOW_IDENTITY)
    numbers = f"{estimate.effect:+.1f} ({estimate.low:.1f} to {estimate.high:.1f})"
    return estimate.noted(f"{numbers} on the pairs with less than 20% identical residues")


@effect("protein-baselines-blast", study=STUDIES, methods=(GENERATIVE, *MODELS))
def blast_is_lowest(case: Case) -> Estimate:
    """The lowest Q4-score of the other methods of the figure minus that of BLAST."""
    return _smallest_lead(case, (GENERATIVE, *MODELS), BLAST)


@effect("protein-baselines-identity", study=STUDIES, methods=(GENERATIVE, *MODELS))
def harder_below_20(case: Case) -> Estimate:
    """Q4-score of pairs with 20% identical residues and more minus that of the others, over all methods."""
    scores = _scores(case, (BLAST, GENERATIVE, *MODELS))
    q4 = np.mean([of_method.q4 for of_method in scores], axis=0)
    low = (scores[0].identity < LOW_IDENTITY).astype(float)
    sums = family_sums(scores[0].family, np.column_stack([q4 * (1 - low), 1 - low, q4 * low, low]))
    fewest = int((sums[:, [1, 3]] > 0).sum(axis=0).min())
    if fewest < MIN_FAMILIES:
        raise NotTestable(
            f"{fewest} families on one side of 20% identity; at least {MIN_FAMILIES} are needed"
        )
    return bootstrap(sums, case.level, lambda s: s[:, 0] / s[:, 1] - s[:, 2] / s[:, 3])


def _scores(case: Case, methods: Sequence[str]) -> list[PairScores]:
    """The same test pairs under each method: those of the folds that all have run."""
    runs = [_by_fold(case, method) for method in methods]
    folds = sorted(set.intersection(*(set(by_fold) for by_fold in runs)))
    if not folds:
        missing = [method for method, by_fold in zip(methods, runs, strict=True) if not by_fold]
        raise NotTestable(
            f"no fold has runs of all methods; there are none of {', '.join(missing) or 'some'}"
        )
    return [
        PairScores(
            *map(np.concatenate, zip(*(pair_scores(case.experiment, by_fold[f]) for f in folds), strict=True))
        )
        for by_fold in runs
    ]


def _below(scores: PairScores, identity: float) -> PairScores:
    kept = scores.identity < identity
    return PairScores(scores.family[kept], scores.identity[kept], scores.q4[kept])


def _by_fold(case: Case, method: str) -> dict[int, str]:
    runs = case.runs(STUDIES, method)
    return dict(zip(column(runs, "fold", 0), runs["run"], strict=True))
