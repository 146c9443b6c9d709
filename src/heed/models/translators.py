"""The translator of some hyperparameters, and its number of parameters."""

from heed.hyperparameters.translator import TranslatorArchitecture
from heed.models.recurrent_translator import RecurrentTranslator
from heed.models.shapes import shapes_alone
from heed.models.transformer import TransformerTranslator
from heed.models.translator import Translator


def make_translator(
    source_vocabulary: int, target_vocabulary: int, h: TranslatorArchitecture
) -> Translator:
    """Return an untrained translator; both vocabularies include the special entries.

    Raises ValueError where the hyperparameters contradict each other.
    """
    if h.decoder == "transformer":
        return TransformerTranslator(source_vocabulary, target_vocabulary, h)
    return RecurrentTranslator(source_vocabulary, target_vocabulary, h)


def count_parameters(
    source_vocabulary: int, target_vocabulary: int, h: TranslatorArchitecture
) -> int:
    """Return the number of trainable parameters, without allocating them."""
    with shapes_alone():
        model = make_translator(source_vocabulary, target_vocabulary, h)
        return sum(parameter.numel() for parameter in model.parameters())
