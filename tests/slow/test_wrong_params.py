"""Every value of a params.yaml is replaced: it is valid, or one line names file, line and key."""

import re
from collections.abc import Iterator

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from heed.files import HeedError
from heed.study import parse
from tests.conftest import ROOT

SAMPLE = (ROOT / "tests/studies/small.yaml").read_text()
JUNK = [
    "", "x", "-1", "0", "1.5", "1e999", ".nan", "true", "[]", "{}", "[[1]]", "2020-01-01",
    "!!python/object:os.system x", "&a *a", "\x00", "999999999999999999999",
]  # fmt: skip
LINE = re.compile(
    r"params\.yaml:\d+: (not valid YAML: .+|expected sections .+|.*: .+)"
    r"|params\.yaml: further mistakes: \d+"
)


def spans(node: Node) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each key and value in the text."""
    yield node.start_mark.index, node.end_mark.index
    if isinstance(node, MappingNode):
        for key, value in node.value:
            yield key.start_mark.index, key.end_mark.index
            yield from spans(value)
    elif isinstance(node, SequenceNode):
        for value in node.value:
            yield from spans(value)
    assert isinstance(node, MappingNode | SequenceNode | ScalarNode)


def test_any_wrong_value_is_answered_with_file_line_and_key() -> None:
    positions = sorted(set(spans(YAML(typ="safe", pure=True).compose(SAMPLE))))
    for number, (start, end) in enumerate(positions):
        for junk in JUNK[number % 3 :: 3]:
            text = f"{SAMPLE[:start]}{junk}{SAMPLE[end:]}"
            try:
                parse(text)
            except HeedError as error:
                bad = [line for line in str(error).splitlines() if not LINE.fullmatch(line)]
                assert not bad, f"{SAMPLE[start:end][:40]!r} -> {junk!r}: {error}"
