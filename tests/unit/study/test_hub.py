"""Data sets by name, hf://OWNER/NAME, and encoders, of a hub on loopback."""

import contextlib
import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote

import pyarrow.parquet
import pytest

from heed import hub
from heed.cli import stages
from heed.corpora.rows import PATH
from heed.corpora.user_files import CONVERTED
from heed.files import HeedError, digest_folder, sha256
from heed.hyperparameters.pretrained import Encoder
from heed.pretrained import FILES, find_model
from heed.study import load
from tests.conftest import ROOT
from tests.unit.study.test_own_formats import added, refused

pytestmark = pytest.mark.usefixtures("own_clone")
DATASETS = ROOT / "tests/fixtures/datasets"  # make.py wrote it by the real library
COMMIT = f"c0ffee{34 * '0'}"
SPLITS = {"train": range(40), "validation": range(40, 48), "test": range(48, 64)}
SAID = {"spam": "call {} now, it is free", "ham": "see you at {}, ok?"}
PLACES = [(("ham", "spam")[i % 4 == 0], i, split) for split in SPLITS for i in SPLITS[split]]
ROWS = {(SAID[label].format(i), label, split) for label, i, split in PLACES}
LEFT_OUT = "left out, without labels or of an unknown name: the split unsupervised"


def rows(documents: list) -> set[tuple[str, str, str]]:
    return {(document.text, document.labels["label"], document.split) for document in documents}


class Hub(BaseHTTPRequestHandler):
    """The addresses of the hub that name the files of a data set or model, and give one of them."""

    files: dict[str, Path]  # of heed/mails, by their paths in it
    revisions: tuple[str, ...]
    asked: list[str]
    gated = False
    commit, etag = COMMIT, ""  # of its answers; "": the hash of the file
    fault = ("", "")  # what is wrong with an answer, and a part of the addresses that give it

    def do_GET(self) -> None:
        path = unquote(self.path).replace("/api/models/", "/api/datasets/")
        path = path if path.startswith(("/api", "/datasets")) else f"/datasets{path}"
        self.asked.append(path)
        about, _, revision = path.removeprefix("/api/datasets/heed/mails").partition("/revision/")
        file = self.files.get(path.removeprefix(f"/datasets/heed/mails/resolve/{COMMIT}/"))
        if self.gated:
            self.reply(403, b"{}", **{"X-Error-Code": "GatedRepo"})
        elif file:
            self.reply(200, file.read_bytes(), ETag=f'"{self.etag or sha256(file)}"')
        elif about or not path.startswith("/api"):
            self.reply(404, b"{}", **{"X-Error-Code": "RepoNotFound"})
        elif revision and revision not in self.revisions:
            self.reply(404, b"{}", **{"X-Error-Code": "RevisionNotFound"})
        else:
            siblings = [{"rfilename": name} for name in [*self.files, "README.md"]]
            info = {"id": "heed/mails", "sha": self.commit, "siblings": siblings}
            self.reply(200, json.dumps(info).encode())

    do_HEAD = do_GET  # noqa: N815

    def reply(self, status: int, body: bytes, **headers: str) -> None:
        fault = self.fault[0] if self.fault[1] in self.path else ""
        self.send_response(status)
        for name, value in {**headers, "X-Repo-Commit": COMMIT}.items():
            self.send_header(name, value)
        if fault != "endless" or self.command == "HEAD":
            self.send_header("Content-Length", str(len(body) + (fault == "short")))
        self.end_headers()
        with contextlib.suppress(OSError):  # whom it answers has gone
            if fault == "silent":
                time.sleep(30)
            if self.command == "GET":
                for i in range(len(body)) if fault == "slow" else ():
                    self.wfile.write(body[i : i + 1])
                    time.sleep(0.1)
                self.wfile.write(body)
                while fault == "endless":
                    self.wfile.write(bytes(1 << 20))

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    constants = pytest.importorskip("huggingface_hub.constants", reason="an extra of heed")
    files = DATASETS.glob("parquet/*/*")
    Hub.files = {f"default/{path.parent.name}/0000.parquet": path for path in files}
    Hub.revisions, Hub.asked = (CONVERTED,), []
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setattr(constants, "ENDPOINT", address)  # HF_ENDPOINT, read at its import
        template = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        yield Hub
        server.shutdown()


def test_a_data_set_of_the_hub_is_a_corpus_with_its_commit_and_hashes(monkeypatch, capsys, served):
    printed, documents = added(monkeypatch, capsys, "hf://heed/mails")
    assert rows(documents) == ROWS
    assert printed.startswith("hf://heed/mails (commit c0ffee0): 64 texts") and LEFT_OUT in printed
    assert "40 for train, 8 for validation, 16 for test: as given" in printed
    source = load("params.yaml").sources["mails"]
    start = f"hf://datasets/heed/mails@{COMMIT}/default"
    assert source.paths == {split: f"{start}/{split}/0000.parquet" for split in SPLITS}
    files = {split: DATASETS / "parquet" / split / "0000.parquet" for split in SPLITS}
    assert source.hashes == {split: sha256(file) for split, file in files.items()}
    schema = pyarrow.parquet.read_schema("data/raw/mails/test.parquet")
    assert schema.metadata[PATH].decode() == f"{start}/test/0000.parquet"  # no path of a machine


def test_a_file_is_asked_for_once_and_a_changed_one_is_refused(monkeypatch, capsys, served):
    added(monkeypatch, capsys, "hf://heed/mails")
    served.asked.clear()
    stages.download("mails")
    assert served.asked == []  # the commit is known, and its files are in the cache
    for path in Path("cache").rglob("blobs/*"):
        path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(HeedError, match=r"train/0000\.parquet: changed since .* found sha256"):
        stages.download("mails")


def test_published_parquet_is_read_where_the_hub_has_converted_none(monkeypatch, capsys, served):
    served.revisions = ()
    splits = {path.parts[-2]: path for path in served.files.values()}
    del splits["validation"]
    served.files = {f"data/{name}-00000-of-00001.parquet": splits[name] for name in splits}
    _, documents = added(monkeypatch, capsys, "hf://heed/mails", "--name", "post")
    assert rows(documents) == {row for row in ROWS if row[2] != "validation"}
    files = load("params.yaml").sources["post"].paths
    assert files["test"].endswith(f"@{COMMIT}/data/test-00000-of-00001.parquet")


def test_a_test_split_without_labels_is_left_out_and_another_is_drawn(monkeypatch, capsys, served):
    """As GLUE and other benchmarks are published."""
    served.files["default/test/0000.parquet"] = served.files["default/unsupervised/0000.parquet"]
    printed, documents = added(monkeypatch, capsys, "hf://heed/mails")
    assert len(documents) == 48 and {document.split for document in documents} == {""}
    assert "the split test, unsupervised" in printed and "in each of 5 folds" in printed


def test_one_of_several_configurations_is_named(monkeypatch, capsys, served):
    files = {name.removeprefix("default/"): path for name, path in served.files.items()}
    served.files = {f"{c}/{name}": path for c in ("a", "b") for name, path in files.items()}
    message = refused(monkeypatch, "hf://heed/mails")
    assert message.endswith("are a, b. Name one: heed corpus add hf://heed/mails/a")
    _, documents = added(monkeypatch, capsys, "hf://heed/mails/b")
    assert rows(documents) == ROWS and [*load("params.yaml").corpora] == ["mails-b"]


def test_what_the_hub_does_not_have_is_one_message(monkeypatch, served):
    assert "the hub has nothing of this name" in refused(monkeypatch, "hf://heed/letters")
    served.gated = True
    assert "only to those who accept its terms" in refused(monkeypatch, "hf://heed/mails")
    served.gated = False
    served.files = {"mails.csv": DATASETS / "make.py"}
    message = refused(monkeypatch, "hf://heed/mails")
    assert "hf://heed/mails: the hub has no parquet files of it." in message
    message = refused(monkeypatch, "hf://heed/mails", "more.csv")
    assert "a data set on the hub is a corpus by itself" in message


@pytest.mark.parametrize(("key", "value", "message"), [
    ("etag", "../../../planted", "the ETag of default/test/0000.parquet is not a hash: '../../"),
    ("etag", "/tmp/planted", "is not a hash: '/tmp/planted'"),
    ("commit", "main", "the hub names a file that cannot be: 'hf://datasets/heed/mails@main/defau"),
    ("commit", None, "the hub names a file that cannot be: 'hf://datasets/heed/mails@None/defau"),
    ("files", {"default/train\n/0000.parquet": DATASETS / "make.py"}, "a file that cannot be"),
    ("files", {"default/train/0000.parquet": DATASETS / "make.py"}, "parquet: cannot be read"),
])  # fmt: skip
def test_what_a_hub_answers_is_checked(monkeypatch, served, key, value, message):
    monkeypatch.setattr(served, key, value)
    assert message in refused(monkeypatch, "hf://heed/mails")
    assert not [*Path.cwd().glob("**/planted")] and not Path("/tmp/planted").exists()


@pytest.mark.parametrize("asked", ["/api/", "/resolve/"])
@pytest.mark.parametrize(("fault", "message"), [
    ("slow", "cannot be read from the hub (no whole answer in 1 seconds)"),
    ("silent", "cannot be read from the hub (no whole answer in 1 seconds)"),
    ("short", "cannot be read from the hub ("),
    ("endless", "cannot be read from the hub ("),
])  # fmt: skip
def test_a_hub_that_does_not_end_is_one_message(monkeypatch, served, asked, fault, message):
    monkeypatch.setattr(hub, "SECONDS", 1)
    monkeypatch.setattr(served, "fault", (fault, asked))
    began = time.monotonic()
    said = refused(monkeypatch, "hf://heed/mails")
    assert time.monotonic() - began < 10 and message in said and "On a machine that can" in said
    sizes = [path.stat().st_size for path in Path("cache").rglob("*") if path.is_file()]
    assert sum(sizes) < 100 << 20


def test_an_encoder_of_the_hub_comes_whole_without_code_and_a_failure_says_what_to_do(
    monkeypatch, served, tmp_path
):
    write_encoder = pytest.importorskip("tests.encoders").write_encoder
    (tmp_path / "model").mkdir()
    model = write_encoder(tmp_path / "model")
    (model / "code.py").write_text("1 / 0")
    served.revisions = (COMMIT,)
    files = [path for path in model.rglob("*") if path.is_file()]
    served.files = {path.relative_to(model).as_posix(): path for path in files}
    encoder = Encoder(hub="heed/mails", revision=COMMIT, sha256=digest_folder(model, *FILES))
    found = find_model(encoder)
    assert {name for name in served.files if not (found / name).exists()} == {"code.py"}
    served.asked.clear()
    assert find_model(encoder) == found and served.asked == []  # all is in the cache
    (found / "vocab.txt").unlink()  # as of a program that has asked for a part
    assert find_model(encoder) == found and (found / "vocab.txt").exists()
    monkeypatch.setattr(served, "gated", True)
    (found / "vocab.txt").unlink()
    with pytest.raises(HeedError, match="heed/mails: the hub gives it only to those who accept"):
        find_model(encoder)
    monkeypatch.setattr(served, "gated", False)
    monkeypatch.setattr(served, "fault", ("silent", "/api/"))
    monkeypatch.setattr(hub, "SECONDS", 1)
    with pytest.raises(HeedError, match=r"heed/mails: cannot be read .* name its `folder`"):
        find_model(encoder)
