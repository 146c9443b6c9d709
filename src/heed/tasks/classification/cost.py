"""What a classifier costs, from its hyperparameters alone: an estimate before a study starts."""

from heed.tasks.classification.recipe import Hyperparameters


def multiply_adds(h: Hyperparameters, tokens: float) -> float:
    """Return the multiply-adds of a forward pass over a document of `tokens` tokens."""
    read = min(tokens, h.max_tokens)
    return read * _of_token(h, read)


def parameters(h: Hyperparameters) -> float:
    """Return about how many parameters a model has."""
    rows = h.vocabulary_size + h.bigram_buckets + h.character_buckets
    return rows * h.embedding_dim + _of_token(h, 1)


def _of_token(h: Hyperparameters, tokens: float) -> float:
    """Return the multiply-adds of one token of a document of `tokens`."""
    if h.encoder != "bilstm":
        return float(h.embedding_dim)
    states = h.state_size
    lstm = 2 * 4 * h.hidden_size * (h.embedding_dim + h.hidden_size)
    projections = 4 * states**2 if h.attention in ("multi-head", "uniform") else 0
    weights = 2 * tokens * states if h.attention != "none" else 0
    pooling = states**2 if h.pooling == "attention" else 0
    return lstm + projections + weights + pooling + states * h.linear_size / tokens
