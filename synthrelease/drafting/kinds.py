"""Whether whole numbers are a quantity or codes: points for either, each with its reason, and a doubt where they balance.

Nothing here knows what a column is called, but for the names of classifications; what counts is how the numbers look, how often
each occurs, and what the other columns say (`together`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from synthrelease.drafting.column_draft import Answers
from synthrelease.drafting.together import Order

_FEW = 20
"""Different numbers that could all be told apart as codes."""
_RATHER_FEW, _VERY_FEW = 8, 5
_MANY = 50
"""Rows for each different number from which on numbers with gaps are taken for codes."""
_DOUBT = 1.0
"""Points up to which a decision is asked about."""
_YEARS = range(1850, 2101)
_LAGS = (1, 2, 5, 10)
"""Distances at which numbers that people round are alike."""
_CLASSIFICATION = re.compile(
    r"(^|_)(icd|isco|isic|nace|naics|isced|coicop|nuts|fips|zip|plz|post(al|leit)?_?(code|zahl)|municip\w*|kommun\w*|gemeinde)"
    r"(code|nr)?\d*r?\d*($|_)",
    re.IGNORECASE,
)
"""Names of columns whose numbers are codes."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What whole numbers are taken for.

    Attributes
    ----------
    codes : whether they are codes.
    because : the reasons for it.
    doubt : the reasons against it, where it is doubtful; empty where it is plain.
    """

    codes: bool
    because: str
    doubt: str = ""


def number_or_code(answers: Answers, values: np.ndarray, rows: np.ndarray, order: Order) -> Kind:
    """Weigh the evidence.

    Parameters
    ----------
    values, rows : (n_values,) at least three different whole numbers, increasing, and how many rows have each.
    order : what the other columns say.
    """
    if _are_years(values):
        return Kind(codes=False, because="years")
    evidence = [each for each in (*_of_numbers(answers, values, rows), *_of_others(order)) if each[0]]
    total = sum(points for points, _ in evidence)
    few = len(values) <= _RATHER_FEW  # as codes each stands by itself, and nothing is lost
    codes = total > 0 or (few and total >= -_DOUBT)
    silent = order.unlike is None and rows.sum() >= _FEW * len(values)
    strongest = sorted(evidence, key=lambda each: -abs(each[0]))
    reasons = [because for points, because in strongest if (points > 0) == codes]
    against = [because for points, because in strongest if (points > 0) != codes]
    return Kind(
        codes=codes,
        because=" and ".join(reasons[:2]) or ("few different values" if codes else "nothing says that they are codes"),
        doubt=(" and ".join(against[:2]) or "little tells")
        if (abs(total) <= _DOUBT or (silent and not codes)) and len(values) > _VERY_FEW
        else "",
    )


def _are_years(values: np.ndarray) -> bool:
    """Whether all are years of four digits in no more than 150 years, of which many occur, or every second, fifth, ..."""
    span = values[-1] - values[0]
    if not (values[0] in _YEARS and values[-1] in _YEARS and span <= 150):
        return False
    return bool(len(values) >= 0.4 * (span / _step(values) + 1))


def _step(values: np.ndarray) -> int:
    """What all numbers are a multiple of apart."""
    return int(np.gcd.reduce(np.diff(values).astype(np.int64)))


def _are_rounded(values: np.ndarray, rows: np.ndarray) -> bool:
    """Whether most rows have a multiple of 5, 10, 50, ... and such a number is far more frequent than others are: of codes
    that are given out in tens each is as frequent as another one.
    """
    rows = np.where(values == 0, 0, rows)
    for base in (unit * 10**power for power in range(7) for unit in (5, 10)):
        rounded = values % base == 0
        if rounded.all() or not rounded.any():
            continue
        if rows[rounded].sum() > 0.5 * rows.sum() and rows[rounded].mean() > 2 * rows[~rounded].mean():
            return True
    return False


def _has_holes(values: np.ndarray, rows: np.ndarray) -> bool:
    """Whether a fifth of the numbers does not occur where the nine tenths of the rows in the middle are."""
    cumulated = np.cumsum(rows) / rows.sum()
    middle = values[(cumulated > 0.05) & (cumulated - rows / rows.sum() < 0.95)]
    return bool(len(middle) > 3 and len(middle) < 0.8 * ((middle[-1] - middle[0]) / _step(values) + 1))


def _of_numbers(answers: Answers, values: np.ndarray, rows: np.ndarray) -> list[tuple[float, str]]:
    """Points for codes, below 0 for a quantity, from the numbers themselves."""
    n, total, filled = len(values), int(rows.sum()), len(values) / ((values[-1] - values[0]) / _step(values) + 1)
    found = []
    if n <= _VERY_FEW:
        found.append((3.0, "few different values"))
    elif n <= _RATHER_FEW:
        found.append((0.5, "few different values"))
    if n > total / 10:
        found.append((-3.0 if n > total / 4 else -1.5, "there are nearly as many as rows"))
    mostly_none = n > _VERY_FEW and rows[values == 0].sum() > total / 2
    if mostly_none:
        found.append((-2.5, "most are 0"))
    if values[0] in (0, 1, 2) and filled > 0.75 and n > 5 and _fall(rows):
        found.append((-1.5, "they get rarer from the first on, as numbers of things do"))
    if _CLASSIFICATION.search(answers.source):
        found.append((4.0, "named like a classification"))
    if n > _FEW and _are_rounded(values, rows):
        found.append((-1.5, "most are round"))
    elif filled < 0.2 and values[0] > 0 and (total / n >= _MANY or _come_again(values, rows)):
        found.append((2.0, "few of the numbers between occur, and those often"))
    elif not mostly_none and total / n >= _FEW and _has_holes(values, rows):  # between 0 and amounts is a hole
        found.append((1.0, "numbers between are left out"))
    if n > 200 and filled > 0.95:
        found.append((-1.0, "all numbers between occur"))
    jumps = _jumps(values, rows)
    if jumps is not None:
        smooth, ragged = "neighbours are about equally frequent", "neighbours are not equally frequent"
        steps = ((0.1, -2.0), (0.25, -1.5), (0.4, -0.5), (0.55, 0.0), (0.8, 0.7), (math.inf, 1.2))
        points = next(points for limit, points in steps if jumps < limit)
        found.append((points, ragged if points > 0 else smooth))
    return found


def _of_others(order: Order) -> list[tuple[float, str]]:
    """Points for codes, below 0 for a quantity, from the other columns."""
    found = []
    if order.part_of:
        found.append((4.0, f"{order.part_of!r} has the same first or last digits"))
    if order.tells:
        found.append((1.5, f"each goes with one {order.tells!r}, in no order"))
    if order.unlike is not None:
        alike, unlike = "neighbours are alike in other columns", "neighbours are no more alike in other columns than any two"
        steps = ((0.15, -3.0), (0.3, -2.0), (0.5, 0.0), (0.65, 0.5), (0.8, 1.0), (math.inf, 2.0))
        points = next(points for limit, points in steps if order.unlike < limit) * min(1, order.witnesses / 3)
        found.append((points, unlike if points > 0 else alike))
    return found


def _fall(rows: np.ndarray) -> bool:
    """Whether numbers get rarer beyond a most frequent one near the start, as numbers of things do and codes do not."""
    most = int(np.argmax(rows))
    return most < len(rows) / 3 and all(b <= a + 3 * math.sqrt(a) for a, b in pairwise(rows[most:].tolist()))


def _come_again(values: np.ndarray, rows: np.ndarray) -> bool:
    """Whether numbers of at least three digits come again far oftener than numbers without gaps would."""
    total, span = rows.sum(), values[-1] - values[0] + 1
    expected = span * -math.expm1(-total / span)
    return bool(values[0] >= 100 and len(values) < 0.2 * expected)


def _jumps(values: np.ndarray, rows: np.ndarray) -> float | None:
    """How far the frequencies of neighbours differ, in units of how far any two do, both less what chance makes of them.

    On the scale of logarithms. Numbers that people round are alike two, five or ten further on: the least counts. Of many
    numbers the first and the last one stay aside: "none" and "this or more" are frequent. None where all are about equally
    frequent, or too few are neighbours.
    """
    if len(values) > _FEW:
        values, rows = values[1:-1], rows[1:-1]
    logarithms, chance = np.log(rows + 0.5), 1 / rows
    spread = logarithms.var() - chance.mean()
    if len(values) <= 3 or spread < 0.1:
        return None
    found = []
    step = _step(values)
    for lag in _LAGS:
        partner = np.searchsorted(values, values + lag * step)
        partner = np.minimum(partner, len(values) - 1)
        pairs = np.flatnonzero(values[partner] == values + lag * step)
        if len(pairs) < (2 if lag == 1 else max(8, 0.2 * len(values))):
            continue
        others = partner[pairs]
        apart = (logarithms[pairs] - logarithms[others]) ** 2 - chance[pairs] - chance[others]
        found.append(float(apart.mean()) / 2 / spread)
    return min(found, default=None)


def labelled_scale(labels: Mapping[str, str], values: np.ndarray) -> bool:
    """Whether numbers without gaps are a scale of which only the ends, or some, have names."""
    return len(values) >= 7 and len(values) == values[-1] - values[0] + 1 and 0 < len(labels) < len(values) / 2
