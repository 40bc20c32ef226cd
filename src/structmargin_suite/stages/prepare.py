"""Stage 1: a corpus of an experiment, made ready. configs (and files) -> data/ready/E/*.npz and a receipt.

The receipt says where the data came from: real files with their sums, a user's own with theirs, or a
seed. Where `source: auto` finds no real data, the stand-in is taken and everything downstream says so.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
    files, kind = _files(suite, layout, module, first.module, first.source, first.path)
    sums = {name: sha256(path) for name, path in files.items()}
    progress = Progress(f"prepare {experiment} {corpus}", len(parts))
    if first.source == "auto" and kind == "synthetic":
        progress.tell("no real data to be had; using the synthetic stand-in")
    written: dict[str, Any] = {}
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


def _arrays(module: DataSet, part: Part, files: dict[str, Path], kind: str) -> dict[str, Any]:
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


def _files(
    suite: Suite, layout: Layout, module: DataSet, name: str, source: str, path: Any
) -> tuple[dict[str, Path], str]:
    """(files by name, kind of data) under the rules of `source`."""
    if source == "synthetic":
        return {}, "synthetic"
    if source == "file":
        return own_files(path, module.FILES, suite.root), "file"
    try:
        raw = layout.raw(name)
        return {remote.name: obtain(remote, raw, suite.mirror) for remote in module.FILES}, "real"
    except Unavailable as reason:
        if source == "real":
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
