"""Draft each column of a public file as dates, numbers, codes, categories or a weight, or leave the column out."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, partial
from itertools import pairwise

import numpy as np

from synthrelease.data.dates import OR, DateFormat, are_exchanged, years_between
from synthrelease.data.schema import parse_bins
from synthrelease.errors import listing, so_many
from synthrelease.scouting.codebook import CodebookEntry, no_answers
from synthrelease.settings.columns import InputTable
from synthrelease.studio.drafting.bins import NumberBins, far_value, number_bins, number_facts
from synthrelease.studio.drafting.categories import (
    MAX_CATEGORIES,
    MAX_WELL_FILLED,
    are_too_many,
    draft_by_beginning,
    draft_codes,
    in_their_order,
    share_of_frequent,
)
from synthrelease.studio.drafting.column_draft import (
    NUMBER,
    SOME,
    Answers,
    ColumnDraft,
    LeftOut,
    left_out_as_key,
    of_many_texts,
    plain_name,
)
from synthrelease.studio.drafting.computed import body_weights, computed_columns, functions_of_one_column, numeric_columns
from synthrelease.studio.drafting.options import AreasDraft, areas_asked, nested_columns
from synthrelease.studio.drafting.public_file import (
    Order,
    PublicFile,
    PublicRows,
    every_row,
    one_to_one,
    orders,
    public_rows,
    with_bins_for_gaps,
)
from synthrelease.studio.drafting.words import NAMES, PARTS, WORDS, words_in

# Whether whole numbers are a quantity or codes. Each piece of evidence has points and a reason. If the points balance, the
# steward is asked.
#
# The evidence is the name of the column, the form and the frequencies of the numbers, and the other columns. Numbers with one
# or two decimals are treated as whole numbers, without the decimal point.

OLDEST = 125  # Larger numbers are no ages in years
# A column with at least this many different values is a quantity, without a question, if the values have no gaps and no value
# is frequent.
_FILLED = 40
_FULL = 0.6  # Codes with decimals leave out more of the numbers in their range
_FEW = 20  # More than 20 different numbers count as many, and evidence from frequencies needs 20 rows per number
_RATHER_FEW, _VERY_FEW = 8, 5
_MANY = 50  # Numbers with gaps are taken for codes if there are at least this many rows per distinct number
_DOUBT = 1.0  # The steward is asked about a decision whose points add up to at most this number
_YEARS = range(1850, 2101)
_LAGS = (1, 2, 5, 10)  # Distances at which rounded numbers have similar frequencies


@dataclass(frozen=True, kw_only=True)
class Kind:
    """The decision whether the numbers in a column are a quantity, such as ages, or codes of categories.

    Attributes
    ----------
    codes : whether the numbers are codes.
    doubt : reasons against the decision, as a clause, or an empty string if the decision is clear.
    """

    codes: bool
    because: str
    doubt: str = ""


def number_or_code(answers: Answers, values: np.ndarray, rows: np.ndarray, order: Order) -> Kind:
    """Decide whether whole numbers are a quantity, such as ages, or codes of categories.

    Parameters
    ----------
    values, rows : (n_values,) at least three different whole numbers in increasing order, and the number of rows with each.
        Numbers with fractions come without their decimal point.
    """
    if _are_years(values):
        return Kind(codes=False, because="the numbers are years")
    evidence = [(points, reason) for points, reason in _evidence(answers, values, rows, order) if points]
    total = sum(points for points, _ in evidence)
    # few codes each have a bin of their own, so nothing is lost if the numbers are a quantity
    codes = total > 0 or (len(values) <= _RATHER_FEW and total >= -_DOUBT)
    plain = (len(values) >= _FILLED and _filled(values) > 0.9 and rows.max() < rows.sum() / 20) or _named_a_quantity(answers)
    silent = order.unlike is None and rows.sum() >= _FEW * len(values) and not plain
    evidence.sort(key=lambda item: -abs(item[0]))
    reasons, against = ([reason for points, reason in evidence if (points > 0) == side] for side in (codes, not codes))
    doubtful = (abs(total) <= _DOUBT or (silent and not codes)) and len(values) > _VERY_FEW
    return Kind(
        codes=codes,
        because=" and ".join(reasons[:2]) or ("there are few different values" if codes else "nothing suggests codes"),
        doubt=(" and ".join(against[:2]) or "no other column gives evidence") if doubtful else "",
    )


def _are_years(values: np.ndarray) -> bool:
    """Return whether numbers are calendar years from 1850 to 2100, over at most 150 years.

    At least 40% of these years occur (or of the multiples of 5, if only such years occur).
    """
    in_range = values[0] in _YEARS and values[-1] in _YEARS and values[-1] - values[0] <= 150
    return bool(in_range and _filled(values) >= 0.4)


def _step(values: np.ndarray) -> int:
    return int(np.gcd.reduce(np.diff(values).astype(np.int64)))


def _filled(values: np.ndarray, step: int | None = None) -> float:
    """Return the share of the possible values in the range that occur: 0.75 for 10, 20 and 40, because 30 is missing."""
    return float(len(values) / ((values[-1] - values[0]) / (step or _step(values)) + 1))


def _are_rounded(values: np.ndarray, rows: np.ndarray) -> bool:
    """Return whether most rows have a round number (a multiple of 5, 10, 50, ...).

    Round numbers must also be more than twice as frequent as others, which codes assigned in tens are not.
    """
    rows = np.where(values == 0, 0, rows)
    for base in (unit * 10**power for power in range(7) for unit in (5, 10)):
        rounded = values % base == 0
        if rounded.all() or not rounded.any():
            continue
        if rows[rounded].sum() > 0.5 * rows.sum() and rows[rounded].mean() > 2 * rows[~rounded].mean():
            return True
    return False


def _unit_of(values: np.ndarray, rows: np.ndarray) -> int:
    """Return the unit, such as 60 minutes, that divides the numbers of at least 90% of the rows, or 0 if there is none.

    At least six multiples of it occur, on average more than twice as often as other numbers.
    """
    for unit in (60, 30, 15, 12):
        whole = values % unit == 0
        others = rows[~whole].mean() if not whole.all() else 0.0
        if whole.sum() >= 6 and rows[whole].sum() >= 0.9 * rows.sum() and rows[whole].mean() > 2 * others:
            return unit
    return 0


def _has_holes(values: np.ndarray, rows: np.ndarray) -> bool:
    """Return whether more than a fifth of the possible numbers in the middle 90% of the rows do not occur."""
    cumulated = np.cumsum(rows) / rows.sum()
    middle = values[(cumulated > 0.05) & (cumulated - rows / rows.sum() < 0.95)]
    return bool(len(middle) > 3 and _filled(middle, _step(values)) < 0.8)


_POINTS_OF_JUMPS = ((0.1, -2.0), (0.25, -1.5), (0.4, -0.5), (0.55, 0.0), (0.8, 0.7), (math.inf, 1.2))
# Points for codes by the difference between neighbouring numbers, as pairs of an upper limit and its points.
_POINTS_OF_NEIGHBOURS = ((0.15, -3.0), (0.3, -2.0), (0.5, 0.0), (0.65, 0.5), (0.8, 1.0), (math.inf, 2.0))


def _points(figure: float, steps: Sequence[tuple[float, float]]) -> float:
    return next(points for limit, points in steps if figure < limit)


def _evidence(answers: Answers, values: np.ndarray, rows: np.ndarray, order: Order) -> Iterable[tuple[float, str]]:
    # the distance of an airport has gaps and tells the airport, as a code does
    if order.tells and len(values) > _FEW and _named_a_quantity(answers) and not PARTS["named"].search(answers.source):
        order = replace(order, of_groups=True)
    # an equivalised size such as 1.8 tells the number of members; codes with decimals, such as 01.11, leave gaps
    if not answers.are_whole and len(values) > _FEW and _filled(values) > _FULL:
        order = replace(order, of_groups=True)
        yield -1.5, "numbers with fractions fill the range"
    yield from _of_numbers(answers, values, rows, of_groups=order.of_groups)
    yield from _of_others(order, len(values))


def _of_numbers(
    answers: Answers, values: np.ndarray, rows: np.ndarray, *, of_groups: bool = False
) -> Iterable[tuple[float, str]]:
    """Return signs in the name, form and frequencies of numbers: points (above 0 for codes, below 0 for a quantity) with a
    reason.

    Parameters
    ----------
    of_groups : whether each number belongs to a group of rows, such as a school. Then gaps and frequencies show nothing.
    """
    n, total, filled, name = len(values), int(rows.sum()), _filled(values), words_in(answers.source)
    mostly_none = n > _VERY_FEW and rows[values == 0].sum() > total / 2
    named_codes = NAMES["classification"].search(name) or NAMES["classification"].search(words_in(answers.entry.description))
    institution = NAMES["institution"].search(name)
    named: list[Evidence] = [
        (_named_a_quantity(answers) and n > _VERY_FEW, -1.5, "the name suggests a quantity"),
        (named_codes or NAMES["place"].search(name), 4.0, "the name suggests a classification"),
        (n > _FEW and institution, 4.0, "the name suggests an institution"),
        (n <= MAX_WELL_FILLED and (institution or NAMES["group"].search(name)), 1.5, "the name suggests a group"),
    ]
    signless = [text.lstrip("+-").partition(".") for text in answers.texts]
    digits = {(len(whole), len(rest)) for whole, _, rest in signless}
    fractions = not answers.are_whole
    unit = _unit_of(values, rows)
    apart = filled < 0.2 and values[0] > 0 and (total / n >= _MANY or _come_again(values, rows))
    # amounts have a gap between 0 and the smallest amount, which is no sign of codes
    gaps: list[Evidence] = [
        (n > _FEW and _are_rounded(values, rows), -1.5, "most numbers are round"),
        (apart, 2.0, "most numbers in the range do not occur"),
        (not mostly_none and total / n >= _FEW and _has_holes(values, rows), 1.0, "some numbers in the range do not occur"),
    ]
    jumps = _jumps(values, rows)
    points = 0.0 if jumps is None or of_groups else _points(jumps, _POINTS_OF_JUMPS)
    are_counts = values[0] in (0, 1, 2) and filled > 0.75 and n > 5 and _fall(rows)
    thin_out = n > _MANY_VALUES and _thin_out(values, rows)
    bell = n > _MANY_VALUES and _are_bell_shaped(values, rows)
    evidence: list[Evidence] = [
        (n <= _RATHER_FEW, 3.0 if n <= _VERY_FEW else 0.5, "there are few different values"),
        (n > total / 10, -3.0 if n > total / 4 else -1.5, "there are many different numbers for so few rows"),
        (mostly_none, -2.5, "most numbers are 0"),
        (are_counts, -1.5, "larger numbers are rarer, as in counts of things"),
        *[piece for piece in named if piece[0]][:1],
        (fractions, -1.0, "the numbers have fractions"),
        (fractions != of_groups and len(digits) == 1 and min(digits)[0] > 1, 1.5, "all numbers have the same number of digits"),
        (unit, -2.5, f"nearly all numbers are multiples of {unit}"),
        (thin_out, -2.0, "there are hundreds of numbers, with larger gaps above the median"),
        (bell and not thin_out, -2.5, "there are hundreds of numbers, with fewer and fewer rows towards both ends"),
        *[piece for piece in gaps if piece[0] and not of_groups][:1],
        (n > 200 and filled > 0.95, -1.0, "nearly all numbers in the range occur"),
        (True, points, f"neighbouring numbers are {'unequally' if points > 0 else 'about equally'} frequent"),
    ]
    return ((points, reason) for holds, points, reason in evidence if holds)


Evidence = tuple[object, float, str]
"""A sign of codes (points above 0) or of a quantity (points below 0): whether it applies, its points and its reason."""


def _named_a_quantity(answers: Answers) -> bool:
    name = words_in(answers.source)
    return bool(NAMES["quantity"].search(name) and not NAMES["classification"].search(name))


_MANY_VALUES = 150  # Few classifications have more than this number of different codes


def _thin_out(values: np.ndarray, rows: np.ndarray) -> bool:
    """Return whether most numbers below the median occur and gaps are wider above the median, as in amounts of money."""
    cumulated = np.cumsum(rows) / rows.sum()
    middle = values[np.searchsorted(cumulated, 0.5)]
    below, above = (values <= middle).sum() / (middle - values[0] + 1), (values > middle).sum() / (values[-1] - middle)
    return bool(below > 0.5 and above < 0.8 * below)


def _are_bell_shaped(values: np.ndarray, rows: np.ndarray) -> bool:
    """Return whether rows become rarer towards both ends of the range, as in test scores but not in codes."""
    tenths = np.histogram(values, bins=10, weights=rows)[0]
    mode = int(np.argmax(tenths))
    up, down = np.diff(tenths[: mode + 1]), np.diff(tenths[mode:])
    return bool(1 < mode < 8 and (up >= 0).all() and (down <= 0).all() and max(tenths[0], tenths[-1]) < tenths[mode] / 5)


def _of_others(order: Order, n_values: int) -> Iterable[tuple[float, str]]:
    """Yield signs of codes or of a quantity in other columns, as points with a reason.

    Numbers are probably a quantity if neighbouring numbers are similar in other columns, and codes if each number occurs
    with one value of another column, as a teacher with a school.
    """
    if order.part_of:
        yield 4.0, f"{order.part_of!r} has the same first or last digits"
    if order.of_groups:
        return
    if order.tells:
        yield 1.5 if n_values <= _FEW else 4.0, f"each number occurs with only one value of {order.tells!r}, in no order"
    if order.unlike is not None:
        points = _points(order.unlike, _POINTS_OF_NEIGHBOURS) * min(1, order.witnesses / 3)
        points /= 2 if n_values <= _RATHER_FEW and points < 0 else 1
        alike = "neighbouring numbers are similar in other columns"
        yield points, "neighbouring numbers are no more similar in other columns than any two numbers" if points > 0 else alike


def _fall(rows: np.ndarray) -> bool:
    """Return whether frequencies decrease above a mode in the lowest third, as in counts of visits but not in codes."""
    mode = int(np.argmax(rows))
    return mode < len(rows) / 3 and all(b <= a + 3 * math.sqrt(a) for a, b in pairwise(rows[mode:].tolist()))


def _come_again(values: np.ndarray, rows: np.ndarray) -> bool:
    """Return whether numbers of at least three digits repeat much more often than random numbers in their range would."""
    total, span = rows.sum(), values[-1] - values[0] + 1
    expected = span * -math.expm1(-total / span)
    return bool(values[0] >= 100 and len(values) < 0.2 * expected)


def _jumps(values: np.ndarray, rows: np.ndarray) -> float | None:
    """Return how unlike the frequencies of neighbouring numbers are: near 0 for a quantity, about 1 for codes.

    The result is the mean squared difference between the log frequencies of neighbours, divided by the mean for any two
    numbers, both without the part that chance causes. Rounded numbers resemble those at a distance of 2, 5 or 10, so the
    smallest result counts. The result is None if all numbers are about equally frequent, or if too few are neighbours.
    """
    if len(values) > _FEW:
        values, rows = values[1:-1], rows[1:-1]
    logarithms, chance = np.log(rows + 0.5), 1 / rows
    spread = logarithms.var() - chance.mean()
    if len(values) <= 3 or spread < 0.1:
        return None
    figures, step = list[float](), _step(values)
    for lag in _LAGS:
        partner = np.minimum(np.searchsorted(values, values + lag * step), len(values) - 1)
        pairs = np.flatnonzero(values[partner] == values + lag * step)
        if len(pairs) >= (2 if lag == 1 else max(8, 0.2 * len(values))):
            partners = partner[pairs]
            apart = (logarithms[pairs] - logarithms[partners]) ** 2 - chance[pairs] - chance[partners]
            figures.append(float(apart.mean()) / 2 / spread)
    return min(figures, default=None)


MAX_CODES = 20_000
LEAST_NAMED = 0.2
"""If there are too many codes for separate bins, the frequent codes together must have at least this share of the rows."""
_DECORATED = re.compile(
    r"[-+(\u2212<>≤≥~]?=?\s?([€$£¥]|[A-Z]{3})?\s?-?\d+([,.'\u2019\s]\d{3})*([.,]\d+)?\s?(%|‰|€|\$|£|[A-Z]{3}|kr|kg|g|cm|m|km|h|min)?"
    r"\)?(\s?(\*+|\+|†|‡|\([a-z]\)|\[[a-z0-9]\]))?"
)
_SHORT_YEAR = re.compile(r"\d{1,2}([./-])(\d{1,2}|[A-Za-z]{3})\1\d{2}( .*)?", re.ASCII)
_TIME = re.compile(r"\d{1,2}:\d{2}(:\d{2})?", re.ASCII)
_UNTIDY = (
    (_DECORATED, "its numbers have separators of thousands, units or signs (write plain numbers first)"),
    (_SHORT_YEAR, "its dates have years of two digits, which do not determine the century (write four digits first)"),
    (_TIME, "its texts are times of day (write the hour as a number first)"),
)
_PLAIN = re.compile(r"\d{1,10}(\.\d+)?", re.ASCII)
# Up to this number of texts in an order, such as 0, 1, ..., 89 and 90+, the spelling of numbers is not checked.
_FEW_COUNTS = 150
_AS_WEIGHT = "a weight, in classes; "
# For each part of a sample's design: its setting, the number of groups that a column must exceed, and a remark.
_DESIGN = {
    "cluster": ("clusters", 10, "its codes identify places or interviewers, and [design] names it"),
    "stratum": ("strata", 6, "no estimate from the release uses strata, and [design] names it"),
}


def draft_column(answers: Answers, used_names: Collection[str], order: Order) -> ColumnDraft | LeftOut:
    """Draft a column that does not hold dates, or return the reason why it is left out.

    Parameters
    ----------
    order : evidence from other columns, for a column of whole numbers.
    """
    texts, rows, missing = answers.texts, answers.rows, answers.missing_rows
    if len(texts) == 1 and missing and rows + missing < 50 * min(rows, missing):
        return draft_codes(answers, used_names, "one value, or missing")
    constant = "it has no values" if not texts else "nearly all rows have one value" if missing else "it has one value only"
    if because := constant if len(texts) < 2 else _untidy(answers):
        return LeftOut(source=answers.source, because=because)
    if left_out := _design(answers) or left_out_as_key(answers):
        return left_out
    if answers.are_numbers:
        return _numeric(answers, used_names, order)
    return _grouped(answers, used_names, f"{len(texts):,} different texts in the public file")


def _design(answers: Answers) -> LeftOut | None:
    """Return the reason for leaving out a column that looks like the strata or clusters of a sample, or None."""
    if answers.entry.number or answers.entry.code:
        return None
    name = f"{words_in(answers.source)} {words_in(answers.entry.description)}"
    for part, (setting, too_few, use) in _DESIGN.items():
        if NAMES[part].search(name) and (len(answers.texts) > too_few or NAMES["sampling_unit"].search(name)):
            because = f"it looks like the {part} of a sample: {use}. If users need this column, {_draft_again(answers, 'code')}"
            return LeftOut(source=answers.source, because=because, design=setting)  # type: ignore[arg-type]
    return None


def _draft_again(answers: Answers, kind: str, how: str = "draft again with a codebook: ") -> str:
    return how + json.dumps({answers.source: {"kind": kind}}, ensure_ascii=False)


def _untidy(answers: Answers) -> str:
    """Return why strings must be cleaned before drafting, such as "its texts are times of day", or an empty string."""
    texts = answers.texts
    if not any(map(str.isprintable, texts)):
        return "its texts have line ends or other unprintable characters (remove these characters first)"
    if answers.are_numbers or len(texts) <= _FEW or (len(texts) <= _FEW_COUNTS and in_their_order(texts)):
        return ""
    return next((problem for pattern, problem in _UNTIDY if all(map(pattern.fullmatch, texts))), "")


def _grouped(answers: Answers, used_names: Collection[str], remark: str) -> ColumnDraft | LeftOut:
    """Draft a column of codes or categories, or leave it out if too many codes are rare.

    Codes are grouped by their first characters, or each code (or each frequent code) has a bin.
    """
    if by_beginning := draft_by_beginning(answers, used_names):
        return by_beginning
    n = len(answers.texts)
    if n > MAX_CODES or (are_too_many(answers.texts) and share_of_frequent(answers.texts) < LEAST_NAMED):
        return of_many_texts(answers)
    return draft_codes(answers, used_names, remark)


def _numeric(answers: Answers, used_names: Collection[str], order: Order) -> ColumnDraft | LeftOut:
    values, rows = answers.numbers
    weight = _is_weight(answers) and not order.body
    like_a_weight = "" if weight else _like_a_weight(answers)
    sure = weight or bool(like_a_weight)
    kind = Kind(codes=False, because="a design weight") if sure else _kind(answers, values, rows, order)
    if kind.codes:
        drafted = _grouped(answers, used_names, f"{so_many(len(answers.texts), 'code')}: {kind.because}")
        if not (isinstance(drafted, LeftOut) and kind.doubt):
            return _with_question(drafted, answers, kind)
    if max(abs(values[0]), abs(values[-1])) > 1e14:
        return LeftOut(source=answers.source, because="its numbers are large enough to be codes")
    drafted = numbers(answers, answers.source, used_names, weight=sure)
    if isinstance(drafted, ColumnDraft) and sure:
        why = like_a_weight or "its name or description says so"
        if_none = _draft_again(answers, "number") if like_a_weight else "delete role here and weight in [design]"
        question = f"the draft treats this column as a design weight, because {why}. It is released in classes, for weighted"
        drafted = drafted.asking(f"{question} estimates. If nobody needs this, leave it out. If it is not a weight, {if_none}")
    if isinstance(drafted, ColumnDraft) and not sure and not order.body and _said_to_be_weight(answers):
        drafted = without_role(drafted)
    return _with_question(drafted, answers, kind)


def _with_question(drafted: ColumnDraft | LeftOut, answers: Answers, kind: Kind) -> ColumnDraft | LeftOut:
    """Add the question whether the column holds numbers or codes, or whether negative codes mean a missing answer."""
    if isinstance(drafted, LeftOut):
        return drafted
    if answers.below_zero and drafted.bins:
        codes = ", ".join(answers.below_zero)
        why = f"{codes} counts as missing, as no other number is negative. If it is a number, delete it from missing_values"
        drafted = drafted.asking(why)
    if not kind.doubt:
        return drafted
    is_code, n = drafted.kind == "code", min(len(answers.texts), MAX_CATEGORIES)
    because, against = (kind.because, kind.doubt) if kind.codes == is_code else (kind.doubt, kind.because)
    this, that, second, change = "numbers", "codes", "code", f"Codes would have {n} categories and no mean"
    if is_code:
        this, that, second, change = "codes", "numbers", "number", "Numbers would have bins of neighbouring values and a mean"
    question = (
        f"codes or numbers? The draft treats the column as {this}, because {because}. But {against}. {change}. For {that}, "
    )
    return replace(drafted, kind_doubt=question + _draft_again(answers, second, "draft again with a codebook "))


def with_kind_doubt(column: ColumnDraft) -> ColumnDraft:
    return replace(column.asking(column.kind_doubt), kind_doubt="")


def _with_fewer_doubts(columns: Sequence[ColumnDraft]) -> list[ColumnDraft]:
    """Ask questions about at most three in ten columns, those with the most bins or codes, so that the steward reads them.

    Return all columns. Questions that are not asked become remarks; those about numbers or codes are dropped first.
    """

    def weight(column: ColumnDraft) -> tuple[bool, int]:
        return bool(column.doubt), max(column.n_bins, len(column.codes))

    doubtful = [column.name for column in sorted(columns, key=weight, reverse=True) if column.doubt or column.kind_doubt]
    unasked = doubtful[max(1, len(columns) * 3 // 10) :]

    def in_remark(column: ColumnDraft) -> ColumnDraft:
        kind = ("numbers" if column.kind == "code" else "codes") if column.kind_doubt else ""
        notes = [column.remark, column.doubt, f"perhaps {kind}" if kind else ""]
        return replace(column, doubt="", kind_doubt="", remark="; ".join(filter(None, notes)))

    return [in_remark(column) if column.name in unasked else with_kind_doubt(column) for column in columns]


def without_role(column: ColumnDraft) -> ColumnDraft:
    remark = column.remark.removeprefix(_AS_WEIGHT)
    return replace(column, weight=False, remark=f'{remark}; drafted as a number; for a design weight set role = "weight"')


def _is_weight(answers: Answers) -> bool:
    """Return whether the name or description and the numbers of a column are those of a design weight.

    The numbers must add up to at least about the number of rows. Unless the name is clear, they must not look like the
    weight of a body in kilograms, pounds or grams.
    """
    values, rows = answers.numbers
    name = words_in(answers.source)
    surely = NAMES["design_weight"].search(name) or NAMES["design_weight"].search(words_in(answers.entry.description))
    few = len(values) <= _FEW and answers.are_whole and not surely
    if not _said_to_be_weight(answers) or few or values[0] < 0:
        return False
    if values @ rows < 0.9 * rows.sum() or answers.missing_rows > 0.1 * answers.rows:
        return False  # the mean of scaled weights is 1, and that of other weights is larger
    if surely:
        return True
    if " w " in name and len(values) <= _MANY_VALUES and not _repeats_fractions(answers):
        return False
    cumulated = np.cumsum(rows) / answers.rows
    low, middle, high = (float(values[np.searchsorted(cumulated, share)]) for share in (0.1, 0.5, 0.9))
    return not ((40 <= middle <= 220 or 1500 <= middle <= 5500) and high < 3 * low)


def _said_to_be_weight(answers: Answers) -> bool:
    name, label = words_in(answers.source), words_in(answers.entry.description)
    match = NAMES["weight"].search(name) or NAMES["design_weight"].search(name + label)
    return bool(match and not PARTS["body"].search(name + label))


def with_one_weight(columns: Sequence[ColumnDraft], left_out: Sequence[LeftOut]) -> tuple[list[ColumnDraft], list[LeftOut]]:
    """Keep one column of design weights and leave out the others, because a configuration can name only one.

    The first weight stays, but weights of persons precede weights of households or firms. Return the remaining columns, and
    the columns left out.
    """
    weights = [column for column in columns if column.weight]
    of_others = (NAMES["household"], NAMES["institution"])
    weights.sort(key=lambda column: any(n.search(words_in(f"{column.source} {column.description}")) for n in of_others))
    first, *others = [column.source for column in weights] or [""]
    # a weight with a few whole numbers looks like a code, but its name begins with the name of another weight, a whole word
    name = words_in(first)
    if len(name) > len(" w ") and NAMES["weight"].sub("", name) == " ":
        codes = [column for column in columns if column.kind == "code" and words_in(column.source).startswith(name)]
        others += [column.source for column in codes if _is_coded_weight(column)]
    because = (
        f"it looks like a second design weight. [design] has one, here {first!r} (`--leave-out {first!r}` drafts the next one)"
    )
    gone = [LeftOut(source=column.source, because=because) for column in columns if column.source in others]
    return [column for column in columns if column.source not in others], [*left_out, *gone]


def _is_coded_weight(column: ColumnDraft) -> bool:
    """Return whether codes may be weights: numbers with gaps, such as 1, 4 and 10, without labels."""
    name, codes = words_in(column.source), column.codes
    numbers = sorted(int(text) for text, code in codes.items() if text.isdecimal() and code.label == text)
    if len(numbers) < max(3, len(codes)) or NAMES["group"].search(name) or PARTS["body"].search(name):
        return False
    return numbers[0] > 0 and numbers[-1] - numbers[0] >= len(numbers)


# The largest distance of a weight's mean from 1 if its values repeat, and if most rows have a value of their own.
_NEAR_1, _AT_1 = 0.02, 0.002


def _like_a_weight(answers: Answers) -> str:
    """Return the evidence, apart from the name, that numbers are design weights, such as "its mean is 1", or an empty string.

    A second sign is that repeated fractions add up to a whole number, the size of a population.
    """
    values, rows = answers.numbers
    if answers.entry.number or answers.entry.code or answers.missing_rows or len(values) <= 20 or values[0] <= 0:
        return ""
    again, total = _repeats_fractions(answers), float(values @ rows)
    if (again or _have_thousandths(answers)) and abs(total / rows.sum() - 1) <= (_NEAR_1 if again else _AT_1):
        return "its mean is 1"
    if again and total >= 2 * rows.sum() and abs(total - round(total)) <= 0.01:
        return f"its fractions add up to a whole number, {total:.0f}"
    return ""


def _have_thousandths(answers: Answers) -> bool:
    return any(len(text.partition(".")[2]) > 2 for text in answers.texts)


def _repeats_fractions(answers: Answers) -> bool:
    return _have_thousandths(answers) and bool(answers.numbers[1].mean() >= 5)


def _kind(answers: Answers, values: np.ndarray, rows: np.ndarray, order: Order) -> Kind:
    """Decide whether the numbers in a column are a quantity or codes.

    The codebook decides first, then labels, leading zeros and fractions, and then the evidence of `number_or_code`.
    """
    texts, entry = answers.texts, answers.entry
    labels = {text: label for text, label in entry.labels.items() if text in texts and label != text}
    if entry.number or entry.code:
        return Kind(codes=entry.code, because="the codebook says so")
    if sum(texts[text] for text in labels) >= 0.9 * answers.rows:
        labelled = f"{answers.named_by!r} has labels for the codes" if answers.named_by else "the codes have labels"
        return Kind(codes=True, because=labelled)
    beginnings = {text.partition(".")[0] for text in texts}
    like_01_11 = any(begin[:1] == "0" for begin in beginnings) and {len(begin) for begin in beginnings} == {2}
    if like_01_11 or any(re.fullmatch(r"0\d+", text) for text in texts):
        return Kind(codes=True, because="some codes start with a 0")
    if not answers.are_whole:
        decimals = max(len(text.partition(".")[2].rstrip("0")) for text in texts)
        if decimals > 2 or len(values) > MAX_WELL_FILLED or not all(map(_PLAIN.fullmatch, texts)):
            return Kind(codes=False, because="the numbers have fractions")
        values = np.rint(values * 10**decimals)
    if len(values) <= 2:
        return Kind(codes=True, because="there are two values")
    without_gaps = len(values) >= 7 and len(values) == values[-1] - values[0] + 1
    if _named_a_quantity(answers) and not answers.are_whole:
        return Kind(codes=False, because="the name suggests a quantity, and the numbers have fractions")
    if without_gaps and 0 < len(labels) < len(values) / 2:
        return Kind(codes=False, because="only some of its values have labels, as on a scale")
    return number_or_code(answers, values, rows, order)


def numbers(
    answers: Answers,
    name: str,
    used_names: Collection[str],
    *,
    weight: bool = False,
    date: Mapping[str, str | None] | None = None,
    bins: NumberBins | None = None,
) -> ColumnDraft | LeftOut:
    """Return the draft of a column of numbers in bins, or the reason why the column is left out.

    Parameters
    ----------
    name : wanted name; characters that rules and TOML cannot hold are replaced.
    date : for a column computed from dates, its settings `part`, `minus`, `format` and `minus_format`.
    bins : bins to use instead of the bins that the numbers suggest.
    """
    values, counts = answers.numbers
    if len(values) < 2:
        return LeftOut(source=answers.source, because="it has one value only")
    whole = answers.are_whole
    words = words_in(f"{answers.source} {answers.entry.description}")
    named_age = NAMES["age"].search(words_in(answers.source)) and not NAMES["parts_of_year"].search(words)
    of_birth = date is not None and date.get("minus") and PARTS["birth"].search(f"{answers.source} {date['minus']}")
    ages = bool(whole and (named_age or of_birth) and values[0] >= 0 and values[-1] <= OLDEST)
    suggested = number_bins(values, counts, whole=whole, ages=ages)
    if not suggested.coarse:
        return LeftOut(source=answers.source, because="nearly all rows have one value")
    bins = bins or suggested
    alternatives = [parse_bins(texts, whole_numbers=whole) for texts in bins.texts(whole=whole, weight=weight).values()]
    remark = f"public file: {values[0]:.12g} to {values[-1]:.12g}, {len(values):,} different values"
    named_years = NAMES["year"].search(words)
    calendar = bool(whole and named_years and not PARTS["birth"].search(answers.source) and _are_years(values))
    remark += "; the numbers are years, so their mean is not measured" * calendar
    return ColumnDraft.of(
        answers,
        name=plain_name(name, used_names),
        kind="integer" if whole else "real",
        remark=f"{_AS_WEIGHT}{remark}" if weight else remark,
        doubt="; ".join(filter(None, [_near_codes(answers, values[-1]), far_value(values, counts)])),
        bins=bins,
        facts=number_facts(values, counts, alternatives, (bins.low, bins.high), whole=whole, weight=weight),
        weight=weight,
        calendar=calendar,
        **(date or {}),
    )


def _near_codes(answers: Answers, largest: float) -> str:
    """Return a question to the steward if codes for a missing answer, such as 98 and 99, are just above the largest number.

    Without such codes, the result is an empty string.
    """
    codes = [text for text in answers.missing_values if NUMBER.fullmatch(text) and text not in answers.entry.missing]
    near = sorted(code for code in codes if largest < float(code) < 1.2 * largest)
    if not near:
        return ""
    mean = "does" if len(near) == 1 else "do"
    return f"{mean} {listing(near)} mean no answer? If not, delete missing_values, and extend the bounds and the last bin"


# Dates of a public file. The time of the record becomes a year and a month or week, a date of birth becomes an age in years,
# and other dates become their distance from the time of the record, in days or years. No day of the calendar is released.

FORMATS = (
    *("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y%m%d", "%d%b%Y", "%d-%b-%Y", "%b %d, %Y"),
    *("%d %b %Y", "%b %d %Y", "%Y-%d-%m", "%d%m%Y", "%m%d%Y", "%Y-%m", "%m/%Y", "%m.%Y", "%Y%m"),
)
"""Date formats in the order of the trials. The draft uses the first format that fits, and states it."""

# These are the dates that programs and clerks write in place of a missing date. Dates in years such as 9999 also stand for a
# missing date.
_FILLERS = frozenset(WORDS["missing"]["days"])
# A filler is more than 5 times as frequent as any other date, or more than 3,653 days (ten years) from all other dates.
_OFTEN, _APART = 5, 3653
_LOOKS_DATED = re.compile(r"\d{1,4}([-./ ])(\d{1,2}|[A-Za-z]{3})\1\d{2,4}.*|\d{8}|[A-Za-z]{3} \d.*", re.DOTALL)
# Days since 30 December 1899, from 1954 to 2064, perhaps with a time of day as a fraction.
_SERIAL = re.compile(r"[2-5]\d{4}(\.\d+)?", re.ASCII)
_WHOLE_YEARS = 1096  # A duration is drafted in years if its median is at least this number of days
# The least median number of days between a date of birth and the time of the record, if its name does not say birth.
_GENERATION = 3653
_NEARLY_ALL = 0.95  # The least share of the rows in which a column of numbers agrees with the distance between two dates
_QUARTERS = (4.0, 7.0, 10.0)
_MONTHS = NumberBins(low=1.0, high=12.0, coarse=_QUARTERS, fine=tuple(float(month) for month in range(2, 13)), groups=_QUARTERS)


@dataclass(frozen=True, kw_only=True)
class DateColumn:
    """A column of dates.

    Attributes
    ----------
    format : the format of the dates, as in `strptime`.
    days : (n_rows,) ordinal of the date of each row (1 for 1 January of year 1), or -1 if the row has no date.
    """

    answers: Answers
    format: str
    days: np.ndarray

    @property
    def name(self) -> str:
        return self.answers.source

    @property
    def known(self) -> np.ndarray:
        return self.days >= 0

    @property
    def median(self) -> float:
        return float(np.median(self.days[self.known]))


def date_format(texts: Collection[str]) -> str | None:
    """Return the first format in which all strings are dates between 1850 and 2100, or None.

    The result joins several formats if each string fits exactly one of them.
    """
    if form := next((form for form in FORMATS if texts and all(_parsed(text, form) for text in texts)), None):
        return form
    if not texts or not _look_dated(texts):
        return None
    fit, chosen = {text: {form for form in FORMATS if _parsed(text, form)} for text in texts}, list[str]()
    while rest := [text for text in texts if not fit[text] & {*chosen}]:
        chosen.append(max(FORMATS, key=lambda form: sum(form in fit[text] for text in rest)))
        if not any(fit[text] == {chosen[-1]} for text in rest):
            return None
    is_clear = not are_exchanged(chosen) and all(len(fit[text] & {*chosen}) == 1 for text in texts)
    return OR.join(chosen) if is_clear else None


def _look_dated(texts: Collection[str]) -> bool:
    numbers = all(map(NUMBER.fullmatch, texts))
    return not numbers and sum(bool(_LOOKS_DATED.fullmatch(text)) for text in texts) >= 0.95 * len(texts)


@cache
def _format(form: str) -> DateFormat:
    return DateFormat(form)


def _parsed(text: str, form: str) -> date | None:
    day = _format(form).read(text)
    return day if day is not None and day.year in _YEARS else None


def date_column(answers: Answers, texts: list[str], codes: np.ndarray) -> DateColumn | None:
    """Return a column of the file as dates, or None if its strings are no dates.

    Parameters
    ----------
    texts, codes : different strings of the column without surrounding blanks, and (n_rows,) the index of the string of each
        row.
    """
    form = date_format(answers.texts)
    if form is None:
        return None
    days = [day.toordinal() if text in answers.texts and (day := _parsed(text, form)) else -1 for text in texts]
    return DateColumn(answers=answers, format=form, days=np.array([*days, -1])[codes])


def _without_fillers(answers: Answers) -> Answers:
    """Treat fillers in a column of dates, such as 9999-12-31 and 1900-01-01, as missing values.

    Zeros and dates outside 1850 to 2100 are fillers. A date that programs write for missing dates, such as 1 January 1900,
    counts only if it is more than five times as frequent as any other date, or more than ten years from all others.
    """
    zeros = [text for text in answers.texts if not text.strip("0")]
    answers = answers.without(zeros if date_format(answers.texts.keys() - zeros) and not answers.entry.number else [])
    texts = answers.texts
    form = next((form for form in FORMATS if texts and all(_format(form).read(text) for text in texts)), None)
    if form is None and texts and _look_dated(texts):
        form = date_format([text for text in texts if any(_parsed(text, form) for form in FORMATS)])
    if form is None or answers.entry.number:
        return answers
    days = {text: day for text in texts if (day := _format(form).read(text)) is not None}
    fillers = [text for text, day in days.items() if day.year not in _YEARS or day in _FILLERS]
    ordinals = {text: day.toordinal() for text, day in days.items() if text not in fillers}
    if not fillers or not ordinals:
        return answers
    most_rows, far = max(texts[text] for text in ordinals), np.array([*ordinals.values()])

    def is_filler(text: str) -> bool:
        alone = np.abs(far - days[text].toordinal()).min() > _APART
        return days[text].year not in _YEARS or bool(alone) or texts[text] > _OFTEN * most_rows

    return answers.without([text for text in fillers if is_filler(text)])


def _unclear_dates(answers: Answers) -> list[LeftOut]:
    """Return a column of dates in unclear formats as left out, or an empty list for other columns.

    Examples are days since 1900 in spreadsheets (43831), and 1022020 for 1 February 2020.
    """
    texts, because = answers.texts, ""
    if answers.entry.number or answers.entry.code or answers.entry.labels:
        return []
    n_days = sum(bool(_SERIAL.fullmatch(text)) for text in texts)
    others = [text for text in texts if not _SERIAL.fullmatch(text)] if n_days else []
    are_dates = [any(_parsed(text, form) for form in FORMATS) for text in others]
    if n_days and all(are_dates) and (others or NAMES["date"].search(words_in(answers.source))):
        because = "it has dates as numbers of a spreadsheet, such as 43831 for 2020-01-01"
    elif answers.are_whole and date_format({text.zfill(8) for text in texts}):
        because = "some of its dates have lost a leading zero"
    elif _look_dated(texts) and any(_parsed(text, form) for text in texts for form in FORMATS):
        because = "some of its dates have no known format, or have day and month exchanged"
    return [LeftOut(source=answers.source, because=f"{because} (write all as 2025-08-31 first)")] if because else []


def draft_dates(dates: Sequence[DateColumn], used_names: Collection[str]) -> dict[str, list[ColumnDraft] | LeftOut]:
    """Draft columns of dates: map the name of each to its drafted columns, or to the reason for leaving it out.

    The time of the record (the column with the fewest missing values, or the earliest of these) becomes year and month, or
    year and week. A date of birth becomes an age in years, and other dates their distance from the time of the record. A
    date without a day, such as 2020-03, becomes year and month.
    """
    constant = [column.name for column in dates if len(np.unique(column.days)) == 1]
    drafts: dict[str, list[ColumnDraft] | LeftOut] = {
        name: LeftOut(source=name, because="it has one value only") for name in constant
    }
    dates = [column for column in dates if column.name not in drafts]
    if not dates:
        return drafts
    birth, used = _birth(dates), [*used_names]
    first = _time_of_record([column for column in dates if column is not birth])
    for column in [first, *(column for column in dates if column is not first)]:
        drafted = [] if column is first else _between(column, first, used, is_birth=column is birth)
        if isinstance(drafted, list):
            drafted = drafted or _parts(column, used)
            used += [draft.name for draft in drafted]
        drafts[column.name] = drafted or LeftOut(source=column.name, because="all dates are in one month")
    return drafts


def _time_of_record(dates: Sequence[DateColumn]) -> DateColumn:
    return min(dates, key=lambda column: (column.answers.missing_rows, column.median))


def _birth(dates: Sequence[DateColumn]) -> DateColumn | None:
    """Find the column of dates of birth, or return None.

    Dates of birth precede another date in at least 95% of the rows, by a median of at least ten years, or three years if
    the name says birth.
    """
    for column in sorted(dates, key=lambda column: column.median) if len(dates) > 1 else ():
        later = _time_of_record([later for later in dates if later is not column])
        apart = (later.days - column.days)[column.known & later.known]
        complete = later.answers.missing_rows <= column.answers.missing_rows + len(column.days) / 20
        if not (len(apart) and complete and (apart >= 0).mean() >= 0.95):
            continue
        if np.median(apart) >= _GENERATION or (PARTS["birth"].search(column.name) and np.median(apart) >= _WHOLE_YEARS):
            return column
    return None


def _between(column: DateColumn, first: DateColumn, used: Collection[str], *, is_birth: bool) -> list[ColumnDraft] | LeftOut:
    """Draft a date as its distance in days or years from the time of the record, or return why it is left out.

    The result is empty if one of the two formats has no day, or if no row has both dates.

    Parameters
    ----------
    is_birth : whether the date is a date of birth, whose distance is an age in years.
    """
    in_both = column.known & first.known
    if not in_both.any() or _format(column.format).lacks(None) or _format(first.format).lacks(None):
        return []
    earlier, later = (first, column) if np.median((column.days - first.days)[in_both]) >= 0 else (column, first)
    starts, ends = earlier.days[in_both], later.days[in_both]
    in_years = is_birth or float(np.median(ends - starts)) >= _WHOLE_YEARS
    apart, times = np.unique(years_between(starts, ends) if in_years else ends - starts, return_counts=True)
    missing = tuple(dict.fromkeys([*later.answers.missing_values, *earlier.answers.missing_values]))
    texts = dict(zip(map(str, apart.tolist()), times.tolist(), strict=True))
    answers = replace(later.answers, texts=texts, missing_rows=int((~in_both).sum()), missing_values=missing)
    unit = "years" if in_years else "days"
    if len(apart) == 1:
        always = so_many(int(apart[0]), unit[:-1])
        return LeftOut(source=column.name, because=f"the time from {earlier.name} to {later.name} is always {always}")
    name = f"{later.name}_{unit}_after_{plain_name(earlier.name, ())}"
    name = f"age_at_{plain_name(later.name, ())}" if is_birth and in_years else name
    parts = {"minus": earlier.name, "format": later.format, "part": "year" if in_years else None}
    parts["minus_format"] = None if earlier.format == later.format else earlier.format
    drafted = numbers(answers, name, used, date=parts)
    if isinstance(drafted, LeftOut):
        return []
    complete = "completed " if in_years else ""
    return [replace(drafted, remark=f"{complete}{unit} from {earlier.name} to {later.name}; {drafted.remark}")]


def held_already(
    dated: Mapping[str, list[ColumnDraft] | LeftOut], answers: Mapping[str, Answers], rows: PublicRows
) -> dict[str, LeftOut]:
    """Find dates that another date and a column of numbers determine, such as a discharge by admission and length of stay.

    Return these dates, by name, as columns to leave out. The numbers may have the other sign and differ by a constant; ages
    may differ by one more year.

    Parameters
    ----------
    dated : drafted columns of each date.
    answers : all other columns of the file, by name.
    """
    distances = {name: drafts for name, drafts in dated.items() if isinstance(drafts, list) and drafts[0].minus}
    numeric, found = numeric_columns(answers, rows) if distances else {}, dict[str, LeftOut]()
    for name, drafts in distances.items() if numeric else ():
        for draft in drafts:
            earlier = _days_of(rows, str(draft.minus), str(draft.minus_format or draft.format))
            later = _days_of(rows, draft.source, str(draft.format))
            years = draft.part == "year"
            apart = years_between(earlier, later) if years else later - earlier
            known = (later >= 0) & (earlier >= 0)
            same = (source for source, column in numeric.items() if _are_alike(apart, column, known, int(years)))
            if source := next(same, ""):
                what = draft.remark.partition(";")[0]
                found[name] = LeftOut(source=name, because=f"{source!r} has nearly the same numbers as the {what}")
    return found


def _days_of(rows: PublicRows, source: str, form: str) -> np.ndarray:
    days = [day.toordinal() if (day := _parsed(text, form)) else -1 for text in rows.texts[source]]
    return np.array([*days, -1])[rows.codes[source]]


def _are_alike(apart: np.ndarray, column: np.ndarray, known: np.ndarray, slack: int) -> bool:
    """Return whether numbers state the distance between two dates in nearly all rows, up to the sign and a constant."""
    both = known & ~np.isnan(column)
    if both.sum() < max(_FEW, 0.9 * known.sum()):
        return False
    first, second = apart[both], column[both]
    varies = np.abs(first - np.median(first)) > slack
    off = (np.abs(differences - np.median(differences)) for differences in (second - first, second + first))
    return bool(varies.mean() > 0.2 and any((each <= slack).mean() >= _NEARLY_ALL for each in off))


def _parts(column: DateColumn, used_names: Collection[str]) -> list[ColumnDraft]:
    """Draft the year (if several) and the month of a date, or the ISO week if the dates span at most six months."""
    different, times = np.unique(column.days[column.known], return_counts=True)
    days = dict(zip([date.fromordinal(int(day)) for day in different], times.tolist(), strict=True))
    months, weeks = {(day.year, day.month) for day in days}, {day.isocalendar()[:2] for day in days}
    is_short = len(months) <= 6 and len(weeks) > 6 and len({year for year, _ in weeks}) == 1
    of_day = {text[max(0, text.find(":") - 2) :] for text in column.answers.texts if ":" in text}
    unused = "; the time of day is not used (for the hour, add a column of numbers)" * (len(of_day) > 1)
    drafts: list[ColumnDraft] = []
    for part in ("year", "week" if is_short and not _format(column.format).lacks("week") else "month"):
        sums = Counter[str]()
        for day, rows in days.items():
            sums[str(day.isocalendar().week if part == "week" else getattr(day, part))] += rows
        settings, bins = {"part": part, "format": column.format}, _MONTHS if part == "month" else None
        answers = replace(column.answers, texts=sums)
        drafted = numbers(answers, f"{column.name}_{part}", used_names, date=settings, bins=bins)
        if not isinstance(drafted, LeftOut):
            drafts.append(replace(drafted, remark=f"only the {part} of the date is used{unused}"))
            unused = ""
    return drafts


# Typing errors of a public file. A single text that is no number must not turn a column of numbers into a column of codes.
#
# In a column of numbers, a release treats a text that is no number as a missing value, and likewise in a column of dates a text
# that is no date. A draft lists such texts as missing values if they are few, and asks the steward.

_ONE_IN = 1000  # At most one row in a thousand may have a typing error
_MANY_TYPING_ERRORS = 20  # Only columns with more than this number of different texts are searched for typing errors
_TWICE = 2  # The largest frequency of a typing error. A rare code may occur more often.
_NAMED = 3


def without_typing_errors(answers: Answers) -> tuple[Answers, str]:
    """Treat typing errors in a column of numbers or dates as missing values.

    Return the column, and a question to the steward, which is empty if there are no typing errors.
    """
    texts, entry = answers.texts, answers.entry
    allowed = answers.rows // _ONE_IN
    if not allowed or len(texts) <= _MANY_TYPING_ERRORS or entry.labels or entry.code:
        return answers, ""
    if answers.are_numbers or date_format(texts):
        return answers, ""
    listed = "The draft lists such texts as missing values"
    strays = _strays(texts, NUMBER.fullmatch, allowed)
    if strays and max(strays.values()) <= _TWICE:
        if_not = f"If the column holds codes, {_draft_again(answers, 'code')}"
        return answers.without(strays), f"{_rows(strays)} without a number in this column. {listed}. {if_not}"
    for form in FORMATS:
        if strays := _strays(texts, partial(_parsed, form=form), allowed):
            return answers.without(strays), f"{_rows(strays)} without a date from 1850 to 2100. {listed}"
    return answers, ""


def _strays(texts: Mapping[str, int], fits: Callable[[str], object], allowed: int) -> dict[str, int]:
    strays, rows = dict[str, int](), 0
    for text, times in texts.items():
        if not fits(text):
            strays[text], rows = times, rows + times
            if rows > allowed:
                return {}
    return strays


def _rows(strays: Mapping[str, int]) -> str:
    examples = ", ".join(map(repr, list(strays)[:_NAMED])) + (", ..." if len(strays) > _NAMED else "")
    return f"the public file has {so_many(sum(strays.values()), 'row')} ({examples})"


# The draft of every column of a public file, or the reason why the column is left out.


def drafted_columns(
    file: PublicFile, book: Mapping[str, CodebookEntry], key: str | None = None, as_key: str = ""
) -> tuple[list[ColumnDraft], list[LeftOut], list[str], PublicRows]:
    """Draft every column of a public file.

    Return the drafted columns, the columns left out, the names of the columns of dates, and the rows in which columns were
    compared.

    Parameters
    ----------
    key, as_key : a column that is left out as a key, if any, and the reason to give.
    """
    # the texts of each column, without texts that stand for no answer
    answers, mistyped = _read_answers(file, book, key)

    # columns that are left out before any comparison
    reasons = {source: because.partition(": ")[2].rstrip(".") for source, because in file.unreadable.items()}
    left_out = [LeftOut(source=source, because=f"the program cannot read it ({why})") for source, why in reasons.items()]
    left_out += [*file.not_wanted, *([LeftOut(source=key, because=as_key)] if key is not None else [])]

    # all dates together, then columns with the same information, then evidence on the order of numbers
    with_dates = [source for source, column in answers.items() if date_format(column.texts) and not column.entry.number]
    read = [date_column(answers[source], *of_rows) for source, of_rows in every_row(file, with_dates).items()]
    dated = draft_dates([column for column in read if column is not None], [])
    dates = list(dated)
    dated |= {gone.source: gone for name, column in answers.items() if name not in dated for gone in _unclear_dates(column)}
    rows = public_rows(file, answers)
    once, twice, doubts = one_to_one({name: column for name, column in answers.items() if name not in dated}, rows, file)
    of_one_column = {gone.source: gone for gone in functions_of_one_column(once, rows)}
    once = {source: column for source, column in once.items() if source not in of_one_column}
    dated |= held_already(dated, once, rows)
    left_out += [*twice, *of_one_column.values()]
    order, bodies = orders(once, rows), body_weights(once, rows)

    # each column by itself
    columns: list[ColumnDraft] = []
    drafts = dict[str, ColumnDraft | LeftOut]()
    for source in (source for source in answers if source in dated or source in once):
        used_names = [column.name for column in columns]
        of_order = replace(order.get(source, Order()), body=source in bodies)
        drafted = dated.get(source) or draft_column(once[source], used_names, of_order)
        if isinstance(drafted, list):
            columns += drafted
            continue
        drafts[source] = drafted
        left_out += [drafted] if isinstance(drafted, LeftOut) else []
        columns += [drafted] if isinstance(drafted, ColumnDraft) else []

    # questions to the steward
    columns = _with_levels(columns, rows)
    ways = {column.source: column.format for column in columns if column.format and OR in column.format}
    asked = "its dates have several formats, {} (%d is the day, %m the month); check them"
    several_formats = {source: asked.format(form) for source, form in ways.items()}
    questions_of = (mistyped, doubts, several_formats, nested_columns(once, drafts, rows), computed_columns(once, rows))
    columns = [column.asking(*(questions.get(column.source, "") for questions in questions_of)) for column in columns]
    return with_bins_for_gaps(_with_fewer_doubts(columns), rows), left_out, dates, rows


def _read_answers(
    file: PublicFile, book: Mapping[str, CodebookEntry], key: str | None
) -> tuple[dict[str, Answers], dict[str, str]]:
    questions = dict[str, str]()
    texts_of = {source: texts for source, texts in file.columns.items() if source != key}
    answers = {source: answers_of(file, source, texts, book.get(source, CodebookEntry())) for source, texts in texts_of.items()}
    for source, column in _with_codes_of_block(answers).items():
        answers[source], questions[source] = without_typing_errors(_without_fillers(column))
    return _with_shared_texts(answers), questions


# The part in which the names of the columns of a block differ. This part is a number, or a single letter at the end.
_BLOCK_NAME = re.compile(r"\d+|(?<=[_.-])[A-Za-z]$")


def _with_codes_of_block(answers: Mapping[str, Answers]) -> dict[str, Answers]:
    """Treat codes for missing answers alike in a block of questions: if 99 is missing in q1, also in q2 and q3.

    The columns of a block have the same name except for a number, or the same labels, and share most other strings. A code
    keeps its meaning where the codebook labels it as an answer.
    """
    blocks: dict[str, list[str]] = {}
    for source, column in answers.items():
        blocks.setdefault(_BLOCK_NAME.sub("#", source), []).append(source)
        if column.entry.labels:
            blocks.setdefault(json.dumps(sorted(column.entry.labels.items())), []).append(source)
    result = dict(answers)
    for sources in (sources for sources in blocks.values() if len(sources) > 1):
        codes = {text for source in sources for text in answers[source].missing_values if NUMBER.fullmatch(text)}
        times = Counter(text for source in sources for text in answers[source].texts if text not in codes)
        shared = {text for text, often in times.items() if often > len(sources) / 2}
        for source in sources:
            column, entry = result[source], result[source].entry
            gone = [text for text in column.texts if text in codes and text not in entry.labels.keys() - entry.missing]
            answered = [text for text in column.texts if text not in codes]
            if gone and answered and len(shared.intersection(answered)) >= 0.8 * len(answered):
                result[source] = column.without(gone)
    return result


def _with_shared_texts(answers: Mapping[str, Answers]) -> dict[str, Answers]:
    """Mark columns (`shared`) with at least a fifth of their strings in common with another, such as a second diagnosis.

    The other column is no key.
    """
    wide = {
        source: column for source, column in answers.items() if len(column.texts) > MAX_CATEGORIES and not column.are_numbers
    }
    plain = {source: column.texts.keys() for source, column in wide.items() if not left_out_as_key(column)}

    def shares(source: str) -> bool:
        texts = wide[source].texts.keys()
        return any(len(texts & plain[other]) >= 0.2 * len(texts) for other in plain if other != source)

    return {source: replace(column, shared=source in wide and shares(source)) for source, column in answers.items()}


_FEW_CATEGORIES = 6  # Only columns with more than this number of categories are searched for larger categories
# The least mean number of public rows per category. With fewer rows, categories could lie within larger ones by chance.
_ROWS_OF_EACH = 5


def _with_levels(columns: Sequence[ColumnDraft], rows: PublicRows) -> list[ColumnDraft]:
    """Find columns of categories within the larger categories of another column (`within`), such as industries within
    sectors.
    """
    plain = [column for column in columns if column.codes and not (column.ordered or column.common or column.characters)]
    plain = [column for column in plain if not any(code.spellings for code in column.codes.values())]
    plain.sort(key=lambda column: -len(column.codes))
    within = dict[str, Mapping[str, str]]()
    for column in plain:
        n = len(column.codes)
        if n > _FEW_CATEGORIES and rows.n_rows >= _ROWS_OF_EACH * n:
            larger = (other for other in plain if 2 <= len(other.codes) <= n / 2)
            larger = (other for other in larger if _occurring(column, other, rows, SOME).sum(axis=1).max() <= 1)
            homes = (_homes(column, other, rows) for other in larger)
            within[column.name] = next((home for home in homes if home.keys() == column.codes.keys()), {})
    return [replace(column, within=within.get(column.name, {})) for column in columns]


def _occurring(column: ColumnDraft, larger: ColumnDraft, rows: PublicRows, some: int | None = None) -> np.ndarray:
    """Return a Boolean (n_texts of `column`, n_texts of `larger`) matrix: which strings occur together in a row.

    Parameters
    ----------
    some : number of rows to look at, or None for all.
    """
    first, second = (rows.codes[one.source][:some].astype(np.int64) + 1 for one in (column, larger))
    sizes = [len(rows.texts[one.source]) + 1 for one in (column, larger)]
    return np.asarray(np.bincount(first * sizes[1] + second, minlength=math.prod(sizes)).reshape(sizes)[1:, 1:] > 0)


def _homes(column: ColumnDraft, larger: ColumnDraft, rows: PublicRows) -> dict[str, str]:
    """Return, for each category that lies in a single category of another column, the label of the larger category."""
    texts, homes, occur = rows.texts[column.source], rows.texts[larger.source], _occurring(column, larger, rows)
    pairs = zip(texts, occur.sum(axis=1).tolist(), occur.argmax(axis=1).tolist(), strict=True)
    return {text: larger.codes[homes[at]].label for text, times, at in pairs if times == 1 and homes[at] in larger.codes}


def answers_of(file: PublicFile, source: str, texts: Mapping[str | None, int], entry: CodebookEntry) -> Answers:
    """Return the answers of a column, without missing values and surrounding blanks.

    Parameters
    ----------
    texts : how often each string of the column occurs.
    """
    notes, standard = file.notes.get(source), InputTable().missing_values
    present, empty = Counter[str](), 0
    for text, times in texts.items():
        if text is None or text.strip() in standard:
            empty += times
        else:
            present[text.strip()] += times
    if notes:
        labels = dict(notes.value_labels)
        declared = frozenset(text for text in {**present, **labels} if notes.means_missing(text))
        entry = entry.or_else(CodebookEntry(description=notes.label, labels=labels, missing=declared | no_answers(labels)))
    return Answers.of(source, present, empty, entry)


def with_areas(
    request: str,
    file: PublicFile,
    book: Mapping[str, CodebookEntry],
    columns: Sequence[ColumnDraft],
    left_out: Sequence[LeftOut],
) -> tuple[AreasDraft, list[ColumnDraft], list[LeftOut]]:
    """Draft the columns of areas that the option --areas names.

    Return their draft, the drafted columns without the smallest areas, and the columns that are left out.

    Parameters
    ----------
    request : the value of the option --areas.
    """
    *larger, smallest = areas_asked(request, file)
    rest = [replace(column, doubt="") if column.source in larger else column for column in columns if column.source != smallest]
    texts = answers_of(file, smallest, file.columns[smallest], book.get(smallest, CodebookEntry()))
    return AreasDraft.of(request, file, texts, rest), rest, [column for column in left_out if column.source != smallest]
