"""Write the result files of a rehearsal: shortlist.toml, rehearsal.json and report.html."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from pydantic import BaseModel

from synthrelease.criteria.base import Criterion
from synthrelease.criteria.facts import words
from synthrelease.errors import OutputError, cut, percent
from synthrelease.generators.associations import LEAST_STRENGTH
from synthrelease.generators.space import Configuration
from synthrelease.privacy.charges import decimal_text
from synthrelease.resources import templates
from synthrelease.spec.shortlist import judged_digest, shortlist_text
from synthrelease.spec.tried import leave
from synthrelease.studio.rehearsal import charts
from synthrelease.studio.rehearsal.advice import RELATIVE_GAP, BudgetPoint, CriterionAdvice, Offer, cheapest
from synthrelease.studio.rehearsal.closer_look import CriterionLook
from synthrelease.studio.rehearsal.rehearse import Rehearsal
from synthrelease.studio.rehearsal.words import (
    Sentences,
    below_zero,
    epsilon_text,
    finite,
    lines,
    projection_advice,
    proposed_plan,
    rehearsed_plan,
    rounds_text,
    short,
    units,
)

_ROUNDING = 1e-9  # Smaller values count as 0, because they may be rounding errors


def statistic(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return ""
    return "0" if abs(value) < _ROUNDING else f"{value:.3g}"


# rehearsal.json.


def plain(value: Any) -> Any:
    """Convert a value for JSON: a data class to an object, a fraction to a number, NaN and infinity to null."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value):
        return {of.name: plain(getattr(value, of.name)) for of in fields(value)}
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return finite(float(value)) if isinstance(value, float | Fraction) else value


def look_document(rehearsal: Rehearsal) -> dict[str, Any] | None:
    look = rehearsal.look
    if look is None:
        return None
    return {
        "configuration": look.configuration,
        "candidates": look.candidates,
        "criteria": [
            {"name": criterion.name, **plain(look_at_it)}
            for criterion, look_at_it in zip(rehearsal.spec.criteria, look.criteria, strict=True)
        ],
        "unguarded_pairs": [{**plain(pair), "lost": pair.lost} for pair in look.pairs],
        "verdict": plain(look.verdict),
        "replaced_share": look.replaced,
        "conclusions": plain(look.conclusions),
    }


# The three files of a rehearsal are written together, each replacing an earlier one as a whole.


def write_report(rehearsal: Rehearsal, out: Path, noise_level: float) -> None:
    """Write the three result files of a rehearsal, in place of earlier files. No shortlist.toml is written without a
    shortlist.

    If a configuration was accepted often enough, the record of tried files is written, too (`spec.tried`).

    Raises
    ------
    OutputError : if a file cannot be written.
    """
    look = rehearsal.look
    text = json.dumps(document(rehearsal), indent=2, allow_nan=False)
    texts = {"rehearsal.json": f"{text}\n", "report.html": page(rehearsal, noise_level)}
    if rehearsal.shortlist:
        texts["shortlist.toml"] = shortlist_text(
            rehearsal.spec.title,
            [_shortlisted(rehearsal, c) for c in rehearsal.shortlist],
            rehearsal.data,
            rehearsed_plan(rehearsal),
            proposed_plan(rehearsal),
            None if look is None else look.verdict,
            rehearsal.attacks,
        )
    try:
        for name, text in texts.items():
            temporary = out / f".{name}.new"
            temporary.write_text(text, encoding="utf-8", newline="\n")
            os.replace(temporary, out / name)
        if not rehearsal.shortlist:
            (out / "shortlist.toml").unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(
            f"Cannot write the report to {out} ({error.strerror}). The results are kept in attempts.sqlite."
        ) from None
    if rehearsal.shortlist:
        leave(rehearsal.spec, "rehearsal", rehearsal.n_rows, None if look is None else look.strengths)


LONGEST_SETTING = 80
"""The report shows at most this many characters of a setting. A longer text, such as a formula of forty tables, would hide
other differences.
"""


def describe(configuration: Configuration) -> str:
    """Describe a configuration in a line: its generator with its settings, chosen bins, and settings of the projection."""
    generator = configuration.generator.model_dump(mode="json", exclude_none=True, exclude={"family", "selector", "flavour"})
    columns, choice = configuration.transformation.schema.by_name, configuration.transformation.choice
    bins = [f"{words(name)} {words(chosen)}" for name, chosen in choice.items() if len(columns[name].alternatives) > 1]
    projection = configuration.projection.model_dump(mode="json", exclude={"kind"}, exclude_defaults=True)
    parts = [configuration.generator.family, *(f"{words(key)} {_plain(value)}" for key, value in generator.items())]
    return ", ".join([*parts, *bins, *(f"{words(key)} {_plain(value)}" for key, value in projection.items())])


def document(rehearsal: Rehearsal) -> dict[str, Any]:
    """Return rehearsal.json: everything in the report except times, so that the same seed gives the same file."""
    race = rehearsal.race
    return {
        "title": rehearsal.spec.title,
        "complete": rehearsal.complete,
        "specification": rehearsal.spec.digest,
        "judged": judged_digest(rehearsal.spec.tables),
        "seed": rehearsal.seed,
        "n_rows": rehearsal.n_rows,
        "attempts": rehearsal.n_attempts,
        "configurations": [
            {
                "index": c,
                "standing": standing.value,
                "shortlisted": c in rehearsal.shortlist,
                "accepted": estimate.successes,
                "trials": estimate.trials,
                "low": estimate.low,
                "high": estimate.high,
                "rejected_by": _rejections(rehearsal, c),
                **rehearsal.spec.space[c].describe(),
            }
            for c, (estimate, standing) in enumerate(zip(race.estimates, race.standings, strict=True))
        ],
        "criteria": plain(rehearsal.criteria),
        "budgets": plain(rehearsal.budgets),
        "proposal": plain(rehearsal.proposal),
        "copies": {**plain(rehearsal.comparison), "figures": plain(rehearsal.copies)},
        "attacks": None if rehearsal.attacks is None else {"index": rehearsal.most_accepted, **plain(rehearsal.attacks)},
        "outlook": plain(rehearsal.outlook),
        "look": look_document(rehearsal),
        "words": plain(Sentences.of(rehearsal)),
    }


# The page asks for values, which `Report` has, and formats them.

_PICTURED = 30


@dataclass(frozen=True, kw_only=True)
class CriterionOnPage:
    """A criterion with its advice, its unit and its closer look, or None."""

    criterion: Criterion
    advice: CriterionAdvice
    look: CriterionLook | None
    unit: str

    @property
    def noise_of_threshold(self) -> float | None:
        return None if self.advice.noise_sd is None else self.advice.noise_sd / self.advice.threshold

    @property
    def verdict(self) -> str:
        """Say what is wrong with the threshold, or "fits"."""
        kinds = dict.fromkeys(verdict.kind for verdict in self.look.verdicts) if self.look else {}
        return ", ".join(kinds) or "fits"


@dataclass(frozen=True, kw_only=True)
class RehearsalReport:
    """The values that the template of report.html asks for."""

    rehearsal: Rehearsal
    noise_level: float
    margin: float = RELATIVE_GAP
    weakest: float = LEAST_STRENGTH
    version: str = field(default_factory=lambda: version("synthrelease"))

    @property
    def shown(self) -> list[int]:
        """Return the configurations of the shortlist, the best first. The page numbers them in this order, from 1."""
        estimates = self.rehearsal.race.estimates
        return sorted(self.rehearsal.shortlist, key=lambda configuration: -estimates[configuration].share)

    def median_seconds(self, configuration: int) -> float:
        return float(np.median([result.seconds for result in self.rehearsal.results[configuration]]))

    @property
    def mean_seconds(self) -> str:
        seconds = [result.seconds for attempts in self.rehearsal.results for result in attempts]
        return f"{np.mean(seconds):.2f}" if seconds else "0"

    @property
    def criteria(self) -> list[CriterionOnPage]:
        rehearsal, unit_of = self.rehearsal, units(self.rehearsal)
        looks = rehearsal.look.criteria if rehearsal.look else (None,) * len(rehearsal.criteria)
        return [
            CriterionOnPage(criterion=criterion, advice=advice, look=look, unit=unit_of[criterion.name])
            for criterion, advice, look in zip(rehearsal.spec.criteria, rehearsal.criteria, looks, strict=True)
        ]

    @property
    def looked_at(self) -> int | None:
        """Return the number of the inspected configuration on the page, or None if it is not on the shortlist."""
        look, best = self.rehearsal.look, self.shown
        return best.index(look.configuration) + 1 if look and look.configuration in best else None

    @property
    def budgets(self) -> list[tuple[BudgetPoint, Offer | None]]:
        """Return the generation budgets that were tried, each with its offer of a number of rounds, or None."""
        proposal = self.rehearsal.proposal
        offers = {offer.generation: offer for offer in proposal.offers} if proposal else {}
        return [(point, offers.get(point.generation)) for point in self.rehearsal.budgets]

    @property
    def cheapest(self) -> BudgetPoint | None:
        return cheapest(self.rehearsal.budgets, self.rehearsal.race.goal.target)

    @property
    def copies(self) -> list[tuple[int, dict[str, float]]]:
        figures = {copy.configuration: copy.utility | copy.risk for copy in self.rehearsal.copies}
        return [(number, figures[c]) for number, c in enumerate(self.shown, 1) if c in figures]

    @property
    def chart_of_shortlist(self) -> Markup | str:
        rehearsal, best = self.rehearsal, self.shown[:_PICTURED]
        estimates = [rehearsal.race.estimates[configuration] for configuration in best]
        return charts.acceptance([str(position) for position in range(1, len(best) + 1)], estimates, rehearsal.race.goal.target)

    @property
    def chart_of_criteria(self) -> Markup | str:
        """Return the chart of criterion values divided by thresholds, for the shortlist or, without one, for all
        configurations.
        """
        rehearsal, ratios = self.rehearsal, dict[str, list[float]]()
        attempts = [result for c in rehearsal.shortlist or range(len(rehearsal.results)) for result in rehearsal.results[c]]
        for index, criterion in enumerate(rehearsal.spec.criteria):
            figures = [result.figures[index] for result in attempts]
            if criterion.threshold > 0 and (known_figures := [value for value in figures if value is not None]):
                ratios[criterion.name] = [value / criterion.threshold for value in known_figures]
        return charts.relative_figures(list(ratios), list(ratios.values())) if ratios else ""


def page(rehearsal: Rehearsal, noise_level: float) -> str:
    template = templates(Path(__file__).parent / "templates", __file__).get_template("report.html")
    return template.render(
        report=RehearsalReport(rehearsal=rehearsal, noise_level=noise_level),
        say=Sentences.of(rehearsal),
        percent=percent,
        exact=decimal_text,
        rounded=short,
        epsilon=epsilon_text,
        rounds=rounds_text,
        plain=words,
        describe=describe,
        lines=lines,
        statistic=statistic,
        below_zero=below_zero,
        projection_advice=projection_advice,
    )


def _shortlisted(rehearsal: Rehearsal, c: int) -> dict[str, Any]:
    estimate = rehearsal.race.estimates[c]
    return {
        **rehearsal.spec.space[c].describe(),
        "acceptance": round(estimate.share, 4),
        "interval": [round(estimate.low, 4), round(estimate.high, 4)],
        "attempts": estimate.trials,
    }


def _rejections(rehearsal: Rehearsal, c: int) -> dict[str, int]:
    counts = {
        criterion.name: sum(not result.passed[index] for result in rehearsal.results[c])
        for index, criterion in enumerate(rehearsal.spec.criteria)
    }
    return {name: count for name, count in counts.items() if count}


def _plain(value: Any) -> str:
    if isinstance(value, str) and "/" in value:
        numerator, denominator = value.split("/")
        return f"{int(numerator) / int(denominator):g}"
    return f"{value:g}" if isinstance(value, float) else cut(" ".join(str(value).split()), LONGEST_SETTING)
