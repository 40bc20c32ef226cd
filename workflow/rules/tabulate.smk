# Tables and figures of one experiment.
for experiment in PIPELINE.experiments:

    rule:
        name:
            f"tabulate_{experiment}"
        input:
            PIPELINE.bundles(experiment),
            local(PIPELINE.published(experiment)),
        output:
            PIPELINE.tabulated(experiment),
        log:
            f"results/scales/{PIPELINE.scale}/{experiment}/logs/tabulate.log",
        benchmark:
            f"results/scales/{PIPELINE.scale}/{experiment}/benchmarks/tabulate.tsv"
        threads: 1
        resources:
            **PIPELINE.asked_of("tabulate", experiment),
        params:
            key=PIPELINE.tabulate_key(experiment),
            experiment=experiment,
        shell:
            "python -m structmargin_suite.stages.tabulate"
            " --experiment {params.experiment:q} --writes {output:q} 2> {log:q}"
