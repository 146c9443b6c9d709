"""The study: the configuration in params.yaml, checked. The only package that imports pydantic.

`load` reads a file and reports every mistake with its line. It returns `Params`, which has one
section for each key:

| module | content |
|---|---|
| `section` | the base class of all sections |
| `corpora` `experiments` `defaults` `models` `searches` | the sections, with checks within one |
| `schema` | `Params`: all sections together |
| `presets` | heed's presets, which a model takes by name |
| `rules` `model_rules` `preset_rules` `search_rules` | the checks across sections |
| `syntax` `reader` `suggestions` | from YAML to `Params`, and the error messages |
| `reference` | docs/params.md and the JSON schema, generated from the sections |
| `following` `formatting` `model_lines` | what follows of a model: write it; add a model |
| `studies` | heed's studies and the user's own: list, make, activate |
| `sizes` `speed` `estimate` `cost` | from sizes of corpora and speeds of models to the costs |
| `editing` | edit params.yaml and keep its comments |
| `own_corpus` | `heed corpus add`: a study of the user's own files, from the modules below |
| `own_files` `own_facts` | which files, parts and columns there are; what the corpus is like |
| `token_count` | about how many tokens a text has, without a tokenizer |
| `own_entries` `own_summary` | the entries for params.yaml; what is printed |

Training, prediction and evaluation do not use this package: they read the recipe (heed.recipe).
"""

from heed.study.corpora import Corpus, Source, Split
from heed.study.experiments import Experiment
from heed.study.models import Model
from heed.study.reader import load, parse
from heed.study.schema import Params
from heed.study.searches import Dimension, Search

__all__ = [
    "Corpus",
    "Dimension",
    "Experiment",
    "Model",
    "Params",
    "Search",
    "Source",
    "Split",
    "load",
    "parse",
]
