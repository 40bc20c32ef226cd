# Losses and objectives, recomputed from the models and the data.
rule evaluate:
    input:
        PIPELINE.corpora,
        "results/{experiment}/jobs/{job}.trained.json",
    output:
        "results/{experiment}/jobs/{job}.evaluated.json",
    log:
        "results/{experiment}/logs/evaluate_{job}.log",
    params:
        key=PIPELINE.evaluate_key,
    shell:
        "python -m structmargin_suite.stages.evaluate"
        " --experiment {wildcards.experiment} --job {wildcards.job} 2> {log}"
