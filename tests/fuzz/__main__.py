"""Long runs: `python -m tests.fuzz --count 100000`, or as long as wanted with `--minutes`.

Damaged files are read by two worker processes with limits of memory and time. `--boundscheck` has every index inside
kernels checked, with kernels in a cache folder of their own. `--coverage` runs the kernels as Python, steered by what
they reach, and needs the package atheris. Inputs that end as none may end are written to the folder of `--keep`.

In parts: `--count 1000000 --seed 1 --minutes 30 --state FILE`, again and again; each run goes on where the last one
ended, until there are so many.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.mutate import KINDS, load_sources
from tests.fuzz.runner import Outcomes, Turns, checked_kernels, keep, run_cases, shares
from tests.support.corpus import WHERE, find_corpus
from tests.support.readme import duration, write_block

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


class Tally:
    """What came of the inputs of one seed so far, kept in a file between runs."""

    def __init__(self, path: Path | None, seed: int | None, *, is_checked: bool) -> None:
        self.path, self.is_checked = path, is_checked
        self.seed = seed if seed is not None else random.SystemRandom().randrange(1 << 31)
        self.seconds = 0.0
        self.counts: Counter[tuple[str, str]] = Counter()
        if path is not None and path.exists():
            data = json.loads(path.read_text())
            if seed not in (None, data["seed"]) or data["boundscheck"] != is_checked:
                raise SystemExit(f"{path} is of seed {data['seed']}, boundscheck {data['boundscheck']}: another run")
            self.seed, self.seconds = data["seed"], data["seconds"]
            self.counts.update({(kind, what): count for kind, what, count in data["counts"]})

    @property
    def total(self) -> int:
        """Inputs that were read; a worker that does not start has read none."""
        return sum(count for (kind, _), count in self.counts.items() if kind in KINDS)

    @property
    def failed(self) -> int:
        return sum(count for (_, what), count in self.counts.items() if what == "failed")

    def add(self, counts: Counter[tuple[str, str]], seconds: float) -> None:
        self.counts.update(counts)
        self.seconds += seconds
        if self.path is not None:
            rows = [[kind, what, count] for (kind, what), count in sorted(self.counts.items())]
            data = {"seed": self.seed, "boundscheck": self.is_checked, "seconds": self.seconds, "counts": rows}
            self.path.write_text(json.dumps(data))

    def readme_text(self) -> str:
        """What README says about it."""
        by_outcome: Counter[str] = Counter()
        for (kind, what), count in self.counts.items():
            by_outcome[what] += count if kind in KINDS else 0
        checked = " --boundscheck" if self.is_checked else ""
        return (
            f"{dt.datetime.now(dt.UTC).date()}, seed {self.seed}, {duration(self.seconds)}: **{self.total:,} damaged "
            f"files, {self.failed:,} crashes, hangs or wrong results**; {by_outcome['corrupt']:,} ended in "
            f"`CorruptFileError`, {by_outcome['unsupported']:,} in `UnsupportedError`, {by_outcome['ok']:,} were read"
            f"{', every index inside kernels checked' if checked else ''}. Again: "
            f"`python -m tests.fuzz --count {self.total} --seed {self.seed}{checked} --readme`."
        )


def mutational(options: argparse.Namespace, count: int | None, tally: Tally) -> int:
    seed, first = tally.seed, options.first + tally.total
    count = count if count is None else max(count - tally.total, 0)
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
        turns = Turns(shares(count, first), None if options.minutes is None else options.minutes * 60)
        outcomes = run_cases(sources, turns, seed, Path(place), environment, report)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    tell(outcomes)
    checked = ", bounds checked" if options.boundscheck else ""
    print(f"seed {seed}, first case {first}, {time.monotonic() - started:.0f} s{checked}")
    tally.add(outcomes.counts, time.monotonic() - started)
    print(table_of(tally.counts))
    if options.readme:
        write_block("fuzz", tally.readme_text())
    return 1 if tally.failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, help="inputs to read (default: 20000, or no limit with --minutes)")
    parser.add_argument("--minutes", type=float, help="stop after this time")
    parser.add_argument("--seed", type=int, help="the same seed gives the same inputs (default: a random one)")
    parser.add_argument("--first", type=int, default=0, help="number of the first input: goes on where a run ended")
    parser.add_argument("--state", type=Path, help="add to the counts of this file and go on behind its inputs")
    parser.add_argument("--readme", action="store_true", help="also write the figures into README.md")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where found inputs are written")
    parser.add_argument("--boundscheck", action="store_true", help="kernels check every index (slower)")
    parser.add_argument("--coverage", action="store_true", help="steered by coverage, kernels without JIT")
    parser.add_argument("--target", help="with --coverage: only this target")
    options = parser.parse_args()
    tally = Tally(options.state, options.seed, is_checked=options.boundscheck)
    if options.coverage:
        from tests.fuzz.coverage import run_targets

        return run_targets(options.minutes or 1.0, tally.seed, options.keep, options.target)
    if find_corpus() is None:
        print(WHERE, file=sys.stderr)
        return 2
    count = 20_000 if options.count is None and options.minutes is None else options.count
    return mutational(options, count, tally)


if __name__ == "__main__":
    sys.exit(main())
