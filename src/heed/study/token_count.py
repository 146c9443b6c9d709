"""Count the tokens of a text about, without a tokenizer: spaCy takes long to import and to run."""

import re

# A word, a letter of a script without spaces between words, or another sign: about a token each.
SCRIPTS_WITHOUT_SPACES = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
TOKEN = re.compile(rf"[{SCRIPTS_WITHOUT_SPACES}]|[^\W{SCRIPTS_WITHOUT_SPACES}]+|[^\w\s]")


def count_tokens(text: str, tokenizer: str) -> int:
    """Return about how many tokens a corpus's tokenizer finds in a text; exact for `whitespace`."""
    return len(text.split()) if tokenizer == "whitespace" else len(TOKEN.findall(text))
