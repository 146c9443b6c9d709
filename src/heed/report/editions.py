"""Published editions: the code that made each, in edition.json, in its README.md and in the index.

A test compares README.md and the index with edition.json, and edition.json with git.
"""

import dataclasses
from pathlib import Path

from heed import __version__
from heed.files import HeedError, read_json, reading, write_text
from heed.records import read_record
from heed.report.provenance import git_state, run_git
from heed.study.studies import HEED_STUDIES, own_study_file

EDITIONS = Path("docs/studies")
INDEX = EDITIONS / "index.md"  # of all published studies, with a summary of each
EDITION, README = "edition.json", "README.md"
COPIED = ("params.yaml", "dvc.lock", "metrics.json")
BEGIN, END = "<!-- heed publish {name}: begin -->", "<!-- heed publish {name}: end -->"
MADE_BY, LIST = "made by", "list of editions"  # places in README.md and in the index


@dataclasses.dataclass(frozen=True)
class Edition:
    """The code that made an edition."""

    version: str  # of heed
    commit: str
    changed: list[str]  # files that differed from the commit, but for those of this edition
    lost: bool = False  # whether the repository does not have the commit

    @property
    def short_commit(self) -> str:
        """The first ten digits of the commit."""
        return self.commit[:10]

    def sentence(self) -> str:
        """Return what README.md of the edition says of it."""
        changed = " and ".join(f"`{path}`" for path in self.changed)
        return (
            f"This edition was made by heed {self.version} at commit `{self.short_commit}`"
            f"{f', from which {changed} differed' * bool(changed)}."
            f"{' The commit is lost: this repository does not have it.' * self.lost}"
        )

    def cells(self) -> list[str]:
        """Return what the index says of it: version, commit, files that differed."""
        lost = " (lost: not in this repository)" * self.lost
        changed = ", ".join(f"`{path}`" for path in self.changed)
        return [self.version, f"`{self.short_commit}`{lost}", changed or "–"]


def read_edition(folder: Path) -> Edition:
    """Return the code that made the edition in a folder. Raises HeedError."""
    with reading(folder / EDITION, "heed publish"):
        return read_record(Edition, read_json(folder / EDITION, "heed publish"))


def make_edition(root: Path, study: str) -> Edition:
    """Return the code of an edition that is made now.

    What `heed publish` itself writes may have changed since the commit: it is no code.

    Args:
        root: the top folder of the clone.
        study: the name of the active study.

    """
    state, folder = git_state(root), f"{EDITIONS}/{study}/"
    changed = [
        path
        for path in state.changed
        if path not in (README, str(INDEX)) and not path.startswith(folder)
    ]
    return Edition(__version__, state.commit, changed)


def check_commit(root: Path, study: str) -> None:
    """Raise HeedError unless git can show the code of an edition that is made now.

    A branch must have the present commit, and the files that git tracks, and new ones in src/ and
    workflow/, must be as in the commit, but for the active study and its results.

    Args:
        root: the top folder of the clone.
        study: the name of the active study.

    """
    commit = run_git(root, "rev-parse", "--verify", "HEAD")
    if not run_git(root, "for-each-ref", "--contains", commit, "refs/heads", "refs/remotes"):
        raise HeedError(
            f"git: no branch has the present commit {commit[:10]}, which the edition would name: "
            "it can get lost. Make a branch of it: git switch --create NAME"
        )
    new = run_git(root, "ls-files", "--others", "--exclude-standard", "-z", "src", "workflow")
    of_study = {*COPIED, str(HEED_STUDIES / f"{study}.yaml"), str(own_study_file(study)), ""}
    changed = [*make_edition(root, study).changed, *new.split("\0")]
    if others := [path for path in changed if path not in of_study]:
        names = f"{', '.join(others[:3])}{', ...' * (len(others) > 3)}"
        raise HeedError(
            f"git: not as in the present commit, which the edition would name: {names}. Only what "
            f"belongs to the study {study} may differ. Commit the rest, or undo it"
        )


def with_edition(readme: str, edition: Edition) -> str:
    """Return README.md of an edition with the code that made it, below the title at first."""
    if BEGIN.format(name=MADE_BY) not in readme:
        title, _, rest = readme.partition("\n")
        readme = f"{title}\n\n{BEGIN}{END}\n{rest}".format(name=MADE_BY)
    return with_block(readme, MADE_BY, f"{edition.sentence()}\n")


def write_list(root: Path) -> None:
    """Write the code that made each edition into the index, where it has a place for that."""
    if not (index := root / INDEX).exists():
        return
    text = index.read_text(encoding="utf-8")
    if BEGIN.format(name=LIST) in text:
        write_text(index, with_block(text, LIST, _list_editions(root, text)))


def _list_editions(root: Path, index: str) -> str:
    """Return a table of the editions whose summary the index has, and which are older."""
    editions = {
        path.parent.name: read_edition(path.parent)
        for path in sorted((root / EDITIONS).glob(f"*/{EDITION}"))
        if BEGIN.format(name=path.parent.name) in index
    }
    older = [name for name, edition in editions.items() if edition.version != __version__]
    rows = [
        ["Edition", "heed", "Commit", "Files that differed from it"],
        ["---"] * 4,
        *([f"[{name}]({name}/index.html)", *edition.cells()] for name, edition in editions.items()),
    ]
    says = f"Of an older version: {', '.join(older)}" if older else "None is of an older version"
    table = "".join(f"| {' | '.join(cells)} |\n" for cells in rows)
    return f"The present version is heed {__version__}. {says}.\n\n{table}"


def with_block(text: str, name: str, block: str) -> str:
    """Return a page with `block` between the two comments that mark the place `name`."""
    begin, end = BEGIN.format(name=name), END.format(name=name)
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{block}{end}{rest.partition(end)[2]}"
