"""A column of a public file is drafted as what it probably is: dates, numbers, codes, categories, a weight, or left out."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np

from synthrelease.domain.bins import parse_bins
from synthrelease.drafting.bins import NumberBins, number_bins
from synthrelease.drafting.codes import are_too_many, draft_by_beginning, draft_codes, share_of_frequent
from synthrelease.drafting.column_draft import Answers, ColumnDraft, LeftOut, plain_name
from synthrelease.drafting.keys import left_out_as_key
from synthrelease.drafting.missing import NUMBER
from synthrelease.drafting.numbers import number_facts

MAX_CODES = 20_000
LEAST_NAMED = 0.2
"""Share of the rows that frequent codes have, at least, where there are more than 40: "all others" alone is no column."""
_MANY = 50
"""Rows for each different number from which on numbers with gaps are taken for codes."""
_FEW = 20
"""Different whole numbers that are taken for codes where they have gaps."""
_SCALE = 7
"""Points of a scale, at least, that is no list of answers."""
_CLASSIFICATION = re.compile(
    r"(^|_)(icd|isco|isic|nace|naics|isced|coicop|nuts|fips|zip|plz|post(al|leit)?_?(code|zahl)|municip\w*|kommun\w*|gemeinde)"
    r"(code|nr)?\d*r?\d*($|_)",
    re.IGNORECASE,
)
"""Names of columns whose numbers are codes."""
_DECORATED = re.compile(
    r"[-+(]?\s?([€$£¥]|[A-Z]{3})?\s?-?\d+([,.'\u2019\s]\d{3})*([.,]\d+)?\s?(%|‰|€|\$|£|[A-Z]{3}|kr|kg|g|cm|m|km|h|min)?\)?"
)
_SHORT_YEAR = re.compile(r"\d{1,2}([./-])(\d{1,2}|[A-Za-z]{3})\1\d{2}( .*)?", re.ASCII)
_TIME = re.compile(r"\d{1,2}:\d{2}(:\d{2})?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d{1,15}(\.0*)?", re.ASCII)
_WEIGHT = re.compile(
    r"(^|[_. ])([a-z]*we?i?g?h?ts?|wt|wgt|fnlwgt|[ph]?wgtp|factor|fac_?exp|fexp|expansion|poids|gewicht|peso_?exp\w*)"
    r"(\d*)($|[_. ])",
    re.IGNORECASE,
)
_BARE = re.compile(r"weights?|wt|peso|poids|gewicht", re.IGNORECASE)
_AS_WEIGHT = "a weight, in classes; "
_BODY = re.compile(
    r"birth|body|baby|bab|kg|gram|newborn|born|infant|f[oe]et|geburts|körper|koerper|peso_?nac|gain|loss|lost|change",
    re.IGNORECASE,
)


def draft_column(answers: Answers, taken: Collection[str]) -> ColumnDraft | LeftOut:
    """What becomes of one column that holds no dates.

    Parameters
    ----------
    taken : names that other columns have.
    """
    texts, source = answers.texts, answers.source
    if not texts:
        return LeftOut(source=source, because="it has no values")
    if len(texts) == 1 and not answers.missing_rows:
        return LeftOut(source=source, because="it has one value only")
    if len(texts) == 1 and answers.rows + answers.missing_rows < 50 * min(answers.rows, answers.missing_rows):
        return draft_codes(answers, taken, "one value, or none")
    if len(texts) == 1:
        return LeftOut(source=source, because="nearly all rows have one value")
    if untidy := _untidy(answers):
        return LeftOut(source=source, because=untidy)
    if key := left_out_as_key(answers):
        return key
    if all(NUMBER.fullmatch(text) for text in texts):
        return _numeric(answers, taken)
    return _grouped(answers, taken, f"{len(texts)} categories in the public file")


def _untidy(answers: Answers) -> str:
    """What keeps texts from being numbers, where that is how they are written; empty for all others."""
    texts = answers.texts
    if all(map(NUMBER.fullmatch, texts)) or len(texts) <= _FEW:
        return ""
    if all(map(_DECORATED.fullmatch, texts)):
        return "its numbers are written with marks between thousands, units or signs: write plain numbers first"
    if all(map(_SHORT_YEAR.fullmatch, texts)):
        return "its dates have years of two digits, which do not tell the century: write four"
    if all(map(_TIME.fullmatch, texts)):
        return "its texts are times of day: write the hour as a number first"
    return ""


def _grouped(answers: Answers, taken: Collection[str], remark: str) -> ColumnDraft | LeftOut:
    """Codes or categories: by their first characters where these tell more, each by itself, or the frequent ones."""
    if by_beginning := draft_by_beginning(answers, taken):
        return by_beginning
    n = len(answers.texts)
    if n > MAX_CODES or (are_too_many(answers.texts) and share_of_frequent(answers.texts) < LEAST_NAMED):
        return LeftOut(source=answers.source, because=f"it has {n} different texts, few of them frequent: group them first")
    return draft_codes(answers, taken, remark)


def _numeric(answers: Answers, taken: Collection[str]) -> ColumnDraft | LeftOut:
    """Numbers, codes that are written as numbers, or a weight."""
    values = np.array(sorted({float(text) for text in answers.texts}))
    whole = all(_WHOLE.fullmatch(text) for text in answers.texts)
    weight = _is_weight(answers, values)
    why = "" if weight or answers.entry.number else _why_codes(answers, values, whole)
    if why:
        return _grouped(answers, taken, f"{len(answers.texts)} codes, not numbers: {why}")
    if max(abs(values[0]), abs(values[-1])) > 1e14:
        return LeftOut(source=answers.source, because="its numbers are too large: it may be a code")
    found = numbers(answers, answers.source, taken, weight=weight)
    if weight or isinstance(found, LeftOut) or not _WEIGHT.search(answers.source) or _BODY.search(answers.source):
        return found
    return without_role(found)


def without_role(column: ColumnDraft) -> ColumnDraft:
    """The column as a number, with the reason, where its name suggested a design weight."""
    remark = column.remark.removeprefix(_AS_WEIGHT)
    return replace(column, weight=False, remark=f'{remark}; taken for a number: set role = "weight" if it is a design weight')


def _is_weight(answers: Answers, values: np.ndarray) -> bool:
    """Whether it is named like a design weight and adds up to the rows at least; where the name may be a body's, its numbers
    must not be kilograms, pounds or, of the newborn, grams.
    """
    if not _WEIGHT.search(answers.source) or _BODY.search(answers.source) or len(values) <= 20 or values[0] < 0:
        return False
    numbers, rows = _numbers_and_rows(answers.texts)
    if numbers @ rows < 0.9 * rows.sum():  # scaled weights are 1 in the mean, others more
        return False
    if not _BARE.fullmatch(answers.source):
        return True
    cumulated = np.cumsum(rows) / answers.rows
    low, middle, high = (float(values[np.searchsorted(cumulated, share)]) for share in (0.1, 0.5, 0.9))
    return not ((40 <= middle <= 220 or 1500 <= middle <= 5500) and high < 3 * low)


def _why_codes(answers: Answers, values: np.ndarray, whole: bool) -> str:
    """Why numbers are taken for codes; empty where they are taken for numbers."""
    texts = answers.texts
    labels = {text: label for text, label in answers.entry.labels.items() if text in texts and label != text}
    if sum(texts[text] for text in labels) >= 0.9 * answers.rows:
        return "the codebook names them"
    if any(re.fullmatch(r"0\d+", text) for text in texts) or _are_dotted_codes(texts):
        return "some start with a 0"
    if not whole:
        return ""
    if len(values) <= 2:
        return "two values"
    filled = len(values) / (values[-1] - values[0] + 1)
    if len(values) >= _SCALE and filled == 1 and 0 < len(labels) < len(values) / 2:
        return ""  # a scale of which the ends have names
    if len(values) <= _FEW:
        counting = values[0] in (0, 1, 2) and filled > 0.75 and len(values) > 5 and _falls(texts)
        return "" if counting else "few, and each often"
    if _CLASSIFICATION.search(answers.source):
        return "it is named like a classification"
    steps = (values[-1] - values[0]) / math.gcd(*map(int, values)) + 1  # of rents in steps of 50 hardly one is left out
    if len(values) / steps < 0.2 and values[0] > 0 and (answers.rows / len(values) >= _MANY or _come_again(answers, values)):
        return "few of the numbers between occur, and those often"
    return ""


def _come_again(answers: Answers, values: np.ndarray) -> bool:
    """Whether numbers of at least three digits come again far oftener than numbers without gaps would, and are not rounded."""
    rows, span = answers.rows, values[-1] - values[0] + 1
    expected = span * -math.expm1(-rows / span)
    rounded = sum(times for text, times in answers.texts.items() if float(text) % 5 == 0) / rows
    return bool(values[0] >= 100 and len(values) < 0.2 * expected and rounded < 0.6)


def _are_dotted_codes(texts: Collection[str]) -> bool:
    """Whether they look like 01.11: as many digits before each point, also where a 0 is among them."""
    before = {text.partition(".")[0] for text in texts}
    return any(begin[:1] == "0" for begin in before) and {len(begin) for begin in before} == {2}


def _falls(texts: Mapping[str, int]) -> bool:
    """Whether numbers get rarer beyond a most frequent one near the start, as numbers of things do and codes do not."""
    times = [texts[text] for text in sorted(texts, key=float)]
    most = times.index(max(times))
    return most < len(times) / 3 and all(b <= a + 3 * math.sqrt(a) for a, b in pairwise(times[most:]))


def numbers(
    answers: Answers,
    wanted: str,
    taken: Collection[str],
    *,
    weight: bool = False,
    date: Mapping[str, str] | None = None,
    known: NumberBins | None = None,
) -> ColumnDraft | LeftOut:
    """A column of numbers in bins.

    Parameters
    ----------
    wanted : its name, of which one is made that rules and TOML can hold.
    date : `part`, `minus`, `format` of a date.
    known : bins that take the place of those that the numbers suggest.
    """
    values, counts = _numbers_and_rows(answers.texts)
    if len(values) < 2:
        return LeftOut(source=answers.source, because="it has one value only")
    whole = all(_WHOLE.fullmatch(text) for text in answers.texts)
    bins = number_bins(values, counts, whole=whole)
    if not bins.coarse:
        return LeftOut(source=answers.source, because="nearly all rows have one value")
    bins = known or bins
    texts = bins.texts(whole=whole, weight=weight).values()
    alternatives = [parse_bins(alternative, whole_numbers=whole) for alternative in texts]
    remark = f"public file: {values[0]:.12g} to {values[-1]:.12g}, {len(values)} different values"
    return ColumnDraft(
        name=plain_name(wanted, taken),
        source=answers.source,
        kind="integer" if whole else "real",
        remark=f"{_AS_WEIGHT}{remark}" if weight else remark,
        description=answers.entry.description,
        bins=bins,
        facts=number_facts(values, counts, alternatives, (bins.low, bins.high), whole=whole, weight=weight),
        missing_values=answers.missing_values,
        missing_label=answers.label_of_missing,
        missing_rows=answers.missing_rows,
        weight=weight,
        **(date or {}),  # type: ignore[arg-type]
    )


def _numbers_and_rows(texts: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """(n_values,) the different numbers, increasing, and how many rows have each: "1" and "1.0" are one."""
    sums: dict[float, int] = {}
    for text, times in texts.items():
        sums[float(text)] = sums.get(float(text), 0) + times
    values = sorted(sums)
    return np.array(values), np.array([sums[value] for value in values])
