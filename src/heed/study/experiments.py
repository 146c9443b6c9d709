"""The sections `study` and `experiments`: the study's name, and the rows of the comparison."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from heed.study.section import Name, Section
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
    data: Section = Field(description="the fields of the corpus that the task uses")
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


class ClassificationData(Section):
    """The target of a classification, with one class a document or with any number."""

    label: str = Field(description="the label of the corpus that is predicted")


class LabelledExperiment(Experiment):
    """An experiment whose documents have labels."""

    data: ClassificationData = Field(description="what is predicted")
    DATA: ClassVar = ClassificationData
    opponent_features: Literal["words", "characters", "both"] = Field(
        "both", description="TF-IDF features of the linear opponent"
    )


class ClassificationExperiment(LabelledExperiment):
    """An experiment with task classification: one class a document."""

    task: Literal["classification"] = Field(description="one class a document")


class MultilabelExperiment(LabelledExperiment):
    """An experiment with task multilabel: any number of labels a document, also none."""

    task: Literal["multilabel"] = Field(description="any number of labels a document")


class TranslationData(Section):
    """The languages of a translation, and how it is scored; scoring repeats no training."""

    source: str = Field(description="the language of the corpus that is translated")
    target: str = Field(description="the language that it is translated into")
    references: list[str] = Field(
        [],
        description=(
            "further languages of the corpus whose texts are right translations too: the scores of "
            "predictions count the best match, no training reads them"
        ),
    )
    tokenize: Literal["13a", "intl", "char", "none"] = Field(
        "13a",
        description=(
            "sacrebleu's tokenizer for BLEU; references stay raw. none: for a corpus of tokens "
            "between blanks"
        ),
    )
    lowercase: bool = Field(False, description="BLEU and chrF without regard to case")


class TranslationExperiment(Experiment):
    """An experiment with task translation: a sentence of one language from one of another."""

    task: Literal["translation"] = Field(description="a sentence from a sentence")
    data: TranslationData = Field(description="what is translated into what")
    DATA: ClassVar = TranslationData


EXPERIMENTS: dict[str, Any] = {
    "classification": ClassificationExperiment,
    "multilabel": MultilabelExperiment,
    "translation": TranslationExperiment,
}
AnyExperiment = Annotated[
    ClassificationExperiment | MultilabelExperiment | TranslationExperiment,
    Field(discriminator="task"),
]
