"""The same configuration under other seeds: its verdicts, beside the results and bound to what made them.

    results/seeds/<scale>/<seed>/    statements.csv, keys.json (one key per experiment), files.json (the seal)

What one draw of random numbers shows may be chance. `structmargin reseed` runs experiments again under
another seed, in a folder of their own, and keeps only the verdicts. The report reads those whose key is that
of the present configuration; the others are as if they were not there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from structmargin_suite.planning.config import ConfigError, unknown
from structmargin_suite.planning.plan import SCALES, Suite, load
from structmargin_suite.rerun.job_keys import verdicts_key
from structmargin_suite.storage.csv_files import read_csv
from structmargin_suite.storage.errors import DamagedFile, DataError
from structmargin_suite.storage.files import digest, read_json, write_json, write_text
from structmargin_suite.storage.layout import Layout, ScaleLayout
from structmargin_suite.storage.seal import SEAL, verified, write_seal

KEYS_FILE = "keys.json"
COPIED = ("workflow", "profiles", "configs", "data/published")
"""What a run in a folder of its own reads, beside the Snakefile and the data."""

Verdicts = dict[tuple[str, str, str], dict[int, str]]
"""By statement, reading and data: the verdict under each other seed."""


def folders(layout: ScaleLayout) -> list[Path]:
    """The folders with verdicts under other seeds."""
    return sorted(path.parent for path in layout.seed("*").parent.glob(f"*/{SEAL}"))


def files(root: Path) -> list[Path]:
    """All files of them, of all scales, which the report reads."""
    names = (Layout(root).statements.name, KEYS_FILE, SEAL)
    layouts = [ScaleLayout(root, scale) for scale in SCALES]
    return [folder / name for layout in layouts for folder in folders(layout) for name in names]


def verdicts(suite: Suite, layout: ScaleLayout) -> Verdicts:
    """What the present configuration gave under other seeds, at the scale of `suite`.

    Raises
    ------
    DamagedFile
        If a file is not as it was written.
    """
    return _read(suite, layout, primary=False)


def at_other_scales(suite: Suite) -> dict[str, Verdicts]:
    """The primary verdicts under other seeds, by each other scale that has been run so."""
    others = {scale: ScaleLayout(suite.root, scale) for scale in SCALES if scale != suite.scale}
    return {
        scale: _read(load(suite.root, scale, library=False, seed=suite.seed), layout, primary=True)
        for scale, layout in others.items()
        if folders(layout)
    }


def _read(suite: Suite, layout: ScaleLayout, primary: bool) -> Verdicts:
    """All verdicts that fit the present configuration, or the primary ones."""
    found: Verdicts = {}
    for folder in folders(layout):
        verified(folder)
        seed, keys = _seed_of(folder), read_json(folder / KEYS_FILE)
        if seed == suite.seed:
            continue
        other = load(suite.root, suite.scale, library=False, only=list(keys), seed=seed)
        fitting = {name for name in other.experiments if keys[name] == verdicts_key(other, name)}
        for row in read_csv(folder / layout.statements.name):
            if row["experiment"] in fitting and (row["primary"] or not primary):
                found.setdefault((row["id"], row["reading"], row["data"]), {})[seed] = row["verdict"]
    return found


def _seed_of(folder: Path) -> int:
    if not folder.name.isdecimal():
        raise DamagedFile(folder, "its name is no seed", "delete it")
    return int(folder.name)


def repeat(root: Path, scale: str | None, seed: int, names: Sequence[str]) -> Path:
    """Run experiments under another seed and keep their verdicts; returns the folder that has them.

    The run has a folder of its own below .cache/, so that one that was interrupted goes on where it was.
    """
    suite = load(root, scale, library=False)
    for name in names:
        if name not in suite.experiments:
            raise ConfigError(unknown(name, list(suite.experiments), "experiment"))
    if seed == suite.seed:
        raise ConfigError(f"{seed} is the seed of configs/suite.yaml itself: name another one")
    own = _project(suite, seed, list(names) or list(suite.experiments))
    command = [sys.executable, "-m", "snakemake", "--config", f"scale={suite.scale}"]
    variables = {**os.environ, "STRUCTMARGIN_DATA": str(suite.mirror.resolve())}
    done = subprocess.run(command, cwd=own, env=variables, check=False)
    if done.returncode:
        raise DataError(f"the run under the seed {seed} in {own} failed, as said above")
    return _keep(load(own, suite.scale, library=False), ScaleLayout(root, suite.scale))


def _project(suite: Suite, seed: int, names: list[str]) -> Path:
    """A folder with all that the workflow reads, the seed and the experiments apart."""
    own = suite.root / ".cache" / "seeds" / str(seed)
    own.mkdir(parents=True, exist_ok=True)
    shutil.copy2(suite.root / "Snakefile", own / "Snakefile")
    for name in COPIED:
        shutil.rmtree(own / name, ignore_errors=True)
        shutil.copytree(suite.root / name, own / name)
    (suite.root / "data" / "raw").mkdir(parents=True, exist_ok=True)
    for path in (suite.root / "data").iterdir():
        if path.name not in ("published", "ready") and not (own / "data" / path.name).is_symlink():
            (own / "data" / path.name).symlink_to(path.resolve())
    changed = {"seed": seed, "scale": suite.scale, "experiments": names}
    write_text(own / "configs" / "suite.yaml", yaml.safe_dump(changed))
    return own


def _keep(suite: Suite, target: ScaleLayout) -> Path:
    """Copy the verdicts of a finished run, with the keys of its experiments."""
    folder = target.seed(suite.seed)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    statements = Layout(suite.root).statements
    shutil.copy(statements, folder / statements.name)
    keys = {name: verdicts_key(suite, name) for name in suite.experiments}
    write_json(folder / KEYS_FILE, keys)
    write_seal(folder, digest(keys), (statements.name, KEYS_FILE))
    return folder
