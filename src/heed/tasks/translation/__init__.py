"""Translation: a sentence of one language from a sentence of another.

An item is a pair of sentences. Lectures 001 and 004: an encoder reads the source, a decoder writes
the target, with attention or without. Judged by BLEU, and by alignment where a corpus has it.
"""
