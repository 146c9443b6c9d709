"""The head of the page: the files that it links, in reports/ and in a published edition."""

import dataclasses

from heed import __version__ as VERSION
from heed.report.language import say

# As CITATION.cff has them; a test compares both. The report does not read that file, so that a
# report is the same in every folder.
TITLE, AUTHOR, YEAR = "heed: does attention help?", "The heed team", "2026"


@dataclasses.dataclass(frozen=True)
class Addresses:
    """The addresses of files, from the page; empty where no such file belongs to it."""

    params: str = "../params.yaml"
    method: str = "../docs/statistics.md"
    paper: str = ""
    reading: str = ""
    provenance: str = ""
    made_by: str = ""  # version and commit of heed, in an edition

    def listed(self) -> list[tuple[str, str, str]]:
        """Return text, address and explanation of each; without an address the command."""
        reading = [(say("Our reading"), self.reading, "")] if self.reading else []
        return [
            (say("Paper (PDF)"), self.paper, "" if self.paper else "make pdf"),
            *reading,
            (say("Parameters"), self.params, "params.yaml"),
            (say("Method"), self.method, say("How the differences are tested")),
            (
                say("Provenance") + f": {self.made_by}" * bool(self.made_by),
                self.provenance,
                say("Commit, machine, core-hours") if self.provenance else "heed provenance",
            ),
        ]


IN_REPORTS = Addresses()


def citation(study: str) -> str:
    """Return the BibTeX entry of heed, with the name of a study."""
    fields = {"title": TITLE, "author": AUTHOR, "year": YEAR, "version": VERSION}
    # Double braces: the team is one name, and the title keeps its case.
    lines = [
        f"  {key} = {{{{{value}}}}}," if key in ("title", "author") else f"  {key} = {{{value}}},"
        for key, value in fields.items()
    ]
    return "\n".join(["@software{heed,", *lines, f"  note = {{Study {study}}}", "}"])
