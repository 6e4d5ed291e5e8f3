"""The closer look of a rehearsal as a part of rehearsal.json, and as rows of tables in the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from synthrelease.errors import percent
from synthrelease.rehearsal.closer_look import CloserLook, CriterionLook
from synthrelease.rehearsal.projecting import ProjectionEffect
from synthrelease.rehearsal.rehearse import Rehearsal
from synthrelease.rehearsal.words import finite, short, units


def look_document(rehearsal: Rehearsal) -> dict[str, Any] | None:
    """The part "look" of rehearsal.json; what is not a number is null."""
    look = rehearsal.look
    if look is None:
        return None
    names = [criterion.name for criterion in rehearsal.spec.criteria]
    return {
        "configuration": look.configuration,
        "candidates": look.candidates,
        "criteria": [
            {"name": name, **_criterion_document(criterion)} for name, criterion in zip(names, look.criteria, strict=True)
        ],
        "unguarded_pairs": [
            {
                "columns": list(pair.columns),
                "cramers_v": pair.cramers_v,
                "candidates_cramers_v": pair.candidates_v,
                "condition": pair.condition,
                "outcome": pair.outcome,
                "share_of_outcome": pair.overall,
                "share_among_condition": pair.original,
                "candidates_share_among_condition": pair.released,
                "lost": pair.lost,
            }
            for pair in look.pairs
        ],
        "verdict": look.verdict.model_dump(mode="json"),
        "projections": [_projection_document(names, effect) for effect in look.projections],
        "pair_map": {
            "columns": list(look.pair_map.columns),
            **{name: _rounded(getattr(look.pair_map, name)) for name in ("public", "candidate", "independent")},
            "unseen": [list(pair) for pair in look.pair_map.unseen],
        },
        "conclusions": [asdict(each) for each in look.conclusions],
        "rows": asdict(look.rows),
    }


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 3) for value in values]


def _criterion_document(look: CriterionLook) -> dict[str, Any]:
    offender = look.offender
    return {
        "typical_figure": finite(look.figure),
        "largest_error": None
        if offender is None
        else {"where": offender.where, "released": offender.released, "public": offender.original},
        "places": [{"where": where, "candidates": times} for where, times in look.places],
        "halves": finite(look.yardstick.perfect),
        "halves_projected": finite(look.yardstick.projected),
        "fit_without_noise": finite(look.noiseless),
        "independent_columns": finite(look.yardstick.independent),
        "verdicts": [{"kind": verdict.kind, "text": verdict.text} for verdict in look.verdicts],
    }


def _projection_document(names: list[str], effect: ProjectionEffect) -> dict[str, Any]:
    return {
        "settings": dict(effect.settings),
        "drafted": effect.drafted,
        "replaced_share": effect.changed,
        "just_as_often_as_asked_share": effect.repeated,
        "distinct_rows": effect.distinct,
        "figures": {name: finite(value) for name, value in zip(names, effect.figures, strict=True)},
        "added": {name: finite(value) for name, value in zip(names, effect.added, strict=True)},
    }


def criterion_row(look: CriterionLook | None) -> dict[str, str]:
    """Where the largest error is, for the report."""
    offender = None if look is None else look.offender
    return {
        "where": "" if offender is None else offender.where,
        "released": "" if offender is None else offender.released,
        "original": "" if offender is None else offender.original,
    }


def yardstick_rows(rehearsal: Rehearsal) -> list[dict[str, str]]:
    """Threshold and candidates beside what can be reached, for criteria that compare with the original."""
    if rehearsal.look is None:
        return []
    found, of_each = [], units(rehearsal)
    for criterion, look in zip(rehearsal.spec.criteria, rehearsal.look.criteria, strict=True):
        if criterion.compares:
            stick, kinds = look.yardstick, dict.fromkeys(verdict.kind for verdict in look.verdicts)
            found.append(
                {
                    "name": criterion.name,
                    "unit": of_each[criterion.name],
                    "threshold": f"{criterion.threshold:g}",
                    "halves": short(stick.perfect),
                    "projected": short(stick.projected),
                    "noiseless": short(look.noiseless),
                    "figure": short(look.figure),
                    "independent": short(stick.independent),
                    "verdict": ", ".join(kinds) or "fits",
                }
            )
    return found


def pair_rows(look: CloserLook | None) -> list[dict[str, Any]]:
    """The pairs that nothing looks at."""
    return [
        {
            "columns": " : ".join(pair.columns).replace("_", " "),
            "public_v": f"{pair.cramers_v:.2f}",
            "candidates_v": "" if pair.candidates_v is None else f"{pair.candidates_v:.2f}",
            "cell": f"{pair.columns[1]}={pair.outcome} among {pair.columns[0]}={pair.condition}".replace("_", " "),
            "original": percent(pair.original),
            "released": "" if pair.released is None else percent(pair.released),
            "overall": percent(pair.overall),
            "lost": pair.lost,
        }
        for pair in (look.pairs if look else ())
    ]


def projection_rows(rehearsal: Rehearsal) -> list[dict[str, Any]]:
    """What projections make of one candidate, and which criterion then comes nearest to its threshold or goes beyond."""
    rows = []
    for effect in rehearsal.look.projections if rehearsal.look else ():
        limits = [(criterion.name, criterion.threshold) for criterion in rehearsal.spec.criteria]
        ratios = {
            name: value / limit
            for (name, limit), value in zip(limits, effect.figures, strict=True)
            if limit > 0 and math.isfinite(value)
        }
        worst = max(ratios, key=lambda name: ratios[name], default="")
        rows.append(
            {
                "name": effect.words,
                "drafted": effect.drafted,
                "changed": "keeps nothing" if effect.changed is None else percent(effect.changed),
                "repeated": percent(effect.repeated),
                "distinct": f"{effect.distinct:,}",
                "worst": f"{worst} ({percent(ratios[worst])} of its threshold)" if worst else "",
                "beyond": sum(ratio > 1 for ratio in ratios.values()),
            }
        )
    return rows
