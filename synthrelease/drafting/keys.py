"""Columns that name persons, events, records or places one by one: they are left out of a draft, and are questions.

A key is told by its shape: how many values it has, how often they come again, and whether that is what a quantity would do by
chance. Names decide where the shape allows both. Whether a key stands for a person no shape tells: `[unit]` of the draft asks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import groupby

import numpy as np

from synthrelease.drafting.column_draft import Answers, LeftOut
from synthrelease.drafting.missing import NUMBER

_NAMED = re.compile(
    r"(^|_)(id|ids|number(?!_of)|no|nr|num(?!_of)|key|code|serial|ssn|name|address|phone|email)($|_)|(?-i:Id$|ID$)",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"(^|[_. ])(hh|person|patient|case|pat|pers|household|subject|client|resp)?_?(id|ids|ident|idnr|nr|no|key|serial)($|[_. ])"
    r"|(?-i:Id$|ID$)|lopnr|l[oö]pnummer|serialno|personnummer"
    r"|(^|_)(ssn|nhs|cpr|bsn|pesel|curp|nif|dni|uuid|guid|hash|pseudonym)($|_)",
    re.IGNORECASE,
)
_WHOLE = re.compile(r"\d{1,18}(\.0*)?", re.ASCII)
_MOMENT = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(([01]\d|2[0-3])([0-5]\d){1,2})?(\.0*)?", re.ASCII)
"""Digits of a date, and perhaps of a time of day behind it."""
_FEWEST_ROWS = 50
_CHANCE = 10
"""Pairs of rows that would have the same number by chance, from which on it is none that no two have."""
_MANY = 500
"""Different values of a key whose values come again and whose shape says no more; codes and quantities have fewer."""
_OWN = 0.9
"""Share of the rows with a value of their own that is "nearly every row"."""
_SHARED = 0.05
"""Share of the rows with a value that others have, too, from which on it is a question whose rows these are."""
_SPREAD = 5
"""Standard deviations from the number of different values that a quantity would have by chance."""
_WINDOWS = 20
"""Parts of the range of a column, of about as many values each, in which a quantity is about as dense everywhere."""
_ROWS_OF_ONE = {"wide": 20, "narrow": 3}
"""Rows for each value, at most, of keys with six digits or more, and with fewer; of codes there are more."""
_HEAVY = 10
"""Times the rows of any other value, from which on it is a question whether a value of a key stands for none."""
_TOP = 0.05
_OF_TOP = 0.35
"""Share of the rows that the most frequent twentieth of the values has, at most; of codes and amounts few have most rows."""


def left_out_as_key(answers: Answers) -> LeftOut | None:
    """Why a column is a key and no answer; None where it is none."""
    texts, rows = answers.texts, answers.rows
    if answers.entry.number or len(texts) <= _FEWEST_ROWS:
        return None
    numeric = all(map(NUMBER.fullmatch, texts))
    whole = all(map(_WHOLE.fullmatch, texts))
    if all(map(_MOMENT.fullmatch, texts)):
        return None
    if len(texts) > rows / 2 and (not numeric or (whole and _NAMED.search(answers.source))):
        return _key(answers, "it may identify persons")
    if answers.entry.labels or not (whole or not numeric):
        return None
    if whole and not answers.missing_rows and len(texts) == rows and _differ_by_design(answers):
        return LeftOut(source=answers.source, because="no two rows have the same number: it may identify persons")
    if len(texts) >= _MANY and _KEY.search(answers.source):
        return _key(answers, "so it is named")
    why = _number_of_something(answers) if whole else _mark_of_something(answers)
    return _key(answers, why) if why else None


def _key(answers: Answers, why: str) -> LeftOut:
    """A key, with how many rows have a value of their own and how many share one."""
    times, rows = list(answers.texts.values()), answers.rows
    most, own = max(times), sum(one for one in times if one == 1) / rows
    because = f"nearly every row has a value of its own: {why}"
    if own < _OWN:
        share = f"{own:.0%} of the rows have one of their own" if own else "no row has one of its own"
        because = (
            f"it has {len(times)} different values, up to {most} rows each, as a key of persons, events or places has "
            f"({share}): {why}"
        )
    shared = most > 1 and 1 - own >= _SHARED
    return LeftOut(
        source=answers.source,
        because=because,
        rows_of_one=most if shared else 0,
        mean_rows=rows / len(times) if shared else 0.0,
        heavy=heavy_value(answers.texts) if shared else "",
    )


def heavy_value(times: Mapping[str, int]) -> str:
    """The value of a key that far more rows have than any other, in words: it may say that there is none. Empty without one.

    Parameters
    ----------
    times : how many rows of the public file have each value.
    """
    (value, most), (_, next_most) = Counter(times).most_common(2)
    if most < max(_FEWEST_ROWS, _HEAVY * next_most):
        return ""
    return f"{value!r} in {most} rows, and no other value in more than {next_most}"


def _differ_by_design(answers: Answers) -> bool:
    """Whether somebody saw to it that numbers differ: by chance ten pairs of rows would be equal, or all have nine digits."""
    values, rows = np.array([float(text) for text in answers.texts]), answers.rows
    pairs = rows * (rows - 1) / 2 / (values.max() - values.min() + 1)
    return bool(pairs >= _CHANCE or (values.min() >= 1e8 and len(_widths(answers)) == 1))


def _number_of_something(answers: Answers) -> str:
    """What in whole numbers no quantity has; empty where a quantity may have all of it.

    A quantity is about as dense in neighbouring parts of its range, so chance says how many different values so many rows have.
    Running numbers have more: hardly one is left out. Numbers that were given to somebody who comes again have fewer. So do
    amounts that are rounded, that few values have most of, or that are dense at one end; and codes, which have many rows each.
    """
    by_value = Counter[int]()
    for text, often in answers.texts.items():
        by_value[int(text.partition(".")[0])] += often
    values = np.array(sorted(by_value), dtype=np.float64)
    times = np.array([by_value[value] for value in sorted(by_value)])
    rows, widths = answers.rows, _widths(answers)
    mean, spread = _by_chance(values, times)
    few_each = _is_even(times) and rows / len(values) <= _ROWS_OF_ONE["wide"] and max(times) <= max(_FEWEST_ROWS, 0.02 * rows)
    if few_each and len(values) > mean + max(_SPREAD * spread, 0.03 * mean):
        return "fewer numbers are left out than by chance"
    if len(widths) == 1 and len(values) >= _MANY and _fill_a_range(values, times, min(widths)):
        return "most numbers of so many digits occur, and about as often in both halves"
    comes_again = len(values) < mean - max(_SPREAD * spread, 0.02 * mean)
    kind = "wide" if min(widths) >= 6 and len(widths) == 1 else "narrow"
    if not (comes_again and few_each and rows / len(values) <= _ROWS_OF_ONE[kind] and _ends_evenly(values, times)):
        return ""
    if kind == "wide" or _lie_evenly(values):
        return "the same numbers come again oftener than by chance, evenly and without being rounded"
    return ""


def _by_chance(values: np.ndarray, times: np.ndarray) -> tuple[float, float]:
    """How many different values so many rows of a quantity would have, in the mean and as a standard deviation."""
    step = float(np.gcd.reduce((values - values[0]).astype(np.int64)))
    cuts = np.linspace(0, len(values), min(_WINDOWS, len(values) // 10) + 1).astype(int)
    mean = variance = 0.0
    for start, stop in zip(cuts[:-1], cuts[1:], strict=True):
        begin = values[start - 1] + step if start else values[0]
        width = (values[stop - 1] - begin) / step + 1
        rate = times[start:stop].sum() / width
        none = np.exp(-rate)
        mean += width * -np.expm1(-rate)
        variance += width * none * (1 - (1 + rate) * none)
    return float(mean), float(np.sqrt(max(variance, 1.0)))


def _fill_a_range(values: np.ndarray, times: np.ndarray, digits: int) -> bool:
    """Whether most numbers occur, and in both halves of their range about as often."""
    low, high = values[0], values[-1]
    lower_half = times[values <= (low + high) / 2].sum() / times.sum()
    return bool(digits >= 5 and len(values) / (high - low + 1) > 0.5 and 0.35 < lower_half < 0.65)


def _is_even(times: np.ndarray) -> bool:
    """Whether the most frequent values have no more than a few times their part of the rows."""
    top = max(1, round(_TOP * len(times)))
    return bool(np.sort(times)[-top:].sum() <= _OF_TOP * times.sum())


def _ends_evenly(values: np.ndarray, times: np.ndarray) -> bool:
    """Whether no last digit is much more frequent than others, as in rounded numbers."""
    digits = (values % 10).astype(np.int64)
    return bool(all(np.bincount(digits, weights=each, minlength=10).max() < 0.2 * each.sum() for each in (times, times > 0)))


def _lie_evenly(values: np.ndarray) -> bool:
    """Whether the values lie about as dense in all of their range."""
    places = (values - values[0]) / (values[-1] - values[0])
    return bool(np.abs(places - np.linspace(0, 1, len(values))).max() < 0.1)


def _mark_of_something(answers: Answers) -> str:
    """What marks have that were given out: they are made alike, with digits, and come again evenly. Empty for others."""
    times = np.array(list(answers.texts.values()))
    if answers.rows / len(times) > _ROWS_OF_ONE["wide"] or not _is_even(times):
        return ""
    shapes = Counter(_shape(text) for text in answers.texts)
    alike = shapes.most_common(1)[0][1] >= 0.95 * len(times) or len({len(text) for text in answers.texts}) == 1
    digits = np.array([sum(letter.isdigit() for letter in text) for text in answers.texts])
    no_words = all(re.fullmatch(r"[\w./:-]+", text) for text in answers.texts)
    return "all are written alike, with digits" if alike and no_words and np.median(digits) >= 4 else ""


def _shape(text: str) -> str:
    """Digits and letters as what they are, runs of letters as one."""
    marked = ("9" if letter.isdigit() else "A" if letter.isalpha() else letter for letter in text)
    return "".join(letter if letter == "A" else letter * len(list(run)) for letter, run in groupby(marked))


def _widths(answers: Answers) -> set[int]:
    return {len(text.partition(".")[0]) for text in answers.texts}
