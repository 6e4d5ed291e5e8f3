"""Limits for the file that follow from released criterion values and the random drawing of rows (post-processing, free).

A figure compares the released rows with the n rows that the release worked with. These were drawn at random from the K rows
of the file that the rules keep, and readers ask about all K: a limit for those is the figure's own plus the drawing's (theory
13.17, drawn shares).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
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
from synthrelease.published.folder import groups_of

# From a released figure back to the exact one: an interval for the true error (post-processing, free).

LEVEL = Fraction(95, 100)


@dataclass(frozen=True, kw_only=True)
class FigureInterval:
    """`low` <= exact figure <= `high`, at a stated level. `high` is None when nothing bounds it."""

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
    """Return an interval that holds the exact figure in at least `level` of all releases, the noise of `laplace_figure` being
    known.

    Parameters
    ----------
    value : the released figure.
    rows : the number of rows behind it, which has a part in its grid.
    best, worst : what the exact figure can be at all; None where it has no worst value.
    passed_below : the threshold, when the released figure is known only because it did not exceed it; None for a figure
        whose noise had no part in the decision.

    Notes
    -----
    Let e be the exact figure of the released candidate and v = e + z the noisy one, in steps of the grid, z discrete Laplace
    with a = exp(-1/scale). Given the candidate and the noise of the other criteria, acceptance says v <= t and nothing
    else about z; so v follows its law cut off at t, for every candidate, and hence for the one that is released.

    - Low end v - q, q the smallest number with Pr[z > q] <= (1 - level)/2. Cutting off only makes v smaller, so that
      e < v - q stays as rare as that.
    - High end: the largest e with Pr[z <= v - e | z <= t - e] > (1 - level)/2. This falls in e towards
      a^(t - v): a figure that lies so near below its threshold that this exceeds (1 - level)/2 bounds nothing from above.

    The rounding to the grid (theory 9.2, figure on a grid) adds a step on either side. The level holds for each criterion by
    itself.
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
    """Return an interval that holds the exact figure in at least `level` of all releases, of a figure that shares its noise.

    The noise had no part in the decision. Its law is that of one number of several (theory 9.18, one noise for many numbers);
    the level holds for this figure by itself. The rounding to the grid adds a step on either side.
    """
    step = shared_grid(sensitivity, rows).step
    released, reach = grid_point(value, step), noise.beyond(rows, float(1 - level)) + 1
    low, top = max(best, (released - reach) * step), (released + reach) * step
    return FigureInterval(low=low, high=max(low, top if worst is None else min(worst, top)))


def _largest(released: int, limit: int | None, decay: float, tail: float) -> int | None:
    """Return the largest exact figure, in steps, for which a released one this small is not too rare."""

    def probability(exact: int) -> float:
        share = cumulative(released - exact, decay)
        return share if limit is None else share / cumulative(limit - exact, decay)

    if limit is not None and decay ** (limit - released) > tail:
        return None
    beyond = released + math.ceil(math.log(tail) / math.log(decay)) + 2 if limit is None else limit + 1
    # the probability falls: the last figure before the first one that is too rare
    return released + bisect_left(range(released, beyond), True, key=lambda exact: probability(exact) <= tail) - 1


def cumulative(z: int, decay: float) -> float:
    """Return Pr[noise <= z] for noise with Pr[z] proportional to decay^|z|."""
    return 1 - decay ** (z + 1) / (1 + decay) if z >= 0 else decay**-z / (1 + decay)


# From release.json to the public facts that criteria speak from.


def public_facts(document: ReleaseDocument, counts: Counts | None = None, raw: Plausibility | None = None) -> PublicFacts:
    """Return the public facts in release.json; with the released table and the rules for private rows where they are given.

    Parameters
    ----------
    raw : the rules for private rows, over the released bins.
    """
    read = {part.name: part.criterion() for part in document.criteria}
    return PublicFacts(
        n=document.n_rows,
        columns=tuple(part.published() for part in document.columns),
        groups=groups_of(document),
        criteria={name: criterion for name, criterion in read.items() if criterion is not None},
        counts=counts,
        raw=raw,
        linked=document.linked,
    )


LEAST_RISK = 0.001
"""Where less than this is left for the drawing nothing is said of the file: a limit would be too wide to be of use."""


def with_file_ends(document: ReleaseDocument, counts: Counts) -> ReleaseDocument:
    """Return the document with limits for the file beside the limits for the drawn rows, where rows were drawn."""
    facts, limited = public_facts(document, counts), rows_were_drawn(document)
    criteria = [_with_file_high(part, file_end(part, document, facts) if limited else None) for part in document.criteria]
    return document.model_copy(update={"criteria": criteria})


def _with_file_high(part: CriterionPart, limit: float | None) -> CriterionPart:
    if part.interval is None:
        return part
    interval = part.interval.model_copy(update={"file_high": None if limit is None else number(limit)})
    return part.model_copy(update={"interval": interval})


def file_end(part: CriterionPart, document: ReleaseDocument, facts: PublicFacts) -> float | None:
    """Return an upper limit of the exact figure with all kept rows of the file in place of the drawn ones, at the level of
    `LEVEL`.

    None where nothing limits it: not the figure itself, or not what the drawing adds.
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
    """Return a limit, at the level of `LEVEL`, on the difference between a share in the table and in the file; None when no
    criterion gives one.

    Parameters
    ----------
    largest : of how many columns the tables are whose cells are shares, all at once; those of the criterion if not given.
    """
    criterion = of_every_cell(document)
    drawing = None if criterion is None else drawing_behind(criterion, document)
    if criterion is None or drawing is None or criterion.interval is None or criterion.interval.high is None:
        return None
    bins = {column.name: len(column.bins) for column in document.columns}
    up_to = _columns_of(criterion, document)
    return float(criterion.interval.high) + drawing.of_cells(bins, up_to if largest is None else min(largest, up_to))


def of_every_cell(document: ReleaseDocument) -> CriterionPart | None:
    """Return the first criterion that bounds the error of every bin of single columns, perhaps of wider tables too.

    None where the figures are about a piece of the original rows.
    """
    if document.figures_about:
        return None
    return next((criterion for criterion in document.criteria if _columns_of(criterion, document)), None)


def band_columns(document: ReleaseDocument) -> int | None:
    """Return the largest number of columns in a combination for which the band holds; None when it holds for any number."""
    criterion = of_every_cell(document)
    largest = len(document.columns) if criterion is None else _columns_of(criterion, document)
    return largest if largest < len(document.columns) else None


def rows_were_drawn(document: ReleaseDocument) -> bool:
    """Return whether figures are about some of the rows of the file that the rules keep, as far as anybody can tell."""
    return not document.figures_about and not kept_rows(document).known


def kept_rows(document: ReleaseDocument) -> KeptRows:
    """Return what is published about the number of rows in the file that satisfy the rules."""
    return KeptRows.of(document)


def drawing_behind(part: CriterionPart, document: ReleaseDocument) -> Drawing | None:
    """Return the drawing of the rows that a figure is about, with the risk that the upper end of its interval leaves at
    `LEVEL`.

    Of the risk, a fiftieth goes to the noise of the number of kept rows, and the shortfall to public rows that filled up. None
    where the risk is used up, for an interval that is an estimate, and for a figure about a piece of the rows.
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
    """Return the probability with which the upper end of an interval is too low, at most; None for an estimate, or where
    there is none."""
    how = None if part.interval is None else part.interval.how
    if how is None or how == "redrawn noise":
        return None
    if how == "measurements":
        bounds = document.selection.bounds
        return None if bounds is None else float(Fraction(bounds.risk_exact))
    return 0.0 if how == "exact" else float(1 - LEVEL) / 2


def ways(document: ReleaseDocument) -> dict[str, int]:
    """Return, for each column, the number of alternatives (sets of bins) in which it could have been released; empty where
    there is one configuration.
    """
    if document.selection.configurations == 1:
        return {}
    return {column.name: max(1, len(column.alternatives)) for column in document.columns}


def _columns_of(part: CriterionPart, document: ReleaseDocument) -> int:
    criterion = part.criterion()
    return 0 if criterion is None else explain(criterion).every_cell_up_to(len(document.columns))
