"""Only the published file is accepted, a download is resumed, and an error says what to do."""

import contextlib
import dataclasses
import gzip
import hashlib
import http.server
import os
import random
import tarfile
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from heed.corpora import sample, source, user_files
from heed.corpora.kinds import SOURCE_KINDS
from heed.corpora.publication import File, read_members, read_published_lines
from heed.files import CHECKSUMS, HeedError, sha256
from heed.study import Source, load
from tests.conftest import ROOT

CONTENT = bytes(range(256)) * 400
NAME = "corpus.bin"
HOSTILE = "download: the server drops, ignores ranges, answers 500, redirects, hangs, is gone"
WRONG = (
    "download: a wrong file, a page that is not there, a spoiled mirror, a changed table or sample"
)


class Server:
    """A real HTTP server whose behaviour a test sets: `answer(handler, content, request
    number)`.
    """

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
    handler: http.server.BaseHTTPRequestHandler,
    status: int,
    body: bytes,
    length: int | None = None,
    **headers: str,
) -> None:
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    for key, value in headers.items():
        handler.send_header(key.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


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
    monkeypatch.setattr(source, "WAIT", 0.01)
    server = Server()
    digest = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
    file = File(NAME, f"folder/{NAME}", (digest,), f"{server.url}/{NAME}")
    kind = dataclasses.replace(SOURCE_KINDS["imdb"], files=(file,), size=len(CONTENT))
    monkeypatch.setitem(SOURCE_KINDS, "imdb", kind)
    yield server
    server.http.shutdown()


def fetch() -> None:
    source.download("imdb", Source(kind="imdb"), Path("data/raw/imdb"))


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
    assert len(server.ranges) == 1
    assert "already there, verified" in capsys.readouterr().out


@pytest.mark.drill("download: a damaged file")
def test_a_damaged_file_is_downloaded_again_and_other_files_are_removed(server):
    fetch()
    Path("data/raw/imdb", NAME).write_bytes(CONTENT[:-1])
    Path("data/raw/imdb/other").write_text("x")
    fetch()
    assert sorted(path.name for path in Path("data/raw/imdb").iterdir()) == [CHECKSUMS, NAME]
    assert Path("data/raw/imdb", NAME).read_bytes() == CONTENT


@pytest.mark.drill(HOSTILE)
@pytest.mark.parametrize("takes_ranges", [True, False])
def test_a_dropped_connection_is_resumed_or_read_from_the_start(server, takes_ranges):
    def drop(handler, number):
        if number == 1:
            send(handler, 200, CONTENT[:50_000], length=len(CONTENT))
            handler.close_connection = True
        elif takes_ranges:
            plain(handler, number)
        else:
            send(handler, 200, CONTENT)

    server.answer = drop
    fetch()
    assert server.ranges[0] is None and server.ranges[1].startswith("bytes=")
    assert Path("data/raw/imdb", NAME).read_bytes() == CONTENT


@pytest.mark.drill(HOSTILE, faults=2)
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


@pytest.mark.drill(WRONG)
def test_a_wrong_file_is_an_error_with_the_expected_and_the_found_hash(server):
    server.answer = lambda handler, number: send(handler, 200, b"something else")
    expected = hashlib.sha256(CONTENT).hexdigest()
    refused(
        f"expected sha256:{expected}, found sha256:{hashlib.sha256(b'something else').hexdigest()}"
    )


@pytest.mark.drill(WRONG)
def test_a_missing_page_is_requested_once(server):
    server.answer = lambda handler, number: send(handler, 404, b"")
    refused("HTTP 404")
    assert len(server.ranges) == 1


@pytest.mark.drill("terminal: characters that control it, in titles, labels, messages of servers")
def test_the_message_of_a_server_does_not_control_the_terminal(server, capsys):
    server.answer = answer_with(b"HTTP/1.1 404 \x1b[2J\x1b]0;title\x07\xe2\x80\xae\r\n\r\n")
    refused("HTTP 404")
    text = capsys.readouterr().err
    assert "HTTP 404 [U+001B][2J[U+001B]]0;title[U+0007]" in text and "\x1b" not in text


@pytest.mark.drill(HOSTILE)
def test_a_server_that_hangs_runs_into_the_time_out(server, monkeypatch):
    monkeypatch.setattr(source, "TIMEOUT", (0.2, 0.2))
    monkeypatch.setattr(source, "TRIES", 2)
    release = threading.Event()
    server.answer = lambda handler, number: release.wait(5)
    refused("no answer within")
    release.set()


@pytest.mark.drill(HOSTILE, faults=2)
def test_without_a_network_the_downloaded_part_is_kept(server, monkeypatch):
    def cut(handler, number):
        send(handler, 200, CONTENT[:70_000], length=len(CONTENT))
        handler.close_connection = True

    server.answer = cut
    monkeypatch.setattr(source, "TRIES", 1)
    refused(r"the connection broke.* [\d,]+ bytes are kept")
    server.answer = plain
    fetch()
    assert server.ranges[-1] is not None, "the next command continues after the kept part"
    server.http.shutdown()
    server.http.server_close()
    Path("data/raw/imdb", NAME).unlink()
    refused("no connection")


def answer_with(*parts: bytes, close: bool = True) -> Callable:
    """Answer every request with these bytes, which need not be HTTP."""

    def answer(handler: http.server.BaseHTTPRequestHandler, number: int) -> None:
        for part in parts:
            handler.wfile.write(part)
        handler.close_connection = close

    return answer


OK, CHUNKED = b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
FOUND = b"HTTP/1.1 302 Found\r\nLocation: "
MALFORMED = {
    "length-letters": ([OK, b"Content-Length: abc\r\n\r\nx"], "not the published file"),
    "length-digits": ([OK, b"Content-Length: ", b"9" * 5000, b"\r\n\r\nx"], "not the published"),
    "length-negative": ([OK, b"Content-Length: -5\r\n\r\nx"], "not the published file"),
    "length-two": ([OK, b"Content-Length: 5, 6\r\n\r\nx"], "no valid answer"),
    "length-superscript": ([OK, b"Content-Length: \xb2\r\n\r\nx"], "not the published file"),
    "chunk-letters": ([CHUNKED, b"zz\r\nx\r\n"], "the connection broke"),
    "chunk-negative": ([CHUNKED, b"-5\r\nx\r\n"], "the connection broke|not the published"),
    "chunk-short": ([CHUNKED, b"ff\r\nx"], "the connection broke"),
    "chunk-long-line": ([CHUNKED, b"1;", b"x" * 100_000, b"\r\nx\r\n"], "the connection broke"),
    "redirect-file": ([FOUND, b"file:///etc/passwd\r\n\r\n"], "No connection adapters"),
    "redirect-address": ([FOUND, b"http://[1\r\n\r\n"], "no valid answer"),
    "redirect-host": ([FOUND, b"http://\r\n\r\n"], "no valid answer|HTTP 302"),
    "redirect-bytes": ([FOUND, b"/\xff\xfe\r\n\r\n"], "no valid answer"),
    "redirect-circle": ([FOUND, b"/again\r\nContent-Length: 0\r\n\r\n"], "more than 5 redirects"),
    "no-status": ([b"HTTP/1.1 \r\n\r\n"], "no valid answer"),
    "no-http": ([b"SSH-2.0-OpenSSH\r\n"], "no valid answer"),
    "many-headers": ([OK, b"X: y\r\n" * 200, b"\r\n"], "no valid answer"),
    "long-header": ([OK, b"X: ", b"y" * 100_000, b"\r\n\r\n"], "no valid answer"),
    "no-content": ([b"HTTP/1.1 204 No Content\r\n\r\n"], "HTTP 204"),
    "no-range": ([b"HTTP/1.1 416 No\r\nContent-Length: 0\r\n\r\n"], "HTTP 416"),
    "other-range": (
        [b"HTTP/1.1 206 Part\r\nContent-Range: bytes 7-9/10\r\n\r\nxyz"],
        "another part than the one requested",
    ),
}


@pytest.mark.drill("download: malformed lengths, chunks, redirects, headers")
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_answer_is_one_message(server, monkeypatch, name):
    parts, message = MALFORMED[name]
    monkeypatch.setattr(source, "TRIES", 2)
    server.answer = answer_with(*parts)
    refused(message)


def endless(head: bytes, part: bytes, pause: float = 0.0) -> Callable:
    """Answer with `head`, and then with `part` until the client closes the connection."""

    def answer(handler: http.server.BaseHTTPRequestHandler, number: int) -> None:
        with contextlib.suppress(OSError):
            handler.wfile.write(head)
            while True:
                handler.wfile.write(part)
                time.sleep(pause)

    return answer


@pytest.mark.drill("download: endless, or too slow")
@pytest.mark.parametrize(
    ("head", "part"),
    [
        (OK + b"Content-Length: 102400\r\n\r\n", b"x"),
        (CHUNKED, b"1\r\nx\r\n"),
        (OK, b"X"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (CHUNKED + b"0\r\n", b"X: y\r\n"),
    ],
    ids=["body", "chunks", "header", "continue", "trailer"],
)
def test_a_server_that_sends_a_little_now_and_then_is_left_after_some_minutes(
    server, monkeypatch, head, part
):
    monkeypatch.setenv("HEED_DOWNLOAD_MINUTES", "0.005")
    server.answer = endless(head, part, 0.02)
    started = time.monotonic()
    refused(r"not complete after 0.005 minutes \(HEED_DOWNLOAD_MINUTES")
    assert time.monotonic() - started < 3


@pytest.mark.drill("download: endless, or too slow")
@pytest.mark.parametrize("head", [OK + b"\r\n", OK + b"Content-Length: 300000\r\n\r\n"])
def test_a_file_far_larger_than_declared_is_not_kept(server, head):
    server.answer = endless(head, bytes(10_000))
    refused(r"larger than 204,800 bytes, 2 times the declared size\.")
    assert len(server.ranges) == 1
    assert sum(path.stat().st_size for path in Path(".heed/work").rglob(NAME)) == 0


@pytest.mark.drill("download: endless, or too slow")
def test_the_body_of_a_redirect_is_not_read(server):
    def redirect(handler, number):
        if number == 1:
            endless(FOUND + b"/elsewhere\r\n\r\n", bytes(10_000))(handler, number)
        else:
            plain(handler, number)

    server.answer = redirect
    fetch()
    assert Path("data/raw/imdb", NAME).read_bytes() == CONTENT


@pytest.mark.drill("decompression bomb: in a download, an archive, a .gz file")
def test_a_content_encoding_is_not_decoded(server):
    bomb = gzip.compress(bytes(5_000_000))
    server.answer = lambda handler, number: send(handler, 200, bomb, Content_Encoding="gzip")
    refused(f"not the published file: .* \\({len(bomb):,} bytes\\)")


def test_the_minutes_of_a_download_are_checked(server, monkeypatch):
    for text in ("0", "-1", "ten", "nan", "1e999", ""):
        monkeypatch.setenv("HEED_DOWNLOAD_MINUTES", text)
        with pytest.raises(HeedError, match="HEED_DOWNLOAD_MINUTES: expected a number above 0"):
            fetch()


@pytest.mark.drill(WRONG)
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
    monkeypatch.setenv("HEED_MIRROR", server.url + "/")
    fetch()
    assert len(server.ranges) == 1


def test_a_host_that_requires_a_login_is_explained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEED_MIRROR", raising=False)
    with pytest.raises(
        HeedError,
        match=r"Kaggle data set rmisra/news-category-dataset.*HEED_MIRROR.*heed download huffpost",
    ):
        source.download("huffpost", Source(kind="huffpost"), Path("data/raw/huffpost"))
    with pytest.raises(HeedError, match=r"Known: classifier_data_train.json"):
        source.download("letters", Source(kind="letters", files=["eval"]), Path("data/raw/letters"))


@pytest.mark.drill("download: disk full")
@pytest.mark.skipif(not os.access("/dev/full", os.W_OK), reason="no /dev/full on this system")
def test_a_full_disk_is_one_message(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text("text,label\n")
    write = lambda table, path: Path("/dev/full").write_bytes(b"x")  # noqa: E731
    monkeypatch.setattr(user_files, "write_table", write)
    given = Source(kind="table", path="table.csv", sha256=sha256("table.csv"))
    with pytest.raises(HeedError, match="No space left on device"):
        source.download("mine", given, Path("data/raw/mine"))
    assert not list(Path("data/raw/mine").glob("*"))


@pytest.mark.drill(WRONG)
def test_the_sample_is_the_same_bytes_everywhere_and_its_hash_is_checked(tmp_path):
    declared = load(ROOT / "tests/studies/small.yaml").sources["sample"]
    source.download("sample", declared, tmp_path / "a")
    assert (
        hashlib.sha256((tmp_path / "a" / sample.FILE).read_bytes()).hexdigest() == declared.sha256
    )
    with pytest.raises(HeedError, match=f"expected {declared.sha256}, the generator made"):
        source.download("sample", dataclasses.replace(declared, seed=2), tmp_path / "b")
    assert not (tmp_path / "b" / sample.FILE).exists()


@pytest.mark.drill(WRONG)
def test_a_table_that_changed_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text("text,label\na,b\n")
    given = Source(kind="table", path="table.csv", sha256="0" * 64)
    with pytest.raises(HeedError, match=f"expected sha256:{'0' * 64}, found"):
        source.download("mine", given, Path("data/raw/mine"))


def test_every_published_file_has_a_hash_and_a_way_to_get_it():
    for file in (file for kind in SOURCE_KINDS.values() for file in kind.files):
        assert all(entry.startswith(("sha256:", "blob:")) for entry in file.hashes)
        assert file.url.startswith("https://") or file.instructions


@pytest.mark.drill("archive: traversal, absolute path, link, device, pipe, bomb, broken")
@pytest.mark.parametrize(
    ("name", "kind"),
    [("../out", tarfile.REGTYPE), ("a/../../out", tarfile.REGTYPE), ("/etc/out", tarfile.REGTYPE),
     ("link", tarfile.SYMTYPE), ("hard", tarfile.LNKTYPE), ("device", tarfile.CHRTYPE),
     ("pipe", tarfile.FIFOTYPE)],
)  # fmt: skip
def test_hostile_archives_are_refused(tmp_path, name, kind):
    bad = member(name, type=kind, linkname="/etc/passwd")
    path = write_archive(tmp_path / "a.tar.gz", member("good", b"x"), bad)
    with pytest.raises(HeedError, match="refused"):
        list(read_members(path))


@pytest.mark.drill("archive: traversal, absolute path, link, device, pipe, bomb, broken", faults=4)
def test_bombs_and_broken_archives_are_refused(tmp_path):
    path = write_archive(tmp_path / "a.tar.gz", *(member(str(i), b"0" * 1000) for i in range(20)))
    assert len(list(read_members(path))) == 20
    with pytest.raises(HeedError, match="more than"):
        list(read_members(path, max_bytes=5000))
    with pytest.raises(HeedError, match="more than"):
        list(read_members(path, max_members=5))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(HeedError, match="not a whole archive"):
        list(read_members(path))
    path.write_bytes(b"no archive")
    with pytest.raises(HeedError, match="not a whole archive"):
        list(read_members(path))


def write_archive(path: Path, *members: bytes) -> Path:
    path.write_bytes(gzip.compress(b"".join(members) + bytes(1024)))
    return path


def member(name: str, content: bytes = b"", **fields: object) -> bytes:
    """A member as the bytes of a tar archive, with other values of some of its header's fields."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for key, value in fields.items():
        setattr(info, key, value)
    header = info.tobuf(tarfile.PAX_FORMAT if info.pax_headers else tarfile.GNU_FORMAT)
    return header + content + bytes(-len(content) % 512)


SPARSE = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "1000000000"}
OVERSIZED = {
    "sparse": [member("a", b"1\n0\n1\n".ljust(512, b"\0"), pax_headers=SPARSE)],
    "sparse-gnu": [member("a", type=tarfile.GNUTYPE_SPARSE)],
    "pax": [member("a", b"x", pax_headers={"comment": "x" * 3_000_000})],
    "pax-size": [member("a", b"1", type=tarfile.XHDTYPE, size=1 << 40)],
    "long-name": [member("x" * 3_000_000, b"x")],
    "header-chain": [member("a", b"12 path=a\n\n", type=tarfile.XHDTYPE)] * 900,
    "folders": [member(f"f{number}", type=tarfile.DIRTYPE) for number in range(1001)],
    "size": [member("a", b"x", size=1 << 40)],
    "size-negative": [member("a", b"x", pax_headers={"size": "-512"})],
    "ratio": [member("a", bytes(40_000_000))],
    "after-the-end": [member("a", b"x"), bytes(40_000_000)],
}


@pytest.mark.drill("archive: sparse files, long headers, many folders, sizes, ratio")
@pytest.mark.parametrize("name", OVERSIZED)
def test_what_an_archive_hides_counts_against_its_limits(tmp_path, name):
    path = write_archive(tmp_path / "a.tar.gz", *OVERSIZED[name])
    tracemalloc.start()
    try:
        with pytest.raises(HeedError, match=r"a\.tar\.gz: (refused: |not a whole archive)"):
            list(read_members(path, max_members=1000))
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()


def test_an_archive_with_many_members_is_read_in_little_memory(tmp_path):
    path = write_archive(tmp_path / "a.tar.gz", *(member(f"f{n}", b"x") for n in range(5000)))
    tracemalloc.start()
    assert sum(1 for _ in read_members(path)) == 5000
    assert tracemalloc.get_traced_memory()[1] < 3_000_000
    tracemalloc.stop()


@pytest.mark.drill("archive: bytes of headers replaced at random", faults=300)
def test_an_archive_with_damaged_headers_is_read_or_refused(tmp_path):
    generator = random.Random(1)
    parts = [member("a", b"x" * 700), member("b", b"y", pax_headers={"path": "c" * 200})]
    plain = b"".join(parts) + bytes(1024)
    for _ in range(300):
        damaged = bytearray(plain)
        for _ in range(generator.choice([1, 1, 2, 8])):
            damaged[generator.randrange(len(plain))] = generator.randrange(256)
        for start in range(0, len(plain), 512):  # a right checksum: what follows is read
            header = damaged[start : start + 512]
            if plain[start + 257 : start + 262] == b"ustar":
                total = sum(header[:148]) + sum(header[156:]) + 8 * 32
                damaged[start + 148 : start + 156] = b"%06o\0 " % total
        path = write_archive(tmp_path / "a.tar.gz", bytes(damaged))
        with contextlib.suppress(HeedError):
            list(read_members(path))


@pytest.mark.drill("decompression bomb: in a download, an archive, a .gz file", faults=3)
def test_a_compressed_file_of_lines_has_limits(tmp_path):
    path = tmp_path / "lines.json.gz"
    path.write_bytes(gzip.compress(b'{"a": "b"}\n' * 1000))
    assert len(list(read_published_lines(path))) == 1000
    path.write_bytes(gzip.compress(b'{"a": "' + b"b" * 40_000_000))
    with pytest.raises(HeedError, match=r"lines.json.gz: refused: more than 16,777,216 bytes"):
        list(read_published_lines(path))
    for content in (gzip.compress(b"{}\n")[:-9], b"no gzip"):
        path.write_bytes(content)
        with pytest.raises(HeedError, match=r"lines.json.gz: not a whole archive"):
            list(read_published_lines(path))
