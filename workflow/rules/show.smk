# The tables and figures of the scale that was run last, where readers look for them.
for experiment in PIPELINE.experiments:

    rule:
        name:
            f"show_{experiment}"
        input:
            PIPELINE.tabulated(experiment),
        output:
            PIPELINE.shown_in_report(experiment, "../report/experiment.rst"),
        log:
            f"results/scales/{PIPELINE.scale}/{experiment}/logs/show.log",
        benchmark:
            f"results/scales/{PIPELINE.scale}/{experiment}/benchmarks/show.tsv"
        localrule: True
        threads: 1
        resources:
            **PIPELINE.asked_of("show", experiment),
        params:
            scale=PIPELINE.scale,
            experiment=experiment,
        shell:
            "python -m structmargin_suite.stages.show"
            " --experiment {params.experiment:q} --writes {output:q} 2> {log:q}"
