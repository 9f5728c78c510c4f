"""`python -m tests.audit --seed 0 --report FILE`: runs the whole audit and writes its table as Markdown."""

from __future__ import annotations

import argparse
import datetime as dt
import sys
import time
from collections import Counter
from pathlib import Path

from tests.audit.matrix import OPERATORS, TYPES
from tests.audit.run import Results, all_units, run_all

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


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.audit", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", type=Path, help="where the Markdown goes; without it only figures are printed")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--share", type=float, default=1.0, help="of the layouts of each type, such as 0.1")
    given = parser.parse_args()
    units = all_units(given.seed, given.share)
    started = time.perf_counter()

    def tell(done: int, results: Results) -> None:
        if sys.stderr.isatty() or done % 10 == 0 or done == len(units):
            cells, wrong = sum(results.cells.values()), sum(results.mismatches.values())
            print(f"{done} of {len(units)} units, {cells:,} cells, {wrong:,} mismatches", file=sys.stderr)

    results = run_all(units, given.processes, tell)
    seconds = time.perf_counter() - started
    if given.report is not None:
        given.report.parent.mkdir(parents=True, exist_ok=True)
        given.report.write_text(report(results, given.seed, seconds, given.share), encoding="utf-8")
    for line in results.lines[:SHOWN_MISMATCHES]:
        print(line)
    print(
        f"{sum(results.cells.values()):,} cells, {len(results.triples):,} triples, "
        f"{sum(results.refusals.values()):,} refusals, {sum(results.mismatches.values()):,} mismatches, {seconds:.0f} s"
    )
    return 1 if results.mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
