"""The user's own files of a new corpus: which part of the split each is, and their columns."""

import dataclasses
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from heed.corpora.parts import PARTS, part_of
from heed.corpora.rows import read_columns, sniff_delimiter
from heed.files import HeedError, sha256
from heed.paths import RAW, REPORTS, RESULTS, TOKENS

if TYPE_CHECKING:
    from heed.study.schema import Params

# Names of columns that are understood without an option, the first of them first.
TEXT_NAMES = (
    "text", "texts", "sentence", "document", "review", "content", "body", "comment", "message",
    "tweet", "utterance", "headline", "title",
)  # fmt: skip
LABEL_NAMES = (
    "label", "labels", "class", "category", "sentiment", "target", "topic", "intent", "emotion",
)  # fmt: skip
SPLIT_NAMES = ("split", "part", "partition", "subset")


@dataclasses.dataclass(frozen=True)
class UserFiles:
    """The files of a corpus, by their keys in `sources.NAME.paths`; one file alone has the key "".

    With `have_parts` the keys are the parts of the rows.
    """

    paths: dict[str, Path]
    have_parts: bool

    def source(self) -> dict[str, object]:
        """Return the keys of the section of `sources`, with the hash of each file."""
        if [*self.paths] == [""]:
            return {"path": str(self.paths[""]), "sha256": sha256(self.paths[""])}
        return {
            "paths": {key: str(path) for key, path in self.paths.items()},
            "hashes": {key: sha256(path) for key, path in self.paths.items()},
        }

    def __str__(self) -> str:
        names = [
            f"{path} ({re.sub('_[0-9]+$', '', key)})" if self.have_parts else str(path)
            for key, path in self.paths.items()
        ]
        return ", ".join(names)


def name_files(arguments: list[str]) -> UserFiles:
    """Return the files that were given, each as FILE or PART=FILE.

    Files that are all named by a part, such as train.tsv and reviews_test.tsv, have these parts.

    Raises HeedError: a file is named twice, not there or in a folder of heed's; some files have a
    part and others none; no file is for train, or for test.
    """
    files = [_split_argument(argument) for argument in arguments]
    paths = [path for _, path in files]
    resolved = [path.resolve() for path in paths]
    for path in paths:
        require_user_file(path)
        if resolved.count(path.resolve()) > 1:
            raise HeedError(f"{path}: is named twice")
    if len(files) == 1 and not files[0][0]:
        return UserFiles({"": paths[0]}, False)
    parts = [part or _part_of_file(path) for part, path in files]
    if not any(parts):
        return UserFiles({f"file_{i}": path for i, path in enumerate(paths, 1)}, False)
    if not all(parts):
        has_part, has_none = paths[parts.index(next(filter(None, parts)))], paths[parts.index("")]
        command = " ".join(
            f"{part or 'PART'}={path}" for part, path in zip(parts, paths, strict=True)
        )
        raise HeedError(
            f"{has_none}: train, validation or test? {has_part} is a part by its name. Write the "
            f"part of each file: heed corpus add {command}. For one corpus of all rows that heed "
            "splits at random, give the files names that are no parts"
        )
    if missing := [part for part in ("train", "test") if part not in parts]:
        raise HeedError(
            f"no file is for {' or '.join(missing)}: {', '.join(map(str, paths))}. Add it: "
            f"{missing[0]}=FILE. Or give one file alone, which heed splits at random"
        )
    return UserFiles(dict(_keys_of_parts(parts, paths)), True)


def require_user_file(path: Path) -> None:
    """Raise HeedError unless a file is there, and outside of the folders in which heed deletes."""
    if path.is_dir():
        raise HeedError(f"{path}: is a folder: give the files in it")
    if not path.is_file():
        raise HeedError(f"{path}: not there")
    for folder in (RAW, TOKENS, RESULTS, REPORTS):
        if path.resolve().is_relative_to(folder.resolve()):
            raise HeedError(
                f"{path}: is in {folder}, where heed writes its own files and deletes others. Move "
                "it to another folder"
            )


def _split_argument(argument: str) -> tuple[str, Path]:
    """Return the part, "" without one, and the path of FILE or PART=FILE."""
    part, equals, path = argument.partition("=")
    if not equals or Path(argument).is_file():
        return "", Path(argument)
    if not part_of(part):
        raise HeedError(
            f"{argument}: {part!r} is no part: write {', '.join(PARTS)}, as in test=FILE"
        )
    return part_of(part) or "", Path(path)


def _part_of_file(path: Path) -> str:
    """Return the part that the first or the last word of a file's name is, or ""."""
    words = _words(path)
    parts = {part for word in (words[0], words[-1]) if (part := part_of(word))}
    return parts.pop() if len(parts) == 1 else ""


def _words(path: Path) -> list[str]:
    """Return the words of a file's name, without numbers at its end."""
    words = as_name(path.stem).split("-")
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    return words


def _keys_of_parts(parts: list[str], paths: list[Path]) -> Iterator[tuple[str, Path]]:
    """Yield the key of each file: its part, with a number where several files are of one part."""
    for part in PARTS:
        same = [path for each, path in zip(parts, paths, strict=True) if each == part]
        for number, path in enumerate(same, 1):
            yield (f"{part}_{number}" if len(same) > 1 else part), path


def default_name(files: UserFiles) -> str:
    """Return a name for a corpus: of its file, of what its files' names share, or of their folder.

    Raises HeedError when no name can be made of these.
    """
    paths = [*files.paths.values()]
    if len(paths) == 1:
        names = {as_name(paths[0].stem)}
    else:
        names = {as_name(" ".join(w for w in _words(path) if not part_of(w))) for path in paths}
        if len(names) > 1 or not any(names):
            names = {as_name(path.parent.name) for path in paths}
    if len(names) > 1 or not (name := names.pop()):
        raise HeedError(f"no name can be made of {files}: add --name NAME")
    return name


def as_name(text: str) -> str:
    """Return a text as a name: letters without their accents; "" where a name can have none."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return "-".join(re.findall("[a-z0-9]+", letters))


def find_columns(
    files: UserFiles, encoding: str, delimiter: str, quotes: bool | None
) -> tuple[list[str], str]:
    """Return the columns of the first file, and the delimiter that it needs, "" where none.

    The arguments are the user's, empty or None where nothing was typed. Raises HeedError when the
    file cannot be read.
    """
    first = next(iter(files.paths.values()))
    delimiter = delimiter or sniff_delimiter(first, encoding or None, quotes) or ""
    return read_columns(first, encoding or None, delimiter or None, quotes), delimiter


def recognise_columns(
    columns: list[str], texts: list[str], labels: list[str]
) -> tuple[list[str], list[str]]:
    """Return the columns of text and of labels: as given, else those with a known name, or none.

    Args:
        columns: of the first file.
        texts: the columns that were given for the text.
        labels: those for the labels.

    """
    texts = texts or _first_known(columns, TEXT_NAMES, labels)
    return texts, labels or _first_known(columns, LABEL_NAMES, texts)


def _first_known(columns: list[str], names: tuple[str, ...], taken: list[str]) -> list[str]:
    """Return the column with the first of the known names, in any case, or none."""
    by_name = {
        column.strip().lower(): column for column in reversed(columns) if column not in taken
    }
    return [by_name[name] for name in names if name in by_name][:1]


def changed_file_warnings(params: "Params") -> Iterator[str]:
    """Yield a warning for each user file whose hash differs from params.yaml.

    Neither dvc nor snakemake looks at these files.
    """
    for name, source in params.sources.items():
        for file in source.copied_files():
            if Path(file.path).is_file() and (digest := sha256(file.path)) != file.sha256:
                yield (
                    f"{file.path}: changed since it was added; the study still uses the copy in "
                    f"data/raw/{name}, or stops where there is none yet. "
                    f"To use the changed file, set in params.yaml: sources.{name}.{file.hash_key}: "
                    f"{digest}"
                )
