"""What each job depends on, as one short text: the workflow reruns a job when its key changes.

A key holds the values a stage reads from the configuration, the keys of what it reads from other
stages, and a digest of its own source. Nothing else in a config, and no other stage's code, is in it.
"""

from __future__ import annotations

from pathlib import Path

from structmargin_suite.methods.method import Method
from structmargin_suite.planning.plan import SCALES, Experiment, Suite
from structmargin_suite.planning.runs import Job, Part, Run
from structmargin_suite.rerun.sources import LISTING_MODULES, modules_in, source_digest, source_of
from structmargin_suite.storage.bundle import Bundle
from structmargin_suite.storage.files import digest, json_bytes, sha256
from structmargin_suite.storage.layout import PART_FILE, Layout, ScaleLayout, figure_kind
from structmargin_suite.storage.seal import SEAL
from structmargin_suite.storage.statements_file import STATEMENTS_FILE

PLANNING = [
    *modules_in("structmargin_suite.planning"),
    *modules_in("structmargin_suite.planning.tables"),
    "structmargin_suite.rerun.job_keys",
]
METHODS = modules_in("structmargin_suite.methods")
"""Of these, each run counts what its own method uses, in training and in evaluation."""
LOOKS = (".html", ".css", ".js")
"""Endings of the files that pages are made of beside code."""


def stage_code(name: str, *more: str) -> str:
    """A digest of a stage's source, without the planning that every stage shares and without what a run's
    own code already counts (`code_of`).
    """
    return source_digest(
        [f"structmargin_suite.stages.{name}", *more], without=[*PLANNING, *LISTING_MODULES, *METHODS]
    )


def prepare_key(suite: Suite, experiment: str, corpus: str) -> str:
    """What a prepared corpus depends on; real files are bound to their sums when they are read."""
    parts = suite.experiments[experiment].parts_of(corpus)
    code = stage_code("prepare", f"structmargin_suite.datasets.{parts[0].module}")
    return digest([[_part(part) for part in parts], code])


def _part(part: Part) -> dict[str, object]:
    return {
        "name": part.name,
        "source": part.source,
        "path": part.path,
        "params": part.params,
        "seed": part.seed,
    }


def code_of(method: Method, dataset_module: str) -> str:
    """A digest of the source that this method on this data set uses; of the library, what it imports."""
    modules = [*method.modules, f"structmargin_suite.datasets.{dataset_module}"]
    return source_digest(modules, without=LISTING_MODULES)


def run_code(experiment: Experiment, run: Run) -> str:
    """A digest of the source that training this run uses."""
    return digest([code_of(run.configured, experiment.part(run.part).module), stage_code("train")])


def data_of(run: Run, corpus: Bundle) -> dict[str, object]:
    """What a run's record says of its data: where they came from, and the sum of the part that it reads."""
    return {
        "label": corpus.about["label"],
        "kind": corpus.about["kind"],
        "files": corpus.about["files"],
        "part": corpus.sums(run.part)[PART_FILE],
        "seed": corpus.about["seeds"][run.part],
    }


def training_key(experiment: Experiment, run: Run, corpus: Bundle) -> str:
    """What the training of one run depends on: its whole specification, its code and its data.

    Whether the run is skipped does not count (`_spec`).
    """
    return digest([_spec(run), run_code(experiment, run), data_of(run, corpus)])


def _spec(run: Run) -> dict[str, object]:
    """A run's specification except for `skip`, which is known only where a plan was made with the library."""
    return {name: value for name, value in run.spec.items() if name != "skip"}


def train_key(suite: Suite, job: Job) -> str:
    """What a training job depends on, apart from the data that it reads."""
    experiment = suite.experiments[job.experiment]
    corpora = dict.fromkeys(run.corpus for run in job.runs)
    data = [prepare_key(suite, job.experiment, corpus) for corpus in corpora]
    return digest([data, [[_spec(run), run_code(experiment, run)] for run in job.runs]])


def evaluation_code(run: Run) -> str:
    """A digest of the source that evaluating this run uses, its certificate's included."""
    certificate = run.configured.kind.certificate
    modules = [] if certificate is None else [certificate]
    return digest([source_digest(modules, without=LISTING_MODULES), stage_code("evaluate")])


def evaluation_key(run: Run, trained: Bundle) -> str:
    """What the evaluation of one run depends on: the record and the model of its training, and its code."""
    return digest(
        [
            trained.key(run.name),
            trained.sums(run.name),
            trained.status(run.name),
            evaluation_code(run),
        ]
    )


def evaluate_key(suite: Suite, job: Job) -> str:
    """What an evaluation job depends on."""
    return digest([train_key(suite, job), [evaluation_code(run) for run in job.runs]])


def tabulate_key(suite: Suite, name: str) -> str:
    """What an experiment's tables, figures and summary depend on; the summary holds the whole config."""
    experiment = suite.experiments[name]
    runs = [[run.name, run.studies, run.varied] for run in experiment.runs]
    kinds = {
        figure_kind(experiment.config, name, figure)[0] for figure in experiment.config.get("figures", {})
    }
    code = stage_code("tabulate", *(f"structmargin_suite.figures.{module}" for module in sorted(kinds)))
    return digest(
        [
            [evaluate_key(suite, job) for job in experiment.jobs],
            _in_order(experiment.config),
            runs,
            experiment.shrunk,
            code,
            [_published(suite, file) for file in published(experiment)],
        ]
    )


def _in_order(config: object) -> str:
    """Configs as text. Digests do not count the order of keys, but what is shown follows it."""
    return json_bytes(config).decode()


def published(experiment: Experiment) -> list[str]:
    """The names of the files with the papers' numbers that an experiment's tables show."""
    tables = experiment.config["tables"].values()
    return sorted({table["published"] for table in tables if "published" in table})


def _published(suite: Suite, name: str) -> str | None:
    """The sum of a file of data/published; None where it is missing, which the workflow tells."""
    path = Layout(suite.root).published / name
    return sha256(path) if path.is_file() else None


def published_files(suite: Suite) -> list[Path]:
    """Every file with the papers' numbers and statements: the report checks them all."""
    return sorted(
        path for path in Layout(suite.root).published.glob("*.*") if path.suffix in (".csv", ".yaml")
    )


def tables_key(suite: Suite, name: str, layout: ScaleLayout) -> str:
    """What an experiment's tables were made from: their own key, and the sums of all bundles they read."""
    return digest(
        [tabulate_key(suite, name), {path.name: sha256(path) for path in bundles(suite, name, layout)}]
    )


def bundles(suite: Suite, name: str, layout: ScaleLayout) -> list[Path]:
    """The bundles that an experiment's tables are made from."""
    experiment = suite.experiments[name]
    corpora = [layout.corpus(name, corpus) for corpus in experiment.corpora]
    made = (layout.trained, layout.clocks, layout.evaluated)
    return [*corpora, *(place(name, job.name) for job in experiment.jobs for place in made)]


def report_key(suite: Suite) -> str:
    """What the verdicts and the pages depend on apart from the results themselves."""
    checks = modules_in("structmargin_suite.statements.effects")
    folder = source_of("structmargin_suite.publish.page")[0].parent
    looks = {path.name: sha256(path) for path in sorted(folder.glob("*.*")) if path.suffix in LOOKS}
    printed = {path.name: sha256(path) for path in published_files(suite)}
    return digest([stage_code("report", *checks), looks, suite.scale, printed])


def verdicts_key(suite: Suite, name: str) -> str:
    """What the verdicts on an experiment depend on: its evaluated runs, what the config says of them, the
    statements, and the code that judges.
    """
    experiment = suite.experiments[name]
    effects = modules_in("structmargin_suite.statements.effects")
    code = source_digest(["structmargin_suite.statements.judging", *effects], without=[*PLANNING, *METHODS])
    judged = {key: experiment.config.get(key) for key in ("data", "readings", "methods", "studies")}
    stated = sha256(Layout(suite.root).published / STATEMENTS_FILE)
    return digest([[evaluate_key(suite, job) for job in experiment.jobs], judged, stated, code])


def page_key(suite: Suite, layout: ScaleLayout) -> str:
    """What the verdicts and the page were made from: their own key, the configs, the results shown, and the
    verdicts under other seeds.
    """
    configs = _in_order({name: experiment.config for name, experiment in suite.experiments.items()})
    seals = [path for path in sorted(layout.results.glob(f"*/{SEAL}")) if path.is_file()]
    shown = {path.parent.name: sha256(path) for path in seals}
    own = Layout(suite.root)
    committed = own.snapshot / own.statements.name
    beside = sha256(committed) if committed.is_file() else ""
    seeds = {}
    for scale in SCALES:
        under = sorted(ScaleLayout(suite.root, scale).seed("*").parent.glob(f"*/{SEAL}"))
        seeds[scale] = {path.parent.name: sha256(path) for path in under}
    return digest([report_key(suite), suite.seed, configs, shown, beside, seeds])
