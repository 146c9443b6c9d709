"""Text: tokenizer, token arrays, vocabulary, batches."""
