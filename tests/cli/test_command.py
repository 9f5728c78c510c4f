"""Every command of `hardwood`, in this process: what it prints, as text and as JSON, and how it ends."""

from __future__ import annotations

import datetime
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from hardwood_jit.cli import command, draw, main
from hardwood_jit.cli.values import as_json, shown

ROWS = 400
REPOSITORY = Path(__file__).resolve().parents[2]


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Standard output of a command that ends well and says nothing else."""
    assert main([str(argument) for argument in arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def from_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    return json.loads(printed(capsys, *arguments, "--json"))


def refused(capsys: pytest.CaptureFixture[str], code: int, *arguments: object) -> str:
    """Standard error of a command that ends with `code` and prints nothing."""
    assert main([str(argument) for argument in arguments]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err


# info


def test_info_as_json_says_what_pyarrow_says(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    info = from_json(capsys, "info", indexed)
    expected = pq.ParquetFile(indexed).metadata
    file = info["files"][0]
    assert (info["rows"], info["row_groups"]) == (expected.num_rows, expected.num_row_groups)
    assert (file["name"], file["bytes"]) == (str(indexed), indexed.stat().st_size)
    assert file["created_by"] == expected.created_by
    assert file["key_value_keys"] == [key.decode() for key in expected.metadata]
    assert len(info["columns"]) == expected.num_columns
    for number, column in enumerate(info["columns"]):
        chunks = [expected.row_group(group).column(number) for group in range(expected.num_row_groups)]
        assert column["path"] == chunks[0].path_in_schema
        assert column["physical_type"] == chunks[0].physical_type
        assert column["stored_bytes"] == sum(chunk.total_compressed_size for chunk in chunks)
        assert column["uncompressed_bytes"] == sum(chunk.total_uncompressed_size for chunk in chunks)
        assert column["values"] == sum(chunk.num_values for chunk in chunks)
        assert column["nulls"] == sum(chunk.statistics.null_count for chunk in chunks)
        assert column["codecs"] == [chunks[0].compression]
        assert set(column["encodings"]) == {encoding for chunk in chunks for encoding in chunk.encodings}
        assert column["chunks_with"] == {
            "bounds": sum(chunk.statistics.has_min_max for chunk in chunks),
            "column_index": sum(chunk.has_column_index for chunk in chunks),
            "offset_index": sum(chunk.has_offset_index for chunk in chunks),
            "bloom_filter": 4 if column["path"] == "rider" else 0,
        }


def test_info_as_text_has_a_line_per_column(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "info", indexed).splitlines()
    assert "rows        400" in lines
    assert "row groups  4" in lines
    rider = next(line for line in lines if line.startswith("rider"))
    assert rider.endswith("bounds, page index, bloom filter")
    assert next(line for line in lines if line.startswith("fare")).split()[-4] == "40"  # a tenth of them is null


def test_info_of_a_file_without_statistics_says_none(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    info = from_json(capsys, "info", bare, "--columns", "fare")
    assert [column["path"] for column in info["columns"]] == ["fare"]
    assert info["columns"][0]["nulls"] is None
    assert printed(capsys, "info", bare, "--columns", "fare").splitlines()[-1].endswith("?  none")


def test_info_adds_up_the_files_of_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    info = from_json(capsys, "info", folder)
    assert [(Path(file["name"]).name, file["rows"]) for file in info["files"]] == [
        ("part-0.parquet", 150),
        ("part-1.parquet", 250),
    ]
    assert info["columns"][0]["values"] == ROWS
    assert info["columns"][0]["chunks"] == info["row_groups"] == 5


# schema


def test_schema_prints_the_message_type(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "schema", indexed) == f"{hw.open(indexed).schema}\n"


def test_schema_as_json_is_a_tree(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = from_json(capsys, "schema", indexed, "--columns", "tags,id")
    assert [child["name"] for child in tree["children"]] == ["tags", "id"]
    tags, number = tree["children"]
    assert (tags["logical_type"], tags["children"][0]["repetition"]) == ("LIST", "REPEATED")
    assert number == {"name": "id", "repetition": "OPTIONAL", "physical_type": "INT64"}


# head


def test_head_as_json_gives_the_rows_that_pyarrow_gives(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = from_json(capsys, "head", indexed, "-n", 7)
    assert rows == as_json(pq.read_table(indexed).slice(0, 7).to_pylist())


def test_head_filters_and_selects(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = "id >= 120 and city = 'Delft'"
    rows = from_json(capsys, "head", indexed, "-n", 2, "--where", where, "--columns", "fare,id")
    assert rows == [{"fare": 30.75, "id": 123}, {"fare": 31.75, "id": 127}]


def test_head_as_text_lines_columns_up(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "head", indexed, "-n", 3, "--columns", "id,city,fare,tags").splitlines()
    assert lines == [
        "id  city     fare  tags",
        " 0  Aachen    0.0  []",
        ' 1  Bergen   0.25  ["new"]',
        ' 2  Córdoba   0.5  ["new", "new"]',
    ]


def test_head_shows_ten_rows_and_none_when_asked_for_none(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(from_json(capsys, "head", indexed)) == 10
    assert from_json(capsys, "head", indexed, "-n", 0) == []
    assert printed(capsys, "head", indexed, "-n", 0, "--columns", "id").splitlines() == ["id"]


def test_values_that_steer_a_terminal_are_shown_and_not_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "hostile.parquet"
    pq.write_table(pa.table({"a\x1b[2J": ["\x1b[31mred\nline"], "b": [{"k": ["\x07"]}]}), path)
    for arguments in (["head", path], ["info", path], ["schema", path], ["pages", path]):
        out = printed(capsys, *arguments)
        assert "\x1b" not in out
        assert "\x07" not in out
        assert "\\x1b[2J" in out


def test_values_are_shortened_for_people_and_whole_for_programs() -> None:
    assert shown("x" * 100) == "x" * 39 + "…"
    assert shown(list(range(100))) == "[0, 1, 2, 3, 4, 5, 6, 7, … 92 more]"
    assert shown({"a": None, "b": True}) == "{a: null, b: true}"
    assert shown([("k", 1)]) == '[("k", 1)]'
    assert as_json({"a": [float("inf"), b"\xff", datetime.time(1, 2)], "b": hw.Interval(1, 2, 3)}) == {
        "a": ["inf", "ff", "01:02:00"],
        "b": {"months": 1, "days": 2, "milliseconds": 3},
    }


def test_a_timestamp_beyond_python_is_shown_as_stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "far.parquet"
    pq.write_table(pa.table({"t": pa.array([2**62], pa.timestamp("us"))}), path)
    assert from_json(capsys, "head", path) == [{"t": 2**62}]


# count


def test_count_counts_all_rows_or_those_that_pass(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "count", indexed) == "400\n"
    assert printed(capsys, "count", indexed, "--where", "fare is null") == "40\n"
    assert from_json(capsys, "count", indexed, "--where", "id<3") == {"rows": 3, "where": "id < 3"}


def test_directories_globs_and_lists_are_one_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "count", folder) == "400\n"
    assert printed(capsys, "count", folder / "*.parquet") == "400\n"
    assert printed(capsys, "count", folder / "part-1.parquet", folder / "part-0.parquet") == "400\n"
    rows = from_json(capsys, "head", folder / "part-*.parquet", "--where", "id = 149 or id = 150", "--columns", "id")
    assert rows == [{"id": 149}, {"id": 150}]


# explain and warm


def test_explain_says_what_the_api_says_and_draws_it(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["explain", indexed, "--where", "id >= 260", "--columns", "city"]
    found = from_json(capsys, *arguments)
    assert found["rows_out"] == 140
    assert found["stages"][0]["row_groups_dropped"] == 2
    assert [group["skipped_by"] for group in found["picture"]["row_groups"]] == ["statistics", "statistics", None, None]
    text = printed(capsys, *arguments)
    assert text.startswith("Scan of 1 file: 4 row groups, 400 rows\n")
    assert "row group 0: 100 rows" in text


def test_explain_without_a_filter_reads_everything(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = from_json(capsys, "explain", indexed)
    assert found["rows_out"] == ROWS
    assert found["picture"]["rows_after"] == {}


def test_warm_says_how_long_it_took(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = from_json(capsys, "warm", indexed, "--where", "id > 3", "--columns", "city")
    assert set(found) == {"seconds", "loaded", "compiled", "path"}
    assert found["path"] == str(hw.kernel_cache.path)
    assert " s; kept in " in printed(capsys, "warm", indexed)


def test_warm_without_files_warms_the_general_kernels(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []
    monkeypatch.setattr(hw, "warm", lambda scan=None: asked.append(scan) or hw.warming.WarmReport(1.5, 2, 3))
    assert printed(capsys, "warm").startswith("2 kernels loaded, 3 compiled in 1.50 s; kept in ")
    assert asked == [None]


def test_demo_is_the_demo(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import hardwood_jit.demo

    monkeypatch.setattr(hardwood_jit.demo, "main", lambda: print("shown"))
    assert printed(capsys, "demo") == "shown\n"


# Errors


def test_a_missing_file_ends_with_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none.parquet"
    for name in ("info", "schema", "head", "count", "pages", "explain", "warm"):
        assert refused(capsys, 1, name, path) == f"hardwood: {path}: no such file or directory\n"


def test_a_file_that_is_no_parquet_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "text.parquet"
    path.write_text("not Parquet at all")
    assert "not a Parquet file" in refused(capsys, 1, "info", path)


def test_unknown_columns_come_with_close_names(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("info", "schema", "head", "pages", "explain", "warm"):
        assert "no column 'fares'; close: 'fare'" in refused(capsys, 1, name, indexed, "--columns", "id,fares")
    for name in ("head", "count", "pages", "explain", "warm"):
        assert "close: 'fare'" in refused(capsys, 1, name, indexed, "--where", "fares > 1")


def test_a_filter_that_makes_no_sense_is_refused(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for where in ("fare >", "city > 3", "", "id = 'x'"):
        assert refused(capsys, 1, "count", indexed, "--where", where).startswith("hardwood: ")


def test_a_damaged_page_is_located(bare: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = bytearray(bare.read_bytes())
    raw[4:40] = b"\xff" * 36  # the first page header
    path = tmp_path / "damaged.parquet"
    path.write_bytes(raw)
    for name in ("pages", "head", "explain"):
        assert "row group 0, column 'id'" in refused(capsys, 1, name, path, "--columns", "id")


def test_a_picture_that_cannot_be_written_is_an_error(
    indexed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "none" / "x.svg"
    assert refused(capsys, 1, "pages", indexed, "--svg", target) == f"hardwood: {target}: No such file or directory\n"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["shrink", "x"],
        ["info"],
        ["head", "x", "-n", "-1"],
        ["head", "x", "-n", "few"],
        ["pages", "x", "-n", "0"],
        ["head", "x", "--columns", "a,,b"],
        ["head", "x", "--svg", "y"],
        ["schema", "x", "--where", "a"],
        ["warm", "--where", "a > 1"],
        ["demo", "x"],
    ],
)
def test_wrong_usage_ends_with_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "hardwood" in refused(capsys, 2, *arguments)


def test_help_and_version_end_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert "commands:" in printed(capsys, "--help")
    assert "--where" in printed(capsys, "pages", "--help")
    assert printed(capsys, "--version") == f"hardwood_jit {hw.__version__}\n"


def test_an_interrupt_ends_quietly(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(hw, "scan", interrupted)
    assert refused(capsys, 130, "count", indexed) == ""


def test_a_column_whose_name_has_a_comma_is_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "comma.parquet"
    pq.write_table(pa.table({"a,b": [1], "c": [2], "d": [3]}), path)
    assert from_json(capsys, "head", path, "--columns", '"a,b", c') == [{"a,b": 1, "c": 2}]


# rich


def test_without_rich_plain_text_works_and_drawings_name_the_extra(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rich", None)  # type: ignore[arg-type]  # importing it fails
    monkeypatch.setattr(draw, "has_rich", lambda: False)
    assert printed(capsys, "pages", indexed).startswith(str(indexed))
    monkeypatch.setenv("FORCE_COLOR", "1")
    for name in ("info", "head", "pages", "explain"):
        assert "pip install 'hardwood_jit[cli]'" in refused(capsys, 1, name, indexed)
        assert printed(capsys, name, indexed, "--plain")
    assert printed(capsys, "count", indexed) == "400\n"


def test_colours_are_forced_and_forbidden_by_the_environment(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    for arguments in (["info", indexed], ["head", indexed], ["pages", indexed, "--where", "id > 300"]):
        assert "\x1b[" in printed(capsys, *arguments)
    monkeypatch.setenv("NO_COLOR", "1")
    for arguments in (["info", indexed], ["head", indexed], ["pages", indexed, "--where", "id > 300"]):
        assert "\x1b[" not in printed(capsys, *arguments)


def test_a_table_wider_than_the_terminal_says_what_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.table({f"column_{number}": [number] for number in range(30)}), path)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    out = printed(capsys, "head", path)
    assert "23 more columns do not fit" in out
    assert "column_6" in out and "column_7" not in out


def test_the_installed_command_is_this_one() -> None:
    scripts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"hardwood": "hardwood_jit.cli:main"}
    assert main is command.main
