"""Runs cases in worker processes that are watched: killed when they hang, started again when they end."""

from __future__ import annotations

import itertools
import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.mutate import KINDS, Mutator, Source

WORKERS = 2
FAILURES = 50  # of one worker: enough to see what is wrong
PATIENCE = 20.0  # seconds for one case
START = 600.0  # seconds until a worker is ready: every kernel may have to be compiled first
REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass
class Failure:
    """A case that ended as no damaged file may end."""

    number: int
    kind: str
    said: str
    what: str
    again: str

    def __str__(self) -> str:
        return f"{self.said}\n    {self.what}\n    again: {self.again}"


@dataclass
class Outcomes:
    """What became of the cases so far; shared by the watches."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, kind: str, outcome: str) -> None:
        with self.lock:
            self.counts[kind, outcome] += 1

    @property
    def total(self) -> int:
        with self.lock:
            return sum(self.counts.values())


class Turns:
    """Case numbers and kinds, handed out one by one to several threads, until there are enough or time is up."""

    def __init__(self, cases: Iterator[tuple[int, str]], seconds: float | None = None) -> None:
        self._cases = cases
        self._lock = threading.Lock()
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._is_over = False

    @property
    def is_over(self) -> bool:
        return self._is_over or (self._deadline is not None and time.monotonic() > self._deadline)

    def stop(self) -> None:
        self._is_over = True

    def next(self) -> tuple[int, str] | None:
        with self._lock:
            found = None if self.is_over else next(self._cases, None)
            self._is_over = self._is_over or found is None
            return found


def in_turn(counts: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """So many cases of each kind; kinds take turns, so that a run that is cut short has seen all of them."""
    left = dict(counts)
    number = itertools.count()
    while any(left.values()):
        for kind in KINDS:
            if left[kind]:
                left[kind] -= 1
                yield next(number), kind


def shares(count: int | None, first: int = 0) -> Iterator[tuple[int, str]]:
    """`count` cases from number `first` on, of every kind as many; without end for None."""
    numbers = itertools.count(first) if count is None else range(first, first + count)
    return ((number, KINDS[number % len(KINDS)]) for number in numbers)


class Watch:
    """One worker process after another, fed with cases; notes what went wrong."""

    def __init__(
        self, sources: Path, turns: Turns, seed: int, outcomes: Outcomes, environment: Mapping[str, str]
    ) -> None:
        self._sources, self._turns, self._seed = sources, turns, seed
        self._outcomes, self._environment = outcomes, environment
        self._failed = 0
        self._starts_in_vain = 0

    def run(self) -> None:
        while not self._turns.is_over and self._failed < FAILURES and self._starts_in_vain < 2:
            self._one_process()

    def _one_process(self) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker", str(self._sources), str(self._seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
            env={**os.environ, **self._environment},
        )
        assert process.stdin and process.stdout and process.stderr
        lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        errors: list[str] = []
        stdout, stderr = process.stdout, process.stderr
        threading.Thread(
            target=lambda: ([lines.put(line.rstrip("\n")) for line in stdout], lines.put(None)), daemon=True
        ).start()
        threading.Thread(target=lambda: errors.extend(stderr), daemon=True).start()
        said = "worker start"
        kind, number = "start", -1
        try:
            if self._next(lines, START) != "ready":
                raise RuntimeError("worker did not start")
            self._starts_in_vain = -1
            while self._failed < FAILURES:
                turn = self._turns.next()
                if turn is None:
                    return
                number, kind = turn
                said = f"case {number} {kind}, while it was made"
                process.stdin.write(f"{number} {kind}\n")
                process.stdin.flush()
                said = self._next(lines, PATIENCE).removeprefix("start ")
                outcome = self._next(lines, PATIENCE).removeprefix("done ")
                self._outcomes.add(kind, outcome.split()[0])
                if outcome.startswith("failed"):
                    self._fail(said, outcome, number, kind)
        except TimeoutError:
            self._outcomes.add(kind, "failed")
            self._fail(said, f"hang: no answer in {PATIENCE:.0f} s", number, kind)
        except (RuntimeError, BrokenPipeError):
            process.wait()
            time.sleep(0.2)  # for the thread that collects what the process said last
            self._outcomes.add(kind, "failed")
            self._fail(said, f"process ended with {process.returncode}: {''.join(errors)[-500:]}", number, kind)
        finally:
            self._starts_in_vain += 1
            process.kill()
            process.wait()

    def _fail(self, said: str, what: str, number: int, kind: str) -> None:
        again = f'python -m tests.fuzz.worker --case {self._seed} {number} "{kind}"'
        self._failed += 1
        with self._outcomes.lock:
            self._outcomes.failures.append(Failure(number, kind, said, what, again))

    @staticmethod
    def _next(lines: queue.SimpleQueue[str | None], seconds: float) -> str:
        try:
            line = lines.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            raise RuntimeError("worker ended")
        return line


def checked_kernels() -> dict[str, str]:
    """The environment of processes whose kernels check every index, in a cache folder of their own."""
    folder = Path(tempfile.gettempdir()) / f"hardwood_jit-boundscheck-{os.getuid()}"
    return {"NUMBA_BOUNDSCHECK": "1", "HARDWOOD_JIT_CACHE_DIR": str(folder)}


def run_cases(
    sources: list[Source],
    turns: Turns,
    seed: int,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    report: Callable[[Outcomes], None] | None = None,
) -> Outcomes:
    """All turns, on two processes; `report` is called every few seconds. `folder` is for what workers read."""
    pickled = folder / "sources.pickle"
    pickled.write_bytes(pickle.dumps(sources))
    outcomes = Outcomes()
    watches = [Watch(pickled, turns, seed, outcomes, environment or {}) for _ in range(WORKERS)]
    threads = [threading.Thread(target=watch.run) for watch in watches]
    for thread in threads:
        thread.start()
    try:
        while any(thread.is_alive() for thread in threads):
            for thread in threads:
                thread.join(2)
            if report is not None:
                report(outcomes)
    except KeyboardInterrupt:  # what was found so far is worth telling
        turns.stop()
        for thread in threads:
            thread.join()
    return outcomes


def keep(failures: list[Failure], sources: list[Source], seed: int, folder: Path) -> list[Path]:
    """Writes the bytes of every failed case to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    mutator = Mutator(sources, seed)
    written = []
    for failure in failures:
        if failure.number >= 0:
            name = f"{seed}-{failure.number}-{failure.kind.replace(' ', '-')}.parquet"
            (folder / name).write_bytes(mutator.case(failure.number, failure.kind).data)
            written.append(folder / name)
    return written
