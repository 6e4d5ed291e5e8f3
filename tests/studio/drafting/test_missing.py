"""Which texts stand for no answer: by custom, by the codebook, and codes of nines that are far from all numbers."""

from __future__ import annotations

import pytest

from synthrelease.scouting.codebook import CodebookEntry
from synthrelease.studio.drafting.column_draft import Answers, ColumnDraft, missing_texts
from tests.helpers.drafts import column_alone

AGES = {str(age): 50 for age in range(18, 91)}
HOURS = {str(hours): 1 + 120 // (1 + abs(hours - 40)) for hours in range(5, 61, 5)} | {"70": 3, "80": 4, "90": 1}
MARRIED = {"1": 500, "2": 300, "3": 80}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"Private": 9, "?": 3, "Unknown": 2, "unknown": 1, "not known": 1, "Unknown-city": 1},
         {"?", "Unknown", "unknown", "not known"}),
        ({"1": 9, "2": 3, "N": 5}, {"N"}),
        ({**AGES, "not asked yet": 40, "bald": 2}, {"not asked yet", "bald"}),
        ({**AGES, "<5": 40, "100+": 2}, set()),
        ({**AGES, "many": 90_000}, set()),  # most rows have no number
        ({"N": 9, "S": 3, "E": 5, "W": 1}, set()),  # points of the compass
        ({**MARRIED, "9": 4, "97": 3, "98": 2, "99": 5}, {"97", "98", "99"}),
        ({**MARRIED, "99": 1}, set()),  # once: it may be a slip, and a column of its own is not made of it
        ({**AGES, "99": 4}, set()),  # somebody may be 99
        ({**AGES, "999": 4}, {"999"}),
        ({**{str(pressure): 50 for pressure in range(90, 215)}, "888": 3, "999": 700}, {"888", "999"}),
        ({**{str(price): 50 for price in range(500)}, "999": 9}, set()),  # not far from the others
        ({**{str(hours): 400 // (1 + abs(hours - 40)) for hours in range(97)}, "98": 60, "99": 90}, {"98", "99"}),
        ({**{str(hours): 400 // (1 + abs(hours - 40)) for hours in range(97)}, "98": 9, "99": 8}, set()),
        ({**HOURS, "97": 1, "98": 5, "99": 3}, {"97", "98", "99"}),  # of 600 rows
        ({**{str(minutes): 3 for minutes in range(0, 481, 15)}, "998": 5, "999": 3}, {"998", "999"}),
        ({str(age): max(1, 60 - age // 2) for age in range(18, 100)}, set()),
        ({f"{degrees / 10:.1f}": 15 for degrees in range(960, 1000)}, set()),
        ({f"{percent / 100:g}": 2 for percent in range(9700, 10_000)}, set()),
        ({str(saturation): 5 + 40 * (saturation > 96) for saturation in range(88, 100)}, set()),
        ({**{str(amount): 1 for amount in range(0, 20_000, 50)}, "-1": 1, "-2": 1}, set()),
        ({str(share): 100 + (share == 99) * 900 for share in range(101)}, set()),  # per cent
        ({**AGES, "-9": 4}, {"-9"}),
        ({"-5": 3, "-9": 4, "7": 3, "1": 1}, set()),  # degrees
        ({"Mexico": 90, "Peru": 4, "99": 50}, {"99"}),
        ({"2020-01-02": 5, "9999-99-99": 7, "0000-00-00": 1}, {"9999-99-99", "0000-00-00"}),
        ({"31.12.2019": 5, "99.99.9999": 7}, {"99.99.9999"}),
    ],
)  # fmt: skip
def test_what_stands_for_no_answer(texts: dict[str, int], expected: set[str]) -> None:
    assert set(missing_texts(texts, CodebookEntry())) == expected


def test_the_codebook_has_the_last_word() -> None:
    texts = {**MARRIED, "8": 4, "99": 9}
    assert missing_texts(texts, CodebookEntry(labels={"99": "married abroad"})) == ()
    assert missing_texts(texts, CodebookEntry(missing=frozenset(["8"]))) == ("8", "99")
    assert missing_texts(texts, CodebookEntry(missing=frozenset(["7"]))) == ("99",)  # codes that no row has are not named


def quantity(*below: tuple[str, int], first: int = 50) -> dict[str, int]:
    """Thirty numbers from 0 on, the more rarely the larger they are, and others below."""
    return {str(value): first - value for value in range(30)} | dict(below)


@pytest.mark.parametrize(
    ("texts", "labels", "gone"),
    [
        (quantity(("-1", 30)), {}, ["-1"]),  # alone
        (quantity(("-1", 300), ("-2", 80)), {}, ["-1", "-2"]),  # far more frequent than 0
        (quantity(("-3", 9), ("-4", 5)), {}, ["-3", "-4"]),  # nothing at -1
        (quantity(("-1", 45), ("-2", 20), ("-3", 4)), {}, []),  # a tail
        (quantity(("-1", 45), ("-2", 20), ("-3", 4)), {"-1": "Never", "-2": "Child", "-3": "Other"}, ["-1", "-2", "-3"]),
        (quantity(*[(str(-value), 10) for value in range(1, 9)]), {}, []),  # differences
        (quantity(("-20", 9)), {}, []),
        ({"-1": 300, "1": 200, "2": 100, "3": 50}, {}, []),  # codes of an answer
        ({"-1": 5, **{str(tenth): 200 for tenth in range(1, 11)}}, {}, ["-1"]),  # tenths have no 0
        ({"-1": 5, **{str(mark): 200 for mark in range(11)}}, {}, []),  # marks around 0
    ],
)
def test_codes_below_a_quantity_that_is_never_negative_are_not_averaged(
    texts: dict[str, int], labels: dict[str, str], gone: list[str]
) -> None:
    found = Answers.of("x", texts, 0, CodebookEntry(labels=labels))
    assert list(found.missing_values) == gone
    assert found.missing_rows == sum(texts[text] for text in gone)
    assert found.below_zero == (() if labels else tuple(gone))


def test_a_code_below_zero_is_named_and_asked_about() -> None:
    found = column_alone(Answers.of("x", quantity(("-1", 300)), 0, CodebookEntry()))
    assert isinstance(found, ColumnDraft)
    assert (found.missing_label, found.missing_rows) == ("code -1", 300)
    assert found.facts
    assert min(found.facts.numbers.values(), default=0) >= 0
    assert "delete it from missing_values" in found.doubt
    named = column_alone(Answers.of("x", quantity(("-1", 300)), 0, CodebookEntry(labels={"-1": "Never"})))
    assert isinstance(named, ColumnDraft)
    assert named.missing_label == "Never"
    assert "missing_values" not in named.doubt


def test_codes_just_above_the_numbers_are_asked_about() -> None:
    for texts, asked in (({**HOURS, "97": 1, "98": 5, "99": 3}, True), ({**AGES, "999": 4}, False)):
        found = column_alone(Answers.of("x", texts, 0, CodebookEntry()))
        assert isinstance(found, ColumnDraft)
        assert ("do '97', '98', '99' mean no answer?" in found.doubt) is asked
