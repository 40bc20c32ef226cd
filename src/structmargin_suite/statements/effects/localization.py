"""Effects on cars in street pictures (jkse09 Sections 5.1 and 5.2, Table 1, Figures 3, 4 and 7).

Equal error rates are in percent, by the data set's own criterion. Their intervals are bootstraps over test
images with their cars, the same resamples for all methods, crossed with the draws of the noise. Without noise
there is nothing to draw: that run stands beside every draw.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from structmargin_suite.analysis.estimates import (
    Estimate,
    NotTestable,
    bootstrap,
    share_interval,
    sign_interval,
    weighted_bootstrap,
)
from structmargin_suite.analysis.experiments.localization import (
    CHI2,
    LINEAR,
    SSVM,
    SSVM_CHI2,
    TABLE_1,
    Detections,
    detections,
    kernel_values,
)
from structmargin_suite.results import column
from structmargin_suite.statements.cases import Case, effect

RANDOM = "random scores"
STUDIES = (*TABLE_1, "machine", "without learning")
LEVELS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)
"""Of noise below 100%, as in Table 1."""
PRECISION = 0.4
"""Of "over most of the plot precision lies above 40%"."""
Cell = tuple[str, float | None]
"""A method and a level of noise; None for what does not learn."""
Rates = Callable[..., np.ndarray]


def runs_at(case: Case, method: str, level: float | None) -> pd.DataFrame:
    """Runs of a method at a level of noise.

    Without noise, readings that differ only in the noise are the same: the run of either stands for both.
    """
    at = {} if level is None else {"label_noise": level}
    runs = case.runs(STUDIES, method, **at)
    if level == 0.0:
        others = [name for name in case.experiment.methods[method].readings if _alike(case, name)]
        by_reading = [dataclasses.replace(case, reading=name).runs(STUDIES, method, **at) for name in others]
        runs = next((found for found in [runs, *by_reading] if len(found)), runs)
    if runs.empty:
        where = "" if level is None else f" at a noise of {level:g}"
        raise NotTestable(f"no finished run of {method}{where} at this scale")
    return runs


def _alike(case: Case, reading: str) -> bool:
    """Whether a reading differs from the case's in the kind of noise only."""
    if not case.reading:
        return False
    ours, other = (
        {key: value for key, value in case.experiment.readings[name].sets.items() if key != "noise_kind"}
        for name in (case.reading, reading)
    )
    return ours == other


def _draws(case: Case, method: str, level: float | None) -> dict[int, Detections]:
    """The detections of a method at a level of noise, by draw."""
    runs = runs_at(case, method, level)
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
    _study = "machine" if _name.startswith("jkse-ssvm-chi2") else STUDIES  # there with the same kernel
    effect(_name, study=_study, methods=[_method for _method, _ in _cells])(_difference)
for _level in LEVELS:
    effect(f"jkse-chi2-{100 * _level:.0f}", study=TABLE_1, methods=[SSVM, LINEAR, CHI2])(_lowest)


@effect("jkse-noise-linear-gradual", study=TABLE_1, methods=[SSVM, LINEAR])
def gradual(case: Case) -> Estimate:
    """How much larger the S-SVM's largest rise between neighbouring levels is than JKSE's."""
    shared = [
        set(column(case.runs(TABLE_1, method), "label_noise", -1.0).tolist()) for method in (SSVM, LINEAR)
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


@effect("jkse-chi2-recall-90", "jkse-chi2-precision-90", study=TABLE_1, methods=[CHI2])
def curve_at_90(case: Case) -> Estimate:
    """The largest recall, or the part of the curve with a precision above 40%, at 90% noise."""
    found = list(_draws(case, CHI2, 0.9).values())

    def statistic(weights: np.ndarray) -> np.ndarray:
        if case.statement.id == "jkse-chi2-recall-90":
            return np.stack([one.recall(weights) for one in found], axis=1)
        return np.stack([one.precise_share(weights, PRECISION) for one in found], axis=1)

    return weighted_bootstrap(statistic, len(found[0].cars), case.level)


def _along(case: Case, study: str, method: str, option: str, level: float) -> list[dict[int, Detections]]:
    """The detections of a method at each value of an option, by draw of the noise."""
    runs = case.runs(study, method, label_noise=level)
    if column(runs, option).nunique() < 2:
        raise NotTestable(f"no runs of {method} with several values of {option} at a noise of {level:g}")
    return [
        {
            int(k): detections(case.experiment, run)
            for k, run in zip(column(group, "repetition", 0), group["run"], strict=True)
        }
        for _, group in runs.groupby(option)
    ]


def _ranges(found: Sequence[dict[int, Detections]], draws: Sequence[int], weights: np.ndarray) -> np.ndarray:
    """The range of equal error rates over the values of an option, (resamples, draws)."""
    rates = [np.stack([of_value[k].equal_error(weights) for k in draws], axis=1) for of_value in found]
    return np.asarray(np.max(rates, axis=0) - np.min(rates, axis=0))


def _range_over_nu(case: Case) -> Estimate:
    _, _, kernel, percent = case.statement.id.split("-")
    by_nu = _along(case, "nu", f"JKSE ({kernel}), nu", "nu", int(percent) / 100)
    draws = sorted(set.intersection(*(set(found) for found in by_nu)))
    note = f"range over {len(by_nu)} values of nu, which chance can only make larger"
    cars = len(by_nu[0][draws[0]].cars)
    return weighted_bootstrap(lambda w: _ranges(by_nu, draws, w), cars, case.level).noted(note)


@effect("jkse-choice-error", study=("C", "nu"), methods=[f"{SSVM}, C", f"{LINEAR}, nu"])
def sensitive_error(case: Case) -> Estimate:
    """The range of equal error rates over C less that over nu, mean over levels of noise."""
    of_level = []
    for level in LEVELS:
        try:
            over_C = _along(case, "C", f"{SSVM}, C", "C_per_example", level)
            over_nu = _along(case, "nu", f"{LINEAR}, nu", "nu", level)
        except NotTestable:
            continue
        of_level.append((level, over_C, over_nu))
    if not of_level:
        raise NotTestable("no level of noise has runs with several values of both C and nu")
    draws = sorted(set.intersection(*(set(found) for _, *both in of_level for one in both for found in one)))

    def statistic(weights: np.ndarray) -> np.ndarray:
        differences = [_ranges(a, draws, weights) - _ranges(b, draws, weights) for _, a, b in of_level]
        return np.asarray(np.mean(differences, axis=0))

    names = ", ".join(f"{level:g}" for level, *_ in of_level)
    cars = len(of_level[0][1][0][draws[0]].cars)
    return weighted_bootstrap(statistic, cars, case.level).noted(f"levels of noise {names}")


for _kernel, _percent in itertools.product(("linear", "chi2"), (0, 50, 90)):
    _name = f"jkse-nu-{_kernel}-{_percent}"
    effect(_name, study="nu", methods=[f"JKSE ({_kernel}), nu"])(_range_over_nu)


def _kernels(case: Case) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Kernel values (training boxes, test images) at right and at random boxes, by kernel."""
    linear, chi2 = (str(runs_at(case, method, 0.0)["run"].iloc[0]) for method in (LINEAR, CHI2))
    return kernel_values(case.experiment, linear, chi2)


def _told_apart(values: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """For each test image, whether its right box has a higher mean value than its random one."""
    right, random = values
    return np.asarray(right.mean(axis=0) > random.mean(axis=0))


@effect(
    "jkse-localization-kernel-linear", "jkse-localization-kernel-chi2", study=TABLE_1, methods=[LINEAR, CHI2]
)
def told_apart(case: Case) -> Estimate:
    """The percentage of test images in which a kernel is higher at the right box."""
    told = _told_apart(_kernels(case)[case.statement.id.rpartition("-")[2]])
    return share_interval(int(told.sum()), len(told), case.level)


@effect("jkse-localization-kernel-clearer", study=TABLE_1, methods=[LINEAR, CHI2])
def clearer(case: Case) -> Estimate:
    """Test images that only the chi-squared kernel tells apart against those that only the linear does."""
    values = _kernels(case)
    chi2, linear = _told_apart(values["chi2"]), _told_apart(values["linear"])
    return sign_interval(int(np.sum(chi2 & ~linear)), int(np.sum(linear & ~chi2)), case.level)


@effect("jkse-localization-kernel-constant", study=TABLE_1, methods=[LINEAR, CHI2])
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
