"""Reads damaged files, one case after the other, under a memory limit; the parent watches and may kill it.

`python -m tests.fuzz.worker SOURCES SEED` reads lines "number kind" and answers "start ..." and "done ...";
`python -m tests.fuzz.worker --case SEED NUMBER KIND [FILE]` runs a single case in the open and keeps its bytes in FILE.
"""

from __future__ import annotations

import contextlib
import gc
import pickle
import resource
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

MEMORY = 3 << 30  # address space, of which numba, LLVM and Arrow take about one gigabyte before anything is read


def touch_metadata(dataset: Any) -> None:
    """Everything the metadata API decodes on demand."""
    metadata = dataset.files[0].metadata
    str(dataset.schema)
    _ = metadata.created_by, metadata.key_value_metadata, metadata.column_orders
    for group in list(metadata.row_groups)[:3]:
        _ = group.num_rows, group.total_byte_size, group.sorting_columns, group.midpoint
        for chunk in list(group.columns)[:20]:
            _ = chunk.path, chunk.physical_type, chunk.encodings, chunk.num_values, chunk.byte_range
            _ = chunk.statistics, chunk.encoding_stats, chunk.size_statistics, chunk.geospatial_statistics
            _ = chunk.key_value_metadata, chunk.offset_index, chunk.column_index, chunk.bloom_range


def attempt(step: Any) -> tuple[str, Any]:
    """("ok", result), or the name of one of the two errors a damaged file may end in. Anything else is raised."""
    import hardwood_jit as hw

    try:
        return "ok", step()
    except hw.CorruptFileError:
        return "corrupt", None
    except hw.UnsupportedError:
        return "unsupported", None


def check_batches(dataset: Any, threads: int) -> int:
    rows = 0
    for batch in dataset.scan().threads(threads).batches():
        rows += batch.num_rows
        for column in batch.columns:
            assert column.record_count == batch.num_rows, "batch is not row-aligned"
            count = column.record_count
            for layer in column.layers:
                if layer.offsets is not None:
                    assert len(layer.offsets) == count + 1, "offsets do not fit their layer"
                    assert layer.offsets[0] == 0, "offsets do not start at 0"
                    assert (layer.offsets[1:] >= layer.offsets[:-1]).all(), "offsets fall"
                    count = int(layer.offsets[-1])
            assert count == column.value_count, "values do not fit their layers"
            if column.data is not None:
                assert len(column.offsets) == count + 1
                assert int(column.offsets[-1]) <= len(column.data)
                assert (column.offsets[1:] >= column.offsets[:-1]).all(), "value offsets fall"
            else:
                assert len(column.values) == count
    return rows


# A literal that values of a physical type lie on both sides of; a null test for the others.
LITERALS = {"BOOLEAN": True, "INT32": 1, "INT64": 1, "FLOAT": 0.5, "DOUBLE": 0.5, "BYTE_ARRAY": b"m"}


def test_of_leaf(leaf: Any, turn: int, rows: list[dict[str, Any]]) -> Any:
    """A predicate on one leaf.

    Its literals are values of the file where there are some: they lie within the bounds of statistics, so that page
    index, bloom filter and dictionary are asked, too. A value that is missing is asked for as well.
    """
    from hardwood_jit import col

    column, literal = col(leaf.path), LITERALS.get(leaf.physical_type.name)
    seen = [row[leaf.path[0]] for row in rows if row.get(leaf.path[0]) is not None] if len(leaf.path) == 1 else []
    if leaf.max_repetition_level or not seen or turn % 5 == 4:
        column = column.any() if leaf.max_repetition_level else column
        if literal is None:
            return column.is_not_null()
        column = column.raw
        return [column >= literal, column == literal, column != literal][turn % 3]
    one, other = seen[turn % len(seen)], seen[-1]
    missing = one + 1 if type(one) is int else one + "x" if isinstance(one, str) else other
    return [
        lambda: column == one,
        lambda: column.is_in([one, missing]),
        lambda: column == missing,
        lambda: (column >= one) & (column <= other),
        lambda: column > one,
        lambda: ~column.is_in([missing, other]),
        lambda: column.is_null(),
    ][turn % 7]()


def check_filter(dataset: Any, turn: int, rows: int, first: list[dict[str, Any]]) -> None:
    """A filter on one leaf after the other, or two, some outputs, and what must hold whatever the bytes say."""
    import hardwood_jit as hw
    from hardwood_jit import whole_group
    from tests.support.filtering import divided

    leaves = dataset.schema.leaves
    if not leaves:
        return
    predicate = test_of_leaf(leaves[turn % len(leaves)], turn, first)
    other = turn // 3
    if turn % 3 == 1:
        predicate = predicate | test_of_leaf(leaves[other % len(leaves)], other, first)
    elif turn % 6 == 2:
        predicate = predicate & test_of_leaf(leaves[other % len(leaves)], other, first)
    outputs = [leaves[(turn + step) % len(leaves)].path for step in range(min(4, len(leaves)))]
    scan = dataset.scan().filter(predicate).select(*outputs).threads(1 + turn % 2).use_metadata(turn % 8 != 0)
    try:
        scan.bound_predicate()
    except hw.PredicateError:  # a value that its column can hold but no literal can say, such as a text that is bytes
        return
    found, table = attempt(scan.to_arrow)
    if found == "ok":
        table.validate(full=True)
        assert table.num_rows <= rows, f"{table.num_rows} rows pass, {rows} in the row groups"
    # The other way through a row group, every other time with what is only done with large files.
    with patch.object(whole_group, "IS_USED", False), divided() if turn % 2 else contextlib.nullcontext():
        otherwise, other_table = attempt(scan.to_arrow)
    if found == otherwise == "ok":
        assert tables_equal(table, other_table), "row groups as a whole, or window by window: other rows"
    counted, count = attempt(scan.count)
    assert found != "ok" or counted != "ok" or count == table.num_rows, f"count() is {count}, {table.num_rows} rows"
    limited = [scan.head(3), scan.tail(3), scan.skip(2).head(3)][turn % 3]
    ended, last = attempt(limited.to_arrow)
    if found == "ok" and ended == "ok":
        last.validate(full=True)
        left = max(table.num_rows - 2, 0) if turn % 3 == 2 else table.num_rows
        assert last.num_rows == min(3, left), f"{last.num_rows} rows of {table.num_rows} after {limited}"


def prepare() -> None:
    """No generated kernels, those of whole row groups always, and dictionaries of little pages are asked, too."""
    from hardwood_jit import probe
    from hardwood_jit.jit import group_kernel, joined_kernel, lookup_kernel
    from hardwood_jit.jit.fused_kernels import COMPILES, FUSED

    FUSED.building = "never"
    probe.LEAST_DATA = 64
    if COMPILES:
        # What is tested must not depend on what the disk has by chance.
        FUSED.build((*group_kernel.KERNELS, *lookup_kernel.KERNELS))
    else:
        for module in (group_kernel, joined_kernel, lookup_kernel):
            module.are_built = lambda: True


def run_case(data: bytes, number: int, covered: bool, original: Any) -> str:
    """What became of a damaged file; raises where SEMANTICS section 6 is broken. `original()` is the honest table."""
    import hardwood_jit as hw

    turn = number // 5  # the five kinds of damage take turns: every kind sees every way of reading
    threads = 2 if turn % 8 == 0 else 1
    opened, dataset = attempt(lambda: hw.open(data))
    if opened != "ok":
        return opened
    counted, rows = attempt(lambda: dataset.num_rows)
    if counted != "ok":
        return counted
    attempt(lambda: touch_metadata(dataset))
    outcome, table = attempt(lambda: dataset.scan().threads(threads).to_arrow())
    if outcome == "ok":
        table.validate(full=True)
        assert table.num_rows == rows, f"{table.num_rows} rows in the table, {rows} in the row groups"
        if covered:
            assert tables_equal(table, original()), "a checksum covers the damage and the values differ"
    elif covered:
        assert outcome == "corrupt", f"{outcome} where a checksum must notice"
    batched, seen = attempt(lambda: check_batches(dataset, threads))
    assert batched != "ok" or seen == rows, f"{seen} rows in batches, {rows} in the row groups"
    _, first = attempt(lambda: [dict(row) for row in dataset.scan().head(50).rows()])
    counted, count = attempt(dataset.scan().count)
    assert counted != "ok" or count == rows, f"count() is {count}, row groups have {rows}"
    start = number % (rows + 1) if 0 <= rows < 1 << 40 else 0
    picked, part = attempt(lambda: dataset.scan().skip(start).head(5).to_arrow())
    if picked == "ok":
        part.validate(full=True)
        assert part.num_rows == min(5, rows - start), f"{part.num_rows} rows after skip({start}).head(5) of {rows}"
    check_filter(dataset, turn, rows, first or [])
    if turn % 4 == 0:
        attempt(lambda: dataset.scan().head(20).to_numpy())
        attempt(lambda: dataset.scan().batch_size(16).to_arrow(strings="view").validate(full=True))
        first = [leaf.path for leaf in dataset.schema.leaves[:3]]
        attempt(lambda: dataset.scan().to_arrow(dictionary=first).validate(full=True))
        tail, last = attempt(lambda: dataset.scan().tail(3).to_arrow())
        assert tail != "ok" or last.num_rows == min(3, rows)
    return outcome if outcome != "ok" else picked


def tables_equal(one: Any, other: Any) -> bool:
    if one.equals(other):
        return True
    from tests.support.naive import first_difference  # NaN is not equal to itself in Arrow

    return one.schema == other.schema and first_difference(one.to_pylist(), other.to_pylist()) is None


class Originals:
    """The table of every honest file, read when it is first asked for."""

    def __init__(self, mutator: Any) -> None:
        self.mutator = mutator
        self.tables: dict[str, Any] = {}

    def table(self, name: str) -> Any:
        import hardwood_jit as hw

        if name not in self.tables:
            source = self.mutator.by_name[name]
            self.tables[name] = hw.scan(source.original.data, checksums=source.checksums).to_arrow()
        return self.tables[name]


def serve(sources: str, seed: int) -> None:
    from tests.fuzz.mutate import Mutator

    prepare()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    mutator = Mutator(pickle.loads(Path(sources).read_bytes()), seed)
    originals = Originals(mutator)
    # Kernels compile (or load) here, before the watch starts: the parent waits longer for the first answer.
    # What goes wrong with an honest file is another test's business.
    for source in mutator.sources:
        with contextlib.suppress(Exception):
            run_case(source.original.data, 0, False, None)
    print("ready", flush=True)
    for line in sys.stdin:
        number, kind = line.rstrip("\n").split(" ", 1)
        case = mutator.case(int(number), kind)
        print(f"start {case}", flush=True)
        try:
            outcome = run_case(case.data, case.number, case.covered, lambda case=case: originals.table(case.source))
        except BaseException as error:
            import traceback

            where = traceback.extract_tb(error.__traceback__)[-1]
            text = " ".join(str(error).split())[:300]
            outcome = f"failed {type(error).__name__}: {text} ({Path(where.filename).name}:{where.lineno})"
        print(f"done {outcome}", flush=True)
        if case.number % 200 == 0:
            gc.collect()


def show(seed: int, number: int, kind: str, keep: str | None) -> None:
    from tests.fuzz.mutate import Mutator, load_sources

    prepare()
    mutator = Mutator(load_sources(), seed)
    case = mutator.case(number, kind)
    print(case, flush=True)
    if keep:
        Path(keep).write_bytes(case.data)
    print(run_case(case.data, number, case.covered, lambda: Originals(mutator).table(case.source)))


if __name__ == "__main__":
    if sys.argv[1] == "--case":
        show(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5] if len(sys.argv) > 5 else None)
    else:
        serve(sys.argv[1], int(sys.argv[2]))
