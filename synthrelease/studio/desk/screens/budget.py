"""The plan as bars beside what the ledger has left, noise in rows, and how likely it buys nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synthrelease.data.schema import Column
from synthrelease.privacy.charges import Charge, decimal_text, epsilon_at
from synthrelease.privacy.ledger_file import Statement
from synthrelease.privacy.selection import nothing_where
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.desk.files import Rehearsed
from synthrelease.studio.desk.screens.rehearsal import cheaper
from synthrelease.studio.desk.strips import Strips
from synthrelease.studio.rehearsal.expected_noise import accuracies, cheapest_for, measured_tables, off_by_column

PASSING = (2, 3, 5, 10)
"""Of how many rounds one is accepted, where the chance of finding no table is told."""


@dataclass(frozen=True, kw_only=True)
class Account:
    """What a ledger says, or why it says nothing; neither where none was given."""

    statement: Statement | None = None
    why: str = ""


def gathered(
    spec: ReleaseSpec, strips: Strips, account: Account, rehearsed: Rehearsed | None, asked: Mapping[str, str]
) -> dict[str, Any]:
    """The plan as bars beside what the ledger has left, noise in persons, and how likely it buys nothing."""
    total, law = spec.plan.total, spec.selection_rule.law
    parts = list(_parts(total, 0))
    costs = [float(each.epsilon if each.renyi is None else epsilon_at(each, total.delta)) for each, _ in parts]
    most = max(costs, default=0.0) or 1.0
    off = off_by_column(measured_tables(spec))
    return {
        "epsilon": decimal_text(total.epsilon),
        "delta": f"{float(total.delta):g}",
        "limit": None if spec.limit is None else decimal_text(spec.limit),
        "generation": decimal_text(spec.generation_budget),
        "unit": spec.generation_unit,
        "refused": spec.limit is not None and total.epsilon > spec.limit,
        "bars": [
            {
                "name": each.name,
                "epsilon": decimal_text(each.epsilon) if each.renyi is None else f"{cost:.4g} alone, at this delta",
                "because": each.because,
                "depth": depth,
                "width": f"{max(200 * cost / most, 1.0 if cost else 0.0):.1f}",
            }
            for (each, depth), cost in zip(parts, costs, strict=True)
        ],
        "nothing": None if law is None else nothing_where(law, PASSING),
        "noise": [_noise(spec, column, off[column.name], strips) for column in spec.schema.columns if column.name in off],
        "person": spec.unit.name,
        "account": _accounted(account, total),
        "accuracy": _accuracy(spec, asked),
        "cheaper": cheaper(spec, rehearsed),
    }


def _noise(spec: ReleaseSpec, column: Column, off: float, strips: Strips) -> dict[str, Any]:
    """What noise does to the bins of a column, beside how many public rows are in them."""
    linked = spec.schema.linked
    of_one_member = linked is not None and linked.place_of(column.name) is not None
    held = None if of_one_member else strips.of(column, spec.input, linked)[0]  # the file has those of all members together
    found: dict[str, Any] = {"name": column.name, "off": f"{math.ceil(off):,}", "bins": None, "beyond": 0, "smallest": ""}
    if held is None:
        return found
    return found | {"bins": len(held.rows), "beyond": held.smaller_than(off), "smallest": f"{min(held.rows):,}"}


def _accounted(account: Account, total: Charge) -> dict[str, Any] | None:
    """The ledger as a bar: spent, this release, left."""
    if account.statement is None:
        return {"why": account.why} if account.why else None
    found = account.statement
    limit, spent = found.epsilon_limit, found.epsilon
    shown = {"why": "", "dataset": found.dataset, "limit": decimal_text(limit), "spent": decimal_text(spent)}
    if found.horizon is not None or found.split is not None:
        return shown | {"left": None}  # what a release then costs depends on its year or piece
    after = found.with_charge(started="", what="", epsilon=total.epsilon, delta=total.delta)
    left, scale = limit - after.epsilon, 500 / float(max(limit, after.epsilon) or 1)
    return shown | {
        "left": decimal_text(max(left, 0 * left)),
        "enough": left >= 0,
        "delta_enough": after.delta <= found.delta_limit,
        "widths": [f"{float(part) * scale:.1f}" for part in (spent, total.epsilon)],
        "end": f"{float(limit) * scale:.1f}",
    }


def _accuracy(spec: ReleaseSpec, asked: Mapping[str, str]) -> dict[str, Any] | None:
    """Which budget makes a count so accurate, of a question or of a bin; None where nothing is measured in every fit."""
    off = accuracies(spec)
    if not off:
        return None
    name, rows = asked.get("count", ""), asked.get("rows", "")
    counts = [
        (each, f"one bin of {each}" if each in spec.schema.by_name else each, f"{math.ceil(off[each]):,}") for each in off
    ]
    found: dict[str, Any] = {"counts": counts, "count": name, "rows": rows, "needed": None, "wrong": ""}
    if not rows:
        return found
    if name not in off or not (rows.isascii() and rows.isdigit() and 0 < int(rows) < 10**9):
        return found | {"wrong": f"Expected a count of the list and a whole number of rows, such as 50, found {rows[:40]!r}."}
    needed = cheapest_for(spec, name, float(rows))
    if needed is None:
        return found | {"wrong": "No budget makes it so accurate."}
    cost = needed.plan.total.epsilon
    beyond = spec.limit is not None and cost > spec.limit
    epsilon = decimal_text(cost)
    return found | {"needed": {"generation": decimal_text(needed.generation_budget), "epsilon": epsilon, "beyond": beyond}}


def _parts(charge: Charge, depth: int) -> list[tuple[Charge, int]]:
    """All that a charge is made of, each part before its own, with how deep it stands."""
    return [pair for part in charge.parts for pair in ((part, depth), *_parts(part, depth + 1))]
