"""The state of a sentence: all that a decoder without attention knows of the source.

Lecture 001 recalls its projection to a plane (Sutskever et al. 2014, arxiv.org/abs/1409.3215,
figure 2).
"""

import numpy as np
import torch

from heed.inputs.pairs import EncodedPairs
from heed.models.translator import Translator
from heed.models.translators import RecurrentTranslator


def sentence_states(model: Translator, source: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Return a state for each source, (batch, size).

    Of a recurrent translator it is what the decoder starts from, h of all its layers side by side;
    an LSTM's cell starts as h, and is left out. A transformer's decoder starts from no state: of
    it, the mean of the encoder's states over the sentence.

    Args:
        model: in evaluation mode.
        source: vocabulary indices, (batch, source time)
        lengths: (batch,), at least 1

    """
    memory, state = model.encode(source, lengths)
    if isinstance(model, RecurrentTranslator):
        first = state[:: model.decoder.stack.tensors]
        return torch.cat([layer.to(source.device) for layer in first], -1)
    kept = memory.states.masked_fill(memory.padding[..., None], 0.0)
    return kept.sum(1) / lengths.to(kept.device)[:, None]


def states_of(
    model: Translator, pairs: EncodedPairs, rows: np.ndarray, device: str
) -> list[np.ndarray]:
    """Return the state of the source of each row, (size,) float32 each.

    The model is in evaluation mode, on `device`.
    """
    states: dict[int, np.ndarray] = {}
    with torch.inference_mode():
        for batch in pairs.evaluation_batches(rows):
            read = batch.to(device)
            computed = sentence_states(model, read.source, read.source_lengths)
            states |= dict(zip(batch.rows.tolist(), computed.float().cpu().numpy(), strict=True))
    return [states[row] for row in rows.tolist()]
