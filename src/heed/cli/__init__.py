"""The command line: a command reads its inputs, calls one function and prints the outcome.

Each imports only what it uses, so that `heed train` needs no dvc, ray and spacy, and help is fast.
"""

from heed.cli.program import main as main
