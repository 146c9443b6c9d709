"""The command line: a command for each stage of the pipeline, and further ones for users.

A command has no logic: it reads its inputs, calls one function and prints the outcome.

Every command imports only what it uses, so that `heed train` and `heed score` run without dvc,
snakemake, ray and spacy, and `heed --help` is fast.
"""

from heed.cli.program import main as main
