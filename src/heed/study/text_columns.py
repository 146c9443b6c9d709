"""The columns of a table with the texts of a model's corpus, for texts of the same shape."""

from heed.paths import PARAMS
from heed.study.reader import load

DEFAULT = ("text",), " "


def model_text_columns(model: str) -> tuple[tuple[str, ...], str]:
    """Return the text columns of a model's corpus, and what joins their texts.

    Where params.yaml does not say, because there is none, or because it has no such model or the
    corpus is no table, the column is `text`.
    """
    if not PARAMS.is_file():
        return DEFAULT
    params = load()
    corpus = params.corpora.get(params.models[model].corpus) if model in params.models else None
    if corpus is None or not corpus.text_names:
        return DEFAULT
    return tuple(corpus.text_names), corpus.between_texts
