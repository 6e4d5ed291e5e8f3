"""A release in plain words: what criteria, generator and projection say of themselves, and bins, rules and parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from synthrelease.bundle.card.numbers import probability, rounded_down, rounded_up, share
from synthrelease.bundle.public import public_facts
from synthrelease.criteria.facts import figure, shown, words
from synthrelease.generators import GENERATORS
from synthrelease.generators.projections import published_projection
from synthrelease.published.charges import CriterionPart, IntervalPart
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument

Parameters = Mapping[str, Any]
_YEARS = (1500, 2200)
"""Whole numbers between these are years, or nothing is lost when they are written as such."""


def criterion_text(criterion: CriterionPart, document: ReleaseDocument) -> str:
    """What the figure of a criterion is, and who agreed to its threshold."""
    known = criterion.criterion()
    if known is None:
        return f"A criterion of the kind {criterion.kind!r}."
    return " ".join([known.sentence(public_facts(document)), *([known.agreed.words] if known.agreed else [])])


def criterion_unit(criterion: CriterionPart, document: ReleaseDocument) -> str:
    """In what the figure is measured, empty for a plain number."""
    known = criterion.criterion()
    return "" if known is None else known.figure_unit(public_facts(document))


def interval_text(interval: IntervalPart | None) -> str:
    """The interval for the exact figure."""
    if interval is None:
        return "not known"
    if interval.how == "exact":
        return "exact"
    if interval.how == "measurements":
        return f"at most {rounded_up(interval.high or 0, 4)}"
    if interval.high is None:
        return f"{rounded_down(interval.low)} or more"
    return f"{rounded_down(interval.low)} to {rounded_up(interval.high, 4)}"


def shared_text(document: ReleaseDocument) -> str:
    """Which figures share one noise, and what a reader has to know of it; empty where none do."""
    names = [one.name for one in document.criteria if one.one_noise]
    if not names:
        return ""
    return (
        f"{shown(names)}: the figures of these {len(names)} criteria share one noise, drawn for all of them at once, which "
        "costs the sum of their epsilons. It is no larger than what each would have had by itself. Their noises are not "
        "independent: where one figure is far off, the others are so more often, to either side. Each interval holds for its "
        "figure by itself, whatever ties the noises together; sums of several figures must not count on noises that cancel."
    )


def answered_text(document: ReleaseDocument) -> str:
    """Which criteria the published measurements answer, and how sure their bounds are; empty where they answer none."""
    names = [one.name for one in document.criteria if one.answered]
    bounds = document.selection.bounds
    if not names or bounds is None:
        return ""
    sure = figure(100 * (1 - float(Fraction(bounds.risk_exact))), 10)
    one = len(names) == 1
    return (
        f"{shown(names)}: {'this figure is an upper bound' if one else 'these figures are upper bounds'} of the "
        f"exact {'one, and follows' if one else 'ones, and follow'} from the published noisy tables (measurements.json) and "
        "the released table. The original table was not looked at again, so this cost no epsilon. All bounds hold together "
        f"with probability at least {sure}%, over the noise of the measurements, whichever table was released."
    )


def generator_text(family: str) -> str:
    return GENERATORS[family].words if family in GENERATORS else ""


def projection_text(settings: Parameters) -> str:
    known = published_projection(settings)
    return "" if known is None else known.sentence


MOST_LISTED = 40
"""Categories of one bin that the card lists; of more, half as many."""


def rule_scope(applies_to: Sequence[str]) -> str:
    """Where a rule keeps combinations out."""
    return " and ".join(_SCOPES.get(one, one) for one in applies_to)


def parameter_texts(parameters: Parameters) -> list[tuple[str, str]]:
    """Names and values of parameters as words."""
    return [(words(name), _tables(value) if name == "tables" else shown(value)) for name, value in parameters.items()]


def listed_text(counts: Sequence[int], listed: Sequence[int], total: int) -> str:
    """That a column has more bins than the card lists, how many rows those have that it does, and where the others are."""
    rows = share(sum(counts[place] for place in listed) / total)
    return (
        f"Listed are the {len(listed)} bins with the most rows of {len(counts):,}, with {rows} of the rows. All are in "
        "release.json, and how many rows each has is told by the table."
    )


def bin_text(column: ColumnPart, index: int) -> str:
    """What a bin holds, in words: values, edges or categories, or that the value is missing."""
    one = column.bins[index]
    if one.missing:
        also = f" (in the original file also written {', '.join(column.missing_values)})" if column.missing_values else ""
        return f"the value is missing{also}"
    if one.categories is not None:
        listed = ["any text that no other category lists" if text == column.outside_label else text for text in one.categories]
        return "" if listed == [one.label] else _enumerated(listed)
    last = None if one.below is None else one.below - 1 if column.kind == "integer" else one.below
    end = "up to" if column.kind == "integer" else "below"
    if one.lower is None:
        return f"{end} {value_text(column, last)}" if last is not None else "all values"
    low = value_text(column, one.lower)
    if last is None:
        return f"{low} or more"
    return low if one.lower == last else f"{low} {'to' if end == 'up to' else 'to below'} {value_text(column, last)}"


def value_text(column: ColumnPart, value: float, digits: int = 4) -> str:
    """A value of a column: a year without a comma, everything else as figures are written."""
    low, high = column.bounds or (0, 0)
    years = column.part == "year" or (column.kind == "integer" and low >= _YEARS[0] and high <= _YEARS[1])
    return figure(value, digits).replace(",", "") if years else figure(value, digits)


def _enumerated(names: Sequence[str]) -> str:
    """All of a few categories, and the first of many: a chapter of diagnoses has hundreds."""
    if len(names) <= MOST_LISTED:
        return ", ".join(names)
    first = names[: MOST_LISTED // 2]
    return f"{', '.join(first)} and {figure(len(names) - len(first))} more, all of them in release.json"


def _tables(value: Any) -> str:
    """A formula of tables such as "age:region + 2 sex" in words."""
    if not isinstance(value, str):
        return shown(value)
    found = []
    for term in value.split("+"):
        first, _, rest = term.strip().partition(" ")
        weighted = bool(rest) and first.replace(".", "", 1).isdigit()
        names = (rest if weighted else term).split(":")
        found.append(" by ".join(words(name.strip()) for name in names) + (f" (weight {first})" if weighted else ""))
    return ", ".join(found)


_SCOPES = {"raw": "original records", "synthetic": "released rows"}


def ending_text(document: ReleaseDocument) -> str:
    """When the search would have ended with nothing."""
    selection = document.selection
    if selection.rounds is not None:
        law = ", ".join(f"{rounds} with probability {probability(share)}" for rounds, share in selection.rounds.items())
        return f"after a hidden number of rounds, drawn beforehand ({law})"
    stop = probability(selection.stop_probability or "0")
    if selection.shape is None and selection.stop_probability == "0":
        return "never"
    if selection.shape is None:
        return f"after each rejected round with probability {stop}"
    return (
        "after a hidden number of rounds, drawn beforehand from a truncated negative binomial law "
        f"(shape {selection.shape}, probability {stop})"
    )
