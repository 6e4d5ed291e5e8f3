"""How likely a plan buys nothing, and what a rehearsal found that is cheaper: what stands beside the price."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthrelease.data.texts import quoted_path
from synthrelease.errors import percent
from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.selection import PASSING, nothing_where

if TYPE_CHECKING:
    from rich.table import Table


def chance_of_nothing(spec: Any, shortlist: Path | None) -> Iterator[str | Table]:
    """How likely the epsilon is spent on nothing: as rehearsed, or what the law of the number of rounds alone tells."""
    from rich.table import Table

    from synthrelease.spec.shortlist import known_chances

    law, found = spec.selection_rule.law, None if shortlist is None else known_chances(spec, shortlist)
    if found is not None:
        chance = f"{percent(found.nothing)}{_at_most(found)}"
        yield (
            f"Probability that the search finds no acceptable table and the budget is spent: {chance}. This is estimated "
            f"from the rehearsal on public data, where {percent(found.acceptance)} of the rounds were accepted."
        )
        return
    if shortlist is not None:
        yield (
            f"{shortlist} was made for another budget, other rounds or other criteria. How often this plan finds no acceptable "
            "table was not rehearsed."
        )
    if law is None:
        return
    table = Table("share of rounds accepted", *(f"1 in {many}" for many in PASSING))
    table.title, table.title_justify = "Probability that the budget is spent without a table", "left"
    table.add_row("no acceptable table", *map(percent, nothing_where(law).values()))
    yield table
    if shortlist is None:
        yield "To estimate the share of accepted rounds, run rehearse on public data, then plan --shortlist FILE."


def cheaper_text(spec: Any, proposal: Any, config: Path, shortlist: Path) -> str:
    """What a steward should know before a charge that a rehearsal found too large. Nothing is asked: the command goes on."""
    from synthrelease.spec.shortlist import known_chances

    known = known_chances(spec, shortlist)
    present = "" if known is None else f", the present one with {percent(known.nothing)}{_at_most(known)}"
    return (
        f"A cheaper plan is known: epsilon = {decimal_text(proposal.epsilon)} in place of "
        f"{decimal_text(spec.plan.total.epsilon)}. On public data it found no acceptable table with probability "
        f"{percent(proposal.nothing)}{_at_most(proposal)}{present}. "
        f"`synthrelease rehearse {quoted_path(config)} --data PUBLIC_FILE --out {quoted_path(shortlist.parent)} --adopt` "
        "writes it into the configuration. This command continues with the present configuration."
    )


def _at_most(plan: Any) -> str:
    """The upper end of the interval of the probability of nothing, where it is known."""
    return "" if plan.nothing_high is None else f" (at most {percent(plan.nothing_high)}, by a 95% interval)"
