"""Find columns of numbers that are computed from other columns of a public file, such as sums and ratios."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice, permutations, product

import numpy as np

from synthrelease.studio.drafting.column_draft import Answers, LeftOut, left_out_as_key
from synthrelease.studio.drafting.public_file import PublicRows
from synthrelease.studio.drafting.words import NAMES, words_in

_LEAST_VALUES = 20  # The smallest number of different values of columns that are tested
# The least share of the rows with values in which an equation holds, and the least number of these rows.
_NEARLY, _FEWEST = 0.99, 50
_OTHERS = 0.05  # In an equation, at least this share of the values of each column differs from its median
_MOST, _ROWS = 40, 20_000  # The largest number of columns and of rows that are searched for equations
# If an equation holds in less than 90% of 200 rows, the other rows are not compared.
_FIRST_ROWS, _LIKELY = 200, 0.9
_LIKE_BODIES = 0.6  # The least correlation of body weights with heights
_GROUPS, _OF_GROUP = 6, 8  # Equations are first tested in 6 groups of 8 rows


def functions_of_one_column(answers: Mapping[str, Answers], rows: PublicRows) -> list[LeftOut]:
    """Find columns of numbers that follow from a single earlier column in every row, such as a length in other units.

    Return them as columns to leave out. They are linear up to rounding, or other monotonic functions, such as a logarithm.
    """
    values = {source: column for source, column in numeric_columns(answers, rows).items() if not np.isnan(column).all()}
    answered = {source: ~np.isnan(column) for source, column in values.items()}
    means = {source: float(column[answered[source]].mean()) for source, column in values.items()}
    centred = {source: column[answered[source]] - means[source] for source, column in values.items()}
    lengths = {source: math.sqrt(column @ column) for source, column in centred.items()}
    units, found = {source: _unit(answers[source]) for source in values}, dict[str, LeftOut]()
    for first, second in combinations(values, 2):
        known, sizes = answered[first], (len(answers[first].texts), len(answers[second].texts))
        if {first, second} & found.keys() or min(sizes) < 0.9 * max(sizes) or not np.array_equal(known, answered[second]):
            continue
        x, y, product = centred[first], centred[second], float(centred[first] @ centred[second])
        slope, most = product / max(lengths[first] ** 2, 1e-300), units[second]
        sign, most = math.copysign(1, slope), min(most + abs(slope) * units[first], 0.1 * lengths[second] / math.sqrt(len(y)))
        # if no row is off by more than a tenth of the standard deviation, the correlation is at least 0.99
        if abs(product) >= 0.99 * lengths[first] * lengths[second] and np.abs(y - slope * x).max() <= most:
            shift = means[second] - slope * means[first]
            because = f"in every row of the public file, it is about {slope:.4g} times {first!r} plus {shift:.4g}"
            if f"{slope:.4g} {shift:.4g}" == "1 0":
                because = f"it has the same numbers as {first!r} in every row of the public file, up to rounding"
        elif sizes[0] == sizes[1] and all(
            _in_same_order(values[first][:some][known[:some]], sign * values[second][:some][known[:some]])
            for some in (_FIRST_ROWS, None)
        ):  # centred numbers would not do: very small ones become equal
            because = f"it is a function of {first!r} in every row of the public file, such as a square or a logarithm"
        else:
            continue
        found[second] = LeftOut(source=second, because=because)
    return list(found.values())


def _in_same_order(x: np.ndarray, y: np.ndarray) -> bool:
    """Return whether y is a strictly increasing function of x: a larger x has a larger y, and equal x have equal y."""
    order = np.argsort(x)
    steps_x, steps_y = np.diff(x[order]), np.diff(y[order])
    return bool((steps_y >= 0).all() and ((steps_x > 0) == (steps_y > 0)).all())


def computed_columns(answers: Mapping[str, Answers], rows: PublicRows) -> dict[str, str]:
    """Return a question, by column, for columns that follow from others in 99% of the rows, such as total = wage + capital.

    The column is a sum of two or three others, or a product or ratio of two, such as weight / height^2, up to a constant
    term or factor and rounding.
    """
    sampled = slice(None, None, -(-rows.n_rows // _ROWS))
    values = {source: column[sampled] for source, column in numeric_columns(answers, rows).items()}
    values = dict(islice(((source, column) for source, column in values.items() if _varies(column)), _MOST))
    sources, n, found = [*values], len(values), dict[str, str]()
    if n < 3:
        return found
    columns, off = np.array([*values.values()]), np.array([[_unit(answers[source]) / 2] for source in sources])
    rounded = np.where([[answers[source].are_whole] for source in sources], 0, off) + 0 * columns
    for total, *terms in _equations(columns, rounded, [(total,) for total in range(n)] + [*permutations(range(n), 2)]):
        formula = " + ".join(sources[at] for at in terms)
        found.setdefault(sources[total], f"equals {formula} (up to rounding and a constant)")

    # a product is a sum of logarithms; column n + i is the square of column i
    columns = np.where(columns > 0, columns, np.nan)
    logs, relative = np.log(columns), off / columns
    names = [*sources, *(f"{source}^2" for source in sources)]
    squared = np.concatenate([logs, 2 * logs]), np.concatenate([relative, 2 * relative])
    for total, *factors in _equations(*squared, [(total,) for total in range(n)]):
        last = max(at for at in (total, *factors) if at < n)
        others = [names[at] for at in factors if at != last]
        formula = " * ".join(others) if last == total else f"{names[total]} / {others[0]}"
        found.setdefault(sources[last], f"is proportional to {formula} (up to rounding)")
    return {source: _QUESTION.format(formula, source) for source, formula in found.items()}


_QUESTION = (
    "in nearly every row of the public file, this column {}. Released rows have bins, so the equation does not hold "
    "exactly. If users can compute the column, draft again with --leave-out {!r}. Otherwise keep the column and its rules"
)


def _equations(columns: np.ndarray, off: np.ndarray, totals: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """Yield equations between columns, as the index of the total and the indices of its terms; two terms come first.

    The two sides of an equation may differ by a constant.

    Parameters
    ----------
    columns : (n_columns, n_rows) numbers, or NaN if a row has no number.
    off : (n_columns, n_rows) largest error of each number by rounding.
    totals : for each possible equation, the total and perhaps its third term. The other two terms can be any columns.
    """
    pairs, candidates = np.array([*combinations(range(len(columns)), 2)]), set[tuple[int, ...]]()
    shuffled = np.argsort(np.arange(columns.shape[1]) * 0.6180339887 % 1)
    known_first = shuffled[np.argsort(np.isnan(columns[:, shuffled]).sum(axis=0), kind="stable")]
    for group in known_first[: _GROUPS * _OF_GROUP].reshape(-1, _OF_GROUP):
        slack = 2 * off[:, group].max(axis=1)
        part = np.where(np.ptp(columns[:, group], axis=1, keepdims=True) > 8 * slack[:, None], columns[:, group], np.nan)
        of_pairs, slack_of_pairs = part[pairs].sum(axis=1), slack[pairs].sum(axis=1)
        for total, *third in totals:
            apart = of_pairs - (part[total] - part[third].sum(axis=0))
            near = np.ptp(apart, axis=1) <= slack_of_pairs + slack[[total, *third]].sum()
            candidates |= {(total, *sorted([*pair, *third])) for pair in pairs[near].tolist()}
    few = known_first[:_FIRST_ROWS]
    of_few = columns[:, few], off[:, few]
    for equation in sorted(candidates, key=lambda equation: (len(equation), equation)):
        if (
            equation[0] not in equation[1:]
            and _share(*of_few, equation, 1) >= _LIKELY
            and _share(columns, off, equation, 0) >= _NEARLY
        ):
            yield equation


def _share(columns: np.ndarray, off: np.ndarray, equation: Sequence[int], unknown: float) -> float:
    """Return the share of the rows with all numbers in which an equation holds, or `unknown` for fewer than 50 rows."""
    total, *terms = equation
    apart, slack = columns[terms].sum(axis=0) - columns[total], off[list(equation)].sum(axis=0)
    known = ~np.isnan(apart)
    if known.sum() < _FEWEST:
        return unknown
    return float((np.abs(apart[known] - np.median(apart[known])) <= slack[known]).mean())


def numeric_columns(answers: Mapping[str, Answers], rows: PublicRows) -> dict[str, np.ndarray]:
    """Return the (n_rows,) numbers of each column that an equation may contain, with NaN where a row has no number."""
    numeric = {name: column for name, column in answers.items() if column.are_numbers and not column.entry.labels}
    sources = [name for name, column in numeric.items() if len(column.texts) >= _LEAST_VALUES and not left_out_as_key(column)]
    return {name: np.array([*map(float, rows.texts[name]), np.nan])[rows.codes[name]] for name in sources}


def body_weights(answers: Mapping[str, Answers], rows: PublicRows) -> set[str]:
    """Return the columns that are named like a weight and increase with a column of heights, with a correlation of at least
    0.6. Design weights hardly depend on heights.
    """
    named = {kind: [source for source in answers if NAMES[kind].search(words_in(source))] for kind in ("weight", "height")}
    values = numeric_columns({source: answers[source] for sources in named.values() for source in sources}, rows)
    pairs = [(a, b) for a, b in product(*named.values()) if a != b and {a, b} <= values.keys()]
    return {weight for weight, height in pairs if _correlation(values[weight], values[height]) >= _LIKE_BODIES}


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    known = ~np.isnan(x + y)
    if not known.any():
        return 0.0
    x, y = x[known] - x[known].mean(), y[known] - y[known].mean()
    return float(x @ y / max(math.sqrt((x @ x) * (y @ y)), 1e-300))


def _unit(column: Answers) -> float:
    return float(10.0 ** -max(len(text.partition(".")[2]) for text in column.texts))


def _varies(values: np.ndarray) -> bool:
    known = values[~np.isnan(values)]
    return len(known) >= _FEWEST and bool((known != np.median(known)).mean() >= _OTHERS)
