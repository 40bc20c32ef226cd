"""Stage 1: prepare a corpus of an experiment. configs (and files) -> data/ready/<scale>/E/<corpus>.zip.

The bundle says where the data came from: real files with their sums, a user's own with theirs, or a
seed. Where `source: auto` finds no real data, the synthetic stand-in is used, and all results say so.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from structmargin_suite.datasets import DataSet, dataset
from structmargin_suite.fetching.fetch import Unavailable
from structmargin_suite.fetching.originals import obtain_files
from structmargin_suite.planning.plan import Suite
from structmargin_suite.planning.runs import Part
from structmargin_suite.planning.sources import own_files_of
from structmargin_suite.rerun import job_keys, machine
from structmargin_suite.stages._command import arguments, guarded, layout_of, require_name, suite_of
from structmargin_suite.stages._progress import Progress
from structmargin_suite.storage.arrays import npz_bytes
from structmargin_suite.storage.bundle import Entry, write_bundle
from structmargin_suite.storage.errors import DataError
from structmargin_suite.storage.files import sha256
from structmargin_suite.storage.layout import PART_FILE, Layout, ScaleLayout


def prepare(suite: Suite, experiment: str, corpus: str, layout: ScaleLayout | None = None) -> None:
    """Write a corpus as one bundle, each of its parts an entry."""
    layout = layout or ScaleLayout(suite.root, suite.scale)
    parts = suite.experiments[experiment].parts_of(corpus)
    first = parts[0]
    module = dataset(first.module)
    files, kind = _files(suite, first)
    progress = Progress(f"prepare {experiment} {corpus}", len(parts))
    if first.source == "auto" and kind == "synthetic":
        progress.tell("real data are not available; using the synthetic stand-in")
    key = job_keys.prepare_key(suite, experiment, corpus)
    about = {
        "key": key,
        "corpus": corpus,
        "label": label(corpus, kind),
        "kind": kind,
        "asked": first.source,
        "module": first.module,
        "files": {name: sha256(path) for name, path in files.items()},
        "seeds": {part.name: part.seed for part in parts},
    }
    if releases := _releases(module, files):
        about["releases"] = releases

    def entries() -> Iterator[Entry]:
        for part in parts:
            yield Entry(part.name, key, "done", {PART_FILE: npz_bytes(_arrays(module, part, files, kind))})
            progress.step(part.name)

    write_bundle(layout.corpus(experiment, corpus), about, entries())
    progress.close()


def _releases(module: DataSet, files: dict[str, Path]) -> dict[str, str]:
    """The files that are of another release than ours, and of which."""
    named = {
        remote.name: remote.contents.release(files[remote.name])
        for remote in module.FILES
        if remote.contents is not None and remote.name in files
    }
    return {name: release for name, release in named.items() if release}


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
    module = dataset(part.module)
    if part.source == "synthetic":
        return {}, "synthetic"
    if part.source == "file":
        return own_files_of(part, suite.root), "file"
    try:
        raw = Layout(suite.root).raw(part.module)
        return obtain_files(module.FILES, module.HOME, raw, suite.mirror), "real"
    except Unavailable as reason:
        if part.source == "real":
            raise
        print(f"note: {reason}", file=sys.stderr)
        return {}, "synthetic"


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    options = arguments("prepare", "Make a corpus ready.", "experiment", "corpus").parse_args(argv)
    machine.one_thread()
    suite = suite_of(options, [options.experiment])
    require_name(options.corpus, suite.experiments[options.experiment].corpora, "corpus")
    prepare(suite, options.experiment, options.corpus, layout_of(options, suite))


if __name__ == "__main__":
    guarded(main)
