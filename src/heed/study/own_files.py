"""The options of `heed corpus add`, and the files that they name."""

import dataclasses
import itertools
import re
import shlex
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from heed.corpora.formats import folder_files
from heed.corpora.publication import SPLITS, split_of, split_of_key
from heed.corpora.rows import Format, choose_splits, join_names
from heed.corpora.user_files import PREFIX, content_hash, describe, find_files, local_path
from heed.files import HeedError, require_readable
from heed.paths import RAW, REPORTS, RESULTS, TOKENS

if TYPE_CHECKING:
    from heed.study.schema import Params

SHARD = re.compile(r"-\d+-of-\d+$")  # train-00000-of-00001: one of several files
OF_PROCESS = ("/dev/fd/", "/dev/std", "/proc/")  # paths that another process reads otherwise
Named = TypeVar("Named")
MANY_FILES = 4  # of more the message has the first and the last


@dataclasses.dataclass(frozen=True)
class CorpusOptions:
    """The options of `heed corpus add`; None or, but of `quote`, "": none."""

    files: list[str]
    text_column: list[str] = dataclasses.field(default_factory=list)
    label_column: list[str] = dataclasses.field(default_factory=list)
    study: str = ""
    title: str = ""
    name: str = ""
    split_column: str = ""
    id_column: str = ""
    group_column: str = ""
    rationale_column: str = ""
    delimiter: str = ""
    encoding: str = ""
    quote: str | None = None
    language: str = ""
    metric: str = ""
    no_header: bool = False
    drop_unlabelled: bool = False
    as_labels: bool = False
    similar_labels: bool = False
    no_split_column: bool = False
    test: float | None = None
    train: int | None = None
    seeds: int | None = None
    minutes: float | None = None

    @property
    def form(self) -> Format:
        """The format of the files, as far as it is declared."""
        return Format("", self.encoding or None, self.delimiter or None, self.quote)

    def command(self) -> str:
        """Return the command line that gives these options."""
        words = ["heed", "corpus", "add", *self.files]
        for field in dataclasses.fields(self)[1:]:
            value, option = getattr(self, field.name), f"--{field.name.replace('_', '-')}"
            if value is True:
                words.append(option)
            elif isinstance(value, list):
                words += [word for item in value for word in (option, item)]
            elif value != field.default:
                text = str(value or "").replace("\t", "\\t")
                words += [f"{option}={text}"] if text[:1] in ("", "-") else [option, text]
        return shlex.join(words)


@dataclasses.dataclass(frozen=True)
class UserFiles:
    """The files of a corpus, by their keys in `sources.NAME.paths`; a single file has none: ""."""

    paths: dict[str, Path]
    addresses: dict[str, str] = dataclasses.field(default_factory=dict)  # of files of the hub
    name: str = ""  # that the hub gives
    left_out: list[str] = dataclasses.field(default_factory=list)  # splits

    @property
    def have_splits(self) -> bool:
        """Whether the keys are the splits of the rows."""
        return all(map(split_of_key, self.paths))

    def source(self) -> dict[str, object]:
        """Return the keys of the section of `sources`, with the hash of each file."""
        named = {key: str(path) for key, path in self.paths.items()} | self.addresses
        if [*self.paths] == [""]:
            return {"path": named[""], "sha256": content_hash(self.paths[""])}
        return {
            "paths": named,
            "hashes": {key: content_hash(path) for key, path in self.paths.items()},
        }

    def __str__(self) -> str:
        for address in self.addresses.values():
            return describe(address)
        names = [
            f"{path} ({re.sub('_[0-9]+$', '', key)})" if self.have_splits else str(path)
            for key, path in self.paths.items()
        ]
        return ", ".join(names if len(names) <= MANY_FILES else [names[0], "…", names[-1]])


def name_files(arguments: list[str], is_drawn: bool = False) -> UserFiles:
    """Return the files that were given, each as FILE or SPLIT=FILE.

    Files that are all named by a split, such as train.tsv and reviews_test.tsv, have these splits,
    unless the split `is_drawn`. A data set on the hub, hf://OWNER/NAME, is one argument.
    """
    if any(argument.startswith(PREFIX) for argument in arguments):
        return _files_of_hub(arguments, is_drawn)
    files = [*itertools.chain.from_iterable(map(_split_argument, arguments))]
    known: dict[Path, Path] = {}
    for _, path in files:
        require_user_file(path)
        if (first := known.setdefault(path.resolve(), path)) is not path:
            raise HeedError(f"{first}: is named twice")
    if len(files) == 1 and not files[0][0]:
        return UserFiles({"": files[0][1]})
    keep = int(not is_drawn)
    return _key_files({path: keep * (split or _split_of_file(path)) for split, path in files})


def _key_files(split_of_each: dict[Path, str]) -> UserFiles:
    paths, splits = [*split_of_each], [*split_of_each.values()]
    if not any(splits):
        return UserFiles(_number(paths))
    if not all(splits):
        raise HeedError(
            f"{paths[splits.index('')]}: train, validation or test? The names of other files "
            "say it. Write the split of each file, as in heed corpus add train=FILE test=FILE. For "
            "one corpus of all rows that heed splits at random: --no-split-column"
        )
    if missing := [split for split in ("train", "test") if split not in splits]:
        raise HeedError(
            f"no file is for {' or '.join(missing)}: {join_names(map(str, paths))}. Add it: "
            f"{missing[0]}=FILE. Or let heed draw the split: --no-split-column"
        )
    return UserFiles(_key_by_split(zip(splits, paths, strict=True)))


def _key_by_split(files: Iterable[tuple[str, Named]]) -> dict[str, Named]:
    """Return files by their keys in `paths`: a number where several are of one split."""
    pairs = [*files]
    keys: dict[str, Named] = {}
    for split in SPLITS:
        same = [file for file_split, file in pairs if file_split == split]
        for number, file in enumerate(same, 1):
            keys[f"{split}_{number}" if len(same) > 1 else split] = file
    return keys


def _number(files: list[Named]) -> dict[str, Named]:
    """Return files without splits by their keys in `paths`: a single one has none."""
    return {f"file_{i}" * (len(files) > 1): file for i, file in enumerate(files, 1)}


def _files_of_hub(arguments: list[str], is_drawn: bool) -> UserFiles:
    """Return the files of a data set on the hub; without a test split all are one corpus."""
    if len(arguments) > 1:
        raise HeedError(f"{join_names(arguments)}: a data set on the hub is a corpus by itself")
    found = find_files(arguments[0])
    local = {split: [*map(local_path, files)] for split, files in found.splits.items()}
    kept = choose_splits(local)
    pairs = [(split_of(split) or "", file) for split in kept for file in found.splits[split]]
    has_splits = not is_drawn and {"train", "test"} <= {*map(split_of, kept)}
    addresses = _key_by_split(pairs) if has_splits else _number([file for _, file in pairs])
    paths = {key: local_path(address) for key, address in addresses.items()}
    return UserFiles(paths, addresses, found.name, sorted({*found.splits} - {*kept}))


def require_user_file(path: Path) -> None:
    """Raise HeedError unless a file is there, and outside of the folders in which heed deletes."""
    require_readable(path, or_folder=True)
    if str(path).startswith(OF_PROCESS):
        raise HeedError(f"{path}: is open in this process alone. Name the file itself")
    for folder in (RAW, TOKENS, RESULTS, REPORTS):
        if path.resolve().is_relative_to(folder.resolve()):
            raise HeedError(
                f"{path}: is in {folder}, where heed writes its own files and deletes others. Move "
                "it to another folder"
            )


def _split_argument(argument: str) -> list[tuple[str, Path]]:
    """Return the split, "" without one, and the path of FILE or SPLIT=FILE; of a folder its tables.

    A folder of text files is a table itself.
    """
    split, equals, path = argument.partition("=")
    if not equals or Path(argument).exists():
        split, path = "", argument
    elif not split_of(split):
        raise HeedError(
            f"{argument}: {split!r} is not a split: write {', '.join(SPLITS)}, as in test=FILE"
        )
    files = folder_files(Path(path)) if Path(path).is_dir() else []
    return [(split_of(split) or "", file) for file in files or [Path(path)]]


def _words(path: Path) -> list[str]:
    """Return the words of a file's name, without its endings and the numbers at its end."""
    name = path.name.removesuffix(".gz")
    stem = SHARD.sub("", name if path.is_dir() else name.removesuffix(Path(name).suffix))
    return as_name(stem).split("-")


def _split_of_file(path: Path) -> str:
    """Return the split that the first or the last word of a file's name is, or ""."""
    words = _words(path)
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    splits = {split for word in (words[0], words[-1]) if (split := split_of(word))}
    return splits.pop() if len(splits) == 1 else ""


def default_name(files: UserFiles) -> str:
    """Return the name of a corpus's file, of what its files share, of their folder, or ""."""
    paths = [*files.paths.values()]
    if files.name:
        return as_name(files.name)
    if len(paths) == 1:
        return "-".join(_words(paths[0].resolve()))
    names = {
        "-".join(w for w in _words(path) if not (split_of(w) or w.isdigit())) for path in paths
    }
    if len(names) > 1 or not any(names):
        names = {*map(_folder_name, paths)}
    return names.pop() if len(names) == 1 else ""


def _folder_name(path: Path) -> str:
    folder = path.parent
    above = folder.parent.name if folder.name == "data" else ""
    return as_name(above or folder.name)


def as_name(text: str) -> str:
    """Return a text as a name: letters without their accents; "" where a name can have none."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return "-".join(re.findall("[a-z0-9]+", letters))


def changed_file_warnings(params: "Params") -> Iterator[str]:
    """Yield a warning for each user file whose hash differs: dvc looks at none of them."""
    for name, source in params.sources.items():
        for file in source.copied_files():
            if Path(file.path).exists() and (digest := content_hash(file.path)) != file.sha256:
                yield (
                    f"{file.path}: changed since it was added; the study still uses the copy in "
                    f"data/raw/{name}, or stops where there is none yet. "
                    f"To use the changed file, set in params.yaml: sources.{name}.{file.hash_key}: "
                    f"{digest}"
                )
