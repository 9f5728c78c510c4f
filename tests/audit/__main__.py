"""`python -m tests.audit --seed 0 --report FILE`: runs the whole audit and writes its table as Markdown.

With `--state FILE` it may be done in parts: each run, of some `--minutes`, goes on where the last one ended.
"""

from __future__ import annotations

import argparse
import datetime as dt
import pickle
import sys
import time
from collections import Counter
from pathlib import Path

from tests.audit.matrix import OPERATORS, TYPES
from tests.audit.run import IN_SPARK, WHOLE, Results, Unit, all_units, run_all
from tests.support.readme import duration, write_block

SHOWN_MISMATCHES = 50


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(row) + " |" for row in (header, ["---"] + ["---:"] * (len(header) - 1), *rows)]
    return [*lines, ""]


def of_counter(title: str, counter: Counter[str]) -> list[str]:
    return table([title, "cells"], [[name, f"{count:,}"] for name, count in sorted(counter.items())])


def entry(results: Results, key: tuple[str, str]) -> str:
    """Cells of one type and operator: how many, of which refused, of which wrong."""
    cells, refusals, wrong = results.cells[key], results.refusals[key], results.mismatches[key]
    if not cells:
        return ""
    return f"{cells}" + (f" / {refusals}" if refusals else "") + (f" **{wrong} wrong**" if wrong else "")


def report(results: Results, seed: int, seconds: float, share: float) -> str:
    wrong = sum(results.mismatches.values())
    literals: dict[str, Counter[str]] = {}
    for (kind, what), count in results.literals.items():
        literals.setdefault(kind, Counter())[what] += count
    pairs = sorted({name for name, _ in results.cells if name not in TYPES})
    rest: list[list[str]] = []
    for name in pairs:
        keys = [key for key in results.cells if key[0] == name]
        counts = (sum(one[key] for key in keys) for one in (results.cells, results.refusals, results.mismatches))
        rest.append([name, *(f"{count:,}" for count in counts)])
    command = f"python -m tests.audit --seed {seed}" + (f" --share {share}" if share != 1 else "")
    lines = [
        "# Predicate audit",
        "",
        f"{dt.datetime.now(dt.UTC).date()}, seed {seed}, {seconds:.0f} s: `{command} --report FILE` writes this page.",
        "Every cell is one predicate on one file read in one way, compared with an oracle that shares no code with the",
        "planner (`tests/audit/oracle.py`). Every refusal is checked for its class and for naming column and literal.",
        "",
        *table(
            ["figure", "count"],
            [
                ["cells", f"{sum(results.cells.values()):,}"],
                ["distinct (type, operator, layout)", f"{len(results.triples):,}"],
                ["refusals, as wanted", f"{sum(results.refusals.values()):,}"],
                ["mismatches", f"{wrong:,}"],
                ["files", f"{results.files:,}"],
                ["rows returned", f"{results.matching_rows:,}"],
                ["cells on generated kernels", f"{results.kernels['fused']:,}"],
                ["cells on kernels of whole row groups", f"{results.kernels[WHOLE]:,}"],
                ["cells in Spark's workers", f"{results.kernels[IN_SPARK]:,}"],
                ["generated kernels", f"{len(results.fused_shapes):,}"],
            ],
        ),
        "## Types and operators",
        "",
        "Cells; behind the stroke those that were refused. `raw_` is `col(...).raw`, `not_` is `~`; `and`, `or` join",
        "the test with one on another column.",
        "",
        *table(
            ["type", *(f"`{operator}`" for operator in OPERATORS)],
            [[name, *(entry(results, (name, operator)) for operator in OPERATORS)] for name in TYPES],
        ),
        "## Lists and pairs of columns",
        "",
        *table(["columns", "cells", "refused", "mismatches"], rest),
        "## Literals",
        "",
        *table(
            ["kind", "answered", "refused"],
            [[kind, f"{found['answered']:,}", f"{found['refused']:,}"] for kind, found in sorted(literals.items())],
        ),
        "## Ways to read",
        "",
        *of_counter("way", results.paths),
        "## Nullability",
        "",
        *of_counter("column", results.nullabilities),
        "## Layouts",
        "",
        "Writer, row groups, dictionary, page index, bloom filter, version of data pages.",
        "",
        *of_counter("layout", results.layouts),
    ]
    if wrong:
        lines += ["## Mismatches", "", *(f"- {line}" for line in results.lines[:SHOWN_MISMATCHES]), ""]
    return "\n".join(lines)


def readme_text(results: Results, seed: int, seconds: float, share: float, done: int, units: int) -> str:
    """What README says about a run; a run in parts or of a share says so."""
    cells, wrong = sum(results.cells.values()), sum(results.mismatches.values())
    command = f"python -m tests.audit --seed {seed}" + (f" --share {share}" if share != 1 else "") + " --readme"
    missing = [f"{done} of {units} units"] if done < units else []
    missing += [f"a share of {share:g} of the layouts"] if share != 1 else []
    part = f" Not all of it: {', '.join(missing)}." if missing else ""
    in_spark = f", {results.kernels[IN_SPARK]:,} in Spark's workers" if results.kernels[IN_SPARK] else ", none in Spark"
    return (
        f"{dt.datetime.now(dt.UTC).date()}, seed {seed}, {duration(seconds)}: **{cells:,} cells, {wrong:,} "
        "mismatches**; "
        f"{len(results.triples):,} combinations of type, operator and layout, {results.files:,} files, "
        f"{sum(results.refusals.values()):,} refusals, {results.kernels['fused']:,} cells on "
        f"{len(results.fused_shapes):,} generated kernels, {results.kernels[WHOLE]:,} on those of whole row groups"
        f"{in_spark}.{part} Again: `{command}`."
    )


class State:
    """Results of finished units, kept in a file between runs. It knows nothing of changes of the code."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.seconds = 0.0  # of earlier runs
        self.units: dict[Unit, Results] = {}
        if path is not None and path.exists():
            self.seconds, self.units = pickle.loads(path.read_bytes())

    def write(self, seconds: float) -> None:
        """Keep what is done, and the time of this run."""
        if self.path is not None:
            fresh = self.path.with_suffix(".new")
            fresh.write_bytes(pickle.dumps((self.seconds + seconds, self.units)))
            fresh.replace(self.path)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.audit", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", type=Path, help="where the Markdown goes; without it only figures are printed")
    parser.add_argument("--readme", action="store_true", help="also write the figures into README.md")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minutes", type=float, help="begin nothing after this time")
    parser.add_argument("--state", type=Path, help="keep finished units there and go on; delete it when code changes")
    parser.add_argument("--share", type=float, default=1.0, help="of the layouts of each type, such as 0.1")
    given = parser.parse_args()
    state = State(given.state)
    units = all_units(given.seed, given.share)
    results = Results()
    for unit in units:
        results.add(state.units.get(unit, Results()))
    left = [unit for unit in units if unit not in state.units]
    before = len(units) - len(left)
    started = time.perf_counter()

    def note(unit: Unit, found: Results) -> None:
        state.units[unit] = found
        state.write(time.perf_counter() - started)

    def tell(done: int, now: Results) -> None:
        if sys.stderr.isatty() or done % 10 == 0 or done == len(left):
            cells = sum(results.cells.values()) + sum(now.cells.values())
            wrong = sum(results.mismatches.values()) + sum(now.mismatches.values())
            print(f"{before + done} of {len(units)} units, {cells:,} cells, {wrong:,} mismatches", file=sys.stderr)

    results.add(run_all(left, given.processes, tell, note, None if given.minutes is None else given.minutes * 60))
    seconds = time.perf_counter() - started + state.seconds
    done = sum(unit in state.units for unit in units)
    if given.report is not None:
        given.report.parent.mkdir(parents=True, exist_ok=True)
        given.report.write_text(report(results, given.seed, seconds, given.share), encoding="utf-8")
    if given.readme:
        write_block("audit", readme_text(results, given.seed, seconds, given.share, done, len(units)))
    for line in results.lines[:SHOWN_MISMATCHES]:
        print(line)
    print(
        f"{sum(results.cells.values()):,} cells, {len(results.triples):,} triples, "
        f"{sum(results.refusals.values()):,} refusals, {sum(results.mismatches.values()):,} mismatches, {seconds:.0f} s"
        + ("" if done == len(units) else f"; {done} of {len(units)} units")
    )
    return 1 if results.mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
