# A corpus of an experiment, fetched or synthesized, as arrays.
rule prepare:
    input:
        local(PIPELINE.own_files),
    output:
        f"data/ready/{PIPELINE.scale}/{{experiment}}/{{corpus}}.zip",
    log:
        f"results/scales/{PIPELINE.scale}/{{experiment}}/logs/prepare_{{corpus}}.log",
    priority: 2
    params:
        key=PIPELINE.prepare_key,
    shell:
        "python -m structmargin_suite.stages.prepare --experiment {wildcards.experiment:q}"
        " --corpus {wildcards.corpus:q} --writes {output[0]:q} 2> {log:q}"
