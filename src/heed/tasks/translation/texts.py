"""A trained translator for texts of one's own: for notebooks, and for `heed translate`."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heed.files import HeedError, read_text
from heed.prediction import load_predictor
from heed.tasks.translation.prediction import Translation, TranslationPredictor
from heed.terminal import print_line
from heed.training.run import RunInfo, read_run, trained_seeds

AT_ONCE = 200  # texts that are translated before their translations are returned
MAX_DRAWN = 20  # translations of a picture
PRINTED = ("score", "log_probability", "source_words", "target_words", "unknown_units", "links")


def open_run(run: RunInfo, folder: Path | None = None) -> TranslationPredictor:
    """Return a run that is ready to translate texts on the CPU; `folder` as in load_predictor."""
    predictor = load_predictor(run, "cpu", folder=folder)
    assert isinstance(predictor, TranslationPredictor)
    return predictor


def translate(model: str, text: str, given: str, form: str, seed: int | None) -> Iterator[str]:
    """Yield the lines of the translations of a text, each of whose lines is a sentence.

    `text` and `given`, translations to score instead of searching, are as `read_text` takes them.
    `form`: text; pharaoh, with score and links between |||; or json, an object a translation. In
    the end a message says how many lines have no word that the model knows.
    """
    for number, translations in enumerate(_found(model, text, given, seed), 1):
        yield from (_format(translation, number, form) for translation in translations)


def translations_to_draw(model: str, text: str, given: str, seed: int | None) -> list[Translation]:
    """Return the translations that have weights, for a picture. Raises HeedError: none, or many."""
    found = itertools.chain.from_iterable(_found(model, text, given, seed))
    drawn = [line for line in found if line.weights is not None and line.weights.size]
    if not drawn or len(drawn) > MAX_DRAWN:
        raise HeedError(
            f"--format svg draws 1 to {MAX_DRAWN} translations with attention, and here "
            f"{len(drawn)} have weights. Use --format json for more"
        )
    return drawn


def _found(model: str, text: str, given: str, seed: int | None) -> Iterator[list[Translation]]:
    translator = _open(model, seed)
    texts = _lines(text) if text else [""]
    translations = _lines(given) if given else []
    if given and len(translations) != len(texts):
        raise HeedError(
            f"{len(texts)} lines to translate, and {len(translations)} translations: each line "
            "needs one"
        )
    yield from _translate(translator, model, texts, translations)


def _translate(
    translator: TranslationPredictor, model: str, texts: list[str], given: list[str]
) -> Iterator[list[Translation]]:
    unknown: list[int] = []
    for start in range(0, len(texts), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        if given:
            yield from ([translation] for translation in translator.score(texts[part], given[part]))
            continue
        found = translator.translate(texts[part])
        for line, (best, *_) in enumerate(found, start + 1):
            if not (best.text or best.score):  # of probability 1: nothing was searched for
                unknown.append(line)
        yield from found
    if unknown:
        print_line(
            f"heed: {len(unknown):,} of {len(texts):,} lines have no word that {model} knows (the "
            f"first is line {unknown[0]:,}): their translations are empty",
            error=True,
        )


def _open(model: str, seed: int | None) -> TranslationPredictor:
    """Return the run of a model and a seed, by default its first. Raises HeedError."""
    seeds = trained_seeds(model)
    if seed is not None and seed not in seeds:
        raise HeedError(
            f"{model} has no run with seed {seed}. Trained: {', '.join(map(str, seeds))}"
        )
    return open_run(read_run(model, seeds[0] if seed is None else seed))


def _lines(text: str) -> list[str]:
    """Return the lines of a text or a file: a line feed ends one, and nothing else does."""
    lines = read_text(text).split("\n")
    return [line.rstrip("\r") for line in (lines if lines[-1] else lines[:-1])]


def _format(translation: Translation, number: int, form: str) -> str:
    if form == "text":
        return translation.text
    if form == "pharaoh":
        return f"{translation.text} ||| {translation.score:.4f} ||| {translation.links}"
    weights = translation.weights
    values: dict[str, Any] = {"line": number, "translation": translation.text}
    values |= {name: getattr(translation, name) for name in PRINTED}
    values["weights"] = None if weights is None else weights.round(6).tolist()
    return json.dumps(values, ensure_ascii=False)
