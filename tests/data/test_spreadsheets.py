"""Texts that a spreadsheet would execute, found under any delimiter; and what is harmless and must stay possible."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.data.texts import is_executable
from tests.whole.hostile.watch import executes

PIECES = [
    "=",
    "+",
    "-",
    "@",
    "\uff1d",
    "1",
    "1.5",
    "x",
    " ",
    "\u200b",
    "\u00a0",
    ",",
    ";",
    "|",
    "\t",
    "\n",
    "\r",
    '"',
    "'",
    "to",
]


@pytest.mark.parametrize(
    "text",
    [
        "=1+1", "+1", "-", "--1", "-1-1", "-x", "@SUM(1)", "\t1", "\r1", " =1", "\u00a0=1", "\u200b@x", "\uff1d1", "\uff0b1",
        "a;=1", "a,=1", "a\t=1", "a|=1", "a\n=1", 'a"=1', "a'; -x", "=cmd|' /C calc'!A0", "-2+3+cmd|' /C calc'!A0",
        "-1,", "-1; x",
    ],
)  # fmt: skip
def test_a_formula_is_found_wherever_a_cell_may_start(text: str) -> None:
    assert is_executable(text)


@pytest.mark.parametrize(
    "text", ["x", "-1", "-2.5", "a-b", "a = b", "<18", ">=18", "1-2", "", "a;b", "a; -1", "x@y", "don't know", "1+1", "\u2212x"]
)
def test_what_is_no_formula_stays_possible(text: str) -> None:
    assert not is_executable(text)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join))
def test_no_delimiter_makes_a_cell_of_a_text_that_passed_start_like_a_formula(text: str) -> None:
    """Written by `csv` with commas and read with any other delimiter, as spreadsheets of other countries do."""
    out = io.StringIO()
    csv.writer(out).writerow([text, "x"])
    assert is_executable(text) or not executes(text)
