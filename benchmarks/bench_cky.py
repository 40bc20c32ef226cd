"""Milliseconds per parse: best tree, second best, and exact search for the loss 1 - F1, beside nltk's parser.

Sentences of 10 tags (or the longest there are) from the GUM corpus where STRUCTMARGIN_DATA has it, else from
the made-up language; the grammar has all rules of the training part. CPU time on one thread, the best of
several rounds, kernels compiled. Forests are built once per sentence and are used by every search of a
training; a prediction includes both. Scores of the best trees must agree with nltk's. Where weights are small
scores nearly tie and brackets decide: "PCFG / 100" is about the size of weights of the trainings that the
second table has, C = 1 as printed (C/n) and eps = 0.01, on GUM (10 tags) and CRAFT (15).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from fresh import cpu_seconds
from ledger import Ledger
from nltk import PCFG, Nonterminal, ProbabilisticProduction, ViterbiParser

from structmargin import StructuredSVM
from structmargin.formulation import FORMULATIONS
from structmargin.oracles.cky import forests
from structmargin.oracles.cky_best import best
from structmargin.problems import Grammar
from structmargin.scorer import LinearScorer
from structmargin_suite.baselines import pcfg as baseline
from structmargin_suite.datasets import DataSetModule, Examples, craft, gum, pcfg
from structmargin_suite.datasets._treebanks import view

N_SENTENCES, N_NLTK, ROUNDS = 200, 3, 3


def treebank(module: DataSetModule, longest: int) -> Examples | None:
    """The training examples of a treebank, None where its files are not available."""
    folder = Path(os.environ.get("STRUCTMARGIN_DATA", "data/mirror"))
    files = {remote.name: folder / remote.mirror for remote in module.FILES}
    if not all(path.is_file() for path in files.values()):
        return None
    return view(module.parse(files, 0, longest=longest, roots="clauses"), 0).train


def training_part() -> tuple[Examples, str]:
    """(training examples, the name of the corpus): GUM if it is available, else the made-up language."""
    train = treebank(gum, 10)
    if train is not None:
        return train, "gum"
    return view(pcfg.synthesize(0, longest=10, at_most=1500), 0).train, "made up"


def searches(problem: Grammar, X: list[Any], Y: list[Any], w: np.ndarray) -> dict[str, Callable[[], Any]]:
    """What is measured, by name: each call works on all sentences X with trees Y."""
    words = [problem.tables.words(x) for x in X]
    batch = problem.batch(X, Y)
    packed, every = batch.packed, np.arange(len(X))
    runs: dict[str, Callable[[], Any]] = {"forest": lambda: forests(problem.tables.rules, words)}
    for name, weights in {"PCFG": w, "PCFG / 10": w / 10, "PCFG / 100": w / 100, "w = 0": 0.0 * w}.items():
        f = LinearScorer(problem, weights)
        runs[f"best tree, {name}"] = lambda f=f: best(packed.forest, packed.all, *packed.scores(f))
        for formulation in ("SVM2", "SVM1 margin", "SVM2 slack", "SVM2 margin"):
            H = FORMULATIONS[formulation].H
            kind = "second best" if H.power == 0.0 else "exact 1 - F1"
            runs[f"{kind}, {formulation}, {name}"] = lambda f=f, H=H: batch.search(f, every, H)
    f = LinearScorer(problem, w)
    runs["prediction, forest and tree included"] = lambda: problem.batch(X, None).argmax(f)
    return runs


def main() -> None:
    """Print the table."""
    train, corpus = training_part()
    model = baseline.train(*train, seed=0)
    problem = model.problem
    longest = max(len(x) for x in train.X)
    chosen = [k for k, x in enumerate(train.X) if len(x) == longest][:N_SENTENCES]
    X, Y = [train.X[k] for k in chosen], [train.Y[k] for k in chosen]
    packed = problem.batch(X, Y).packed
    nodes, edges = (len(part) / len(X) for part in (packed.forest.item, packed.forest.left))
    text = (
        f"{len(X)} sentences of {longest} tags ({corpus}), {problem.n_weights} rules, "
        f"{nodes:.0f} nodes and {edges:.0f} edges per forest."
    )
    rows = []
    for name, run in searches(problem, X, Y, model.w).items():
        run()
        spent = min(cpu_seconds(run) for _ in range(ROUNDS)) / len(X) * 1e3
        rows.append({"program": f"ours: {name}", "ms per sentence": spent})
    f, ours = LinearScorer(problem, model.w), rows[-1]["ms per sentence"]
    theirs = nltk_ms(model, X[:N_NLTK], best(packed.forest, packed.all, *packed.scores(f))[0])
    peer = {"program": f"nltk ViterbiParser ({N_NLTK} sentences)", "ms per sentence": theirs}
    rows.append({**peer, "ours, ms": ours, "times": theirs / ours})
    with Ledger("cky") as ledger:
        ledger.add("Parsing", rows, ["program", "ms per sentence", "ours, ms", "times"], text)
        columns = ["training", "CPU s", "CPU s of searches", "passes"]
        ledger.add("Trees by the loss 1 - F1, whole trainings", trainings(), columns, "C = 1, eps = 0.01.")


def trainings() -> list[dict[str, Any]]:
    """CPU seconds of whole trainings with the loss 1 - F1, where the treebanks are available."""
    rows = []
    for name, module, longest in (("gum", gum, 10), ("craft", craft, 15)):
        train = treebank(module, longest)
        for formulation in ("SVM2 margin", "SVM2 slack"):
            row: dict[str, Any] = {"training": f"{name}, {formulation}"}
            rows.append(row)
            if train is None:
                row["CPU s"] = "no data"
                continue
            svm = StructuredSVM(Grammar(), formulation, solver="n_slack", C=1.0, eps=0.01)
            row["CPU s"] = cpu_seconds(lambda svm=svm, train=train: svm.fit(*train))
            row |= {"CPU s of searches": svm.fit_.seconds_search, "passes": svm.fit_.n_iter}
    return rows


def nltk_ms(model: baseline.ProbabilisticGrammar, X: list[Any], scores: np.ndarray) -> float:
    """Milliseconds of nltk's parser per sentence of X; raises unless its best trees have our scores."""
    parser = ViterbiParser(nltk_grammar(model))
    began = time.process_time()
    nltk_scores = [np.log(next(parser.parse(list(x))).prob()) for x in X]
    seconds = time.process_time() - began
    expected = scores[: len(X)] + np.log(1.0 / len(model.problem.start))
    if not np.allclose(nltk_scores, expected):
        raise SystemExit(f"nltk finds other scores: {nltk_scores} instead of {expected}")
    return seconds / len(X) * 1e3


def nltk_grammar(model: baseline.ProbabilisticGrammar) -> PCFG:
    """The same grammar in nltk's terms, all start symbols equally likely."""

    def symbol(name: Any) -> Any:
        return name if isinstance(name, str) else Nonterminal(name[0])

    start, roots = Nonterminal("TOP"), model.problem.start
    productions = [ProbabilisticProduction(start, [Nonterminal(s)], prob=1.0 / len(roots)) for s in roots]
    for (head, *children), w in zip(model.problem.rules, model.w, strict=True):
        productions.append(
            ProbabilisticProduction(symbol(head), [symbol(c) for c in children], prob=np.exp(w))
        )
    return PCFG(start, productions)


if __name__ == "__main__":
    main()
