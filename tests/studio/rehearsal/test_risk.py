"""Risk figures: a case by hand, and a row-wise intruder who looks up every person in every copy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.data.counts import Counts
from synthrelease.studio.rehearsal.attempts import PublicTable
from synthrelease.studio.rehearsal.risk import group_risks, risk_groups, risk_report
from tests.helpers.small import World

WORLD = World({"age": 4, "sex": 1, "ill": 1})
SEX = replace(WORLD.transformation.binnings[1], numbers=(None, None))
CODED = replace(WORLD.transformation, binnings=(WORLD.transformation.binnings[0], SEX, WORLD.transformation.binnings[2]))
"""Sex is a code without numbers: age is continuous among the quasi-identifiers."""
ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=12)


def table(rows: Sequence[Sequence[int]]) -> Counts:
    return WORLD.counts([int(np.ravel_multi_index(row, WORLD.layout.sizes)) for row in rows])


def public(rows: Sequence[Sequence[int]]) -> PublicTable:
    return PublicTable(counts=table(rows), transformation=CODED, public_because="made up here")


PERSONS = [(0, 0, 0), (0, 0, 1), (1, 0, 1), (2, 1, 0)]
COPIES = [[(0, 0, 0), (1, 0, 1), (1, 1, 0), (2, 1, 1)], [(0, 0, 0), (0, 0, 0), (1, 0, 0), (1, 0, 1), (3, 1, 0)]]
"""By hand, with age and sex known. First copy: s = 1, 1, 1, 1 for the four persons; the matches agree in `ill` for the first
and third, a = 1, 0, 1, 0. Second copy: s = 2, 2, 2, 0 and a = 2, 0, 1, 0.

I = (1 + 1/2)/2 = 3/4 for three persons and (1 + 0)/2 = 1/2 for the last: sum 11/4, mean 11/16, highest 3/4.
In the original the first two share age and sex: mean risk (1/2 + 1/2 + 1 + 1)/4 = 3/4.
a/s: first copy 1, 0, 1, 0, second 1, 0, 1/2, 0: mean (2 + 3/2)/8 = 7/16.
Unique matches: 4 of 8 look-ups; true ones 2 of 8; of the 4 unique ones 2 are false.
Alone in the original are the last two: unique matches 1, 1 in the first copy and none in the second: 2 of 4.
"""


def test_a_small_case_is_as_by_hand() -> None:
    report = risk_report(public(PERSONS), [table(rows) for rows in COPIES], quasi_identifiers=["age", "sex"])
    assert report["mean_risk"] == pytest.approx(11 / 16)
    assert report["highest_risk"] == pytest.approx(3 / 4)
    assert report["mean_risk_of_original"] == pytest.approx(3 / 4)
    assert report["correct_attribution"] == pytest.approx(7 / 16)
    assert report["true_match_rate"] == pytest.approx(1 / 4)
    assert report["false_match_rate"] == pytest.approx(1 / 2)
    assert report["replicated_uniques"] == pytest.approx(1 / 2)
    of_groups = product(("low", "medium", "high"), ("share", "mean_risk", "highest_risk", "correct_attribution"))
    assert {"_".join(names) for names in of_groups} < set(report)


def intruder(persons: np.ndarray, copies: Sequence[np.ndarray], known: Sequence[int]) -> dict[str, float]:
    """Every person looked up in every copy, row by row; a row's identity in the original is its position."""

    def fits(row: np.ndarray, person: np.ndarray, columns: Sequence[int]) -> bool:
        return all(row[c] == person[c] for c in columns)

    rest = [c for c in range(persons.shape[1]) if c not in known]
    risks, attributions, unique, true, replicated, alone, at_home = [], [], 0, 0, 0, 0, []
    for person in persons:
        twins = sum(fits(row, person, known) for row in persons)
        alone += twins == 1
        at_home.append(1 / twins)
        chances = []
        for copy in copies:
            matches = [row for row in copy if fits(row, person, known)]
            right = [row for row in matches if all(row[c] == person[c] for c in rest)]
            chances.append(1 / len(matches) if matches else 0.0)
            attributions.append(len(right) / len(matches) if matches else 0.0)
            unique += len(matches) == 1
            true += len(matches) == 1 and len(right) == 1
            replicated += twins == 1 and len(matches) == 1
        risks.append(np.mean(chances))
    look_ups = len(persons) * len(copies)
    return {
        "mean_risk": np.mean(risks),
        "highest_risk": max(risks),
        "mean_risk_of_original": np.mean(at_home),
        "correct_attribution": np.mean(attributions),
        "true_match_rate": true / look_ups,
        "false_match_rate": (unique - true) / unique if unique else math.nan,
        "replicated_uniques": replicated / (alone * len(copies)) if alone else math.nan,
    }


@pytest.mark.slow
@given(ROWS, st.lists(ROWS, min_size=1, max_size=3), st.permutations(["age", "sex", "ill"]), st.integers(1, 3))
@settings(max_examples=150, deadline=None)
def test_look_ups_by_cells_are_those_of_an_intruder_with_rows(persons, copies, order, size: int) -> None:
    known = order[:size]
    original, tables = public(persons), [table(rows) for rows in copies]
    report = risk_report(original, tables, quasi_identifiers=known)
    index = WORLD.layout.index
    expected = intruder(original.counts.expand(), [one.expand() for one in tables], [index(name) for name in known])
    assert {name: report[name] for name in expected} == pytest.approx(expected, nan_ok=True)


def test_the_original_as_its_own_copy_has_its_own_risk() -> None:
    rows = [tuple(row) for row in np.random.default_rng(2).integers(0, 2, (60, 3))]
    report = risk_report(public(rows), [table(rows)], quasi_identifiers=["age", "ill"])
    assert report["mean_risk"] == pytest.approx(report["mean_risk_of_original"])
    assert 60 * report["mean_risk"] == pytest.approx(4)  # a person is picked for each of the 4 occupied combinations


def test_domains_too_large_for_a_full_array_give_the_same_figures() -> None:
    """The same rows with four columns of 100 bins more, all constant: 2 * 10^9 cells."""
    wide = World({"age": 4, "sex": 1, "ill": 1, **{f"c{i}": 99 for i in range(4)}})

    def widened(rows: Sequence[Sequence[int]]) -> Counts:
        full = [(*row, 7, 7, 7, 7) for row in rows]
        return wide.counts([int(np.ravel_multi_index(row, wide.layout.sizes)) for row in full])

    original = PublicTable(counts=widened(PERSONS), transformation=wide.transformation, public_because="made up here")
    copies = [widened(rows) for rows in COPIES]
    large = risk_report(original, copies, quasi_identifiers=["age", "sex", "c0", "c1", "c2", "c3"])
    small = risk_report(public(PERSONS), [table(rows) for rows in COPIES], quasi_identifiers=["age", "sex"])
    assert large == pytest.approx(small, nan_ok=True)  # nobody is at low risk


def test_without_unique_matches_there_is_no_false_match_rate() -> None:
    report = risk_report(public([(0, 0, 0), (0, 0, 0)]), [table([(1, 0, 0)])], quasi_identifiers=["age"])
    assert math.isnan(report["false_match_rate"])
    assert math.isnan(report["replicated_uniques"])
    assert (report["true_match_rate"], report["mean_risk"]) == (0, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quasi_identifiers": []}, "quasi_identifiers is empty. Name at least one column"),
        ({"quasi_identifiers": ["agee"]}, "the table has no column 'agee'. .* Did you mean 'age'"),
        ({"quasi_identifiers": ["age", "age"]}, "Name each column once"),
    ],
)
def test_impossible_look_ups_are_refused(options, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        risk_report(public(PERSONS), [table(COPIES[0])], **options)


def test_private_counts_are_refused() -> None:
    with pytest.raises(TypeError, match="found PrivateCounts"):
        risk_report(public(PERSONS), [WORLD.private([0], [])], quasi_identifiers=["age"])  # type: ignore[list-item]


# --- groups of risk ---


def group_by_pairs(rows: Sequence[Sequence[int]], person: int, least: int) -> int:
    """The rule, person by person: sex is categorical, age continuous."""
    age, sex, _ = rows[person]
    others = [row for place, row in enumerate(rows) if place != person]
    alike = [row for row in others if row[1] == sex]
    near = [row for row in alike if row[0] == age]
    return 0 if len(near) >= least else 1 if len(alike) >= least else 2


@pytest.mark.slow
@given(ROWS, st.integers(1, 4))
def test_groups_of_risk_are_those_of_a_search_over_pairs(rows: list[tuple[int, int, int]], least: int) -> None:
    found = risk_groups(public(rows), ["age", "sex"], least)
    of_cell = {tuple(cell): group for cell, group in zip(zip(*table(rows).bins, strict=True), found, strict=True)}
    assert [of_cell[row] for row in rows] == [group_by_pairs(rows, place, least) for place in range(len(rows))]


def test_among_more_others_than_there_are_everybody_is_at_high_risk() -> None:
    assert (risk_groups(public(PERSONS), ["age", "sex"], 5) == 2).all()
    with pytest.raises(ValueError, match="least_others: expected at least 1, found 0"):
        risk_groups(public(PERSONS), ["age"], 0)


def test_the_figures_of_the_groups_are_those_of_their_persons() -> None:
    """k_0 = 1: the first two share age and sex (low), the third their sex alone (medium), the last is the only one of its sex.

    From the case above: I = 3/4, 3/4, 3/4, 1/2; a/s over the copies: 1, 0, 3/4, 0.
    """
    report = risk_report(public(PERSONS), [table(rows) for rows in COPIES], quasi_identifiers=["age", "sex"], least_others=1)

    def of_groups(figure: str) -> list[float]:
        return [report[f"{group}_{figure}"] for group in ("low", "medium", "high")]

    assert of_groups("share") == [0.5, 0.25, 0.25]
    assert of_groups("mean_risk") == pytest.approx([3 / 4, 3 / 4, 1 / 2])
    assert of_groups("correct_attribution") == pytest.approx([1 / 2, 3 / 4, 0])
    assert report["high_highest_risk"] == pytest.approx(1 / 2)
    by_sex = risk_report(public(PERSONS), [table(COPIES[0])], quasi_identifiers=["sex"], least_others=1)
    assert math.isnan(by_sex["medium_mean_risk"])  # without a continuous column nobody is in between


def test_a_cell_counts_as_often_as_it_has_persons() -> None:
    """Three persons of one cell at 0.2 and one of another at 0.6, all of one group: by hand."""
    figures = group_risks(np.zeros(2, dtype=np.int64), np.array([3, 1]), np.array([0.2, 0.6]), np.array([0.0, 1.0]))
    low = [figures[f"low_{name}"] for name in ("share", "mean_risk", "highest_risk", "correct_attribution")]
    assert low == pytest.approx([1, 0.3, 0.6, 0.25])
    assert [figures["medium_share"], figures["high_share"]] == [0, 0]
