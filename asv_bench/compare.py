"""Markdown tables of every work and engine: times, ratios, verdicts; threads, first batch, memory.

    python asv_bench/compare.py --rounds 7
    python asv_bench/compare.py --works numeric strings_view --no-extras
    python asv_bench/compare.py --works full            # filtered, checksums, lookups: the other tables
    python asv_bench/compare.py --grid --readme         # the selectivity grid too; into README.md, between its markers

The look-ups stand between markers of their own: `--works lookups --readme` leaves the other tables of README.md alone.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import weblog
from datasets import default_scale
from first_batch import SCRIPTS, first_batch_cold, first_batch_warm
from memory import STREAMS, peak_memory
from new_shape import new_shape_latency
from rotation import Measured, compare_engines, compare_floor, compare_threads
from selectivity import grid_summary, measure_grid
from works import (
    CHECKSUM_WORKS,
    FILTER_OPPONENTS,
    FILTERED_WORKS,
    FLOOR,
    FULL_WORKS,
    LOOKUP_WORKS,
    OPPONENTS,
    OURS,
    WORKS,
)

README = Path(__file__).resolve().parent.parent / "README.md"
# What README has between one pair of markers, <!-- NAME:begin --> and <!-- NAME:end -->.
BLOCKS = {"measured": ("full", "filtered", "checksums"), "lookups": ("lookups",)}
ENGINES = (OURS, *FILTER_OPPONENTS)
STRETCH = 1 / 1.2
FLOOR_WORK, FLOOR_BAR = "q6", 1.7
SECTIONS = {"full": FULL_WORKS, "filtered": FILTERED_WORKS, "checksums": CHECKSUM_WORKS, "lookups": LOOKUP_WORKS}
Results = dict[str, Measured]
CAPTIONS = {
    "full": "All rows:",
    "filtered": "Filtered:",
    "checksums": "Filtered, on files whose pages carry checksums, which we check and the others pass over:",
    "lookups": "Look-ups. With a warm footer every engine keeps what it can between two runs (pyarrow a data set, "
    "polars a lazy frame, duckdb its metadata cache, datafusion a registered table, we the footer cache); with a cold "
    "one none does:",
}


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


def spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def ratio_cells(ratio: float, bar: float) -> list[str]:
    return ["–" if ratio != ratio else f"{ratio:.2f}", verdict(ratio, bar)]


def work_row(name: str, measured: Measured, engines: tuple[str, ...]) -> list[str]:
    work = WORKS[name]
    cells = ["failed" if e in measured.failures else milliseconds(measured.milliseconds.get(e)) for e in engines]
    best = measured.best_opponent
    if best is not None:
        position = engines.index(best)
        cells[position] = f"**{cells[position]}**"
    return [work.title, spaced(measured.rows), *cells, *ratio_cells(our_ratio(measured), work.bar)]


def our_ratio(measured: Measured) -> float:
    """Ours / best opponent; nan without a result of ours."""
    return measured.ratio() if OURS in measured.milliseconds else float("nan")


def works_table(section: str, results: dict[str, Measured]) -> str:
    """The works of a section, and where they are filtered the geometric mean of their ratios."""
    filtered = section != "full"
    engines = ENGINES if filtered else (OURS, *OPPONENTS)
    rows = [work_row(name, measured, engines) for name, measured in results.items()]
    if filtered and len(rows) > 1:
        ratios = [our_ratio(measured) for measured in results.values()]
        # geometric_mean gives nan if one of them is nan: no mean of the works that happened to run.
        rows.append(["geometric mean", "", *[""] * len(engines), *ratio_cells(statistics.geometric_mean(ratios), 1.0)])
    return f"{CAPTIONS[section]}\n\n{table(['work', 'rows', *engines, 'ours / best', 'verdict'], rows)}"


def floor_line(rounds: int, threads: int, scale: float, failures: list[str]) -> str:
    """Our time for the Q6 filter beside the decompression of its pages alone."""
    measured = compare_floor(FLOOR_WORK, rounds, threads, scale)
    failures += [f"{OURS}: floor: {reason}" for reason in measured.failures.values()]
    floor = measured.milliseconds.get(FLOOR)
    ours = measured.milliseconds.get(OURS)
    shown = f"{ours / floor:.2f} times that (at most {FLOOR_BAR} wanted)" if ours and floor else "–"
    return (
        f"Decompressing the pages of the Q6 filter and doing nothing with them takes {milliseconds(floor)} ms with "
        f"{threads} threads; our scan takes {milliseconds(ours)} ms, {shown}."
    )


def attempt(run: Callable[[], float], failures: list[str]) -> float:
    """A number; or nan, and the reason is added to the failures."""
    try:
        return run()
    except RuntimeError as failure:
        failures.append(str(failure))
        return float("nan")


def whole(value: float) -> str:
    return "failed" if value != value else f"{value:.0f}"


def threads_table(names: list[str], rounds: int, scale: float, failures: list[str]) -> str:
    rows = []
    for name in names:
        measured = compare_threads(name, rounds, scale)
        failures += [f"{OURS}: {reason}" for reason in measured.failures.values()]
        one, two = measured.milliseconds.get("1"), measured.milliseconds.get("2")
        speedup = f"{one / two:.2f}" if one and two else "–"
        rows.append([WORKS[name].title, milliseconds(one), milliseconds(two), speedup])
    return table(["ours, ms", "1 thread", "2 threads", "speed-up"], rows)


def first_batch_table(chosen: set[str], rounds: int, scale: float, failures: list[str]) -> str:
    def warm(filtered: bool) -> list[str]:
        return [
            whole(attempt(partial(first_batch_warm, engine, rounds, scale, filtered=filtered), failures))
            for engine in SCRIPTS
        ]

    rows = []
    if "full" in chosen:
        cold = attempt(partial(first_batch_cold, scale), failures)
        rows += [["kernels on disk", *warm(False)], ["nothing on disk", whole(cold), *["–"] * (len(SCRIPTS) - 1)]]
    if "filtered" in chosen:
        rows.append(["filtered, kernels on disk", *warm(True)])
    return table(["fresh process to first batch, ms", *SCRIPTS], rows)


def new_shape_table(scale: float, failures: list[str]) -> str:
    try:
        latency = new_shape_latency(scale)
    except RuntimeError as failure:
        failures.append(str(failure))
        return "A shape never compiled before: failed."
    cells = (latency.new, latency.known, latency.delay, latency.until_fused, latency.compile, latency.load)
    header = ["first row, shape never compiled", "known shape", "delay", "until fused", "compiling one", "loading one"]
    return table([f"{word}, ms" for word in header], [[f"{cell:.1f}" for cell in cells]])


def memory_table(chosen: set[str], threads: int, scale: float, failures: list[str]) -> str:
    def peak(engine: str, file: str, filtered: bool) -> float:
        return peak_memory(engine, file, threads, scale, filtered=filtered)["peak"]

    rows = []
    for section, prefix in (("full", ""), ("filtered", "filtered: ")):
        if section not in chosen:
            continue
        filtered = section == "filtered"
        short = [attempt(partial(peak, engine, "short", filtered), failures) for engine in STREAMS]
        long = [attempt(partial(peak, engine, "long", filtered), failures) for engine in STREAMS]
        growth = ["–" if a != a or b != b else f"{b / a:.2f}" for a, b in zip(short, long, strict=True)]
        rows += [
            [f"{prefix}a file", *map(whole, short)],
            [f"{prefix}its rows four times over", *map(whole, long)],
            [f"{prefix}growth", *growth],
        ]
    return table(["batches(), peak anonymous memory, MiB", *STREAMS], rows)


def extra_tables(chosen: set[str], rounds: int, threads: int, scale: float, failures: list[str]) -> list[str]:
    """Threads, first batch and memory, for the sections that are measured."""
    names = ["numeric", "numeric_nullable", "strings"] if "full" in chosen else []
    names += [FLOOR_WORK] if "filtered" in chosen else []
    parts = [threads_table(names, rounds, scale, failures), first_batch_table(chosen, rounds, scale, failures)]
    if "filtered" in chosen:
        parts.append(new_shape_table(scale, failures))
    return [*parts, memory_table(chosen, threads, scale, failures)]


def chosen_works(words: list[str]) -> dict[str, list[str]]:
    """Sections to the works asked for by their own name or by that of a section, in the order of `WORKS`."""
    asked = {name for word in words for name in SECTIONS.get(word, {word: None})}
    chosen = {section: [name for name in works if name in asked] for section, works in SECTIONS.items()}
    return {section: names for section, names in chosen.items() if names}


def write_readme(block: str, text: str) -> None:
    """Put tables between the markers of their block in the README."""
    begin, end = f"<!-- {block}:begin -->", f"<!-- {block}:end -->"
    before, found_begin, rest = README.read_text().partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise SystemExit(f"{README} lacks the markers {begin} and {end}")
    README.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def warm_line(results: dict[str, Measured]) -> str | None:
    """Which look-ups are as fast as wanted beyond their bar."""
    asked = {name: measured for name, measured in results.items() if WORKS[name].wanted > 1}
    if not asked:
        return None
    reached = [name for name, measured in asked.items() if our_ratio(measured) * WORKS[name].wanted <= 1]
    missed = "; ".join(WORKS[name].title for name in asked if name not in reached)
    factor = max(WORKS[name].wanted for name in asked)
    text = f"With a warm footer we want to be {factor:g} times as fast as the best: {len(reached)} of {len(asked)} are"
    return f"{text}, not {missed}." if missed else f"{text}."


def lost_line(results: dict[str, dict[str, Measured]]) -> str:
    lost = [
        WORKS[name].title
        for works in results.values()
        for name, measured in works.items()
        if not our_ratio(measured) <= WORKS[name].bar  # no result is no win
    ]
    return f"Cases we do not win: {'; '.join(lost) or 'none of these'}."


def measure(names: list[str], given: argparse.Namespace, versions: dict[str, str], failures: list[str]) -> Results:
    """The works of one section; adds to the versions of the engines and to the failures."""
    results = {}
    for name in names:
        print(f"measuring {name} …", file=sys.stderr)
        measured = compare_engines(name, given.rounds, given.threads, given.scale, tuple(given.engines))
        results[name] = measured
        versions.update({e: version for e, version in measured.versions.items() if e in (OURS, *OPPONENTS)})
        failures += [f"{engine}: {name}: {reason}" for engine, reason in measured.failures.items()]
    return results


def block_text(sections: dict[str, list[str]], given: argparse.Namespace, failures: list[str]) -> str:
    """The tables of some sections, and what they were measured with."""
    versions: dict[str, str] = {}
    results = {section: measure(names, given, versions, failures) for section, names in sections.items()}
    named = ", ".join(f"{engine} {version}" for engine, version in versions.items())
    web_log = f" (web log: {spaced(int(weblog.ROWS * given.scale))} rows)" if sections.keys() - {"lookups"} else ""
    parts = [
        f"{machine()}; {named}.",
        f"Milliseconds, best of {given.rounds}, {given.threads} threads, TPC-H scale factor {given.scale:g}{web_log}, "
        "warm file cache, kernels compiled before; each engine in a process of its own, in turn; results are Arrow "
        "tables; best opponent bold.",
    ]
    ours = OURS in given.engines
    for section, measured_works in results.items():
        parts.append(works_table(section, measured_works))
        if ours and FLOOR_WORK in measured_works:
            parts.append(floor_line(given.rounds, given.threads, given.scale, failures))
        wanted = warm_line(measured_works)
        if ours and wanted is not None:
            parts.append(wanted)
    if given.grid and "lookups" not in sections:
        print("measuring the selectivity grid …", file=sys.stderr)
        parts.append(grid_summary(measure_grid(threads=given.threads, scale=given.scale)))
    if not given.no_extras and sections.keys() & {"full", "filtered"}:
        print("measuring threads, first batch, memory …", file=sys.stderr)
        parts += extra_tables(set(sections), given.rounds, given.threads, given.scale, failures)
    return "\n\n".join([*parts, lost_line(results)] if ours else parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--works", nargs="+", choices=[*SECTIONS, *WORKS], default=list(SECTIONS), metavar="WORK")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES), metavar="ENGINE")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--scale", type=float, default=default_scale(), help="TPC-H scale factor of the data")
    parser.add_argument("--no-extras", action="store_true", help="leave out threads, first batch and memory")
    parser.add_argument("--grid", action="store_true", help="also run the selectivity grid")
    parser.add_argument("--readme", action="store_true", help="also write the tables into README.md")
    given = parser.parse_args()

    chosen = chosen_works(given.works)
    failures: list[str] = []
    for block, members in BLOCKS.items():
        sections = {section: chosen[section] for section in members if section in chosen}
        if not sections:
            continue
        text = block_text(sections, given, failures)
        print(text, end="\n\n")
        if given.readme:
            write_readme(block, text)
    for failure in failures:
        print(failure, file=sys.stderr)
    # Our own failure is an error; a lost comparison is a result.
    return 1 if any(failure.startswith(OURS) for failure in failures) else 0


if __name__ == "__main__":
    raise SystemExit(main())
