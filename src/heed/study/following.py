"""What follows in a study from the rest, so that a line of params.yaml says only what is its own.

A model `imdb-attention: {experiment: imdb, heads: 4}` has the corpus of its experiment and the
variant attention, is not tuned, and matches itself. heed 0.2.0 wrote these keys on every line; they
are still read, and must say what follows.
"""

import dataclasses
from typing import TypeVar

from heed.study.adversaries import Adversary
from heed.study.explain import ExplainedModel
from heed.study.models import Model
from heed.study.schema import Key, Params
from heed.study.searches import Search

Entry = TypeVar("Entry", Model, Search, ExplainedModel, Adversary)
WIDE = "wide"  # the control with as many parameters as the model in its `match`


@dataclasses.dataclass
class Followed:
    """A study with every key in place.

    `mistakes` are (key, message) of values that contradict what follows. `old` are the entries that
    are written as in heed 0.2.0, with the keys that may go.
    """

    params: Params
    mistakes: list[tuple[Key, str]] = dataclasses.field(default_factory=list)
    old: dict[Key, list[str]] = dataclasses.field(default_factory=dict)

    def fill(self, key: Key, entry: Entry, **follows: str) -> Entry:
        """Return an entry with what follows; note what contradicts it, and what may go."""
        for name, value in follows.items():
            given = getattr(entry, name)
            if given and value and given != value:
                self.mistakes.append(
                    ((*key, name), f"{value} follows from the rest, found {given}: remove `{name}`")
                )
            elif given:
                self.old.setdefault(key, []).append(name)
        return entry.model_copy(update={name: value for name, value in follows.items() if value})


def follow(params: Params) -> Followed:
    """Complete a study whose sections are valid one by one."""
    done = Followed(params)
    corpus = {name: experiment.corpus for name, experiment in params.experiments.items()}
    models = {
        name: _follow_model(done, name, model, corpus.get(model.experiment, ""))
        for name, model in params.models.items()
    }
    for name, model in models.items():
        if model.variant == WIDE:  # a rule reports an unknown match
            tuned_by = models.get(model.match, model).tuned_by or "none"
            models[name] = done.fill(("models", name), model, tuned_by=tuned_by)
    of_model = {name: model.corpus for name, model in models.items()}
    explained = {
        name: done.fill(("explain", "models", name), each, corpus=of_model.get(name, ""))
        for name, each in params.explain.models.items()
    }
    done.params = params.model_copy(
        update={
            "models": models,
            "searches": _follow_searches(done, corpus),
            "explain": params.explain.model_copy(update={"models": explained}),
            "adversaries": {
                name: done.fill(("adversaries", name), each, corpus=of_model.get(each.model, ""))
                for name, each in params.adversaries.items()
            },
        }
    )
    return done


def _follow_model(done: Followed, name: str, model: Model, corpus: str) -> Model:
    """Return a model with what follows from its name and its experiment."""
    key, start = ("models", name), f"{model.experiment}-"
    variant = name.removeprefix(start) if name.startswith(start) else model.variant
    if not variant:
        done.mistakes.append(
            (key, f"its name does not begin with {start}: name it {start}VARIANT, or say `variant`")
        )
    follows = {"corpus": corpus, "variant": variant}
    if variant != WIDE:
        follows |= {"match": name}
        follows |= {"tuned_by": "none"} if model.tuned_by in ("", "none") else {}
    elif not model.match:
        done.mistakes.append((key, "wide is as large as which model? Write match: MODEL"))
    return done.fill(key, model, **follows)


def _follow_searches(done: Followed, corpus: dict[str, str]) -> dict[str, Search]:
    """Return the searches of both sections, with what follows from their experiments."""
    searches = {}
    for section, after in (("searches", "none"), ("later_searches", "")):
        for name, search in getattr(done.params, section).items():
            key = (section, name)
            if name in searches:
                done.mistakes.append((key, "a line of `searches` has this name too"))
            if after and search.after not in ("", after):
                done.mistakes.append(
                    (
                        (*key, "after"),
                        "a search that starts from the winner of another stands in the section "
                        f"`later_searches`: move {name} there",
                    )
                )
                search = search.model_copy(update={"after": ""})
            elif not after and search.after in ("", "none"):
                done.mistakes.append((key, "starts from the winner of which search? Write after"))
            follows = {"corpus": corpus.get(search.experiment, "")}
            follows |= {"after": after} if search.after in ("", after) else {}
            searches[name] = done.fill(key, search, **follows)
    return searches
