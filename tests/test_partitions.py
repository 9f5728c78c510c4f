"""Folders named key=value: columns in every result, and files that predicates drop unread."""

from __future__ import annotations

import datetime
import operator
import os
import pickle
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hardwood_jit as hw
from hardwood_jit import col
from hardwood_jit.physical import PhysicalType, Repetition
from hardwood_jit.source import ReadCounts

ROWS = 70  # of a file: a 64-bit word of validity and a tail, in two row groups
NULL = "__HIVE_DEFAULT_PARTITION__"
CITIES = {"New York": "New%20York", "Évora": "%C3%89vora", None: NULL}
DAYS = ["2024-01-31", "2024-02-29", "1969-12-31"]


def write_file(path: Path, first: int, **columns: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = pa.array(range(first, first + ROWS), pa.int64())
    table = pa.table({"id": numbers, "name": [f"n{number % 7}" for number in range(first, first + ROWS)], **columns})
    with path.open("wb") as out:  # a name need not be UTF-8
        pq.write_table(table, out, row_group_size=40)
    return path


@pytest.fixture(scope="module")
def trips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine files: year (integers), city (text with a null), day (dates)."""
    root = tmp_path_factory.mktemp("trips")
    first = 0
    for year in (2022, 2023, 2024):
        for city, day in zip(CITIES.values(), DAYS, strict=True):
            write_file(root / f"year={year}" / f"city={city}" / f"day={day}" / "part.parquet", first)
            first += ROWS
    return root


@pytest.fixture(scope="module")
def flat(trips: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rows of `trips` with their partition columns stored in one file like any others."""
    tables = []
    for year in (2022, 2023, 2024):
        for (city, folder), day in zip(CITIES.items(), DAYS, strict=True):
            path = trips / f"year={year}" / f"city={folder}" / f"day={day}" / "part.parquet"
            table = pq.read_table(path, partitioning=None)
            table = table.append_column("year", pa.array([year] * ROWS, pa.int64()))
            table = table.append_column("city", pa.array([city] * ROWS, pa.string()))
            date = datetime.date.fromisoformat(day)
            tables.append(table.append_column("day", pa.array([date] * ROWS, pa.date32())))
    path = tmp_path_factory.mktemp("flat") / "all.parquet"
    pq.write_table(pa.concat_tables(tables), path)
    return path


def read_counts(dataset: hw.Dataset) -> list[ReadCounts]:
    return [file.source.counts for file in dataset.files]


def fresh(source: Any) -> hw.Dataset:
    """Opened with no footer known from before."""
    hw.footer_cache.clear()
    return hw.open(source)


def same_rows(found: pa.Table, expected: pa.Table) -> None:
    assert found.to_pylist() == expected.to_pylist()


# Names and types


def test_columns_stand_after_those_of_the_files(trips: Path) -> None:
    schema = hw.open(trips).schema
    assert str(schema) == (
        "message schema {\n"
        "  optional int64 id;\n"
        "  optional binary name (STRING);\n"
        "  required int64 year;\n"
        "  optional binary city (STRING);\n"
        "  required int32 day (DATE);\n"
        "}"
    )
    assert [leaf.index for leaf in schema.leaves] == [0, 1, 2, 3, 4]
    assert str(pickle.loads(pickle.dumps(schema))) == str(schema)
    assert str(pickle.loads(pickle.dumps(schema.select(["day", "id"])))) == str(schema.select(["day", "id"]))


def test_files_know_their_values(trips: Path) -> None:
    files = hw.open(trips).files
    assert files[0].partitions == {"year": 2022, "city": "Évora", "day": datetime.date(2024, 2, 29)}
    assert [file.partitions["city"] for file in files[:3]] == ["Évora", "New York", None]
    assert hw.open(files[0].name).files[0].partitions == {}


TEXT, INTEGER, DATE = "string", "int64", "date32[day]"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2"], INTEGER),
        (["01", "-7"], INTEGER),
        ([str(2**63 - 1), str(-(2**63))], INTEGER),
        ([str(2**63)], TEXT),
        (["1", "2.5"], TEXT),
        (["1", "+2"], TEXT),
        (["1", "²"], TEXT),
        (["1", NULL], INTEGER),
        (["1", ""], TEXT),
        ([NULL], TEXT),
        (["0" * 30 + "5"], INTEGER),
        (["9" * 200], TEXT),
        (["2024-01-01", "2024-02-29"], DATE),
        (["2024-01-01", "2023-02-29"], TEXT),
        (["0001-01-01", "9999-12-31"], DATE),
        (["2024-01-01", NULL], DATE),
        (["2024-01-01", "2024"], TEXT),
        (["20240101"], INTEGER),
        (["2024-1-1"], TEXT),
        (["true", "false"], TEXT),
    ],
)
def test_type_over_all_values(values: list[str], kind: str, tmp_path: Path) -> None:
    for number, value in enumerate(values):
        write_file(tmp_path / f"k={value}" / "a.parquet", number * ROWS)
    table = hw.scan(tmp_path).select("k").to_arrow()
    assert str(table.schema.field("k").type) == kind
    found = {None if value is None else str(value) for value in table["k"].to_pylist()}
    expected = {None if value == NULL else str(int(value)) if kind == INTEGER else value for value in values}
    assert found == expected
    assert table.schema.field("k").nullable == (NULL in values)


def test_keys_and_values_are_percent_decoded(tmp_path: Path) -> None:
    names = ["a b", "x=y", "50%", "a/b", "é", "a+b", "%zz"]
    table = pa.table({"id": range(len(names)), "the key": names})
    keys = ds.partitioning(pa.schema([("the key", pa.string())]), flavor="hive")
    ds.write_dataset(table, tmp_path, format="parquet", partitioning=keys)
    found = hw.scan(tmp_path).to_arrow()
    assert dict(zip(found["id"].to_pylist(), found["the key"].to_pylist(), strict=True)) == dict(enumerate(names))


@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes on POSIX only")
def test_values_that_are_no_text_are_bytes_in_batches_and_an_error_elsewhere(tmp_path: Path) -> None:
    write_file(tmp_path / "k=%FF" / "a.parquet", 0)
    assert hw.scan(tmp_path).to_arrow()["k"][0].as_py() == "%FF"  # as it is written
    try:
        write_file(tmp_path / os.fsdecode(b"k=a\xff") / "a.parquet", 0)
    except OSError:
        pytest.skip("the file system wants UTF-8")
    scan = hw.scan(tmp_path).filter(col("k") == b"a\xff").select("k")
    assert bytes(next(scan.batches())["k"].data[:2]) == b"a\xff"
    with pytest.raises(hw.CorruptFileError, match="not UTF-8"):
        scan.to_arrow()


# Against other readers


def test_rows_equal_those_of_pyarrow(tmp_path: Path) -> None:
    count = 60
    table = pa.table(
        {
            "id": range(count),
            "year": pa.array([2020 + number % 3 for number in range(count)], pa.int64()),
            "city": pa.array([["Köln", "New York", None, "a/b"][number % 4] for number in range(count)]),
            "day": pa.array([datetime.date(2024, 1, 1 + number % 2) for number in range(count)]),
        }
    )
    keys = pa.schema([table.schema.field(name) for name in ("year", "city", "day")])
    ds.write_dataset(table, tmp_path, format="parquet", partitioning=ds.partitioning(keys, flavor="hive"))
    expected = ds.dataset(tmp_path, partitioning=ds.partitioning(keys, flavor="hive")).to_table().sort_by("id")
    found = hw.scan(tmp_path).to_arrow().sort_by("id")
    assert found.column_names == expected.column_names
    assert found.schema.types == expected.schema.types
    same_rows(found, expected)
    wanted = (ds.field("year") == 2021) & (ds.field("city") != "Köln")
    expected = ds.dataset(tmp_path, partitioning=ds.partitioning(keys, flavor="hive")).to_table(filter=wanted)
    found = hw.scan(tmp_path).filter("year = 2021 and city != 'Köln'").to_arrow()
    same_rows(found.sort_by("id"), expected.sort_by("id"))


def test_rows_equal_those_of_polars_and_duckdb(trips: Path) -> None:
    found = hw.scan(trips).to_arrow()
    of_polars = pl.scan_parquet(trips, hive_partitioning=True, try_parse_hive_dates=True).collect()
    assert pl.DataFrame(found).sort("id").equals(of_polars.select(found.column_names).sort("id"))
    columns = ", ".join(found.column_names)
    query = f"select {columns} from read_parquet('{trips}/**/*.parquet', hive_partitioning=true) order by id"
    of_duckdb = duckdb.sql(query).fetchall()
    assert [tuple(row.values()) for row in found.sort_by("id").to_pylist()] == of_duckdb


# Projections and terminals


@pytest.mark.parametrize("columns", [["year", "id"], ["id", "city", "name"], ["day", "city", "year", "name", "id"]])
def test_select_puts_them_at_any_place(columns: list[str], trips: Path, flat: Path) -> None:
    found = hw.scan(trips).select(*columns).to_arrow()
    assert found.column_names == columns
    same_rows(found.sort_by("id"), hw.scan(flat).select(*columns).to_arrow())


def test_selected_alone_no_page_is_read(trips: Path) -> None:
    dataset = fresh(trips)
    assert dataset.num_rows == 9 * ROWS
    before = dataset.counts
    table = dataset.scan().select("city", "year").to_arrow()
    assert table.num_rows == 9 * ROWS
    assert table["year"].to_pylist() == [year for year in (2022, 2023, 2024) for _ in range(3 * ROWS)]
    assert table["city"].to_pylist()[: 3 * ROWS] == ["Évora"] * ROWS + ["New York"] * ROWS + [None] * ROWS
    assert dataset.counts == before


def test_batches_have_constant_columns(trips: Path) -> None:
    batches = list(hw.scan(trips).batch_size(30).batches())
    assert [batch.num_rows for batch in batches[:4]] == [30, 10, 30, 30]
    for batch in batches:
        assert list(batch) == ["id", "name", "year", "city", "day"]
        assert {column.value_count for column in batch.columns} == {batch.num_rows}
        assert batch["year"].values.dtype == np.int64 and len(set(batch["year"].values.tolist())) == 1
        assert batch["day"].values.dtype == np.int32
        assert batch["year"].validity is hw.NO_NULLS
        city = batch["city"]
        if city.validity.has_nulls:
            assert city.validity.null_count == batch.num_rows
            assert not city.validity.to_numpy(batch.num_rows).any()
        else:
            assert city.offsets.dtype == np.int32
            assert city.data[: city.offsets[1]].tobytes().decode() in CITIES
        batch.to_arrow().validate(full=True)
    one, other = batches[0]["year"].values, batches[1]["year"].values
    one[:] = 0
    assert other[0] == 2022  # arrays are fresh


def test_rows_numpy_pandas(trips: Path, flat: Path) -> None:
    for path in (trips, flat):
        scan = hw.scan(path).filter("id < 210")
        rows = {row["id"]: dict(row) for row in scan.rows()}
        assert rows[0] == {"id": 0, "name": "n0", "year": 2022, "city": "New York", "day": datetime.date(2024, 1, 31)}
        assert rows[140]["city"] is None and rows[140]["day"] == datetime.date(1969, 12, 31)
        arrays = scan.to_numpy()
        order = np.argsort(arrays["id"])
        assert arrays["day"].dtype == np.dtype("M8[D]")
        assert arrays["city"][order].tolist() == ["New York"] * ROWS + ["Évora"] * ROWS + [None] * ROWS
        frame = scan.to_pandas().sort_values("id")
        assert frame["year"].dtype == np.int64
        assert frame["city"].isna().sum() == ROWS
    assert [row.raw("day") for row in hw.scan(trips).filter("id = 140").rows()] == [-1]


@pytest.mark.parametrize("nulls", [False, True])
def test_string_views_and_dictionaries(nulls: bool, trips: Path) -> None:
    scan = hw.scan(trips).filter(col("city").is_null() if nulls else col("city").is_not_null()).select("id", "city")
    plain = scan.to_arrow()
    views = scan.to_arrow(strings="view")
    views.validate(full=True)
    assert str(views.schema.field("city").type) == "string_view"
    same_rows(views, plain)
    encoded = scan.to_arrow(dictionary=["city"])
    encoded.validate(full=True)
    assert pa.types.is_dictionary(encoded.schema.field("city").type)
    same_rows(encoded, plain)


def test_arrow_stream_feeds_other_engines(trips: Path) -> None:
    scan = hw.scan(trips)
    assert pl.DataFrame(scan).equals(pl.DataFrame(scan.to_arrow()))
    assert duckdb.sql("select year, count(*) from scan group by year order by year").fetchall() == [
        (2022, 210),
        (2023, 210),
        (2024, 210),
    ]
    assert pa.schema(scan.select("day")).field("day").type == pa.date32()


def test_batches_stay_within_their_budget(tmp_path: Path) -> None:
    rows = 1 << 17
    for letter in "ab":
        folder = tmp_path / f"k={letter * 200}"
        folder.mkdir()
        pq.write_table(pa.table({"flag": np.zeros(rows, np.bool_)}), folder / "a.parquet")
    for columns in (["k"], ["flag", "k"]):
        for scan in (hw.scan(tmp_path).select(*columns), hw.scan(tmp_path).filter("not flag").select(*columns)):
            sizes = [batch.num_rows for batch in scan.batches()]
            assert sum(sizes) == 2 * rows
            assert max(sizes) * 204 < 16 << 20


# Predicates


def leaf_tests() -> st.SearchStrategy[hw.Predicate]:
    operators = st.sampled_from([operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge])
    literals = {
        "year": st.integers(2021, 2025),
        "city": st.sampled_from(["New York", "Évora", "Oslo", "n3"]),
        "day": st.sampled_from([datetime.date.fromisoformat(day) for day in [*DAYS, "2024-02-01"]]),
        "id": st.integers(-1, 9 * ROWS),
        "name": st.sampled_from(["n0", "n3", "z"]),
    }
    compared = [
        st.builds(lambda op, value, name=name: op(col(name), value), operators, values)
        for name, values in literals.items()
    ]
    members = [
        st.builds(lambda chosen, name=name: col(name).is_in(chosen), st.lists(values, max_size=3))
        for name, values in literals.items()
    ]
    pairs = [("year", "id"), ("id", "year"), ("city", "name"), ("name", "city"), ("year", "year"), ("city", "city")]
    paired = st.builds(lambda op, pair: op(col(pair[0]), col(pair[1])), operators, st.sampled_from(pairs))
    raw = st.builds(lambda op, number: op(col("day").raw, number), operators, st.sampled_from([-1, 0, 19753]))
    nulls = st.sampled_from([test for name in literals for test in (col(name).is_null(), col(name).is_not_null())])
    prefixes = st.sampled_from([col("city").starts_with("New"), col("name").starts_with("n")])
    between = st.builds(lambda low, high: col("year").is_between(low, high), literals["year"], literals["year"])
    return st.one_of(*compared, *members, paired, paired, raw, nulls, prefixes, between)


def junctions(parts: st.SearchStrategy[hw.Predicate]) -> st.SearchStrategy[hw.Predicate]:
    several = st.lists(parts, min_size=2, max_size=4)
    return st.one_of(
        several.map(lambda args: reduce(operator.and_, args)),
        several.map(lambda args: reduce(operator.or_, args)),
        parts.map(operator.invert),
    )


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(predicate=st.recursive(leaf_tests(), junctions, max_leaves=6), use=st.booleans())
def test_predicates_mean_the_same_as_on_stored_columns(
    predicate: hw.Predicate, use: bool, trips: Path, flat: Path
) -> None:
    expected = hw.scan(flat).filter(predicate).to_arrow()
    scan = hw.scan(trips).filter(predicate).use_metadata(use)
    same_rows(scan.to_arrow().sort_by("id"), expected)
    assert scan.count() == expected.num_rows
    assert scan.select("city").tail(5).count() == min(5, expected.num_rows)


def test_dropped_files_are_not_read(trips: Path) -> None:
    dataset = fresh(trips)
    table = dataset.scan().filter("year = 2024 and city = 'New York'").to_arrow()
    assert table.num_rows == ROWS
    read = [number for number, counts in enumerate(read_counts(dataset)) if counts.ranges]
    assert read == [0, 7]  # the first footer has the schema
    dataset = fresh(trips)
    assert dataset.scan().filter("year > 2030").count() == 0
    assert [counts.ranges for counts in read_counts(dataset)] == [1] + [0] * 8


@pytest.mark.parametrize(
    ("predicate", "read"),
    [
        ((col("year") == 2023) | (col("id") < 0), 9),
        ((col("year") == 2023) & ((col("id") < 0) | (col("name") == "n1")), 3),
        ((col("year") == 2023) | (col("city") == "Évora"), 5),
        (~((col("year") != 2022) | (col("id") > 5)), 3),
        (col("city") < col("name"), 6),  # with null on one side it is unknown
        (col("city").is_null() & (col("day") >= datetime.date(1969, 1, 1)), 3),
        (col("year").is_in([]), 0),
        (col("year").is_null(), 0),
        (~col("year").is_in([2022, 2023]), 3),
    ],
)
def test_files_that_a_predicate_leaves(predicate: hw.Predicate, read: int, trips: Path) -> None:
    dataset = fresh(trips)
    dataset.schema  # noqa: B018  reads the first footer
    dataset.scan().filter(predicate).use_metadata(False).to_arrow()
    kept = {number for number, counts in enumerate(read_counts(dataset)) if counts.ranges} - {0}
    first = dataset.files[0].source.counts.ranges > 1
    assert len(kept) + first == read


def test_a_mistake_is_told_even_where_no_file_is_left(trips: Path) -> None:
    with pytest.raises(hw.ColumnNotFoundError, match="nmae"):
        hw.scan(trips).filter("year = 1999 and nmae = 'x'").to_arrow()
    with pytest.raises(hw.PredicateError, match="year"):
        hw.scan(trips).filter(col("year") == "2024").to_arrow()
    with pytest.raises(hw.PredicateError, match="one value per row"):
        hw.scan(trips).filter((col("year") == 1999) & (col("city").any() == "x")).count()


def test_null_tests_are_not_decided_by_the_first_file(tmp_path: Path) -> None:
    """A column that is required in the first file may have nulls in the others."""
    for year, values, nullable in ((1, [1, 2], False), (2, [None, 4], True)):
        folder = tmp_path / f"year={year}"
        folder.mkdir()
        schema = pa.schema([pa.field("x", pa.int64(), nullable)])
        pq.write_table(pa.table({"x": values}, schema), folder / "a.parquet")
    assert hw.scan(tmp_path).filter("x is null and year = 2").count() == 1
    assert hw.scan(tmp_path).filter("x is null or year = 1").count() == 3
    assert hw.scan(tmp_path).filter("not x is null and year > 0").count() == 3


def test_explain_says_which_files_were_dropped(trips: Path) -> None:
    explanation = hw.scan(trips).filter("year = 2024 and id > 0").explain(analyze=True)
    stage = explanation.stages[0]
    assert (stage.name, stage.files_dropped, stage.row_groups_in) == ("partitions", 6, 6)
    assert stage.reasons == {"year=2022: year = 2024": 3, "year=2023: year = 2024": 3}
    assert explanation.as_dict()["stages"][0]["files_dropped"] == 6
    assert "partitions    6 files dropped\n                  3 times year=2022: year = 2024\n" in str(explanation)
    assert "6 files dropped" in explanation._repr_html_()
    planned = hw.scan(trips).filter("year = 2024").explain()
    assert planned.as_dict()["rows_planned"] == 3 * ROWS
    assert (planned.stages[0].files_dropped, planned.certain_rows) == (6, 3 * ROWS)
    for analyze in (False, True):
        stages = hw.scan(trips).filter("city = 'Oslo' and year > 0").explain(analyze=analyze).stages
        assert stages[0].reasons == {f"city={name}: city = 'Oslo'": 3 for name in ("New York", "Évora", "null")}
    ranges = hw.scan(trips).filter("year = 2024").row_ranges([(0, 9 * ROWS)]).explain()
    assert (ranges.rows, ranges.stages[0].files_dropped) == (3 * ROWS, 6)


# Selection of rows


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("predicate", [None, "year > 2022", "year > 2022 and name != 'n1'", "city is null or id > 300"])
@pytest.mark.parametrize(
    "narrow",
    [
        lambda scan: scan.head(100),
        lambda scan: scan.skip(75).head(80),
        lambda scan: scan.skip(10_000),
        lambda scan: scan.tail(90),
        lambda scan: scan.row_ranges([(10, 20), (250, 400), (500, 501)]),
        lambda scan: scan.row_ranges([(10, 20), (250, 400)]).skip(2).head(60),
    ],
)
def test_limits_count_rows_of_the_result(
    narrow: Callable[[hw.Scan], hw.Scan], predicate: str | None, threads: int, trips: Path, tmp_path: Path
) -> None:
    whole = tmp_path / "whole.parquet"
    pq.write_table(hw.scan(trips).to_arrow(), whole)  # in the order of the files
    scan, stored = hw.scan(trips).threads(threads), hw.scan(whole)
    if predicate is not None:
        scan, stored = scan.filter(predicate), stored.filter(predicate)
    expected = narrow(stored).to_arrow()
    same_rows(narrow(scan).to_arrow(), expected)
    same_rows(narrow(scan.use_metadata(False)).to_arrow(), expected)
    assert narrow(scan).count() == expected.num_rows
    assert narrow(scan.select("year")).to_arrow()["year"].to_pylist() == expected["year"].to_pylist()


def test_splits_of_one_file(tmp_path: Path) -> None:
    path = write_file(tmp_path / "year=2024" / "a.parquet", 0)
    size = path.stat().st_size
    scan = hw.scan(tmp_path).filter("year = 2024")
    ids = [
        number
        for start in range(0, size, 500)
        for number in scan.byte_range(start, start + 500).to_arrow()["id"].to_pylist()
    ]
    assert ids == list(range(ROWS))
    assert scan.byte_range(0, 0).to_arrow().num_rows == 0


def test_splits_of_several_files_stay_an_error(trips: Path) -> None:
    with pytest.raises(ValueError, match="split of one file"):
        hw.scan(trips).filter("day = date('2024-01-31') and year = 2022").byte_range(0, 10).count()


def test_scans_pickle(trips: Path) -> None:
    scan = hw.scan(trips).filter("year = 2023 and id >= 0").select("city", "id")
    again = pickle.loads(pickle.dumps(scan))
    same_rows(again.to_arrow(), scan.to_arrow())
    assert again.dataset.files[4].partitions == scan.dataset.files[4].partitions
    batch = next(scan.batches())
    assert str(pickle.loads(pickle.dumps(batch.schema))) == str(batch.schema)


def test_progress_counts_the_rows_of_files_that_are_left(trips: Path) -> None:
    dataset = fresh(trips)
    seen: list[tuple[int, int]] = []
    dataset.scan().filter("year = 2024").to_arrow(progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (3 * ROWS, 3 * ROWS)
    assert sum(counts.ranges > 0 for counts in read_counts(dataset)) == 4


def test_warming_takes_scans_with_partition_columns(trips: Path) -> None:
    scan = hw.scan(trips).filter("year = 2024 and (city = 'x' or id > 3)").select("year", "id")
    assert hw.warm(scan).seconds >= 0


# Which folders count


def test_keys_must_be_the_same_everywhere(tmp_path: Path) -> None:
    write_file(tmp_path / "year=2023" / "a.parquet", 0)
    write_file(tmp_path / "year=2024" / "month=1" / "b.parquet", 0)
    with pytest.raises(hw.SchemaMismatchError, match=r"month=1/b\.parquet: its folders give the keys year, month"):
        hw.open(tmp_path)
    # As a list they are files like any others.
    names = sorted(str(path) for path in tmp_path.rglob("*.parquet"))
    assert hw.scan(names).to_arrow().column_names == ["id", "name"]


def test_a_file_outside_of_the_folders_does_not_fit(tmp_path: Path) -> None:
    write_file(tmp_path / "b.parquet", 0)
    write_file(tmp_path / "year=2024" / "a.parquet", 0)
    with pytest.raises(hw.SchemaMismatchError, match=r"a\.parquet: its folders give the keys year, .* no keys"):
        hw.open(tmp_path)


def test_one_key_twice_is_refused(tmp_path: Path) -> None:
    write_file(tmp_path / "k=1" / "k=2" / "a.parquet", 0)
    with pytest.raises(hw.SchemaMismatchError, match="the key 'k'"):
        hw.open(tmp_path)


def test_other_folders_and_orders_of_keys_do_not_matter(tmp_path: Path) -> None:
    write_file(tmp_path / "a=1" / "raw" / "b=x" / "f.parquet", 0)
    write_file(tmp_path / "b=y" / "=z" / "a=2" / "f.parquet", 0)
    table = hw.scan(tmp_path).select("a", "b").to_arrow()
    assert set(zip(table["a"].to_pylist(), table["b"].to_pylist(), strict=True)) == {(1, "x"), (2, "y")}


def test_names_of_files_do_not_count(tmp_path: Path) -> None:
    write_file(tmp_path / "year=1" / "k=1.parquet", 0)
    write_file(tmp_path / "year=1" / "b.parquet", 0)
    assert hw.scan(tmp_path).to_arrow().column_names == ["id", "name", "year"]
    assert hw.scan(sorted(tmp_path.rglob("*.parquet"))).to_arrow().column_names == ["id", "name", "year"]


def test_folders_above_what_was_opened_do_not_count(trips: Path) -> None:
    assert hw.scan(trips / "year=2022").schema.root.child("year") is None
    assert hw.scan(trips / "year=2022").to_arrow().column_names == ["id", "name", "city", "day"]
    one = trips / "year=2022" / f"city={NULL}" / f"day={DAYS[2]}" / "part.parquet"
    assert hw.scan(one).to_arrow().column_names == ["id", "name"]


@pytest.mark.parametrize(
    ("pattern", "keys"),
    [
        ("*", ["year", "city", "day"]),
        ("year=*", ["year", "city", "day"]),
        ("**/*.parquet", ["year", "city", "day"]),
        ("year=2022/city=*/day=*/*.parquet", ["city", "day"]),
        ("year=202[23]/*/*/part.parquet", ["year", "city", "day"]),
    ],
)
def test_of_a_glob_folders_count_from_its_first_wildcard_on(pattern: str, keys: list[str], trips: Path) -> None:
    assert hw.scan(f"{trips}/{pattern}").to_arrow().column_names == ["id", "name", *keys]


@pytest.mark.parametrize("written", ["{root}/", "{root}//", "file://{root}", "{root}/../{name}"])
def test_a_directory_may_be_written_in_many_ways(written: str, trips: Path) -> None:
    source = written.format(root=trips, name=trips.name)
    assert hw.scan(source).filter("year = 2022").count() == 3 * ROWS


def test_relative_directories(trips: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trips)
    for source in (".", "./", Path(), "*", "./year=*"):
        assert hw.scan(source).filter("year = 2022").count() == 3 * ROWS
    monkeypatch.chdir(trips / "year=2022")
    assert hw.scan(".").schema.root.child("year") is None


def test_of_a_list_all_folders_count_where_every_file_has_the_same_keys(trips: Path) -> None:
    paths = sorted(trips.rglob("*.parquet"))
    same_rows(hw.scan(paths).to_arrow(), hw.scan(trips).to_arrow())
    assert hw.scan(paths[:1]).to_arrow().column_names == ["id", "name", "year", "city", "day"]
    assert hw.scan([trips / "year=2022", str(trips / "year=2024")]).filter("year = 2024").count() == 3 * ROWS
    assert hw.scan([paths[0], paths[0].read_bytes()]).to_arrow().column_names == ["id", "name"]
    assert hw.scan(paths[0].read_bytes()).to_arrow().column_names == ["id", "name"]


def test_folders_behind_urls(trips: Path) -> None:
    memory = fsspec.filesystem("memory")
    try:
        for path in trips.rglob("*.parquet"):
            with memory.open(f"/lake/{path.relative_to(trips)}", "wb") as out:
                out.write(path.read_bytes())
        for url in ("memory://lake", "memory://lake/", "memory://lake/year=*", "memory://lake/**/*.parquet"):
            dataset = fresh(url)
            found = dataset.scan().filter("year = 2023 and city = 'New York'").to_arrow()
            assert found.column_names == ["id", "name", "year", "city", "day"]
            assert found["id"].to_pylist() == list(range(3 * ROWS, 4 * ROWS))
            assert sum(counts.ranges > 0 for counts in read_counts(dataset)) == 2
        assert hw.scan("memory://lake/year=2022").to_arrow().column_names == ["id", "name", "city", "day"]
    finally:
        memory.rm("/lake", recursive=True)


def test_mapped_files_have_them_too(trips: Path) -> None:
    same_rows(hw.scan(trips, mmap=True).to_arrow(), hw.scan(trips).to_arrow())


# Columns of files


def test_a_column_of_the_files_wins(tmp_path: Path) -> None:
    for year in (1, 2):
        write_file(tmp_path / f"year={year}" / "k=5" / "a.parquet", 0, year=pa.array([f"y{year}"] * ROWS))
    scan = hw.scan(tmp_path)
    assert scan.to_arrow().column_names == ["id", "name", "year", "k"]
    assert scan.schema["year"].physical_type is PhysicalType.BYTE_ARRAY
    assert scan.filter("year = 'y2' and k = 5").count() == ROWS
    assert scan.dataset.files[1].partitions == {"year": 2, "k": 5}


def test_the_first_file_decides_which_columns_win(tmp_path: Path) -> None:
    write_file(tmp_path / "year=1" / "a.parquet", 0)
    write_file(tmp_path / "year=2" / "a.parquet", 0, year=pa.array(["stored"] * ROWS))
    scan = hw.scan(tmp_path)
    assert scan.to_arrow()["year"].to_pylist() == [1] * ROWS + [2] * ROWS
    assert scan.filter("year = 2 and id >= 0").select("year", "name").to_arrow()["year"].to_pylist() == [2] * ROWS
    assert scan.filter("year = id").to_arrow().select(["id", "year"]).to_pylist() == [
        {"id": 1, "year": 1},
        {"id": 2, "year": 2},
    ]


def test_files_may_differ_in_order_and_number_of_columns(tmp_path: Path) -> None:
    write_file(tmp_path / "year=1" / "a.parquet", 0, extra=pa.array(range(ROWS)))
    path = write_file(tmp_path / "year=2" / "a.parquet", 0)
    table = pq.read_table(path, partitioning=None)
    pq.write_table(table.select(["name", "id"]), path)
    scan = hw.scan(tmp_path).select("year", "id")
    assert scan.filter("year >= 1 and id < 2").to_arrow().to_pylist() == [
        {"year": year, "id": number} for year in (1, 2) for number in (0, 1)
    ]
    with pytest.raises(hw.SchemaMismatchError, match=r"year=2/a\.parquet: has no column 'extra'"):
        hw.scan(tmp_path).to_arrow()


def test_nested_columns_stand_beside_them(tmp_path: Path) -> None:
    lists = pa.array([[number] * (number % 3) for number in range(ROWS)])
    structs = pa.array([{"a": number, "b": "x"} for number in range(ROWS)])
    for year in (1, 2):
        write_file(tmp_path / f"year={year}" / "a.parquet", 0, tags=lists, pair=structs)
    scan = hw.scan(tmp_path).select("tags", "year", "pair.a")
    assert scan.filter("year = 2 and any(tags) = 4").to_arrow().to_pylist() == [
        {"tags": [4], "year": 2, "pair": {"a": 4}}
    ]
    assert [dict(row) for row in scan.filter("pair is not null and year < pair.a").head(1).rows()] == [
        {"tags": [2, 2], "year": 1, "pair": {"a": 2}}
    ]


def test_repetition_follows_the_nulls(trips: Path) -> None:
    schema = hw.open(trips).schema
    assert schema["city"].repetition is Repetition.OPTIONAL
    assert schema["year"].repetition is Repetition.REQUIRED
