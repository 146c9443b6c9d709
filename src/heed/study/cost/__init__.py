"""What a study costs before it starts: sizes of corpora, speeds of models, the table."""
