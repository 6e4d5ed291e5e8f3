"""A ledger with a multi-year plan: each year once, none beyond it, and the limit is on what a person pays."""

from __future__ import annotations

import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from synthrelease.errors import BudgetError
from synthrelease.privacy import ledger as account
from synthrelease.privacy.charges import mechanism
from synthrelease.privacy.ledger import ChargedRun, Ledger, open_ledger
from synthrelease.privacy.ledger_file import LedgerError, Notes, notes_of
from synthrelease.privacy.plan import Horizon, Loss, PaidYear, YearOfSeries
from synthrelease.privacy.subsets import Split

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


def spend(
    ledger: Ledger, year: int, epsilon: str, again: bool = False, plan: Horizon = PLAN, named: tuple[PaidYear, ...] = ()
) -> Fraction:
    asked = YearOfSeries(horizon=plan, year=year, again=again, named=named)
    return ledger.reserve(mechanism("a release", Fraction(epsilon), "of a test"), "a run", ChargedRun(year=asked)).epsilon


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
        (2019, "0.5", False, "already contains a release for 2019"),
        (2022, "0.5", False, "covers the years 2019 to 2021, but .* year is 2022"),
        (2018, "0.5", False, "covers the years 2019 to 2021, but .* year is 2018"),
        (
            2020,
            "0.51",
            False,
            r"release for 2020 would cost epsilon = 0.51 and delta = 0, but the plan allows only epsilon = 0.5 and delta = 0",
        ),
        (2020, "0.5", True, "contains no release for 2020 to replace"),
        (2019, "0.86", True, "the second release for 2019 .* allows only epsilon = 0.85"),
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
    with pytest.raises(BudgetError, match="already contains two releases for 2019"):
        spend(ledger, 2019, "0.5", again=True)
    spend(ledger, 2020, "0.5")
    with pytest.raises(BudgetError, match="allows only 1 second release, and none is left"):
        spend(ledger, 2020, "0.5", again=True)


def test_a_release_and_its_ledger_have_the_same_plan(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(BudgetError, match="differs from the plan in"):
        spend(ledger, 2019, "0.5", plan=replace(PLAN, in_all=3, in_year=3))
    with pytest.raises(BudgetError, match="year is not set"):
        ledger.reserve(mechanism("a release", Fraction(1, 2), "of a test"), "a run")
    plain = open_ledger(tmp_path / "plain.ledger", "births", 10)
    with pytest.raises(BudgetError, match="years describes a multi-year plan, but .* contains no such plan"):
        spend(plain, 2019, "0.5")


def test_a_plan_comes_first_and_once_and_within_the_limit(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(BudgetError, match="already contains a multi-year plan"):
        ledger.plan_years(PLAN)
    with pytest.raises(BudgetError, match="does not allow a register that is split"):
        ledger.split(Split(pieces=2, key="1a" * 32, register="2b" * 32))
    used = open_ledger(tmp_path / "used.ledger", "births", 10)
    used.reserve(mechanism("a release", Fraction(1), "of a test"), "a run")
    with pytest.raises(BudgetError, match="already has entries"):
        used.plan_years(PLAN)
    small = open_ledger(tmp_path / "small.ledger", "births", "1.69")
    with pytest.raises(BudgetError, match="would cost up to epsilon = 1.7 per person"):
        small.plan_years(PLAN)
    assert small.statement().entries == ()


def of_year(year: int, epsilon: str, again: bool = False) -> tuple[PaidYear, ...]:
    return (PaidYear(year=year, again=again, paid=Loss(Fraction(epsilon), Fraction(0))),)


@pytest.mark.parametrize("named", [of_year(2019, "0.84"), of_year(2019, "0.85", again=True), of_year(2021, "0.85")])
def test_a_release_that_the_ledger_was_never_charged_for_cannot_be_named(ledger: Ledger, named: tuple[PaidYear, ...]) -> None:
    """A forged one, one of another ledger, and what an older copy of this one has not heard of."""
    spend(ledger, 2019, "0.85")
    with pytest.raises(BudgetError, match=f"names a release for {named[0].year} .* has no such charge"):
        spend(ledger, 2020, "0.5", named=named)
    assert spend(ledger, 2020, "0.5", named=of_year(2019, "0.85")) == Fraction("0.85")


def test_of_two_copies_the_older_one_does_not_go_on(ledger: Ledger, tmp_path: Path) -> None:
    """The copy does not know the year that the other one paid: a release that names it shows it, or a logbook."""
    spend(ledger, 2019, "0.85")
    copy = tmp_path / "copy.ledger"
    for ending in ("", ".head"):
        shutil.copy(f"{ledger.path}{ending}", f"{copy}{ending}")
    spend(ledger, 2020, "0.5")
    head = ledger.statement().head.hash[:16]
    with pytest.raises(BudgetError, match=r"an older copy of the ledger or a different ledger"):
        spend(Ledger(path=copy), 2021, "0.5", named=(*of_year(2019, "0.85"), *of_year(2020, "0.5")))
    with pytest.raises(LedgerError, match="does not contain the expected head"):
        spend(Ledger(path=copy, expect_head=head), 2020, "0.5")


def test_a_crash_between_two_years_leaves_a_year_either_charged_or_free(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the charge is written the year is free; from then on it is done, whatever the run came to."""
    spend(ledger, 2019, "0.85")
    before = ledger.statement()

    class Crash(Exception):
        pass

    def crash(*_: object) -> None:
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(account.Ledger, "_written", crash)
        with pytest.raises(Crash):
            spend(ledger, 2020, "0.5")
    assert ledger.statement() == before
    with monkeypatch.context() as patched:
        patched.setattr(account, "settle", crash)
        with pytest.raises(Crash):
            spend(ledger, 2020, "0.5")
    assert [entry.notes.year for entry in ledger.statement().entries] == [None, 2019, 2020]
    with pytest.raises(BudgetError, match="already contains a release for 2020"):
        spend(ledger, 2020, "0.5")
    assert spend(ledger, 2020, "0.85", again=True) == Fraction("1.35")


def test_a_plan_that_ends_otherwise_is_another_plan(ledger: Ledger) -> None:
    """Neither a longer horizon nor dearer years, more records or more second releases, once the first year is released."""
    spend(ledger, 2019, "0.85")
    longer = replace(PLAN, epsilons=(*PLAN.epsilons, Fraction(1, 2)))
    for other in (
        longer,
        replace(PLAN, epsilons=PLAN.epsilons[:2]),
        replace(PLAN, epsilons=(*PLAN.epsilons[:2], Fraction(3, 5))),
        replace(PLAN, in_all=2),
        replace(PLAN, fallbacks=2),
        replace(PLAN, fallback_epsilon=Fraction(1)),
        replace(PLAN, delta=Fraction(1, 10**9)),
        replace(PLAN, first=2018),
    ):
        with pytest.raises(BudgetError, match="differs from the plan in"):
            spend(ledger, 2020, "0.5", plan=other)
        with pytest.raises(BudgetError, match="already contains a multi-year plan"):
            ledger.plan_years(other)


@pytest.mark.parametrize(
    "text", ["year 2022", "year 2019 again again", "year 02019", "years", Notes(horizon=PLAN).text, "year 2019 piece 1", "year"]
)
def test_what_only_a_forger_writes_of_years_is_refused_although_the_hashes_are_right(text: str) -> None:
    with pytest.raises(ValueError, match="malformed|contradict"):
        notes_of(text, [Notes(horizon=PLAN)])
    with pytest.raises(ValueError, match="contradict the notes of earlier"):
        notes_of("year 2019", [])
    assert notes_of(Notes(horizon=PLAN).text, []) == Notes(horizon=PLAN)
    assert notes_of("year 2021 again", [Notes(horizon=PLAN)]) == Notes(year=2021, again=True)
