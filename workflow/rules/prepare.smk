# A corpus of an experiment, fetched or synthesized, as arrays.
rule prepare:
    input:
        local(PIPELINE.own_files),
    output:
        f"data/ready/{PIPELINE.scale}/{{experiment}}/{{corpus}}.zip",
    log:
        f"results/scales/{PIPELINE.scale}/{{experiment}}/logs/prepare_{{corpus}}.log",
    benchmark:
        f"results/scales/{PIPELINE.scale}/{{experiment}}/benchmarks/prepare_{{corpus}}.tsv"
    priority: 2
    threads: 1
    resources:
        **PIPELINE.asked_of("prepare"),
    params:
        key=PIPELINE.prepare_key,
    shell:
        "python -m structmargin_suite.stages.prepare --experiment {wildcards.experiment:q}"
        " --corpus {wildcards.corpus:q} --writes {output:q} 2> {log:q}"
