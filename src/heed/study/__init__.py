"""The study: the configuration in params.yaml, checked.

`load` reads a file and reports every mistake with its line. It returns `Params`, which has one
section for each key: dataclasses that heed.records reads by their types and limits.

| module | content |
|---|---|
| `section` | the parts of all tasks: hyperparameters, presets, rules |
| `corpora` `experiments` `schema` | the sections, with checks within one; `Params`; what follows |
| `rules` `model_rules` | the checks across sections |
| `reader` | from YAML to `Params`; `renamed`: from the names of heed 0.2.0 |
| `recipes` | the recipe of a model |
| `reference` | docs/params.md and the JSON schema, generated from the sections |
| `corpus_size` `cost` | the size of a corpus before it is tokenised; what a study costs |
| `studies` | heed's studies and the user's own: list, make, activate |
| `editing` | edit a study and keep its comments; add a model |
| `own_corpus` `own_files` `own_entries` | `heed corpus add`: what is read, and what is made of it |

Training, prediction and evaluation do not use this package: they read the recipe (heed.recipe).
"""

from heed.corpora.declared import Corpus, Source, Split
from heed.study.experiments import Dimension, ExpectedResult, Experiment, Search
from heed.study.reader import load, parse
from heed.study.schema import Model, Params

__all__ = [
    "Corpus",
    "Dimension",
    "ExpectedResult",
    "Experiment",
    "Model",
    "Params",
    "Search",
    "Source",
    "Split",
    "load",
    "parse",
]
