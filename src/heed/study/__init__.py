"""The study: the configuration in params.yaml, checked. The only package that imports pydantic.

`load` reads a file and reports every mistake with its line. It returns `Params`, which has one
section for each key:

| module | content |
|---|---|
| `section` | the base class of all sections |
| `corpora` `experiments` `defaults` `models` `searches` | the sections, with checks within one |
| `schema` | `Params`: all sections together |
| `truths` | what is known of an experiment beforehand |
| `presets` | heed's presets, which a model takes by name |
| `rules` `model_rules` `preset_rules` `search_rules` `truth_rules` | the checks across sections |
| `syntax` `reader` `suggestions` | from YAML to `Params`, and the error messages |
| `reference` | docs/params.md and the JSON schema, generated from the sections |
| `following` | what follows in a line from its name and its experiment |
| `token_count` | about how many tokens a text has, without a tokenizer |
| `text_columns` | which columns of a corpus are texts |
| `studies` | heed's studies and the user's own: list, make, activate |
| `cost`, `cost_table` | what a study costs: core-seconds by model, the table |
| `corpus_size` | the size of a corpus before it is tokenised |
| `editing` | edit a study and keep its comments; add a model |
| `own/` | `heed corpus add`: files, facts, entries, what is printed |

Training, prediction and evaluation do not use this package: they read the recipe (heed.recipe).
"""

from heed.study.corpora import Corpus, Source, Split
from heed.study.experiments import Experiment
from heed.study.models import Model
from heed.study.reader import load, parse
from heed.study.schema import Params
from heed.study.searches import Dimension, Search
from heed.study.truths import Truth

__all__ = [
    "Corpus",
    "Dimension",
    "Experiment",
    "Model",
    "Params",
    "Search",
    "Source",
    "Split",
    "Truth",
    "load",
    "parse",
]
