"""A small SVG writer for the figures of README: text and shapes with classes, readable on light and on dark pages."""

from __future__ import annotations

from xml.sax.saxutils import escape

# Colours are classes, so that a viewer who prefers dark pages gets dark ones. Both sets keep their contrast.
STYLE = """
text{font-family:-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;font-size:12px;fill:#24292f}
.card{fill:#ffffff;stroke:#d0d7de}.title{font-size:16px;font-weight:600}.strong{font-weight:600}
.quiet{fill:#656d76}.code{font-family:ui-monospace,Menlo,Consolas,monospace}
.axis{stroke:#d0d7de}.line{stroke:#656d76}
"""
DARK = """
text{fill:#e6edf3}.card{fill:#0d1117;stroke:#30363d}.quiet{fill:#9198a1}.axis{stroke:#30363d}.line{stroke:#9198a1}
"""


class Picture:
    """Elements on a card of a given width; `style` and `dark` add classes to those above."""

    def __init__(self, width: int, style: str = "", dark: str = "") -> None:
        self.width = width
        self._parts: list[str] = []
        self._style = "".join(f"{STYLE}{style}@media(prefers-color-scheme:dark){{{DARK}{dark}}}".split("\n"))

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        """One line; y is its base line."""
        self._parts.append(f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>')

    def rect(
        self, x: float, y: float, width: float, height: float, kind: str, tooltip: str = "", radius: float = 2
    ) -> None:
        place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius:g}"'
        self._parts.append(f'<rect {place} class="{kind}">{_title(tooltip)}</rect>')

    def circle(self, x: float, y: float, radius: float, kind: str, tooltip: str = "") -> None:
        self._parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" class="{kind}">{_title(tooltip)}</circle>')

    def path(self, points: str, kind: str, tooltip: str = "") -> None:
        self._parts.append(f'<path d="{points}" class="{kind}">{_title(tooltip)}</path>')

    def line(self, x: float, y: float, to_x: float, to_y: float, kind: str) -> None:
        self._parts.append(f'<line x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}" class="{kind}"/>')

    def document(self, height: float, definitions: str = "") -> str:
        """The whole file."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{height:g}" '
            f'viewBox="0 0 {self.width} {height:g}" role="img">\n<style>{self._style}</style>\n'
            + (f"<defs>{definitions}</defs>\n" if definitions else "")
            + f'<rect x="0.5" y="0.5" width="{self.width - 1}" height="{height - 1:g}" rx="8" class="card"/>\n'
            + "\n".join(self._parts)
            + "\n</svg>\n"
        )


def _title(tooltip: str) -> str:
    return f"<title>{escape(tooltip)}</title>" if tooltip else ""
