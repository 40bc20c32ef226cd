"""Commands about a project's own files: fetch, warm, init, docs, notebooks, picture."""

from __future__ import annotations

import argparse
import time

from structmargin_suite.planning.config import ConfigError


def fetch(options: argparse.Namespace) -> int:
    """Real data from their public homes."""
    from structmargin_suite.datasets import dataset
    from structmargin_suite.fetching.bar import Bar
    from structmargin_suite.fetching.originals import obtain_files
    from structmargin_suite.planning.catalogue import Catalogue
    from structmargin_suite.planning.config import unknown
    from structmargin_suite.planning.plan import load
    from structmargin_suite.planning.sources import HERE, STAND_IN, offer, state_of
    from structmargin_suite.storage.errors import DataError
    from structmargin_suite.storage.layout import Layout

    suite = load(options.root, options.scale, library=False)
    names = [name for name in Catalogue(options.root, library=False).datasets if dataset(name).FILES]
    for name in options.corpus:
        if name not in names:
            raise ConfigError(unknown(name, names, "corpus with files"))
    failures = 0
    for name in options.corpus or names:
        module, bar = dataset(name), Bar()
        state, why = state_of(suite, name)
        if state == STAND_IN and not options.corpus:
            print(f"{name}: cannot be fetched: {why}")
            continue
        print(f"{name}: {'here' if state == HERE else offer(module)}", flush=True)
        try:
            obtain_files(module.FILES, module.HOME, Layout(options.root).raw(name), suite.mirror, bar)
        except DataError as error:  # such as a wrong checksum; the other data sets are fetched all the same
            failures += 1
            bar.close()
            print(f"  not fetched: {error}")
        else:
            bar.close()
            print(f"  verified, in {Layout(options.root).raw(name)}")
    return 1 if failures else 0


def warm(options: argparse.Namespace) -> int:
    """Compile all hot loops."""
    from structmargin.warm.pool import compile_all

    print("compiled code: ", end="", flush=True)
    before = time.monotonic()
    count = compile_all()
    if count is None:
        print("cannot be kept; set NUMBA_CACHE_DIR to a folder that can be written to start faster")
    else:
        print(f"{count} functions in {time.monotonic() - before:.0f} s, once" if count else "all there")
    return 0


def init(options: argparse.Namespace) -> int:
    """Copy configs and workflow into a folder."""
    from structmargin_suite.planning.project import copy_project

    folder = options.folder or options.root
    count = copy_project(folder)
    print(f"{count} files are in {folder}: the configs, the workflow and the papers' numbers")
    print("go there, then run structmargin check and snakemake (snakemake theory is a short experiment)")
    return 0


def docs(options: argparse.Namespace) -> int:
    """Write the generated parts of docs/ and of the README."""
    from structmargin_suite.publish.documents import documents
    from structmargin_suite.storage.files import write_text

    for path, text in documents(options.root).items():
        write_text(path, text)
        print(path)
    return 0


def notebooks(options: argparse.Namespace) -> int:
    """Renew the outputs of notebooks from the snapshot."""
    from structmargin_suite.publish.previews.notebooks import renew

    for path, size in renew(options.root, options.notebook):
        print(f"{path}: {size / 1000:.0f} kB")
    return 0


def picture(options: argparse.Namespace) -> int:
    """Renew the picture of the overview in the README."""
    from structmargin_suite.publish.previews.picture import picture

    print(picture(options.root) or "there is no Chromium here: the picture stays as it is")
    return 0
