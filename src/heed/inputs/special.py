"""The special entries of every vocabulary, before its words or pieces."""

PADDING, UNKNOWN, BOS, EOS = range(4)
SPECIAL = ("<padding>", "<unknown>")  # of a classifier
SPECIAL_OF_PAIRS = (*SPECIAL, "<bos>", "<eos>")  # of a translator, on both sides
