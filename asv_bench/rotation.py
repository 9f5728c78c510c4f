"""Works to milliseconds per contender: every engine in its own process, asked in turn, the best of several rounds."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from datasets import dataset, default_scale
from works import FLOOR, OURS, WORKS

HERE = Path(__file__).resolve().parent


def default_rounds() -> int:
    """Seven rounds for a measurement; two for a small trial run, which shows that it works and nothing else."""
    return 7 if default_scale() >= 0.5 else 2


class EngineFailed(RuntimeError):
    """The process of an engine ended; the message is the last line it wrote to its error output."""


class Worker:
    """The process of one engine on one work."""

    def __init__(self, engine: str, work: str, threads: int, scale: float) -> None:
        self._errors = tempfile.TemporaryFile("w+")
        command = [sys.executable, "-m", "engines", engine, work, "--threads", str(threads), "--scale", str(scale)]
        self._process = subprocess.Popen(
            command, cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        try:
            self.version = self._answer().removeprefix("ready ")
        except EngineFailed:
            self.close()
            raise

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._errors.seek(0)
            said = self._errors.read().strip().splitlines() or [f"exit code {self._process.returncode}"]
            raise EngineFailed(said[-1])
        return line.strip()

    def run(self) -> tuple[float, tuple[int, int]]:
        """Milliseconds of one run; the rows of its result and the digest of their values."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the reason is in what the process wrote last
            self._process.stdin.write("run\n")
            self._process.stdin.flush()
        milliseconds, rows, digest = self._answer().split()
        return float(milliseconds), (int(rows), int(digest))

    def close(self) -> None:
        """End the process by ending its input."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._errors.close()


@dataclass
class Measured:
    """One work: the best milliseconds, version and failure of each contender, and the rows that all agree on."""

    milliseconds: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    rows: int = 0

    @property
    def best_opponent(self) -> str | None:
        others = {engine: value for engine, value in self.milliseconds.items() if engine not in (OURS, FLOOR)}
        return min(others, key=others.__getitem__) if others else None

    @property
    def ours(self) -> float:
        """Our milliseconds; raises `EngineFailed` when there are none."""
        if OURS not in self.milliseconds:
            raise EngineFailed(self.failures.get(OURS, "not measured"))
        return self.milliseconds[OURS]

    def ratio(self, opponent: str | None = None) -> float:
        """Ours / the opponent's (the best one's by default): below 1 we are faster; nan without that opponent."""
        name = opponent or self.best_opponent
        return self.ours / self.milliseconds[name] if name in self.milliseconds else float("nan")


def _rotated(names: list[str], turn: int) -> list[str]:
    start = turn % len(names) if names else 0
    return names[start:] + names[:start]


def race(workers: dict[str, Worker], rounds: int, measured: Measured) -> None:
    """Ask every worker once per round, each round starting with the next one; one extra round warms up."""
    counted: dict[str, tuple[int, int]] = {}
    for turn in range(rounds + 1):
        for name in _rotated(list(workers), turn):
            if name in measured.failures:
                continue
            try:
                milliseconds, counted[name] = workers[name].run()
            except EngineFailed as failure:
                measured.failures[name] = str(failure)
                measured.milliseconds.pop(name, None)
                counted.pop(name, None)
                continue
            if turn > 0:
                measured.milliseconds[name] = min(milliseconds, measured.milliseconds.get(name, milliseconds))
    counted.pop(FLOOR, None)  # delivers no rows
    if len(set(counted.values())) > 1:
        raise AssertionError(f"the engines disagree about the rows or their values: {counted}")
    measured.rows = max((rows for rows, _ in counted.values()), default=0)


def _race(contenders: dict[str, tuple[str, int]], work: str, rounds: int, scale: float) -> Measured:
    dataset(WORKS[work].dataset, scale)  # made here once, not by every worker at the same time
    measured = Measured()
    workers: dict[str, Worker] = {}
    try:
        for name, (engine, threads) in contenders.items():
            try:
                workers[name] = Worker(engine, work, threads, scale)
                measured.versions[engine] = workers[name].version
            except EngineFailed as failure:
                measured.failures[name] = str(failure)
        race(workers, rounds, measured)
    finally:
        for worker in workers.values():
            worker.close()
    return measured


def compare_engines(
    work: str, rounds: int, threads: int = 2, scale: float | None = None, engines: tuple[str, ...] | None = None
) -> Measured:
    """Our time for a work beside those of its opponents."""
    known = (OURS, *WORKS[work].opponents)
    chosen = [engine for engine in known if engines is None or engine in engines]
    contenders = {engine: (engine, threads) for engine in chosen}
    return _race(contenders, work, rounds, default_scale() if scale is None else scale)


def compare_threads(work: str, rounds: int, scale: float | None = None) -> Measured:
    """Our time for a work with one thread and with two, under the names "1" and "2"."""
    contenders = {str(threads): (OURS, threads) for threads in (1, 2)}
    return _race(contenders, work, rounds, default_scale() if scale is None else scale)


def compare_floor(work: str, rounds: int, threads: int = 2, scale: float | None = None) -> Measured:
    """Our time for a filtered work beside the decompression of the pages of its columns, under the name FLOOR."""
    contenders = {engine: (engine, threads) for engine in (OURS, FLOOR)}
    return _race(contenders, work, rounds, default_scale() if scale is None else scale)
