# The trainings of one job: one record and one model a run.
rule train:
    input:
        PIPELINE.corpora,
    output:
        "results/{experiment}/jobs/{job}.trained.json",
    log:
        "results/{experiment}/logs/train_{job}.log",
    params:
        key=PIPELINE.train_key,
    shell:
        "python -m structsvm_suite.train"
        " --experiment {wildcards.experiment} --job {wildcards.job} 2> {log}"
