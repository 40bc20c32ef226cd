# The trainings of one job: one record and one model per run.
rule train:
    input:
        PIPELINE.corpora,
    output:
        "results/{experiment}/jobs/{job}.trained.json",
    log:
        "results/{experiment}/logs/train_{job}.log",
    # Before evaluations: long trainings are then not left to the end, where they would run alone.
    priority: 1
    params:
        key=PIPELINE.train_key,
    shell:
        "python -m structmargin_suite.stages.train"
        " --experiment {wildcards.experiment} --job {wildcards.job} 2> {log}"
