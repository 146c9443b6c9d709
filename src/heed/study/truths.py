"""Known truths: what is known of a corpus beforehand, and what the study should find about it."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from heed.study.section import Name, Section

# The metrics of an adversary that a truth may name → their meaning.
ADVERSARY_FIGURES = {
    "accuracy": "on the test part",
    "evidence_weight": "the share of the adversary's weights that lies on known evidence",
}
FORMS = {"verdict": ("against",), "figure": (), "criterion": ("outcome",)}
LIMITS = ("at_least", "at_most")


class Truth(Section):
    """A claim that is known to be true, and one result of the study that must agree with it.

    That result is one of three: the `verdict` on a variant `against` another model; a `figure` with
    a limit; the `outcome` of a `criterion` by which weights pass or fail.
    """

    claim: str = Field(min_length=1, max_length=300, description="the truth, as one sentence")
    variant: Name | None = Field(None, description="the variant that the claim is about")
    adversary: Name | None = Field(
        None, description="instead of a variant: a key of `adversaries`, with a `figure`"
    )
    against: Name | None = Field(
        None, description="with `verdict`: the variant or the opponent it is compared with"
    )
    verdict: Literal["better", "worse", "practically the same", "undecided"] | None = Field(
        None, description="what the tests must say of the difference (docs/statistics.md)"
    )
    figure: str | None = Field(
        None,
        description=(
            "a metric of the task, the mean over seeds on the test part; `aer`, of a translation; "
            "`evidence_weight` or `accuracy_in_middle`, of a model in `explain.models`; `accuracy` "
            "or `evidence_weight`, of an adversary"
        ),
    )
    at_least: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="with `figure`: it must be at least this"
    )
    at_most: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="with `figure`: it must be at most this"
    )
    criterion: Literal["permutation", "seeds", "adversaries", "evidence"] | None = Field(
        None, description="of the report's four on weights; its model is in `explain.models`"
    )
    outcome: Literal["pass", "fail"] | None = Field(
        None, description="with `criterion`: what it must say"
    )

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
        for other, keys in FORMS.items():
            for key in keys:
                if (getattr(self, key) is not None) != (other == form):
                    raise ValueError(f"`{other}` and `{key}` go together")
        if any(getattr(self, key) is not None for key in LIMITS) != (form == "figure"):
            raise ValueError(f"a `figure` has a limit, {' or '.join(LIMITS)}, and nothing else has")
        return self
