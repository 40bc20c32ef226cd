"""The experiments of the papers as a pipeline: files in, files out, and no mathematics of its own.

configs -prepare-> data/ready/S/E/*.zip -train-> results/scales/S/E/jobs/J.{trained,clocks}.zip
        -evaluate-> jobs/J.evaluated.zip -tabulate-> results/scales/S/E/{runs.csv, tables, figures}
        -show-> results/E -report-> results/{statements.csv, index.html,
           E/{index.html, statements.md}}
        -complete-> results/complete.json

for an experiment E at scale S with jobs J.

Each stage is a command, `python -m structmargin_suite.stages.<stage>`, and reads only the files to its left.
"""
