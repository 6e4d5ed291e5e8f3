"""Random [geography] of a small specification: a column of codes of areas, and the column of the areas that they lie in."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.whole.fuzz.columns import Column, toml

LEVEL = "part"


@dataclass(frozen=True, kw_only=True)
class Areas:
    """What [geography] says.

    Attributes
    ----------
    lowest : the column of codes, which the file has.
    level : that of the areas that they lie in, which the program makes of it.
    """

    lowest: Column
    level: Column

    @property
    def lines(self) -> list[str]:
        return ["[geography]", f"column = {toml(self.lowest.name)}", f"levels = {toml([LEVEL])}"]


def areas(random: Random, name: str) -> Areas:
    """Two to four areas in two parts; what is no code is left out, or is an area of no part."""
    codes = [f"I{place}" for place in range(random.randint(2, 4))]
    cut, outside, missing = random.randint(1, len(codes) - 1), random.choice(["bin", "drop"]), random.choice(["drop", "bin"])
    lines = [f"[columns.{name}]", 'kind = "code"', f"outside = {toml(outside)}", f"missing = {toml(missing)}"]
    lines.append("codes = { " + ", ".join(f"{code} = {toml(f'label {code}')}" for code in codes) + " }")
    lines.append("alternatives.codes = { " + ", ".join(f"{toml(f'label {code}')} = {toml([code])}" for code in codes) + " }")
    lines.append(f"alternatives.{LEVEL} = {{ north = {toml(codes[:cut])}, south = {toml(codes[cut:])} }}")
    lowest = Column(
        name=name,
        lines=lines,
        texts=[*codes, "X9"],
        alternatives={"codes": [f"label {code}" for code in codes]},
        missing=missing,
    )
    level = Column(name=LEVEL, lines=[], texts=[], alternatives={"categories": ["north", "south"]}, missing=missing)
    return Areas(lowest=lowest, level=level)


def nested(random: Random, found: Areas, others: list[str]) -> list[str]:
    """The settings of the generator that draws level by level: a table of each level, and others of one of them or of none."""
    chain = [LEVEL, found.lowest.name]
    tables = [*chain, *others, *(f"{area}:{other}" for area in chain for other in others if random.random() < 0.5)]
    stated = [f"areas = {toml(' > '.join(chain))}", f"tables = {toml(' + '.join(tables))}"]
    return stated + random.choice([[], [f"wanted = {toml('0.1 > 0.2 > 0.5')}"]])
