"""The sections `study` and `experiments`: the study's name, and the rows of the comparison."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, cast

from pydantic import Field, create_model, model_validator

from heed.study.section import Name, Section, fields_of
from heed.study.tasks import RECIPES
from heed.study.truths import Truth


class Study(Section):
    """The name of this study, and what a reader must know before the numbers."""

    name: Name = Field(
        description="short name, as in workflow/studies/NAME.yaml or studies/NAME.yaml"
    )
    title: str = Field(description="title of the report")
    language: Literal["en", "de"] = Field(
        "en", description="the report's words, in HTML and LaTeX: English or German"
    )
    attention: list[Name] = Field(
        ["attention"],
        min_length=1,
        description=(
            "the variants that answer the study's question, the first of them first: "
            "self-attention, attention as pooling"
        ),
    )
    margin_pp: float = Field(
        1.0,
        gt=0,
        le=100,
        description=(
            "differences within plus or minus so many percentage points (of a translation: points "
            "of BLEU, or of the experiment's metric) do not matter: practically the same"
        ),
    )
    convergence_pp: float = Field(
        0.2,
        ge=0,
        le=100,
        description=(
            "a training has converged when the deciding figure of validation rose by no more "
            "than so many percentage points (of a translation: points of BLEU) over its last two "
            "validations"
        ),
    )
    note: str = Field(
        "",
        description=(
            "printed at the top of the report: name generated, reduced or substituted corpora here"
        ),
    )


class Published(Section):
    """The row of data/published/ that this experiment is compared with."""

    experiment: str = Field(description="the talk's experiment")
    comparable: bool = Field(
        description="true only for the talk's own corpus, split sizes and hyperparameters"
    )
    reason: str = Field("", description="why it is not comparable; printed with the figures")

    @model_validator(mode="after")
    def _reason(self) -> "Published":
        if not self.comparable and not self.reason:
            raise ValueError("a published row that is not comparable needs a reason")
        return self


class Experiment(Section):
    """A row of the comparison: a corpus, and the task on it."""

    task: str = Field(
        description="the task; it decides on models, metrics and opponents (reference models)"
    )
    corpus: str = Field(description="a key of `corpora`")
    data: Any = Field(description="the fields of the corpus that the task uses")
    title: str = Field(description="heading in the report")
    metric: str | None = Field(
        None,
        description=(
            "the figure of the task by which models are compared (docs/tasks.md); none: its first"
        ),
    )
    published: Published | None = Field(None, description="the talk's row, printed with ours")
    suboptimal_of: str | None = Field(
        None,
        description="the experiment whose hyperparameters are deliberately degraded in this one",
    )
    truths: list[Truth] = Field(
        [],
        description=(
            "what is known of this experiment beforehand, such as of generated text; the report "
            "says whether the study found it"
        ),
    )


def _make_experiment(task: str, schema: Any) -> type[Experiment]:
    """Return the schema of an experiment of a task, from the task's `Target` and `Options`."""
    name, literal = task.capitalize(), cast(Any, Literal[task])
    target = create_model(
        f"{name}Data", __base__=Section, __doc__=schema.Target.__doc__, **fields_of(schema.Target)
    )
    experiment: type[Experiment] = create_model(
        f"{name}Experiment",
        __base__=Experiment,
        __doc__=f"An experiment with task {task}: {schema.DESCRIPTION}.",
        task=(literal, Field(description=schema.DESCRIPTION)),
        data=(target, Field(description="what is learned of the corpus")),
        **fields_of(schema.Options),
    )
    return experiment


EXPERIMENTS = {task: _make_experiment(task, schema) for task, schema in RECIPES.items()}


def data_section(task: str) -> Any:
    """Return the schema of the section `data` of an experiment of a task."""
    return EXPERIMENTS[task].model_fields["data"].annotation


if TYPE_CHECKING:
    AnyExperiment = Experiment
else:
    AnyExperiment = Annotated[Union[(*EXPERIMENTS.values(),)], Field(discriminator="task")]
