# The trainings of one job: records and models of its runs, and what clocks said.
rule train:
    input:
        PIPELINE.corpora,
    output:
        f"results/scales/{PIPELINE.scale}/{{experiment}}/jobs/{{job}}.trained.zip",
        f"results/scales/{PIPELINE.scale}/{{experiment}}/jobs/{{job}}.clocks.zip",
    log:
        f"results/scales/{PIPELINE.scale}/{{experiment}}/logs/train_{{job}}.log",
    benchmark:
        f"results/scales/{PIPELINE.scale}/{{experiment}}/benchmarks/train_{{job}}.tsv"
    # Before evaluations: long trainings are then not left to the end, where they would run alone.
    priority: 1
    threads: PIPELINE.threads
    resources:
        **PIPELINE.asked_of("train"),
    params:
        key=PIPELINE.train_key,
    shell:
        "python -m structmargin_suite.stages.train --experiment {wildcards.experiment:q}"
        " --job {wildcards.job:q} --threads {threads} --writes {output:q} 2> {log:q}"
