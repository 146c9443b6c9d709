"""What a classifier costs by its hyperparameters: an estimate before a study starts."""

from typing import Any

from heed.tasks.classification.recipe import Hyperparameters

# Core-seconds of the linear opponent for each token of the corpus: once, and for each class (of two
# classes one). Measured: IMDB .9 microseconds in all, letters 6.7 (7 classes), headlines 97 (34).
OPPONENT_TOKEN = {"words": (0.5e-6, 0.4e-6), "characters": (1e-6, 0.8e-6), "both": (1.5e-6, 2.5e-6)}


def multiply_adds(h: Hyperparameters, tokens: float) -> float:
    """Return the multiply-adds of a forward pass over a document of `tokens` tokens."""
    read = min(tokens, h.max_tokens)
    return read * _of_token(h, read)


def guided_multiply_adds(h: Hyperparameters, tokens: float) -> float:
    """Return those of a network guided by given weights, which reads each token by itself."""
    return min(tokens, h.max_tokens) * h.embedding_dim * h.state_size


def opponent_seconds(experiment: Any, tokens: float, outputs: int) -> float:
    """Return the core-seconds of the linear opponent on so many tokens, with so many classes."""
    once, by_class = OPPONENT_TOKEN[experiment.opponent_features]
    return tokens * (once + by_class * (outputs if outputs > 2 else 1))


def _of_token(h: Hyperparameters, tokens: float) -> float:
    """Return the multiply-adds of one token of a document of `tokens`."""
    if h.encoder == "none":
        return float(h.embedding_dim)
    states = h.state_size
    projections, weights = 4.0 * states**2, 2 * tokens * states  # of a self-attention
    if h.encoder == "transformer":
        feed_forward = 2 * states * h.feed_forward_size
        encoder = h.encoder_layers * (projections + weights + feed_forward)
    elif h.encoder == "embeddings":
        encoder = float(h.embedding_dim)
    else:
        encoder = 2 * 4 * h.hidden_size * (h.embedding_dim + h.hidden_size)
    attention = projections if h.attention in ("multi-head", "uniform") else 0.0
    attention += weights if h.attention != "none" else 0
    pooling = states**2 if h.pooling == "attention" else 0
    return encoder + attention + pooling + states * h.linear_size / tokens
