# Whether every run of the experiments asked for succeeded; after the page, which shows those that did not.
rule complete:
    input:
        PIPELINE.wanted,
        PIPELINE.page,
    output:
        PIPELINE.complete,
    log:
        "results/logs/complete.log",
    params:
        experiments=lambda wildcards: PIPELINE.asked,
        scale=PIPELINE.scale,
    shell:
        "python -m structmargin_suite.stages.complete --experiments {params.experiments:q}"
        " --writes {output:q} 2> {log:q}"
