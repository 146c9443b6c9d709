"""Links between the words of two sentences in the Pharaoh format: `0-0 1-2 2?1`.

`i-j` joins word i of the source and word j of the target for sure, `i?j` possibly.
"""

import re

from heed.files import HeedError

Link = tuple[int, int]  # a word of the source and a word of the target, each counted from 0
PATTERN = re.compile(r"(\d+)([-?])(\d+)", re.ASCII)


def parse_links(text: str, location: str, base: int = 0) -> tuple[list[Link], list[Link]]:
    """Return the sure links, and those that are only possible, in the order of the text.

    Args:
        text: links, separated by white space.
        location: the file and line, for the message.
        base: the number of the first word of a sentence in `text`, 0 or 1.

    Raises:
        HeedError: an entry is no link, or counts below `base`.

    """
    links: dict[str, list[Link]] = {"-": [], "?": []}
    for entry in text.split():
        match = PATTERN.fullmatch(entry)
        if not match:
            raise HeedError(
                f"{location}: {entry!r} is no link. Write SOURCE-TARGET for a sure link and "
                "SOURCE?TARGET for a possible one: 0-0 1-2 2?1"
            )
        link = int(match[1]) - base, int(match[3]) - base
        if min(link) < 0:
            raise HeedError(
                f"{location}: the link {entry} counts words from 0, but alignment_base in "
                f"params.yaml is {base}"
            )
        links[match[2]].append(link)
    return links["-"], links["?"]
