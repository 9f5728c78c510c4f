"""Markdown tables of every work and engine: times, ratios, verdicts; threads, first batch, memory.

    python asv_bench/compare.py --rounds 7
    python asv_bench/compare.py --works numeric strings_view --no-extras
    python asv_bench/compare.py --works full            # filtered, checksums, lookups: the other tables
    python asv_bench/compare.py --grid --readme         # the selectivity grid too; into README.md, between its markers
    python asv_bench/compare.py --from asv_bench/figures/compare.json --readme      # tables and plot again, unmeasured

`--readme` adds what was measured to figures/compare.json, work by work, and makes the tables of README.md and the plot
figures/compare.svg from that file: a run of some works renews these and leaves the others as they are.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import statistics
import sys
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import weblog
from compare_plot import plot_svg
from datasets import default_scale
from first_batch import SCRIPTS, first_batch_cold, first_batch_warm
from memory import STREAMS, peak_memory
from new_shape import new_shape_latency
from results import Conditions, OtherScale, Store
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
FIGURES = Path(__file__).resolve().parent / "figures"
RESULTS, PLOT = FIGURES / "compare.json", FIGURES / "compare.svg"
# What README has between one pair of markers, <!-- NAME:begin --> and <!-- NAME:end -->.
BLOCKS = {"measured": ("full", "filtered", "checksums"), "lookups": ("lookups",)}
ENGINES = (OURS, *FILTER_OPPONENTS)
STRETCH = 1 / 1.2
FLOOR_WORK, FLOOR_BAR = "q6", 1.7
SECTIONS = {"full": FULL_WORKS, "filtered": FILTERED_WORKS, "checksums": CHECKSUM_WORKS, "lookups": LOOKUP_WORKS}
# Lines and tables beside those of the works, in the order of README.
EXTRAS = ("grid", "threads", "first batch", "new shape", "memory")
PLOT_CAPTIONS = {
    "full": "All rows",
    "filtered": "Filtered",
    "checksums": "Filtered, pages with checksums",
    "lookups": "Look-ups",
}
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
    """What the numbers were measured on."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} CPUs, Python {platform.python_version()}"


def conditions(given: argparse.Namespace) -> Conditions:
    """How this run measures."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return Conditions(machine(), today, given.rounds, given.threads, given.scale)


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


def extra_tables(chosen: set[str], rounds: int, threads: int, scale: float, failures: list[str]) -> dict[str, str]:
    """Threads, first batch and memory, for the sections that are measured."""
    names = ["numeric", "numeric_nullable", "strings"] if "full" in chosen else []
    names += [FLOOR_WORK] if "filtered" in chosen else []
    parts = {
        "threads": threads_table(names, rounds, scale, failures),
        "first batch": first_batch_table(chosen, rounds, scale, failures),
    }
    if "filtered" in chosen:
        parts["new shape"] = new_shape_table(scale, failures)
    return {**parts, "memory": memory_table(chosen, threads, scale, failures)}


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


def conditions_lines(store: Store, works: Sequence[str]) -> list[str]:
    """What works were measured with, and how; where they differ, all of it."""
    versions: dict[str, dict[str, None]] = {}
    for name in works:
        for engine, version in store.works[name].versions.items():
            if engine in (OURS, *OPPONENTS):
                versions.setdefault(engine, {})[version] = None
    named = ", ".join(f"{engine} {' and '.join(found)}" for engine, found in versions.items())
    distinct = list(dict.fromkeys(store.conditions[name] for name in works))
    first = distinct[0]
    dates = sorted({way.date for way in distinct})
    rounds = sorted({way.rounds for way in distinct})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    best_of = str(rounds[0]) if len(rounds) == 1 else f"{rounds[0]} to {rounds[-1]}"
    machines = " and ".join(dict.fromkeys(way.machine for way in distinct))
    threads = " or ".join(dict.fromkeys(str(way.threads) for way in distinct))
    is_lookup = all(name in LOOKUP_WORKS for name in works)
    web_log = "" if is_lookup else f" (web log: {spaced(int(weblog.ROWS * first.scale))} rows)"
    return [
        f"{machines}, {when}; {named}.",
        f"Milliseconds, best of {best_of}, {threads} threads, TPC-H scale factor {first.scale:g}{web_log}, warm file "
        "cache, kernels compiled before; each engine in a process of its own, in turn; results are Arrow tables; best "
        "opponent bold.",
    ]


def measure(sections: dict[str, list[str]], given: argparse.Namespace, store: Store, failures: list[str]) -> None:
    """The works of some sections and what goes with them, into the store; adds to the failures."""
    way = conditions(given)
    for name in (name for names in sections.values() for name in names):
        print(f"measuring {name} …", file=sys.stderr)
        measured = compare_engines(name, given.rounds, given.threads, given.scale, tuple(given.engines))
        store.add(name, measured, way)
        failures += [f"{engine}: {name}: {reason}" for engine, reason in measured.failures.items()]
        if OURS in given.engines and name == FLOOR_WORK:
            store.note("floor", floor_line(given.rounds, given.threads, given.scale, failures))
    if given.grid and sections.keys() - {"lookups"}:
        print("measuring the selectivity grid …", file=sys.stderr)
        store.note("grid", grid_summary(measure_grid(threads=given.threads, scale=given.scale)))
    if not given.no_extras and sections.keys() & {"full", "filtered"}:
        print("measuring threads, first batch, memory …", file=sys.stderr)
        for name, text in extra_tables(set(sections), given.rounds, given.threads, given.scale, failures).items():
            store.note(name, text)


def block_text(sections: dict[str, list[str]], store: Store) -> str:
    """The tables of some sections, and what they were measured with."""
    parts = conditions_lines(store, [name for names in sections.values() for name in names])
    results = {section: {name: store.works[name] for name in names} for section, names in sections.items()}
    ours = any(OURS in measured.milliseconds for works in results.values() for measured in works.values())
    for section, measured_works in results.items():
        parts.append(works_table(section, measured_works))
        if FLOOR_WORK in measured_works and "floor" in store.notes:
            parts.append(store.notes["floor"])
        wanted = warm_line(measured_works)
        if ours and wanted is not None:
            parts.append(wanted)
    if sections.keys() & {"full", "filtered"}:
        parts += [store.notes[name] for name in EXTRAS if name in store.notes]
    return "\n\n".join([*parts, lost_line(results)] if ours else parts)


def blocks_of(names: Collection[str]) -> dict[str, dict[str, list[str]]]:
    """Blocks of README with those of their sections and works that are named."""
    sections = chosen_works(list(names))
    found = {
        block: {section: sections[section] for section in members if section in sections}
        for block, members in BLOCKS.items()
    }
    return {block: members for block, members in found.items() if members}


def write_plot(store: Store, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    sections = {PLOT_CAPTIONS[section]: names for section, names in chosen_works(list(store.works)).items()}
    path.write_text(plot_svg(sections, store), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--works", nargs="+", choices=[*SECTIONS, *WORKS], default=list(SECTIONS), metavar="WORK")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES), metavar="ENGINE")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--scale", type=float, default=default_scale(), help="TPC-H scale factor of the data")
    parser.add_argument("--no-extras", action="store_true", help="leave out threads, first batch and memory")
    parser.add_argument("--grid", action="store_true", help="also run the selectivity grid")
    parser.add_argument("--save", type=Path, metavar="FILE", help="add the results to those of this file (JSON)")
    parser.add_argument("--from", type=Path, metavar="FILE", dest="source", help="measure nothing, show this file")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="also draw the results (SVG)")
    parser.add_argument("--readme", action="store_true", help="save, plot, and write the tables of README.md")
    given = parser.parse_args()
    if given.readme and set(given.engines) != set(ENGINES):
        parser.error("--readme needs all engines: a table without one of them would look like a table of all")

    saved = given.save or (RESULTS if given.readme and given.source is None else None)
    failures: list[str] = []
    try:
        store = Store.read(given.source or saved, None if given.source else given.scale)
    except OtherScale as other:
        parser.error(f"{other}; keep them apart with --save FILE")
    asked = {name for names in chosen_works(given.works).values() for name in names}
    if given.source is None:
        store.path = saved
        for sections in blocks_of(asked).values():
            measure(sections, given, store, failures)
    # A table of README has all works that are known of its block, whichever run measured them.
    touched = blocks_of(asked & store.works.keys())
    shown = {b: s for b, s in blocks_of(store.works).items() if b in touched} if given.readme else touched
    for block, sections in shown.items():
        text = block_text(sections, store)
        print(text, end="\n\n")
        if given.readme:
            write_readme(block, text)
    plot = given.plot or (PLOT if given.readme else None)
    if plot is not None and store.works:
        write_plot(store, plot)
    for failure in failures:
        print(failure, file=sys.stderr)
    # Our own failure is an error; a lost comparison is a result.
    return 1 if any(failure.startswith(OURS) for failure in failures) else 0


if __name__ == "__main__":
    raise SystemExit(main())
