"""The files that a rehearsal leaves: shortlist.toml for the release, rehearsal.json for programs, report.html for people."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from synthrelease.bundle.pictures import BLUE, LINE, MUTED, RED, Picture, shortened
from synthrelease.criteria.facts import figure, words
from synthrelease.errors import OutputError, cut, percent
from synthrelease.generators.space import Configuration
from synthrelease.privacy.charges import decimal_text
from synthrelease.resources import templates
from synthrelease.spec.shortlist import VerdictTable, judged_digest, shortlist_text
from synthrelease.spec.tried import leave
from synthrelease.studio.rehearsal.advice import MARGIN, BudgetPoint, Proposal, cheapest, offered
from synthrelease.studio.rehearsal.attempts import ShareEstimate
from synthrelease.studio.rehearsal.closer_look import CloserLook, CriterionLook, ProjectionEffect
from synthrelease.studio.rehearsal.dependence import WEAKEST
from synthrelease.studio.rehearsal.rehearse import Rehearsal
from synthrelease.studio.rehearsal.risk import GROUPS
from synthrelease.studio.rehearsal.words import (
    below_zero,
    binding,
    conclusion_words,
    finite,
    lines,
    offer_rows,
    outlook_words,
    projection_advice,
    proposal_document,
    proposal_words,
    proposed_plan,
    rehearsed_plan,
    short,
    units,
    verdict_words,
    warnings,
)

# Utility and risk of synthetic copies, as a part of rehearsal.json and as rows of the report.

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


# The closer look of a rehearsal as a part of rehearsal.json, and as rows of tables in the report.


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


# The pictures of the rehearsal's report, as SVG to be put into the page.

WIDTH, ROW, TOP, BOTTOM, PICTURE_MARGIN = 720, 26, 24, 46, 20
LABEL = 7
"""Width of a letter beside the axis, about."""

LONGEST_LABEL = 44
_GREY = "#8b95a3"


class _Plot:
    """A frame with two axes; numbers are given in units of the data.

    Parameters
    ----------
    description : what screen readers say; the ids of the picture are made of it.
    height : of the whole picture. x, y : ranges of the axes. left : room for labels of the y axis.
    """

    def __init__(
        self, description: str, height: float, x: tuple[float, float], y: tuple[float, float], left: float = 60
    ) -> None:
        key = re.sub(r"[^a-z]+", "-", description.lower())
        self.picture = Picture(key, WIDTH, height, description, description)
        self.x_range, self.y_range = x, y
        self.left, self.right, self.bottom = left, WIDTH - PICTURE_MARGIN, height - BOTTOM

    def x(self, value: float) -> float:
        low, high = self.x_range
        return self.left + (value - low) / ((high - low) or 1) * (self.right - self.left)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return self.bottom - (value - low) / ((high - low) or 1) * (self.bottom - TOP)

    def x_axis(self, name: str, ticks: Sequence[tuple[float, str]]) -> None:
        for value, text in ticks:
            self.picture.line(self.x(value), TOP, self.x(value), self.bottom, LINE)
            self.picture.text(self.x(value), self.bottom + 16, text, anchor="middle", fill=MUTED)
        self.picture.line(self.left, self.bottom, self.right, self.bottom, MUTED)
        self.picture.text((self.left + self.right) / 2, self.bottom + 36, name, anchor="middle")

    def y_axis(self, ticks: Sequence[tuple[float, str]], name: str = "") -> None:
        for value, text in ticks:
            self.picture.text(self.left - 8, self.y(value) + 4, text, anchor="end", fill=MUTED)
        self.picture.line(self.left, TOP, self.left, self.bottom, MUTED)
        if name:
            self.picture.text(4, TOP - 10, name)

    def across(self, y: float, low: float, high: float) -> None:
        self.picture.line(self.x(low), self.y(y), self.x(high), self.y(y), BLUE, width=2)

    def up(self, x: float, low: float, high: float) -> None:
        self.picture.line(self.x(x), self.y(low), self.x(x), self.y(high), BLUE, width=2)

    def dots(self, points: Sequence[tuple[float, float]], colour: str = BLUE, radius: float = 4) -> None:
        for x, y in points:
            self.picture.dot(self.x(x), self.y(y), radius, colour)

    def path(self, points: Sequence[tuple[float, float]], colour: str, *, dashed: bool = False) -> None:
        for (x1, y1), (x2, y2) in zip(points, points[1:], strict=False):
            self.picture.line(self.x(x1), self.y(y1), self.x(x2), self.y(y2), colour, width=1.5, dashed=dashed)

    def limit_across(self, y: float, text: str) -> None:
        self.picture.line(self.left, self.y(y), self.right, self.y(y), RED, dashed=True)
        self.picture.text(self.right, self.y(y) - 4, text, anchor="end", fill=RED)

    def limit_up(self, x: float, text: str) -> None:
        self.picture.line(self.x(x), TOP, self.x(x), self.bottom, RED, dashed=True)
        self.picture.text(min(self.x(x) + 4, self.right - LABEL * len(text)), TOP - 6, text, fill=RED)


def acceptance(labels: Sequence[str], estimates: Sequence[ShareEstimate], target: float) -> str:
    """Shares with their intervals, one line per configuration."""
    plot = _rows("Acceptance probability of each configuration on the shortlist", labels, 1.0)
    plot.x_axis("probability that an attempt is accepted", _ticks(0, 1))
    for place, estimate in enumerate(reversed(estimates)):
        plot.across(place, estimate.low, estimate.high)
        plot.dots([(estimate.share, place)])
    plot.limit_up(target, "target")
    return plot.picture.render()


def relative_figures(names: Sequence[str], ratios: Sequence[Sequence[float]]) -> str:
    """Figures over thresholds: median and middle 90% per criterion."""
    bands = [np.quantile(values, [0.05, 0.5, 0.95]) for values in ratios]
    most = max(1.25, 1.05 * max(float(band[2]) for band in bands))
    plot = _rows("Figures of the candidates relative to the thresholds", names, most)
    plot.x_axis("figure / threshold", _ticks(0, most))
    for place, (low, middle, high) in enumerate(reversed(bands)):
        plot.across(place, max(0.0, float(low)), max(0.0, float(high)))
        plot.dots([(max(0.0, float(middle)), place)])
    plot.limit_up(1, "threshold")
    return plot.picture.render()


def budget_frontier(points: Sequence[BudgetPoint], target: float) -> str:
    """Total epsilon against acceptance probability."""
    totals = [float(point.total) for point in points]
    plot = _Plot("Total epsilon against acceptance probability", 300, _around(totals), (0, 1))
    plot.x_axis("total epsilon of the release", _ticks(*plot.x_range))
    plot.y_axis(_ticks(0, 1), "probability of acceptance")
    for total, point in zip(totals, points, strict=True):
        plot.up(total, point.acceptance.low, point.acceptance.high)
    places = [(total, point.acceptance.share) for total, point in zip(totals, points, strict=True)]
    plot.path(places, BLUE)
    plot.dots(places)
    plot.limit_across(target, "target")
    return plot.picture.render()


def nothing_frontier(proposal: Proposal) -> str:
    """Total epsilon against the probability that nothing is released: best laws, stop coins, and other generation budgets."""
    best, coins = ([(float(p.total), p.nothing) for p in points] for points in (proposal.frontier, proposal.coins))
    others = [(float(each.total), each.nothing or 0.0) for each in proposal.offers
              if each.total is not None and each is not proposal.chosen]  # fmt: skip
    doubled = [] if proposal.doubled is None else [(float(proposal.doubled), 0.0)]
    chosen = proposal.chosen
    there = [] if chosen is None or chosen.total is None else [(float(chosen.total), chosen.nothing or 0.0)]
    most = 1.05 * max(proposal.wanted, *(nothing for _, nothing in (*best, *coins)))
    everywhere = [total for total, _ in (*best, *coins, *others, *doubled, *there)]
    plot = _Plot("Total epsilon against the probability that nothing is released", 380, _around(everywhere), (0, most))
    plot.x_axis("total epsilon of the release", _ticks(*plot.x_range))
    plot.y_axis([(value, f"{value:.0%}") for value, _ in _ticks(0, most)], "probability of nothing")
    plot.path(coins, _GREY, dashed=True)
    plot.path(best, BLUE)
    plot.dots(best, radius=2.5)
    plot.dots([place for place in others if place[1] <= most], radius=4)
    plot.dots([place for place in others if place[1] <= most], "#ffffff", radius=2.5)
    plot.dots(doubled, RED, radius=5)
    plot.dots(there, radius=6)
    plot.limit_across(proposal.wanted, "wanted")
    legend = [
        ("best law of a hidden number of rounds", BLUE),
        ("stop coin (dashed)", _GREY),
        ("hollow: other generation budgets, best law for each", BLUE),
        *([("never giving up", RED)] if doubled else []),
        *([("large: proposed", BLUE)] if there else []),
    ]
    for line, (text, colour) in enumerate(legend):
        plot.picture.dot(plot.right - 316, TOP + 14 + 16 * line, 4, colour)
        plot.picture.text(plot.right - 306, TOP + 18 + 16 * line, text, fill=MUTED)
    return plot.picture.render()


def seconds(times: Sequence[float]) -> str:
    """Histogram of seconds per attempt, on a logarithmic scale."""
    values = np.log10(np.maximum(np.asarray(times, dtype=float), 1e-4))
    low, high = float(values.min()) - 0.02, float(values.max()) + 0.02
    counts, edges = np.histogram(values, bins=40, range=(low, high))
    plot = _Plot("Seconds per attempt", 230, (low, high), (0, float(counts.max())))
    powers = [value for value, _ in _ticks(low, high)]
    plot.x_axis("seconds", [(value, f"{10**value:.2g}") for value in powers])
    plot.y_axis([(float(counts.max()), str(int(counts.max()))), (0, "0")], "attempts")
    for count, left, right in zip(counts, edges[:-1], edges[1:], strict=True):
        if count:
            top = plot.y(float(count))
            plot.picture.rect(
                plot.x(float(left)), top, plot.x(float(right)) - plot.x(float(left)) - 1, plot.bottom - top, _GREY
            )
    return plot.picture.render()


def _rows(description: str, labels: Sequence[str], most: float) -> _Plot:
    """A plot with a line for each label, the first above."""
    shown = [shortened(label, LONGEST_LABEL) for label in labels]
    left = 24 + LABEL * max(len(label) for label in shown)
    plot = _Plot(description, TOP + BOTTOM + ROW * len(shown), (0, most), (-0.6, len(shown) - 0.4), left)
    plot.y_axis([(place, label) for place, label in enumerate(reversed(shown))])
    return plot


def _around(values: Sequence[float]) -> tuple[float, float]:
    """A range with some room on both sides."""
    room = 0.05 * (max(values) - min(values)) or 0.05 * abs(max(values)) or 1.0
    return min(values) - room, max(values) + room


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    """About five round numbers in a range, with their texts."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    return [(n * step, f"{n * step:.10g}") for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


_PICTURED = 30


def write_report(rehearsal: Rehearsal, out: Path, noise_level: float) -> None:
    """Write the three files; each replaces an earlier one as a whole. Without a shortlist there is no shortlist.toml.

    Where some configuration is accepted, the two files of the release have been tried as they are (`spec.tried`).

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
            picture_shortlist=Markup(acceptance(labels, estimates, goal.target)) if rows else "",
            picture_criteria=Markup(relative_figures(names, ratios)) if names else "",
            picture_budget=Markup(budget_frontier(rehearsal.budgets, goal.target)) if rehearsal.budgets else "",
            picture_nothing=Markup(nothing_frontier(proposal)) if proposal and chosen else "",
            picture_times=Markup(seconds(times)) if times else "",
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
