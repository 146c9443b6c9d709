"""What a classifier costs, from its hyperparameters alone: an estimate before a study starts."""

from heed.tasks.classification.recipe import Hyperparameters


def multiply_adds(h: Hyperparameters, tokens: float) -> float:
    """Return the multiply-adds of a forward pass over a document of `tokens` tokens."""
    read = min(tokens, h.max_tokens)
    return read * _of_token(h, read)


def guided_multiply_adds(h: Hyperparameters, tokens: float) -> float:
    """Return those of a network guided by given weights, which reads each token by itself."""
    return min(tokens, h.max_tokens) * h.embedding_dim * h.state_size


def parameters(h: Hyperparameters) -> float:
    """Return about how many parameters a model has."""
    rows = h.vocabulary_size + h.bigram_buckets + h.character_buckets
    return rows * h.embedding_dim + _of_token(h, 1)


def _of_token(h: Hyperparameters, tokens: float) -> float:
    """Return the multiply-adds of one token of a document of `tokens`."""
    if h.encoder in ("embeddings", "none"):
        return float(h.embedding_dim)
    states = h.state_size
    projections, weights = 4.0 * states**2, 2 * tokens * states  # of a self-attention
    if h.encoder == "transformer":
        feed_forward = 2 * states * h.feed_forward_size
        encoder = h.encoder_layers * (projections + weights + feed_forward)
    else:
        encoder = 2 * 4 * h.hidden_size * (h.embedding_dim + h.hidden_size)
    attention = projections if h.attention in ("multi-head", "uniform") else 0.0
    attention += weights if h.attention != "none" else 0
    pooling = states**2 if h.pooling == "attention" else 0
    return encoder + attention + pooling + states * h.linear_size / tokens
