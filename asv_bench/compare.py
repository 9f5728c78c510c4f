"""Markdown tables of every work and engine: times, ratios, verdicts; threads, first batch, memory.

    python asv_bench/compare.py --rounds 7
    python asv_bench/compare.py --works numeric strings_view --no-extras
    python asv_bench/compare.py --readme      # writes the tables into README.md, between its markers
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from datasets import default_scale
from first_batch import SCRIPTS, first_batch_cold, first_batch_warm
from memory import STREAMS, peak_memory
from rotation import Measured, compare_engines, compare_threads
from works import OPPONENTS, OURS, WORKS

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- measured:begin -->", "<!-- measured:end -->"
ENGINES = (OURS, *OPPONENTS)
STRETCH = 1 / 1.2


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def verdict(ratio: float, bar: float) -> str:
    """What a ratio ours / best opponent means for its bar."""
    if ratio != ratio:
        return "no result"
    if ratio <= bar * STRETCH:
        return f"{1 / ratio:.2f}x faster"
    return "as fast" if ratio <= bar else f"{ratio:.2f}x slower"


def milliseconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 20 else f"{value:.2f}"


def machine() -> str:
    """What the numbers were measured on, and when."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return f"{model}, {os.cpu_count()} CPUs, Python {platform.python_version()}, {today}"


def work_row(name: str, measured: Measured) -> list[str]:
    work = WORKS[name]
    ratio = measured.ratio() if OURS in measured.milliseconds else float("nan")
    cells = ["failed" if e in measured.failures else milliseconds(measured.milliseconds.get(e)) for e in ENGINES]
    best = measured.best_opponent
    if best is not None:
        position = ENGINES.index(best)
        cells[position] = f"**{cells[position]}**"
    shown = "–" if ratio != ratio else f"{ratio:.2f}"
    return [work.title, f"{measured.rows:,}".replace(",", " "), *cells, shown, verdict(ratio, work.bar)]


def attempt(run: Callable[[], float], failures: list[str]) -> float:
    """A number; or nan, and the reason is added to the failures."""
    try:
        return run()
    except RuntimeError as failure:
        failures.append(str(failure))
        return float("nan")


def whole(value: float) -> str:
    return "failed" if value != value else f"{value:.0f}"


def threads_table(rounds: int, scale: float, failures: list[str]) -> str:
    rows = []
    for name in ("numeric", "numeric_nullable", "strings"):
        measured = compare_threads(name, rounds, scale)
        failures += [f"{OURS}: {reason}" for reason in measured.failures.values()]
        one, two = measured.milliseconds.get("1"), measured.milliseconds.get("2")
        speedup = f"{one / two:.2f}" if one and two else "–"
        rows.append([WORKS[name].title, milliseconds(one), milliseconds(two), speedup])
    return table(["ours, ms", "1 thread", "2 threads", "speed-up"], rows)


def first_batch_table(rounds: int, scale: float, failures: list[str]) -> str:
    warm = [attempt(partial(first_batch_warm, engine, rounds, scale), failures) for engine in SCRIPTS]
    cold = attempt(partial(first_batch_cold, scale), failures)
    rows = [["kernels on disk", *map(whole, warm)], ["nothing on disk", whole(cold), *["–"] * (len(SCRIPTS) - 1)]]
    return table(["fresh process to first batch, ms", *SCRIPTS], rows)


def memory_table(threads: int, scale: float, failures: list[str]) -> str:
    def peak(engine: str, file: str) -> float:
        return peak_memory(engine, file, threads, scale)["peak"]

    short = [attempt(partial(peak, engine, "short"), failures) for engine in STREAMS]
    long = [attempt(partial(peak, engine, "long"), failures) for engine in STREAMS]
    growth = ["–" if a != a or b != b else f"{b / a:.2f}" for a, b in zip(short, long, strict=True)]
    rows = [["a file", *map(whole, short)], ["its rows four times over", *map(whole, long)], ["growth", *growth]]
    return table(["batches(), peak anonymous memory, MiB", *STREAMS], rows)


def write_readme(text: str) -> None:
    """Put the tables between the markers of the README."""
    before, begin, rest = README.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{README} lacks the markers {BEGIN} and {END}")
    README.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--works", nargs="+", choices=WORKS, default=list(WORKS), metavar="WORK")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES), metavar="ENGINE")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--scale", type=float, default=default_scale(), help="TPC-H scale factor of the data")
    parser.add_argument("--no-extras", action="store_true", help="leave out threads, first batch and memory")
    parser.add_argument("--readme", action="store_true", help="also write the tables into README.md")
    given = parser.parse_args()

    rows: list[list[str]] = []
    versions: dict[str, str] = {}
    failures: list[str] = []
    late: list[str] = []
    for name in given.works:
        print(f"measuring {name} …", file=sys.stderr)
        measured = compare_engines(name, given.rounds, given.threads, given.scale, tuple(given.engines))
        rows.append(work_row(name, measured))
        versions.update(measured.versions)
        failures += [f"{engine}: {name}: {reason}" for engine, reason in measured.failures.items()]
        if OURS not in measured.milliseconds or not measured.ratio() <= WORKS[name].bar:  # no result is no win
            late.append(name)
    named = ", ".join(f"{engine} {version}" for engine, version in versions.items())
    parts = [
        f"{machine()}; {named}.",
        f"Milliseconds, best of {given.rounds}, {given.threads} threads, TPC-H scale factor {given.scale:g}, warm "
        "file cache; each engine in a process of its own, in turn; results are Arrow tables; best opponent bold.",
        table(["work", "rows", *ENGINES, "ours / best", "verdict"], rows),
    ]
    if not given.no_extras:
        print("measuring threads, first batch, memory …", file=sys.stderr)
        parts.append(threads_table(given.rounds, given.scale, failures))
        parts.append(first_batch_table(given.rounds, given.scale, failures))
        parts.append(memory_table(given.threads, given.scale, failures))
    lost = "; ".join(WORKS[name].title for name in late)
    parts.append(f"Cases we do not win: {lost}." if late else "Cases we do not win: none of these.")
    text = "\n\n".join(parts)
    print(text)
    for failure in failures:
        print(failure, file=sys.stderr)
    if given.readme:
        write_readme(text)
    # Our own failure is an error; a lost comparison is a result.
    return 1 if any(failure.startswith(OURS) for failure in failures) else 0


if __name__ == "__main__":
    raise SystemExit(main())
