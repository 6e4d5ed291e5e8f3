"""Compute intervals for exact criterion values, and limits for the whole file, by post-processing at no epsilon.

A criterion value compares the released rows with the n rows that the release used, drawn at random from the K rows of the
file that the rules keep. The limit for all K rows is the limit for the n rows plus a limit on the error of drawing them
(theory 13.17, drawn shares).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from fractions import Fraction

from synthrelease.answers.limits import RISK, KeptRows
from synthrelease.criteria import explain
from synthrelease.criteria.facts import OneNoise, PublicFacts
from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Plausibility
from synthrelease.errors import InputError
from synthrelease.generators.drawing import Drawing
from synthrelease.privacy.grids import grid_point, noise_grid, shared_grid
from synthrelease.published.base import number
from synthrelease.published.charges import CriterionPart
from synthrelease.published.document import ReleaseDocument

# Intervals for exact criterion values, from released criterion values (post-processing, no cost).

LEVEL = Fraction(95, 100)


@dataclass(frozen=True, kw_only=True)
class FigureInterval:
    """An interval that contains the exact criterion value with a stated confidence. `high` is None if it has no upper end."""

    low: float
    high: float | None


def laplace_interval(
    value: float,
    *,
    sensitivity: float,
    epsilon: Fraction,
    rows: int = 1,
    best: float,
    worst: float | None,
    passed_below: float | None,
    level: Fraction = LEVEL,
) -> FigureInterval:
    """Compute a confidence interval for the exact value of a criterion from its released value, to which discrete Laplace
    noise was added.

    The interval takes into account that only values below the threshold are released.

    Parameters
    ----------
    value : the released criterion value.
    rows : the number of rows from which the criterion value was computed, which determines the grid.
    best, worst : the range of possible exact criterion values. `worst` is None if there is no worst value.
    passed_below : the threshold, if the value was released only because it did not exceed it, or None if the release did
        not depend on the value's noise.

    Notes
    -----
    Let e be the exact value of the released candidate and v = e + z the noisy value, in steps of the grid, where z is
    discrete Laplace noise with a = exp(-1/scale). Given the candidate and the noise of the other criteria, acceptance
    implies only v <= t about z. So for every candidate, and hence for the released candidate, v has its distribution
    truncated at t.

    - Low end: v - q, where q is the smallest number with Pr[z > q] <= (1 - level)/2. Truncation only makes v smaller, so it
      does not increase the probability of e < v - q.
    - High end: the largest e with Pr[z <= v - e | z <= t - e] > (1 - level)/2. As e grows, this probability decreases
      towards a^(t - v). Near the threshold, a^(t - v) may exceed (1 - level)/2. The interval then has no upper end.

    The rounding to the grid (theory 9.2, figure on a grid) adds one step at each end. The level holds for each criterion
    separately.
    """
    step, steps = noise_grid(sensitivity, rows)
    decay = math.exp(-1 / float(Fraction(steps) / epsilon))
    tail = float(1 - level) / 2
    released = round(value / step)
    limit = None if passed_below is None else math.floor(Fraction(passed_below) / Fraction(step))
    reach = max(0, math.ceil(math.log(tail * (1 + decay)) / math.log(decay)) - 1)
    low = max(best, (released - reach - 1) * step)
    high = _largest(released, limit, decay, tail)
    if high is None:
        return FigureInterval(low=low, high=worst)
    top = (high + 1) * step
    return FigureInterval(low=low, high=max(low, top if worst is None else min(worst, top)))


def one_noise_interval(
    value: float, noise: OneNoise, *, sensitivity: float, rows: int, best: float, worst: float | None, level: Fraction = LEVEL
) -> FigureInterval:
    """Compute an interval for the exact value of a criterion whose noise is one entry of a shared vector.

    The decision to release did not depend on this noise, which has the marginal distribution of one entry (theory 9.18, one
    noise for many numbers). The level holds for this value separately. The rounding to the grid adds one step at each end.
    """
    step = shared_grid(sensitivity, rows).step
    released, reach = grid_point(value, step), noise.beyond(rows, float(1 - level)) + 1
    low, top = max(best, (released - reach) * step), (released + reach) * step
    return FigureInterval(low=low, high=max(low, top if worst is None else min(worst, top)))


def _largest(released: int, limit: int | None, decay: float, tail: float) -> int | None:
    """Find the upper end of a confidence interval for an exact value, in steps, or None if there is none.

    It is the largest exact value for which a released value of at most `released` has a probability above `tail`.
    """

    def probability(exact: int) -> float:
        share = cumulative(released - exact, decay)
        return share if limit is None else share / cumulative(limit - exact, decay)

    if limit is not None and decay ** (limit - released) > tail:
        return None
    beyond = released + math.ceil(math.log(tail) / math.log(decay)) + 2 if limit is None else limit + 1
    # the probability falls as the exact value grows: take the last value before the first one that is too improbable
    return released + bisect_left(range(released, beyond), True, key=lambda exact: probability(exact) <= tail) - 1


def cumulative(z: int, decay: float) -> float:
    """Return the probability that an integer with Pr[z] proportional to decay^|z| is at most z."""
    return 1 - decay ** (z + 1) / (1 + decay) if z >= 0 else decay**-z / (1 + decay)


# Public facts in release.json, which the texts of criteria use.


def public_facts(document: ReleaseDocument, counts: Counts | None = None, raw: Plausibility | None = None) -> PublicFacts:
    """Collect the facts in release.json that criteria may use without any privacy cost.

    Parameters
    ----------
    counts : the released table.
    raw : the rules for private rows, on the released bins.
    """
    return replace(document.public_facts, counts=counts, raw=raw)


LEAST_RISK = 0.001
"""Smallest risk for which a limit for the file is stated. A smaller risk would give a limit too large to be useful."""


def with_file_ends(document: ReleaseDocument, counts: Counts) -> ReleaseDocument:
    """Add to each criterion an upper limit on its value for the whole file, if the used rows were drawn at random.

    No limit is added if [partition] or [split] divided the rows.
    """
    facts, limited = public_facts(document, counts), rows_were_drawn(document)
    criteria = [_with_file_high(part, file_end(part, document, facts) if limited else None) for part in document.criteria]
    return document.model_copy(update={"criteria": criteria})


def _with_file_high(part: CriterionPart, limit: float | None) -> CriterionPart:
    if part.interval is None:
        return part
    interval = part.interval.model_copy(update={"file_high": None if limit is None else number(limit)})
    return part.model_copy(update={"interval": interval})


def file_end(part: CriterionPart, document: ReleaseDocument, facts: PublicFacts) -> float | None:
    """Return an upper limit, with confidence `LEVEL`, on a criterion value for all rows of the file that pass the rules.

    The result is None without an upper limit on the value for the drawn rows, or on the error of drawing them.
    """
    criterion, drawing = part.criterion(), drawing_behind(part, document)
    if criterion is None or drawing is None or part.interval is None or part.interval.high is None:
        return None
    added = explain(criterion).drawn_error(drawing, facts)
    if added is None:
        return None
    high = float(part.interval.high) + added
    return high if part.worst is None else min(high, float(part.worst))


def error_band(document: ReleaseDocument, largest: int | None = None) -> float | None:
    """Return how far a share in the released table may lie from the same share in the file, with confidence `LEVEL`, or
    None.

    Parameters
    ----------
    largest : the number of columns of a table. The limit holds at once for all cells of all tables with this number of
        columns; by default, the number in the tables of the criterion.
    """
    criterion = of_every_cell(document)
    drawing = None if criterion is None else drawing_behind(criterion, document)
    if criterion is None or drawing is None or criterion.interval is None or criterion.interval.high is None:
        return None
    bins = {column.name: len(column.bins) for column in document.columns}
    up_to = _columns_of(criterion, document)
    return float(criterion.interval.high) + drawing.of_cells(bins, up_to if largest is None else min(largest, up_to))


def of_every_cell(document: ReleaseDocument) -> CriterionPart | None:
    """Return the first criterion that limits the error of the share of every bin in every column, perhaps in larger tables,
    too.

    The result is None without such a criterion, or if criterion values refer only to a piece of the original rows.
    """
    if document.figures_about:
        return None
    return next((criterion for criterion in document.criteria if _columns_of(criterion, document)), None)


def band_columns(document: ReleaseDocument) -> int | None:
    """Return the largest number of columns of a table to which `error_band` applies, or None if any number does or there is
    no limit.
    """
    criterion = of_every_cell(document)
    largest = len(document.columns) if criterion is None else _columns_of(criterion, document)
    return largest if largest < len(document.columns) else None


def rows_were_drawn(document: ReleaseDocument) -> bool:
    """Return whether the release used, or may have used, only a random part of the rows that pass the rules.

    The result is False if [partition] or [split] divided the rows.
    """
    return not document.figures_about and not kept_rows(document).known


def kept_rows(document: ReleaseDocument) -> KeptRows:
    return KeptRows.of(document)


def drawing_behind(part: CriterionPart, document: ReleaseDocument) -> Drawing | None:
    """Describe how the rows behind a criterion value were drawn from the file, and the risk of an error that is left for
    it.

    The other parts of the risk 1 - `LEVEL` are the probability that public rows completed the table, the risk of the
    value's interval and, for the noise in the number of rows that pass the rules, one fiftieth of the rest. The result is
    None if no risk remains, if the value has no interval, or only one from redrawn noise, or if it refers only to a piece
    of the rows.
    """
    upper = _upper_risk(part, document)
    if document.figures_about or upper is None or upper > 1 - LEVEL:
        return None
    rows = kept_rows(document)
    if rows.known:
        return Drawing(n=rows.drawn, most=rows.drawn, risk=1.0)
    try:
        spare = rows.spare(float(LEVEL) + upper)
    except InputError:
        return None
    if spare < LEAST_RISK:
        return None
    counting = RISK * spare if rows.way == "counted" else 0.0
    return Drawing(n=rows.drawn, most=rows.drawn + rows.more(counting), risk=spare - counting, ways=ways(document))


def _upper_risk(part: CriterionPart, document: ReleaseDocument) -> float | None:
    """Return an upper bound on the probability that the exact value lies above its interval, or None for an estimated
    or missing interval.
    """
    how = None if part.interval is None else part.interval.how
    if how is None or how == "redrawn noise":
        return None
    if how == "measurements":
        bounds = document.selection.bounds
        return None if bounds is None else float(Fraction(bounds.risk_exact))
    return 0.0 if how == "exact" else float(1 - LEVEL) / 2


def ways(document: ReleaseDocument) -> dict[str, int]:
    """Return in how many sets of bins each column could have been released. Empty if there was only one configuration."""
    if document.selection.configurations == 1:
        return {}
    return {column.name: max(1, len(column.alternatives)) for column in document.columns}


def _columns_of(part: CriterionPart, document: ReleaseDocument) -> int:
    criterion = part.criterion()
    return 0 if criterion is None else explain(criterion).every_cell_up_to(len(document.columns))
