"""Stage 1: prepare a corpus of an experiment. configs (and files) -> data/ready/E/*.npz and a receipt.

The receipt says where the data came from: real files with their sums, a user's own with theirs, or a
seed. Where `source: auto` finds no real data, the synthetic stand-in is used, and all results say so.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from structmargin_suite.datasets import DataSet, dataset
from structmargin_suite.planning.plan import Suite, load
from structmargin_suite.planning.runs import Part
from structmargin_suite.rerun import machine
from structmargin_suite.stages._command import arguments, guarded
from structmargin_suite.stages._progress import Progress
from structmargin_suite.storage.fetch import DataError, Unavailable, obtain, own_files
from structmargin_suite.storage.files import sha256, write_arrays, write_json
from structmargin_suite.storage.layout import Layout


def prepare(suite: Suite, experiment: str, corpus: str) -> None:
    """Write every part of a corpus, then its receipt."""
    layout = Layout(suite.root)
    parts = suite.experiments[experiment].parts_of(corpus)
    first = parts[0]
    module = dataset(first.module)
    files, kind = _files(suite, first)
    sums = {name: sha256(path) for name, path in files.items()}
    progress = Progress(f"prepare {experiment} {corpus}", len(parts))
    if first.source == "auto" and kind == "synthetic":
        progress.tell("real data are not available; using the synthetic stand-in")
    written: dict[str, dict[str, object]] = {}
    for part in parts:
        target = layout.part(experiment, part.name)
        write_arrays(target, _arrays(module, part, files, kind))
        written[part.name] = {"sha256": sha256(target), "seed": part.seed, "params": part.params}
        progress.step(part.name)
    progress.close()
    write_json(
        layout.corpus(experiment, corpus),
        {
            "corpus": corpus,
            "label": label(corpus, kind),
            "kind": kind,
            "asked": first.source,
            "module": first.module,
            "files": sums,
            "parts": written,
        },
    )


def _arrays(module: DataSet, part: Part, files: dict[str, Path], kind: str) -> dict[str, np.ndarray]:
    """A part's arrays; a file that cannot be parsed is an error for the user, in the parser's words."""
    if kind == "synthetic":
        return module.synthesize(part.seed, **part.params)
    try:
        return module.parse(files, part.seed, **part.params)
    except ValueError as error:
        raise DataError(str(error)) from error


def label(corpus: str, kind: str) -> str:
    """How tables call the data: the corpus, and in brackets that it is not the real one."""
    if kind == "real" or corpus == kind:
        return corpus
    return f"{corpus} ({'own file' if kind == 'file' else kind})"


def _files(suite: Suite, part: Part) -> tuple[dict[str, Path], str]:
    """(files by name, kind of data) under the rules of a part's source."""
    files = dataset(part.module).FILES
    if part.source == "synthetic":
        return {}, "synthetic"
    if part.source == "file":
        return own_files(part.path, files, suite.root), "file"
    try:
        raw = Layout(suite.root).raw(part.module)
        return {remote.name: obtain(remote, raw, suite.mirror) for remote in files}, "real"
    except Unavailable as reason:
        if part.source == "real":
            raise
        print(f"note: {reason}", file=sys.stderr)
        return {}, "synthetic"


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    options = arguments("prepare", "Make a corpus ready.", "experiment", "corpus").parse_args(argv)
    machine.one_thread()
    suite = load(options.root, options.scale, library=False, only=[options.experiment])
    prepare(suite, options.experiment, options.corpus)


if __name__ == "__main__":
    guarded(main)
