"""Effects on cars in street pictures (jkse09 Sections 5.1 and 5.2, Table 1, Figures 3, 4 and 7).

Equal error rates are in percent, by the data set's own criterion. Their intervals are bootstraps over test
images with their cars, the same resamples for all methods, crossed with the draws of the noise. Without noise
there is nothing to draw: that run stands beside every draw.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from structmargin_suite.analysis.estimates import (
    Estimate,
    NotTestable,
    bootstrap,
    counterexamples,
    sign_interval,
    t_interval,
    weighted_bootstrap,
)
from structmargin_suite.analysis.localization import (
    CHI2,
    LINEAR,
    NOISE,
    SSVM,
    Detections,
    detections,
    kernel_values,
    wrong_boxes,
)
from structmargin_suite.results import column
from structmargin_suite.statements.cases import Case, effect

SSVM_CHI2, RANDOM = "S-SVM (chi2)", "random scores"
STUDIES = (*NOISE, "machine", "without learning")
LEVELS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)
"""Of noise below 100%, as in Table 1."""
PRECISION = 0.4
"""Of "over most of the plot precision lies above 40%"."""
FEASIBLE_SECONDS = 5 * 3600.0
"""The paper's S-SVM with the linear kernel took about 5 hours, which it calls feasible."""
MAP_SECONDS = 120.0
"""Of a search with the chi-squared kernel in the paper's program: "several minutes per image" are at least 2."""

Cell = tuple[str, float | None]
"""A method and a level of noise; None for what does not learn."""
Rates = Callable[..., np.ndarray]


def _draws(case: Case, method: str, level: float | None, **settings: object) -> dict[int, Detections]:
    """The detections of a method at a level of noise, by draw."""
    at = {} if level is None else {"label_noise": level}
    runs = case.runs(STUDIES, method, **at, **settings)
    if runs.empty:
        where = "" if level is None else f" at a noise of {level:g}"
        raise NotTestable(f"no finished run of {method}{where} at this scale")
    repetitions = column(runs, "repetition", 0)
    return {int(k): detections(case.experiment, run) for k, run in zip(repetitions, runs["run"], strict=True)}


def compared(case: Case, cells: Sequence[Cell], combine: Rates) -> Estimate:
    """`combine` of the equal error rates (resamples, draws) of some cells, over images crossed with draws."""
    by_cell = [_draws(case, *cell) for cell in cells]
    drawn = [set(found) for (_, level), found in zip(cells, by_cell, strict=True) if level != 0.0]
    draws = sorted(set.intersection(*drawn)) if drawn else [min(by_cell[0])]
    if not draws:
        raise NotTestable("the methods share no draw of the noise")
    columns = [[found.get(k, next(iter(found.values()))) for k in draws] for found in by_cell]

    def statistic(weights: np.ndarray) -> np.ndarray:
        return combine(
            *(np.stack([one.equal_error(weights) for one in of_cell], axis=1) for of_cell in columns)
        )

    return weighted_bootstrap(statistic, len(columns[0][0].cars), case.level)


def _below_both(ssvm: np.ndarray, linear: np.ndarray, chi2: np.ndarray) -> np.ndarray:
    return np.minimum(ssvm, linear) - chi2


DIFFERENCES: dict[str, tuple[Cell, Cell]] = {
    "jkse-noise-linear-0": ((LINEAR, 0.0), (SSVM, 0.0)),
    "jkse-noise-linear-10": ((LINEAR, 0.1), (SSVM, 0.1)),
    "jkse-noise-linear-30": ((LINEAR, 0.3), (SSVM, 0.3)),
    "jkse-noise-linear-90": ((SSVM, 0.9), (LINEAR, 0.9)),
    "jkse-noise-linear-moderate": ((SSVM, 0.3), (SSVM, 0.0)),
    "jkse-noise-linear-dive": ((SSVM, 0.5), (SSVM, 0.3)),
    "jkse-noise-linear-artifact": ((SSVM, 0.7), (SSVM, 0.5)),
    "jkse-noise-chance-ssvm": ((SSVM, 1.0), (RANDOM, None)),
    "jkse-noise-chance-linear": ((LINEAR, 1.0), (RANDOM, None)),
    "jkse-noise-chance-chi2": ((CHI2, 1.0), (RANDOM, None)),
    "jkse-noise-chance-ssvm-90": ((SSVM, 0.9), (RANDOM, None)),
    "jkse-noise-chance-linear-90": ((RANDOM, None), (LINEAR, 0.9)),
    "jkse-chi2-robust": ((CHI2, 0.0), (CHI2, 0.3)),
    "jkse-ssvm-chi2-profits": ((SSVM, 0.0), (SSVM_CHI2, 0.0)),
    "jkse-ssvm-chi2-better": ((CHI2, 0.0), (SSVM_CHI2, 0.0)),
}
"""The equal error rate of the first less that of the second."""


def _difference(case: Case) -> Estimate:
    return compared(case, DIFFERENCES[case.statement.id], np.subtract)


def _lowest(case: Case) -> Estimate:
    level = int(case.statement.id.rpartition("-")[2]) / 100
    return compared(case, [(SSVM, level), (LINEAR, level), (CHI2, level)], _below_both)


for _name, _cells in DIFFERENCES.items():
    effect(_name, study=STUDIES, methods=[_method for _method, _ in _cells])(_difference)
for _level in LEVELS:
    effect(f"jkse-chi2-{100 * _level:.0f}", study=NOISE, methods=[SSVM, LINEAR, CHI2])(_lowest)


@effect("jkse-noise-linear-gradual", study=NOISE, methods=[SSVM, LINEAR])
def gradual(case: Case) -> Estimate:
    """How much larger the S-SVM's largest rise between neighbouring levels is than JKSE's."""
    shared = [
        set(column(case.runs(NOISE, method), "label_noise", -1.0).tolist()) for method in (SSVM, LINEAR)
    ]
    levels = [level for level in LEVELS if level in set.intersection(*shared)]
    if not {0.3, 0.5, 0.9} <= set(levels):
        raise NotTestable("noise of 30%, 50% and 90% is needed with both methods")

    def largest_rises(*rates: np.ndarray) -> np.ndarray:
        ssvm, linear = rates[: len(levels)], rates[len(levels) :]
        rises = [np.max([b - a for a, b in itertools.pairwise(of)], axis=0) for of in (ssvm, linear)]
        return np.asarray(rises[0] - rises[1])

    cells: list[Cell] = [(method, level) for method in (SSVM, LINEAR) for level in levels]
    names = ", ".join(f"{level:g}" for level in levels)
    return compared(case, cells, largest_rises).noted(f"levels of noise {names}")


@effect("jkse-chi2-recall-90", "jkse-chi2-precision-90", study=NOISE, methods=[CHI2])
def curve_at_90(case: Case) -> Estimate:
    """The largest recall, or the part of the curve with a precision above 40%, at 90% noise."""
    found = list(_draws(case, CHI2, 0.9).values())

    def statistic(weights: np.ndarray) -> np.ndarray:
        if case.statement.id == "jkse-chi2-recall-90":
            return np.stack([one.recall(weights) for one in found], axis=1)
        return np.stack([one.precise_share(weights, PRECISION) for one in found], axis=1)

    return weighted_bootstrap(statistic, len(found[0].cars), case.level)


def _range_over_nu(case: Case) -> Estimate:
    _, _, kernel, percent = case.statement.id.split("-")
    method, level = f"JKSE ({kernel}), nu", int(percent) / 100
    runs = case.runs("nu", method, label_noise=level)
    if column(runs, "nu").nunique() < 2:
        raise NotTestable(f"no runs of {method} with several values of nu at a noise of {level:g}")
    by_nu = [
        {
            int(k): detections(case.experiment, run)
            for k, run in zip(column(group, "repetition", 0), group["run"])
        }
        for _, group in runs.groupby("nu")
    ]
    draws = sorted(set.intersection(*(set(found) for found in by_nu)))

    def statistic(weights: np.ndarray) -> np.ndarray:
        rates = [np.stack([found[k].equal_error(weights) for k in draws], axis=1) for found in by_nu]
        return np.asarray(np.max(rates, axis=0) - np.min(rates, axis=0))

    note = f"range over {len(by_nu)} values of nu, which chance can only make larger"
    return weighted_bootstrap(statistic, len(by_nu[0][draws[0]].cars), case.level).noted(note)


for _kernel, _percent in itertools.product(("linear", "chi2"), (0, 50, 90)):
    _name = f"jkse-nu-{_kernel}-{_percent}"
    effect(_name, study="nu", methods=[f"JKSE ({_kernel}), nu"])(_range_over_nu)


def _timed(case: Case, method: str) -> pd.DataFrame:
    """The trainings of a method in Table 1 with their times, by level of noise and draw."""
    runs = case.experiment.timed(case.runs(NOISE, method))
    if runs.empty:
        raise NotTestable(f"no timed run of {method}")
    return runs.assign(repetition=column(runs, "repetition", 0)).set_index(["label_noise", "repetition"])


@effect("jkse-fast-linear", study=NOISE, methods=[LINEAR])
@effect("jkse-fast-chi2", study=NOISE, methods=[CHI2])
def training_seconds(case: Case) -> Estimate:
    """CPU seconds of one training at the nu that was chosen."""
    method = LINEAR if case.statement.id.endswith("linear") else CHI2
    return bootstrap(_timed(case, method)["fit_seconds"].to_numpy(float), case.level)


@effect("jkse-fast-ratio", study=NOISE, methods=[SSVM, LINEAR])
def training_ratio(case: Case) -> Estimate:
    """log10 of how many times as long one training of the S-SVM takes as one of JKSE on the same boxes."""
    ssvm, linear = (_timed(case, method)["fit_seconds"].clip(lower=1e-6) for method in (SSVM, LINEAR))
    ratios = np.log10(ssvm / linear).dropna().to_numpy(float)
    estimate = bootstrap(ratios, case.level)
    return estimate.noted(f"{10**estimate.effect:.0f} times as long, geometric mean")


@effect("jkse-fast-calls", study=NOISE, methods=[SSVM])
def calls(case: Case) -> Estimate:
    """MAP searches of one training of the S-SVM at the C that was chosen."""
    runs = case.runs(NOISE, SSVM)
    if runs.empty:
        raise NotTestable(f"no finished run of {SSVM}")
    return bootstrap(runs["oracle_calls"].to_numpy(float), case.level)


@effect("jkse-fast-share", study=NOISE, methods=[SSVM])
def search_share(case: Case) -> Estimate:
    """The share of the S-SVM's training time that its searches take."""
    runs = _timed(case, SSVM)
    shares = runs["fit_seconds_search"] / runs["fit_seconds"].clip(lower=1e-9)
    return bootstrap(shares.to_numpy(float), case.level)


@effect("jkse-ssvm-chi2-infeasible", study="machine", methods=[SSVM_CHI2])
def feasible(case: Case) -> Estimate:
    """Trainings of the S-SVM with the chi-squared kernel that end within 5 hours."""
    runs = case.experiment.timed(case.runs("machine", SSVM_CHI2))
    within = runs["fit_seconds"] <= FEASIBLE_SECONDS
    note = f"the longest took {runs['fit_seconds'].max():.0f} CPU seconds" if len(runs) else ""
    return counterexamples(int(within.sum()), len(runs), note)


@effect("jkse-ssvm-chi2-infeasible", study="machine", methods=[SSVM_CHI2], cause="engineering")
def feasible_in_counts(case: Case) -> Estimate:
    """The same, if every search took as long as in the paper's program."""
    runs = case.runs("machine", SSVM_CHI2)
    seconds = runs["oracle_calls"] * MAP_SECONDS
    note = (
        f"at the paper's several minutes a search, the {runs['oracle_calls'].min():.0f} searches of a training "
        f"would take {seconds.min() / 3600:.0f} hours"
        if len(runs) else ""
    )  # fmt: skip
    return counterexamples(int((seconds <= FEASIBLE_SECONDS).sum()), len(runs), note)


@effect("jkse-choice-C", study="noise", methods=[SSVM, LINEAR])
def sensitive_to_C(case: Case) -> Estimate:
    """How much more the ROC area on the crops varies over C than over nu, mean over levels, by draw."""
    ranges = {method: _areas(case, method) for method in (SSVM, LINEAR)}
    difference = (ranges[SSVM] - ranges[LINEAR]).dropna()
    by_draw = difference.groupby(level="repetition").mean()
    note = f"range over C {ranges[SSVM].mean():.1f}, over nu {ranges[LINEAR].mean():.1f} points of ROC area"
    return t_interval(by_draw.to_numpy(float), case.level).noted(note)


def _areas(case: Case, method: str) -> pd.Series:
    """The range of ROC areas over the values tried, by level of noise and draw."""
    runs = case.runs("noise", method)
    if runs.empty:
        raise NotTestable(f"no finished run of {method}")
    tried: list[Mapping[str, list[list[float]]]] = [
        case.experiment.record(run).get("chosen") or {} for run in runs["run"]
    ]
    areas = [[area for _, area in chosen.get("validation_roc_area", [])] for chosen in tried]
    if min(len(of_run) for of_run in areas) < 2:
        raise NotTestable(f"{method} chose among fewer than two values")
    index = pd.MultiIndex.from_arrays(
        [runs["label_noise"], column(runs, "repetition", 0)], names=["label_noise", "repetition"]
    )
    return pd.Series([max(of_run) - min(of_run) for of_run in areas], index=index)


@effect("jkse-outliers-sparse", study=NOISE, methods=[LINEAR])
def sparse(case: Case) -> Estimate:
    """The percentage of training boxes with a coefficient above 0, without noise."""
    runs = case.runs(NOISE, LINEAR, label_noise=0.0)
    if runs.empty:
        raise NotTestable(f"no finished run of {LINEAR} without noise")
    alpha = case.experiment.model(runs["run"].iloc[0]).fit_.alpha
    return bootstrap(100.0 * (alpha > 0.0), case.level)


@effect("jkse-outliers-wrong", study="noise", methods=[LINEAR])
def wrong_are_outliers(case: Case) -> Estimate:
    """The share of wrong boxes that are outliers less that of right boxes, in points, at 50% noise."""
    runs = case.runs("noise", LINEAR, label_noise=0.5)
    if runs.empty:
        raise NotTestable(f"no finished run of {LINEAR} at a noise of 0.5")
    counts = []
    for run in runs["run"]:
        fit = case.experiment.model(run).fit_
        image, wrong = wrong_boxes(case.experiment, run)
        outlier = fit.xi > 1e-9 * abs(fit.rho)
        kinds = (wrong & outlier, wrong, ~wrong & outlier, ~wrong)
        counts.append(np.stack([np.bincount(image, kind, image.max() + 1) for kind in kinds], axis=1))
    if np.sum(counts, axis=(0, 1))[[1, 3]].min() < 1:
        raise NotTestable("the training boxes are all wrong or all right")

    def shares(sums: np.ndarray) -> np.ndarray:
        return np.asarray(100.0 * (sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3]))

    return bootstrap(np.array(counts), case.level, shares)


@effect("jkse-outliers-grows", study=NOISE, methods=[LINEAR])
def nu_grows(case: Case) -> Estimate:
    """The slope of the chosen nu against the noise, one per draw; noise is drawn anew, the images are the same."""
    runs = case.runs(NOISE, LINEAR)
    runs = runs.assign(repetition=column(runs, "repetition", 0))
    clean, noisy = runs[runs["label_noise"] == 0.0], runs[runs["label_noise"] > 0.0]
    slopes = []
    for _, of_draw in noisy.groupby("repetition"):
        both = pd.concat([clean.head(1), of_draw])
        if both["label_noise"].nunique() > 1:
            slopes.append(
                float(np.polyfit(both["label_noise"].astype(float), both["nu"].astype(float), 1)[0])
            )
    return t_interval(slopes, case.level)


@effect("jkse-outliers-90", study=NOISE, methods=[LINEAR])
def nu_at_90(case: Case) -> Estimate:
    """The nu that is chosen at 90% noise, one per draw."""
    return t_interval(list(case.values(NOISE, "nu", LINEAR, label_noise=0.9).values()), case.level)


def _kernels(case: Case) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Kernel values (training boxes, test images) at right and at random boxes, by kernel."""
    runs = case.runs(NOISE, LINEAR, label_noise=0.0)
    if runs.empty:
        raise NotTestable(f"no finished run of {LINEAR} without noise")
    return kernel_values(case.experiment, runs["run"].iloc[0])


def _told_apart(values: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """For each test image, whether its right box has a higher mean value than its random one."""
    right, random = values
    return np.asarray(right.mean(axis=0) > random.mean(axis=0))


@effect("jkse-localization-kernel-linear", "jkse-localization-kernel-chi2", study=NOISE, methods=[LINEAR])
def told_apart(case: Case) -> Estimate:
    """The percentage of test images in which a kernel is higher at the right box."""
    told = _told_apart(_kernels(case)[case.statement.id.rpartition("-")[2]])
    return bootstrap(100.0 * told, case.level)


@effect("jkse-localization-kernel-clearer", study=NOISE, methods=[LINEAR])
def clearer(case: Case) -> Estimate:
    """Test images that only the chi-squared kernel tells apart, against those that only the linear one does."""
    values = _kernels(case)
    chi2, linear = _told_apart(values["chi2"]), _told_apart(values["linear"])
    return sign_interval(int(np.sum(chi2 & ~linear)), int(np.sum(linear & ~chi2)), case.level)


@effect("jkse-localization-kernel-constant", study=NOISE, methods=[LINEAR])
def constant(case: Case) -> Estimate:
    """Coefficient of variation of the values at right boxes: linear less chi-squared."""
    values = _kernels(case)
    parts = [(np.ones(len(k.T)), k.mean(axis=0), (k**2).mean(axis=0)) for k, _ in values.values()]
    counts = np.stack([part for of_kernel in parts for part in of_kernel], axis=1)

    def variation(sums: np.ndarray) -> np.ndarray:
        spread = []
        for n, first, second in (sums[:, :3].T, sums[:, 3:].T):
            spread.append(np.sqrt(np.maximum(second / n - (first / n) ** 2, 0.0)) / (first / n))
        return np.asarray(spread[list(values).index("linear")] - spread[list(values).index("chi2")])

    return bootstrap(counts, case.level, variation)
