"""The experiments of the papers as a pipeline: files in, files out, and no mathematics of its own.

configs -prepare-> data/ready -train-> results/E/runs/R -evaluate-> metrics.json
        -tabulate-> results/E/{runs.csv, tables, figures} -report-> results/{claims.csv, index.html}

Each stage is a command, `python -m structmargin_suite.stages.<stage>`, and reads only the files to its left.
"""
