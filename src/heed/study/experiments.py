"""The sections `study` and `experiments`: the name of the comparison, and its rows."""

from typing import Literal

from pydantic import Field, model_validator

from heed.study.section import Name, Section


class Study(Section):
    """What this study is called, and what a reader must know before the numbers."""

    name: Name = Field(description="short name, as in workflow/studies/NAME.yaml")
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
            "differences within plus or minus so many percentage points do not matter: "
            "practically the same"
        ),
    )
    convergence_pp: float = Field(
        0.2,
        ge=0,
        le=100,
        description=(
            "a training has converged when the deciding figure of validation rose by no more "
            "than this over its last two validations"
        ),
    )
    note: str = Field(
        "",
        description=(
            "said at the top of the report: generated, reduced or substituted corpora must be "
            "named here"
        ),
    )


class Published(Section):
    """The row of data/published/ that this experiment stands beside."""

    experiment: str = Field(description="the talk's experiment")
    comparable: bool = Field(
        description="true only for the talk's own corpus, split sizes and hyperparameters"
    )
    reason: str = Field("", description="why it is not comparable; printed beside the figures")

    @model_validator(mode="after")
    def _reason(self) -> "Published":
        if not self.comparable and not self.reason:
            raise ValueError("a published row that is not comparable needs a reason")
        return self


class ClassificationData(Section):
    """What a classification predicts."""

    label: str = Field(description="which of the corpus's labels")


class Experiment(Section):
    """A row of the comparison: a corpus, and what is to be learned from it."""

    task: Literal["classification"] = Field(
        description="what is learned: its models, figures and opponents"
    )
    corpus: str = Field(description="a key of `corpora`")
    data: ClassificationData = Field(description="what the task reads of the corpus")
    title: str = Field(description="heading in the report")
    metric: str | None = Field(
        None,
        description=(
            "the figure of the task by which models are compared, such as macro_f1; none: its "
            "first, accuracy"
        ),
    )
    published: Published | None = Field(None, description="the talk's row to print beside ours")
    suboptimal_of: str | None = Field(
        None, description="the experiment whose hyperparameters this one deliberately spoils"
    )
    opponent_features: Literal["words", "characters", "both"] = Field(
        "both", description="TF-IDF features of the linear opponent"
    )
