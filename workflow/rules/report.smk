# The verdict on every claim, and the page.
rule report:
    input:
        PIPELINE.wanted,
    output:
        PIPELINE.claims,
        PIPELINE.page,
    log:
        "results/logs/report.log",
    params:
        key=PIPELINE.report_key,
    shell:
        "python -m structmargin_suite.stages.report" " 2> {log}"
