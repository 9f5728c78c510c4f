"""A predicate shape to the milliseconds it costs where it was never compiled, and where it was.

`python -m new_shape first` and then, in a second process with the same kernel folder, `python -m new_shape second`
print one line of JSON each; `new_shape_latency` runs both in a folder of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from datasets import dataset

if TYPE_CHECKING:
    import hardwood_jit as hw

HERE = Path(__file__).resolve().parent
KNOWN_RUNS = 5
PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class Latency:
    """Milliseconds. `new` and `known`: to the first row of a filtered scan, its shape never compiled, and compiled."""

    general: float  # compiling the general kernels into an empty folder
    new: float
    until_fused: float  # after that scan: until the next ones use the fused kernel
    known: float
    compile: float  # the fused kernels of another new shape
    load: float  # the same ones in a second process

    @property
    def delay(self) -> float:
        """What a shape that was never compiled adds to the first row."""
        return self.new - self.known


def _scans(path: str) -> tuple[hw.Scan, hw.Scan, hw.Scan]:
    """Three shapes: one that makes the process warm, one that is met while scanning, one that is asked for.

    Disjunctions over two PLAIN columns: a conjunct on one column of a small file may need no kernel of its own.
    """
    import hardwood_jit as hw
    from hardwood_jit import col

    scan = hw.scan(path)
    usual = scan.filter((col("id") >= 5) | (col("price") >= 3.0))
    met = scan.filter((col("id") < 1 << 39) | (col("price") < 1.0))
    asked_for = scan.filter(col("id").is_between(5, 1 << 39) | col("price").is_between(-1.0, 1.0))
    return usual, met, asked_for


def _first_row(scan: hw.Scan) -> float:
    started = time.perf_counter()
    rows = scan.rows()
    next(rows)
    elapsed = time.perf_counter() - started
    for _ in rows:  # to the end: kernels may be compiled there
        pass
    return elapsed * 1000


def _origins(scan: hw.Scan) -> set[str]:
    """Where the kernels of a scan's conjuncts came from; "prepared" ones are the same for every shape."""
    conjuncts = scan.explain(analyze=True).as_dict()["conjuncts"]
    return {kernel["origin"] for conjunct in conjuncts for kernel in conjunct["kernels"]} - {"prepared"}


def _require_fused(scan: hw.Scan, *allowed: str) -> None:
    """A measurement of kernels that were not the ones meant is worse than none."""
    found = _origins(scan)
    if not found or found - set(allowed):
        raise RuntimeError(f"kernels came from {sorted(found)}, wanted {' or '.join(allowed)}")


def _wait_until_fused(scan: hw.Scan) -> float:
    """Milliseconds until a scan of a new shape no longer falls back to general kernels."""
    started = time.perf_counter()
    while "general" in _origins(scan):
        if time.perf_counter() - started > PATIENCE_SECONDS:
            raise RuntimeError(f"still general kernels after {PATIENCE_SECONDS} s")
        time.sleep(0.02)
    return (time.perf_counter() - started) * 1000


def _first_process(path: str) -> dict[str, float]:
    import hardwood_jit as hw

    usual, met, asked_for = _scans(path)
    general = hw.warm().seconds
    hw.warm(usual)
    for _ in range(2):
        _first_row(usual)
    new = _first_row(met)  # the folder was empty and this shape is no other's: general kernels answer
    until_fused = _wait_until_fused(met)
    _require_fused(met, "disk", "compiled")
    known = min(_first_row(met) for _ in range(KNOWN_RUNS))
    compiling = hw.warm(asked_for).seconds
    _require_fused(asked_for, "compiled")
    return {
        "general": general * 1000,
        "new": new,
        "until_fused": until_fused,
        "known": known,
        "compile": compiling * 1000,
    }


def _second_process(path: str) -> dict[str, float]:
    import hardwood_jit as hw

    usual, met, asked_for = _scans(path)
    hw.warm(usual)  # the first load of a process starts LLVM
    report = hw.warm(asked_for)
    for scan in (met, asked_for):
        _require_fused(scan, "disk")
    return {"load": report.seconds * 1000}


def _run(process: str, path: Path, cache_folder: str) -> dict[str, float]:
    environment = {**os.environ, "HARDWOOD_JIT_CACHE_DIR": cache_folder}
    command = [sys.executable, "-m", "new_shape", process, str(path)]
    done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise RuntimeError(f"hardwood_jit: {said[-1]}")
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


def new_shape_latency(scale: float | None = None) -> Latency:
    """Two fresh processes, one after the other, that share a kernel folder which is empty at first."""
    path = dataset("first_filtered_batch", scale)
    with tempfile.TemporaryDirectory() as folder:
        return Latency(**_run("first", path, folder), **_run("second", path, folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("process", choices=("first", "second"))
    parser.add_argument("path")
    given = parser.parse_args()
    print(json.dumps({"first": _first_process, "second": _second_process}[given.process](given.path)))


if __name__ == "__main__":
    main()
