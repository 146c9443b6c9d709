"""The study: what params.yaml asks for, checked. The only package that imports pydantic.

`load` reads a file and names every mistake with its line; what it returns, `Params`, has one
section for each key:

| module | what it holds |
|---|---|
| `section` | what all sections share |
| `corpora` `experiments` `defaults` `models` `searches` | the sections, each with what it can check
by itself |
| `schema` | `Params`: all of them |
| `rules` `model_rules` `search_rules` | what no single section can see |
| `reader` `suggestions` | from YAML to `Params`, and the messages |
| `reference` | docs/params.md and the JSON schema, made from the sections |
| `studies` `cost` | workflow/studies: which there are, making one active, and what one takes |
| `editing` `own_corpus` | changing params.yaml with its comments kept |

What trains, predicts and evaluates knows none of this: it reads the recipe (heed.recipe).
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
