"""Which texts may be the label of a bin."""

from __future__ import annotations

from synthrelease.data.texts import is_executable

EXPECTED = (
    "labels of one line and 1 to 200 characters that no spreadsheet executes (= + - @ start a formula, also after "
    ", ; | and quotes)"
)


def is_label(text: str) -> bool:
    """Whether a text can be written into the released table and read again."""
    return not is_executable(text) and bool(text.strip()) and len(text) <= 200 and len((text + " ").splitlines()) == 1
