"""Files behind URLs: what the server is asked for is what is counted, and its failures are never data."""

from __future__ import annotations

import gc
import io
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from s3fs import S3FileSystem

import hardwood_jit as hw
from hardwood_jit import remote
from hardwood_jit.errors import CorruptFileError
from hardwood_jit.options import OpenOptions
from hardwood_jit.remote import GAP_BYTES, LEAST_TAIL_BYTES, MOST_TAIL_BYTES, Facts, RemoteFile
from hardwood_jit.source import ReadCounts, Source, open_source
from tests.support.s3_server import BUCKET, Request, S3Server, s3_server

ROWS = 500_000  # x 25 columns x 8 bytes = 100 MB
GROUP_ROWS = 25_000  # 20 row groups, column chunks of 200 kB in four pages: farther apart than the gap
GROUPS = ROWS // GROUP_ROWS
COLUMNS = 24
SHARE = 0.05  # of the file: what a selective scan may fetch at most

CONTENT = bytes(range(256)) * 8192  # 2 MiB
NO_WAITING = {"retries": {"max_attempts": 1}}  # the client's own retries wait for seconds


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with pytest.MonkeyPatch.context() as patch, s3_server() as found:
        patch.setenv("NO_PROXY", "127.0.0.1,localhost")
        fsspec.filesystem("s3", **found.options).mkdir(BUCKET)
        yield found


@pytest.fixture(autouse=True)
def undisturbed(server: S3Server) -> None:
    server.clear()


def file_system(server: S3Server) -> Any:
    return fsspec.filesystem("s3", **server.options)


def put(server: S3Server, key: str, content: bytes) -> str:
    """Store an object; its URL. The server's list of requests starts anew."""
    file_system(server).pipe_file(f"{BUCKET}/{key}", content)
    server.clear()
    return f"s3://{BUCKET}/{key}"


def parquet(table: pa.Table, **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def small(first: int = 0, rows: int = 1000) -> pa.Table:
    return pa.table({"id": np.arange(first, first + rows), "half": np.arange(first, first + rows) / 2})


def remote_file(server: S3Server, url: str) -> RemoteFile:
    (found,) = open_source(url, OpenOptions(storage_options=server.options))
    assert isinstance(found, RemoteFile)
    return found


def seen(server: S3Server) -> ReadCounts:
    """What the server sent of objects."""
    reads = server.reads()
    return ReadCounts(len(reads), sum(request.sent for request in reads))


def methods(requests: list[Request]) -> list[str]:
    return [request.method for request in requests]


# A large file


@pytest.fixture(scope="module")
def big_table() -> pa.Table:
    rng = np.random.default_rng(4)
    return pa.table({"key": np.arange(ROWS)} | {f"c{number}": rng.random(ROWS) for number in range(COLUMNS)})


@pytest.fixture(scope="module")
def big(server: S3Server, big_table: pa.Table) -> tuple[str, int]:
    """URL and size."""
    content = parquet(
        big_table,
        row_group_size=GROUP_ROWS,
        use_dictionary=False,
        compression="none",
        write_page_index=True,
        data_page_size=64 << 10,
    )
    assert len(content) > 95_000_000
    return put(server, "big.parquet", content), len(content)


def test_a_footer_takes_a_look_up_and_one_read(server: S3Server, big: tuple[str, int]) -> None:
    url, size = big
    dataset = hw.open(url, storage_options=server.options)
    assert methods(server.requests) == ["HEAD"]
    assert dataset.counts == ReadCounts()
    assert dataset.num_rows == ROWS
    assert methods(server.requests) == ["HEAD", "GET"]
    assert dataset.counts == seen(server) == ReadCounts(1, size // 256)


def test_few_columns_of_a_large_file_are_a_request_per_row_group(
    server: S3Server, big: tuple[str, int], big_table: pa.Table
) -> None:
    url, size = big
    scan = hw.scan(url, storage_options=server.options).select("c3")
    assert scan.to_arrow().equals(big_table.select(["c3"]))
    counts = scan.dataset.counts
    assert counts == seen(server)
    assert counts.ranges == 1 + GROUPS
    assert counts.bytes < SHARE * size
    assert len(server.requests) == 1 + counts.ranges  # and the look-up


def test_columns_that_touch_are_one_request(server: S3Server, big: tuple[str, int], big_table: pa.Table) -> None:
    scan = hw.scan(big[0], storage_options=server.options).select("c5", "c3", "c4").row_ranges([(0, GROUP_ROWS)])
    explanation = scan.explain(analyze=True).as_dict()
    reads = server.reads()
    assert len(reads) == 2  # the footer, the columns
    assert (explanation["requests"], explanation["bytes_read"]) == (1, reads[1].sent)
    assert explanation["rows_out"] == GROUP_ROWS


def test_row_ranges_fetch_their_pages_only(server: S3Server, big: tuple[str, int], big_table: pa.Table) -> None:
    url, size = big
    scan = hw.scan(url, storage_options=server.options).select("key", "c7", "c20")
    found = scan.row_ranges([(100, 110), (GROUP_ROWS * 7, GROUP_ROWS * 7 + 5)]).to_arrow()
    wanted = [*range(100, 110), *range(GROUP_ROWS * 7, GROUP_ROWS * 7 + 5)]
    assert found.equals(big_table.select(["key", "c7", "c20"]).take(wanted))
    counts = scan.dataset.counts
    assert counts == seen(server)
    # The footer's read brought the indexes along; then a page of each column in both row groups.
    assert counts.ranges == 1 + 2 * 3
    assert counts.bytes < size // 256 + 6 * (70 << 10)


@pytest.mark.parametrize("which", ["head", "tail"])
def test_first_and_last_rows_fetch_a_page_of_each_column(
    server: S3Server, big: tuple[str, int], big_table: pa.Table, which: str
) -> None:
    url, size = big
    columns = ["key", "c2", "c11", "c23"]
    scan = hw.scan(url, storage_options=server.options).select(*columns)
    found = scan.head(5) if which == "head" else scan.tail(5)
    assert found.to_arrow().equals(big_table.select(columns).slice(0 if which == "head" else ROWS - 5, 5))
    counts = scan.dataset.counts
    assert counts == seen(server)
    assert counts.ranges == 1 + len(columns) - (which == "tail")  # the last page of all came with the footer
    assert counts.bytes < SHARE * size


def test_a_look_up_by_key_reads_one_row_group(server: S3Server, big: tuple[str, int], big_table: pa.Table) -> None:
    url, size = big
    scan = hw.scan(url, storage_options=server.options).filter("key = 123456").select("key", "c7")
    assert scan.dataset.num_rows == ROWS
    before = seen(server)
    explanation = scan.explain(analyze=True).as_dict()
    assert explanation["rows_out"] == 1
    assert explanation["row_groups_pruned"] == GROUPS - 1
    during = seen(server) - before
    assert (explanation["requests"], explanation["bytes_read"]) == (during.ranges, during.bytes)
    assert during.ranges <= 2  # the filter's column, the output's
    assert scan.dataset.counts == seen(server)
    assert seen(server).bytes < SHARE * size
    assert scan.to_arrow().equals(big_table.select(["key", "c7"]).slice(123456, 1))


def test_a_scan_with_one_thread_fetches_ahead(
    server: S3Server, big: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from hardwood_jit import scanner

    used = []
    run = scanner.run_groups

    def noted(tasks: Any, job: Any, threads: int, finish: Any, ahead: int | None) -> Any:
        used.append((threads, ahead))
        return run(tasks, job, threads, finish, ahead)

    monkeypatch.setattr(scanner, "run_groups", noted)
    scan = hw.scan(big[0], storage_options=server.options).select("c3").threads(1).row_ranges([(0, 10)])
    assert sum(batch.num_rows for batch in scan.batches()) == 10
    assert used == [(2, 4)]  # a second worker, and a bound on what waits


# Ranges


def test_reads_give_the_bytes_and_count_requests(server: S3Server) -> None:
    file = remote_file(server, put(server, "content", CONTENT))
    assert file.size == len(CONTENT)
    assert file.read(10, 20).tobytes() == CONTENT[10:30]
    assert file.read(10, 20).flags.writeable
    out = np.zeros(5, np.uint8)
    file.read_into(1000, out)
    assert out.tobytes() == CONTENT[1000:1005]
    assert file.counts == seen(server) == ReadCounts(3, 45)
    assert file.read(len(CONTENT), 0).size == 0
    file.read_ranges([], [])
    assert file.counts == seen(server) == ReadCounts(3, 45)  # nothing is no request


def test_ranges_are_merged_over_small_gaps_and_keep_the_callers_order(server: S3Server) -> None:
    file = remote_file(server, put(server, "content", CONTENT))
    far = 1000 + 10 + GAP_BYTES + 1
    ranges = [(far, 7), (0, 4), (1000, 10), (2, 5), (GAP_BYTES + 4, 0)]
    outs = [np.zeros(length + 3, np.uint8) for _, length in ranges]  # longer than needed: only the start is filled
    file.read_ranges(ranges, outs)
    for (offset, length), out in zip(ranges, outs, strict=True):
        assert out.tobytes() == CONTENT[offset : offset + length] + b"\0\0\0"
    assert sorted(request.range for request in server.reads()) == ["bytes=0-1009", f"bytes={far}-{far + 6}"]
    assert file.counts == seen(server) == ReadCounts(2, 1010 + 7)


def test_ranges_outside_the_file_are_corruption_and_no_request(server: S3Server) -> None:
    file = remote_file(server, put(server, "content", CONTENT))
    for offset, length in [(-1, 4), (0, -4), (len(CONTENT) - 1, 2), (1 << 62, 1 << 62)]:
        with pytest.raises(CorruptFileError, match="file ends at"):
            file.read(offset, length)
        with pytest.raises(CorruptFileError, match="file ends at"):
            file.read_ranges([(offset, length)], [np.empty(0, np.uint8)])
    assert server.reads() == []


def test_reads_inside_the_tail_are_no_requests(server: S3Server) -> None:
    file = remote_file(server, put(server, "content", CONTENT))
    start = len(CONTENT) - file.tail_bytes
    file.read(start, file.tail_bytes)
    outs = [np.empty(9, np.uint8), np.empty(9, np.uint8)]
    file.read_ranges([(len(CONTENT) - 9, 9), (start - 9, 9)], outs)
    assert [out.tobytes() for out in outs] == [CONTENT[-9:], CONTENT[start - 9 : start]]
    assert file.counts == seen(server) == ReadCounts(2, file.tail_bytes + 9)


def test_tails_are_bounded_together_and_go_with_their_files(
    server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    tails = remote._Tails(2 * LEAST_TAIL_BYTES)
    monkeypatch.setattr(remote, "_tails", tails)
    url = put(server, "content", CONTENT)
    files = [remote_file(server, url) for _ in range(3)]
    for file in files:
        file.read(len(CONTENT) - LEAST_TAIL_BYTES, LEAST_TAIL_BYTES)
    assert [tails.find(id(file)) is not None for file in files] == [False, True, True]
    del file, files
    gc.collect()
    assert (tails._held, len(tails._tails)) == (0, 0)


@pytest.mark.parametrize(
    ("size", "tail"),
    [(100, LEAST_TAIL_BYTES), (100 << 20, (100 << 20) // 256), (10 << 30, MOST_TAIL_BYTES)],
)
def test_the_tail_grows_with_the_file_within_bounds(size: int, tail: int) -> None:
    assert RemoteFile(fsspec.filesystem("memory"), "/x", "x", Facts(size, None)).tail_bytes == tail


def test_a_small_file_is_one_read_in_all(server: S3Server) -> None:
    url = put(server, "small.parquet", parquet(small()))
    assert hw.scan(url, storage_options=server.options).to_arrow().equals(small())
    assert methods(server.requests) == ["HEAD", "GET"]


def test_a_footer_longer_than_the_tail_takes_one_read_more(server: S3Server) -> None:
    names = [f"{'a long name ' * 100} {number}" for number in range(300)]  # 1200 bytes, twice for each column
    content = parquet(pa.table({name: [1] for name in names}))
    assert len(content) > 2 * LEAST_TAIL_BYTES
    dataset = hw.open(put(server, "wide.parquet", content), storage_options=server.options)
    assert [child.name for child in dataset.schema.children] == names
    assert dataset.counts == seen(server)
    assert dataset.counts.ranges == 2


# Expanding


@pytest.fixture(scope="module")
def folder(server: S3Server) -> str:
    put(server, "folder/b.parquet", parquet(small(1000)))
    put(server, "folder/a.parquet", parquet(small(0)))
    put(server, "folder/deep/c.parquet", parquet(small(2000)))
    put(server, "folder/_SUCCESS", b"")
    put(server, "folder/.hidden.parquet", b"no Parquet")
    put(server, "folder/_temporary/d.parquet", b"no Parquet")
    file_system(server).call_s3("put_object", Bucket=BUCKET, Key="folder/empty/", Body=b"")
    put(server, "folder2/e.parquet", parquet(small(3000)))
    return f"s3://{BUCKET}/folder"


def ids(source: Any, server: S3Server) -> list[int]:
    """The first id of each file, by thousands."""
    dataset = hw.open(source, storage_options=server.options)
    return (dataset.scan().select("id").to_numpy()["id"][::1000] // 1000).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("end", "found"),
    [
        ("", [0, 1, 2]),
        ("/", [0, 1, 2]),
        ("/*.parquet", [0, 1]),
        ("/**/*.parquet", [0, 1, 2]),
        ("/d*", [2]),
        ("/[ab].parquet", [0, 1]),
        ("*/?.parquet", [0, 1, 3]),
        ("/b.parquet", [1]),
    ],
)
def test_folders_and_patterns_give_files_sorted_without_hidden_ones(
    server: S3Server, folder: str, end: str, found: list[int]
) -> None:
    assert ids(folder + end, server) == found


def test_lists_keep_their_order_and_may_mix(server: S3Server, folder: str, tmp_path: Path) -> None:
    local = tmp_path / "x.parquet"
    local.write_bytes(parquet(small(9000)))
    assert ids([f"{folder}/b.parquet", local, f"{folder}/a.parquet"], server) == [1, 9, 0]


def test_files_of_a_listing_are_not_looked_up(server: S3Server, folder: str) -> None:
    dataset = hw.open(f"{folder}/", storage_options=server.options)
    assert methods(server.requests) == ["GET"]  # the listing
    assert server.reads() == []
    assert dataset.num_rows == 3000
    assert len(server.reads()) == 3
    assert "HEAD" not in methods(server.requests)
    assert dataset.counts == seen(server)


def test_names_are_urls(server: S3Server, folder: str) -> None:
    names = [file.name for file in hw.open(folder, storage_options=server.options).files]
    assert names == [f"{folder}/a.parquet", f"{folder}/b.parquet", f"{folder}/deep/c.parquet"]


def test_a_listing_is_never_an_old_one(server: S3Server) -> None:
    put(server, "growing/a.parquet", parquet(small(0)))
    url = f"s3://{BUCKET}/growing"
    assert ids(url, server) == [0]
    other = fsspec.filesystem("s3", skip_instance_cache=True, **server.options)  # as another process would
    other.pipe_file(f"{BUCKET}/growing/b.parquet", parquet(small(1000)))
    other.pipe_file(f"{BUCKET}/growing/a.parquet", parquet(small(5000, rows=2000)))
    assert ids(f"{url}/a.parquet", server) == [5, 6]  # s3fs would know it from the first listing
    assert ids(f"{url}/*", server) == [5, 6, 1]
    assert ids(url, server) == [5, 6, 1]


@pytest.mark.parametrize("end", ["missing", "missing/", "missing/*.parquet", "folder/_temporary/*/x", "folder/*.csv"])
def test_nothing_found_is_file_not_found(server: S3Server, folder: str, end: str) -> None:
    with pytest.raises(FileNotFoundError, match=f"s3://{BUCKET}/"):
        hw.open(f"s3://{BUCKET}/{end}", storage_options=server.options)


def test_a_bucket_that_does_not_exist_is_file_not_found(server: S3Server) -> None:
    with pytest.raises(FileNotFoundError):
        hw.open("s3://no-such-bucket/x.parquet", storage_options=server.options)


def test_a_file_wins_over_a_pattern_of_the_same_text(server: S3Server) -> None:
    url = put(server, "odd/[1].parquet", parquet(small(7000)))
    put(server, "odd/1.parquet", parquet(small(8000)))
    assert ids(url, server) == [7]
    assert ids(f"s3://{BUCKET}/odd/[12].parquet", server) == [8]


# Other file systems


@pytest.fixture
def memory() -> Iterator[Any]:
    fs = fsspec.filesystem("memory")
    yield fs
    fs.rm("/", recursive=True)


def test_memory_file_systems(memory: Any) -> None:
    memory.pipe("/lake/x=1/a.parquet", parquet(small(0)))
    memory.pipe("/lake/x=2/b.parquet", parquet(small(1000)))
    memory.pipe("/lake/_log", b"")
    assert hw.scan("memory://lake").to_arrow()["id"].to_pylist() == list(range(2000))
    assert hw.scan("memory://lake/x=2/*.parquet").to_arrow().equals(small(1000))
    assert hw.read("memory://lake/x=1/a.parquet", ["half"], [("id", "<", 2)]).to_pydict() == {"half": [0.0, 0.5]}


def test_file_urls_are_paths(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(parquet(small()))
    (tmp_path / "_b").write_bytes(b"")
    for url in (f"file://{tmp_path}/a.parquet", f"file://{tmp_path}", f"file://{tmp_path}/*.parquet"):
        assert hw.scan(url).to_arrow().equals(small())
        assert hw.open(url).files[0].name == str(tmp_path / "a.parquet")


def test_a_cache_in_front_reads_the_file_once(server: S3Server, folder: str, tmp_path: Path) -> None:
    dataset = hw.open(
        f"simplecache::{folder}/a.parquet",
        storage_options={"s3": server.options, "simplecache": {"cache_storage": str(tmp_path)}},
    )
    assert dataset.files[0].name == f"simplecache::{folder}/a.parquet"
    assert dataset.scan().to_arrow().equals(small())
    assert len(server.reads()) == 1
    assert hw.open(dataset.files[0].source).scan().to_arrow().equals(small())
    assert len(server.reads()) == 1


def test_members_of_an_archive(memory: Any) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("inner/a.parquet", parquet(small(0)))
        archive.writestr("inner/b.parquet", parquet(small(1000)))
    memory.pipe("/all.zip", out.getvalue())
    dataset = hw.open("zip://inner/*.parquet::memory://all.zip")
    assert [file.name for file in dataset.files] == [f"zip://inner/{name}.parquet::memory://all.zip" for name in "ab"]
    assert dataset.scan().to_arrow()["id"].to_pylist() == list(range(2000))


def test_signed_http_urls_are_files_and_keep_their_signature_to_themselves(server: S3Server) -> None:
    put(server, "small.parquet", parquet(small()))
    url = file_system(server).sign(f"{BUCKET}/small.parquet")
    assert url.startswith("http://")
    assert "Signature=" in url  # and a question mark, which is no pattern
    scan = hw.scan(url)
    name = scan.dataset.files[0].name
    assert name.startswith(f"{server.url}/{BUCKET}/small.parquet?")
    assert url.split("Signature=")[1].split("&")[0] not in name
    server.clear()
    assert scan.to_arrow().equals(small())
    assert scan.dataset.counts == seen(server) == ReadCounts(1, len(parquet(small())))


# Options


def test_storage_options_without_a_url_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(parquet(small()))
    for source in (path, str(path), [path, path], path.read_bytes(), f"file://{path}"):
        with pytest.raises(ValueError, match="storage_options are for URLs"):
            hw.open(source, storage_options={"anon": True})
    assert hw.open(path, storage_options={}).num_rows == 1000


def test_options_keep_secrets_to_themselves_and_stay_hashable(server: S3Server) -> None:
    options = OpenOptions(storage_options={"secret": "hush", "client_kwargs": {}})
    assert "hush" not in repr(options)
    assert hash(options) == hash(OpenOptions())
    url = put(server, "small.parquet", parquet(small()))
    dataset = hw.open(url, storage_options=server.options)
    assert server.options["secret"] not in repr(dataset.files[0].source).replace(url, "")


def test_passwords_in_urls_are_not_shown() -> None:
    with pytest.raises(OSError) as caught:
        hw.open("ftp://me:hush@127.0.0.1:9/x.parquet")
    shown = [str(caught.value), *getattr(caught.value, "__notes__", [])]
    assert not [text for text in shown if "hush" in text]


def test_an_unknown_protocol_says_so() -> None:
    with pytest.raises(ValueError, match="Protocol not known"):
        hw.open("nowhere://x/y.parquet")


@pytest.mark.parametrize("package", ["fsspec", "s3fs"])
def test_a_missing_package_is_named_with_its_extra(package: str, tmp_path: Path) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "import hardwood_jit as hw\n"
        "try:\n    hw.open('s3://bucket/x')\nexcept hw.MissingDependencyError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True, timeout=120
    )
    assert package in done.stdout
    assert "pip install 'hardwood_jit[remote]'" in done.stdout


# Failures


def impatient(server: S3Server) -> dict[str, Any]:
    return server.options | {"config_kwargs": NO_WAITING}


def first_only(answer: Any) -> Any:
    """Disturbs one request and then no more."""
    left = [answer]
    return lambda body: left.pop()(body) if left else None


def broken(body: bytes) -> tuple[str, bytes, int]:
    """The connection closes in the middle of the body."""
    return "206 PARTIAL CONTENT", body[: len(body) // 2], len(body)


def failing(body: bytes) -> tuple[str, bytes, int]:
    text = b"<Error><Code>InternalError</Code><Message>try again</Message></Error>"
    return "500 INTERNAL SERVER ERROR", text, len(text)


def short(body: bytes) -> tuple[str, bytes, int]:
    """A whole reply, but of fewer bytes than were asked for."""
    return "206 PARTIAL CONTENT", body[:-1], len(body) - 1


def long(body: bytes) -> tuple[str, bytes, int]:
    """A server that does not know ranges sends more."""
    return "200 OK", b"more" + body, len(body) + 4


@pytest.mark.parametrize("how", [broken, failing])
def test_a_request_that_fails_once_is_repeated(server: S3Server, how: Any) -> None:
    url = put(server, "small.parquet", parquet(small()))
    with server.disturbed(first_only(how)):
        scan = hw.scan(url, storage_options=server.options)
        assert scan.to_arrow().equals(small())
    assert len(server.reads()) == 2
    assert scan.dataset.counts.ranges == 1


@pytest.mark.parametrize("how", [broken, failing, short, long])
@pytest.mark.parametrize("when", ["footer", "pages"])
def test_a_request_that_always_fails_is_an_os_error(
    server: S3Server, how: Any, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(S3FileSystem, "retries", 2)
    url = put(server, "failing.parquet", parquet(small(rows=100_000), compression="none", use_dictionary=False))
    scan = hw.scan(url, storage_options=impatient(server)).row_ranges([(0, 5)])
    if when == "pages":
        assert scan.dataset.num_rows == 100_000
    before = scan.dataset.counts
    with server.disturbed(how), pytest.raises(OSError):
        scan.to_arrow()
    assert scan.dataset.counts == before
    assert scan.count() == 5  # nothing of it is kept
    assert scan.to_arrow().equals(small(rows=5))


def test_an_empty_reply_is_an_os_error(server: S3Server) -> None:
    file = remote_file(server, put(server, "content", CONTENT))
    with server.disturbed(lambda body: ("206 PARTIAL CONTENT", b"", 0)), pytest.raises(OSError, match="0 came"):
        file.read(0, 10)


def test_what_may_not_be_read_is_a_permission_error(server: S3Server) -> None:
    file = remote_file(server, put(server, "content", CONTENT))
    text = b"<Error><Code>AccessDenied</Code><Message>not yours</Message></Error>"
    with server.disturbed(lambda body: ("403 FORBIDDEN", text, len(text))), pytest.raises(PermissionError):
        file.read(0, 10)


def test_a_server_that_is_not_there_is_an_os_error() -> None:
    options = {"key": "a", "secret": "b", "endpoint_url": "http://127.0.0.1:9", "config_kwargs": NO_WAITING}
    with pytest.raises(OSError):
        hw.open("s3://bucket/x.parquet", storage_options=options)


class Replies(fsspec.AbstractFileSystem):  # type: ignore[misc]
    """A file system that answers every range with what it was told to."""

    protocol = "replies"
    cachable = False

    def __init__(self, *answers: Any) -> None:
        super().__init__()
        self.answers = answers

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        return {"name": path, "size": 100, "type": "file"}

    def cat_ranges(self, *_: Any, **__: Any) -> list[Any]:
        return list(self.answers)


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        ((RuntimeError("no luck"),), OSError),
        ((FileNotFoundError("gone"),), FileNotFoundError),
        ((PermissionError("not yours"),), PermissionError),
        ((TimeoutError("late"),), TimeoutError),
        ((b"123",), OSError),
        ((b"12345",), OSError),
        ((), OSError),
        ((b"1234", b"1234"), OSError),
    ],
)
def test_a_reply_that_is_no_data_is_an_error(answers: tuple[Any, ...], kind: type[OSError]) -> None:
    file = RemoteFile(Replies(*answers), "x", "replies://x")
    with pytest.raises(kind) as caught:
        file.read(0, 4)
    assert isinstance(caught.value, OSError)
    assert file.counts == ReadCounts()


def test_a_file_without_a_size_is_an_os_error() -> None:
    class Sizeless(Replies):
        def info(self, path: str, **_: Any) -> dict[str, Any]:
            return {"name": path, "size": None, "type": "file"}

    with pytest.raises(OSError, match="does not tell the size"):
        RemoteFile(Sizeless(), "x", "replies://x")


# Versions


@pytest.mark.parametrize("who_checks", ["server", "client"])  # some servers do not know If-Match
def test_a_file_replaced_after_its_footer_was_read_is_an_error(server: S3Server, who_checks: str) -> None:
    options = server.options | {"local_expiry_check": who_checks == "client"}
    table = small(rows=200_000)
    url = put(server, "changing.parquet", parquet(table, compression="none", use_dictionary=False))
    dataset = hw.open(url, storage_options=options)
    assert dataset.num_rows == 200_000
    # As long as before, and well-formed: only the etag tells.
    other = table.set_column(0, "id", pa.array(np.arange(200_000) + 1))
    put(server, "changing.parquet", parquet(other, compression="none", use_dictionary=False))
    with pytest.raises(OSError, match="has changed since it was opened; open it again"):
        dataset.scan().head(10).to_arrow()
    assert hw.scan(url, storage_options=server.options).to_arrow().equals(other)


def test_a_file_that_is_gone_is_file_not_found(server: S3Server) -> None:
    url = put(server, "going.parquet", parquet(small()))
    dataset = hw.open(url, storage_options=server.options)
    file_system(server).rm_file(f"{BUCKET}/going.parquet")
    with pytest.raises(FileNotFoundError):
        dataset.scan().to_arrow()


def test_a_file_replaced_in_memory_is_an_error(memory: Any) -> None:
    memory.pipe("/a.parquet", parquet(small(0, rows=100_000)))
    dataset = hw.open("memory://a.parquet")
    assert dataset.num_rows == 100_000
    memory.pipe("/a.parquet", parquet(small(1, rows=100_000)))
    with pytest.raises(OSError, match="has changed since it was opened"):
        dataset.scan().to_arrow()


def test_identity_changes_with_the_bytes(server: S3Server) -> None:
    url = put(server, "one", CONTENT)
    first = remote_file(server, url).identity
    assert first is not None
    assert first == remote_file(server, url).identity
    put(server, "one", CONTENT[::-1])
    assert remote_file(server, url).identity != first
    elsewhere = server.options | {"endpoint_url": server.url.replace("127.0.0.1", "localhost")}
    (same,) = open_source(url, OpenOptions(storage_options=elsewhere))
    assert same.identity != remote_file(server, url).identity  # as if it were another server


def test_without_etag_and_time_there_is_no_identity() -> None:
    assert RemoteFile(Replies(), "x", "replies://x").identity is None


def test_a_listing_and_a_look_up_agree_on_the_version(server: S3Server, folder: str, memory: Any) -> None:
    options = OpenOptions(storage_options=server.options)
    listed: Source = open_source(f"{folder}/*", options)[0]
    assert listed.identity == open_source(listed.name, options)[0].identity
    memory.pipe("/d/a", CONTENT)
    found = [open_source(url, OpenOptions())[0] for url in ("memory://d", "memory://d/a")]
    assert found[0].identity == found[1].identity


# Processes and threads


def test_a_scan_pickles_with_its_options_and_version(server: S3Server) -> None:
    table = small(rows=100_000)
    url = put(server, "sent.parquet", parquet(table))
    scan = hw.scan(url, storage_options=server.options).filter("id < 10").select("half")
    sent = pickle.dumps(scan)
    server.clear()
    again = pickle.loads(sent)
    assert again.to_arrow().equals(table.select(["half"]).slice(0, 10))
    assert "HEAD" not in methods(server.requests)
    put(server, "sent.parquet", parquet(small(1, rows=100_000)))
    with pytest.raises(OSError, match="has changed"):
        pickle.loads(sent).to_arrow()


def test_a_scan_runs_in_another_process(server: S3Server, tmp_path: Path) -> None:
    url = put(server, "sent.parquet", parquet(small()))
    sent = tmp_path / "scan"
    sent.write_bytes(pickle.dumps(hw.scan(url, storage_options=server.options).select("id").tail(2)))
    code = f"import pickle; print(pickle.load(open({str(sent)!r}, 'rb')).to_numpy()['id'].tolist())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True, timeout=120
    )
    assert done.stdout.strip() == "[998, 999]"


def test_scans_work_after_a_fork(server: S3Server) -> None:
    table = small(rows=100_000)
    url = put(server, "forked.parquet", parquet(table))
    scan = hw.scan(url, storage_options=server.options).select("half")
    assert scan.to_arrow().num_rows == 100_000  # connections are open, and fsspec's thread runs

    def child(answers: Any) -> None:
        new = hw.scan(url, storage_options=server.options).select("half")
        answers.put([found.to_arrow().equals(table.select(["half"])) for found in (scan, new)])

    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    process = context.Process(target=child, args=(answers,))
    process.start()
    process.join(60)
    if process.is_alive():
        process.kill()
        pytest.fail("the forked process hangs")
    assert process.exitcode == 0
    assert answers.get() == [True, True]
    assert scan.to_arrow().equals(table.select(["half"]))  # and the parent goes on


def test_a_fork_gets_a_file_system_of_its_own(server: S3Server) -> None:
    file = remote_file(server, put(server, "content", CONTENT))
    file.read(0, 4)
    parents = file._fs
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            good = file.read(4, 4).tobytes() == CONTENT[4:8] and file._fs is not parents
            os.write(write, b"1" if good else b"0")
        finally:
            os._exit(0)
    os.close(write)
    assert os.read(read, 1) == b"1"
    os.close(read)
    os.waitpid(child, 0)
    assert file._fs is parents


@pytest.mark.parametrize("protocol", ["s3", "memory"])
def test_threads_read_one_file_at_once(server: S3Server, memory: Any, protocol: str) -> None:
    url = put(server, "content", CONTENT)
    if protocol == "memory":
        memory.pipe("/content", CONTENT)
        url = "memory://content"
    (file,) = open_source(url, OpenOptions(storage_options=server.options if protocol == "s3" else None))
    wrong: list[int] = []

    def work(seed: int) -> None:
        for offset in np.random.default_rng(seed).integers(0, len(CONTENT) - 5000, 10).tolist():
            outs = [np.empty(100, np.uint8), np.empty(7, np.uint8)]
            file.read_ranges([(offset, 100), (offset + 4000, 7)], outs)
            if outs[0].tobytes() != CONTENT[offset : offset + 100]:
                wrong.append(offset)
            if outs[1].tobytes() != CONTENT[offset + 4000 : offset + 4007]:
                wrong.append(offset)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert file.counts == ReadCounts(80, 80 * 4007)
    if protocol == "s3":
        assert seen(server) == file.counts


def test_one_scan_runs_on_several_threads(server: S3Server, big: tuple[str, int], big_table: pa.Table) -> None:
    rows = GROUP_ROWS * 8
    scan = hw.scan(big[0], storage_options=server.options).select("c2").head(rows).threads(4)
    assert scan.to_arrow().equals(big_table.select(["c2"]).slice(0, rows))
    assert scan.dataset.counts == seen(server)
