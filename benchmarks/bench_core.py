"""Classes without structure beside LinearSVC at the same gap, and all solvers on small chains.

See `tasks.py` for the tasks and `duel.py` for how programs are compared. In the table of chains the solvers
that add one cut at a time take part too.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from duel import COLUMNS, GROWTH, compare, growth
from fresh import in_fresh_process, measured
from ledger import Ledger
from peers import Data
from race import solvers, trained
from samples import CHAIN, chain
from tasks import TASKS, Task

CHAINS = Task("Chains", "", lambda n: chains(), "SVM1 margin", 0.1, (1e-2, 1e-3))


def chains() -> Data:
    """Sticky label chains."""
    from structmargin.problems import Sequence

    return Data(Sequence(CHAIN["n_labels"], CHAIN["n_features"]), *chain())


def measurement(solver: str) -> dict[str, Any]:
    """One solver on the chains, to each gap."""
    data, figures = chains(), {}
    trained(data, CHAINS, solver, 0.3, 20)
    for gap_tol in reversed(CHAINS.gaps):
        row = measured(lambda: None, lambda g=gap_tol: trained(data, CHAINS, solver, g), repeats=3)  # type: ignore[misc]
        figures |= {f"CPU s to {gap_tol:g}": row["cpu"], f"passes to {gap_tol:g}": row["passes"]}
    return figures


def main() -> None:
    """Measure all."""
    with Ledger("core") as ledger:
        ledger.add(TASKS["digits"].title, compare("digits"), COLUMNS, TASKS["digits"].text)
        task = TASKS["documents"]
        without = f"{task.text} Without one_slack: hundreds of averaged cuts over 1.6 million weights."
        ledger.add(task.title, compare("documents", ["n_slack", "bcfw"]), COLUMNS, without)
        task = TASKS["digits growth"]
        ledger.add(task.title, growth("digits growth", ["n_slack"]), GROWTH, task.text)
        names = solvers(chains().problem, CHAINS.formulation, every=True)
        rows = [{"solver": name, **in_fresh_process(__file__, name)} for name in names]
        columns = [f"{what} to {gap:g}" for gap in CHAINS.gaps for what in ("CPU s", "passes")]
        text = "100 x 8 tokens, 6 labels, 20 features, SVM1 margin, C = 0.1 per example."
        ledger.add("Chains, all solvers", rows, ["solver", *columns], text)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measurement(sys.argv[1])))
    else:
        main()
