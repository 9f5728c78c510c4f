"""Long runs: `python -m tests.fuzz --count 100000`, or as long as wanted with `--minutes`.

Damaged files are read by two worker processes with limits of memory and time. `--boundscheck` has every index inside
kernels checked, with kernels in a cache folder of their own. `--coverage` runs the kernels as Python, steered by what
they reach, and needs the package atheris. Inputs that end as none may end are written to the folder of `--keep`.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.mutate import KINDS, load_sources
from tests.fuzz.runner import Outcomes, Turns, checked_kernels, keep, run_cases, shares
from tests.support.corpus import WHERE, find_corpus

OUTCOMES = ("ok", "corrupt", "unsupported", "failed")


def table_of(outcomes: Counter[tuple[str, str]]) -> str:
    """Counts by what was damaged and what came of it."""
    width = max(len(kind) for kind in KINDS)
    lines = [" " * width + "".join(f"{name:>13}" for name in OUTCOMES) + f"{'all':>13}"]
    for kind in [*KINDS, "all"]:
        counts = [
            sum(count for (where, what), count in outcomes.items() if what == name and kind in (where, "all"))
            for name in OUTCOMES
        ]
        lines.append(f"{kind:<{width}}" + "".join(f"{count:>13,}" for count in [*counts, sum(counts)]))
    return "\n".join(lines)


def mutational(options: argparse.Namespace, count: int | None, seed: int) -> int:
    started = time.monotonic()
    shown = 0.0
    told = 0  # failures

    def tell(outcomes: Outcomes) -> None:
        """Failures as soon as they are known: a long run may be ended by somebody else."""
        nonlocal told
        fresh = outcomes.failures[told:]
        told += len(fresh)
        for failure in fresh:
            print(failure, flush=True)
        if options.keep is not None and fresh:
            for path in keep(fresh, sources, seed, options.keep):
                print(f"kept {path}", flush=True)

    def report(outcomes: Outcomes) -> None:
        nonlocal shown
        tell(outcomes)
        now = time.monotonic()
        is_terminal = sys.stderr.isatty()
        if now - shown < (1 if is_terminal else 30):
            return
        shown = now
        total, passed = outcomes.total, now - started
        of = f" of {count:,}" if count is not None else ""
        text = f"{total:,} inputs{of}, {len(outcomes.failures)} failures, {passed:.0f} s, {total / passed:.0f}/s"
        print(f"\r{text}\033[K" if is_terminal else text, end="" if is_terminal else "\n", file=sys.stderr, flush=True)

    sources = load_sources()
    with tempfile.TemporaryDirectory() as place:
        environment = checked_kernels() if options.boundscheck else {}
        turns = Turns(shares(count, options.first), None if options.minutes is None else options.minutes * 60)
        outcomes = run_cases(sources, turns, seed, Path(place), environment, report)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    tell(outcomes)
    checked = ", bounds checked" if options.boundscheck else ""
    print(f"seed {seed}, first case {options.first}, {time.monotonic() - started:.0f} s{checked}")
    print(table_of(outcomes.counts))
    return 1 if outcomes.failures else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, help="inputs to read (default: 20000, or no limit with --minutes)")
    parser.add_argument("--minutes", type=float, help="stop after this time")
    parser.add_argument("--seed", type=int, help="the same seed gives the same inputs (default: a random one)")
    parser.add_argument("--first", type=int, default=0, help="number of the first input: goes on where a run ended")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where found inputs are written")
    parser.add_argument("--boundscheck", action="store_true", help="kernels check every index (slower)")
    parser.add_argument("--coverage", action="store_true", help="steered by coverage, kernels without JIT")
    parser.add_argument("--target", help="with --coverage: only this target")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 31)
    if options.coverage:
        from tests.fuzz.coverage import run_targets

        return run_targets(options.minutes or 1.0, seed, options.keep, options.target)
    if find_corpus() is None:
        print(WHERE, file=sys.stderr)
        return 2
    count = 20_000 if options.count is None and options.minutes is None else options.count
    return mutational(options, count, seed)


if __name__ == "__main__":
    sys.exit(main())
