"""The public file's distribution of a column, on the bins that the column is released in."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from markupsafe import Markup

from synthrelease.domain.schema import Column
from synthrelease.svg import BLUE, LINE, Picture

WIDTH, HEIGHT = 240.0, 34.0


def shares(column: Column, texts: Mapping[str | None, int]) -> list[float] | None:
    """The share of the public values in each atomic bin; None where they cannot be told from the texts alone."""
    if column.part is not None or column.minus is not None or column.characters is not None:
        return None
    counts = np.zeros(len(column.atoms.labels))
    for text, times in texts.items():
        place = _bin(column, text)
        if place is not None:
            counts[place] += times
    return list(counts / counts.sum()) if counts.sum() > 0 else None


def _bin(column: Column, text: str | None) -> int | None:
    if text is None:
        return None
    if column.bounds is None:
        return column.values.get(text)
    try:
        value = float(text)
    except ValueError:
        return None
    if not column.bounds[0] <= value <= column.bounds[1]:
        return None
    return int(np.searchsorted(column.edges, value, side="right"))


def strip(column: Column, texts: Mapping[str | None, int], key: str) -> Markup:
    """The picture; empty where there is none."""
    found = shares(column, texts)
    if found is None:
        return Markup()
    highest, width = max(found), WIDTH / len(found)
    top = int(np.argmax(found))
    described = f"{len(found)} bins; the most frequent is {column.atoms.labels[top]} with {found[top]:.0%} of the public rows"
    picture = Picture(key, WIDTH, HEIGHT, f"Public values of {column.name}", described)
    for index, share in enumerate(found):
        height = (HEIGHT - 4) * share / highest
        picture.rect(index * width, HEIGHT - 2 - height, max(width - 1, 0.5), height, BLUE)
    picture.line(0, HEIGHT - 1, WIDTH, HEIGHT - 1, LINE)
    return picture.render()
