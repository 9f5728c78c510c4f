"""How encodings and stages look: a letter where there is no colour, a colour where there is; and text made safe."""

from __future__ import annotations

from dataclasses import dataclass

from hardwood_jit.cli.page_walk import DICTIONARY


@dataclass(frozen=True, slots=True)
class Look:
    """Of a page's encoding, or of a stage that skips pages."""

    letter: str
    colour: str


UNKNOWN = Look("?", "#777777")

# Colours that most people with a colour deficiency tell apart (after Paul Tol's "bright" and "muted" schemes).
ENCODINGS = {
    DICTIONARY: Look("D", "#aa3377"),
    "RLE_DICTIONARY": Look("d", "#4477aa"),
    "PLAIN_DICTIONARY": Look("d", "#4477aa"),
    "PLAIN": Look("p", "#228833"),
    "DELTA_BINARY_PACKED": Look("i", "#ee6677"),
    "DELTA_LENGTH_BYTE_ARRAY": Look("l", "#ccbb44"),
    "DELTA_BYTE_ARRAY": Look("t", "#66ccee"),
    "BYTE_STREAM_SPLIT": Look("s", "#ee8866"),
    "RLE": Look("r", "#44aa99"),
}

STAGES = {
    "partitions": Look("_", "#9a9a9a"),
    "statistics": Look(".", "#8c8c8c"),
    "page index": Look("-", "#8c8c8c"),
    "bloom filter": Look("~", "#8c8c8c"),
    "dictionary": Look(",", "#8c8c8c"),
}

KEPT, PARTLY = "#", "+"  # row groups in the overview
KEPT_COLOUR, PARTLY_COLOUR = "#4477aa", "#99bbdd"


def encoding_look(name: str) -> Look:
    """The look of an encoding, whatever it is."""
    return ENCODINGS.get(name, UNKNOWN)


def stage_look(name: str) -> Look:
    """The look of a stage, whatever it is."""
    return STAGES.get(name, UNKNOWN)


def printable(text: str) -> str:
    r"""Text without characters that steer a terminal or break a line: names and values come from files.

    >>> from hardwood_jit.cli.palette import printable
    >>> print(printable("a\x1b[31mb\nc é"))
    a\x1b[31mb\nc é
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode("ascii") for char in text
    )


def printable_lines(text: str) -> str:
    """As `printable`, for text of several lines."""
    return "\n".join(printable(line) for line in text.split("\n"))


def shares(sizes: list[int], room: int, full: int) -> list[int]:
    """How many of `room` places each size takes where `full` takes all: one at least, and never more than the room.

    >>> from hardwood_jit.cli.palette import shares
    >>> shares([100, 1, 50], 30, 200), shares([1, 1, 1], 3, 1000)
    ([15, 1, 8], [1, 1, 1])
    """
    found = [max(1, round(size * room / full)) if full else 1 for size in sizes]
    excess = sum(found) - room
    while excess > 0 and max(found, default=1) > 1:
        widest = max(range(len(found)), key=lambda at: found[at])
        found[widest] -= 1
        excess -= 1
    return found
