"""The tables of README that are printed from the code: `--check` compares them, `--write` replaces them."""

from __future__ import annotations

import sys
from pathlib import Path

from hardwood_jit.jit.decoders import DECODERS, NOT_YET
from hardwood_jit.physical import Encoding, PhysicalType
from hardwood_jit.types import types_table_markdown

README = Path(__file__).resolve().parent.parent / "README.md"


def encodings_table() -> str:
    """Physical types down, encodings across; BIT_PACKED is for levels and has no column."""
    encodings = [encoding for encoding in Encoding if any(pair[1] is encoding for pair in (*DECODERS, *NOT_YET))]
    lines = [["", *(str(encoding) for encoding in encodings)], ["---", *[":---:"] * len(encodings)]]
    for physical in PhysicalType:
        pairs = [(physical, encoding) for encoding in encodings]
        lines.append([str(physical), *("yes" if p in DECODERS else "not yet" if p in NOT_YET else "" for p in pairs)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def rendered(text: str) -> str:
    """README with each marked table replaced by what the code prints now."""
    for name, table in (("encodings", encodings_table()), ("types", types_table_markdown())):
        begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->\n"
        before, found_begin, rest = text.partition(begin)
        _, found_end, after = rest.partition(end)
        if not found_begin or not found_end:
            raise SystemExit(f"README.md lacks the markers of the table of {name}")
        text = before + begin + table + end + after
    return text


def main(arguments: list[str]) -> int:
    if arguments not in (["--check"], ["--write"]):
        raise SystemExit("usage: readme_tables.py --check | --write")
    now = README.read_text()
    wanted = rendered(now)
    if arguments == ["--write"]:
        README.write_text(wanted)
    elif now != wanted:
        print("README.md: a table differs from the code: python .ci/readme_tables.py --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
