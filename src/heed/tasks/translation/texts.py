"""A trained translator for texts of one's own: for notebooks, and for `heed translate`."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

from heed.files import HeedError
from heed.prediction import load_predictor
from heed.tasks.texts import read_text, trained_seeds
from heed.tasks.translation.prediction import Translation, TranslationPredictor
from heed.tokens.tokenizer import tokenize_sentences
from heed.training.run import RunInfo, read_run


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


AT_ONCE = 200  # texts that are translated before their translations are returned


def translate(
    model: str, text: str, given: str, n_best: int, form: str, seed: int | None
) -> Iterator[str]:
    """Yield the lines of the translations of a text, each of whose lines is a sentence.

    Args:
        model: a model with trained runs.
        text: the text, the name of a file with it, or - for standard input.
        given: translations to score instead of searching, as `text` is given; empty: none.
        n_best: translations of each sentence.
        form: what a line has. text: the translation. pharaoh: score and links too, between |||.
            json: an object a translation, with words, weights and probability.
        seed: of the run; None: the smallest.

    """
    if given and n_best > 1:
        raise HeedError("--n-best is for a search, and --translation gives the translations")
    seeds = trained_seeds(model)
    if seed is not None and seed not in seeds:
        raise HeedError(
            f"{model} has no run with seed {seed}. Trained: {', '.join(map(str, seeds))}"
        )
    run = read_run(model, seeds[0] if seed is None else seed)
    if run.recipe.task != "translation":
        raise HeedError(f"{model}: is a model of the task {run.recipe.task}, not a translator")
    translator, texts = open_run(run), _lines(text)
    translations = _lines(given) if given else None
    if translations is not None and len(translations) != len(texts):
        raise HeedError(
            f"{len(texts)} lines to translate, and {len(translations)} translations: each line "
            "needs one"
        )
    for start in range(0, len(texts), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        if translations is None:
            found = translator.translate(texts[part], n_best)
        else:
            found = [[each] for each in translator.score(texts[part], translations[part])]
        for number, each in enumerate(found, start):
            yield from (_format(translation, number, form) for translation in each)


def _lines(text: str) -> list[str]:
    """Return the lines of a text or a file: a line feed ends one, and nothing else does."""
    lines = read_text(text).split("\n")
    return [line.rstrip("\r") for line in (lines if lines[-1] else lines[:-1])]


def _format(translation: Translation, number: int, form: str) -> str:
    """Return a translation as one line; `number` is that of its text, from 0."""
    if form == "text":
        return translation.text
    if form == "pharaoh":
        return f"{translation.text} ||| {translation.score:.4f} ||| {translation.links}"
    weights = translation.weights
    names = ("score", "log_probability", "source_words", "target_words", "unknown_units", "links")
    return json.dumps(
        {"line": number, "translation": translation.text}
        | {name: getattr(translation, name) for name in names}
        | {"weights": None if weights is None else weights.round(6).tolist()},
        ensure_ascii=False,
    )
