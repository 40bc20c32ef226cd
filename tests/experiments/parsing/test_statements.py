"""Statements about grammars: made-up trees under which each is reproduced, contradicted, or open."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from helpers.made_up_results import Fake, config_of, frame, judgements, row
from structmargin_suite.analysis import estimates
from structmargin_suite.analysis.estimates import NotTestable
from structmargin_suite.analysis.experiments.parsing import by_document
from structmargin_suite.datasets import Examples
from structmargin_suite.datasets._treebanks import score
from structmargin_suite.statements.effects.parsing import share_at_the_papers_size
from structmargin_suite.storage.frames import frame_of, records

N, TRAINED = 400, 1000
TRUE = ("S", ("NP", "a"), ("VP", "b", ("NP", "c")))
NEAR = ("S", ("NP", "a"), ("VP", "b", "c"))
FAR = ("S", "a", "b", "c")
LEVELS = {"PCFG": (180, 60), "SVM2": (195, 37), "SVM2 slack": (230, 110), "SVM2 margin": (228, 112)}
"""Sentences whose tree is right, and sentences with one bracket too few."""
CONSTRAINTS = {"SVM2": 1.83, "SVM2 slack": 1.96, "SVM2 margin": 1.74}
PASSES = {"SVM2": 17, "SVM2 slack": 12, "SVM2 margin": 16}
SECONDS = {"SVM2": (80.0, 20.0), "SVM2 slack": (36.0, 300.0), "SVM2 margin": (63.0, 280.0)}
"""In the QP, and in the search."""
PRIMARY = "authors"
KINDS = ("zero-one", "slack", "margin")
LEARNT = {
    "parse-zero-one-trees", "parse-zero-one-f1", "parse-f1-both",
    *(f"parse-f1-{kind}{what}" for kind in ("slack", "margin") for what in ("", "-mcnemar", "-zero-one")),
}  # fmt: skip
COUNTED = {f"parse-{what}-{kind}" for what in ("constraints", "iterations") for kind in KINDS}
TIMED = {f"parse-time-{kind}" for kind in KINDS} | {
    f"parse-time-{what}-{kind}" for what in ("faster", "qp") for kind in KINDS[1:]
}
ALL = LEARNT | COUNTED | TIMED | {f"parse-c-{kind}" for kind in KINDS} | {"parse-features-spans"}


class Trees(Fake):
    """Made-up results: each run gets some sentences right, some nearly, the rest far off."""

    def split(self, run):
        return SimpleNamespace(test=Examples([("a", "b", "c")] * N, [TRUE] * N))

    def model(self, run):
        return SimpleNamespace(predict=lambda X: _predicted(self.weights[run]))

    def ready(self, run):
        return {"subset": np.ones(N, dtype=int)}

    def record(self, run):
        return {"n_train": TRAINED}

    def timings(self):
        rows = []
        for run, method in self.runs[["run", "method"]].itertuples(index=False):
            qp, search = self.summary["seconds"].get(method, (1.0, 1.0))
            loop = qp + search  # the whole has set-up and certificate too, which do not count
            times = {"fit_seconds": 50.0 + 3.0 * loop, "fit_seconds_loop": loop, "fit_seconds_qp": qp}
            rows.append({"run": run, **times})
        return frame_of(rows, ["run", "fit_seconds", "fit_seconds_loop", "fit_seconds_qp"], {"run": "text"})


def _predicted(level):
    return [TRUE] * level[0] + [NEAR] * level[1] + [FAR] * (N - sum(level))


def made(
    levels=LEVELS, constraints=CONSTRAINTS, passes=PASSES, seconds=SECONDS, by_c=lambda C: 80.0, spans=85.0,
    corpora=("gum",), splits=1, readings=(PRIMARY,), solver="staged",
):  # fmt: skip
    """Results as the paper has them, but for what is given."""
    rng, rows, weights = np.random.default_rng(2), [], {}
    for corpus in corpora:
        for method, level in levels.items():
            for reading in readings if method != "PCFG" else [""]:
                for split in range(splits):
                    run = f"{corpus} {method} {reading} {split}"
                    weights[run] = level
                    measured = {
                        f"test_{key}": value for key, value in score([TRUE] * N, _predicted(level)).items()
                    }
                    measured |= {key: measured[key] + 0.1 * split for key in ("test_f1", "test_accuracy")}
                    counts = {
                        "constraints": TRAINED * constraints.get(method, 0),
                        "iterations": passes.get(method),
                    }
                    rows.append(
                        row("table 5", run, method=method, reading=reading, corpus=corpus, data=corpus,
                            repetition=split, solver=solver, **counts, **measured)
                    )  # fmt: skip
    for split in range(5):
        shift = rng.normal()
        own = {"corpus": "wsj", "repetition": split, "reading": PRIMARY}
        for method in CONSTRAINTS:
            counts = {
                "constraints": TRAINED * (constraints[method] + 0.01 * split), "iterations": passes[method],
            }  # fmt: skip
            rows.append(
                row("sizes, schedule", f"{method} {split}", method=method, solver=solver, **counts, **own)
            )
            for C in (0.1, 1.0, 10.0, 100.0):
                f1 = by_c(C) + shift + 0.05 * rng.normal()
                rows.append(row("C, splits", f"{method} {C} {split}", method=method, C=C, test_f1=f1, **own))
        for method, f1 in (("SVM2 margin", 80.0), ("SVM2 margin, spans", spans)):
            noisy = f1 + shift + 0.2 * rng.normal()
            rows.append(row("richer", f"{method} {split}", method=method, test_f1=noisy, **own))
    fake = Trees("parsing", config_of("parsing"), rows, weights)
    fake.summary["seconds"] = seconds
    return {"parsing": fake}


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    monkeypatch.setattr(estimates, "RESAMPLES", 500)


def _verdicts(results):
    return {one["id"]: one["verdict"] for one in judgements(results, "parsing") if one["primary"]}


def test_all_is_reproduced_where_all_is_as_the_paper_says():
    assert _verdicts(made()) == dict.fromkeys(ALL, "reproduced")


def _swapped(table, a, b):
    return {**table, a: table[b], b: table[a]}


@pytest.mark.parametrize(
    ("changed", "contradicted"),
    [
        # two methods swapped
        ({"levels": _swapped(LEVELS, "PCFG", "SVM2 slack")},
         LEARNT - {"parse-f1-margin-zero-one", "parse-f1-margin-mcnemar"}),
        ({"levels": _swapped(LEVELS, "PCFG", "SVM2")}, {"parse-zero-one-trees"}),
        ({"constraints": {"SVM2": 4.0, "SVM2 slack": 1.0, "SVM2 margin": 2.0}},
         {"parse-constraints-zero-one", "parse-constraints-slack"}),
        ({"passes": dict.fromkeys(PASSES, 60)}, {f"parse-iterations-{kind}" for kind in KINDS}),
        ({"seconds": _swapped(SECONDS, "SVM2", "SVM2 slack")},
         {"parse-time-zero-one", "parse-time-slack", "parse-time-faster-slack"}),
        ({"seconds": {**SECONDS, "SVM2 slack": (8.0, 300.0)}}, {"parse-time-qp-slack"}),
        ({"by_c": lambda C: 80.0 - 3.0 * (C > 50)}, {f"parse-c-{kind}" for kind in KINDS}),
        ({"spans": 70.0}, {"parse-features-spans"}),
    ],
)  # fmt: skip
def test_what_is_otherwise_is_contradicted_and_nothing_else(changed, contradicted):
    verdicts = _verdicts(made(**changed))
    assert {name for name, verdict in verdicts.items() if verdict == "contradicted"} == contradicted


LOST_BY_C = {0.1: 0, 1.0: 0, 10.0: 0, 100.0: 0}


@pytest.mark.parametrize(
    ("lost", "verdict", "told"),
    [({}, "reproduced", "+0.00 points at C = 0.1"), ({100.0: 60}, "contradicted", "points at C = 100"),
     ({0.1: 4}, "inconclusive", "points at C = 0.1")],
)  # fmt: skip
def test_on_one_test_set_the_choice_of_c_is_resampled_by_document(lost, verdict, told):
    """`lost` trees are far off instead of right at some C; the C farthest from C = 1 is told."""
    results = made()
    fake = results["parsing"]
    rows = []
    for method in CONSTRAINTS:
        for C, wrong in {**LOST_BY_C, **lost}.items():
            run = f"gum {method} at {C}"
            fake.weights[run] = (300 - wrong, 0)
            f1 = score([TRUE] * N, _predicted(fake.weights[run]))["f1"]
            rows.append(
                row("C", run, method=method, C=C, test_f1=f1, reading=PRIMARY, corpus="gum", data="gum")
            )
    fake.runs = frame([*records(fake.runs), *rows])
    fake.ready = lambda run: {"subset": np.ones(N, dtype=int), "document": np.arange(N) % 100}
    rows = [one for one in judgements(results, "parsing", "parse-c") if one["data"] == "gum"]
    assert {one["verdict"] for one in rows} == {verdict} and len(rows) == 3
    assert all(told in one["evidence"] and "bootstrap over 100 units" in one["interval"] for one in rows)


@pytest.mark.parametrize(
    ("slower", "searches", "verdict", "cause"),
    [
        (1.5, 1.3, "reproduced", ""),
        (0.6, 1.3, "contradicted", "engineering: variant (b) makes 1.30 times the searches"),
        (0.6, 0.8, "contradicted", "open"),
        (1.0, 0.8, "inconclusive", "power"),
    ],
)
def test_the_two_variants_are_timed_on_the_same_splits(slower, searches, verdict, cause):
    results = made()
    fake, seconds = results["parsing"], np.random.default_rng(1).normal(0.0, 0.05, size=(5, 2, 2))
    rows, clocks = [], []
    for split in range(5):
        for m, method in enumerate(("SVM2 slack", "SVM2 margin")):
            for v, name in enumerate("ab"):
                run = f"{method} n_slack_{name} {split}"
                loop = 10.0 * (m + 1) * slower**v * np.exp(seconds[split, m, v])
                rows.append(row("variants", run, method=method, reading="per example", corpus="wsj",
                                data="wsj", repetition=split, solver=f"n_slack_{name}",
                                oracle_calls=(1000.0 + split) * searches**v))  # fmt: skip
                clocks.append(
                    {"run": run, "fit_seconds_loop": loop, "fit_seconds": 1.0, "fit_seconds_qp": 1.0}
                )
    fake.runs = frame([*records(fake.runs), *rows])
    fake.timings = lambda: frame_of(clocks, ["run", "fit_seconds_loop"], {"run": "text"})
    judged = next(
        one for one in judgements(results, "theory", "algorithm-variants") if one["experiment"] == "parsing"
    )
    assert judged["verdict"] == verdict and judged["effect"] == pytest.approx(np.log(slower), abs=0.05)
    assert judged["cause"].startswith(cause) and bool(judged["cause"]) == bool(cause)


@pytest.mark.parametrize(
    ("power", "splits", "cause"),
    [
        (0.6, 5, "data: the share in the QP is 12% with 39 sentences and 32% with 314 sentences; "
                 "extrapolated to the paper's 4,098 it is 69% ("),
        (0.1, 5, "open"),  # at this rate it would be less than half also there
        (0.0, 5, "open"),
        (0.6, 1, "open"),  # one split has no interval
    ],
)  # fmt: skip
def test_a_share_in_the_qp_that_grows_with_the_sentences_is_the_datas(power, splits, cause):
    """Time in the QP over all else is .47 with 314 sentences, and grows with a power of their number."""
    results = made(seconds={**SECONDS, "SVM2": (0.47, 1.0)})
    fake, noise = results["parsing"], np.random.default_rng(4).normal(0.0, 1e-3, size=(5, 4))
    plain, rows, clocks = fake.timings, [], []
    for split in range(splits):
        for k, n in enumerate((39, 78, 157, 314)):
            run = f"{n} sentences {split}"
            qp = n * 0.47 * (n / 314) ** power * np.exp(noise[split, k])
            rows.append(row("sizes, schedule", run, method="SVM2", reading=PRIMARY, corpus="wsj", n_train=n,
                            repetition=split, solver="staged"))  # fmt: skip
            clocks.append({"run": run, "fit_seconds": 1.0, "fit_seconds_loop": n + qp, "fit_seconds_qp": qp})
    fake.runs = frame([*records(fake.runs), *rows])
    fake.record = lambda run: {"n_train": int(run.split()[0]) if "sentences" in run else TRAINED}
    fake.timings = lambda: pd.concat([
        plain()[~plain()["run"].isin([one["run"] for one in rows])],
        frame_of(clocks, ["run", "fit_seconds", "fit_seconds_loop", "fit_seconds_qp"], {"run": "text"}),
    ])  # fmt: skip
    judged = judgements(results, "parsing", only=["parse-time-zero-one"])
    (found,) = [one for one in judged if one["primary"]]
    assert found["verdict"] == "contradicted" and found["cause"].startswith(cause), found["cause"]


@pytest.mark.parametrize("missing", ["n_train", "repetition"])
def test_a_share_is_not_extrapolated_where_sizes_or_splits_do_not_vary(missing):
    """As at smoke scale, where the column is not there."""
    clocks = {"fit_seconds_qp": [1.0], "fit_seconds_loop": [3.0]}
    runs = pd.DataFrame({"solver": ["staged"], "n_train": [39.0], "repetition": [0], **clocks})
    runs = runs.drop(columns=missing)
    case = SimpleNamespace(runs=lambda *chosen: runs, experiment=SimpleNamespace(timed=lambda runs: runs))
    with pytest.raises(NotTestable, match="no clock of SVM2 on several training sets"):
        share_at_the_papers_size(case)


def test_a_difference_within_chance_is_inconclusive():
    verdicts = _verdicts(made({**LEVELS, "SVM2": (184, 60), "SVM2 slack": (186, 62)}))
    for name in ("parse-zero-one-trees", "parse-f1-slack-mcnemar"):
        assert verdicts[name] != "contradicted"
    few = made({**LEVELS, "SVM2": (181, 59)})
    assert _verdicts(few)["parse-zero-one-trees"] == "inconclusive"
    noisy = made(by_c=lambda C: 80.0 + (0.95 if C > 50 else 0.0))
    assert _verdicts(noisy)["parse-c-slack"] == "inconclusive"


def test_counts_and_times_of_other_algorithms_are_not_compared():
    verdicts = _verdicts(made(solver="n_slack"))
    assert {verdicts[name] for name in COUNTED | TIMED} == {"not testable"}


def test_one_training_decides_nothing_about_counts_and_times():
    rows = [one for one in judgements(made(), "parsing") if one["id"] in COUNTED | TIMED]
    of_corpus = {(one["data"] or "wsj", one["verdict"]) for one in rows}
    assert of_corpus == {("gum", "not testable"), ("wsj", "reproduced")}
    said = {one["evidence"] for one in rows if one["data"] == "gum"}
    assert said == {"1 repetition; at least 2 are needed for an interval"}


def test_random_splits_are_corrected_and_a_test_set_is_resampled_by_documents():
    rows = judgements(made(splits=3), "parsing")
    by_id = {one["id"]: one["interval"] for one in rows}
    assert (
        by_id["parse-f1-slack"].startswith("corrected t")
        and by_id["parse-f1-slack-mcnemar"] == "exact binomial"
    )
    results = made()
    counts = np.arange(2.0 * N).reshape(N, 2)
    fake = results["parsing"]
    assert by_document(fake, "", counts) is counts
    documents = np.concatenate([[99] * 3, np.arange(N - 3) % 40])
    fake.ready = lambda run: {"subset": np.ones(N, dtype=int), "document": documents}
    summed = by_document(fake, "", counts)
    assert summed.tolist() == [counts[documents == k].sum(axis=0).tolist() for k in (*range(40), 99)]
    judgement = next(one for one in judgements(results, "parsing") if one["id"] == "parse-f1-slack")
    assert judgement["interval"] == "bootstrap over 41 units" and judgement["effect"] == pytest.approx(
        next(one["effect"] for one in judgements(made(), "parsing") if one["id"] == "parse-f1-slack")
    )


def test_a_test_set_of_a_few_documents_is_not_resampled():
    results = made()
    results["parsing"].ready = lambda run: {"subset": np.ones(N, dtype=int), "document": np.arange(N) % 29}
    verdicts = _verdicts(results)
    assert verdicts["parse-f1-slack"] == "not testable" and verdicts["parse-f1-slack-mcnemar"] == "reproduced"


def test_mcnemar_counts_sentences_and_the_effect_is_that_of_the_table():
    results = made()
    by_id = {one["id"]: one for one in judgements(results, "parsing") if one["primary"]}
    # slack has 50 more sentences right, and is near on 100 that are far off there
    won = (230 - 180) + (340 - 240)
    assert f"{won} won, 0 lost" in by_id["parse-f1-slack-mcnemar"]["evidence"]
    runs = results["parsing"].runs.set_index("run")["test_f1"]
    table = runs[f"gum SVM2 slack {PRIMARY} 0"] - runs["gum PCFG  0"]
    assert by_id["parse-f1-slack"]["effect"] == pytest.approx(table)


def test_every_reading_and_corpus_has_rows_of_its_own():
    results = made(corpora=("gum", "craft"), readings=("printed", PRIMARY))
    rows = [one for one in judgements(results, "parsing") if one["id"] == "parse-zero-one-trees"]
    assert [(one["data"], one["reading"], one["primary"]) for one in rows] == [
        ("gum", "printed", False),
        ("gum", PRIMARY, True),
        ("craft", "printed", False),
        ("craft", PRIMARY, False),
    ]
