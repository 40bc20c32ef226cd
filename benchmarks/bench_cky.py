"""Milliseconds per parse: best tree, second best, and exact search for the loss 1 - F1, beside nltk's parser.

Sentences of 10 tags (or the longest there are) from the GUM corpus where STRUCTMARGIN_DATA has it, else from
the made-up language; the grammar has all rules of the training part. CPU time on one thread, the best of
several rounds, kernels compiled. Forests are built once per sentence and are used by every search of a
training; a prediction includes both. Scores of the best trees must agree with nltk's.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from fresh import cpu_seconds
from nltk import PCFG, Nonterminal, ProbabilisticProduction, ViterbiParser

from structmargin.formulation import FORMULATIONS
from structmargin.oracles.cky import forests
from structmargin.oracles.cky_best import best
from structmargin.scorer import LinearScorer
from structmargin_suite.baselines import pcfg as baseline
from structmargin_suite.datasets import gum, pcfg
from structmargin_suite.datasets._treebanks import view

N_SENTENCES, N_NLTK, ROUNDS = 200, 3, 3


def main() -> None:
    folder = Path(os.environ.get("STRUCTMARGIN_DATA", "data/mirror"))
    files = {remote.name: folder / remote.mirror for remote in gum.FILES}
    available = all(path.is_file() for path in files.values())
    arrays = (
        gum.parse(files, 0, longest=10, roots="clauses")
        if available
        else pcfg.synthesize(0, longest=10, at_most=1500)
    )
    train = view(arrays, 0).train
    model = baseline.train(*train, seed=0)
    problem = model.problem
    longest = max(len(x) for x in train.X)
    chosen = [k for k, x in enumerate(train.X) if len(x) == longest][:N_SENTENCES]
    X, Y = [train.X[k] for k in chosen], [train.Y[k] for k in chosen]
    words = [problem.tables.words(x) for x in X]
    batch = problem.batch(X, Y)
    packed, every = batch.packed, np.arange(len(X))
    nodes, edges = (len(part) / len(X) for part in (packed.forest.item, packed.forest.left))
    print(
        f"{len(X)} sentences of {longest} tags ({'gum' if available else 'made up'}), "
        f"{problem.n_weights} rules, {nodes:.0f} nodes and {edges:.0f} edges per forest"
    )
    scorers = {"PCFG": model.w, "PCFG / 10": model.w / 10, "w = 0": 0.0 * model.w}
    runs: dict[str, Callable[[], Any]] = {"forest": lambda: forests(problem.tables.rules, words)}
    for name, w in scorers.items():
        f = LinearScorer(problem, w)
        runs[f"best tree, {name}"] = lambda f=f: best(packed.forest, packed.all, *packed.scores(f))
        for formulation in ("SVM2", "SVM1 margin", "SVM2 slack", "SVM2 margin"):
            H = FORMULATIONS[formulation].H
            kind = "second best" if H.power == 0.0 else "exact 1 - F1"
            runs[f"{kind}, {formulation}, {name}"] = lambda f=f, H=H: batch.search(f, every, H)
    f = LinearScorer(problem, model.w)
    runs["prediction, forest and tree included"] = lambda: problem.batch(X, None).argmax(f)
    print(f"{'':46}{'ms/sentence':>12}")
    for name, run in runs.items():
        run()
        print(f"{name:46}{min(cpu_seconds(run) for _ in range(ROUNDS)) / len(X) * 1e3:12.3f}")
    scores = best(packed.forest, packed.all, *packed.scores(f))[0]
    parser = ViterbiParser(nltk_grammar(model))
    began = time.process_time()
    nltk_scores = [np.log(next(parser.parse(list(x))).prob()) for x in X[:N_NLTK]]
    seconds = time.process_time() - began
    print(f"{f'nltk ViterbiParser ({N_NLTK} sentences)':46}{seconds / N_NLTK * 1e3:12.1f}")
    roots = np.log(1.0 / len(problem.start))
    if not np.allclose(nltk_scores, scores[:N_NLTK] + roots):
        raise SystemExit(f"nltk finds other scores: {nltk_scores} instead of {scores[:N_NLTK] + roots}")


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
