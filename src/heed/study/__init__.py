"""The study: the configuration in params.yaml, checked.

`load` reads a file and reports every mistake with its line. It returns `Params`: a section for each
key (`experiments`, `schema`), checked within it and across (`rules`).
`own_corpus`, `own_files` and `own_entries` are `heed corpus add`. Training, prediction and
evaluation do not use this package: they read the recipe (heed.recipe).
"""

from heed.corpora.sections import Corpus, Source, Split
from heed.study.experiments import Dimension, ExpectedResult, Experiment, Search
from heed.study.reader import load, parse
from heed.study.schema import Model, Params

__all__ = [
    "Corpus", "Dimension", "ExpectedResult", "Experiment", "Model", "Params", "Search", "Source",
    "Split", "load", "parse",
]  # fmt: skip
