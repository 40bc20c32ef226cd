# A corpus of an experiment, fetched or synthesized, as arrays.
rule prepare:
    input:
        PIPELINE.own_files,
    output:
        "data/ready/{experiment}/{corpus}.json",
    log:
        "results/{experiment}/logs/prepare_{corpus}.log",
    priority: 2
    params:
        key=PIPELINE.prepare_key,
    shell:
        "python -m structmargin_suite.stages.prepare"
        " --experiment {wildcards.experiment} --corpus {wildcards.corpus} 2> {log}"
