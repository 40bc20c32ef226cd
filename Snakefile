# The pipeline at a glance: configs -> prepare -> train -> evaluate -> tabulate -> show -> report.
#   snakemake              everything
#   snakemake alignment    one experiment
#   --config scale=smoke   smaller (smoke, standard, paper)
# What is run is in configs/; how it is planned is in src/structmargin_suite/planning/plan.py.
from structmargin_suite.workflow import Pipeline

PIPELINE = Pipeline.open(workflow, config)


# What `apptainer build workflow/structmargin.sif workflow/structmargin.def` makes; used with --sdm apptainer.
container: "workflow/structmargin.sif"


report: "workflow/report/workflow.rst"


localrules:
    all,
    report,
    complete,


wildcard_constraints:
    experiment="[^/]+",
    corpus="[^/]+",
    job="[^/]+",


onstart:
    PIPELINE.begin()


onsuccess:
    PIPELINE.end()


onerror:
    PIPELINE.end(failed=True)


rule all:
    input:
        PIPELINE.page,
        PIPELINE.complete,


include: "workflow/rules/prepare.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/tabulate.smk"
include: "workflow/rules/show.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/complete.smk"


for experiment in PIPELINE.experiments:

    rule:
        name:
            experiment
        input:
            PIPELINE.shown(experiment),
            PIPELINE.page,
            PIPELINE.complete,
