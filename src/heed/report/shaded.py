"""Texts whose words are shaded by weight."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Piece:
    """A word with its `shade` from 0 to 1, or the text between two words, with None."""

    text: str
    shade: float | None = None
    weight: float = 0.0
    rationale: bool = False


@dataclasses.dataclass(frozen=True)
class Sentence:
    """The pieces of a sentence; hierarchical models have its `weight` and `shade`.

    `shade` is the weight over the largest weight of the document's sentences.
    """

    pieces: list[Piece]
    weight: float | None = None
    shade: float = 0.0


@dataclasses.dataclass(frozen=True)
class Legend:
    """The legend of shaded texts: whether words and sentences are marked."""

    rationale: bool
    sentences: bool


@dataclasses.dataclass(frozen=True)
class ShadedText:
    """A text as a model read it: its words shaded by weight."""

    sentences: list[Sentence]

    @property
    def full_colour(self) -> float:
        """The weight of a word that has the full colour; 0 where there is none.

        The shades of a hierarchical model's words are not those of their weights.
        """
        sentences = (each for each in self.sentences if each.weight is None)
        shaded = [
            (each.shade, each.weight) for one in sentences for each in one.pieces if each.shade
        ]
        shade, weight = max(shaded, default=(1.0, 0.0))
        return weight / shade
