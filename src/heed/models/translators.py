"""The translator of some hyperparameters."""

from heed.hyperparameters.translator import TranslatorArchitecture
from heed.models.recurrent_translator import RecurrentTranslator
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
