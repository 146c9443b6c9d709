"""A text in the format of The Federalist's file."""

from heed.corpora import published


def papers() -> str:
    """Return a text in the format of The Federalist's file: a paragraph a paper."""
    authors = {
        **dict.fromkeys(range(1, 86), "HAMILTON"),
        **dict.fromkeys(published.JAY, "JAY"),
        **dict.fromkeys(published.JOINT, "MADISON, with HAMILTON"),
        **dict.fromkeys(published.MADISON | published.DISPUTED, "MADISON"),
    }
    return "THE FEDERALIST PAPERS\n\n" + "".join(
        f"FEDERALIST No. {number}\n\nOn\nUnion\n\n{authors[number]}\n\nTo the People:\n\n"
        f"PAPER {number}\nsays.(1) more\n\nPUBLIUS\n\n1. A note.\n\n"
        for number in sorted(authors)
    )
