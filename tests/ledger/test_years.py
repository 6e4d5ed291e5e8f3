"""A ledger with a plan over years: each year once, none beyond it, and the limit is on what a person pays."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from synthrelease.accounting.charges import mechanism
from synthrelease.accounting.ledger_pieces import Split
from synthrelease.accounting.years import Horizon, YearOfSeries
from synthrelease.errors import BudgetError
from synthrelease.ledger.account import Ledger, open_ledger
from synthrelease.ledger.notes import Notes, notes_of

PLAN = Horizon(
    first=2019,
    epsilons=tuple(map(Fraction, ("17/20", "1/2", "1/2"))),
    in_year=1,
    in_all=1,
    fallbacks=1,
    fallback_epsilon=Fraction(17, 20),
)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    found = open_ledger(tmp_path / "births.ledger", "births", "1.7")
    found.plan_years(PLAN)
    return found


def spend(ledger: Ledger, year: int, epsilon: str, again: bool = False, plan: Horizon = PLAN) -> Fraction:
    asked = YearOfSeries(horizon=plan, year=year, again=again)
    return ledger.reserve(mechanism("a release", Fraction(epsilon), "of a test"), "a run", year=asked).epsilon


def test_a_record_of_one_year_pays_for_the_dearest_year_alone(ledger: Ledger) -> None:
    assert [spend(ledger, 2019, "0.85"), spend(ledger, 2020, "0.5"), spend(ledger, 2020, "0.8", again=True)] == [
        Fraction("0.85"),
        Fraction("0.85"),
        Fraction("1.3"),
    ]
    found = ledger.statement()
    assert found.horizon == PLAN
    assert [(entry.notes.year, entry.notes.again) for entry in found.entries] == [
        (None, False),
        (2019, False),
        (2020, False),
        (2020, True),
    ]


def test_the_same_people_pay_for_every_year(tmp_path: Path) -> None:
    plan = replace(PLAN, in_year=2, in_all=6, fallbacks=0, fallback_epsilon=Fraction(0))
    ledger = open_ledger(tmp_path / "persons.ledger", "persons", "3.7")
    ledger.plan_years(plan)
    assert [spend(ledger, year, "0.5", plan=plan) for year in plan.years] == [1, 2, 3]


@pytest.mark.parametrize(
    ("year", "epsilon", "again", "told"),
    [
        (2019, "0.5", False, "has a release of 2019 already"),
        (2022, "0.5", False, "expected a year of the plan in .*, 2019 to 2021, found 2022"),
        (2018, "0.5", False, "expected a year of the plan"),
        (2020, "0.51", False, r"allows epsilon = 0.5 and delta = 0 for the release of 2020, and this one costs 0.51"),
        (2020, "0.5", True, "expected one release of 2020 that released nothing, found none"),
        (2019, "0.86", True, "allows epsilon = 0.85"),
    ],
)
def test_what_is_not_in_the_plan_is_refused_and_charged_nothing(
    ledger: Ledger, year: int, epsilon: str, again: bool, told: str
) -> None:
    spend(ledger, 2019, "0.85")
    before = ledger.statement()
    with pytest.raises(BudgetError, match=told):
        spend(ledger, year, epsilon, again)
    assert ledger.statement() == before


def test_second_releases_are_as_many_as_planned(ledger: Ledger) -> None:
    spend(ledger, 2019, "0.85")
    spend(ledger, 2019, "0.85", again=True)
    with pytest.raises(BudgetError, match="expected one release of 2019 that released nothing, found two"):
        spend(ledger, 2019, "0.5", again=True)
    spend(ledger, 2020, "0.5")
    with pytest.raises(BudgetError, match="the plan has 1 second releases of a year, all of them charged"):
        spend(ledger, 2020, "0.5", again=True)


def test_a_release_and_its_ledger_have_the_same_plan(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(BudgetError, match="is not the one that"):
        spend(ledger, 2019, "0.5", plan=replace(PLAN, in_all=3, in_year=3))
    with pytest.raises(BudgetError, match="names no year"):
        ledger.reserve(mechanism("a release", Fraction(1, 2), "of a test"), "a run")
    plain = open_ledger(tmp_path / "plain.ledger", "births", 10)
    with pytest.raises(BudgetError, match="to note a plan over years"):
        spend(plain, 2019, "0.5")


def test_a_plan_comes_first_and_once_and_within_the_limit(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(BudgetError, match="has a plan over years already"):
        ledger.plan_years(PLAN)
    with pytest.raises(BudgetError, match="has a plan over years, which counts records"):
        ledger.split(Split(pieces=2, key="1a" * 32, register="2b" * 32))
    used = open_ledger(tmp_path / "used.ledger", "births", 10)
    used.reserve(mechanism("a release", Fraction(1), "of a test"), "a run")
    with pytest.raises(BudgetError, match="has entries already"):
        used.plan_years(PLAN)
    small = open_ledger(tmp_path / "small.ledger", "births", "1.69")
    with pytest.raises(BudgetError, match="promises a person epsilon = 1.7 at most"):
        small.plan_years(PLAN)
    assert small.statement().entries == ()


@pytest.mark.parametrize(
    "text",
    ["year 2022", "year 2019 again again", "year 02019", "years", Notes(horizon=PLAN).text, "year 2019 piece 1", "year"],
)
def test_what_only_a_forger_writes_of_years_is_refused_although_the_hashes_are_right(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        notes_of(text, [Notes(horizon=PLAN)])
    with pytest.raises(ValueError, match="expected"):
        notes_of("year 2019", [])
    assert notes_of(Notes(horizon=PLAN).text, []) == Notes(horizon=PLAN)
    assert notes_of("year 2021 again", [Notes(horizon=PLAN)]) == Notes(year=2021, again=True)
