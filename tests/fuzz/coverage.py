"""Coverage-guided fuzzing with atheris: kernels run as Python, so that their branches are seen.

Without JIT integers do not wrap and a negative index counts from the end, so an error that is not ours is only a
suspicion: it is tried again in a process of its own on compiled kernels that check every index, and counts if that
one crashes, hangs or ends in anything but a result or our errors.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.runner import PATIENCE, REPOSITORY, START, checked_kernels

MODULE = "tests.fuzz.coverage"
LONGEST = 600  # bytes of an input


def read_everything(file: bytes) -> None:
    """Rows, rows from the middle, and rows by predicates that ask for every kind of proof."""
    import hardwood_jit as hw
    from tests.fuzz.worker import attempt, check_filter

    opened, dataset = attempt(lambda: hw.open(file))
    counted, rows = attempt(lambda: dataset.num_rows) if opened == "ok" else (opened, 0)
    if counted != "ok":
        return
    outcome, table = attempt(lambda: dataset.scan().threads(1).to_arrow())
    if outcome == "ok":
        table.validate(full=True)
        assert table.num_rows == rows, f"{table.num_rows} rows in the table, {rows} in the row groups"
    _, first = attempt(lambda: [dict(row) for row in dataset.scan().skip(rows // 2).head(5).rows()])
    turn = sum(file[:200]) * 2  # even: on one thread
    check_filter(dataset, turn, rows, first or [])


# ---------------------------------------------------------------- inside a process


def fuzz(target: str, suspicions: Path, arguments: list[str]) -> None:
    """Feeds one target until libFuzzer's time is up; what raises is kept, once per place."""
    import warnings

    import atheris

    from tests.fuzz.targets import all_targets

    chosen = all_targets()[target]
    warnings.simplefilter("ignore")  # numpy says that integers wrap, as they do in kernels
    with atheris.instrument_imports(include=["hardwood_jit"]):
        from tests.fuzz.worker import prepare

        prepare()
        for data in chosen.seeds:  # imports what is imported when it is needed
            read_everything(chosen.build(data))
    seen: set[str] = set()

    def one(data: bytes) -> None:
        file = chosen.build(data)
        try:
            read_everything(file)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{type(error).__name__}-{Path(where.filename).stem}-{where.lineno}"
            if place not in seen:
                seen.add(place)
                name = f"{target.replace(' ', '-')}-{place}.parquet"
                (suspicions / name).write_bytes(file)

    atheris.Setup([MODULE, *arguments], one)
    atheris.Fuzz()


def confirm(files: list[str]) -> None:
    """Reads files as they are, on compiled kernels; any error but ours ends the process."""
    from tests.fuzz.worker import prepare

    prepare()
    for file in files:
        read_everything(Path(file).read_bytes())


# ---------------------------------------------------------------- outside


@dataclass
class Found:
    """What the runs of all targets gave."""

    runs: dict[str, int] = field(default_factory=dict)
    coverage: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def _environment(**changes: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(REPOSITORY), **changes}


def _run_target(name: str, seeds: list[bytes], seconds: float, seed: int, place: Path, found: Found) -> None:
    corpus, artifacts = place / "corpus", place / "found-"
    corpus.mkdir(parents=True)
    (place / "suspicions").mkdir()
    for number, data in enumerate(seeds):
        (corpus / str(number)).write_bytes(data)
    limits = [f"-max_total_time={max(int(seconds), 1)}", f"-max_len={LONGEST}", f"-seed={seed % (1 << 31) or 1}"]
    limits += [f"-timeout={PATIENCE:.0f}", "-rss_limit_mb=3000", f"-artifact_prefix={artifacts}"]
    done = subprocess.run(
        [sys.executable, "-m", MODULE, "--fuzz", name, str(place / "suspicions"), *limits, str(corpus)],
        env=_environment(NUMBA_DISABLE_JIT="1"),
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=seconds + START,
    )
    runs = re.search(r"Done (\d+) runs", done.stderr)
    reached = re.findall(r"\bft: (\d+)", done.stderr)
    found.runs[name] = int(runs[1]) if runs else 0
    found.coverage[name] = int(reached[-1]) if reached else 0
    if done.returncode != 0 or runs is None:
        found.failures.append(f"{name}: process ended with {done.returncode}: {done.stderr[-600:]}")


def is_harmless(file: Path) -> str | None:
    """None when compiled kernels that check every index end well on a file, else what happened."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", MODULE, "--confirm", str(file)],
            env=_environment(**checked_kernels()),
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=START,
        )
    except subprocess.TimeoutExpired:
        return f"hang: no answer in {START:.0f} s"
    return None if done.returncode == 0 else f"process ended with {done.returncode}: {done.stderr[-600:]}"


def run_targets(minutes: float, seed: int, folder: Path | None, only: str | None = None) -> int:
    """Every target for its share of the time, two at once; prints runs and features, returns an exit code."""
    if importlib.util.find_spec("atheris") is None:
        print("--coverage needs the package atheris: pip install atheris", file=sys.stderr)
        return 2
    from tests.fuzz.targets import all_targets

    targets = all_targets()
    if only is not None and only not in targets:
        print(f"no target {only!r}; there are: {', '.join(targets)}", file=sys.stderr)
        return 2
    waiting = [(name, target) for name, target in targets.items() if only in (None, name)]
    count = len(waiting)
    share = minutes * 60 * min(2, count) / count
    found = Found()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as place:

        def work() -> None:
            while waiting:
                name, target = waiting.pop(0)
                _run_target(name, target.seeds, share, seed, Path(place) / name.replace(" ", "-"), found)
                print(
                    f"{name}: {found.runs[name]:,} runs, {found.coverage[name]:,} features "
                    f"({len(found.runs)} of {count} targets, {time.monotonic() - started:.0f} s)",
                    flush=True,
                )

        threads = [threading.Thread(target=work) for _ in range(min(2, count))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        suspicions = sorted(Path(place).glob("*/suspicions/*"))
        kept: list[Path] = [file for file in Path(place).glob("*/found-*") if file.is_file()]
        for file in suspicions:
            what = is_harmless(file)
            print(f"{file.stem}: {'only without JIT' if what is None else what}", flush=True)
            if what is not None:
                found.failures.append(f"{file.stem}: {what}")
                kept.append(file)
        if folder is not None and kept:
            folder.mkdir(parents=True, exist_ok=True)
            for file in kept:
                (folder / file.name).write_bytes(file.read_bytes())
                print(f"kept {folder / file.name}")
    print(
        f"seed {seed}: {sum(found.runs.values()):,} runs over {count} targets in {time.monotonic() - started:.0f} s, "
        f"{len(suspicions)} places only suspected or confirmed, {len(found.failures)} failures"
    )
    for failure in found.failures:
        print(failure)
    return 1 if found.failures else 0


def main(arguments: list[str]) -> Any:
    if arguments[0] == "--fuzz":
        return fuzz(arguments[1], Path(arguments[2]), arguments[3:])
    return confirm(arguments[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
