"""Draw the components of docs/architecture.md, layer above layer, to docs/rooms.svg: `python -m tests.rooms`."""

from __future__ import annotations

import re
from collections import defaultdict
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "rooms.svg"
PAGE = ROOT / "docs" / "architecture.md"
WIDTH, LEFT, HEIGHT, GAP = 980, 60, 44, 10
FILLS = {"never": "#eef2f7", "rows": "#f3c6c0", "values": "#f9e3df"}
"""By what a room sees of private data: nothing, rows, or counts, scores and noise as values."""


def rooms() -> list[tuple[int, str, str]]:
    """Floor, name and what it sees of private data, of every room of the table; the lowest floor first."""
    line = re.compile(r"^\| (\d+) \| `([\w.]+)` \| .* \| (.+) \|$", re.MULTILINE)
    return [(int(floor), name, sees) for floor, name, sees in line.findall(PAGE.read_text(encoding="utf-8"))]


def drawn() -> str:
    """The picture as SVG: a room stands on whatever it may import."""
    floors = defaultdict(list)
    for floor, name, sees in rooms():
        floors[floor].append((name, sees))
    height = GAP + (HEIGHT + GAP) * len(floors)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="Helvetica, Arial, sans-serif" '
        'font-size="15" role="img" aria-label="The components, layer above layer">',
        "<title>The components: each imports only from lower layers; those with rows and counts are red</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for place, floor in enumerate(sorted(floors, reverse=True)):
        top = GAP + place * (HEIGHT + GAP)
        width = (WIDTH - LEFT - GAP * len(floors[floor])) / len(floors[floor])
        lines.append(f'<text x="{LEFT - 16}" y="{top + 28}" text-anchor="end" fill="#444">{floor}</text>')
        for column, (name, sees) in enumerate(floors[floor]):
            kind = sees if sees == "never" else "rows" if "rows" in sees.split("*")[-1] or "**" in sees else "values"
            x = LEFT + column * (width + GAP)
            box = f'x="{x:.0f}" y="{top}" width="{width:.0f}" height="{HEIGHT}" rx="6"'
            lines.append(f'<rect {box} fill="{FILLS[kind]}" stroke="#8a94a3"/>')
            lines.append(f'<text x="{x + width / 2:.0f}" y="{top + 28}" text-anchor="middle" fill="#111">{escape(name)}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
