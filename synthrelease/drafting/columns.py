"""A column of a public file is drafted as what it probably is: dates, numbers, codes, categories, a weight, or left out."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from synthrelease.data.schema import parse_bins
from synthrelease.drafting.bins import NumberBins, number_bins
from synthrelease.drafting.codes import are_too_many, draft_by_beginning, draft_codes, share_of_frequent
from synthrelease.drafting.column_draft import Answers, ColumnDraft, LeftOut, plain_name
from synthrelease.drafting.keys import left_out_as_key
from synthrelease.drafting.kinds import Kind, labelled_scale, number_or_code
from synthrelease.drafting.missing import NUMBER
from synthrelease.drafting.numbers import far_value, number_facts
from synthrelease.drafting.together import Order

MAX_CODES = 20_000
LEAST_NAMED = 0.2
"""Share of the rows that frequent codes have, at least, where there are more than 40: "all others" alone is no column."""
_FEW = 20
"""Different whole numbers that are taken for codes where they have gaps."""
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
_DESCRIBED_WEIGHT = re.compile(
    r"(survey|sampling|sample|design|person|household|final|respon\w*|expansion|grossing|calibrat\w*|post-?strat\w*)[ -]+weight"
    r"|weighting (factor|variable)|(expansion|grossing|raising) factor|(hoch|auf)rechnungsfaktor|gewichtungs"
    r"|(design|erhebungs)gewicht|facteur d.(extrapolation|expansion)|pond[ée]ration|factor de (expansi|ponderaci)|ponderaci"
    r"|(opregnings|uppräknings|oppblåsnings)|weegfactor|wegingsfactor",
    re.IGNORECASE,
)
"""Descriptions of design weights."""
_AS_WEIGHT = "a weight, in classes; "
_BODY = re.compile(
    r"birth|body|baby|bab|kg|gram|newborn|born|infant|f[oe]et|geburts|körper|koerper|peso_?nac|gain|loss|lost|change",
    re.IGNORECASE,
)


_NO_ORDER = Order()


def draft_column(answers: Answers, taken: Collection[str], order: Order = _NO_ORDER) -> ColumnDraft | LeftOut:
    """What becomes of one column that holds no dates.

    Parameters
    ----------
    taken : names that other columns have.
    order : what the other columns say of it, where its texts are whole numbers.
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
        return _numeric(answers, taken, order)
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


def _numeric(answers: Answers, taken: Collection[str], order: Order) -> ColumnDraft | LeftOut:
    """Numbers, codes that are written as numbers, or a weight."""
    values, rows = _numbers_and_rows(answers.texts)
    weight = _is_weight(answers, values)
    kind = Kind(codes=False, because="a design weight") if weight else _kind(answers, values, rows, order)
    if kind.codes:
        found = _grouped(answers, taken, f"{len(answers.texts)} codes, not numbers: {kind.because}")
        if not (isinstance(found, LeftOut) and kind.doubt):
            return _asked(found, answers, kind)
    if max(abs(values[0]), abs(values[-1])) > 1e14:
        return LeftOut(source=answers.source, because="its numbers are too large: it may be a code")
    found = numbers(answers, answers.source, taken, weight=weight)
    if isinstance(found, LeftOut):
        return found
    if not weight and _said_to_be_weight(answers):
        found = without_role(found)
    return _asked(found, answers, kind)


def _asked(found: ColumnDraft | LeftOut, answers: Answers, kind: Kind) -> ColumnDraft | LeftOut:
    """The column with what is doubtful about it, and how to turn it around."""
    if isinstance(found, LeftOut):
        return found
    questions = [found.doubt] if found.doubt else []
    if kind.doubt:
        taken, other = ("codes", "number") if found.kind == "code" else ("numbers", "code")
        because = kind.because if kind.codes == (found.kind == "code") else kind.doubt
        against = kind.doubt if because == kind.because else kind.because
        answer = json.dumps({answers.source: {"kind": other}}, ensure_ascii=False)
        questions.append(f"taken for {taken}, since {because}; but {against}. If not, draft again with a codebook: {answer}")
    if answers.below_zero and found.bins:
        rows = f"{', '.join(answers.below_zero)} below numbers that are never negative"
        questions.append(f"{rows}, taken for no number. If it is one, take it out of missing_values")
    return replace(found, doubt="; ".join(questions))


def without_role(column: ColumnDraft) -> ColumnDraft:
    """The column as a number, with the reason, where its name suggested a design weight."""
    remark = column.remark.removeprefix(_AS_WEIGHT)
    return replace(column, weight=False, remark=f'{remark}; taken for a number: set role = "weight" if it is a design weight')


def _is_weight(answers: Answers, values: np.ndarray) -> bool:
    """Whether it is called a design weight, by its name or by what is said of it, and adds up to the rows at least; where the
    name may be a body's, its numbers must not be kilograms, pounds or, of the newborn, grams.
    """
    if not _said_to_be_weight(answers) or len(values) <= 20 or values[0] < 0:
        return False
    numbers, rows = _numbers_and_rows(answers.texts)
    if numbers @ rows < 0.9 * rows.sum():  # scaled weights are 1 in the mean, others more
        return False
    if not _BARE.fullmatch(answers.source) or _DESCRIBED_WEIGHT.search(answers.entry.description):
        return True
    cumulated = np.cumsum(rows) / answers.rows
    low, middle, high = (float(values[np.searchsorted(cumulated, share)]) for share in (0.1, 0.5, 0.9))
    return not ((40 <= middle <= 220 or 1500 <= middle <= 5500) and high < 3 * low)


def _said_to_be_weight(answers: Answers) -> bool:
    name, description = answers.source, answers.entry.description
    if _BODY.search(name) or _BODY.search(description):
        return False
    return bool(_WEIGHT.search(name) or _DESCRIBED_WEIGHT.search(description))


def _kind(answers: Answers, values: np.ndarray, rows: np.ndarray, order: Order) -> Kind:
    """Whether numbers are a quantity or codes: by what is said of them, how they are written, and then by the evidence."""
    texts, entry = answers.texts, answers.entry
    labels = {text: label for text, label in entry.labels.items() if text in texts and label != text}
    if entry.number or entry.code:
        return Kind(codes=entry.code, because="the codebook says so")
    if sum(texts[text] for text in labels) >= 0.9 * answers.rows:
        return Kind(codes=True, because=f"{answers.named_by!r} names them" if answers.named_by else "the codebook names them")
    if any(re.fullmatch(r"0\d+", text) for text in texts) or _are_dotted_codes(texts):
        return Kind(codes=True, because="some start with a 0")
    if not all(_WHOLE.fullmatch(text) for text in texts):
        return Kind(codes=False, because="they have fractions")
    if len(values) <= 2:
        return Kind(codes=True, because="two values")
    if labelled_scale(labels, values):
        return Kind(codes=False, because="a scale of which the ends have names")
    return number_or_code(answers, values, rows, order)


def _are_dotted_codes(texts: Collection[str]) -> bool:
    """Whether they look like 01.11: as many digits before each point, also where a 0 is among them."""
    before = {text.partition(".")[0] for text in texts}
    return any(begin[:1] == "0" for begin in before) and {len(begin) for begin in before} == {2}


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
        doubt=far_value(values, counts),
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
