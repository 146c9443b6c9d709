"""A trained translator for texts of one's own: for notebooks, and for `heed translate`."""

import dataclasses
from pathlib import Path

from heed.prediction import load_predictor
from heed.tasks.translation.prediction import Translation, TranslationPredictor
from heed.tokens.tokenizer import tokenize_sentences
from heed.training.run import RunInfo


@dataclasses.dataclass(frozen=True)
class TextTranslator:
    """A run that translates texts, on the CPU. `predictor` reads corpora, with the same model."""

    predictor: TranslationPredictor

    def translate(self, texts: list[str], n_best: int = 1) -> list[list[Translation]]:
        """Return the `n_best` translations of each text, best first.

        A text without words is read as one unknown word. A translation does not depend on the
        other texts; with `n_best` above the run's beam the beam is as wide as that.
        """
        side = tokenize_sentences(texts, self.predictor.recipe.data.tokenizer)
        return self.predictor.translate(side, n_best)

    def score(self, texts: list[str], translations: list[str]) -> list[Translation]:
        """Return given translations of the texts with their scores, weights and links.

        Raises ValueError unless there are as many translations as texts.
        """
        if len(texts) != len(translations):
            raise ValueError(f"{len(texts)} texts, and {len(translations)} translations")
        data = self.predictor.recipe.data
        source = tokenize_sentences(texts, data.tokenizer)
        return self.predictor.score(source, tokenize_sentences(translations, data.target_tokenizer))


def open_run(run: RunInfo, folder: Path | None = None) -> TextTranslator:
    """Return a run that is ready to translate texts on the CPU; `folder` as in load_predictor."""
    predictor = load_predictor(run, "cpu", folder=folder)
    assert isinstance(predictor, TranslationPredictor)
    return TextTranslator(predictor)
