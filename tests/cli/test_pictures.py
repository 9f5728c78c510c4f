"""The picture of a layout: pages against pyarrow and against each other, what filters skip, text and SVG."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from hardwood_jit.cli import main
from hardwood_jit.cli.layout import SHARED, picture_of
from hardwood_jit.cli.palette import shares
from hardwood_jit.cli.plain import PICTURE_WIDTH, layout_text
from hardwood_jit.cli.svg import layout_svg
from hardwood_jit.plan.scan_plan import Selection

SVG = "{http://www.w3.org/2000/svg}"
REPOSITORY = Path(__file__).resolve().parents[2]


def pages(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    assert main(["pages", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def text_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["pages", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def stages(picture: Any, column: str) -> list[list[str | None]]:
    """Per row group: what skips each data page of a column."""
    return [
        [
            page["skipped_by"]
            for chunk in group["columns"]
            if chunk["column"] == column
            for page in chunk["pages"]
            if page["encoding"] != "dictionary page"
        ]
        for group in picture["row_groups"]
    ]


def cells(svg: str) -> list[ElementTree.Element]:
    found = ElementTree.fromstring(svg).iter(f"{SVG}rect")
    return [rect for rect in found if rect.get("class", "").split()[:1] == ["page"]]


# Pages


def test_pages_fill_their_chunks_exactly(indexed: Path, bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (indexed, bare):
        metadata = pq.ParquetFile(path).metadata
        for number, group in enumerate(pages(capsys, path)["row_groups"]):
            for leaf, chunk in enumerate(group["columns"]):
                expected = metadata.row_group(number).column(leaf)
                start = expected.dictionary_page_offset or expected.data_page_offset
                assert chunk["column"] == expected.path_in_schema
                for page in chunk["pages"]:
                    assert page["offset"] == start
                    start += page["stored_bytes"]
                assert sum(page["stored_bytes"] for page in chunk["pages"]) == expected.total_compressed_size


def test_page_headers_tell_what_the_offset_index_tells(
    indexed: Path, bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from_index, from_headers = (pages(capsys, path, "--columns", "id,city,fare") for path in (indexed, bare))
    for one, other in zip(from_index["row_groups"], from_headers["row_groups"], strict=True):
        for left, right in zip(one["columns"], other["columns"], strict=True):
            facts = [[(p["encoding"], p["first_row"], p["stop_row"]) for p in c["pages"]] for c in (left, right)]
            assert facts[0] == facts[1]
    expected = [("DELTA_BINARY_PACKED", at, at + 25) for at in range(0, 100, 25)]
    first = from_headers["row_groups"][0]["columns"][0]["pages"]
    assert [(page["encoding"], page["first_row"], page["stop_row"]) for page in first] == expected


def test_rows_of_list_pages_are_known_with_an_index_and_in_v2_pages(
    indexed: Path, bare: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    second = tmp_path / "v2.parquet"
    table = pq.read_table(bare)
    pq.write_table(table, second, max_rows_per_page=25, row_group_size=100, data_page_version="2.0")
    for path, known in ((indexed, True), (second, True), (bare, False)):
        picture = pages(capsys, path, "--columns", "tags")
        data = [p for p in picture["row_groups"][0]["columns"][0]["pages"] if p["encoding"] != "dictionary page"]
        rows = [(page["first_row"], page["stop_row"]) for page in data]
        assert rows == ([(at, at + 25) for at in range(0, 100, 25)] if known else [(None, None)] * 4)


def test_a_chunk_that_changes_its_encoding_shows_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fallback.parquet"
    table = pa.table({"a": pa.array(range(50_000), pa.int64())})
    pq.write_table(table, path, dictionary_pagesize_limit=20_000, data_page_size=20_000, write_page_index=True)
    found = [page["encoding"] for page in pages(capsys, path)["row_groups"][0]["columns"][0]["pages"]]
    assert set(found) == {"dictionary page", "RLE_DICTIONARY", "PLAIN"}
    assert found == sorted(found, key=["dictionary page", "RLE_DICTIONARY", "PLAIN"].index)


# Filters


def test_statistics_and_page_index_skip_pages(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = pages(capsys, indexed, "--where", "id >= 260", "--columns", "city")
    kept, gone, index = [None] * 4, ["statistics"] * 4, "page index"
    for column in ("id", "city"):  # the filter's column first, then those asked for
        assert stages(picture, column) == [gone, gone, [index, index, None, None], kept]
    assert [chunk["column"] for chunk in picture["row_groups"][0]["columns"]] == ["id", "city"]
    assert picture["rows_after"]["statistics"] == 200
    assert picture["rows_after"]["page index"] == 150
    assert [group["rows_left"] for group in picture["row_groups"]] == [0, 0, 50, 100]


def test_a_bloom_filter_skips_row_groups(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rider = f"r{222 * 7919 % 1009:04}"
    picture = pages(capsys, indexed, "--where", f"rider = '{rider}'")
    bloom = "bloom filter"
    assert [group["skipped_by"] for group in picture["row_groups"]] == [bloom, bloom, None, bloom]


def test_without_indexes_nothing_is_skipped(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = pages(capsys, bare, "--where", "id >= 260")
    assert {stage for group in stages(picture, "id") for stage in group} == {None}


def test_a_filter_that_nothing_passes_skips_everything(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = pages(capsys, indexed, "--where", "id > 5 and id < 3")
    assert {group["rows_left"] for group in picture["row_groups"]} == {0}


def test_skipped_pages_hold_no_match(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for where in ("id between 30 and 170", "fare > 80", "started < timestamp('2025-01-01T01:00:00Z')", "fare is null"):
        picture = pages(capsys, indexed, "--where", where)
        hits = set(hw.scan(indexed).filter(where).select("id").to_numpy()["id"].tolist())
        for group in picture["row_groups"]:
            for chunk in group["columns"]:
                for page in chunk["pages"]:
                    if page["skipped_by"] and page["first_row"] is not None:
                        first = 100 * group["row_group"] + page["first_row"]
                        assert not hits & set(range(first, first + page["stop_row"] - page["first_row"]))


def test_files_of_a_folder_are_told_apart(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = pages(capsys, folder, "--where", "id >= 300")
    found = [(group["file"], group["row_group"], group["skipped_by"]) for group in picture["row_groups"]]
    dropped, zero, one = "statistics", "part-0.parquet", "part-1.parquet"
    assert found == [(zero, 0, dropped), (zero, 1, dropped), (one, 0, dropped), (one, 1, None), (one, 2, None)]
    assert "part-1.parquet, row group 2: 50 rows" in text_of(capsys, folder, "--where", "id >= 300")


# Limits


def test_row_groups_that_are_left_are_drawn_before_others(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = pages(capsys, indexed, "--where", "id = 350", "-n", 2)
    assert [group["row_group"] for group in picture["row_groups"]] == [0, 3]
    assert picture["notes"] == ["2 of 4 row groups are shown, first of all those that the filter keeps; -n shows more"]


def test_many_columns_are_limited_in_text_and_all_there_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.table({f"c{number}": [number] for number in range(60)}), path)
    assert "24 of 60 columns are shown; choose them with --columns" in text_of(capsys, path)
    assert len(pages(capsys, path)["row_groups"][0]["columns"]) == 60


def test_many_pages_share_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "many.parquet"
    table = pa.table({"a": pa.array(range(2_000), pa.int64())})
    pq.write_table(table, path, max_rows_per_page=5, use_dictionary=False, write_page_index=True)
    text = text_of(capsys, path)
    assert "400 pages are shown" in text
    assert SHARED in text
    assert max(map(len, text.splitlines())) <= 120
    target = tmp_path / "many.svg"
    text_of(capsys, path, "--svg", target)
    assert len(cells(target.read_text())) == 134  # three pages to a cell
    assert SHARED in target.read_text()


def test_shares_keep_every_cell_visible_and_never_exceed_the_room() -> None:
    for sizes in ([], [5], [1] * 40, [1, 1000, 1], [0, 0, 7]):
        found = shares(sizes, 40, sum(sizes))
        assert len(found) == len(sizes)
        assert sum(found) <= 40
        assert all(width >= 1 for width in found)


# Text and SVG


def test_plain_text_depends_on_no_terminal(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = set()
    for width in ("40", "200"):
        monkeypatch.setenv("COLUMNS", width)
        found.add(text_of(capsys, indexed, "--where", "id >= 260"))
    (text,) = found
    assert text.isascii() and "\x1b" not in text
    assert "  4 row groups: ..+#" in text
    assert "all rows 400, after statistics 200, after page index 150" in text
    line = next(line for line in text.splitlines() if line.startswith("* id"))
    assert line.endswith("|") and set(line.partition("|")[2]) == {".", "|"}
    assert len(line) <= 40 + PICTURE_WIDTH + 1


def test_svg_is_xml_with_a_cell_per_page(indexed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = "id >= 260 and city = '<&\"'"
    for arguments in ([], ["--where", where]):
        target = tmp_path / "x.svg"
        assert main(["pages", str(indexed), "--svg", str(target), *arguments, "--json"]) == 0
        picture = json.loads(capsys.readouterr().out)
        found = [page for group in picture["row_groups"] for chunk in group["columns"] for page in chunk["pages"]]
        drawn = cells(target.read_text(encoding="utf-8"))
        assert len(drawn) == len(found)
        skipped = [rect.get("class") == "page skipped" for rect in drawn]
        assert skipped == [page["skipped_by"] is not None for page in found]
        for rect, page in zip(drawn, found, strict=True):
            assert page["encoding"] in (rect.findtext(f"{SVG}title") or "")


def test_svg_cells_lie_inside_and_side_by_side(indexed: Path) -> None:
    layout = picture_of(hw.scan(indexed), Selection())
    document = layout_svg(layout)
    width = float(ElementTree.fromstring(document).get("width") or 0)
    rows: dict[str, float] = {}
    for rect in cells(document):
        left, line = float(rect.get("x") or 0), rect.get("y") or ""
        assert left >= rows.get(line, 0.0)
        rows[line] = left + float(rect.get("width") or 0)
        assert rows[line] < width


def test_svg_to_standard_output_replaces_the_text(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("pages", "explain"):
        assert main([name, str(indexed), "--where", "id > 390", "--svg", "-"]) == 0
        assert ElementTree.fromstring(capsys.readouterr().out).tag == f"{SVG}svg"


def test_svg_of_explain_shows_the_result(indexed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(indexed), "--where", "id > 390 and fare > 98.2", "--svg", "-"]) == 0
    texts = [element.text for element in ElementTree.fromstring(capsys.readouterr().out).iter(f"{SVG}text")]
    assert texts[texts.index("result") + 1] == "6 rows"
    assert "statistics: id: max 99 < 391 (and 2 more such reasons)" in texts


def test_names_that_xml_forbids_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "names.parquet"
    pq.write_table(pa.table({"a\x01<b>&\x1b": [1]}), path)
    layout = picture_of(hw.scan(path), Selection())
    texts = [element.text for element in ElementTree.fromstring(layout_svg(layout)).iter(f"{SVG}text")]
    assert "a\\x01<b>&\\x1b" in texts
    assert "\x01" not in layout_text(layout)


def test_an_empty_file_has_an_empty_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "empty.parquet"
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), path)
    assert "0 rows" in text_of(capsys, path)
    target = tmp_path / "x.svg"
    assert "0 rows" in text_of(capsys, path, "--where", "a > 3", "--svg", target)
    assert cells(target.read_text()) == []


def test_pictures_of_readme_are_drawings() -> None:
    readme = (REPOSITORY / "README.md").read_text()
    for name in ("pages", "explain"):
        path = f"asv_bench/figures/{name}.svg"
        assert f"({path})" in readme
        assert len(cells((REPOSITORY / path).read_text(encoding="utf-8"))) > 50
