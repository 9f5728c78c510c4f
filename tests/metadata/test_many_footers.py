"""Footers that are read together, and statistics that are judged together, say what they say one by one."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from hardwood_jit import many_files
from hardwood_jit.metadata.footer import FileMetadata, read_footer
from hardwood_jit.metadata.many_footers import MOST_FILE_BYTES, is_for_many, read_footers
from hardwood_jit.source import LocalFile

GROUP_ROWS = 10


def part(number: int, groups: int = 2) -> pa.Table:
    keys = [100 * number + row for row in range(groups * GROUP_ROWS)]
    ratios = [None if number % 4 == 1 else (float("nan") if key % 7 == 0 else key / 4) for key in keys]
    return pa.table({"key": keys, "text": [f"t{key}" for key in keys], "ratio": pa.array(ratios, pa.float64())})


def write(path: Path, table: pa.Table, **options: object) -> Path:
    pq.write_table(table, path, row_group_size=GROUP_ROWS, **options)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of several schemas, writers and sizes."""
    found = tmp_path / "files"
    found.mkdir()
    for number in range(40):
        table = part(number, 1 + number % 3)
        options: dict[str, object] = {"store_schema": number % 5 != 0, "compression": "none"}
        if number == 11:
            table = table.select(["key", "ratio", "text"])
        if number == 17:
            table = table.slice(0, 0)
        if number == 23:
            options["write_statistics"] = False
        if number == 31:
            options["version"] = "1.0"
        write(found / f"{number:03}.parquet", table, **options)
    return found


def facts(metadata: FileMetadata) -> tuple[object, ...]:
    return (
        metadata.footer.tobytes(),
        metadata.group_table.tobytes(),
        metadata.chunk_table.tobytes(),
        metadata.group_rows.tolist(),
        metadata.num_rows,
        metadata.version,
        metadata.footer_bytes,
        metadata.footer_start,
        metadata.held_bytes,
        metadata.has_encrypted_columns,
        metadata.created_by,
        metadata.column_orders,
        metadata.key_value_metadata,
        [leaf.dotted for leaf in metadata.schema.leaves],
    )


def test_footers_read_together_equal_those_read_by_themselves(folder: Path) -> None:
    sources = [LocalFile(str(path)) for path in sorted(folder.iterdir())]
    together = read_footers(sources)
    for source, found in zip(sources, together, strict=True):
        assert found is not None and found.source is source
        alone = read_footer(LocalFile(source.path))
        assert facts(found) == facts(alone)
        assert source.counts == alone.source.counts


def test_mutated_footers_are_read_equally_or_left_to_the_general_way(folder: Path) -> None:
    rng = random.Random(4)
    paths = sorted(folder.iterdir())
    for _ in range(6):
        for path in paths:
            raw = bytearray(path.read_bytes())
            footer = int.from_bytes(raw[-8:-4], "little")
            if rng.random() < 0.7:
                raw[rng.randrange(len(raw) - 8 - footer, len(raw))] = rng.randrange(256)
            path.with_suffix(".bad").write_bytes(raw)
        sources = [LocalFile(str(path.with_suffix(".bad"))) for path in paths]
        for source, found in zip(sources, read_footers(sources), strict=True):
            if found is None:
                continue
            alone = read_footer(LocalFile(source.path))
            assert found.chunk_table.tobytes() == alone.chunk_table.tobytes()
            assert (found.num_rows, found.schema is alone.schema) == (alone.num_rows, True)


def test_large_files_and_other_sources_are_not_for_this(tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(bytes(MOST_FILE_BYTES + 1))
    short = tmp_path / "short"
    short.write_bytes(b"PAR1PAR1")
    assert not is_for_many(LocalFile(str(large))) and not is_for_many(LocalFile(str(short)))
    path = write(tmp_path / "a.parquet", part(0))
    dataset = hw.open([path, path.read_bytes(), path], mmap=True)
    assert dataset.num_rows == 60


def test_the_first_broken_file_is_named_after_the_rows_before_it(folder: Path) -> None:
    broken = folder / "020.parquet"
    broken.write_bytes(broken.read_bytes()[:-1] + b"x")
    for scan in (hw.scan(folder).select("key"), hw.scan(folder).select("key").filter("key >= 0")):
        batches, rows = scan.threads(1).batches(), 0
        with pytest.raises(hw.CorruptFileError, match=r"020\.parquet: not a Parquet file"):
            for batch in batches:
                rows += batch.num_rows
        assert rows == sum((1 + number % 3) * GROUP_ROWS for number in range(20) if number != 17)


def test_a_file_that_changes_between_two_scans_is_read_again(folder: Path) -> None:
    assert hw.scan(folder).filter("key = 700").count() == 1
    write(folder / "007.parquet", part(70))
    assert hw.scan(folder).filter("key = 700").count() == 0
    assert hw.scan(folder).filter("key = 7000").count() == 1


def test_footers_read_together_are_kept_and_counted(folder: Path) -> None:
    for path in folder.iterdir():  # the youngest files are not kept
        os.utime(path, (1, 1))
    hw.footer_cache.clear()
    before = hw.footer_cache.info()
    assert hw.open(folder).num_rows == hw.open(folder).num_rows
    after = hw.footer_cache.info()
    assert (after.entries, after.misses - before.misses, after.hits - before.hits) == (40, 40, 40)


PREDICATES = [
    "key = 1205",
    "key > 3900 or key < 0",
    "key between 1500 and 1600 and ratio > 380",
    "ratio < 3",
    "text = 't5'",
]


@pytest.mark.parametrize("predicate", PREDICATES)
def test_row_groups_dropped_together_are_those_dropped_file_by_file(
    folder: Path, predicate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = []
    for most in (1, 3, 256):
        monkeypatch.setattr(many_files, "MOST_FILES", most)
        for _ in range(2):  # with statistics to be read, and with those that were kept
            scan = hw.scan(folder).filter(predicate)
            explanation = scan.explain(analyze=True)
            found = explanation.as_dict()
            stages = [{**stage, "seconds": 0} for stage in found["stages"]]
            answers.append((scan.to_arrow()["key"].to_pylist(), stages, found["row_groups_scanned"]))
        hw.footer_cache.clear()
    assert any(stages for _, stages, _ in answers) or "text" in predicate
    assert all(answer == answers[0] for answer in answers)
    assert answers[0][0] == hw.scan(folder).use_metadata(False).filter(predicate).to_arrow()["key"].to_pylist()
