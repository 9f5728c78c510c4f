"""The plain data of an explanation -> text for a terminal and a small table for a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MOST_REASONS = 3
MOST_COLUMNS = 8


def explanation_text(facts: Mapping[str, Any]) -> str:
    """Lines to be read from top to bottom, as the scan goes: what was asked, what was proved, tested and read."""
    lines = [f"Scan of {_title(facts)}"]
    lines += [f"  {name:<13} {text}" for name, text in _head(facts)]
    for stage in facts["stages"]:
        text = _stage_text(stage)
        if text:
            lines.append(f"  {stage['stage']:<13} {text}")
            lines += [f"{'':18}{reason}" for reason in _reason_lines(stage["reasons"])]
    if facts["row_groups_certain"]:
        lines.append(f"  {'certain':<13} {_certain(facts)}")
    if "rows_out" not in facts:
        if facts["conjuncts"]:
            lines.append("  to be tested")
        lines += [f"    {number}. {part['text']}" for number, part in enumerate(facts["conjuncts"], 1)]
        return "\n".join(lines)
    if "rows_scanned" in facts:
        lines += _tested_lines(facts)
    lines.append(f"  {'result':<13} {_result(facts)}")
    return "\n".join(lines)


def _title(facts: Mapping[str, Any]) -> str:
    groups = _count(facts["row_groups_planned"], "row group")
    return f"{_count(facts['files'], 'file')}: {groups}, {facts['rows_planned']:,} rows"


def _head(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "columns", _shortened(facts["columns"])
    if facts["filter"] is not None:
        yield "filter", facts["filter"]
    if facts["limits"]:
        yield "limits", ", ".join(facts["limits"])


def _stage_text(stage: Mapping[str, Any]) -> str:
    """What a stage dropped; empty when nothing."""
    parts = []
    if stage["files_dropped"]:
        return f"{_count(stage['files_dropped'], 'file')} dropped"
    if stage["row_groups_dropped"]:
        parts.append(f"{stage['row_groups_dropped']:,} of {_count(stage['row_groups_in'], 'row group')} dropped")
    elif stage["rows_dropped"]:
        parts.append(f"{stage['rows_dropped']:,} of {stage['rows_in']:,} rows dropped")
    else:
        return ""
    details = []
    if stage["row_groups_dropped"]:
        details.append(f"{stage['rows_dropped']:,} rows")
    if stage["pages_dropped"]:
        details.append(_count(stage["pages_dropped"], "page"))
    if stage["bytes_dropped"]:
        details.append(size_text(stage["bytes_dropped"]))
    return parts[0] + (f" ({', '.join(details)})" if details else "")


def _reason_lines(reasons: Mapping[str, int]) -> list[str]:
    """The reasons in file order, where there are many only the first of them."""
    shown = [f"{count:,} times {text}" if count > 1 else text for text, count in list(reasons.items())[:MOST_REASONS]]
    if len(reasons) > MOST_REASONS:
        shown[-1] = f"... and {len(reasons) - MOST_REASONS + 1:,} more such reasons"
    return shown


def _certain(facts: Mapping[str, Any]) -> str:
    groups = _count(facts["row_groups_certain"], "row group")
    return f"{groups}: all {facts['rows_certain']:,} wanted rows pass, none was tested"


def _tested_lines(facts: Mapping[str, Any]) -> list[str]:
    lines = [f"  {'tested':<13} {facts['rows_scanned']:,} rows of {_count(facts['row_groups_scanned'], 'row group')}"]
    for number, part in enumerate(facts["conjuncts"], 1):
        share = 100 * part["rows_out"] / part["rows_in"] if part["rows_in"] else 0.0
        lines.append(f"    {number}. {part['text']}")
        if not part["rows_in"]:
            lines.append("       never needed")
            continue
        lines.append(
            f"       {part['rows_in']:,} rows in, {part['rows_out']:,} out ({share:.2f} %), "
            f"{part['nanoseconds_per_row']:.2f} ns a row; "
            f"pages: {part['pages_decompressed']:,} decompressed, {part['pages_skipped']:,} skipped"
        )
        for use in part["kernels"]:
            where = f", source {use['source']}" if use["source"] else ""
            lines.append(f"       kernel {use['shape']}: {use['origin']}{where}")
    outputs = {path: column for path, column in facts["column_pages"].items() if column["output"]}
    if outputs:
        lines.append("  output columns, pages decompressed / skipped")
    for path, column in outputs.items():
        both = " (also filtered)" if column["filter"] else ""
        lines.append(f"    {path}: {column['pages_decompressed']:,} / {column['pages_skipped']:,}{both}")
    lines.append(
        f"  {'memory':<13} at most {size_text(facts['peak_page_bytes'])} of decompressed pages in a row group"
    )
    return lines


def _result(facts: Mapping[str, Any]) -> str:
    return (
        f"{_count(facts['rows_out'], 'row')} in {facts['seconds'] * 1000:.1f} ms; "
        f"{size_text(facts['bytes_read'])} read in {_count(facts['requests'], 'request')}"
    )


def explanation_html(facts: Mapping[str, Any]) -> str:
    """One row per stage and conjunct."""
    rows = [
        (stage["stage"], f"{stage['rows_in']:,}", f"{stage['rows_kept']:,}", _stage_text(stage) or "nothing dropped")
        for stage in facts["stages"]
    ]
    for part in facts["conjuncts"]:
        rows_in, rows_out = (f"{part[key]:,}" if key in part else "" for key in ("rows_in", "rows_out"))
        rows.append((part["text"], rows_in, rows_out, "tested row by row" if rows_in else "to be tested"))
    if "rows_out" in facts:
        rows.append(("result", "", f"{facts['rows_out']:,}", _result(facts)))
    head = "".join(f"<th style='text-align:left'>{name}</th>" for name in ("stage", "rows in", "rows out", ""))
    body = "".join(
        f"<tr><td>{html.escape(name)}</td><td style='text-align:right'>{rows_in}</td>"
        f"<td style='text-align:right'>{rows_out}</td><td style='text-align:left'>{html.escape(text)}</td></tr>"
        for name, rows_in, rows_out, text in rows
    )
    title = html.escape(f"Scan of {_title(facts)}")
    asked = "".join(f"<br>{name}: <code>{html.escape(text)}</code>" for name, text in _head(facts))
    return f"<div><b>{title}</b>{asked}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def size_text(byte_count: int) -> str:
    """Bytes in a unit that a person reads.

    >>> from hardwood_jit.explain_text import size_text
    >>> size_text(999), size_text(41_300), size_text(2_260_000_000)
    ('999 bytes', '41.3 kB', '2.3 GB')
    """
    if byte_count < 1000:
        return _count(byte_count, "byte")
    size = float(byte_count)
    for unit in ("kB", "MB", "GB", "TB"):
        size /= 1000
        if size < 999.95 or unit == "TB":
            break
    return f"{size:,.1f} {unit}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _shortened(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_COLUMNS])
    return f"{shown} and {len(names) - MOST_COLUMNS} more" if len(names) > MOST_COLUMNS else shown
