"""skip, head, tail, byte_range, row_ranges and select: the right rows, from no more bytes than they need."""

from __future__ import annotations

import io
import itertools
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from tests.support.corpus import corpus_file, corpus_names, expected

ROWS = 5000
GROUP = 700  # eight row groups, the last one shorter
WIDE = "x" * 50


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = random.Random(1)
    return pa.table(
        {
            "n": pa.array(range(ROWS), pa.int64()),
            "s": pa.array([None if rng.random() < 0.1 else f"{WIDE}{rng.random()}" for _ in range(ROWS)]),
            "l": pa.array([None if k % 11 == 5 else list(range(k % 4)) for k in range(ROWS)], pa.list_(pa.int32())),
            "p": pa.array([{"a": k, "b": {"c": str(k % 7), "d": k / 2}} for k in range(ROWS)]),
        }
    )


@pytest.fixture(scope="module", params=[False, True], ids=["no page index", "page index"])
def path(request: pytest.FixtureRequest, table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("selection") / "t.parquet"
    pq.write_table(
        table,
        target,
        row_group_size=GROUP,
        data_page_size=1000,
        write_batch_size=50,
        write_page_index=request.param,
        use_dictionary=["s"],
        dictionary_pagesize_limit=4000,
        store_schema=False,
    )
    return target


def has_offset_index(path: Path) -> bool:
    return bool(pq.read_metadata(path).row_group(0).column(0).has_offset_index)


class Counted:
    """A dataset and what its terminals read."""

    def __init__(self, path: Path) -> None:
        self.dataset = hw.open(path)
        assert self.dataset.num_rows >= 0  # the footer is read before anything is counted

    def counts(self) -> tuple[int, int]:
        both = [(file.source.counts.bytes, file.source.counts.ranges) for file in self.dataset.files]
        return sum(one for one, _ in both), sum(other for _, other in both)

    def read(self, scan: Any) -> tuple[list[Any], int, int]:
        """(rows, bytes read, ranges read) of a scan"""
        before = self.counts()
        rows = scan.to_arrow().to_pylist()
        after = self.counts()
        return rows, after[0] - before[0], after[1] - before[1]


def group_bytes(path: Path, groups: range | list[int], columns: list[int] | None = None) -> int:
    metadata = pq.read_metadata(path)
    return sum(
        metadata.row_group(group).column(column).total_compressed_size
        for group in groups
        for column in (range(metadata.num_columns) if columns is None else columns)
    )


CUTS = [0, 1, 49, 50, 699, 700, 701, 1400, 2345, 4899, 4900, 4999, 5000, 5001, 10**12]


@pytest.mark.parametrize("threads", [1, 2])
def test_skip_head_and_tail_slice_the_table(path: Path, table: pa.Table, threads: int) -> None:
    rows = table.to_pylist()
    scan = hw.scan(path).threads(threads)
    for start, count in itertools.product(CUTS, (0, 1, 60, 750, 10**9)):
        found = scan.skip(start).head(count)
        assert found.to_arrow().to_pylist() == rows[start : start + count]
        assert found.count() == len(rows[start : start + count])
        assert scan.head(count).skip(start).count() == found.count()  # the order of the calls does not matter
    for count in CUTS:
        wanted = rows[max(0, ROWS - count) :]
        assert scan.tail(count).to_arrow().to_pylist() == wanted
        assert scan.tail(count).count() == len(wanted)
        assert [row["n"] for row in scan.select("n").head(count).rows()] == [row["n"] for row in rows[:count]]


def test_row_ranges_are_sorted_merged_and_clipped(path: Path, table: pa.Table) -> None:
    rows = table.to_pylist()
    cases: list[list[tuple[int, int]]] = [
        [],
        [(0, ROWS)],
        [(0, 10**12)],
        [(10, 20), (15, 30)],
        [(4000, 4001), (3, 5), (699, 701)],
        [(5, 5), (7, 3)],
        [(ROWS, ROWS + 5)],
        [(k, k + 1) for k in range(0, ROWS, 97)],
        [(650, 2200)],
    ]
    for ranges in cases:
        wanted = [k for k in range(ROWS) if any(a <= k < b for a, b in ranges)]
        scan = hw.scan(path).row_ranges(ranges)
        assert scan.to_arrow().to_pylist() == [rows[k] for k in wanted]
        assert scan.count() == len(wanted)
        assert [row["n"] for row in scan.skip(2).head(9).rows()] == wanted[2:11]
        again = scan.row_ranges([(100, 700), (4000, 4500)])
        assert [row["n"] for row in again.rows()] == [k for k in wanted if 100 <= k < 700 or 4000 <= k < 4500]


def test_select_keeps_order_and_nesting(path: Path, table: pa.Table) -> None:
    rows = table.to_pylist()
    scan = hw.scan(path).skip(695).head(10)
    part = rows[695:705]
    assert scan.select("s", "n").to_arrow().to_pylist() == [{"s": row["s"], "n": row["n"]} for row in part]
    assert scan.select("p.b.d", "n", "p.a").to_arrow().to_pylist() == [
        {"p": {"b": {"d": row["p"]["b"]["d"]}, "a": row["p"]["a"]}, "n": row["n"]} for row in part
    ] or scan.select("p.b.d", "n", "p.a").to_arrow().to_pylist() == [
        {"p": {"a": row["p"]["a"], "b": {"d": row["p"]["b"]["d"]}}, "n": row["n"]} for row in part
    ]
    for name in ("l", "l.list.element", "l.element", ("l", "list", "element")):
        assert scan.select(name).to_arrow().to_pylist() == [{"l": row["l"]} for row in part]
    batch = next(iter(scan.select("p.b.d", "n").batches()))
    assert list(batch) == ["p.b.d", "n"]
    assert batch.columns[1].values.tolist() == [row["n"] for row in part][: batch.num_rows]
    with pytest.raises(hw.ColumnNotFoundError, match="n"):
        hw.scan(path).select("nn").to_arrow()
    with pytest.raises(hw.ColumnNotFoundError):
        next(iter(scan.select("n").rows()))["s"]


def test_name_with_dots_wins_over_a_path() -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"a.b": [1, 2], "a": [{"b": 3}, {"b": 4}]}), sink, store_schema=False)
    scan = hw.scan(sink.getvalue())
    assert scan.select("a.b").to_arrow().to_pylist() == [{"a.b": 1}, {"a.b": 2}]
    assert scan.select(("a", "b")).to_arrow().to_pylist() == [{"a": {"b": 3}}, {"a": {"b": 4}}]


def test_wrong_calls_are_value_errors_when_they_are_built(path: Path) -> None:
    scan = hw.scan(path)
    wrong: list[Any] = [
        lambda: scan.head(-1),
        lambda: scan.tail(-1),
        lambda: scan.skip(-1),
        lambda: scan.tail(1).head(1),
        lambda: scan.head(1).tail(1),
        lambda: scan.tail(1).skip(1),
        lambda: scan.skip(1).tail(1),
        lambda: scan.tail(1).byte_range(0, 10),
        lambda: scan.byte_range(0, 10).tail(1),
        lambda: scan.head(1).head(1),
        lambda: scan.skip(1).skip(1),
        lambda: scan.tail(1).tail(1),
        lambda: scan.row_ranges([(0, 1)]).tail(1),
        lambda: scan.tail(1).row_ranges([(0, 1)]),
        lambda: scan.row_ranges([(0, 1)]).byte_range(0, 10),
        lambda: scan.byte_range(0, 10).row_ranges([(0, 1)]),
        lambda: scan.batch_size(0),
        lambda: scan.threads(0),
    ]
    for number, call in enumerate(wrong):
        with pytest.raises(ValueError):
            call()
            pytest.fail(f"case {number} was not refused")
    assert scan.head(0).to_arrow().num_rows == 0
    assert scan.tail(0).to_arrow().schema == scan.to_arrow().schema


def test_scans_are_immutable(path: Path) -> None:
    scan = hw.scan(path)
    scan.head(3), scan.select("n"), scan.skip(10), scan.byte_range(0, 0), scan.row_ranges([(0, 1)]), scan.batch_size(1)
    assert scan.count() == ROWS
    assert scan.to_arrow().num_columns == 4
    assert scan.to_arrow().num_rows == ROWS  # and reusable


def midpoints(path: Path) -> list[int]:
    """By the rule of SEMANTICS section 2, from pyarrow's metadata."""
    out = []
    metadata = pq.read_metadata(path)
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        first = group.column(0)
        start = first.dictionary_page_offset or first.data_page_offset
        total = sum(group.column(column).total_compressed_size for column in range(group.num_columns))
        out.append(start + total // 2)
    return out


def test_byte_range_keeps_the_row_groups_whose_midpoint_it_holds(path: Path) -> None:
    scan = hw.scan(path).select("n")
    middles = midpoints(path)
    size = path.stat().st_size
    rng = random.Random(3)
    ranges = [
        (0, size),
        (0, 0),
        (10, 5),
        (size, size * 2),
        (-5, size),
        (middles[2], middles[2]),
        (middles[2], middles[2] + 1),
    ]
    ranges += [(rng.randrange(size), rng.randrange(size)) for _ in range(40)]
    for start, end in ranges:
        wanted = [
            k
            for group, middle in enumerate(middles)
            if start <= middle < end
            for k in range(group * GROUP, min(ROWS, (group + 1) * GROUP))
        ]
        kept = scan.byte_range(start, end)
        assert [row["n"] for row in kept.rows()] == wanted
        assert kept.count() == len(wanted)
        assert [row["n"] for row in kept.skip(5).head(700).rows()] == wanted[5:705]
    both = scan.byte_range(0, middles[4]).byte_range(middles[1], size)
    assert [row["n"] for row in both.rows()] == list(range(GROUP, 4 * GROUP))


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 64])
def test_partition_by_byte_ranges_returns_every_row_once(path: Path, parts: int) -> None:
    size = path.stat().st_size
    edges = [size * number // parts for number in range(parts + 1)]
    found = [
        row["n"]
        for start, end in itertools.pairwise(edges)
        for row in hw.scan(path).select("n").byte_range(start, end).rows()
    ]
    assert found == list(range(ROWS))


@pytest.mark.parametrize("name", corpus_names("read"))
def test_partition_of_a_corpus_file_returns_every_row_once(name: str) -> None:
    about = expected()[name]
    target = corpus_file(name)
    size = target.stat().st_size
    edges = [size * number // 5 for number in range(6)]
    scan = hw.scan(target, checksums=about.get("crc") != "bad")
    counts = [
        sum(batch.num_rows for batch in scan.byte_range(start, end).batches())
        for start, end in itertools.pairwise(edges)
    ]
    assert sum(counts) == scan.count() == about["columns"][0]["rows"]


def test_byte_range_over_several_files_is_refused(path: Path) -> None:
    with pytest.raises(ValueError, match="file"):
        hw.scan([path, path]).byte_range(0, 10).to_arrow()


# ---------------------------------------------------------------- bytes and ranges


def test_count_and_empty_results_read_nothing_but_the_footer(path: Path) -> None:
    counted = Counted(path)
    scan = counted.dataset.scan()
    before = counted.counts()
    assert scan.count() == ROWS
    assert scan.skip(10).head(100).count() == 100
    assert scan.tail(7).count() == 7
    assert scan.byte_range(0, 0).count() == 0
    assert scan.head(0).to_arrow().num_rows == 0
    assert scan.skip(ROWS).to_arrow().num_rows == 0
    assert counted.counts() == before


def test_select_reads_only_the_chosen_chunks(path: Path) -> None:
    counted = Counted(path)
    for columns, numbers in ((["n"], [0]), (["s"], [1]), (["l"], [2]), (["p.a"], [3]), (["p"], [3, 4, 5])):
        _, size, ranges = counted.read(counted.dataset.scan().select(*columns))
        groups = range(8)
        assert size <= group_bytes(path, groups, numbers) + index_bytes(path, groups, numbers), columns
        assert size >= group_bytes(path, groups, numbers), columns
        assert ranges <= 8 * (2 if has_offset_index(path) else 1) * len(numbers)


def index_bytes(path: Path, groups: Any, columns: list[int]) -> int:
    """An upper bound of the indexes of these chunks: 40 bytes per page and some, none without offset index."""
    return len(list(groups)) * len(columns) * 6000 if has_offset_index(path) else 0


def test_skip_reads_no_row_group_before_it(path: Path, table: pa.Table) -> None:
    counted = Counted(path)
    rows, size, _ = counted.read(counted.dataset.scan().skip(6 * GROUP))
    assert rows == table.to_pylist()[6 * GROUP :]
    assert size <= group_bytes(path, [6, 7]) + index_bytes(path, [6, 7], list(range(6)))


def test_head_stops_after_its_row_groups(path: Path) -> None:
    counted = Counted(path)
    for threads in (1, 2):
        _, size, _ = counted.read(counted.dataset.scan().threads(threads).head(GROUP))
        assert size <= group_bytes(path, [0]) + index_bytes(path, [0], list(range(6)))
        _, size, _ = counted.read(counted.dataset.scan().threads(threads).head(GROUP + 1))
        assert size <= group_bytes(path, [0, 1]) + index_bytes(path, [0, 1], list(range(6)))


def test_tail_reads_the_last_row_groups_only(path: Path) -> None:
    counted = Counted(path)
    _, size, _ = counted.read(counted.dataset.scan().tail(100))  # the last row group holds 100 rows
    assert size <= group_bytes(path, [7]) + index_bytes(path, [7], list(range(6)))


def test_byte_range_reads_only_the_row_groups_it_keeps(path: Path) -> None:
    counted = Counted(path)
    middles = midpoints(path)
    _, size, _ = counted.read(counted.dataset.scan().byte_range(middles[3], middles[5]))
    assert size <= group_bytes(path, [3, 4])


def test_row_ranges_read_only_their_row_groups(path: Path) -> None:
    counted = Counted(path)
    _, size, _ = counted.read(
        counted.dataset.scan().row_ranges([(2 * GROUP + 5, 2 * GROUP + 9), (5 * GROUP, 5 * GROUP + 1)])
    )
    assert size <= group_bytes(path, [2, 5]) + index_bytes(path, [2, 5], list(range(6)))


def test_offset_index_narrows_a_selection_to_its_pages(path: Path, table: pa.Table) -> None:
    counted = Counted(path)
    start = 3 * GROUP + 300
    selections = [
        counted.dataset.scan().select("n", "l").skip(start).head(20),
        counted.dataset.scan().select("n", "l").row_ranges([(start, start + 20)]),
    ]
    for scan in selections:
        rows, size, _ = counted.read(scan)
        assert rows == [{"n": row["n"], "l": row["l"]} for row in table.to_pylist()[start : start + 20]]
        whole = group_bytes(path, [3], [0, 2])
        if has_offset_index(path):
            # Data pages hold 50 to 150 rows of 700: one page of each chunk and both indexes stay far below half.
            assert size < whole // 2
        else:
            assert size <= whole
    if has_offset_index(path):
        _, size, _ = counted.read(counted.dataset.scan().select("n", "l").tail(20))
        assert size < group_bytes(path, [7], [0, 2]) or size <= group_bytes(path, [7], [0, 2]) + index_bytes(
            path, [7], [0, 2]
        )


def test_corpus_page_index_narrows_bytes() -> None:
    path = corpus_file("data/alltypes_tiny_pages_plain.parquet")
    counted = Counted(path)
    columns = ["id", "bigint_col", "string_col"]
    whole, all_bytes, _ = counted.read(counted.dataset.scan().select(*columns))
    for start in (0, 1, 3000, 7000, 7299):
        part, size, _ = counted.read(counted.dataset.scan().select(*columns).skip(start).head(10))
        assert part == whole[start : start + 10]
        assert size < all_bytes // 3


# ---------------------------------------------------------------- several files


def test_selection_counts_across_files_and_reads_only_the_files_it_needs(tmp_path: Path) -> None:
    for number in range(4):
        part = pa.table({"n": pa.array(range(number * 100, number * 100 + 100), pa.int64())})
        pq.write_table(part, tmp_path / f"part{number}.parquet", row_group_size=30, store_schema=False)
    counted = Counted(tmp_path)
    scan = counted.dataset.scan()
    assert counted.dataset.num_rows == 400
    for start, count in ((0, 400), (95, 10), (150, 200), (399, 5), (400, 1)):
        found, _, _ = counted.read(scan.skip(start).head(count))
        assert [row["n"] for row in found] == list(range(400))[start : start + count]
    found, _, _ = counted.read(scan.tail(110))
    assert [row["n"] for row in found] == list(range(290, 400))
    found, _, _ = counted.read(scan.row_ranges([(99, 101), (350, 352)]))
    assert [row["n"] for row in found] == [99, 100, 350, 351]
    before = [file.source.counts.bytes for file in counted.dataset.files]
    scan.skip(210).head(20).to_arrow()
    after = [file.source.counts.bytes for file in counted.dataset.files]
    touched = [number for number in range(4) if after[number] != before[number]]
    assert touched == [2]
    for file in counted.dataset.files:
        assert file.metadata.num_rows == 100


def test_files_that_disagree_about_a_column_are_refused_when_it_is_read(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2], "b": [1, 2]}), tmp_path / "1.parquet", store_schema=False)
    pq.write_table(pa.table({"a": [3, 4], "b": ["x", "y"]}), tmp_path / "2.parquet", store_schema=False)
    scan = hw.scan(tmp_path)
    assert scan.select("a").to_arrow()["a"].to_pylist() == [1, 2, 3, 4]
    with pytest.raises(hw.SchemaMismatchError, match="b"):
        scan.to_arrow()
