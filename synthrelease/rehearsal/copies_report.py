"""Utility and risk of synthetic copies, as a part of rehearsal.json and as rows of the report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from synthrelease.errors import percent
from synthrelease.rehearsal.rehearse import Rehearsal
from synthrelease.rehearsal.risk_groups import GROUPS
from synthrelease.rehearsal.words import finite

_ROUNDING = 1e-9
"""Below this a figure is 0 but for the rounding of floats."""


def copies_document(rehearsal: Rehearsal) -> dict[str, Any]:
    """The part "copies" of rehearsal.json; what is not a number is null."""
    comparison = rehearsal.comparison
    return {
        "number": comparison.copies,
        "quasi_identifiers": list(comparison.quasi_identifiers),
        "regression_target": comparison.target,
        "odds_target": comparison.odds.target if comparison.odds else None,
        "figures": [
            {
                "index": one.configuration,
                "utility": {name: finite(value) for name, value in one.utility.items()},
                "risk": {name: finite(value) for name, value in one.risk.items()},
            }
            for one in rehearsal.copies
        ],
    }


def copies_rows(rehearsal: Rehearsal, shown: Sequence[int]) -> list[dict[str, str]]:
    """The figures of each configuration under its number in the shortlist's table, whose order is `shown`."""
    found = sorted(rehearsal.copies, key=lambda one: shown.index(one.configuration))
    return [{"label": str(shown.index(one.configuration) + 1), **figure_texts(one.utility, one.risk)} for one in found]


def figure_texts(utility: Mapping[str, float], risk: Mapping[str, float]) -> dict[str, str]:
    """The figures of copies for a table; empty where there is none."""

    def text(figures: Mapping[str, float], name: str) -> str:
        value = figures.get(name, math.nan)
        if not math.isfinite(value):
            return ""
        return "0" if abs(value) < _ROUNDING else f"{value:.3g}"

    groups = {
        f"{name}_{figure}": text(risk, f"{name}_{figure}")
        for name in GROUPS
        for figure in ("mean_risk", "highest_risk", "correct_attribution")
    }
    shares = {f"{name}_share": percent(risk[f"{name}_share"]) if f"{name}_share" in risk else "" for name in GROUPS}
    return {
        "ratio": text(utility, "pmse_ratio"),
        "overlap": text(utility, "mean_interval_overlap"),
        "difference": text(utility, "mean_standardised_difference"),
        "odds_overlap": text(utility, "odds_interval_overlap"),
        "odds_difference": text(utility, "odds_standardised_difference"),
        "match_risk": text(risk, "mean_risk"),
        "own_risk": text(risk, "mean_risk_of_original"),
        "highest_risk": text(risk, "highest_risk"),
        "true_match": text(risk, "true_match_rate"),
        "false_match": text(risk, "false_match_rate") or "no match",
        **groups,
        **shares,
    }
