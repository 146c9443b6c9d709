"""How many trainable parameters a model has, by formula: importing torch would take 1.5 s.

A function for each layer that has any, and one for each model. tests/test_parameters.py compares
them with the models that are built, so that none changes without the other.
"""

from heed.hyperparameters.classifier import Architecture, encoder_size
from heed.hyperparameters.translator import TranslatorArchitecture

GATES = {"lstm": 4, "gru": 3}  # matrices of a recurrent cell for its input, and for its state


def linear(inputs: int, outputs: int) -> int:
    """Return W and b of a linear layer."""
    return (inputs + 1) * outputs


def recurrent(cell: str, inputs: int, size: int) -> int:
    """Return one layer in one direction; torch has two biases for each gate."""
    return GATES[cell] * size * (inputs + size + 2)


def norm(size: int) -> int:
    """Return scale and shift of a layer norm."""
    return 2 * size


def score(name: str, query_size: int, key_size: int, positions: int) -> int:
    """Return the parameters of a score function (models/scores.py); none has a bias."""
    counts: dict[str, int] = {
        "additive": query_size * key_size + key_size * key_size + key_size,
        "concat": (query_size + key_size) * key_size + key_size,
        "concat-tanh": query_size + key_size,
        "location": query_size * positions,
        "general": query_size * key_size,
        "dot": 0,
        "scaled-dot": 0,
        "uniform": 0,
    }
    return counts[name]


def multi_head(size: int) -> int:
    """Return the four projections of a multi-head attention, whatever its number of heads."""
    return 4 * linear(size, size)


def transformer(size: int, layers: int, feed_forward_size: int, attentions: int) -> int:
    """Return a stack of layers with `attentions` each, a feed-forward network, and norms."""
    feed_forward = linear(size, feed_forward_size) + linear(feed_forward_size, size)
    layer = attentions * (norm(size) + multi_head(size)) + norm(size) + feed_forward
    return layers * layer + norm(size)


def count_classifier(vocabulary: int, classes: int, h: Architecture) -> int:
    """Return the trainable parameters of a `Classifier`; `vocabulary` includes special entries."""
    count = 0
    if h.linear_branch != "none":
        kinds = 2 if h.linear_branch == "both" else 1
        count += linear(kinds * h.branch_buckets, classes)
    if h.encoder == "none":
        return count
    words = 0 if h.vectors == "frozen" else vocabulary
    rows = words + (h.bigram_buckets + 1 if h.bigram_buckets else 0) + h.character_buckets
    count += rows * h.embedding_dim
    size = h.embedding_dim
    for _ in range(2 if h.hierarchical else 1):
        count += _encoder(size, h)
        size = encoder_size(h, size)
    return count + linear(size, h.linear_size) + linear(h.linear_size, classes)


def _encoder(input_size: int, h: Architecture) -> int:
    """Return an `Encoder` for inputs of `input_size`."""
    count, size = 0, encoder_size(h, input_size)
    if h.encoder == "bilstm":
        count += 2 * recurrent("lstm", input_size, h.hidden_size)
    if h.encoder == "transformer":
        count += transformer(input_size, h.encoder_layers, h.feed_forward_size, attentions=1)
    if h.attention == "single-head":
        count += score(h.score, size, size, h.max_tokens)
    elif h.attention != "none":
        count += multi_head(size)
    if h.pooling == "attention":  # a learned query, and its score
        count += size + score(h.score, size, size, h.max_tokens)
    return count


def count_translator(
    source_vocabulary: int, target_vocabulary: int, h: TranslatorArchitecture
) -> int:
    """Return the trainable parameters of a `Translator`; vocabularies include special entries."""
    if h.decoder == "transformer":
        return _count_transformer(source_vocabulary, target_vocabulary, h)
    size, e = h.hidden_size, h.embedding_dim

    def stack(first: int, layers: int) -> int:
        return first + (layers - 1) * recurrent(h.recurrence, size, size)

    first = recurrent(h.recurrence, e, size)
    if h.encoder == "bidirectional":
        first = 2 * recurrent(h.recurrence, e, size // 2)
    count = source_vocabulary * e + stack(first, h.encoder_layers)
    if h.decoder == "concatenate":
        count += linear(h.max_source_tokens * size, size)
    inputs = {"input": e + size, "input-literal": 2 * size}.get(h.decoder, e)
    count += stack(recurrent(h.recurrence, inputs, size), h.decoder_layers)
    features = size
    if h.attends:
        count += score(h.score, size, size, h.max_source_tokens)
        features = 2 * size
    if h.tied_readout:
        return count + linear(features, e) + linear(e, target_vocabulary)
    embedding = 0 if h.decoder == "input-literal" else target_vocabulary * e
    return count + embedding + linear(features, target_vocabulary)


def _count_transformer(
    source_vocabulary: int, target_vocabulary: int, h: TranslatorArchitecture
) -> int:
    """Return the parameters of a `TransformerTranslator`."""
    size = h.embedding_dim
    count = source_vocabulary * size + linear(size, target_vocabulary)
    if not h.tied_readout:
        count += target_vocabulary * size
    count += transformer(size, h.encoder_layers, h.feed_forward_size, attentions=1)
    return count + transformer(size, h.decoder_layers, h.feed_forward_size, attentions=2)
