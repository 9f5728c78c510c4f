"""The plot of README: every work as a bar from its best opponent to us, the other engines as dots, on a log scale."""

from __future__ import annotations

import math

from picture import Picture
from results import Store
from rotation import Measured
from works import FILTER_OPPONENTS, OPPONENTS, OURS, WORKS

WIDTH = 1080
MARGIN = 22
LABELS = 412  # pixels for the titles of works
VERDICTS = 104
LEFT, RIGHT = MARGIN + LABELS, WIDTH - MARGIN - VERDICTS
LINE = 19
TICKS = (0.25, 0.5, 1, 2, 4, 8)  # times the best opponent's time; what is beyond stands at the edge as an arrow
STYLE = """
.work{font-size:11.5px}.won{fill:#1a7f37}.lost{fill:#bc4c00}.wontext{fill:#1a7f37;font-weight:600}
.losttext{fill:#bc4c00;font-weight:600}.wonbar{fill:#1a7f37;opacity:.35}.lostbar{fill:#bc4c00;opacity:.35}
.lostrow{fill:#bc4c00;opacity:.07}.one{stroke:#24292f;stroke-width:1.5}
.pyarrow{fill:#0969da}.polars{fill:#8250df}.duckdb{fill:#d4a72c}.datafusion{fill:#8c959f}
.datafusion_pushdown{fill:none;stroke:#8c959f;stroke-width:1.5}
"""
DARK = """
.won,.wonbar,.wontext{fill:#3fb950}.lost,.lostbar,.losttext,.lostrow{fill:#f0883e}.lostrow{opacity:.12}
.one{stroke:#e6edf3}.pyarrow{fill:#58a6ff}.polars{fill:#bc8cff}.duckdb{fill:#e3b341}
"""


def position(ratio: float) -> float:
    """Where a ratio stands on the scale, inside its ends."""
    low, high = math.log(TICKS[0]), math.log(TICKS[-1])
    share = (math.log(min(max(ratio, TICKS[0]), TICKS[-1])) - low) / (high - low)
    return round(LEFT + share * (RIGHT - LEFT), 1)


def short_time(milliseconds: float) -> str:
    return f"{milliseconds:.0f} ms" if milliseconds >= 20 else f"{milliseconds:.2f} ms"


def draw_engine(picture: Picture, engine: str, ratio: float, y: float, tooltip: str) -> None:
    x = position(ratio)
    if ratio > TICKS[-1]:
        picture.path(f"M{x - 4:g} {y - 4:g}L{x + 3:g} {y:g}L{x - 4:g} {y + 4:g}Z", engine, tooltip)
    else:
        picture.circle(x, y, 3.5, engine, tooltip)


def draw_work(picture: Picture, name: str, measured: Measured, y: float) -> None:
    """One line: title, engines beside the best opponent, us, verdict."""
    work, best = WORKS[name], measured.best_opponent
    middle = y + LINE / 2
    ours = measured.ratio() if OURS in measured.milliseconds else math.nan
    is_lost = not ours <= work.bar  # no result is no win
    if is_lost:
        picture.rect(MARGIN - 8, y, WIDTH - 2 * MARGIN + 16, LINE, "lostrow", radius=3)
    picture.text(MARGIN, middle + 4, work.title, "work")
    if best is None:
        picture.text(RIGHT + 14, middle + 4, "no opponent", "quiet work")
        return
    fastest = measured.milliseconds[best]
    if ours == ours:
        ends = sorted((position(1), position(ours)))
        picture.rect(ends[0], middle - 4, max(ends[1] - ends[0], 1), 8, "lostbar" if is_lost else "wonbar")
    for engine in FILTER_OPPONENTS:
        if engine in measured.milliseconds:
            took = measured.milliseconds[engine]
            draw_engine(picture, engine, took / fastest, middle, f"{engine}: {short_time(took)}")
    if ours != ours:
        picture.text(RIGHT + 14, middle + 4, "no result", "losttext work")
        return
    x = position(ours)
    diamond = f"M{x - 6:g} {middle:g}L{x:g} {middle - 6:g}L{x + 6:g} {middle:g}L{x:g} {middle + 6:g}Z"
    tooltip = f"{OURS}: {short_time(measured.ours)}, {best}: {short_time(fastest)}"
    picture.path(diamond, "lost" if is_lost else "won", tooltip)
    shown = f"{ours:.2f}x slower" if ours >= 1.005 else f"{1 / ours:.2f}x faster" if ours < 0.995 else "as fast"
    mark, kind = ("✗", "losttext") if is_lost else ("✓", "wontext")
    picture.text(RIGHT + 14, middle + 4, f"{mark} {shown}", f"{kind} work")


def draw_legend(picture: Picture, y: float, engines: list[str]) -> None:
    x = float(MARGIN)
    for kind, label in (("won", f"{OURS}, not slower"), ("lost", f"{OURS}, slower (✗)")):
        picture.path(f"M{x:g} {y - 4:g}L{x + 6:g} {y - 10:g}L{x + 12:g} {y - 4:g}L{x + 6:g} {y + 2:g}Z", kind)
        picture.text(x + 18, y, label)
        x += 36 + 6.4 * len(label)
    for engine in engines:
        picture.circle(x + 4, y - 4, 3.5, engine)
        picture.text(x + 12, y, engine)
        x += 30 + 6.4 * len(engine)


def draw_scale(picture: Picture, top: float, bottom: float) -> None:
    """Lines of the scale, and what its sides mean."""
    for tick in TICKS:
        x = position(tick)
        picture.line(x, top, x, bottom, "one" if tick == 1 else "axis")
        picture.text(x, top - 6, f"{tick:g}", "quiet", "middle")
    picture.text(position(1) - 12, top - 22, "◂ faster than the best opponent", "quiet", "end")
    picture.text(position(1) + 12, top - 22, "slower, or another engine ▸", "quiet")


def plot_svg(sections: dict[str, list[str]], store: Store) -> str:
    """The picture of the works of each section, by caption."""
    names = [name for works in sections.values() for name in works]
    ways = [store.conditions[name] for name in names]
    versions = {engine: version for name in names for engine, version in store.works[name].versions.items()}
    measured = {name: store.works[name] for name in names if OURS in store.works[name].milliseconds}
    won = [name for name, times in measured.items() if times.ratio() <= WORKS[name].bar]
    picture = Picture(WIDTH, STYLE, DARK)
    title = f"Time beside the best opponent's, log scale: not slower in {len(won)} of {len(names)} works"
    picture.text(MARGIN, 34, title, "title")
    dates = sorted({way.date for way in ways})
    when = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    scales = ", ".join(dict.fromkeys(f"{way.scale:g}" for way in ways))
    machines = " and ".join(dict.fromkeys(way.machine for way in ways))
    threads = " or ".join(dict.fromkeys(str(way.threads) for way in ways))
    picture.text(MARGIN, 54, f"{machines}, {threads} threads, TPC-H scale factor {scales}, {when}", "quiet")
    shown = [f"{engine} {versions[engine]}" for engine in (OURS, *OPPONENTS) if engine in versions]
    picture.text(MARGIN, 71, ", ".join(shown), "quiet")
    present = [e for e in FILTER_OPPONENTS if any(e in store.works[name].milliseconds for name in names)]
    draw_legend(picture, 97, present)
    top = 150.0
    bottom = top + sum(30 + LINE * len(works) for works in sections.values())
    draw_scale(picture, top, bottom)
    y = top
    for caption, works in sections.items():
        picture.text(MARGIN, y + 20, caption, "strong")
        y += 28
        for name in works:
            draw_work(picture, name, store.works[name], y)
            y += LINE
        y += 2
    return picture.document(bottom + 16)
