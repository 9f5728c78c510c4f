"""Figures of long runs go into README, between the markers of their block."""

from __future__ import annotations

from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"


def write_block(name: str, text: str, path: Path = README) -> None:
    """Replace what stands between <!-- NAME:begin --> and <!-- NAME:end -->."""
    begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
    before, found_begin, rest = path.read_text(encoding="utf-8").partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise SystemExit(f"{path} lacks the markers {begin.strip()} and {end}")
    path.write_text(f"{before}{begin}{text.rstrip()}\n{end}{after}", encoding="utf-8")


def duration(seconds: float) -> str:
    """Seconds for a person."""
    return f"{seconds:.0f} s" if seconds < 180 else f"{seconds / 60:.0f} min"
