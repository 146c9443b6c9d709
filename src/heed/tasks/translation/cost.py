"""What a translator costs by its hyperparameters alone, with vocabularies as large as may be."""

from typing import Any

from heed.tasks.translation.recipe import Hyperparameters

OPPONENT_TOKEN = 60e-6  # core-seconds, of sample-translation
GATES = {"lstm": 4, "gru": 3}


def multiply_adds(h: Hyperparameters, tokens: float) -> float:
    """Return the multiply-adds of a forward pass over a pair of `tokens` tokens on each side.

    Of all matrix products; what is done for each number alone, such as a tanh, is not counted.
    """
    return tokens**2 * of_pair(h) + tokens * (of_source_token(h) + of_target_token(h)) + _once(h)


def opponent_seconds(experiment: Any, tokens: float, outputs: int) -> float:
    """Return the core-seconds of the statistical opponent on so many tokens of both languages."""
    return tokens * OPPONENT_TOKEN


def of_pair(h: Hyperparameters) -> float:
    """Return the multiply-adds of attention for a token and one that it may attend to.

    They are the score and the weighted sum. A transformer's layers attend to their own tokens,
    and those of its decoder to the source too.
    """
    if h.decoder == "transformer":
        return 2 * h.embedding_dim * (h.encoder_layers + 2 * h.decoder_layers)
    if not h.attends:
        return 0
    # one row in W makes one number of a token, and none is left to be multiplied
    score = {"concat-tanh": 0, "location": 0, "uniform": 0}.get(h.score, h.hidden_size)
    return score + h.hidden_size


def of_source_token(h: Hyperparameters) -> float:
    """Return the multiply-adds that a token of the source costs apart from attention's pairs."""
    e, size = h.embedding_dim, h.hidden_size
    if h.decoder == "transformer":  # four projections, feed-forward; keys and values of the decoder
        layers = h.encoder_layers * (4 * e**2 + 2 * e * h.feed_forward_size)
        return layers + h.decoder_layers * 2 * e**2
    is_bidirectional = h.encoder == "bidirectional"
    first = size * (e + (size // 2 if is_bidirectional else size))
    upper = (h.encoder_layers - 1) * size * 2 * size
    keys = {"additive": size, "concat": size, "concat-tanh": 1}.get(h.score, 0) * size
    return GATES[h.recurrence] * (first + upper) + keys * h.attends


def of_target_token(h: Hyperparameters) -> float:
    """Return the multiply-adds that a token of the target costs apart from attention's pairs."""
    e, size = h.embedding_dim, h.hidden_size
    if h.decoder == "transformer":
        own, source = 4 * e**2, 2 * e**2  # of the source query and output alone
        layers = h.decoder_layers * (own + source + 2 * e * h.feed_forward_size)
        return layers + e * h.target_vocabulary
    read = {"input": e + size, "input-literal": 2 * size}.get(h.decoder, e)
    recurrent = GATES[h.recurrence] * size * (read + size + (h.decoder_layers - 1) * 2 * size)
    queries = {"general": size, "additive": size, "concat": size, "concat-tanh": 1}
    query = (h.max_source_tokens if h.score == "location" else queries.get(h.score, 0)) * size
    features = 2 * size if h.attends else size
    output = features * e + e * h.target_vocabulary if h.tied_readout else None
    return recurrent + query * h.attends + (output or features * h.target_vocabulary)


def _once(h: Hyperparameters) -> float:
    """Return the multiply-adds that a pair costs whatever its length: all states in one vector."""
    return h.max_source_tokens * h.hidden_size**2 if h.decoder == "concatenate" else 0
