"""The hyperparameters of a model from their declarations, with the talk's values."""

import dataclasses
from typing import Any

from heed.evaluation.results import ModelResult
from heed.report.formats import format_count
from heed.report.language import say
from heed.report.published import Talk

# The talk's hyperparameters, by its groups: the key of a recipe, and the column of the talk's
# figures. All others are of the last group.
TALK_GROUPS = {
    "Group 1": {
        "epochs": "epochs",
        "batch_size": "batch_size",
        "learning_rate": "learning_rate",
        "vocabulary_size": "vocabulary_size",
    },
    "Group 2": {
        "embedding_dim": "embedding_dim",
        "hidden_size": "lstm_hidden",
        "linear_size": "linear_size",
        "dropout": "dropout",
        "heads": "heads",
    },
}


@dataclasses.dataclass(frozen=True)
class Setting:
    """A hyperparameter of a model, or a number that follows from all of them.

    `always`: it is printed also where it has its default. `talk` is the talk's value, empty where
    it names none; `differs`: ours is another one.
    """

    group: str
    key: str
    meaning: str
    value: Any
    default: Any = None
    always: bool = True
    talk: str = ""
    differs: bool = False

    @property
    def printed(self) -> bool:
        """Whether the report prints it even where all models have the same value."""
        return self.always or self.value != self.default


def model_settings(model: ModelResult, talk: Talk | None) -> list[Setting]:
    """Return every hyperparameter of a model, and the numbers that follow from all of them.

    Those of an experiment that is compared with the talk are in its groups: the talk's first, then
    all others. `talk` is None for any other experiment.
    """
    if talk is None:
        return _ungrouped(model)
    others = {field.name: field for field in dataclasses.fields(model.hyperparameters)}
    settings = [
        _talk_setting(say(group), others.pop(key), model.hyperparameters, talk.summary.get(column))
        for group, columns in TALK_GROUPS.items()
        for key, column in columns.items()
        if key in others
    ]
    millions = talk.summary.get("parameters_million", "")
    count = Setting(
        group=say("Group 2"),
        key="parameters",
        meaning=say("number of parameters"),
        value=model.parameters,
        talk=say("{count} million", count=millions) if millions else "",
        differs=bool(millions),
    )
    last = say("What the talk leaves open")
    others_settings = (_setting(last, field, model) for field in others.values())
    return [*settings, count, *others_settings, _best_epochs(last, model)]


def _ungrouped(model: ModelResult) -> list[Setting]:
    """Return the hyperparameters of a model in the order of their declarations."""
    fields = dataclasses.fields(model.hyperparameters)
    return [
        *(_setting("", field, model) for field in fields),
        Setting("", "parameters", say("number of parameters"), model.parameters),
        _best_epochs("", model),
    ]


def _setting(group: str, field: "dataclasses.Field[Any]", model: ModelResult) -> Setting:
    """Return a hyperparameter that the talk does not name."""
    return Setting(
        group=group,
        key=field.name,
        meaning=_meaning(field),
        value=getattr(model.hyperparameters, field.name),
        default=field.default,
        always=False,
    )


def _best_epochs(group: str, model: ModelResult) -> Setting:
    epochs = ", ".join(map(str, model.best_epochs))
    return Setting(group, "best_epochs", say("epoch kept, by seed"), epochs)


def _talk_setting(
    group: str, field: "dataclasses.Field[Any]", hyperparameters: Any, talk: str | None
) -> Setting:
    """Return a hyperparameter that the talk has too; heads are 0 for a model without any."""
    value = getattr(hyperparameters, field.name)
    if field.name == "heads" and not hyperparameters.has_heads:
        value = 0
    return Setting(
        group=group,
        key=field.name,
        meaning=_meaning(field),
        value=value,
        default=field.default,
        talk=format_setting(int(talk) if talk.isdigit() else talk) if talk else "",
        differs=bool(talk) and float(talk or 0) != value,
    )


def _meaning(field: "dataclasses.Field[Any]") -> str:
    description: str = field.metadata["description"]
    return say(description).replace("`", "")


def format_setting(value: Any) -> str:
    """Return the value of a hyperparameter in its format for people."""
    if isinstance(value, bool):
        return say("yes" if value else "no")
    return format_count(value) if isinstance(value, int) and value >= 10_000 else str(value)


def format_plain(value: Any) -> str:
    """Return the value of a hyperparameter as params.yaml has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
