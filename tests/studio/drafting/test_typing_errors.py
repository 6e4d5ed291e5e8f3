"""A text that is no number or no date is a missing value of a draft where a typing error is likely, and of no other column."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from synthrelease.scouting.codebook import CodebookEntry
from synthrelease.studio.drafting.column_draft import Answers, ColumnDraft
from synthrelease.studio.drafting.columns import date_format, without_typing_errors
from tests.helpers.drafts import column_alone

AGES = {str(age): 40 for age in range(18, 98)}
DAYS = {f"{year}-{month:02}-{day:02}": 10 for year in (2019, 2020) for month in range(1, 13) for day in range(1, 29)}


def read(texts: Mapping[str, int], entry: CodebookEntry | None = None) -> tuple[Answers, str]:
    return without_typing_errors(Answers.of("age", texts, 5, entry or CodebookEntry()))


def test_one_text_among_numbers_leaves_them_numbers() -> None:
    found, asked = read(AGES | {"4O": 1})
    assert (dict(found.texts), found.missing_rows, found.missing_values) == (AGES, 6, ("4O",))
    drafted = column_alone(found)
    assert isinstance(drafted, ColumnDraft)
    assert drafted.kind == "integer"
    assert asked.startswith(
        "the public file has 1 row ('4O') without a number in this column. The draft lists such texts as missing"
    )
    assert '{"age": {"kind": "code"}}' in asked


def test_one_text_among_dates_leaves_them_dates() -> None:
    found, asked = read(DAYS | {"2020-02-30": 1, "1791-01-03": 2, "?x": 1})
    assert date_format(found.texts) == "%Y-%m-%d"
    assert (found.missing_rows, found.missing_values) == (9, ("2020-02-30", "1791-01-03", "?x"))
    assert "the public file has 4 rows ('2020-02-30', '1791-01-03', '?x') without a date from 1850 to 2100" in asked


@pytest.mark.parametrize(
    ("texts", "entry"),
    [
        (AGES, None),
        (DAYS, None),
        (AGES | {"4O": 1, "5O": 1, "6O": 1, "7O": 1}, None),  # more than one row in 1,000
        (AGES | {"V45": 3}, None),  # a code that comes again
        (AGES | {"4O": 1}, CodebookEntry(code=True)),
        (AGES | {"4O": 1}, CodebookEntry(labels={"18": "eighteen"})),
        ({str(code): 900 for code in range(9)} | {"X": 1}, None),  # few different ones
        ({f"id{row}": 1 for row in range(3000)}, None),
    ],
)
def test_other_columns_stay_as_they_are(texts: Mapping[str, int], entry: CodebookEntry | None) -> None:
    assert read(texts, entry) == (Answers.of("age", texts, 5, entry or CodebookEntry()), "")
