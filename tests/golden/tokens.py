"""The digests of the tokens of every corpus: python -m tests.golden.tokens FOLDER writes them.

FOLDER is a mirror of the real corpora (HEED_MIRROR). A corpus whose files it does not have has the
digest null."""

import dataclasses
import functools
import hashlib
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import pyarrow as pa

from heed.corpora.kinds import KINDS, download
from heed.files import HeedError, write_json
from heed.study import load
from heed.tokens.corpus import tokenize
from tests.conftest import ROOT

if TYPE_CHECKING:
    from heed.study import Corpus, Source

FILE = Path(__file__).with_name("tokens.json")


class Declared(NamedTuple):
    """A corpus of a study."""

    study: str
    name: str
    corpus: "Corpus"
    source: "Source"

    @property
    def is_generated(self) -> bool:
        return KINDS[self.corpus.kind].generated


def versions() -> dict[str, str]:
    return {"pandas": pd.__version__, "pyarrow": pa.__version__}


@functools.cache
def declared_corpora() -> list[Declared]:
    paths = [ROOT / "params.yaml", *ROOT.glob("workflow/studies/*.yaml")]
    studies = {path: load(path) for path in sorted([*paths, *ROOT.glob("tests/studies/*.yaml")])}
    return [
        Declared(
            path.relative_to(ROOT).as_posix(),
            name,
            corpus,
            dataclasses.replace(
                params.sources[corpus.source], files=params.files_of(corpus.source)
            ),
        )
        for path, params in studies.items()
        for name, corpus in params.corpora.items()
    ]


def digest(each: Declared, folder: Path, sources: Path) -> str:
    """Tokenize a corpus in a folder, and return the digest of its tokens.

    `sources` keeps the files of sources, which several corpora may be of.

    Raises:
        HeedError: its files cannot be had, or are not the published ones.

    """
    key = hashlib.sha256(str(each.source).encode()).hexdigest()
    raw, tokens = sources / key, folder / "tokens" / each.name
    if not raw.exists():
        download(each.corpus.source, each.source, raw)
    tokenize(each.name, each.corpus, raw, tokens, 1)
    return str(json.loads((tokens / "meta.json").read_text(encoding="utf-8"))["digest"])


def main(mirror: str) -> None:
    os.environ["HEED_MIRROR"] = mirror
    digests: dict[str, dict[str, str | None]] = {}
    for each in declared_corpora():
        with TemporaryDirectory() as folder:
            try:
                found = digest(each, Path(folder), Path(folder))
            except HeedError as error:
                found = None
                print(error, file=sys.stderr)
        digests.setdefault(each.study, {})[each.name] = found
    write_json(FILE, {"versions": versions(), "digests": digests})


if __name__ == "__main__":
    main(sys.argv[1])
