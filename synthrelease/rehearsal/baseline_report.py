"""Methods to compare with, as a part of rehearsal.json, as tables of the report and as lines of the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from synthrelease.accounting.guarantee import loss_text
from synthrelease.rehearsal.compared import BaselineFigures
from synthrelease.rehearsal.rehearse import Rehearsal
from synthrelease.rehearsal.risk_groups import GROUPS
from synthrelease.rehearsal.words import percent, short

_ROUNDING = 1e-9
"""Below this a figure is 0 but for the rounding of floats."""


def baseline_document(rehearsal: Rehearsal) -> dict[str, Any] | None:
    """The part "baselines" of rehearsal.json; what is not a number is null."""
    if not rehearsal.baselines:
        return None
    names = [criterion.name for criterion in rehearsal.spec.criteria]
    return {
        "configuration": rehearsal.baselines_on,
        "methods": [
            {
                "method": one.method,
                "name": one.name,
                "guarantee": one.guarantee,
                "notes": list(one.notes),
                "not_made": one.not_made or None,
                "criteria": [
                    {"name": name, "figure": _number(figure), "met": met}
                    for name, figure, met in zip(names, one.figures, one.met, strict=True)
                ]
                if one.figures
                else [],
                "breaks_rules_share": one.breaks_rules,
                "utility": {name: _number(value) for name, value in one.utility.items()},
                "risk": {name: _number(value) for name, value in one.risk.items()},
            }
            for one in rehearsal.baselines
        ],
    }


def baseline_words(rehearsal: Rehearsal) -> list[str]:
    """Each method in a sentence: what it promises, what it keeps, what it risks, and what was chosen."""
    found = []
    for one in rehearsal.baselines:
        if one.not_made:
            found.append(f"{one.name}: not made. Reason: {one.not_made}.")
            continue
        missed = [criterion.name for criterion, met in zip(rehearsal.spec.criteria, one.met, strict=True) if not met]
        kept = f"meets {sum(one.met)} of {len(one.met)} criteria" + (f", not {', '.join(missed)}" if missed else "")
        risk = one.risk.get("mean_risk", math.nan)
        told = f"; mean match risk {short(risk)}" if math.isfinite(risk) else ""
        notes = "; ".join(one.notes)
        found.append(f"{one.name} ({one.guarantee}): {kept}{told}. {notes[:1].upper()}{notes[1:]}".strip().rstrip(".") + ".")
    return found


def release_guarantee(rehearsal: Rehearsal) -> str:
    """What stands beside the methods' own: the guarantee of a release."""
    return loss_text(rehearsal.spec.plan.total)


def made(rehearsal: Rehearsal) -> list[BaselineFigures]:
    """The methods that gave a table."""
    return [one for one in rehearsal.baselines if not one.not_made]


def baseline_criteria(rehearsal: Rehearsal) -> list[dict[str, Any]]:
    """Per criterion its threshold, the median of the configuration, the range over the shortlist, and each method's figure."""
    rows: list[dict[str, Any]] = []
    if rehearsal.baselines_on is None:
        return rows
    for place, criterion in enumerate(rehearsal.spec.criteria):
        medians = [_median(rehearsal, c, place) for c in rehearsal.shortlist]
        known = [median for median in medians if not math.isnan(median)]
        own = _median(rehearsal, rehearsal.baselines_on, place)
        rows.append(
            {
                "name": criterion.name,
                "threshold": f"{criterion.threshold:g}",
                "own": short(own),
                "own_fails": not own <= criterion.threshold,
                "range": f"{short(min(known))} to {short(max(known))}" if known else "",
                "methods": [(short(one.figures[place]), not one.met[place]) for one in made(rehearsal)],
            }
        )
    return rows


def baseline_rows(rehearsal: Rehearsal) -> list[dict[str, str]]:
    """Utility and risk of each method, as of a configuration."""
    return [{"label": one.name, "guarantee": one.guarantee, **figure_texts(one.utility, one.risk)} for one in made(rehearsal)]


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


def _median(rehearsal: Rehearsal, c: int, place: int) -> float:
    known = [figure for result in rehearsal.results[c] if (figure := result.figures[place]) is not None]
    return float(np.median(known)) if known else math.nan


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
