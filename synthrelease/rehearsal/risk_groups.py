"""Groups of risk: how many other persons share a person's quasi-identifiers, and what becomes of each group."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.rehearsal.look_up import LookUp
from synthrelease.rehearsal.public_table import PublicTable

GROUPS = ("low", "medium", "high")

LEAST_OTHERS = 5
"""k_0: others among whom a person is taken to be hidden, by default."""


@dataclass(frozen=True, kw_only=True)
class GroupRisk:
    """Risk figures of one group of persons; NaN where it is empty.

    Attributes
    ----------
    name : low, medium or high.
    share : of all persons, from 0 to 1.
    mean_risk, highest_risk : mean and largest I_i of its persons (`risk.RiskReport`), from 0 to 1.
    correct_attribution : how often a random match is right in every other column, from 0 to 1.
    """

    name: str
    share: float
    mean_risk: float
    highest_risk: float
    correct_attribution: float


def risk_groups(
    public: PublicTable,
    quasi_identifiers: Sequence[str],
    within: Mapping[str, float] | None = None,
    least_others: int = LEAST_OTHERS,
) -> np.ndarray:
    """(n_cells,) 0, 1 or 2, low, medium or high risk, of the persons in each cell of `public.counts`.

    Let c be the number of other persons with equal categorical quasi-identifiers, and d the number of those whose continuous
    ones are in range. Low: d >= k_0. Medium: c >= k_0 > d. High: c < k_0. The source is informal; this is the rule here.
    Where no quasi-identifier is categorical c counts all other persons.

    Parameters
    ----------
    within : for each continuous quasi-identifier, how far its number may be off, in the unit of the column. By default those
        with numbers are continuous, and only the same bin is in range.
    least_others : k_0, at least 1.

    Source: Jiang (2025), Short Course on Data Privacy, data-augmented multiple imputation (the text has no page numbers).
    """
    if least_others < 1:
        raise ValueError(f"least_others: expected at least 1, found {least_others}.")
    if within is None:
        within = {name: 0.0 for name in quasi_identifiers if name in public.columns and public.has_numbers(name)}
    close = LookUp.of(public, quasi_identifiers, within).matching(public.counts) - 1
    categorical = [name for name in quasi_identifiers if name not in within]
    alike = LookUp.of(public, categorical, {}).matching(public.counts) - 1 if categorical else np.array(public.n - 1)
    return np.where(close >= least_others, 0, np.where(alike >= least_others, 1, 2))


def group_risks(groups: np.ndarray, persons: np.ndarray, risks: np.ndarray, correct: np.ndarray) -> tuple[GroupRisk, ...]:
    """The figures of each group, from (n_cells,) arrays: the group, the persons, their I_i and their correct attribution."""
    found = []
    for number, name in enumerate(GROUPS):
        inside = groups == number
        size = int(persons[inside].sum())
        found.append(
            GroupRisk(
                name=name,
                share=size / int(persons.sum()),
                mean_risk=float(persons[inside] @ risks[inside]) / size if size else math.nan,
                highest_risk=float(risks[inside].max()) if size else math.nan,
                correct_attribution=float(persons[inside] @ correct[inside]) / size if size else math.nan,
            )
        )
    return tuple(found)
