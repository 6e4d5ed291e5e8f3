"""Compute intervals for exact criterion values and limits for the file, from released figures (post-processing, no cost).

A figure compares the released rows with the n rows that the release used. These rows were drawn at random from the K rows of
the file that the rules keep. A limit for all K rows adds the error of this draw to the limit of the figure (theory 13.17, drawn
shares).
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

# Intervals for exact figures, from released figures (post-processing, no cost).

LEVEL = Fraction(95, 100)


@dataclass(frozen=True, kw_only=True)
class FigureInterval:
    """An interval `low` <= exact figure <= `high` at a stated level. `high` is None if the exact figure has no upper limit."""

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
    """Return an interval that contains the exact figure in at least `level` of all releases, from the known noise of
    `laplace_figure`.

    Parameters
    ----------
    value : the released figure.
    rows : the number of rows behind it, which determines the grid.
    best, worst : the range of exact figures; None if there is no worst value.
    passed_below : the threshold, if the figure was released only because it did not exceed it; None for a figure whose noise
        had no part in the decision.

    Notes
    -----
    Let e be the exact figure of the released candidate and v = e + z the noisy one, in steps of the grid, z discrete Laplace
    with a = exp(-1/scale). Given the candidate and the noise of the other criteria, acceptance says v <= t and nothing else
    about z. So v follows its law cut off at t, for every candidate, and hence for the released candidate.

    - Low end v - q, q the smallest number with Pr[z > q] <= (1 - level)/2. The cut only makes v smaller, so e < v - q has no
      larger probability.
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
    """For a figure whose noise is shared with other figures, return an interval that contains the exact figure in at least
    `level` of all releases.

    The noise had no part in the decision. It has the marginal distribution of a noise for several numbers (theory 9.18, one
    noise for many numbers). The level holds for this figure on its own. The rounding to the grid adds a step on either side.
    """
    step = shared_grid(sensitivity, rows).step
    released, reach = grid_point(value, step), noise.beyond(rows, float(1 - level)) + 1
    low, top = max(best, (released - reach) * step), (released + reach) * step
    return FigureInterval(low=low, high=max(low, top if worst is None else min(worst, top)))


def _largest(released: int, limit: int | None, decay: float, tail: float) -> int | None:
    """Return the largest exact figure, in steps, for which a released figure this small is not too improbable."""

    def probability(exact: int) -> float:
        share = cumulative(released - exact, decay)
        return share if limit is None else share / cumulative(limit - exact, decay)

    if limit is not None and decay ** (limit - released) > tail:
        return None
    beyond = released + math.ceil(math.log(tail) / math.log(decay)) + 2 if limit is None else limit + 1
    # the probability falls with the figure: take the last figure before the first one that is too improbable
    return released + bisect_left(range(released, beyond), True, key=lambda exact: probability(exact) <= tail) - 1


def cumulative(z: int, decay: float) -> float:
    """Return Pr[noise <= z] for noise with Pr[z] proportional to decay^|z|."""
    return 1 - decay ** (z + 1) / (1 + decay) if z >= 0 else decay**-z / (1 + decay)


# Public facts in release.json, which the texts of criteria use.


def public_facts(document: ReleaseDocument, counts: Counts | None = None, raw: Plausibility | None = None) -> PublicFacts:
    """Return the public facts in release.json, with the released table and the rules for private rows if they are given.

    Parameters
    ----------
    counts : the released table.
    raw : the rules for private rows, on the released bins.
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
"""Smallest risk for which a limit for the file is stated. A smaller risk would give a limit that is too wide to be useful."""


def with_file_ends(document: ReleaseDocument, counts: Counts) -> ReleaseDocument:
    """Return the document with limits for the file beside the limits for the drawn rows, if rows were drawn."""
    facts, limited = public_facts(document, counts), rows_were_drawn(document)
    criteria = [_with_file_high(part, file_end(part, document, facts) if limited else None) for part in document.criteria]
    return document.model_copy(update={"criteria": criteria})


def _with_file_high(part: CriterionPart, limit: float | None) -> CriterionPart:
    if part.interval is None:
        return part
    interval = part.interval.model_copy(update={"file_high": None if limit is None else number(limit)})
    return part.model_copy(update={"interval": interval})


def file_end(part: CriterionPart, document: ReleaseDocument, facts: PublicFacts) -> float | None:
    """Return an upper limit, at the level `LEVEL`, of the exact figure for all kept rows of the file instead of the drawn rows.

    None if the figure has no upper limit, or if the error of the draw has none.
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
    """Return a limit, at the level `LEVEL`, on the difference between a share in the table and in the file; None if no
    criterion gives one.

    Parameters
    ----------
    largest : number of columns of the tables whose cells the limit covers, all at once; by default that of the criterion.
    """
    criterion = of_every_cell(document)
    drawing = None if criterion is None else drawing_behind(criterion, document)
    if criterion is None or drawing is None or criterion.interval is None or criterion.interval.high is None:
        return None
    bins = {column.name: len(column.bins) for column in document.columns}
    up_to = _columns_of(criterion, document)
    return float(criterion.interval.high) + drawing.of_cells(bins, up_to if largest is None else min(largest, up_to))


def of_every_cell(document: ReleaseDocument) -> CriterionPart | None:
    """Return the first criterion that bounds the error of every bin of every column (some criteria also cover wider tables).

    None if there is no such criterion, or if the figures describe a piece of the original rows.
    """
    if document.figures_about:
        return None
    return next((criterion for criterion in document.criteria if _columns_of(criterion, document)), None)


def band_columns(document: ReleaseDocument) -> int | None:
    """Return the largest number of columns in a combination of values whose share `error_band` bounds; None if combinations of
    any number of columns are bounded.
    """
    criterion = of_every_cell(document)
    largest = len(document.columns) if criterion is None else _columns_of(criterion, document)
    return largest if largest < len(document.columns) else None


def rows_were_drawn(document: ReleaseDocument) -> bool:
    """Return whether the figures describe a random part of the rows that the rules keep, or may do so."""
    return not document.figures_about and not kept_rows(document).known


def kept_rows(document: ReleaseDocument) -> KeptRows:
    """Return what is published about the number of rows in the file that satisfy the rules."""
    return KeptRows.of(document)


def drawing_behind(part: CriterionPart, document: ReleaseDocument) -> Drawing | None:
    """Return the random draw of the rows behind a figure, with the risk that the upper end of its interval leaves at `LEVEL`.

    A fiftieth of this risk goes to the noise of the number of kept rows. The probability that public rows filled a gap is
    subtracted first. None if no risk is left, if the figure has no interval or only an approximate one (from redrawn noise), or
    if it describes a piece of the rows.
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
    """Return the largest probability that the upper end of an interval is too low.

    None for an interval that is an estimate, and without an interval.
    """
    how = None if part.interval is None else part.interval.how
    if how is None or how == "redrawn noise":
        return None
    if how == "measurements":
        bounds = document.selection.bounds
        return None if bounds is None else float(Fraction(bounds.risk_exact))
    return 0.0 if how == "exact" else float(1 - LEVEL) / 2


def ways(document: ReleaseDocument) -> dict[str, int]:
    """Return, for each column, the number of binnings in which it could have been released; empty if there is one
    configuration.
    """
    if document.selection.configurations == 1:
        return {}
    return {column.name: max(1, len(column.alternatives)) for column in document.columns}


def _columns_of(part: CriterionPart, document: ReleaseDocument) -> int:
    criterion = part.criterion()
    return 0 if criterion is None else explain(criterion).every_cell_up_to(len(document.columns))
