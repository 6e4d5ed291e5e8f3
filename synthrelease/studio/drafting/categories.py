"""Draft columns of codes and categories: a bin for each category, or for each frequent one, or groups by first characters.

Ordered categories, such as ranges of numbers and steps of a scale, are recognised by their words. Rare ordered categories
are merged with their neighbours; other rare categories are merged into one group.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from synthrelease.data.texts import bare
from synthrelease.errors import so_many
from synthrelease.studio.drafting.column_draft import NUMBER, Answers, CodeDraft, ColumnDraft, plain_label, plain_name
from synthrelease.studio.drafting.words import WORDS, unaccented

MAX_CATEGORIES = 40
"""Up to 40 categories each have a separate bin. If there are more categories, only frequent categories have a separate bin."""
MAX_WELL_FILLED, WELL_FILLED = 100, 100
"""Up to 100 categories each have a separate bin if at least half of the categories have 100 rows or more."""
COMMON = 0.0025
"""If there are too many categories, a category is frequent if it has at least this share of the rows."""
MOST_TOGETHER = 0.2
"""If "all others" would have more than this share of the rows, structured codes are grouped by their first characters."""
# Rounded widths of groups of numbers with an open class, and the largest number of groups.
_STEPS, _FEW_GROUPS = (2, 5, 10, 20, 50, 100, 1000), 20
MAX_BEGINNINGS = 100
_LONGEST = 200  # The largest number of characters of a code in a codelist
_WITH_POINT = re.compile(r"\d+(\.0+)?", re.ASCII)
_DECIMAL = re.compile(r"\d+(\.\d+)?", re.ASCII)
_LETTERS_FIRST = re.compile(r"([A-Za-z]{1,2})\d[0-9A-Za-z]*([.\-/][0-9A-Za-z]+)*", re.ASCII)
_DOTTED = re.compile(r"(\d{1,3})\.[0-9A-Za-z.]+", re.ASCII)


def draft_by_beginning(answers: Answers, used_names: Collection[str]) -> ColumnDraft | None:
    """Draft a column of many codes in groups by their first characters, such as diagnoses by chapter (I21.4: I), or return
    None.

    Most codes that the public file lacks belong to one of these groups, too.

    Returns
    -------
    draft : the draft of the column. None if there are few enough codes for separate bins, if the codebook has labels for
        them, if there are no groups by first characters or more than 100, or if the frequent codes have at least 80% of the
        rows.
    """
    texts = answers.texts
    if not are_too_many(texts) or (texts.keys() & answers.entry.labels.keys() and not answers.named_by):
        return None
    characters, share = _beginning(texts), share_of_frequent(texts)
    if not characters or share >= 1 - MOST_TOGETHER:
        return None
    groups = _sums(texts, lambda text: text[:characters])
    first = "first character" if characters == 1 else f"first {characters} characters"
    frequent = so_many(len(_frequent(texts)), "frequent code")
    remark = f"the {first} of {len(texts):,} codes; {frequent} with {share:.0%} of the rows"
    grouped = replace(answers, texts=groups, entry=replace(answers.entry, labels={}) if answers.named_by else answers.entry)
    return replace(draft_codes(grouped, used_names, remark, apart=True), kind="code", characters=characters)


def _beginning(texts: Collection[str]) -> int:
    """Return how many first characters of a code identify its group, such as 2 for occupations like 2310, or 0.

    These are the letters before digits, the digits before a point, or the first two of at least four digits (more if all
    codes share them). The result is 0 if there are no groups, or more than 100.
    """
    for pattern in (_LETTERS_FIRST, _DOTTED):
        if beginnings := [match[1] for text in texts if (match := pattern.fullmatch(text))]:
            same = len(beginnings) == len(texts) and len({len(letters) for letters in beginnings}) == 1
            return len(beginnings[0]) if same and 1 < len(set(beginnings)) <= MAX_BEGINNINGS else 0
    lengths = {len(text) for text in texts}
    if not all(map(str.isdigit, texts)) or len(lengths) > 1 or min(lengths) < 4:
        return 0  # numbers of different lengths may have lost leading zeros, so their first digits have no meaning
    groups = {k: len({text[:k] for text in texts}) for k in range(2, min(lengths))}
    first = next((k for k, n in groups.items() if n > 1), 0)
    return first if first and groups[first] <= MAX_BEGINNINGS else 0


def _sums(texts: Mapping[str, int], name: Callable[[str], str]) -> Counter[str]:
    sums = Counter[str]()
    for text, times in texts.items():
        sums[name(text)] += times
    return sums


def are_too_many(texts: Mapping[str, int]) -> bool:
    """Return whether there are too many categories for separate bins: more than 40, or more than 100 if most have 100 rows."""
    well_filled = len(texts) <= MAX_WELL_FILLED and statistics.median(texts.values()) >= WELL_FILLED
    return len(texts) > MAX_CATEGORIES and not well_filled


def share_of_frequent(texts: Mapping[str, int]) -> float:
    """Return the share of the rows with frequent codes: at most 39 codes with at least 0.25% of the rows each."""
    return sum(texts[text] for text in _frequent(texts)) / sum(texts.values())


def _frequent(texts: Mapping[str, int]) -> list[str]:
    rows = sum(texts.values())
    return [text for text in sorted(texts, key=lambda text: -texts[text])[: MAX_CATEGORIES - 1] if texts[text] >= COMMON * rows]


def draft_codes(answers: Answers, used_names: Collection[str], remark: str, *, apart: bool = False) -> ColumnDraft:
    """Return the draft of a column of codes or categories, with the labels of the codebook.

    Parameters
    ----------
    apart : whether each code has a separate bin, even if the column has many codes.
    """
    as_in_file = answers
    answers, spellings = _in_one_spelling(answers)
    labels = {**{text: text for text in answers.texts}, **answers.entry.labels}
    order = [text for text in labels if text not in answers.missing_values and text.isprintable() and len(text) <= _LONGEST]
    listed = set(order)
    unlisted = {text: times for text, times in answers.texts.items() if text not in listed}
    order.sort(key=_in_order)
    by_words = None if unlisted or apart else in_their_order([labels[text] for text in order])
    if by_words:
        order.sort(key=lambda text: by_words.index(labels[text]))
    plain = {text: plain_label(labels[text]) for text in order}
    often = Counter(plain.values())
    unique = {text: label if often[label] == 1 else plain_label(f"{label} ({text})") for text, label in plain.items()}
    codes = {
        text: CodeDraft(label=label, rows=answers.texts.get(text, 0), spellings=spellings.get(text, ()))
        for text, label in unique.items()
    }
    rows_of = {text: code.rows for text, code in codes.items()}
    common: tuple[str, ...] = ()
    if by_words:
        remark += "; in the order of their meaning, so neighbouring categories may be merged"
    elif not apart and are_too_many(rows_of):
        frequent = set(_frequent(rows_of))
        common = tuple(text for text in order if text in frequent)
        at_least = f"each with at least {COMMON:.2%} of the rows"
        remark += f"; the {len(common)} most frequent, {at_least}, and all others together"
    elif unlisted and order and not apart:
        common = tuple(order)
        texts = f"{so_many(len(unlisted), 'text')} unprintable or longer than {_LONGEST} characters"
        example = ascii(min(unlisted, key=len))[:50]
        remark += f"; {texts}, such as {example} ({so_many(sum(unlisted.values()), 'row')}), count among all others"
    rare = [code.label for code in codes.values() if code.rows < 0.01 * answers.rows]
    if rare and not common:
        remark += f"; below 1% of the rows: {', '.join(rare)}"
    as_numbers = all(map(NUMBER.fullmatch, answers.texts)) and not any(spellings.values())
    drafted = ColumnDraft.of(
        answers,
        name=plain_name(answers.source, used_names),
        kind="category" if by_words or not (answers.entry.labels or common or as_numbers) else "code",
        ordered=by_words is not None,
        remark=remark,
        doubt=_spelling_question(as_in_file, spellings),
        codes=codes,
        common=common,
    )
    if not by_words or not are_too_many(rows_of):
        return drafted
    joined = with_neighbours_joined(drafted, COMMON)
    if len(joined.groups or joined.codes) > MAX_CATEGORIES:
        return _in_rounded_steps(drafted) or with_neighbours_joined(drafted, 1 / MAX_CATEGORIES)
    return joined


def _in_rounded_steps(column: ColumnDraft) -> ColumnDraft | None:
    """Merge whole numbers with an open class, such as 0, 1, ..., 89, 90+, into about 20 groups at most, or return None."""
    numbers = [float(text) for text in column.codes if NUMBER.fullmatch(text)]
    if len(numbers) < len(column.codes) - 2 or not all(map(float.is_integer, numbers)):
        return None
    step = next((step for step in _STEPS if max(numbers) - min(numbers) <= _FEW_GROUPS * step), _STEPS[-1])
    groups = dict[str, list[str]]()
    for text in column.codes:
        groups.setdefault(str(float(text) // step) if NUMBER.fullmatch(text) else text, []).append(text)
    named = {plain_label(texts[0] if len(texts) == 1 else f"{texts[0]} to {texts[-1]}"): texts for texts in groups.values()}
    return _in_groups(column, named)


def with_neighbours_joined(column: ColumnDraft, least_share: float) -> ColumnDraft:
    """Merge neighbouring categories of an ordered column into groups with at least `least_share` of its rows each.

    Remaining categories at the end are added to the last group. A group of one category keeps the category's label.
    """
    total = sum(code.rows for code in column.codes.values())
    groups, group, rows = list[list[str]](), list[str](), 0
    for text, code in column.codes.items():
        group.append(text)
        rows += code.rows
        if rows >= least_share * total:
            groups.append(group)
            group, rows = [], 0
    if group and groups:
        groups[-1] += group
    named = dict[str, list[str]]()
    for group in groups:
        first, last, joined = column.codes[group[0]].label, column.codes[group[-1]].label, "or" if len(group) == 2 else "to"
        named[first if len(group) == 1 else plain_label(f"{first} {joined} {last}")] = group
    return _in_groups(column, named)


def with_levels_joined(column: ColumnDraft, least_share: float) -> ColumnDraft:
    """Merge rare categories within the larger categories that contain them, such as rare industries within their sector.

    They become one group, such as "other: services". A larger category with less than `least_share` of the rows becomes one
    group as a whole.
    """
    least = least_share * sum(code.rows for code in column.codes.values())
    rows_of, groups = Counter[str](), dict[str, list[str]]()
    for text, home in column.within.items():
        rows_of[home] += column.codes[text].rows
    for text, code in column.codes.items():
        home = column.within[text]
        label = code.label if code.rows >= least else home if rows_of[home] < least else f"other: {home}"
        groups.setdefault(label, []).append(text)
    singles = {label: column.codes[texts[0]].label for label, texts in groups.items() if len(texts) == 1}
    return _in_groups(column, {singles.get(label, label): texts for label, texts in groups.items()})


def _in_groups(column: ColumnDraft, groups: Mapping[str, Sequence[str]]) -> ColumnDraft:
    if not 2 <= len(groups) < len(column.codes):
        return column
    return replace(column, groups={label: tuple(texts) for label, texts in groups.items()})


_YES, _NO = (frozenset(WORDS["answers"][answer]) for answer in ("yes", "no"))
_ZERO_FIRST = re.compile(r"0\d+", re.ASCII)


def _in_one_spelling(answers: Answers) -> tuple[Answers, Mapping[str, tuple[str, ...]]]:
    """Merge spellings of the same answer, and return the answers in one spelling each, with the other spellings of each.

    Strings are the same answer if they differ only in capitals, spaces, hidden characters or accents ("Ja", "JA "), in
    leading zeros of codes ("7", "0007"), as 1.0 and 1, or as words for yes and no ("TRUE", "yes", "1"). Codes with labels
    in the codebook and columns with more than 40 strings are not merged, except for numbers such as 1.0 and 1.
    """
    texts, labels = answers.texts, answers.entry.labels
    whole = all(map(_WITH_POINT.fullmatch, texts)) and not any(map(_ZERO_FIRST.fullmatch, texts))
    if whole and not texts.keys() & labels.keys():
        return replace(answers, texts=_sums(texts, lambda text: text.partition(".")[0])), {}
    if all(map(_DECIMAL.fullmatch, texts)) and not labels:  # a release reads 12 and 12.0 as the same number
        frequent = {_without_zeros(text): text for text in sorted(texts, key=lambda text: texts[text])}
        texts = _sums(texts, lambda text: frequent[_without_zeros(text)])
        answers = replace(answers, texts=texts)
    width = _code_width(texts)
    words = {text: " ".join(unaccented(bare(text)).casefold().split()) for text in texts}
    if set(words.values()) <= _YES | _NO and not _YES.isdisjoint(words.values()) and not _NO.isdisjoint(words.values()):
        words = {text: "yes" if word in _YES else "no" for text, word in words.items()}
    groups: dict[str, list[str]] = {}
    for text in sorted(texts, key=lambda text: -texts[text]):
        groups.setdefault(words[text].zfill(width), []).append(text)
    if labels or len(groups) == len(texts) or len(texts) > MAX_CATEGORIES:
        return answers, {}
    ways = _sums(texts, _capitals)
    for group in groups.values():  # prefer the spelling that the column uses most, so that its labels look alike
        group.sort(key=lambda text: (not text.isprintable(), len(text) != width if width else -ways[_capitals(text)]))
    merged = {group[0]: sum(texts[text] for text in group) for group in groups.values()}
    return replace(answers, texts=merged), {group[0]: tuple(group[1:]) for group in groups.values()}


def _capitals(text: str) -> str:
    return next((way for way in ("lower", "upper", "capitalize", "title") if getattr(text, way)() == text), "mixed")


def _without_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _code_width(texts: Collection[str]) -> int:
    """Return the width of codes with leading zeros, such as 4 for "0007", or 0 if there are none or a code has more digits."""
    padded, lengths = {len(text) for text in texts if _ZERO_FIRST.fullmatch(text)}, {len(text) for text in texts}
    return max(padded) if len(padded) == 1 and all(map(str.isdigit, texts)) and max(lengths) in padded else 0


def _spelling_question(answers: Answers, spellings: Mapping[str, tuple[str, ...]]) -> str:
    """Return a question about spellings, such as whether "yes" and "TRUE" mean the same, or an empty string.

    It is about codes that seem to have lost leading zeros, about merged spellings, or about cells with several answers.
    """
    width = _code_width(answers.texts)
    lost = [text for text in answers.texts if len(text) < width]
    if lost and not spellings:
        lost_zeros = f"{len(lost)} of {len(answers.texts)} codes seem to have lost their leading zeros, such as {lost[0]!r}"
        return f"{lost_zeros}. Write all codes with {width} digits and draft again"
    groups = [(first, *rest) for first, rest in spellings.items()]
    merged = [group for group in groups if len({bare(text).casefold() for text in group}) > 1]
    if not merged:
        return _several_answers(answers.texts)
    examples = "; ".join(" = ".join(map(repr, group)) for group in merged[:3])
    change = f"The draft merges them into one category each and has {len(spellings)} categories instead of {len(answers.texts)}"
    return f"do these texts mean the same: {examples}? {change}. If not, list them separately under categories"


def _several_answers(texts: Collection[str]) -> str:
    """Return the question about cells that list several answers, such as "bus;car", or an empty string.

    At least two listed answers must also occur alone, and there must be fewer different answers than strings.
    """
    for mark in ";|,":
        parts = {part.strip() for text in texts for part in text.split(mark)}
        if len(parts) < len(texts) and len(parts & {*texts}) > 1 and (listed := [text for text in texts if mark in text]):
            return f"cells contain several answers, such as {listed[0]!r}. First make a column of yes and no for each answer"
    return ""


def _in_order(text: str) -> tuple[int, float, str]:
    return (0, float(text), text) if NUMBER.fullmatch(text) and math.isfinite(float(text)) else (1, 0.0, text)


# The order of categories with words: ranges of numbers, steps of a scale, months and weekdays.

_BELOW, _ABOVE = (
    re.compile(rf"(?:^|(?<=[\s$€£]))({'|'.join(WORDS['ranges'][side])})(?=$|[\s$€£])") for side in ("below", "above")
)
_AMOUNT = re.compile(r"\d+(?:[ ,.']\d{3})+(?!\d)|\d+(?:[.,]\d+)?")
_BETWEEN = re.compile(
    r"(?<=\d)\s*[^\W\d]*?\s*(?:-|–|—|to|bis|à|a|y|and|und|et|\.\.+)\s+?(?:under |unter )?[$€£]?(?=\d)"
    r"|(?<=\d)[-–—][$€£]?(?=\d)"
)
_NUMBER_WORDS = {word: str(i) for i, words in enumerate(WORDS["ranges"]["numbers"]) for word in words.split("|")}
_NUMBER_WORD = re.compile(rf"\b({'|'.join(_NUMBER_WORDS)})\b")
_END = re.compile(r"\s*(-?\d+(\.\d+)?|[-+]?inf)\s*")
_BRACKETS = re.compile(r"[\[(](.+?)[,;](.+?)[\])]")
_ROMAN = {"i": "1", "ii": "2", "iii": "3", "iv": "4", "v": "5", "vi": "6"}
_NUMBERED = re.compile(
    rf"({'|'.join(WORDS['scales']['nouns'])})s? (?P<number>\d+|{'|'.join(_ROMAN)})(?P<letter>[a-d])?"
    r"( ?(-|to|and|und|et|y) ?\d+[a-d]?)?"
)
_SCALES = [
    {word: i for i, step in enumerate(steps.split(" < ")) for word in step.split("|")} for steps in WORDS["scales"]["steps"]
]
_CALENDARS = [
    {name: i for i, word in enumerate(words.split()) for name in (word, word[:3])} for words in WORDS["scales"]["calendars"]
]
_POLES = [(frozenset(low.split()), frozenset(high.split())) for low, high in WORDS["scales"]["poles"]]
_MIDDLE = re.compile("|".join(WORDS["scales"]["middle"]))
_STRESS = {word: stress["far"] for stress in WORDS["scales"]["stress"] for word in stress["words"]}


def in_their_order(texts: Collection[str]) -> list[str] | None:
    """Return categories in the order of their meaning, the lowest first, or None if their words have no order.

    Examples
    --------
    >>> in_their_order(["5 to 14", "under 5", "65+", "15 to 64"])
    ['under 5', '5 to 14', '15 to 64', '65+']
    >>> in_their_order(["two", "three or more", "none", "one"])
    ['none', 'one', 'two', 'three or more']
    >>> in_their_order(["agree", "strongly disagree", "neutral", "disagree"])
    ['strongly disagree', 'disagree', 'neutral', 'agree']
    >>> in_their_order(["north", "south", "low"])
    """
    if len(texts) < 3:
        return None
    with_ranges = {text: re.sub(r"(?<=\d)_(?=\d)", "-", bare(text)) for text in texts}
    words = {text: " ".join(word.casefold().replace("_", " ").split()) for text, word in with_ranges.items()}
    unnumbered = {text: re.sub(r"^\(?\d{1,2}[.):]?\s*[-=.):]?\s+", "", word) for text, word in words.items()}
    undotted = {text: word.rstrip(".") for text, word in words.items()}
    ranks = _of_ranges(words) or _of_lists(undotted, _CALENDARS) or _of_lists(unnumbered, _SCALES)
    ranks = ranks or _of_numbered(unnumbered) or _of_poles(unnumbered)
    if ranks is None or len(set(ranks.values())) < len(ranks):
        return None
    return sorted(texts, key=lambda text: ranks[text])


Ranks = Mapping[str, float] | Mapping[str, tuple[float, float]]


def _of_ranges(words: Mapping[str, str]) -> Ranks | None:
    """Return the ends of each range, such as (5, 14) for "5 to 14", or None.

    All strings must be ranges of one unit without overlap.
    """
    ranges, units, n_wide = dict[str, tuple[float, float]](), set[frozenset[str]](), 0
    for text, word in words.items():
        if bracketed := _BRACKETS.fullmatch(word):
            if all(map(_END.fullmatch, bracketed.groups())):  # such as (-1,0] and (59,inf]
                ranges[text], n_wide = (float(bracketed[1]), float(bracketed[2])), n_wide + 1
                continue
            word = f"{bracketed[1]} - {bracketed[2].strip()}"
        word = re.sub(r"(?<=[^\W\d])(?=\d)", " ", word)  # Eurostat writes y_ge65 and e10_49
        word = _NUMBER_WORD.sub(lambda match: _NUMBER_WORDS[match[0]], word)
        word = re.sub(r"(?<=\d)\s*(<=?|≤)$", "+", word)  # 55<= means 55 and more
        word = "under 0" if word in WORDS["ranges"]["nothing"] else _BETWEEN.sub(" - ", word)
        amounts = [float(re.sub(r"[ ,.'](?=\d{3}(\D|$))", "", amount).replace(",", ".")) for amount in _AMOUNT.findall(word)]
        rest = _AMOUNT.sub(" ", word)
        below, above = _BELOW.search(rest), _ABOVE.search(rest)
        if not 1 <= len(amounts) <= 2 or amounts[0] > amounts[-1]:
            return None
        alone = len(amounts) == 1
        ranges[text] = (-math.inf if below and alone else amounts[0], math.inf if above and alone else amounts[-1])
        n_wide += bool(below or above or not alone)
        for bound in filter(None, (below, above)):
            rest = rest.replace(bound[0], " ")
        units.add(frozenset(unit.rstrip("s")[:4] for unit in re.findall(r"[^\W\d]+", rest)))
    top_coded = 0 < n_wide <= 2 and n_wide == sum(map(math.isinf, sum(ranges.values(), ())))  # 0, 1, 2, ..., 89, 90+
    in_words = all(map(_NUMBER_WORD.search, {*words.values()} - {*WORDS["ranges"]["nothing"]}))
    if (n_wide < len(ranges) / 2 and not top_coded and not in_words) or len(units - {frozenset()}) > 1:
        return None
    apart = all(low[1] <= high[0] or high[0] == -math.inf for low, high in pairwise(sorted(ranges.values())))
    return ranges if apart else None


def _of_lists(words: Mapping[str, str], lists: Sequence[Mapping[str, int]]) -> Ranks | None:
    ranks = next((ranks for ranks in lists if all(word in ranks for word in words.values())), None)
    return ranks and {text: ranks[word] for text, word in words.items()}


def _of_numbered(words: Mapping[str, str]) -> Ranks | None:
    """Return the number of each string such as "grade 2", "stage III" or "ISCED 5A", or None if a string has another form."""
    steps = {text: _NUMBERED.fullmatch(word) for text, word in words.items()}
    ranks = {text: (step["number"], step["letter"] or "") for text, step in steps.items() if step}
    if len(ranks) < len(words):
        return None
    return {
        text: float(_ROMAN.get(number, number)) + (ord(letter) / 1000 if letter else 0)
        for text, (number, letter) in ranks.items()
    }


def _of_poles(words: Mapping[str, str]) -> Ranks | None:
    """Return the position of each string on a scale such as "very low" to "very high", with middle 0, or None."""
    for low, high in _POLES:
        ranks = dict[str, float]()
        for text, word in words.items():
            stress, _, pole = word.rpartition(" ")
            if pole in low | high and (not stress or stress in _STRESS):
                ranks[text] = (1 if pole in high else -1) * _STRESS.get(stress, 2)
            elif _MIDDLE.fullmatch(word) and word not in low | high:
                ranks[text] = 0
            elif word == "excellent" and "good" in high:
                ranks[text] = 5
            else:
                break
        if len(ranks) == len(words):
            return ranks
    return None
