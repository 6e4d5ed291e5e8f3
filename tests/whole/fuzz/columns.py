"""Random columns of a small specification: their TOML, and the texts that a file may hold for them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

MISSING = ("", "NA")
LONG = str(10**16)
"""A whole number that is equal to a float which prints as 1e+16."""


def toml(value: object) -> str:
    """Texts and lists of texts as TOML writes them."""
    return json.dumps(value)


@dataclass(kw_only=True)
class Column:
    """One released column.

    Attributes
    ----------
    lines : of its table.
    texts : what a file may hold; those that stand for no value are `MISSING`.
    alternatives : its binnings with the labels of their bins, the finest first; each bin of one is a union of bins of those
        before it.
    numbers : the lowest and the highest number of its bins, for criteria that compute; None where it has none.
    conditions : that rules may be made of.
    """

    name: str
    lines: list[str]
    texts: list[str]
    alternatives: dict[str, list[str]]
    numbers: tuple[float, float] | None = None
    ordered: bool = False
    conditions: list[str] = field(default_factory=list)
    header: tuple[str, ...] = ()
    weight: bool = False
    missing: str = "drop"

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the columns of the file that it is read from."""
        return self.header or (self.name,)


def column(random: Random, name: str) -> Column:
    """A random column of a few bins."""
    kinds = [_integer, _integer, _integer, _real, _category, _category, _category, _code, _date, _days, _weight]
    found = random.choice(kinds)(random, name)
    found.missing = "drop" if found.weight else random.choice(["drop", "bin", "bin"])
    found.lines[:0] = [f"[columns.{name}]"]
    found.lines.append(f"missing = {toml(found.missing)}")
    if random.random() < 0.15:
        found.lines.append('missing_values = ["-9"]')
        found.texts.append("-9")
    if found.missing == "bin":
        found.conditions.append(f"{name} is missing")
    return found


def of_two_bins(random: Random, name: str) -> Column:
    """A column of two bins, one of which may be that of missing values."""
    labels = ["v0", "v1"][: random.randint(1, 2)]
    missing = "bin" if len(labels) == 1 else "drop"
    lines = [f"[columns.{name}]", 'kind = "category"', f"categories = {toml(labels)}", f"missing = {toml(missing)}"]
    alternatives = {"categories": labels}
    if len(labels) == 2 and random.random() < 0.4:
        other = random.choice([{"high": ["v1"], "low": ["v0"]}, {"all": labels}])
        groups = {"one": {label: [label] for label in labels}, "two": other}
        for title, table in groups.items():
            lines.append(
                f"alternatives.{title} = {{ " + ", ".join(f"{of} = {toml(texts)}" for of, texts in table.items()) + " }"
            )
        alternatives = {title: list(table) for title, table in groups.items()}
    return Column(
        name=name,
        lines=lines,
        texts=[*labels, *(["zz"] if random.random() < 0.2 else [])],
        alternatives=alternatives,
        missing=missing,
        conditions=[f"{name} == 'v0'", *([f"{name} is missing"] if missing == "bin" else [])],
    )


def _integer(random: Random, name: str) -> Column:
    low = random.choice([0, 0, -3, 10])
    high = low + random.randint(1, 4)
    cut = random.randint(low, high - 1)
    outside = random.choice(["clip", "drop"])
    lines = ['kind = "integer"', f"bounds = [{low}, {high}]", f"outside = {toml(outside)}"]
    lines += [f"alternatives.fine = {toml([f'{low}..{high}'])}", f"alternatives.coarse = {toml([f'<={cut}', f'>{cut}'])}"]
    source = ()
    if random.random() < 0.2:
        source = (f"{name}_of_file",)
        lines.append(f"source = {toml(source[0])}")
    return Column(
        name=name,
        lines=lines,
        texts=[str(value) for value in range(low - 1, high + 2)],
        alternatives={"fine": [str(value) for value in range(low, high + 1)], "coarse": [f"<={cut}", f">{cut}"]},
        numbers=(low, high),
        ordered=True,
        conditions=[f"{name} < {cut + 1}", f"{name} > {cut}", f"{name} == {low}", f"{name} >= {high}"],
        header=source,
    )


def _real(random: Random, name: str) -> Column:
    low, size = random.choice([0, -3, 10]), random.randint(2, 4)
    high = low + size
    inner = [f"{value} to {value + 1}" for value in range(low + 1, high - 1)]
    lines = ['kind = "real"', f"bounds = [{low}, {high}]", f"outside = {toml(random.choice(['clip', 'drop']))}"]
    bins = {"fine": [f"<{low + 1}", *inner, f">={high - 1}"], "coarse": [f"<{low + 1}", f">={low + 1}"]}
    lines += [f"alternatives.{title} = {toml(labels)}" for title, labels in bins.items()]
    return Column(
        name=name,
        lines=lines,
        texts=[f"{value / 2:g}" for value in range(2 * low - 1, 2 * high + 2)] + [f"{low + 0.125}", f"{high - 0.3}"],
        alternatives=bins,
        numbers=(low, high),
        ordered=True,
        conditions=[f"{name} {sign} {low + 1}" for sign in ("<", ">=")],
    )


def _category(random: Random, name: str) -> Column:
    labels = [f"v{place}" for place in range(random.randint(2, 4))]
    outside = random.choice(["bin", "drop"])
    with_texts = {label: [label, f"{place}", f"{place}.5"] for place, label in enumerate(labels)}
    with_texts[labels[0]].append(LONG)
    lines = ['kind = "category"', f"outside = {toml(outside)}"]
    inline = "{ " + ", ".join(f"{label} = {toml(texts)}" for label, texts in with_texts.items()) + " }"
    by_texts = random.random() < 0.6
    lines.append(f"categories = {inline if by_texts else toml(labels)}")
    texts = [*labels, "zz"]
    if by_texts:  # texts that readers might take for each other; a number that programs write in several ways
        texts = [text for place in range(len(labels)) for text in (f"v{place}", f"V{place}", f"{place}.50")] + [LONG, LONG]
    found = Column(
        name=name,
        lines=lines,
        texts=texts,
        alternatives={"categories": labels},
        conditions=[f"{name} == '{label}'" for label in labels],
    )
    if outside == "drop" and random.random() < 0.5:
        lines.append("ordered = true")
        found.ordered = True
    if outside == "drop" and random.random() < 0.6:
        lines.append("numbers = { " + ", ".join(f"{label} = {random.choice([0, 1, 2.5, 7, -3])}" for label in labels) + " }")
        found.numbers = (-3, 7)
    elif len(labels) > 2 and random.random() < 0.6:
        groups = {"low": labels[:2], "high": labels[2:]}
        for title, table in (("one", {label: [label] for label in labels}), ("two", groups)):
            lines.append(
                f"alternatives.{title} = " + "{ " + ", ".join(f"{label} = {toml(of)}" for label, of in table.items()) + " }"
            )
        found.alternatives = {"one": labels, "two": list(groups)}
    return found


def _code(random: Random, name: str) -> Column:
    codes = [f"I{place}" for place in range(random.randint(2, 4))]
    lines = ['kind = "code"', 'outside = "bin"']
    lines.append("codes = { " + ", ".join(f"{code} = {toml(f'label {code}')}" for code in codes) + " }")
    texts = [*codes, "X9"]
    if random.random() < 0.5:
        lines.append("characters = 2")
        texts += [f"{code}.4" for code in codes]
    return Column(name=name, lines=lines, texts=texts, alternatives={"codes": [f"label {code}" for code in codes]})


def _date(random: Random, name: str) -> Column:
    """The month or the quarter of a date."""
    part, high = random.choice([("quarter", 4), ("weekday", 7)])
    lines = ['kind = "integer"', f"part = {toml(part)}", f"bounds = [1, {high}]"]
    lines += [f'alternatives.fine = ["1..{high}"]', 'alternatives.coarse = ["<=2", ">2"]', 'outside = "drop"']
    dates = [f"2024-{month:02d}-{day:02d}" for month in (1, 4, 7, 12) for day in (1, 6, 28)]
    return Column(
        name=name,
        lines=lines,
        texts=dates,
        alternatives={"fine": [str(value) for value in range(1, high + 1)], "coarse": ["<=2", ">2"]},
        numbers=(1, high),
        ordered=True,
        conditions=[f"{name} == 1", f"{name} > 2"],
    )


def _days(random: Random, name: str) -> Column:
    """The days between two dates of the file."""
    lines = ['kind = "integer"', f"source = {toml(f'{name}_end')}", f"minus = {toml(f'{name}_start')}", "bounds = [0, 3]"]
    lines += ['alternatives.fine = ["0..3"]', 'alternatives.coarse = ["0", "1-3"]']
    lines.append(f"outside = {toml(random.choice(['clip', 'drop']))}")
    return Column(
        name=name,
        lines=lines,
        texts=[f"2024-02-{day}" for day in (27, 28, 29)] + ["2024-03-01"],
        alternatives={"fine": ["0", "1", "2", "3"], "coarse": ["0", "1-3"]},
        numbers=(0, 3),
        ordered=True,
        conditions=[f"{name} >= 2"],
        header=(f"{name}_end", f"{name}_start"),
    )


def _weight(random: Random, name: str) -> Column:
    """A design weight in public classes."""
    lines = ['kind = "real"', 'role = "weight"', "bounds = [1, 9]", f"outside = {toml(random.choice(['clip', 'drop']))}"]
    lines.append('alternatives.classes = ["<2", "2 to 5", ">=5"]')
    return Column(
        name=name,
        lines=lines,
        texts=["1", "1.5", "2", "4.25", "5", "8", "11"],
        alternatives={"classes": ["<2", "2 to 5", ">=5"]},
        numbers=(1, 9),
        ordered=True,
        weight=True,
        conditions=[f"{name} >= 5"],
    )


def names_of(columns: Sequence[Column]) -> list[str]:
    return [each.name for each in columns]
