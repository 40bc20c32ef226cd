# The verdict on everything the papers state, and the page.
rule report:
    input:
        PIPELINE.reported,
        local(PIPELINE.report_inputs),
    output:
        PIPELINE.page_in_report("../report/overview.rst"),
    log:
        "results/logs/report.log",
    params:
        key=PIPELINE.report_key,
    shell:
        "python -m structmargin_suite.stages.report --writes {output:q} 2> {log:q}"
