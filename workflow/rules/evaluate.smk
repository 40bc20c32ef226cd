# Losses and objectives, recomputed from the models and the data.
rule evaluate:
    input:
        PIPELINE.corpora,
        f"results/scales/{PIPELINE.scale}/{{experiment}}/jobs/{{job}}.trained.zip",
    output:
        f"results/scales/{PIPELINE.scale}/{{experiment}}/jobs/{{job}}.evaluated.zip",
    log:
        f"results/scales/{PIPELINE.scale}/{{experiment}}/logs/evaluate_{{job}}.log",
    benchmark:
        f"results/scales/{PIPELINE.scale}/{{experiment}}/benchmarks/evaluate_{{job}}.tsv"
    threads: 1
    resources:
        **PIPELINE.asked_of("evaluate"),
    params:
        key=PIPELINE.evaluate_key,
    shell:
        "python -m structmargin_suite.stages.evaluate --experiment {wildcards.experiment:q}"
        " --job {wildcards.job:q} --writes {output:q} 2> {log:q}"
