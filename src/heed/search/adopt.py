"""Write a search's winner into params.yaml, where git shows it and no edit of the code repeats the
search.
"""

from pathlib import Path

from heed.files import HeedError
from heed.recipe import read_best
from heed.search.result import read_search
from heed.study.editing import editing


def adopt(name: str, params: Path, searches: Path) -> str:
    """Give every model that `searches.NAME` tunes the winner's hyperparameters, and set the
    search's trials to 0.

    Comments are kept. A model that matches another (wide) has no hyperparameters of its own: it
    follows.

    Returns:
        what was done, for people.

    Raises:
        HeedError: no such search; it has not run; no model names it.

    """
    with editing(params) as (study, tree):
        search = study.section("searches", name)
        if not search.trials:
            raise HeedError(f"{params}: searches.{name}.trials is 0: there is no winner to adopt")
        best = read_best(searches / name)
        result = read_search(searches / name)
        if result is None:
            raise HeedError(f"{searches / name}: has not run with trials. Run: heed search {name}")
        models = [model for model, section in study.models.items() if section.tuned_by == name]
        if not models:
            raise HeedError(
                f"{params}: no model says tuned_by: {name}. Say it where the winner belongs"
            )
        won = (
            f"trial {result.best.trial} of {len(result.trials)}, validation {result.metric} "
            f"{result.best.score:.4f}"
        )
        for model in models:
            section = tree["models"][model]
            section["tuned_by"] = "none"
            if study.models[model].match == model:
                section.update(best)
                tree["models"].yaml_set_comment_before_after_key(
                    model, before=f"adopted from search {name}: {won}", indent=2
                )
        tree["searches"][name]["trials"] = 0
    return (
        f"{params}: {', '.join(models)} took {won} of search {name}; it was {search.trials} "
        "trials, now 0. "
        "Look at it with git diff, and commit it"
    )
