"""No damage to a file ends in a crash, a hang, a wrong kind of error or a malformed result."""

from __future__ import annotations

import pickle
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.fuzz.mutate import KINDS, load_sources, rewrite
from tests.fuzz.worker import run_case
from tests.support import naive
from tests.support.corpus import corpus_root

SEED = 20260101
CASES = dict.fromkeys(KINDS, 5100) | {"cut": 1000}  # at least 20 000, a quarter of them of each kind
WORKERS = 2
FAILURES = 50  # of one worker: enough to see what is wrong
PATIENCE = 20.0  # seconds for one case
START = 300.0  # seconds until a worker is ready: every kernel may have to be compiled first
REPOSITORY = Path(__file__).resolve().parents[2]


class Watch:
    """One worker process after another, fed from a queue of cases; remembers what went wrong."""

    def __init__(self, sources: Path, cases: queue.SimpleQueue[tuple[int, str]], seed: int) -> None:
        self.sources, self.cases, self.seed = sources, cases, seed
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.failures: list[str] = []
        self.starts_in_vain = 0

    def run(self) -> None:
        while not self.cases.empty() and len(self.failures) < FAILURES and self.starts_in_vain < 2:
            self._one_process()

    def _one_process(self) -> None:
        command = [sys.executable, "-m", "tests.fuzz.worker", str(self.sources), str(self.seed)]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY
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
        kind, number = "", -1
        try:
            if self._next(lines, START) != "ready":
                raise RuntimeError("worker did not start")
            self.starts_in_vain = -1
            while len(self.failures) < FAILURES:
                try:
                    number, kind = self.cases.get_nowait()
                except queue.Empty:
                    return
                said = f"case {number} {kind}, while it was made"
                process.stdin.write(f"{number} {kind}\n")
                process.stdin.flush()
                said = self._next(lines, PATIENCE).removeprefix("start ")
                outcome = self._next(lines, PATIENCE).removeprefix("done ")
                self.outcomes[kind, outcome.split()[0]] += 1
                if outcome.startswith("failed"):
                    self._fail(said, outcome, number, kind)
        except TimeoutError:
            self.outcomes[kind, "failed"] += 1
            self._fail(said, f"hang: no answer in {PATIENCE:.0f} s", number, kind)
        except (RuntimeError, BrokenPipeError):
            process.wait()
            time.sleep(0.2)  # for the thread that collects what the process said last
            self.outcomes[kind, "failed"] += 1
            self._fail(said, f"process ended with {process.returncode}: {''.join(errors)[-500:]}", number, kind)
        finally:
            self.starts_in_vain += 1
            process.kill()
            process.wait()

    def _fail(self, said: str, what: str, number: int, kind: str) -> None:
        again = f'python -m tests.fuzz.worker --case {self.seed} {number} "{kind}"'
        self.failures.append(f"{said}\n    {what}\n    again: {again}")

    @staticmethod
    def _next(lines: queue.SimpleQueue[str | None], seconds: float) -> str:
        try:
            line = lines.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            raise RuntimeError("worker ended")
        return line


def run_cases(tmp_path: Path, counts: dict[str, int], seed: int) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Outcomes by kind, and failures with their reproducers."""
    sources = tmp_path / "sources.pickle"
    sources.write_bytes(pickle.dumps(load_sources()))
    cases: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()
    number = 0
    left = dict(counts)
    while any(left.values()):  # kinds take turns, so that a run that is cut short has seen all of them
        for kind in KINDS:
            if left[kind]:
                cases.put((number, kind))
                left[kind] -= 1
                number += 1
    watches = [Watch(sources, cases, seed) for _ in range(WORKERS)]
    threads = [threading.Thread(target=watch.run) for watch in watches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    outcomes: Counter[tuple[str, str]] = Counter()
    for watch in watches:
        outcomes += watch.outcomes
    return outcomes, [failure for watch in watches for failure in watch.failures]


def test_rewritten_files_hold_the_same_values() -> None:
    for source in load_sources():
        if source.plain is None or len(source.original.data) > 100_000:
            continue
        before = naive.decode(source.original.data)
        for form in (source.plain, source.checked, rewrite(source.original.data, uncompressed=False)):
            assert form is not None
            after = naive.decode(form.data)
            for index in range(len(before.leaves)):
                assert naive.same(before.entries(index), after.entries(index)), source.name


def test_honest_files_pass_the_checks_of_damaged_ones() -> None:
    for source in load_sources():
        if source.plain is None or source.checked is None:
            continue
        for form in (source.plain, source.checked, *([source.original] if source.checksums else [])):
            for number in (0, 7, 20):  # two threads and every terminal; one thread; one thread and every terminal
                outcome = run_case(form.data, number, False, None)
                assert outcome in ("ok", "unsupported"), f"{source.name}: {outcome}"


def test_twenty_thousand_mutations_neither_crash_nor_hang(tmp_path: Path) -> None:
    corpus_root()
    outcomes, failures = run_cases(tmp_path, CASES, SEED)
    for kind in KINDS:
        print(kind, {what: count for (where, what), count in sorted(outcomes.items()) if where == kind})
    if failures:
        pytest.fail(f"{len(failures)} failures\n" + "\n".join(failures))
    total = Counter[str]()
    for (kind, _), count in outcomes.items():
        total[kind] += count
    assert total == Counter(CASES)
    assert sum(total.values()) >= 20_000
    # The mutations do something: every kind leaves some files readable and breaks others.
    for kind in KINDS:
        assert outcomes[kind, "corrupt"] > 0
        assert outcomes[kind, "ok"] > 0
