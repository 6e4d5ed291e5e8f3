"""Whether a plan over years can be noted in a ledger, and whether a release is the next of it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from synthrelease.accounting.years import Horizon, YearOfSeries
from synthrelease.errors import BudgetError
from synthrelease.ledger.entries import Statement, shown

UNSPENT = "No private data were read, nothing was charged."


def check_plan(path: Path, before: Statement, horizon: Horizon) -> None:
    """Raises BudgetError where a plan cannot be noted: there is one, or a charge, or it promises more than the limit."""
    if before.horizon is not None:
        raise BudgetError(f"Refused: {path} has a plan over years already. What was promised before the first one stays.")
    if before.entries:
        raise BudgetError(
            f"Refused: {path} has entries already. A plan over years says what all releases cost a person, so it comes "
            "before the first one: open a ledger for the series."
        )
    promise = horizon.promise
    if promise is None:
        raise BudgetError("Refused: this plan over years promises a person nothing: its delta adds up to 1 or more.")
    for name, most, limit in (
        ("epsilon", promise.epsilon, before.epsilon_limit),
        ("delta", promise.delta, before.delta_limit),
    ):
        if not most <= limit:
            raise BudgetError(
                f"Refused: the plan promises a person {name} = {shown(most)} at most over all years, and {path} allows "
                f"{shown(limit)}. Nothing was written. Plan less, or open another ledger while this one has no charges."
            )


def check_year(path: Path, before: Statement, asked: YearOfSeries | None, epsilon: Fraction, delta: Fraction) -> None:
    """Raises BudgetError for a release that is not one of the plan: beyond it, a year twice, dearer than planned, or after
    releases that the ledger does not know."""
    plan = before.horizon
    if plan is None and asked is None:
        return
    if plan is None:
        raise BudgetError(
            f"Refused: expected {path} to note a plan over years, as [series] years says, found none. `synthrelease ledger "
            f"years` notes it, once, before the first release. {UNSPENT}"
        )
    if asked is None:
        raise BudgetError(
            f"Refused: {path} has a plan over the years {plan.years[0]} to {plan.years[-1]}, and this release names no year "
            f"([series] year). {UNSPENT}"
        )
    if asked.horizon != plan:
        raise BudgetError(
            f"Refused: the plan over years in [series] is not the one that {path} noted before the first release. {UNSPENT}"
        )
    charged = {(entry.notes.year, entry.notes.again, entry.epsilon, entry.delta) for entry in before.entries}
    for one in asked.named:
        if (one.year, one.again, *one.paid) not in charged:
            raise BudgetError(
                f"Refused: [series] earlier names a release of {one.year} at epsilon = {shown(one.paid.epsilon)}, and {path} "
                "was never charged for it. Either this is an older copy of the ledger, or another one, or that is no release "
                f"of this series. {UNSPENT}"
            )
    year, done = asked.year, [entry.notes for entry in before.entries if entry.notes.year == asked.year]
    if year not in plan.years:
        raise BudgetError(
            f"Refused: expected a year of the plan in {path}, {plan.years[0]} to {plan.years[-1]}, found {year}. {UNSPENT}"
        )
    again = [entry for entry in before.entries if entry.notes.again]
    if asked.again and (not done or any(notes.again for notes in done)):
        found = "none" if not done else "two"
        raise BudgetError(f"Refused: expected one release of {year} that released nothing, found {found} in {path}. {UNSPENT}")
    if asked.again and len(again) >= plan.fallbacks:
        raise BudgetError(f"Refused: the plan has {plan.fallbacks} second releases of a year, all of them charged. {UNSPENT}")
    if done and not asked.again:
        raise BudgetError(
            f"Refused: {path} has a release of {year} already. A second one, where the first released nothing, is one of the "
            f"{plan.fallbacks} that the plan allows ([series] again = true). {UNSPENT}"
        )
    if not (epsilon <= plan.most(year, asked.again) and delta <= plan.delta):
        raise BudgetError(
            f"Refused: the plan allows epsilon = {shown(plan.most(year, asked.again))} and delta = {shown(plan.delta)} for "
            f"{'a second release' if asked.again else 'the release'} of {year}, and this one costs {shown(epsilon)} and "
            f"{shown(delta)}. {UNSPENT}"
        )
