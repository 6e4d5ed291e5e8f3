"""The figures of registers: the share of the association that a release preserves, and the table of the page."""

from __future__ import annotations

import math

import pytest

from tests.benchmarks.register_figures import Compared
from tests.benchmarks.registers import COLUMNS, TABLE, read_table, with_table


@pytest.mark.parametrize(
    ("release", "half", "independent", "words"),
    [
        (0.02, 0.01, 0.11, "90%"),
        (0.0465, 0.0408, 0.0407, "none: worse than independent columns"),
        (0.0030, 0.0032, 0.0027, "too few rows to tell"),  # another half of the same people is further off than either
    ],
)
def test_nothing_is_told_where_another_half_is_further_off(release: float, half: float, independent: float, words: str) -> None:
    pairs = {"release": release, "half": half, "independent": independent}
    kept = 1 - (release - half) / (independent - half) if independent > half else math.nan
    distances = {name: (0.0, of_pairs, 0.0) for name, of_pairs in pairs.items()}
    found = Compared(distances=distances, kept=kept, strong=0, lost=[], accepted=(1, 1), n_kept=9)
    assert found.kept_in_words == words


def test_the_table_of_the_page_is_the_one_of_the_data_file() -> None:
    rows, page = read_table(), TABLE.with_suffix(".md").read_text(encoding="utf-8")
    assert rows
    assert all(tuple(row) == COLUMNS for row in rows)
    assert page == with_table(page, rows)
    assert page != with_table(page, rows[1:])


def test_the_share_that_is_preserved_follows_from_the_distances() -> None:
    for row in read_table():
        if row["preserved"].endswith("%"):
            release, half, independent = (float(row[f"{what}_2"]) for what in ("release", "half", "independent"))
            off = 0.00005 * 4 / (independent - half)  # distances are rounded to four digits
            assert abs(1 - (release - half) / (independent - half) - float(row["preserved"][:-1]) / 100) < 0.005 + off
