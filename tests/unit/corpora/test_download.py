"""Only the published file is accepted, a download is resumed, and an error says what to do."""

import contextlib
import dataclasses
import gzip
import hashlib
import http.server
import io
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from heed.corpora import kinds
from heed.corpora.kinds import SOURCE_KINDS
from heed.corpora.publication import File, read_members, read_published_lines
from heed.files import CHECKSUMS, HeedError, sha256
from heed.study import Source, load
from heed.study.experiments import check_source
from tests.conftest import ROOT

CONTENT = bytes(range(256)) * 400
NAME = "corpus.bin"


class Server:
    """A real HTTP server whose behaviour a test sets: `answer(handler, number of the request)`."""

    def __init__(self) -> None:
        self.answer: Callable[[http.server.BaseHTTPRequestHandler, int], None] = plain
        self.ranges: list[str | None] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.ranges.append(self.headers.get("Range"))
                outer.answer(self, len(outer.ranges))

            def log_message(self, *args: object) -> None:
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}"


def send(
    handler: http.server.BaseHTTPRequestHandler, status: int, body: bytes,
    length: int | None = None, **headers: str,
) -> None:  # fmt: skip
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    for key, value in headers.items():
        handler.send_header(key.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def cut(handler: http.server.BaseHTTPRequestHandler, size: int) -> None:
    """Announce the whole content and drop the connection after `size` bytes of it."""
    send(handler, 200, CONTENT[:size], length=len(CONTENT))
    handler.close_connection = True


def plain(handler: http.server.BaseHTTPRequestHandler, number: int) -> None:
    requested = handler.headers.get("Range")
    if requested:
        start = int(requested.removeprefix("bytes=").rstrip("-"))
        span = f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}"
        if start >= len(CONTENT):
            send(handler, 416, b"")
        else:
            send(handler, 206, CONTENT[start:], Content_Range=span)
    else:
        send(handler, 200, CONTENT)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEED_MIRROR", raising=False)
    monkeypatch.setattr(kinds, "WAITS", (0, 0.01, 0.02))
    server = Server()
    digest = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
    file = File(NAME, f"folder/{NAME}", (digest,), f"{server.url}/{NAME}")
    kind = dataclasses.replace(SOURCE_KINDS["imdb"], files=(file,), size=len(CONTENT))
    monkeypatch.setitem(SOURCE_KINDS, "imdb", kind)
    yield server
    server.http.shutdown()


def fetch() -> None:
    kinds.download("imdb", Source(kind="imdb"), Path("data/raw/imdb"))


def refused(message: str) -> None:
    with pytest.raises(HeedError, match=message) as caught:
        fetch()
    assert not Path("data/raw/imdb", NAME).exists(), "a partial file is never accepted"
    assert NAME in str(caught.value) and "heed download imdb" in str(caught.value)


def test_a_file_is_downloaded_and_verified_only_once(server, capsys):
    fetch()
    assert Path("data/raw/imdb", NAME).read_bytes() == CONTENT
    assert not list(Path(".heed/work").glob("download-*"))
    fetch()
    assert len(server.ranges) == 1 and "already there, verified" in capsys.readouterr().out


def test_a_damaged_file_is_downloaded_again_and_other_files_are_removed(server):
    fetch()
    Path("data/raw/imdb", NAME).write_bytes(CONTENT[:-1])
    Path("data/raw/imdb/unpacked").mkdir()
    Path("data/raw/imdb/unpacked/other").write_text("x")
    fetch()
    assert sorted(path.name for path in Path("data/raw/imdb").iterdir()) == [CHECKSUMS, NAME]
    assert Path("data/raw/imdb", NAME).read_bytes() == CONTENT


@pytest.mark.parametrize("takes_ranges", [True, False])
def test_a_dropped_connection_is_resumed_or_read_from_the_start(server, takes_ranges):
    def drop(handler, number):
        if number == 1:
            cut(handler, 50_000)
        elif takes_ranges:
            plain(handler, number)
        else:
            send(handler, 200, CONTENT)

    server.answer = drop
    fetch()
    assert server.ranges[0] is None and server.ranges[1].startswith("bytes=")
    assert Path("data/raw/imdb", NAME).read_bytes() == CONTENT


def test_a_download_survives_server_errors_and_follows_redirects(server):
    def recover(handler, number):
        if number < 3:
            send(handler, 500, b"")
        elif number == 3:
            send(handler, 302, b"", Location=f"{server.url}/elsewhere")
        else:
            plain(handler, number)

    server.answer = recover
    fetch()
    assert len(server.ranges) == 4


def test_a_missing_page_is_requested_once_and_its_message_controls_no_terminal(server, capsys):
    head = b"HTTP/1.1 404 \x1b[2J\x1b]0;title\x07\xe2\x80\xae\r\n\r\n"
    server.answer = lambda handler, _: answer_raw(handler, head)
    refused("404")
    text = capsys.readouterr().err
    assert "[U+001B][2J[U+001B]]0;title[U+0007]" in text and "\x1b" not in text
    assert len(server.ranges) == 1


def test_a_server_that_hangs_runs_into_the_time_out(server, monkeypatch):
    monkeypatch.setattr(kinds, "TIMEOUT", (0.2, 0.2))
    monkeypatch.setattr(kinds, "WAITS", (0, 0))
    release = threading.Event()
    server.answer = lambda handler, number: release.wait(5)
    refused("no connection|timed out")
    release.set()


def test_without_a_network_the_downloaded_part_is_kept(server, monkeypatch):
    server.answer = lambda handler, _: cut(handler, 70_000)
    monkeypatch.setattr(kinds, "WAITS", (0,))
    refused(r"65,536 bytes are kept")
    server.answer = plain
    fetch()
    assert server.ranges[-1] is not None, "the next command continues after the kept part"
    server.http.shutdown()
    server.http.server_close()
    Path("data/raw/imdb", NAME).unlink()
    refused("no connection")


OK, CHUNKED = b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
HASHES = [hashlib.sha256(content).hexdigest() for content in (CONTENT, b"x")]
WRONG = "expected sha256:{}, found sha256:{}".format(*HASHES)
FOUND = b"HTTP/1.1 302 Found\r\nLocation: "
MALFORMED = {
    "wrong": (OK + b"Content-Length: 1\r\n\r\nx", WRONG),
    "length": (OK + b"Content-Length: abc\r\n\r\nx", "not the published file"),
    "chunk-short": (CHUNKED + b"ff\r\nx", "cannot be downloaded"),
    "redirect": (FOUND + b"file:///etc/passwd\r\n\r\n", "No connection adapters"),
    "no-http": (b"SSH-2.0-OpenSSH\r\n", "no connection"),
    "no-range": (b"HTTP/1.1 416 No\r\nContent-Length: 0\r\n\r\n", "416"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_answer_is_one_message(server, name):
    content, message = MALFORMED[name]
    server.answer = lambda handler, _: answer_raw(handler, content)
    refused(message)


def answer_raw(handler: http.server.BaseHTTPRequestHandler, content: bytes) -> None:
    """Answer with bytes, which need not be HTTP."""
    handler.wfile.write(content)
    handler.close_connection = True


@pytest.mark.parametrize("head", [b"\r\n", b"Content-Length: 300000\r\n\r\n"])
def test_a_file_far_larger_than_declared_is_not_kept(server, head):
    def answer(handler, number):
        with contextlib.suppress(OSError):
            handler.wfile.write(OK + head)
            while True:
                handler.wfile.write(bytes(10_000))

    server.answer = answer
    with pytest.raises(HeedError, match=r"larger than 204,800 bytes"):
        fetch()
    assert len(server.ranges) == 1
    assert sum(path.stat().st_size for path in Path(".heed/work").rglob(NAME)) == 0


def test_the_mirror_comes_before_the_web_and_is_verified_too(server, monkeypatch, tmp_path):
    mirror = tmp_path / "mirror with a space"
    (mirror / "folder").mkdir(parents=True)
    (mirror / "folder" / NAME).write_bytes(CONTENT)
    monkeypatch.setenv("HEED_MIRROR", str(mirror))
    fetch()
    assert server.ranges == []
    (mirror / "folder" / NAME).write_bytes(b"spoiled")
    Path("data/raw/imdb", NAME).unlink()
    with pytest.raises(HeedError, match="not the published file"):
        fetch()


def test_a_file_that_a_source_does_not_have_is_refused():
    with pytest.raises(ValueError, match="files: eval: no file of letters, whose files are class"):
        check_source(Source(kind="letters", files=["eval"]))


def test_the_sample_is_the_same_bytes_everywhere_and_its_hash_is_checked(tmp_path):
    declared = load(ROOT / "tests/studies/small.yaml").sources["sample"]
    kinds.download("sample", declared, tmp_path / "a")
    assert sha256(tmp_path / "a/sample.jsonl") == declared.sha256
    with pytest.raises(HeedError, match=f"expected {declared.sha256}, the generator made"):
        kinds.download("sample", dataclasses.replace(declared, seed=2), tmp_path / "b")
    assert not (tmp_path / "b" / "sample.jsonl").exists()


def test_every_published_file_has_a_hash_and_a_way_to_get_it():
    for file in (file for kind in SOURCE_KINDS.values() for file in kind.files):
        assert all(entry.startswith(("sha256:", "blob:")) for entry in file.hashes)
        assert file.url.startswith("https://")


def test_an_archive_gives_its_files_and_a_broken_file_of_lines_is_named(tmp_path):
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        for name in ("folder/a", "b"):
            info = tarfile.TarInfo(name)
            info.size = 1
            archive.addfile(info, io.BytesIO(b"x"))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "b"
        archive.addfile(link)
    assert list(read_members(tmp_path / "a.tar.gz")) == [("folder/a", b"x"), ("b", b"x")]
    path = tmp_path / "lines.json.gz"
    path.write_bytes(gzip.compress(b'{"a": "b"}\n\n' * 1000))
    assert list(read_published_lines(path))[:2] == [(1, {"a": "b"}), (3, {"a": "b"})]
    path.write_bytes(gzip.compress(b"{}\n")[:-9])
    with pytest.raises(HeedError, match=r"lines.json.gz: not a whole gzip file"):
        list(read_published_lines(path))
