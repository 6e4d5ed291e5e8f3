"""The files that a rehearsal leaves: shortlist.toml for the release, rehearsal.json for programs, report.html for people."""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from synthrelease.criteria.facts import figure, words
from synthrelease.errors import OutputError, cut, percent
from synthrelease.generators.space import Configuration
from synthrelease.privacy.charges import decimal_text
from synthrelease.rehearsal.advice import MARGIN, cheapest
from synthrelease.rehearsal.copies_report import copies_document, copies_rows
from synthrelease.rehearsal.dependence import WEAKEST
from synthrelease.rehearsal.intervals import ShareEstimate
from synthrelease.rehearsal.look_report import criterion_row, look_document, pair_rows, projection_rows, yardstick_rows
from synthrelease.rehearsal.offers import offered
from synthrelease.rehearsal.proposal_words import (
    lines,
    offer_rows,
    proposal_document,
    proposal_words,
    proposed_plan,
    rehearsed_plan,
)
from synthrelease.rehearsal.rehearse import Rehearsal
from synthrelease.rehearsal.words import (
    below_zero,
    binding,
    conclusion_words,
    finite,
    outlook_words,
    projection_advice,
    units,
    verdict_words,
    warnings,
)
from synthrelease.resources import templates
from synthrelease.spec.shortlist import VerdictTable, judged_digest, shortlist_text
from synthrelease.spec.tried import leave

_PICTURED = 30


def write_report(rehearsal: Rehearsal, out: Path, noise_level: float) -> None:
    """Write the three files; each replaces an earlier one as a whole. Without a shortlist there is no shortlist.toml.

    Where some configuration is accepted, the two files of the release have been tried as they are (`specification.tried`).

    Raises
    ------
    OutputError : when one cannot be written.
    """
    texts = {
        "rehearsal.json": json.dumps(document(rehearsal), indent=2, allow_nan=False) + "\n",
        "report.html": page(rehearsal, noise_level),
    }
    if rehearsal.shortlist:
        texts["shortlist.toml"] = shortlist_text(
            rehearsal.spec.title,
            [_shortlisted(rehearsal, c) for c in rehearsal.shortlist],
            rehearsal.data,
            rehearsed_plan(rehearsal),
            proposed_plan(rehearsal),
            _verdict(rehearsal),
        )
    problem = None
    try:
        for name, text in texts.items():
            temporary = out / f".{name}.new"
            temporary.write_text(text, encoding="utf-8", newline="\n")
            os.replace(temporary, out / name)
        if not rehearsal.shortlist:
            (out / "shortlist.toml").unlink(missing_ok=True)
    except OSError as error:
        problem = f"{out}: the report could not be written ({error.strerror}). The results in attempts.sqlite are kept."
    if problem:
        raise OutputError(problem)
    if rehearsal.shortlist:
        leave(rehearsal.spec, "rehearsal", rehearsal.n_rows)


def _verdict(rehearsal: Rehearsal) -> VerdictTable | None:
    return None if rehearsal.look is None else rehearsal.look.verdict


LONGEST_SETTING = 80
"""Of a setting more is not shown: a formula of forty tables would hide what else differs."""


def describe(configuration: Configuration) -> str:
    """A configuration in a line: what differs between configurations, not what all share."""
    generator = configuration.generator.model_dump(mode="json", exclude_none=True, exclude={"family", "selector"})
    columns = configuration.transformation.schema.by_name
    bins = [
        f"{words(name)} {words(chosen)}"
        for name, chosen in configuration.transformation.choice.items()
        if len(columns[name].alternatives) > 1
    ]
    projection = configuration.projection.model_dump(mode="json", exclude={"kind"}, exclude_defaults=True)
    parts = [
        configuration.generator.family,
        *(f"{words(key)} {_plain(value)}" for key, value in generator.items() if key != "flavour"),
    ]
    return ", ".join([*parts, *bins, *(f"{words(key)} {_plain(value)}" for key, value in projection.items())])


def document(rehearsal: Rehearsal) -> dict[str, Any]:
    """rehearsal.json: everything of the report but the times, so that the same seed gives the same file."""
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
                **_interval(estimate),
                "rejected_by": _rejections(rehearsal, c),
                **rehearsal.spec.space[c].describe(),
            }
            for c, (estimate, standing) in enumerate(zip(race.estimates, race.standings, strict=True))
        ],
        "criteria": [
            {
                "name": advice.name,
                "threshold": advice.threshold,
                "epsilon": float(advice.epsilon),
                "median_figure": advice.figure,
                "noise_sd": advice.noise_sd,
                "rejected_share": advice.fails,
                "false_decision": advice.false_rejection,
                "good_rejected": advice.good_rejected,
                "bad_accepted": advice.bad_accepted,
                "smallest_epsilon": advice.smallest_epsilon,
            }
            for advice in rehearsal.criteria
        ],
        "budgets": [
            {"generation": float(point.generation), "total": float(point.total), **_interval(point.acceptance)}
            for point in rehearsal.budgets
        ],
        "proposal": proposal_document(rehearsal.proposal),
        "copies": copies_document(rehearsal),
        "outlook": {name: finite(value) for name, value in vars(rehearsal.outlook).items()} if rehearsal.outlook else None,
        "look": look_document(rehearsal),
        "words": {
            "outlook": outlook_words(rehearsal),
            "binding": binding(rehearsal),
            "warnings": warnings(rehearsal),
            "verdict": verdict_words(rehearsal),
            "proposal": proposal_words(rehearsal),
            "conclusions": conclusion_words(rehearsal),
        },
    }


def page(rehearsal: Rehearsal, noise_level: float) -> str:
    """report.html: one file that needs nothing else."""
    from synthrelease.rehearsal import pictures

    goal, race = rehearsal.race.goal, rehearsal.race
    times = [result.seconds for attempts in rehearsal.results for result in attempts]
    shown = sorted(rehearsal.shortlist, key=lambda c: -race.estimates[c].share)
    rows = [_row(rehearsal, str(number + 1), c) for number, c in enumerate(shown)]
    best, total = cheapest(rehearsal.budgets, goal.target), rehearsal.spec.plan.total
    proposal = rehearsal.proposal
    chosen = proposal.chosen if proposal else None
    names, ratios = _ratios(rehearsal)
    estimates = [race.estimates[c] for c in shown[:_PICTURED]]
    labels = [row["label"] for row in rows[:_PICTURED]]
    return (
        templates(Path(__file__).parent / "templates", __file__)
        .get_template("report.html")
        .render(
            title=rehearsal.spec.title,
            n_rows=rehearsal.n_rows,
            complete=rehearsal.complete,
            n_configurations=len(race.estimates),
            n_attempts=rehearsal.n_attempts,
            seconds=f"{np.mean(times):.2f}" if times else "0",
            shortlist=rows,
            outlook=rehearsal.outlook,
            total=decimal_text(total.epsilon),
            delta=f"{float(total.delta):g}" if total.delta else None,
            unit=rehearsal.spec.generation_unit,
            keep=goal.keep,
            target=goal.target,
            level=goal.level,
            margin=MARGIN,
            noise_level=noise_level,
            criteria=[_criterion_row(rehearsal, place) for place in range(len(rehearsal.criteria))],
            outlook_words=outlook_words(rehearsal),
            warnings=warnings(rehearsal),
            verdict=verdict_words(rehearsal),
            binding=binding(rehearsal),
            below_zero=below_zero(rehearsal),
            look=rehearsal.look,
            looked_at=next((row["label"] for row, c in zip(rows, shown, strict=True) if _looked_at(rehearsal, c)), None),
            yardsticks=yardstick_rows(rehearsal),
            pairs=pair_rows(rehearsal.look),
            weakest=WEAKEST,
            projections=projection_rows(rehearsal),
            projection_advice=projection_advice(rehearsal),
            budgets=offer_rows(rehearsal),
            cheapest=None if best is None else (decimal_text(best.generation), decimal_text(best.total)),
            proposal=proposal,
            proposal_generation=decimal_text(chosen.generation) if chosen else "",
            proposal_words=[*proposal_words(rehearsal), *offered(rehearsal.spec)],
            proposal_lines=lines(chosen),
            copies=copies_rows(rehearsal, shown),
            odds_target=words(rehearsal.comparison.odds.target) if rehearsal.comparison.odds else "",
            n_copies=rehearsal.comparison.copies,
            quasi_identifiers=", ".join(map(words, rehearsal.comparison.quasi_identifiers)),
            regression_target=words(rehearsal.comparison.target or ""),
            seed=rehearsal.seed,
            version=version("synthrelease"),
            percent=percent,
            small=lambda value: f"{value:.2g}" if value >= 1e-6 else "under 0.000001",
            picture_shortlist=Markup(pictures.acceptance(labels, estimates, goal.target)) if rows else "",
            picture_criteria=Markup(pictures.relative_figures(names, ratios)) if names else "",
            picture_budget=Markup(pictures.budget_frontier(rehearsal.budgets, goal.target)) if rehearsal.budgets else "",
            picture_nothing=Markup(pictures.nothing_frontier(proposal)) if proposal and chosen else "",
            picture_times=Markup(pictures.seconds(times)) if times else "",
        )
    )


def _ratios(rehearsal: Rehearsal) -> tuple[list[str], list[list[float]]]:
    """Per criterion with figures: its name and figure / threshold of the shortlist's candidates (of all without one)."""
    chosen = rehearsal.shortlist or range(len(rehearsal.results))
    attempts = [result for c in chosen for result in rehearsal.results[c]]
    names, ratios = [], []
    for index, criterion in enumerate(rehearsal.spec.criteria):
        values = [figure / criterion.threshold for result in attempts if (figure := result.figures[index]) is not None
                  and criterion.threshold > 0]  # fmt: skip
        if values:
            names.append(criterion.name)
            ratios.append(values)
    return names, ratios


def _shortlisted(rehearsal: Rehearsal, c: int) -> dict[str, Any]:
    estimate = rehearsal.race.estimates[c]
    described = rehearsal.spec.space[c].describe()
    return {**described, "acceptance": round(estimate.share, 4), "interval": [round(estimate.low, 4), round(estimate.high, 4)],
            "attempts": estimate.trials}  # fmt: skip


def _interval(estimate: ShareEstimate) -> dict[str, Any]:
    return {"accepted": estimate.successes, "trials": estimate.trials, "low": estimate.low, "high": estimate.high}


def _rejections(rehearsal: Rehearsal, c: int) -> dict[str, int]:
    """How many attempts of a configuration each criterion rejected."""
    counts = {
        criterion.name: sum(not result.passed[index] for result in rehearsal.results[c])
        for index, criterion in enumerate(rehearsal.spec.criteria)
    }
    return {name: count for name, count in counts.items() if count}


def _row(rehearsal: Rehearsal, label: str, c: int) -> dict[str, Any]:
    estimate = rehearsal.race.estimates[c]
    times = [result.seconds for result in rehearsal.results[c]]
    return {
        "label": label,
        "text": describe(rehearsal.spec.space[c]),
        "share": estimate.share,
        "low": estimate.low,
        "high": estimate.high,
        "trials": estimate.trials,
        "seconds": f"{np.median(times):.2f}",
    }


def _looked_at(rehearsal: Rehearsal, c: int) -> bool:
    return rehearsal.look is not None and rehearsal.look.configuration == c


def _criterion_row(rehearsal: Rehearsal, place: int) -> dict[str, str]:
    advice = rehearsal.criteria[place]
    unit = units(rehearsal)[advice.name]
    relative = None if advice.noise_sd is None else advice.noise_sd / advice.threshold
    return {
        "name": advice.name,
        "unit": unit,
        "threshold": f"{advice.threshold:g}",
        "figure": _number(advice.figure),
        "fails": percent(advice.fails),
        **criterion_row(rehearsal.look.criteria[place] if rehearsal.look else None),
        "epsilon": decimal_text(advice.epsilon) if advice.epsilon else "",
        "noise_sd": _number(advice.noise_sd),
        "relative": "" if relative is None else percent(relative),
        "false": "" if advice.false_rejection is None else percent(advice.false_rejection),
        "good_rejected": "" if advice.good_rejected is None else percent(advice.good_rejected),
        "bad_accepted": "none seen" if advice.bad_accepted is None else percent(advice.bad_accepted),
        "smallest": _number(advice.smallest_epsilon),
    }


def _number(value: float | None) -> str:
    return "" if value is None else figure(value, 3)


def _plain(value: Any) -> str:
    if isinstance(value, str) and "/" in value:
        numerator, denominator = value.split("/")
        return f"{int(numerator) / int(denominator):g}"
    return f"{value:g}" if isinstance(value, float) else cut(" ".join(str(value).split()), LONGEST_SETTING)
