"""What a translator costs, from its hyperparameters alone: an estimate before a study starts."""

from heed.tasks.translation.recipe import Hyperparameters


def multiply_adds(h: Hyperparameters, tokens: float) -> float:
    """Return the multiply-adds of a forward pass over a pair of `tokens` tokens on each side."""
    size = h.embedding_dim if h.tied_readout or h.decoder == "transformer" else h.hidden_size
    output = size * h.target_vocabulary  # the output layer is most of the work
    return tokens * (output + _of_layers(h)) + tokens**2 * _of_weights(h)


def parameters(h: Hyperparameters) -> float:
    """Return about how many parameters a model has."""
    rows = h.source_vocabulary + h.target_vocabulary * (1 if h.tied_readout else 2)
    return rows * h.embedding_dim + _of_layers(h)


def _of_weights(h: Hyperparameters) -> float:
    """Return the multiply-adds of attention for a pair of words: the score, and the weighted sum.

    A transformer's layers attend to their own words, and those of its decoder to the source too.
    """
    if h.decoder == "transformer":
        return 2 * h.embedding_dim * (h.encoder_layers + 2 * h.decoder_layers)
    return 2 * h.hidden_size * h.attends


def _of_layers(h: Hyperparameters) -> float:
    """Return the multiply-adds of the layers for one source and one target token."""
    layers = h.encoder_layers + h.decoder_layers
    if h.decoder == "transformer":
        attention = 4 * h.embedding_dim**2 * (layers + h.decoder_layers)
        return attention + 2 * h.embedding_dim * h.feed_forward_size * layers
    gates = {"lstm": 4, "gru": 3}[h.recurrence]
    return layers * gates * h.hidden_size * (h.embedding_dim + h.hidden_size)
