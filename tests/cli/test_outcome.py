"""What a release says of itself in the end: five answers in one order, each from release.json."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthrelease.cli.outcome import cost_sentences, print_outcome, shown_epsilon
from synthrelease.published.document import ReleaseDocument, read_leniently
from tests.conftest import ROOT

KEPT = ROOT / "tests" / "kept" / "format-1" / "release" / "release.json"
HEADINGS = ["What was made", "Where it is", "What it cost", "How good it is", "What to do next"]


def kept(**guarantee: Any) -> ReleaseDocument:
    """A release of 1.0.0, with another guarantee."""
    document: dict[str, Any] = json.loads(KEPT.read_bytes())
    document["guarantee"] |= guarantee
    return read_leniently(json.dumps(document))


def said(document: ReleaseDocument) -> str:
    return " ".join(cost_sentences(document))


def test_five_answers_in_the_order_of_a_readers_questions(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    print_outcome(kept(), tmp_path / "a folder whose name is long" / ("x" * 80))
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line in HEADINGS] == HEADINGS
    assert max(len(line) for line in lines if str(tmp_path) not in line) <= 80
    assert f"  {tmp_path / 'a folder whose name is long' / ('x' * 80) / 'data.csv'}" in lines  # on one line, to be copied


def test_the_tree_of_charges_is_printed_on_request_within_the_cost(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    document = kept()
    leaves = [part.name for part in document.charges.parts]
    for charges in (False, True):
        print_outcome(document, tmp_path, charges=charges)
        printed = capsys.readouterr().out
        cost = printed[printed.index("What it cost") : printed.index("How good it is")]
        assert [name in cost for name in leaves] == [charges] * len(leaves)


@pytest.mark.parametrize("epsilon", ["1/100", "7/10", "1", "3"])
def test_the_cost_is_a_factor_and_a_guess(epsilon: str) -> None:
    """Bayes' rule at even odds: a likelihood ratio of at most e^epsilon gives a posterior of at most r / (1 + r)."""
    ratio = math.exp(Fraction(epsilon))
    text = said(kept(epsilon=float(Fraction(epsilon)), epsilon_exact=epsilon, delta=0, delta_exact="0"))
    factor, guess = (
        float(number) for number in re.findall(r"([\d.]+) times as large.* right in at most ([\d.]+)% of", text)[0]
    )
    assert ratio <= factor < ratio * 1.1
    assert 100 * ratio / (1 + ratio) <= guess < 100 * ratio / (1 + ratio) + 1


PERSON: Mapping[str, Any] = {"unit": "toss", "records": 3, "why": "", "epsilon_exact": "3/2", "delta_exact": "0"}


def test_the_cost_is_that_of_a_person_where_persons_have_several_rows() -> None:
    document = kept(epsilon=0.5, epsilon_exact="1/2", delta=0, delta_exact="0", person=PERSON)
    assert "all 3 rows of any one person" in said(document)
    assert "at most 4.5 times as large" in said(document)  # e^1.5 = 4.48, not e^0.5
    nobody = kept(person={**PERSON, "epsilon_exact": None, "delta_exact": None})
    assert "A person with 3 rows is not protected" in said(nobody)
    assert "%" not in said(nobody)


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=40, max_denominator=10**7))
def test_an_epsilon_is_shown_in_few_digits_and_never_understated(epsilon: Fraction) -> None:
    shown = Fraction(shown_epsilon(epsilon))
    assert epsilon <= shown <= epsilon * Fraction(101, 100)
    assert len(shown_epsilon(epsilon).replace(".", "").lstrip("0")) <= 4
