"""How figures are written in sentences."""

from __future__ import annotations

import pytest

from synthrelease.criteria.facts import figure


@pytest.mark.parametrize(
    ("value", "digits", "written"),
    [
        (130.4, 2, "130"),
        (986.3, 2, "990"),
        (1304.4, 2, "1,300"),
        (97.26, 3, "97.3"),
        (-0.0151, 2, "-0.015"),
        (4e6, 2, "4,000,000"),
    ],
)
def test_a_figure_of_hundreds_is_written_out(value: float, digits: int, written: str) -> None:
    assert figure(value, digits) == written
