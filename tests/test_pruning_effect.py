"""What pruning saves, in bytes, requests and pages: never in time."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from hardwood_jit import col
from hardwood_jit.group_columns import GroupColumns
from hardwood_jit.memory import Scratch
from hardwood_jit.metadata.footer import ColumnChunk
from hardwood_jit.metrics import Metrics
from hardwood_jit.options import OpenOptions
from hardwood_jit.pages.page_reader import FIRST_BLOCK
from hardwood_jit.plan.row_ranges import RowRanges
from hardwood_jit.plan.scan_plan import GroupPlan
from hardwood_jit.probe import BLOOM_AT_ONCE, GroupProbe, bloom_exclusions
from hardwood_jit.scan_tasks import TaskPlanner
from hardwood_jit.source import ReadCounts

GROUPS, GROUP_ROWS, PAGE_ROWS = 5, 20_000, 1_000
ROWS = GROUPS * GROUP_ROWS
PAGES = GROUP_ROWS // PAGE_ROWS


def written(columns: dict[str, Any], **how: Any) -> bytes:
    sink = io.BytesIO()
    options: dict[str, Any] = {
        "row_group_size": GROUP_ROWS,
        "max_rows_per_page": PAGE_ROWS,
        "write_batch_size": PAGE_ROWS,
        "write_page_index": True,
        "use_dictionary": False,
        "compression": "none",
    }
    pq.write_table(pa.table(columns), sink, **{**options, **how})
    return sink.getvalue()


NUMBERS = np.arange(ROWS)
SHUFFLED = np.random.default_rng(7).permutation(ROWS)


@pytest.fixture(scope="module")
def file() -> bytes:
    """A sorted key, a number without order, a text with a dictionary, a key that falls."""
    return written(
        {
            "key": NUMBERS,
            "price": SHUFFLED / ROWS,
            "name": pa.array([f"name {number % 500}" for number in NUMBERS]),
            "down": NUMBERS[::-1].copy(),
        },
        use_dictionary=["name"],
    )


@pytest.fixture
def dataset(file: bytes) -> hw.Dataset:
    found = hw.open(file)
    assert found.num_rows == ROWS  # the footer is there
    return found


def analysed(scan: hw.Scan) -> dict[str, Any]:
    return scan.threads(1).explain(analyze=True).as_dict()


def counted(scan: hw.Scan) -> tuple[list[Any], ReadCounts]:
    """The rows of a scan on one thread, and what it read."""
    before = scan.dataset.counts
    rows = scan.threads(1).to_arrow().to_pylist()
    return rows, scan.dataset.counts - before


def chunks(dataset: hw.Dataset, group: int) -> dict[str, ColumnChunk]:
    return {chunk.path[0]: chunk for chunk in dataset.files[0].metadata.row_groups[group].columns}


def page_bytes(chunk: ColumnChunk, row: int, stop: int | None = None) -> int:
    """The pages of a chunk that hold the rows row .. stop, and its dictionary page."""
    index = chunk.offset_index
    assert index is not None
    stop = row + 1 if stop is None else stop
    firsts = [*index.first_rows.tolist(), index.row_count]
    held = [number for number in range(index.page_count) if firsts[number] < stop and firsts[number + 1] > row]
    return int(index.sizes[held].sum()) + int(index.offsets[0]) - chunk.byte_range[0]


def index_bytes(dataset: hw.Dataset) -> int:
    """All column and offset indexes of a file; they lie together, and a gap between two is read over."""
    places = [
        place
        for group in dataset.files[0].metadata.row_groups
        for chunk in group.columns
        for place in (chunk.column_index_range, chunk.offset_index_range)
        if place is not None
    ]
    return max(start + length for start, length in places) - min(start for start, _ in places)


def pages_of(found: dict[str, Any]) -> dict[str, int]:
    return {name: column["pages_decompressed"] for name, column in found["column_pages"].items()}


# One row


def test_point_look_up_reads_one_page_of_each_column_and_its_dictionary(dataset: hw.Dataset) -> None:
    row = 54_321
    found = analysed(dataset.scan().filter(col("key") == row))
    assert found["rows_out"] == 1 and found["row_groups_scanned"] == 1
    assert pages_of(found) == {"key": 1, "price": 1, "name": 1, "down": 1}
    group, inside = divmod(row, GROUP_ROWS)
    data = sum(page_bytes(chunk, inside) for chunk in chunks(dataset, group).values())
    assert data <= found["bytes_read"] <= data + index_bytes(dataset)
    # Indexes of the filter, then its page; indexes of the outputs, then their pages and one dictionary.
    assert found["requests"] <= 8


def test_point_look_up_with_a_cold_footer_reads_footer_indexes_and_pages_only(file: bytes) -> None:
    cold = hw.open(file)
    found = cold.scan().filter(col("key") == 54_321).threads(1).to_arrow()
    assert found["key"].to_pylist() == [54_321]
    data = sum(page_bytes(chunk, 14_321) for chunk in chunks(hw.open(file), 2).values())
    assert cold.counts.bytes <= (64 << 10) + data + index_bytes(hw.open(file))
    assert cold.counts.bytes < len(file) // 20


def test_look_up_on_a_falling_key_reads_one_page(dataset: hw.Dataset) -> None:
    found = analysed(dataset.scan().filter(col("down") == 54_321).select("key"))
    assert found["rows_out"] == 1 and pages_of(found) == {"down": 1, "key": 1}


def test_key_that_no_row_group_can_hold_reads_nothing(dataset: hw.Dataset) -> None:
    for predicate in (col("key") == ROWS, col("key") < 0, col("key").is_null(), col("name") > "o"):
        found = analysed(dataset.scan().filter(predicate))
        assert (found["rows_out"], found["bytes_read"], found["requests"]) == (0, 0, 0), str(predicate)
        assert found["row_groups_pruned"] == GROUPS


def test_list_of_keys_reads_the_pages_of_the_keys(dataset: hw.Dataset) -> None:
    found = analysed(dataset.scan().filter(col("key").is_in([5, 54_321, 54_400, 99_000, 10**9])).select("key"))
    assert found["rows_out"] == 4 and pages_of(found) == {"key": 3} and found["row_groups_scanned"] == 3


# AND and OR


def test_or_over_two_columns_prunes_pages(dataset: hw.Dataset) -> None:
    """Of a row group that statistics leave, two pages are left: one by the one column, one by the other."""
    predicate = (col("key") == 54_321) | (col("down") == ROWS - 1 - 45_678)
    found = analysed(dataset.scan().filter(predicate).select("price"))
    assert found["rows_out"] == 2 and found["row_groups_scanned"] == 1
    assert pages_of(found) == {"key": 2, "down": 2, "price": 2}
    inside = chunks(dataset, 2)
    data = sum(page_bytes(inside[name], row) for name in ("key", "down", "price") for row in (5_678, 14_321))
    assert data <= found["bytes_read"] <= data + 2 * index_bytes(dataset)  # the indexes of one column, then the other


def test_and_over_two_columns_reads_the_rows_that_both_leave(dataset: hw.Dataset) -> None:
    predicate = (col("key") >= 45_000) & (col("down") >= ROWS - 47_500)
    found = analysed(dataset.scan().filter(predicate).select("price"))
    assert found["rows_out"] == 2_500
    assert pages_of(found)["price"] == 3
    assert "key" not in pages_of(found)  # its pages are ALWAYS wherever the other column leaves rows
    assert pages_of(found)["down"] == 1


# ALWAYS


def test_row_group_that_passes_as_a_whole_is_returned_without_its_filter_column(dataset: hw.Dataset) -> None:
    filtered = analysed(dataset.scan().filter(col("key") >= 2 * GROUP_ROWS).select("price"))
    alone = analysed(dataset.scan().row_ranges([(2 * GROUP_ROWS, ROWS)]).select("price"))
    assert filtered["rows_out"] == alone["rows_out"] == 3 * GROUP_ROWS
    assert filtered["bytes_read"] == alone["bytes_read"] and filtered["requests"] == alone["requests"]
    assert "key" not in pages_of(filtered)


def test_counting_row_groups_that_pass_as_a_whole_reads_nothing(dataset: hw.Dataset) -> None:
    before = dataset.counts
    assert dataset.scan().filter(col("key") >= 2 * GROUP_ROWS).count() == 3 * GROUP_ROWS
    assert dataset.scan().filter(col("price").is_not_null()).count() == ROWS
    assert dataset.scan().filter((col("key") < GROUP_ROWS) | (col("key") >= 4 * GROUP_ROWS)).skip(5).count() == 39_995
    assert dataset.scan().filter(col("key") >= 0).skip(15).head(30_000).count() == 30_000
    assert dataset.scan().filter(col("key") >= 0).tail(30_000).count() == 30_000
    assert dataset.counts - before == ReadCounts(0, 0)


@pytest.mark.parametrize("start", [50_500, 40_500])
def test_pages_that_pass_as_a_whole_are_returned_without_their_filter_column(dataset: hw.Dataset, start: int) -> None:
    """Half a row group, and nearly all of one: only the page with the boundary is tested."""
    found = analysed(dataset.scan().filter(col("key") >= start).select("price"))
    assert found["rows_out"] == ROWS - start
    assert pages_of(found)["key"] == 1
    inside = chunks(dataset, 2)
    first = start - 2 * GROUP_ROWS
    data = page_bytes(inside["key"], first) + page_bytes(inside["price"], first, GROUP_ROWS)
    data += sum(chunks(dataset, group)["price"].total_compressed_size for group in (3, 4))
    assert data <= found["bytes_read"] <= data + index_bytes(dataset)


@pytest.mark.parametrize("start", [50_500, 40_500])
def test_counting_pages_that_pass_as_a_whole_reads_one_page(dataset: hw.Dataset, start: int) -> None:
    before = dataset.counts
    assert dataset.scan().filter(col("key") >= start).count() == ROWS - start
    page = page_bytes(chunks(dataset, 2)["key"], start - 2 * GROUP_ROWS)
    assert (dataset.counts - before).bytes <= page + index_bytes(dataset)


# Bloom filters and dictionaries


def test_bloom_filter_saves_the_row_groups_that_it_can() -> None:
    keys = SHUFFLED * 2  # odd ones are in no row group, and each row group has keys of all sizes
    how = {"bloom_filter_options": {"key": {"ndv": GROUP_ROWS, "fpp": 0.001}}, "write_page_index": False}
    with_filter, without = written({"key": keys, "value": NUMBERS}, **how), written({"key": keys, "value": NUMBERS})
    dataset = hw.open(with_filter)
    row = 54_321
    found = analysed(dataset.scan().filter(col("key") == int(keys[row])).select("value"))
    assert found["rows_out"] == 1 and found["row_groups_scanned"] == 1 and found["row_groups_pruned"] == GROUPS - 1
    missing = analysed(dataset.scan().filter(col("key").is_in([77_777, 99_999])))
    assert missing["rows_out"] == 0 and missing["row_groups_scanned"] == 0
    assert missing["row_groups_pruned"] == GROUPS
    # Of a filter of some 50 KiB no more than itself.
    sizes = [chunks(dataset, group)["key"].bloom_range for group in range(GROUPS)]
    assert missing["bytes_read"] <= sum(place[1] or 0 for place in sizes if place is not None)
    assert analysed(hw.scan(without).filter(col("key") == 77_777))["bytes_read"] > 10 * missing["bytes_read"] / GROUPS


def test_of_a_large_bloom_filter_only_a_block_is_read() -> None:
    options = {"key": {"ndv": 1_000_000, "fpp": 0.001}}
    file = written({"key": SHUFFLED * 2}, bloom_filter_options=options, write_page_index=False, row_group_size=ROWS)
    dataset = hw.open(file)
    place = chunks(dataset, 0)["key"].bloom_range
    assert place is not None and place[1] is not None and place[1] > BLOOM_AT_ONCE
    missing = analysed(dataset.scan().filter(col("key") == 77_777))
    assert missing["rows_out"] == 0 and missing["row_groups_pruned"] == 1
    assert missing["bytes_read"] <= 64 + 32 and missing["requests"] == 2  # header and one block


@pytest.fixture(scope="module")
def coded() -> bytes:
    """A text whose dictionary is small beside its data, with every word between the bounds of all."""
    words = pa.array([f"word {number * 2}" for number in SHUFFLED % 4_000])
    return written({"word": words, "value": NUMBERS}, use_dictionary=["word"], row_group_size=ROWS // 2)


def test_dictionary_that_proves_a_row_group_empty_saves_its_data_pages(coded: bytes) -> None:
    dataset = hw.open(coded)
    found = analysed(dataset.scan().filter(col("word") == "word 4001").select("value"))
    assert found["rows_out"] == 0 and found["row_groups_pruned"] == 2 and found["row_groups_scanned"] == 0
    pages = [chunks(dataset, group)["word"] for group in (0, 1)]
    dictionaries = sum(chunk.data_page_offset - chunk.byte_range[0] for chunk in pages)
    assert found["bytes_read"] <= dictionaries + 2 * index_bytes(dataset)  # once per row group
    assert found["bytes_read"] < sum(chunk.total_compressed_size for chunk in pages) // 2


def test_dictionary_of_hits_only_makes_a_row_group_certain(coded: bytes) -> None:
    dataset = hw.open(coded)
    words = [f"word {number}" for number in range(8_001)]
    found = analysed(dataset.scan().filter(col("word").is_in(words)).select("value"))
    assert found["rows_out"] == ROWS and "word" not in pages_of(found)


# Limits


def handful(dataset: hw.Dataset, pages: int) -> int:
    """Bytes of so many pages of every column with their dictionaries, and of the indexes."""
    return pages * sum(page_bytes(chunk, 0) for chunk in chunks(dataset, 0).values()) + index_bytes(dataset)


def test_tail_reads_the_last_pages(dataset: hw.Dataset) -> None:
    rows, read = counted(dataset.scan().tail(10))
    assert [row["key"] for row in rows] == list(range(ROWS - 10, ROWS))
    assert read.bytes <= handful(dataset, 1) < dataset.files[0].source.size // 40
    rows, read = counted(dataset.scan().filter(col("key") > 5).tail(10))
    assert [row["key"] for row in rows] == list(range(ROWS - 10, ROWS))
    assert read.bytes <= handful(dataset, 1)
    rows, read = counted(dataset.scan().filter((col("key") > 5) & (col("down") >= 33_333)).tail(10))
    assert [row["key"] for row in rows] == list(range(66_657, 66_667))
    assert read.bytes <= handful(dataset, 8)


def test_skip_and_head_read_the_pages_of_their_rows(dataset: hw.Dataset) -> None:
    rows, read = counted(dataset.scan().skip(77_777).head(10))
    assert [row["key"] for row in rows] == list(range(77_777, 77_787))
    assert read.bytes <= handful(dataset, 1)
    rows, read = counted(dataset.scan().filter(col("key") >= GROUP_ROWS).skip(50_123).head(10))
    assert [row["key"] for row in rows] == list(range(70_123, 70_133))
    assert read.bytes <= handful(dataset, 1)


def test_tail_over_rows_that_must_be_tested_reads_row_groups_from_the_end_until_it_has_them(
    dataset: hw.Dataset,
) -> None:
    rows, read = counted(dataset.scan().filter(col("price") > 0.5).tail(10))
    assert len(rows) == 10 and rows[-1]["key"] > ROWS - 200
    last = sum(chunk.total_compressed_size for chunk in chunks(dataset, GROUPS - 1).values())
    assert read.bytes <= last + index_bytes(dataset)


def test_head_over_a_filter_fetches_nothing_past_its_last_match() -> None:
    """In one row group of a column of 1.6 MB: no more than the first blocks of each column."""
    rows = 200_000
    values = np.random.default_rng(3).random(rows)
    columns = {"price": values, "value": np.arange(rows), "never": np.arange(rows)}
    dataset = hw.open(written(columns, row_group_size=rows))
    assert dataset.num_rows == rows
    found, read = counted(dataset.scan().filter(col("price") > 0.5).select("value").head(10))
    assert [row["value"] for row in found] == np.flatnonzero(values > 0.5)[:10].tolist()
    assert read.bytes <= 2 * 3 * FIRST_BLOCK + index_bytes(dataset)  # a first block, and one of double its size
    assert read.bytes < dataset.files[0].source.size // 8
    found, read = counted(dataset.scan().filter(col("value") >= 150_500).select("never").head(10))
    assert [row["never"] for row in found] == list(range(150_500, 150_510))
    assert read.bytes <= 2 * 3 * FIRST_BLOCK + index_bytes(dataset)


def test_head_reads_no_row_group_after_the_one_with_its_last_match(dataset: hw.Dataset) -> None:
    rows, read = counted(dataset.scan().filter(col("price") > 0.5).select("key").head(10))
    assert len(rows) == 10
    first = chunks(dataset, 0)
    assert read.bytes <= sum(first[name].total_compressed_size for name in ("price", "key")) + index_bytes(dataset)
    rows, read = counted(dataset.scan().filter(col("key") >= 0).select("price").head(GROUP_ROWS + 1))
    one_page = page_bytes(chunks(dataset, 1)["price"], 0)
    assert read.bytes <= first["price"].total_compressed_size + one_page + index_bytes(dataset)


def test_explain_tells_what_a_scan_read_before_its_limit(dataset: hw.Dataset) -> None:
    tested = analysed(dataset.scan().filter(col("price") > 0.5).select("key").head(10))
    assert tested["row_groups_scanned"] == 1 and 10 < tested["rows_scanned"] < GROUP_ROWS
    assert 0 < pages_of(tested)["price"] < PAGES and pages_of(tested)["key"] > 0
    certain = analysed(dataset.scan().filter(col("key") >= 0).select("price").head(10))
    assert pages_of(certain) == {"price": 1}


def test_limits_of_zero_read_nothing(dataset: hw.Dataset) -> None:
    before = dataset.counts
    assert dataset.scan().filter(col("price") > 0.5).head(0).to_arrow().num_rows == 0
    assert dataset.scan().filter(col("price") > 0.5).tail(0).to_arrow().num_rows == 0
    assert dataset.counts - before == ReadCounts(0, 0)


# Without metadata


def test_use_metadata_false_reads_all_row_groups_and_still_seeks(dataset: hw.Dataset) -> None:
    without = analysed(dataset.scan().filter(col("key") == 54_321).use_metadata(False).select("price"))
    assert without["row_groups_scanned"] == GROUPS and without["rows_out"] == 1
    assert without["bytes_read"] > sum(chunks(dataset, group)["key"].total_compressed_size for group in range(GROUPS))
    rows, read = counted(dataset.scan().use_metadata(False).skip(77_777).head(10))
    assert len(rows) == 10 and read.bytes <= handful(dataset, 1)


def test_files_of_a_dataset_are_pruned_by_their_footers(tmp_path: Any) -> None:
    for number in range(4):
        part = written({"key": NUMBERS[:GROUP_ROWS] + number * GROUP_ROWS, "value": NUMBERS[:GROUP_ROWS]})
        (tmp_path / f"{number}.parquet").write_bytes(part)
    dataset = hw.open([str(tmp_path / f"{number}.parquet") for number in range(4)])
    assert dataset.num_rows == 4 * GROUP_ROWS
    before = [file.source.counts for file in dataset.files]
    found = analysed(dataset.scan().filter(col("key") == 2 * GROUP_ROWS + 7).select("value"))
    read = [(file.source.counts - earlier).bytes for file, earlier in zip(dataset.files, before, strict=True)]
    assert found["rows_out"] == 1 and read[0] == read[1] == read[3] == 0 < read[2]


@pytest.mark.parametrize("compression", ["snappy", "zstd"])  # whole chunks at once, and page by page
@pytest.mark.parametrize("column", ["number", "text", "maybe"])
def test_page_headers_exclude_pages_where_there_is_no_index(compression: str, column: str) -> None:
    rows = 200_000
    numbers = np.arange(rows)
    columns = {
        "number": pa.array(numbers),
        "text": pa.array([f"{number:09}" for number in range(rows)]),
        "maybe": pa.array(numbers, mask=numbers % 7 == 0),
        "value": pa.array(numbers * 0.5),
    }
    sink = io.BytesIO()
    settings = {"use_dictionary": False, "compression": compression, "data_page_size": 32 << 10}
    pq.write_table(pa.table(columns), sink, row_group_size=rows, **settings)
    bounds = ("000150000", "000150999") if column == "text" else (150_000, 150_999)
    test = col(column).is_between(*bounds)
    scan = hw.scan(sink.getvalue()).filter(test).select("value").threads(1)
    found = scan.explain(analyze=True).as_dict()
    (stage,) = [stage for stage in found["stages"] if stage["stage"] == "page headers"]
    assert stage["pages_dropped"] > 5 and stage["rows_dropped"] > rows // 2
    # Those of the match, and a last page too small to be worth a look at its statistics.
    assert found["column_pages"][column]["pages_decompressed"] <= 3
    assert found["rows_out"] == scan.use_metadata(False).count() == sum(
        150_000 <= number <= 150_999 and not (column == "maybe" and number % 7 == 0) for number in range(rows)
    )


@pytest.mark.parametrize("test", ["key = 7", "key in (1, 2, 3, 250000)", "key = -5", "key = 7 and other = 3"])
def test_bloom_filters_asked_together_say_what_they_say_one_by_one(test: str) -> None:
    random = np.random.default_rng(1)
    keys = random.permutation(40_000) * 2
    sink = io.BytesIO()
    options = {"key": {"ndv": 4_000, "fpp": 0.01}, "other": {"ndv": 4_000, "fpp": 0.01}}
    pq.write_table(
        pa.table({"key": keys, "other": keys[::-1]}), sink, row_group_size=4_000, bloom_filter_options=options
    )
    dataset = hw.open(sink.getvalue())
    selection = dataset.scan().filter(test).threads(1)
    planner = TaskPlanner(dataset, selection._selection, dataset.schema, Metrics())
    file = planner._open_file(0)
    together = set(bloom_exclusions(file, range(10)))
    alone = set()
    for group in range(10):
        plan = GroupPlan(0, group, RowRanges.all(4_000), True)
        probe = GroupProbe(file, GroupColumns(file, plan, OpenOptions(), Scratch()), Scratch())
        if any(probe.bloom_excludes(conjunct) for conjunct in file.predicate.conjuncts):
            alone.add(group)
    assert together == alone and together
    assert selection.count() == selection.use_metadata(False).count()
