"""Rules that compare columns or count, on atomic bins and on coarser ones, against a slow reading of every record."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from synthrelease.data.plausibility import Plausibility
from synthrelease.data.rules import Count, Domain, columns_of, of_records, parse_rule
from synthrelease.data.schema import Schema, Transformation
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.spec.columns import build_column

Value = int | None
Record = tuple[Value, Value, str]
"""a, b and c; None where a or b is missing."""

BINS = {"a": ["<2", "2", "3-5"], "b": ["<3", ">=3"]}
TABLES = {
    name: ColumnTable(kind="integer", bounds=(0, 5), missing="bin", alternatives={"coarse": list(bins)})
    for name, bins in BINS.items()
} | {"c": ColumnTable(kind="category", categories=["x", "y"])}
DOMAINS = {name: Domain(kind="integer", bounds=(0, 5), missing=True) for name in "ab"} | {
    "c": Domain(kind="category", categories=("x", "y"))
}


def known(*values: Value) -> bool:
    return None not in values


def between(counted: list[bool | None]) -> tuple[int, int]:
    """How many are surely true, and how many may be."""
    return sum(each is True for each in counted), sum(each is not False for each in counted)


def less(value: Value, than: int) -> bool | None:
    return None if value is None else value < than


SINGLE: dict[str, Callable[[Record], bool]] = {
    "a < b": lambda r: known(*r[:2]) and r[0] < r[1],  # type: ignore[operator]
    "a <= b - 1": lambda r: known(*r[:2]) and r[0] <= r[1] - 1,  # type: ignore[operator]
    "a >= b +2": lambda r: known(*r[:2]) and r[0] >= r[1] + 2,  # type: ignore[operator]
    "a == b": lambda r: known(*r[:2]) and r[0] == r[1],
    "a != b -1": lambda r: known(*r[:2]) and r[0] != r[1] - 1,  # type: ignore[operator]
    "not a > b": lambda r: known(*r[:2]) and r[0] <= r[1],  # type: ignore[operator]
    "count(a < 3, b < 3) > 1": lambda r: between([less(r[0], 3), less(r[1], 3)])[0] > 1,
    "count(a < 3, b < 3, c == 'x') < 2": lambda r: between([less(r[0], 3), less(r[1], 3), r[2] == "x"])[1] < 2,
    "count(a < 3, c == 'x') == 2": lambda r: between([less(r[0], 3), r[2] == "x"]) == (2, 2),
    "count(a < 3, c == 'x') != 1": lambda r: (
        between([less(r[0], 3), r[2] == "x"]) in ((0, 0), (2, 2))  # both known, or as many as cannot be one
    ),
    "count(b is missing, c == 'x') >= a": lambda r: r[0] is not None and between([r[1] is None, r[2] == "x"])[0] >= r[0],
    "count(c == 'x') <= a - 4": lambda r: r[0] is not None and between([r[2] == "x"])[1] <= r[0] - 4,
}
JOINED: dict[str, Callable[[Record], bool]] = {
    "c == 'y' and a > b": lambda r: r[2] == "y" and known(*r[:2]) and r[0] > r[1],  # type: ignore[operator]
    "a > b or c == 'y'": lambda r: r[2] == "y" or (known(*r[:2]) and r[0] > r[1]),  # type: ignore[operator]
    "not (count(a < 3) > 0 or b == 1)": lambda r: known(*r[:2]) and r[0] >= 3 and r[1] != 1,  # type: ignore[operator]
}


def world(text: str, apart: bool) -> tuple[Schema, Plausibility]:
    rule = parse_rule(text, DOMAINS, of_records=True)
    schema = Schema(columns=tuple(build_column(name, table, InputTable(), [rule], None) for name, table in TABLES.items()))
    return schema, Plausibility.from_rules([rule], schema.columns, schema.layout, apart=apart)


def record(schema: Schema, cell: tuple[int, ...]) -> Record:
    """The one record of an atomic cell: the numbers of a column that is compared are bins of their own."""
    values: list[Value] = []
    for name, code in zip("ab", cell, strict=False):
        atoms = schema[name].atoms
        low = [0, *schema[name].edges]
        values.append(None if code == atoms.missing else int(low[code]))
    return values[0], values[1], "xy"[cell[2]]


def asked(rules: Plausibility, cell: tuple[int, ...]) -> bool:
    return bool(rules.forbidden([np.array([code]) for code in cell])[0])


@pytest.mark.parametrize("text", [*SINGLE, *JOINED])
def test_a_rule_says_of_every_record_and_of_every_coarse_bin_what_its_text_says(text: str) -> None:
    slowly = (SINGLE | JOINED)[text]
    for apart in (False, True):
        schema, rules = world(text, apart)
        counts = any(isinstance(part, Count) for part in of_records(parse_rule(text, DOMAINS, of_records=True)))
        assert bool(rules.masks) == (apart and not counts)
        transformation = Transformation(
            schema=schema, binnings=tuple(next(iter(column.alternatives.values())) for column in schema.columns)
        )
        coarse = rules.merge(transformation)
        inside: dict[tuple[int, ...], list[bool]] = {}
        for cell in product(*map(range, schema.layout.sizes)):
            said = slowly(record(schema, cell))
            assert asked(rules, cell) == said, record(schema, cell)
            into = tuple(int(of_atom[code]) for of_atom, code in zip(transformation.maps, cell, strict=True))
            inside.setdefault(into, []).append(said)
        assert {True, False} <= {each for said in inside.values() for each in said}
        for into, each in inside.items():
            assert asked(coarse, into) <= all(each), into
            if text in SINGLE:
                assert asked(coarse, into) == all(each), into


def test_rules_that_compare_one_column_with_several_are_masks_of_their_own() -> None:
    """Joined, they would be a table of all columns together."""
    domains = {name: Domain(kind="integer", bounds=(0, 99)) for name in "abcde"}
    rules = [parse_rule(f"{name} > a - 12", domains, of_records=True) for name in "bcde"]
    table = ColumnTable(kind="integer", bounds=(0, 99), alternatives={"coarse": ["<50", ">=50"]})
    columns = tuple(build_column(name, table, InputTable(), rules, None) for name in "abcde")
    schema = Schema(columns=columns)
    found = Plausibility.from_rules(rules, columns, schema.layout, apart=True)
    assert [mask.columns for mask in found.masks] == [(0, 1), (0, 2), (0, 3), (0, 4)]
    assert Plausibility.from_rules(rules, columns, schema.layout).masks == ()


LARGE = {
    "wage": ColumnTable(
        kind="integer", bounds=(0, 2000), missing="bin", alternatives={"coarse": ["0", "1-499", "500-1499", ">=1500"]}
    ),
    "total": ColumnTable(kind="integer", bounds=(0, 3000), alternatives={"coarse": ["<500", "500-1500", ">1500"]}),
    "paid": ColumnTable(kind="real", bounds=(0, 10), alternatives={"coarse": ["<2.5", "2.5 to 5", ">=5"]}),
    "price": ColumnTable(kind="real", bounds=(0, 20), alternatives={"coarse": ["<2.5", "2.5 to 8", ">=8"]}),
}  # fmt: skip


COMPARED: dict[str, Callable[[float, float], bool]] = {
    "wage > total": lambda total, wage: wage > total,
    "total < wage + 100": lambda total, wage: total < wage + 100,
    "wage == total": lambda total, wage: wage == total,
    "paid > price": lambda paid, price: paid > price,
    "not paid <= price": lambda paid, price: paid > price,
}
"""Rules of two columns, in the order of their names."""


@pytest.mark.parametrize("text", COMPARED)
def test_of_columns_with_many_numbers_bins_are_compared(text: str) -> None:
    """A cell of bins is excluded where every pair of values in it breaks the rule, and no other cell."""
    domains = {name: Domain(kind=table.kind, bounds=table.bounds, missing=name == "wage") for name, table in LARGE.items()}
    rule = parse_rule(text, domains, of_records=True)
    names = sorted(columns_of(rule))
    columns = tuple(build_column(name, LARGE[name], InputTable(), [rule], None) for name in names)
    schema = Schema(columns=columns)
    binnings = tuple(column.alternatives["coarse"] for column in columns)
    found = Plausibility.from_rules([rule], columns, schema.layout, apart=True)
    merged = found.merge(Transformation(schema=schema, binnings=binnings))
    holds = COMPARED[text]
    ends = []  # of each bin the lowest and the highest value: between them nothing else happens
    for binning, column in zip(binnings, columns, strict=True):
        step = 1 if column.kind == "integer" else 1e-9
        lowest, highest = column.bounds or (0, 0)
        ends.append(
            [(max(low, lowest), min(high - step, highest)) for low, high in zip(binning.lower, binning.upper, strict=True)]
        )
    for cell in product(*(range(len(binning)) for binning in binnings)):
        missing = any(place == binning.missing for place, binning in zip(cell, binnings, strict=True))
        breaks = not missing and all(
            holds(*pair) for pair in product(*(own[place] for own, place in zip(ends, cell, strict=True)))
        )
        assert bool(merged.forbidden([np.array([place]) for place in cell])[0]) == breaks, cell
