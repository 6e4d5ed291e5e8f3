"""A small writer of SVG pictures with a title and a description, whose ids are unique on their page.

The bytes depend on the arguments alone, and not on fonts or versions of a plotting library: `verify` draws the pictures again
and compares.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

INK, MUTED, PAPER, SOFT = "#1c2430", "#46505e", "#ffffff", "#f3f5f8"
LINE, BLUE, BAND, RED, GREEN = "#d5dae1", "#2f5f9a", "#b9cde6", "#9a3b2f", "#256b3c"
DARKEST = "#12365f"


class Picture:
    """Shapes and texts in a frame of `width` x `height`, rendered in the order in which they were added.

    Parameters
    ----------
    key : unique on the page; letters, digits and hyphens.
    title, description : what screen readers say, plain text.
    """

    def __init__(self, key: str, width: float, height: float, title: str, description: str):
        self.key, self.width, self.height, self.title, self.description = key, width, height, title, description
        self._parts: list[Markup] = []

    def rect(
        self, x: float, y: float, width: float, height: float, fill: str, *, stroke: str | None = None, rx: float = 0
    ) -> None:
        rounded = f' rx="{_n(rx)}"' if rx else ""
        lined = f' stroke="{escape(stroke)}"' if stroke else ""
        frame = f'x="{_n(x)}" y="{_n(y)}" width="{_n(max(width, 0))}" height="{_n(max(height, 0))}"'
        self._parts.append(Markup(f'<rect {frame} fill="{escape(fill)}"{rounded}{lined}/>'))  # pictures have thousands

    def line(self, x1: float, y1: float, x2: float, y2: float, stroke: str, *, width: float = 1, dashed: bool = False) -> None:
        dashes = ' stroke-dasharray="4 3"' if dashed else ""
        ends = f'x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"'
        self._parts.append(Markup(f'<line {ends} stroke="{escape(stroke)}" stroke-width="{_n(width)}"{dashes}/>'))

    def dot(self, x: float, y: float, radius: float, fill: str) -> None:
        self._parts.append(Markup('<circle cx="{}" cy="{}" r="{}" fill="{}"/>').format(_n(x), _n(y), _n(radius), fill))

    def polygon(self, points: Sequence[tuple[float, float]], fill: str) -> None:
        places = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        self._parts.append(Markup('<polygon points="{}" fill="{}"/>').format(places, fill))

    def text(
        self, x: float, y: float, text: str, *, anchor: str = "start", size: float = 12, fill: str = INK, bold: bool = False
    ) -> None:
        weight = ' font-weight="600"' if bold else ""
        look = f'text-anchor="{escape(anchor)}" font-size="{_n(size)}" fill="{escape(fill)}"{weight}'
        self._parts.append(Markup(f'<text x="{_n(x)}" y="{_n(y)}" {look}>{escape(text)}</text>'))

    def lines(
        self, x: float, y: float, text: str, characters: int, *, leading: float = 15, size: float = 12, fill: str = INK
    ) -> None:
        """Text that is broken into lines of about so many characters, centred on x and y."""
        parts = wrapped(text, characters)
        top = y - leading * (len(parts) - 1) / 2 + size / 3
        for index, part in enumerate(parts):
            self.text(x, top + index * leading, part, anchor="middle", size=size, fill=fill)

    def render(self) -> Markup:
        """The svg element."""
        head = Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img" '
            'aria-labelledby="{k}-title {k}-text">\n<title id="{k}-title">{title}</title><desc id="{k}-text">{text}</desc>\n'
        ).format(w=_n(self.width), h=_n(self.height), k=self.key, title=self.title, text=self.description)
        return head + Markup("\n").join(self._parts) + Markup("\n</svg>")


def wrapped(text: str, characters: int) -> list[str]:
    """Words in lines of at most so many characters, where no word is longer."""
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= characters:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def shortened(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: characters - 1].rstrip() + "…"


def shade(share: float) -> str:
    """A colour between SOFT (0) and DARKEST (1)."""
    low, high = (tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5)) for colour in (SOFT, DARKEST))
    share = min(max(share, 0.0), 1.0)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(low, high, strict=True))


def _n(value: float) -> str:
    """A coordinate, to a tenth."""
    return f"{value:.1f}".removesuffix(".0")
