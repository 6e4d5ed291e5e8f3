"""What a scout asks: cells of numbers, codes, and what the codebook has to say."""

from __future__ import annotations

import re
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from synthrelease.enclave.texts import Texts
from synthrelease.enclave.values import atomic_bins
from synthrelease.errors import InputError
from synthrelease.scouting.codebook import CodebookEntry
from synthrelease.scouting.columns import ScoutedColumn, scouted_columns
from synthrelease.settings.columns import InputTable

BOUNDS: list[dict[str, Any]] = [
    {},
    {"whole": True},
    {"whole": True, "low": Fraction(0), "high": Fraction(120)},
    {"whole": True, "low": Fraction(1900), "high": Fraction(2024)},
    {"whole": True, "low": Fraction(1), "high": Fraction(7)},
    {"low": Fraction(-5), "high": Fraction(5)},
    {"low": Fraction(0), "high": Fraction("0.04")},
    {"whole": True, "high": Fraction(-3)},
]


def number(**facts: Any) -> ScoutedColumn:
    return ScoutedColumn(name="x", kind="number", **facts)


@pytest.mark.slow
@pytest.mark.parametrize("facts", BOUNDS)
def test_cells_touch_and_their_steps_are_a_refinement(facts: dict[str, Any]) -> None:
    column = number(**facts)
    assert all(left.high == right.low for left, right in pairwise(column.cells))
    assert all(low < high for low, high in pairwise(column.atoms))
    for cell in column.cells:
        for parts in (1, 3, 20, float("inf")):
            edges = cell.edges(parts)
            assert edges[0] == cell.low
            assert len(edges) <= max(1, parts)
            assert {*edges} <= {*column.atoms}
    if column.whole:
        assert all(edge.denominator == 1 for edge in column.atoms)


@pytest.mark.parametrize("facts", BOUNDS)
def test_bounds_lie_in_the_first_and_the_last_cell(facts: dict[str, Any]) -> None:
    column = number(**facts)
    for bound in filter(None, (column.low, column.high)):
        assert column.cells[0].low <= bound <= column.cells[-1].high


def test_zero_has_a_cell_and_negative_numbers_none_of_it() -> None:
    cells = number().cells
    place = next(place for place, cell in enumerate(cells) if cell.low == 0)
    assert cells[place].high == Fraction(1, 10**6)
    assert cells[place - 1].high == 0


def bin_of(column: ScoutedColumn, text: str | None) -> int:
    texts = Texts(texts=[text], codes=np.zeros(1, dtype=np.int64), typed=np.zeros(1, dtype=bool))
    return int(atomic_bins({"x": texts}, column.column(), InputTable(), {}).rows()[0])


def test_every_text_has_a_cell_by_a_rule_for_that_text_alone() -> None:
    column = number(whole=True, low=Fraction(0), high=Fraction(120), missing=("999",))
    unread, gap = len(column.atoms), len(column.atoms) + 1
    expected = {"": gap, "999": gap, "old": unread, "1.5": unread, "inf": unread, "-4": 0, "0": 0, "500": unread - 1, None: gap}
    assert {text: bin_of(column, text) for text in expected} == expected
    assert column.atoms[bin_of(column, "37")] == 37


def test_codes_other_texts_and_gaps() -> None:
    column = ScoutedColumn(name="x", kind="listed", codes={"1": "a", "2": "b"}, missing=("9",))
    assert [bin_of(column, text) for text in ("1", "2.0", "7", "9", "")] == [0, 1, 2, 3, 3]


def test_full_cells_are_cut_and_empty_ones_are_not() -> None:
    column = number(whole=True, low=Fraction(0), high=Fraction(120))
    counts = [1000 if cell.low in (20, 50) else 0 for cell in column.cells]
    edges = column.second_look(counts, 10.0)
    inside = [edge for edge in edges if 20 <= edge < 50]
    assert len(inside) > 2
    assert {*column.first_look} <= {*edges}
    assert not [edge for edge in edges if 10 < edge < 20]


def test_a_cell_has_steps_by_its_share_of_the_numbers_as_far_as_the_noise_allows() -> None:
    """A frequent 0 is no reason for coarse steps elsewhere: 1,000 losses, all near 1,900, were one cell beside 31,000 zeros."""
    column = number(whole=True, low=Fraction(0))
    counts = [{0: 31_000, 1000: 1_000}.get(int(cell.low), 0) for cell in column.cells]
    steps = [sum(1000 <= edge < 2000 for edge in column.second_look(counts, deviation)) for deviation in (1.0, 60.0, 130.0)]
    assert steps == [20, 2, 1]  # by 50; each step has 4 standard deviations on average


@pytest.mark.parametrize(("high", "code"), [(100, 98), (1000, 997), (100_000, 99_997)])
def test_codes_for_missing_answers_have_a_cell(high: int, code: int) -> None:
    column = number(low=Fraction(0))
    edges = column.second_look([1000 if cell.high == high else 0 for cell in column.cells], 100.0)
    low = max(edge for edge in edges if edge <= code)
    assert (low, min(edge for edge in edges if edge > code)) == (high - max(10, high // 100), high)
    assert {*edges} <= {*column.atoms}


def test_limits_of_the_codebook_are_edges_wherever_they_lie() -> None:
    limits = tuple(map(Fraction, ("7.5", "1234", "2500")))
    column = number(low=Fraction(0), limits=limits)
    assert {*limits} <= {*column.second_look([0] * len(column.cells), 10.0)} <= {*column.atoms}
    entries = {"weight": CodebookEntry(number=True, low=Fraction(0), high=Fraction(9), limits=(*map(Fraction, (0, 2, 9, 10)),))}
    assert scouted_columns(entries | {"pay": CodebookEntry(number=True)})[0].limits == (2, 9)
    entries |= {"pay": CodebookEntry(number=True, whole=True, limits=(Fraction(1, 2),))}
    with pytest.raises(InputError, match="bounds or limits of 'pay' are not valid.*limits of integers must be whole"):
        scouted_columns(entries)


def test_groups_send_each_atom_to_its_cell() -> None:
    column = number(whole=True, low=Fraction(0), high=Fraction(120))
    groups = column.groups(column.first_look)
    lows = column.first_look
    for atom, group in zip(column.atoms, groups.tolist(), strict=False):
        assert lows[group] == max(low for low in lows if low <= atom)
    assert groups[-2:].tolist() == [len(lows), len(lows) + 1]


def test_a_codebook_has_to_say_what_a_column_holds() -> None:
    entries = {
        "age": CodebookEntry(number=True, low=Fraction(0), whole=True),
        "sex": CodebookEntry(labels={"1": "f", "9": "unknown"}, missing=frozenset({"9"})),
        "job": CodebookEntry(code=True),
        "note": CodebookEntry(description="nothing"),
    }
    with pytest.raises(InputError, match="does not say which values these columns can have: 'note'"):
        scouted_columns(entries)
    found = {column.name: column for column in scouted_columns(entries, leave_out=("note",))}
    assert [found[name].kind for name in ("age", "sex", "job")] == ["number", "listed", "texts"]
    assert (found["sex"].codes, found["sex"].missing) == ({"1": "f"}, ("9",))
    with pytest.raises(InputError, match="'gone'"):
        scouted_columns(entries, only=("gone",))


@pytest.mark.parametrize("bounds", [(Fraction(90), Fraction(18)), (Fraction(18), Fraction(18))])
def test_bounds_out_of_order_are_refused(bounds: tuple[Fraction, Fraction]) -> None:
    low, high = bounds
    entries = {"age": CodebookEntry(number=True, whole=True, low=low, high=high), "pay": CodebookEntry(number=True)}
    with pytest.raises(InputError, match="bounds or limits of 'age' are not valid. min must be below max"):
        scouted_columns(entries)


def test_one_column_is_refused_before_the_charge() -> None:
    """It has no figure of dependence: a scout of it was charged, and ended with nothing."""
    with pytest.raises(InputError, match="at least two columns. It has 'pay'"):
        scouted_columns({"pay": CodebookEntry(number=True)})


def test_bounds_of_integers_are_whole() -> None:
    """A draft with others cannot be read, after the scout was paid for."""
    entries = {"age": CodebookEntry(number=True, whole=True, high=Fraction(181, 2)), "pay": CodebookEntry(number=True)}
    with pytest.raises(InputError, match="bounds or limits of 'age' are not valid.*limits of integers must be whole numbers"):
        scouted_columns(entries)


@pytest.mark.parametrize(
    ("first", "last", "form", "period"),
    [
        ("2025-03-01", "2025-03-14", "%Y-%m-%d", "%Y-%m-%d"),
        ("2024-12-20", "2025-03-20", "%d.%m.%Y", "%G-W%V"),
        ("2025-01-01", "2025-02-20", "%d%b%Y", "%G-W%V"),
        ("2025-01-01", "2025-12-31", "%Y%m%d", "%Y-%m"),
        ("2023-01-01", "2025-12-31", "%Y-%m-%d or %d/%m/%Y", "quarter"),
        ("2016-01-01", "2025-12-31", "%Y-%m-%d", "%Y"),
    ],
)
def test_every_day_within_the_bounds_has_the_cell_of_its_period(first: str, last: str, form: str, period: str) -> None:
    """However few rows a day has; the bounds alone choose the period, and any other text is one of the other texts."""
    entry = CodebookEntry(dates=(first, last, form), missing=frozenset(["never"]))
    column, _ = scouted_columns({"x": entry, "y": CodebookEntry(code=True)})
    codes, n = [*column.codes], len(column.codes)
    assert n <= 16
    ways, day, ordered, expected = form.split(" or "), date.fromisoformat(first) - timedelta(2), list[str](), dict[str, int]()
    while day <= date.fromisoformat(last) + timedelta(2):
        name = f"{day.year}-Q{1 + (day.month - 1) // 3}" if period == "quarter" else day.strftime(period)
        inside = first <= day.isoformat() <= last
        ordered += [name] * (inside and name not in ordered)
        texts = [day.strftime(way) for way in ways]
        texts += [re.sub(r"\b0", "", text) for text in texts if "." in form or "/" in text] + [text.upper() for text in texts]
        expected |= {text: codes.index(name) if inside else n for text in texts}
        day += timedelta(1)
    read = Texts(texts=[*expected], codes=np.arange(len(expected)), typed=np.zeros(len(expected), dtype=bool))
    assert atomic_bins({"x": read}, column.column(), InputTable(), {}).rows().tolist() == [*expected.values()]
    assert codes == ordered
    assert [bin_of(column, text) for text in ("never", "", "2025-13-01", "soon")] == [n + 1, n + 1, n, n]


@pytest.mark.parametrize(
    "dates",
    [
        ("2025-12-31", "2025-01-01", "%Y-%m-%d"),
        ("1920-01-01", "2025-01-01", "%Y-%m-%d"),
        ("2025-01-01", "31.12.2025", "%d.%m.%Y"),
        ("2025-01-01", "2025-12-31", "%Y-%m"),
        ("None", "None", "%Y-%m-%d"),
    ],
)
def test_dates_need_bounds_in_order_and_a_whole_format(dates: tuple[str, str, str]) -> None:
    with pytest.raises(InputError, match="min and max must be dates such as 2020-01-31, at most ten years apart"):
        scouted_columns({"x": CodebookEntry(dates=dates), "y": CodebookEntry(code=True)})
