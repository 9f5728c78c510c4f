"""Generated kernels: equal to the general ones, built outside of scans, found on disk by the next process."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from hardwood_jit import cascade, col, whole_group
from hardwood_jit.jit import fused_kernels
from hardwood_jit.jit.codegen import source_of
from hardwood_jit.jit.fused_kernels import FUSED
from hardwood_jit.jit.shape import page_shape, row_shape
from hardwood_jit.plan.bind import bind
from hardwood_jit.plan.bound import Node
from hardwood_jit.plan.predicate import Predicate

ROWS = 3_000  # several pages a column, a tail that fills no 64-bit word


def made() -> bytes:
    random = np.random.default_rng(11)

    def absent() -> Any:
        return random.random(ROWS) < 0.1

    floats = random.normal(size=ROWS)
    floats[::50], floats[1::50], floats[2::50] = np.nan, -0.0, 0.0
    table = pa.table(
        {
            "id": np.arange(ROWS),
            "a": pa.array(random.integers(-50, 50, ROWS), mask=absent()),
            "b": pa.array(random.integers(-50, 50, ROWS).astype(np.int32), mask=absent()),
            "f": pa.array(floats, mask=absent()),
            "g": pa.array(floats.astype(np.float32)),
            "u": pa.array(random.integers(0, 1 << 32, ROWS).astype(np.uint32)),
        }
    )
    sink = io.BytesIO()
    pq.write_table(table, sink, use_dictionary=False, data_page_size=4_000, row_group_size=1_700)
    return sink.getvalue()


FILE = made()
SCHEMA = hw.open(FILE).schema

PAGE_PREDICATES = [
    col("a") > 5,
    col("a") != 7,
    col("a") == 7,
    col("b").is_between(-5, 5),
    col("f") < 0.5,
    col("f") >= 0.0,
    col("f") == float("nan"),
    col("g") <= 0.25,
    (col("u") > 1 << 31) & (col("u") < 3 << 30),
]
ROW_PREDICATES = [
    col("a") < col("b"),
    col("a") == col("a"),
    (col("a") < col("b")) | (col("b") > 45),
    ((col("a") >= col("b")) & (col("id") < 900)) | (col("b") > 40),
    ~(col("a") < col("b")),
]


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Chunks that do not fit one window are tested page by page, which is where generated kernels are used."""
    monkeypatch.setattr(cascade, "WINDOW_ROWS", 1_000)
    monkeypatch.setattr(whole_group, "IS_USED", False)
    yield
    FUSED.forget()


def conjunct_of(predicate: Predicate) -> Node:
    (conjunct,) = bind(predicate, SCHEMA).conjuncts
    return conjunct


def ids(predicate: Predicate) -> list[int]:
    return hw.scan(FILE).filter(predicate).select("id").to_numpy()["id"].tolist()


@pytest.mark.parametrize("predicate", [*PAGE_PREDICATES, *ROW_PREDICATES], ids=str)
def test_generated_kernel_gives_what_the_general_ones_give(predicate: Predicate) -> None:
    expected = ids(predicate)
    assert 0 < len(expected) < ROWS
    conjunct = conjunct_of(predicate)
    found = page_shape(conjunct) if predicate in PAGE_PREDICATES else row_shape(conjunct)  # type: ignore[arg-type]
    assert found is not None
    FUSED.build([found[0]])
    assert ids(predicate) == expected
    analysed = hw.scan(FILE).filter(predicate).select("id").threads(1).explain(analyze=True).as_dict()
    origins = {use["shape"]: use["origin"] for part in analysed["conjuncts"] for use in part["kernels"]}
    assert origins[found[0].text] in ("compiled", "disk")


def test_constants_are_no_part_of_a_shape() -> None:
    one, other = page_shape(conjunct_of(col("a") > 1)), page_shape(conjunct_of(col("a") > 99))  # type: ignore[arg-type]
    assert one is not None and other is not None
    assert one[0] == other[0]
    assert one[1] != other[1]


def test_source_starts_with_its_shape_and_is_python() -> None:
    found = page_shape(conjunct_of((col("a") >= 1) & (col("a") < 9)))  # type: ignore[arg-type]
    assert found is not None
    source, _ = source_of(found[0])
    assert source.splitlines()[0] == "# and(ge(c0: INT64 PLAIN), le(c0: INT64 PLAIN))"
    compile(source, "shape", "exec")


def test_shape_that_was_never_built_is_answered_by_the_general_kernels_and_noted() -> None:
    predicate = (col("a") <= -30) | (col("a") > 40)
    analysed = hw.scan(FILE).filter(predicate).select("id").explain(analyze=True).as_dict()
    (use,) = [use for part in analysed["conjuncts"] for use in part["kernels"]]
    assert use["origin"] in ("general", "disk")  # an earlier run of the tests may have built it


SECOND = """
import json, sys
from hardwood_jit import cascade, col, whole_group
import hardwood_jit as hw
from hardwood_jit.jit.fused_kernels import FUSED
cascade.WINDOW_ROWS, whole_group.IS_USED = 1_000, False
FUSED.building = sys.argv[2]
scan = hw.scan(sys.argv[1]).filter((col("a") > 3) & (col("a") < 30)).select("id").threads(1)
found = scan.explain(analyze=True).as_dict()
FUSED.wait()
uses = [use for part in found["conjuncts"] for use in part["kernels"]]
print(json.dumps({"rows": found["rows_out"], "origins": [use["origin"] for use in uses],
                  "sources": [use["source"] for use in uses]}))
"""


def in_process(path: Path, folder: Path, building: str) -> dict[str, Any]:
    environment = {**os.environ, "HARDWOOD_JIT_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", SECOND, str(path), building]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_child_process_builds_the_kernel_and_the_next_process_loads_it(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    path.write_bytes(FILE)
    folder = tmp_path / "cache"
    first = in_process(path, folder, "child")
    second = in_process(path, folder, "never")
    assert first["rows"] == second["rows"] > 0
    assert first["origins"] == ["general"]
    assert second["origins"] == ["disk"]
    assert Path(second["sources"][0]).read_text().startswith("# and(ge(c0: INT64 PLAIN), le(c0: INT64 PLAIN))")
    hw_files = list(folder.glob("*/*.nbc"))
    assert any("shape" in file.name for file in hw_files)


def test_building_never_starts_no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FUSED, "building", "never")
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **kwargs: pytest.fail("a child was started"))
    assert ids(col("b") > 17)


def test_shape_that_children_do_not_leave_on_disk_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a full disk: each scan wants it again, but not each may start a process."""
    started: list[list[Any]] = []

    def start(shapes: list[Any]) -> None:
        started.append(shapes)

    monkeypatch.setattr(FUSED, "building", "child")
    monkeypatch.setattr(fused_kernels, "_start_child", start)
    predicate = ~((col("a") > col("b")) & (col("id") > 3) & (col("b") > 17) & (col("a") > 18)) & (col("a") > -49)
    first = ids(predicate)
    assert [ids(predicate) for _ in range(5)] == [first] * 5
    assert len(started) == 2 and started[0] == started[1]
