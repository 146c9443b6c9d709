"""The sections `study` and `experiments`: names, the rows of the comparison, their known truths."""

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, cast

from pydantic import Field, create_model, model_validator

from heed.hyperparameters import hyperparameter, required
from heed.study.section import (
    RECIPES,
    Name,
    Reads,
    Section,
    fields_of,
    key,
    make_section,
    values_of,
)
from heed.task.interface import DeclaredExperiment

# The metrics of an adversary that a truth may name → their meaning.
ADVERSARY_FIGURES = {
    "accuracy": "on the test part",
    "evidence_weight": "the share of the adversary's weights that lies on known evidence",
}
FORMS = {"verdict": ("against",), "figure": (), "criterion": ("outcome",)}
LIMITS = ("at_least", "at_most")


class Study(Section):
    """The name of this study, and what a reader must know before the numbers."""

    name: Name = key(..., "short name, as in workflow/studies/NAME.yaml or studies/NAME.yaml")
    title: str = key(..., "title of the report")
    language: Literal["en", "de"] = key(
        "en", "the report's words, in HTML and LaTeX: English or German"
    )
    attention: list[Name] = key(
        ["attention"],
        "the variants that answer the study's question, the first of them first: "
        "self-attention, attention as pooling",
        min_length=1,
    )
    margin_pp: float = key(
        1.0,
        "differences within plus or minus so many percentage points (of a translation: points "
        "of BLEU, or of the experiment's metric) do not matter: practically the same",
        gt=0,
        le=100,
    )
    convergence_pp: float = key(
        0.2,
        "a training has converged when the deciding figure of validation rose by no more "
        "than so many percentage points (of a translation: points of BLEU) over its last two "
        "validations",
        ge=0,
        le=100,
    )
    note: str = key(
        "", "printed at the top of the report: name generated, reduced or substituted corpora here"
    )


class Published(Section):
    """The row of data/published/ that this experiment is compared with."""

    experiment: str = key(..., "the talk's experiment")
    comparable: bool = key(
        ..., "true only for the talk's own corpus, split sizes and hyperparameters"
    )
    reason: str = key("", "why it is not comparable; printed with the figures")

    @model_validator(mode="after")
    def _reason(self) -> "Published":
        if not self.comparable and not self.reason:
            raise ValueError("a published row that is not comparable needs a reason")
        return self


class Truth(Section):
    """A claim that is known to be true, and one result of the study that must agree with it.

    That result is one of three: the `verdict` on a variant `against` another model; a `figure` with
    a limit; the `outcome` of a `criterion` by which weights pass or fail.
    """

    claim: str = key(..., "the truth, as one sentence", min_length=1, max_length=300)
    variant: Name | None = key(None, "the variant that the claim is about")
    adversary: Name | None = key(
        None, "instead of a variant: a key of `adversaries`, with a `figure`"
    )
    against: Name | None = key(
        None, "with `verdict`: the variant or the opponent it is compared with"
    )
    verdict: Literal["better", "worse", "practically the same", "undecided"] | None = key(
        None, "what the tests must say of the difference (docs/statistics.md)"
    )
    figure: str | None = key(
        None,
        "a metric of the task, the mean over seeds on the test part; `aer`, of a translation; "
        "`evidence_weight` or `accuracy_in_middle`, of a model in `explain.models`; `accuracy` "
        "or `evidence_weight`, of an adversary",
    )
    at_least: Annotated[float, Field(ge=0, le=1)] | None = key(
        None, "with `figure`: it must be at least this"
    )
    at_most: Annotated[float, Field(ge=0, le=1)] | None = key(
        None, "with `figure`: it must be at most this"
    )
    criterion: Literal["permutation", "seeds", "adversaries", "evidence"] | None = key(
        None, "of the report's four on weights; its model is in `explain.models`"
    )
    outcome: Literal["pass", "fail"] | None = key(None, "with `criterion`: what it must say")

    @model_validator(mode="after")
    def _check_form(self) -> "Truth":
        if (self.variant is None) == (self.adversary is None):
            raise ValueError("a truth names a variant, or else an adversary")
        forms = [form for form in FORMS if getattr(self, form) is not None]
        if len(forms) != 1:
            found = " and ".join(forms) or "none"
            raise ValueError(f"a truth has one of {', '.join(FORMS)}; found {found}")
        (form,) = forms
        if self.adversary and form != "figure":
            raise ValueError(f"of an adversary a `figure` is known, and no {form}")
        for other, names in FORMS.items():
            for name in names:
                if (getattr(self, name) is not None) != (other == form):
                    raise ValueError(f"`{other}` and `{name}` go together")
        if any(getattr(self, name) is not None for name in LIMITS) != (form == "figure"):
            raise ValueError(f"a `figure` has a limit, {' or '.join(LIMITS)}, and nothing else has")
        return self


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment(DeclaredExperiment):
    """A row of the comparison: a corpus, and the task on it."""

    task: str = required("the task; it decides on models, metrics and opponents (reference models)")
    corpus: str = required("a key of `corpora`")
    data: Any = required("the fields of the corpus that the task uses")
    title: str = required("heading in the report")
    metric: str | None = hyperparameter(
        None, "the figure of the task by which models are compared (docs/tasks.md); none: its first"
    )
    published: Published | None = hyperparameter(None, "the talk's row, printed with ours")
    suboptimal_of: str | None = hyperparameter(
        None, "the experiment whose hyperparameters are deliberately degraded in this one"
    )
    truths: list[Truth] = hyperparameter(
        [],
        "what is known of this experiment beforehand, such as of generated text; the report says "
        "whether the study found it",
    )


def _make_experiment(task: str, schema: Any) -> type[Section]:
    """Return the schema of an experiment of a task, from the task's `Target` and `Options`."""
    target = Reads(DATA[task], lambda section: values_of(section, schema.Target))
    fields = fields_of(Experiment, schema.Options) | {
        "task": (cast(Any, Literal[task]), Field(description=schema.DESCRIPTION)),
        "data": (
            Annotated[schema.Target, target],
            Field(description="what is learned of the corpus"),
        ),
    }
    section: type[Section] = create_model(
        f"{task.capitalize()}Experiment",
        __base__=Section,
        __doc__=f"An experiment with task {task}: {schema.DESCRIPTION}.",
        **fields,
    )
    return section


def _read_experiment(section: Any) -> Experiment:
    options = values_of(section, RECIPES[section.task].Options)
    experiment: Experiment = values_of(section, Experiment, options=options)
    return experiment


# the schemas of `data` and of an experiment of each task
DATA = {
    task: make_section(schema.Target, name=f"{task.capitalize()}Data")
    for task, schema in RECIPES.items()
}
EXPERIMENTS = {task: _make_experiment(task, schema) for task, schema in RECIPES.items()}
if TYPE_CHECKING:
    AnyExperiment = Experiment
else:
    _TASKS = (Annotated[Experiment, Reads(each, _read_experiment)] for each in EXPERIMENTS.values())
    AnyExperiment = Annotated[Union[(*_TASKS,)], Field(discriminator="task")]
