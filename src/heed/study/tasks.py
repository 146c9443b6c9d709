"""What each task says of its part of params.yaml: its hyperparameters, and the rules on them.

Imported by name: the stage `code` reads in these lines which code a stage depends on.
"""

from typing import Any

from heed.tasks import TASKS
from heed.tasks.classification import recipe as classification_recipe
from heed.tasks.classification import rules as classification_rules
from heed.tasks.multilabel import recipe as multilabel_recipe
from heed.tasks.multilabel import rules as multilabel_rules
from heed.tasks.translation import recipe as translation_recipe
from heed.tasks.translation import rules as translation_rules

# Of each task, the modules that heed/tasks/interface.py describes.
RECIPES: dict[str, Any] = {
    "classification": classification_recipe,
    "multilabel": multilabel_recipe,
    "translation": translation_recipe,
}
RULES: dict[str, Any] = {
    "classification": classification_rules,
    "multilabel": multilabel_rules,
    "translation": translation_rules,
}
assert RECIPES.keys() == RULES.keys() == {*TASKS}
