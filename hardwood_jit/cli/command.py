"""Arguments of the `hardwood` command -> what it prints and how it ends.

Exit codes: 0, 1 when a file or a filter is not what it should be, 2 for wrong usage, 130 after Ctrl-C, 141 when whoever
reads the output has gone.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hardwood_jit as hw
from hardwood_jit.cli import draw, plain, reports
from hardwood_jit.cli.layout import MOST_COLUMNS, MOST_GROUPS, Layout, picture_of
from hardwood_jit.cli.palette import printable, printable_lines
from hardwood_jit.cli.svg import layout_svg
from hardwood_jit.cli.values import as_json, shown, value_of
from hardwood_jit.plan.predicate import as_predicate
from hardwood_jit.plan.scan_plan import Selection

if TYPE_CHECKING:
    from hardwood_jit.explain import Explanation
    from hardwood_jit.lazy_scan import Scan

HEAD_ROWS = 10
OK, FAILED, USAGE, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141

EXAMPLES = """examples:
  hardwood info trips.parquet
  hardwood head trips.parquet -n 5 --columns city,fare --where "fare > 60"
  hardwood pages trips.parquet --where "city = 'Delft'" --svg pages.svg
  hardwood explain 'trips/*.parquet' --where "started >= timestamp('2025-03-01T00:00:00Z')"
"""


class UsageError(Exception):
    """Arguments that are right one by one and make no sense together."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code."""
    try:
        chosen = _parser().parse_args(arguments)
    except SystemExit as end:  # argparse has printed what is to be said
        return end.code if isinstance(end.code, int) else USAGE
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that cannot show a character shows its number
    try:
        chosen.run(chosen)
        sys.stdout.flush()
    except UsageError as error:
        print(f"hardwood: {error}", file=sys.stderr)
        return USAGE
    except BrokenPipeError:
        _forget_output()
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except (hw.HardwoodError, OSError) as error:
        print(f"hardwood: {printable(_message(error))}", file=sys.stderr)
        return FAILED
    return OK


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return str(error)


def _forget_output() -> None:
    """The interpreter flushes at its end, and would complain once more about the closed pipe."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # a stream of a test
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


# Arguments


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hardwood",
        description="Look into Parquet files: their schema, their rows, their layout, and what a filter skips.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"hardwood_jit {hw.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], None], text: str, *options: str) -> None:
        found = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        found.set_defaults(run=run)
        for option in options:
            _OPTIONS[option](found)

    command("info", _info, "files, rows, row groups, and of each column its bytes, encodings and indexes",
            "files", "columns", "json", "plain")  # fmt: skip
    command("schema", _schema, "the schema as a Parquet message type", "files", "columns", "json", "plain")
    command("head", _head, "the first rows", "files", "where", "columns", "rows", "json", "plain")
    command("count", _count, "how many rows there are, or pass a filter", "files", "where", "json", "plain")
    command("pages", _pages, "a picture of the layout: row groups, columns, pages, and what a filter skips",
            "files", "where", "columns", "groups", "json", "svg", "plain")  # fmt: skip
    command("explain", _explain, "run a scan and say what each of its steps kept, skipped and took",
            "files", "where", "columns", "groups", "json", "svg", "plain")  # fmt: skip
    command("warm", _warm, "compile or load kernels ahead of their use: the general ones, or those of a scan",
            "any files", "where", "columns", "json", "plain")  # fmt: skip
    command("demo", _demo, "make a small file and show what can be done with it (needs pyarrow)")
    return parser


def _files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="path, directory, glob or URL; several are one table")


def _any_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", help="the files of the scan; without one, general kernels")


def _where(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--where", metavar="TEXT", help="only rows for which this is true, such as \"fare > 60\"")


def _columns(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--columns", metavar="A,B", type=_column_names, help='only these columns; "a,b" in quotes is one name'
    )


def _rows(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", dest="count", metavar="N", type=_rows_number, default=HEAD_ROWS, help="rows (10)")


def _groups(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-n", dest="count", metavar="N", type=_groups_number, help=f"row groups in the picture ({MOST_GROUPS})"
    )


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="JSON instead of text")


def _svg(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--svg", metavar="FILE", help="write the picture as SVG as well; - writes it instead of text")


def _plain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plain", action="store_true", help="no colours, as when the output is no terminal")


_OPTIONS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "files": _files,
    "any files": _any_files,
    "where": _where,
    "columns": _columns,
    "rows": _rows,
    "groups": _groups,
    "json": _json,
    "svg": _svg,
    "plain": _plain,
}


def _column_names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in next(csv.reader([text], skipinitialspace=True), []))
    if not names or "" in names:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of column names")
    return names


def _rows_number(text: str) -> int:
    return _whole_number(text, 0)


def _groups_number(text: str) -> int:
    return _whole_number(text, 1)


def _whole_number(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} on")
    return number


# What the commands share


def _wants_colours(chosen: argparse.Namespace) -> bool:
    if chosen.plain or chosen.json or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


def _scan(chosen: argparse.Namespace) -> tuple[Scan, Selection]:
    """The scan that --where and --columns ask for; wrong names are found here."""
    selection = Selection(columns=getattr(chosen, "columns", None))
    if chosen.where is not None:
        selection = selection.with_filter(as_predicate(chosen.where))
    scan = hw.scan(chosen.files)
    if selection.columns is not None:
        scan = scan.select(*selection.columns)
    if selection.predicate is not None:
        scan = scan.filter(selection.predicate)
    _ = scan.schema, scan.bound_predicate()
    return scan, selection


# The commands


def _info(chosen: argparse.Namespace) -> None:
    dataset = hw.open(chosen.files)
    schema = dataset.schema if chosen.columns is None else dataset.schema.select(chosen.columns)
    info = reports.info_of(dataset, schema)
    if chosen.json:
        _print_json(info)
        return
    head, table = reports.info_head(info), reports.info_table(info)
    if _wants_colours(chosen):
        console = draw.console()
        draw.draw_lines(head, console)
        draw.draw_table(table, console, wraps=True)
        return
    for name, text in head:
        print(f"{name:<12}{printable(text)}")
    print()
    print(plain.table_text(table))


def _schema(chosen: argparse.Namespace) -> None:
    dataset = hw.open(chosen.files)
    schema = dataset.schema if chosen.columns is None else dataset.schema.select(chosen.columns)
    if chosen.json:
        _print_json(reports.schema_tree(schema))
    else:
        print(printable_lines(str(schema)))


def _head(chosen: argparse.Namespace) -> None:
    scan, selection = _scan(chosen)
    names = [child.name for child in scan.schema.children]
    with draw.progress("reading", is_counted=selection.predicate is None) as report:
        rows = scan.head(chosen.count).rows(progress=report)
        found = [[value_of(row, name) for name in names] for row in rows]
    if chosen.json:
        lines = [json.dumps(dict(zip(names, map(as_json, row), strict=True)), ensure_ascii=False) for row in found]
        print("[" + ",\n ".join(lines) + "]")
        return
    numbers = {at for at in range(len(names)) if found and all(_is_number(row[at]) for row in found)}
    cells = tuple(tuple(map(shown, row)) for row in found)
    table = reports.TextTable(tuple(names), cells, frozenset(numbers))
    if _wants_colours(chosen):
        draw.draw_table(table, draw.console())
    else:
        print(plain.table_text(table))


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _count(chosen: argparse.Namespace) -> None:
    scan, selection = _scan(chosen)
    if selection.predicate is None:
        found = scan.count()
    else:
        with draw.progress("counting", is_counted=False) as report:
            found = sum(batch.num_rows for batch in scan.select().batches(progress=report))
    if chosen.json:
        where = None if selection.predicate is None else str(selection.predicate)
        _print_json({"rows": found, "where": where})
    else:
        print(found)


def _pages(chosen: argparse.Namespace) -> None:
    layout = _picture(chosen, *_scan(chosen))
    if _write_svg(chosen, layout_svg(layout) if chosen.svg else ""):
        return
    if chosen.json:
        _print_json(layout.as_dict())
    elif _wants_colours(chosen):
        draw.draw_layout(layout, draw.console())
    else:
        print(plain.layout_text(layout))


def _explain(chosen: argparse.Namespace) -> None:
    scan, selection = _scan(chosen)
    console = draw.console() if _wants_colours(chosen) else None  # before the work: rich may be missing
    with draw.progress("scanning", is_counted=False):
        explanation = scan.explain(analyze=True)
    layout = _picture(chosen, scan, selection)
    text = layout_svg(layout, explanation.rows_out, _reasons(explanation)) if chosen.svg else ""
    if _write_svg(chosen, text):
        return
    if chosen.json:
        _print_json({**explanation.as_dict(), "picture": layout.as_dict()})
    elif console is not None:
        print(printable_lines(str(explanation)) + "\n")
        draw.draw_layout(layout, console)
    else:
        print(printable_lines(str(explanation)) + "\n\n" + plain.layout_text(layout))


def _picture(chosen: argparse.Namespace, scan: Scan, selection: Selection) -> Layout:
    """As much of the layout as can be drawn; JSON has all of it unless -n says otherwise."""
    most_groups = chosen.count or (None if chosen.json else MOST_GROUPS)
    with draw.progress("looking at pages", is_counted=False):
        return picture_of(scan, selection, most_groups, None if chosen.json else MOST_COLUMNS)


def _reasons(explanation: Explanation) -> list[str]:
    """One line per stage that dropped row groups: its first reason."""
    lines = []
    for stage in explanation.stages:
        if stage.reasons:
            first, *others = stage.reasons
            more = f" (and {len(others):,} more such reasons)" if others else ""
            lines.append(f"{stage.name}: {first}{more}")
    return lines


def _write_svg(chosen: argparse.Namespace, text: str) -> bool:
    """Write the picture where --svg says; whether that is all that was asked for."""
    if not text:
        return False
    if chosen.svg == "-":
        print(text, end="")
        return True
    Path(chosen.svg).write_text(text, encoding="utf-8")
    return False


def _warm(chosen: argparse.Namespace) -> None:
    if not chosen.files and (chosen.where is not None or chosen.columns is not None):
        raise UsageError("--where and --columns describe a scan: name its files, too")
    scan = _scan(chosen)[0] if chosen.files else None
    with draw.progress("compiling or loading kernels", is_counted=False):
        report = hw.warm(scan)
    folder = str(hw.kernel_cache.path)
    if chosen.json:
        _print_json(
            {"seconds": report.seconds, "loaded": report.loaded, "compiled": report.compiled, "path": folder}
        )
    else:
        print(f"{report}; kept in {printable(folder)}")


def _demo(chosen: argparse.Namespace) -> None:
    from hardwood_jit import demo

    demo.main()
