"""The command `adopt`: writes a search's winner into params.yaml, to be reviewed in git."""

from pathlib import Path

from heed.files import HeedError
from heed.hyperparameters import Configuration
from heed.recipe import read_best
from heed.search.results import read_search
from heed.study.editing import editing


def adopt(name: str, params: Path, searches: Path) -> str:
    """Write the winners of search `name` into its models in params.yaml; set its trials to 0.

    So an edit of the code does not repeat the search. Comments are kept; a parameter-matched model
    has no hyperparameters of its own. Models that were searched each for itself go on naming the
    search, by whose `adopted` they are known to be tuned alike. Returns a message for people.
    Raises HeedError: no such search; it has not run; no model names it.
    """
    with editing(params) as (study, tree):
        search = study.section("searches", name)
        if not search.trials:
            raise HeedError(f"{params}: searches.{name}.trials is 0: there is no winner to adopt")
        folder = searches / search.experiment / name
        models = [model for model, section in study.models.items() if section.search == name]
        if not models:
            raise HeedError(
                f"{params}: no model has search: {name}. Set it for the models to be tuned"
            )
        winners = {
            model: _read_winner(folder.parent / study.winner(model), name) for model in models
        }
        for model, (best, winner) in winners.items():
            section = tree["models"][model]
            if search.model:
                section.pop("search", None)
            if study.models[model].match_parameters_of == model:
                section.update(best)
                tree["models"].yaml_set_comment_before_after_key(
                    model, before=f"adopted from search {name}: {winner}", indent=2
                )
        for each in [name] if search.model else study.chain(name):
            entry = tree["searches" if each in tree["searches"] else "later_searches"][each]
            if not search.model and study.searches[each].trials:
                entry["adopted"] = study.searches[each].trials
                entry.setdefault("epochs", study.hyperparameters(models[0]).epochs)
            entry["trials"] = 0
    took: dict[str, list[str]] = {winner: [] for _, winner in winners.values()}
    for model, (_, winner) in winners.items():
        took[winner].append(model)
    taken = "; ".join(f"{', '.join(models)} took {winner}" for winner, models in took.items())
    return (
        f"{params}: {taken} of search {name}; it was {search.trials} trials, now 0. "
        "Look at it with git diff, and commit it"
    )


def _read_winner(folder: Path, search: str) -> tuple[Configuration, str]:
    """Return the winner in a folder of a search, and words on it."""
    best, result = read_best(folder, search), read_search(folder, search)
    if result is None:
        raise HeedError(f"{folder}: has not run with trials. Run: heed search {search}")
    return best, (
        f"trial {result.best.trial} of {len(result.trials)}, validation {result.metric} "
        f"{result.best.score:.4f}"
    )
