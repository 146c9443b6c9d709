"""The section `explain`: the models whose predictions are explained."""

from typing import Annotated

from pydantic import Field

from heed.study.section import FOLLOWS, Name, Section


class ExplainedModel(Section):
    """A model that `heed explain` tests; its name is a key of `models`."""

    corpus: str = Field("", description=FOLLOWS)
    noise: str = Field(
        description=(
            "the corpus whose words are put beside texts to see whether they disturb the model; "
            "its words must not speak of the label. The model's own corpus is possible where "
            "evidence, which is left out, covers all words that do. A translator does not read it: "
            "name its own corpus"
        )
    )


class Explain(Section):
    """The models to be explained, and on how many documents; without this section none is."""

    documents: Annotated[float, Field(gt=0, le=100)] = Field(
        description=(
            "multiplies the numbers of test documents: 1 is 500 for tests of the weights, 250 for "
            "leave-one-out and adversarial weights, 60 for tests that change the input most"
        )
    )
    models: dict[Name, ExplainedModel] = Field(description="the models, by name")
