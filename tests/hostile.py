"""Damaged texts: each with its cleaned form and the counts of its treatments."""

HOSTILE = [
    ("a\x00b", "a b", {"controls": 1}), ("a\x1bb\x7f", "a b ", {"controls": 2}),
    ("it\x92s \x85 \x81", "it’s … ", {"c1": 3}), ("a\u202eb\u2066c\u200f", "abc", {"bidi": 3}),
    ("one<br />two<BR>three", "one\ntwo\nthree", {"breaks": 2}), ("<b>bold</b>", "<b>bold</b>", {}),
    ("e\u0301", "é", {"normalised": 1}), ("\ud800x", "\ufffdx", {"surrogates": 1}),
    (b"gr\xfc\xdfe", "gr\ufffd\ufffde", {"invalid_utf8": 2}), (b"gr\xc3\xbc\xc3\x9fe", "grüße", {}),
    ("", "", {"empty": 1}), (" \n ", " \n ", {"empty": 1}), ("🙂👩‍👩‍👧 ok", "🙂👩‍👩‍👧 ok", {}),
    ("a\r\nb", "a\nb", {}),
]  # fmt: skip
