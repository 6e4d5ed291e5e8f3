"""The questions that the release is meant to answer, and every criterion with its threshold and its three marks."""

from __future__ import annotations

import datetime
from typing import Any

from synthrelease.criteria.base import Criterion
from synthrelease.settings.reading import ConfigurationFile
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.desk.files import Rehearsed
from synthrelease.studio.desk.strips import marks
from synthrelease.studio.drafting.edits import kinds_asked_for, limits_of
from synthrelease.studio.rehearsal.expected_noise import expected_answers

KINDS = ("halves", "fit", "alone")
"""The marks, by the names that the style sheet has for them."""


def gathered(spec: ReleaseSpec, file: ConfigurationFile, rehearsed: Rehearsed | None) -> dict[str, Any]:
    """The questions that the release is meant to answer, and every criterion with its threshold and its three marks."""
    look = None if rehearsed is None else rehearsed.document["look"]
    looks = {each["name"]: each for each in (look["criteria"] if look else ())}
    facts = spec.setting.facts(spec.space[0].transformation)
    return {
        "asked": expected_answers(spec),
        "examples": _examples(spec),
        "inherited": file.base.name if file.base is not None and "acceptance" in file.inherited else "",
        "kinds": kinds_asked_for(),
        "columns": list(spec.schema.names),
        "rehearsed": rehearsed,
        "today": datetime.date.today().isoformat(),
        "criteria": [
            {
                "place": place,
                "name": each.name,
                "threshold": f"{each.threshold:.15g}",
                "unit": each.figure_unit(facts),
                "sentence": each.sentence(facts),
                "reason": each.reason,
                "agreed": each.agreed,
                **_marked(each, looks.get(each.name)),
            }
            for place, each in enumerate(spec.criteria)
        ],
    }


def _marked(criterion: Criterion, look: dict[str, Any] | None) -> dict[str, Any]:
    """The picture of the marks, and the marks in words."""
    if look is None or not criterion.compares:
        return {"marks": "", "told": [], "says_nothing": False}
    known = {
        "the two halves of the public file": look["halves"],
        "this draft": look["typical_figure"],
        "independent columns": look["independent_columns"],
    }
    alone = look["independent_columns"]
    nothing = alone is not None and alone <= criterion.threshold and not criterion.asks_single_columns
    return {
        "marks": marks(criterion.threshold, *known.values(), bad=nothing),
        "told": [
            (kind, name, f"{value:.3g}") for kind, (name, value) in zip(KINDS, known.items(), strict=True) if value is not None
        ],
        "says_nothing": nothing,
    }


def _examples(spec: ReleaseSpec) -> list[str]:
    """Questions as they can be asked of these columns."""
    numbers = [each for each in spec.schema.columns if each.bounds is not None and each.dates is None]
    names = [column for column in spec.schema.columns if column.bounds is None]
    found = []
    conditions = [f"{column.name} == '{column.atoms.labels[0]}'" for column in names if "'" not in column.atoms.labels[0]]
    for column in numbers[:1]:
        limits = next(iter(limits_of(column).values()))
        conditions.insert(0, f"{column.name} >= {limits[len(limits) // 2]:.12g}")
    found += [conditions[0]] if conditions else []
    found += [f"share {conditions[0]} where {conditions[1]}"] if len(conditions) > 1 else []
    found += [f"mean {numbers[-1].name} where {conditions[0]}"] if len(numbers) > 1 and conditions else []
    return found
