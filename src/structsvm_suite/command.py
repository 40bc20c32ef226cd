"""What all stage commands share: their arguments, and errors as one sentence."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from structsvm_suite.config import ConfigError
from structsvm_suite.fetch import DataError

SCALE = "STRUCTSVM_SCALE"
"""The environment variable by which a workflow tells its jobs the scale."""


def arguments(stage: str, about: str, *names: str) -> argparse.ArgumentParser:
    """A parser with --root, --scale and one required option for each name."""
    parser = argparse.ArgumentParser(prog=f"python -m structsvm_suite.{stage}", description=about)
    parser.add_argument("--root", type=Path, default=Path("."), help="the project's folder")
    parser.add_argument("--scale", default=os.environ.get(SCALE), help="smoke, standard or paper")
    for name in names:
        parser.add_argument(f"--{name}", required=True)
    return parser


def guarded(main: Callable[[Sequence[str] | None], None]) -> None:
    """Run a command; what a user can mend is one sentence and exit status 1."""
    try:
        main(None)
    except (ConfigError, DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from None
