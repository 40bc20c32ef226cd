"""Handwritten words: CPU seconds and memory to the same relative gap, beside other programs, and growth.

See `tasks.py` for the task and `duel.py` for how programs are compared. CRFsuite minimises another objective:
its row is for time and test error. Without the real data the synthetic stand-in is used.
"""

from __future__ import annotations

from duel import COLUMNS, GROWTH, compare, growth
from ledger import Ledger
from tasks import TASKS, ocr_file


def main() -> None:
    """Measure both tables."""
    stand_in = "" if ocr_file() else " Synthetic data: the optimum is different."
    with Ledger("ocr") as ledger:
        ledger.add(TASKS["ocr"].title, compare("ocr"), COLUMNS, TASKS["ocr"].text + stand_in)
        task = TASKS["ocr growth"]
        ledger.add(task.title, growth("ocr growth"), GROWTH, task.text + stand_in)


if __name__ == "__main__":
    main()
