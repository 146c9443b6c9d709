"""How heed is cited, on the page and in the paper."""

from heed import __version__

# As CITATION.cff has them; a test compares both. The report does not read that file, so that a
# report is the same in every folder.
TITLE, AUTHOR, YEAR = "heed: does attention help?", "The heed team", "2026"


def citation(study: str) -> str:
    """Return the BibTeX entry of heed, with the name of a study.

    Double braces: the team is one name, and the title keeps its case.
    """
    return (
        f"@software{{heed,\n  title = {{{{{TITLE}}}}},\n  author = {{{{{AUTHOR}}}}},\n"
        f"  year = {{{YEAR}}},\n  version = {{{__version__}}},\n  note = {{Study {study}}}\n}}"
    )
