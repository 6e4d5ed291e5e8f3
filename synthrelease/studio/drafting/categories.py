"""Columns of codes and categories: each by itself, the frequent ones, or what the first characters of a code say.

Categories that have an order, as ranges of numbers and steps of a scale have, are told by their words; of these neighbours are
joined, and never the rare ones with each other.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from synthrelease.data.texts import alike, bare
from synthrelease.errors import so_many
from synthrelease.studio.drafting.column_draft import NUMBER, Answers, CodeDraft, ColumnDraft, listed, plain_label, plain_name

MAX_CATEGORIES = 40
"""Categories that are released each by itself; of more, the frequent ones, and the others together."""
MAX_WELL_FILLED, WELL_FILLED = 100, 100
"""Categories that are released each by itself where at least half of them have so many rows."""
COMMON = 0.0025
"""Share of the rows from which on a category stays by itself where there are too many of them."""
MOST_TOGETHER = 0.2
"""Share of the rows of which no more than "all others" is told; above, the first characters of structured codes tell more."""
MAX_BEGINNINGS = 100
_LONGEST = 200
"""Characters of a code, at most, as a codelist has them."""
_WITH_POINT = re.compile(r"\d+(\.0+)?", re.ASCII)
_DECIMAL = re.compile(r"\d+(\.\d+)?", re.ASCII)
_LETTERS_FIRST = re.compile(r"([A-Za-z]{1,2})\d[0-9A-Za-z]*([.\-/][0-9A-Za-z]+)*", re.ASCII)
_DOTTED = re.compile(r"(\d{1,3})\.[0-9A-Za-z.]+", re.ASCII)


def draft_by_beginning(answers: Answers, taken: Collection[str]) -> ColumnDraft | None:
    """Codes of a classification by their first characters, where these make at most 100 groups.

    Such are the chapters of diagnoses (I21.4: I), groups of occupations (2310: 23), the counties of municipalities. Codes that
    the public file does not have lie in one of the groups, too.

    Returns
    -------
    None for few codes, codes that the codebook names, texts that are built in no such way, and where the frequent codes
    tell more.
    """
    texts = answers.texts
    if not are_too_many(texts) or (texts.keys() & answers.entry.labels.keys() and not answers.named_by):
        return None
    characters, named = _beginning(texts), share_of_frequent(texts)
    if not characters or named >= 1 - MOST_TOGETHER:
        return None
    groups = _together(texts, lambda text: text[:characters])
    first = "first character" if characters == 1 else f"first {characters} characters"
    many = len(_frequent(texts))
    have = "the most frequent has" if many == 1 else f"the {many} most frequent have"
    frequent = f"{have} {named:.0%} of its rows" if many else "none is frequent"
    remark = f"the {first} of {len(texts)} codes, of which {frequent}"
    grouped = replace(answers, texts=groups, entry=replace(answers.entry, labels={}) if answers.named_by else answers.entry)
    return replace(draft_codes(grouped, taken, remark, apart=True), kind="code", characters=characters)


def _beginning(texts: Collection[str]) -> int:
    """How many first characters say what a code is about; 0 where they do not tell, or make more than 100 groups.

    The letters before digits, the digits before a point, or the first two of at least four digits (more where all begin so).
    """
    for pattern in (_LETTERS_FIRST, _DOTTED):
        if found := [match[1] for text in texts if (match := pattern.fullmatch(text))]:
            same = len(found) == len(texts) and len({len(letters) for letters in found}) == 1
            return len(found[0]) if same and 1 < len(set(found)) <= MAX_BEGINNINGS else 0
    lengths = {len(text) for text in texts}
    if not all(map(str.isdigit, texts)) or len(lengths) > 1 or min(lengths) < 4:
        return 0  # of numbers that lost their leading zeros the first digits say nothing
    groups = {k: len({text[:k] for text in texts}) for k in range(2, min(lengths))}
    first = next((k for k, n in groups.items() if n > 1), 0)
    return first if first and groups[first] <= MAX_BEGINNINGS else 0


def _together(texts: Mapping[str, int], named: Callable[[str], str]) -> Mapping[str, int]:
    """How often each name occurs that texts are given."""
    found = Counter[str]()
    for text, times in texts.items():
        found[named(text)] += times
    return found


def are_too_many(texts: Mapping[str, int]) -> bool:
    """Whether categories are too many to stand by themselves."""
    well_filled = len(texts) <= MAX_WELL_FILLED and statistics.median(texts.values()) >= WELL_FILLED
    return len(texts) > MAX_CATEGORIES and not well_filled


def share_of_frequent(texts: Mapping[str, int]) -> float:
    """Share of the rows that have one of the codes that would stay by themselves."""
    return sum(texts[text] for text in _frequent(texts)) / sum(texts.values())


def _frequent(texts: Mapping[str, int]) -> list[str]:
    """The codes that stay by themselves where there are too many of them."""
    rows = sum(texts.values())
    first = sorted(texts, key=lambda text: -texts[text])[: MAX_CATEGORIES - 1]
    return [text for text in first if texts[text] >= COMMON * rows]


def draft_codes(answers: Answers, taken: Collection[str], remark: str, *, apart: bool = False) -> ColumnDraft:
    """A column whose texts are codes or categories, with the labels that the codebook gives them.

    Parameters
    ----------
    apart : whether each stays apart, however many there are.
    """
    written = answers
    answers, spellings = _in_one_spelling(answers)
    known = {**{text: text for text in answers.texts}, **answers.entry.labels}
    order = [text for text in known if text not in answers.missing_values and text.isprintable() and len(text) <= _LONGEST]
    listed = set(order)
    unlisted = {text: times for text, times in answers.texts.items() if text not in listed}
    named = bool(answers.entry.labels)
    order.sort(key=_in_order)
    by_words = None if unlisted or apart else in_their_order([known[text] for text in order])
    if by_words:
        order.sort(key=lambda text: by_words.index(known[text]))
    used = [plain_label(known[text]) for text in order]
    codes = {}
    for text, label in zip(order, used, strict=True):
        shown = label if used.count(label) == 1 else plain_label(f"{label} ({text})")
        codes[text] = CodeDraft(label=shown, rows=answers.texts.get(text, 0), spellings=spellings.get(text, ()))
    rows = answers.rows
    rare = [draft.label for draft in codes.values() if draft.rows < 0.01 * rows]
    common: tuple[str, ...] = ()
    rows_of = {text: draft.rows for text, draft in codes.items()}
    if by_words:
        remark += "; in the order of their words, so that neighbours may be joined"
    elif not apart and are_too_many(rows_of):
        frequent = set(_frequent(rows_of))
        common = tuple(text for text in order if text in frequent)
        each = f"each with at least {COMMON:.2%} of its rows"
        remark += f"; the {len(common)} most frequent, {each}, and all others together"
    elif unlisted and order and not apart:
        common = tuple(order)
        remark += f"; {_unlisted_in_words(unlisted)} ({so_many(sum(unlisted.values()), 'row')}) as all others"
    if rare and not common:
        remark += f"; below 1% of its rows: {', '.join(rare)}"
    remark += _spellings_in_words(spellings)
    as_numbers = all(NUMBER.fullmatch(text) for text in answers.texts)
    plain = by_words is not None or not (named or common or (as_numbers and not any(spellings.values())))
    drafted = ColumnDraft(
        name=plain_name(answers.source, taken),
        source=answers.source,
        kind="category" if plain else "code",
        ordered=by_words is not None,
        remark=remark,
        doubt=_spelling_question(written, spellings),
        description=answers.entry.description,
        codes=codes,
        common=common,
        missing_values=answers.missing_values,
        missing_label=answers.label_of_missing,
        missing_rows=answers.missing_rows,
    )
    return with_neighbours_joined(drafted, COMMON) if by_words and are_too_many(rows_of) else drafted


def with_neighbours_joined(column: ColumnDraft, least: float) -> ColumnDraft:
    """Return a column of ordered categories in groups of neighbours that have so large a share of its rows each.

    Neighbours are joined from the first category on; what is left of the last ones joins the last group. Categories that stay
    by themselves keep their names.
    """
    total = sum(code.rows for code in column.codes.values())
    groups, group, rows = list[list[str]](), list[str](), 0
    for text, code in column.codes.items():
        group.append(text)
        rows += code.rows
        if rows >= least * total:
            groups.append(group)
            group, rows = [], 0
    if group and groups:
        groups[-1] += group
    return _in_groups(column, {_group_label([column.codes[text].label for text in group]): group for group in groups})


def with_levels_joined(column: ColumnDraft, least: float) -> ColumnDraft:
    """Return a column of categories within larger ones, with the rare ones of each larger category together.

    Where all of a larger category is rare, it stands for itself.
    """
    total = sum(code.rows for code in column.codes.values())
    groups = dict[str, list[str]]()
    for text, code in column.codes.items():
        home = column.within[text]
        whole = sum(column.codes[other].rows for other, larger in column.within.items() if larger == home)
        label = code.label if code.rows >= least * total else home if whole < least * total else f"other: {home}"
        groups.setdefault(label, []).append(text)
    singles = {label: column.codes[texts[0]].label for label, texts in groups.items() if len(texts) == 1}
    return _in_groups(column, {singles.get(label, label): texts for label, texts in groups.items()})


def _in_groups(column: ColumnDraft, groups: Mapping[str, Sequence[str]]) -> ColumnDraft:
    """Return the column in these groups; as it is where they are its own categories, or one group alone."""
    if not 2 <= len(groups) < len(column.codes):
        return column
    return replace(column, groups={label: tuple(texts) for label, texts in groups.items()})


def _group_label(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else plain_label(f"{labels[0]} {'or' if len(labels) == 2 else 'to'} {labels[-1]}")


_YES = listed("true|t|yes|y|1|1.0|on|ja|j|oui|o|si|sí|s|sim|sì|tak|wahr|vrai|verdadero")
_NO = listed("false|f|no|n|0|0.0|off|nein|non|não|nao|nie|falsch|faux|falso")
_ZERO_FIRST = re.compile(r"0\d+", re.ASCII)


def _in_one_spelling(answers: Answers) -> tuple[Answers, Mapping[str, tuple[str, ...]]]:
    """Merge the texts that are one answer in several spellings; return the other spellings of each remaining text.

    Texts are one answer when they differ by capitals, spaces, hidden characters or how an accent is stored ("Ja", "JA "), when
    a column holds nothing but words for yes and no ("TRUE", "yes", "1"), and when a code lost its leading zeros ("7", "0007").
    The most frequent spelling stays; 1.0 is 1. Codes of a codebook stay as they are, and so do texts of which there are many.
    """
    texts = answers.texts
    padded = {text for text in texts if _ZERO_FIRST.fullmatch(text)}
    if all(map(_WITH_POINT.fullmatch, texts)) and not padded and not texts.keys() & answers.entry.labels.keys():
        return replace(answers, texts=_together(texts, lambda text: text.partition(".")[0])), {}
    if all(map(_DECIMAL.fullmatch, texts)) and not answers.entry.labels:  # 12 is 12.0, as a release reads it
        frequent = {_without_zeros(text): text for text in sorted(texts, key=lambda text: texts[text])}
        texts = _together(texts, lambda text: frequent[_without_zeros(text)])
        answers = replace(answers, texts=texts)
    width = _code_width(texts)
    words = {text: " ".join(bare(text).casefold().split()) for text in texts}
    if set(words.values()) <= _YES | _NO and not _YES.isdisjoint(words.values()) and not _NO.isdisjoint(words.values()):
        words = {text: "yes" if word in _YES else "no" for text, word in words.items()}
    of_word: dict[str, list[str]] = {}
    for text in sorted(texts, key=lambda text: -texts[text]):
        of_word.setdefault(words[text].zfill(width), []).append(text)
    if answers.entry.labels or len(of_word) == len(texts) or len(texts) > MAX_CATEGORIES:
        return answers, {}
    written = Counter[str]()
    for text, times in texts.items():
        written[_capitals(text)] += times
    for group in of_word.values():  # the labels of a column are written alike where the file allows it
        group.sort(key=lambda text: (not text.isprintable(), len(text) != width if width else -written[_capitals(text)]))
    merged = {group[0]: sum(texts[text] for text in group) for group in of_word.values()}
    return replace(answers, texts=merged), {group[0]: tuple(group[1:]) for group in of_word.values()}


def _capitals(text: str) -> str:
    """Return how a text uses capitals: "lower", "UPPER", "First", or another way."""
    return next((way for way in ("lower", "upper", "capitalize", "title") if getattr(text, way)() == text), "mixed")


def _without_zeros(number: str) -> str:
    """Return a number without needless zeros at the end of its fraction."""
    return number.rstrip("0").rstrip(".") if "." in number else number


def _code_width(texts: Collection[str]) -> int:
    """Return how many digits all codes have that start with 0 where shorter ones have lost their zeros; 0 elsewhere."""
    padded = {len(text) for text in texts if _ZERO_FIRST.fullmatch(text)}
    lengths = {len(text) for text in texts}
    return max(padded) if len(padded) == 1 and all(map(str.isdigit, texts)) and max(lengths) in padded else 0


def _spelling_question(answers: Answers, spellings: Mapping[str, tuple[str, ...]]) -> str:
    """Return the question about spellings that mean the same only if the steward says so; empty where there are none."""
    lost = [text for text in answers.texts if len(text) < _code_width(answers.texts)]
    if lost and not spellings:
        return (
            f"{len(lost)} of {len(answers.texts)} codes have lost their leading zeros, such as {lost[0]!r}. As they are, each "
            f"counts as a code of its own. Write all codes with {_code_width(answers.texts)} digits and draft again"
        )
    merged = [
        (first, *rest) for first, rest in spellings.items() if len({bare(text).casefold() for text in (first, *rest)}) > 1
    ]
    if not merged or not (lost or {bare(text).casefold() for text in merged[0]} <= _YES | _NO):
        return ""
    shown = "; ".join(" = ".join(map(repr, group)) for group in merged[:3])
    change = f"Apart, the column would have {len(answers.texts)} categories and not {len(spellings)}"
    return f"are these one answer each: {shown}? {change}. If they differ, list them apart under categories"


def _unlisted_in_words(texts: Collection[str]) -> str:
    """Texts that no list can hold, and why."""
    unprintable = [ascii(text) for text in texts if len(text) <= _LONGEST]
    shown = ", ".join(unprintable[:3]) + (f" and {len(unprintable) - 3} more" if len(unprintable) > 3 else "")
    long = len(texts) - len(unprintable)
    reasons = [f"{so_many(len(unprintable), 'text')} with characters that cannot be printed ({shown})"] if unprintable else []
    return " and ".join([*reasons, *([f"{so_many(long, 'text')} of more than {_LONGEST} characters"] if long else [])])


def _spellings_in_words(spellings: Mapping[str, tuple[str, ...]]) -> str:
    """Which texts count as one category, for a remark; texts that look the same are shown with their codes."""
    groups = [(first, *others) for first, others in spellings.items() if others]
    shown = [" = ".join(map(ascii if alike(group) else repr, group)) for group in groups[:3]]
    more = f", and {len(groups) - 3} more" if len(groups) > 3 else ""
    return f"; counted as one category: {', '.join(shown)}{more}" if groups else ""


def _in_order(text: str) -> tuple[int, float, str]:
    """Numbers by size, before texts."""
    return (0, float(text), text) if NUMBER.fullmatch(text) and math.isfinite(float(text)) else (1, 0.0, text)


# The order of categories that are texts: ranges of numbers, steps of a scale, months and weekdays.

_BELOW = r"<=?|≤|under|below|less than|fewer than|up to|until|unter|bis zu|bis|moins de|jusqu.?à|menos de|hasta|minder dan"
_ABOVE = (
    r">=?|≥|\+|over|above|more than|at least|from|older than|(?:and|or|&) (?:over|above|more|older|up|greater)|über|ab"
    r"|mindestens|(?:und|oder) (?:mehr|älter|darüber)|plus de|(?:et|ou) plus|plus|más de|(?:y|o) más|meer dan|(?:en|of) meer"
)
_AMOUNT = re.compile(r"\d+(?:[ ,.']\d{3})+(?!\d)|\d+(?:[.,]\d+)?")
_BETWEEN = re.compile(
    r"(?<=\d)\s*[^\W\d]*?\s*(?:-|–|—|to|bis|à|a|y|and|und|et|\.\.+)\s+?(?:under |unter )?[$€£]?(?=\d)"
    r"|(?<=\d)[-–—][$€£]?(?=\d)"
)
_BRACKETS = re.compile(r"[\[(](.+?)[,;](.+?)[\])]")
_NOTHING = ("none", "no", "nothing", "keine", "aucun", "ninguno")
_STEPS = re.compile(
    r"(grade|stage|level|class|tier|quintile|quartile|decile|degree|step|stufe|grad|stadium|niveau|nivel|phase)s?"
)
_ROMAN = {"i": "1", "ii": "2", "iii": "3", "iv": "4", "v": "5", "vi": "6"}
_CALENDARS = tuple(
    tuple(names.split())
    for names in (
        "january february march april may june july august september october november december",
        "januar februar märz april mai juni juli august september oktober november dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "januari februari mars april maj juni juli augusti september oktober november december",
        "monday tuesday wednesday thursday friday saturday sunday",
        "montag dienstag mittwoch donnerstag freitag samstag sonntag",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        "lunes martes miércoles jueves viernes sábado domingo",
    )
)
_SCALES = tuple(
    tuple(tuple(step.split("|")) for step in steps.split(" < "))
    for steps in (
        "never|not at all|none < almost never|rarely|seldom|hardly ever|a little|a little bit|several days < sometimes"
        "|occasionally|somewhat|some < often|frequently|quite a bit|more than half the days|a lot < usually|very often"
        "|nearly every day|very much < almost always < always|extremely",
        "never < yearly|once a year < monthly|once a month < weekly|once a week < daily|every day",
        "none|no|normal|absent < minimal|trace|very mild < mild|slight|minor < moderate < serious|marked|major < severe"
        " < very severe|extreme|critical < fatal|dead|death",
        "nie < selten < manchmal|gelegentlich < oft|häufig < sehr oft|meistens < immer",
        "jamais < rarement < parfois < souvent < très souvent < toujours",
        "nunca < raramente|casi nunca < a veces < a menudo|con frecuencia < casi siempre < siempre",
        "sehr niedrig|sehr gering < niedrig|gering < mittel < hoch < sehr hoch",
        "très faible < faible < moyen < élevé|fort < très élevé|très fort",
        "muy bajo < bajo < medio < alto < muy alto",
        "xs < s < m < l < xl < xxl < xxxl",
        "no schooling|no education|none < preschool < primary|elementary|less than high school < lower secondary < secondary"
        "|high school|upper secondary < post-secondary|some college < tertiary|college|bachelor|bachelor's|bachelors"
        " < master|master's|masters|postgraduate < doctorate|phd",
    )
)
"""Steps of scales, the least first, with the words for each."""
_POLES = tuple(
    (frozenset(low.split()), frozenset(high.split()))
    for low, high in (
        ("disagree", "agree"), ("dissatisfied unsatisfied", "satisfied"), ("unlikely", "likely"), ("unimportant", "important"),
        ("poor bad", "good"), ("low", "high"), ("small", "large big"), ("easy", "difficult hard"), ("weak", "strong"),
        ("worse", "better"), ("unhappy", "happy"), ("decreased", "increased"), ("oppose", "support favor favour"),
        ("short", "long tall"), ("cold", "hot"), ("young", "old"), ("uncomfortable", "comfortable"), ("unfair", "fair"),
    )
)  # fmt: skip
_MIDDLE = re.compile(
    r"neutral|neither.*|undecided|medium|middle|moderate|average|fair|intermediate|same|unchanged|mixed|normal"
)
_STRESS = {
    **dict.fromkeys(("strongly", "completely", "totally", "extremely", "entirely", "fully"), 4),
    **dict.fromkeys(("very", "much", "definitely", "highly"), 3),
    **dict.fromkeys(("moderately", "fairly", "rather", "mostly", "generally", "quite", "probably"), 1.5),
    **dict.fromkeys(("somewhat", "slightly", "partly", "mildly", "a little", "tend to", "a bit"), 1),
}


def in_their_order(texts: Collection[str]) -> list[str] | None:
    """Return categories in the order that their words say, the least first; None where they say none.

    Examples
    --------
    >>> in_their_order(["5 to 14", "under 5", "65+", "15 to 64"])
    ['under 5', '5 to 14', '15 to 64', '65+']
    >>> in_their_order(["agree", "strongly disagree", "neutral", "disagree"])
    ['strongly disagree', 'disagree', 'neutral', 'agree']
    >>> in_their_order(["north", "south", "low"])
    """
    words = {text: " ".join(bare(text).casefold().replace("_", " ").split()) for text in texts}
    if len(texts) < 3:
        return None
    unnumbered = {text: re.sub(r"^\(?\d{1,2}[.):]?\s*[-=.):]?\s+", "", word) for text, word in words.items()}
    ranks = _of_ranges(words) or _of_calendar(words) or _of_scale(unnumbered) or _of_poles(unnumbered)
    if ranks is None or len(set(ranks.values())) < len(ranks):
        return None
    return sorted(texts, key=lambda text: ranks[text])


def _of_ranges(words: Mapping[str, str]) -> dict[str, tuple[float, float]] | None:
    """Return the lowest and highest number of each range; None unless all are ranges, of one unit, that do not overlap."""
    ranges, units, wide = dict[str, tuple[float, float]](), set[frozenset[str]](), 0
    for text, word in words.items():
        if bracketed := _BRACKETS.fullmatch(word):
            word = f"{bracketed[1]} - {bracketed[2].strip()}"
        word = "under 0" if word in _NOTHING else _BETWEEN.sub(" - ", word)
        amounts = [float(re.sub(r"[ ,.'](?=\d{3}(\D|$))", "", amount).replace(",", ".")) for amount in _AMOUNT.findall(word)]
        rest = _AMOUNT.sub(" ", word)
        below, above = (re.search(rf"(?:^|(?<=[\s$€£]))({pattern})(?=$|[\s$€£])", rest) for pattern in (_BELOW, _ABOVE))
        if not 1 <= len(amounts) <= 2 or amounts[0] > amounts[-1]:
            return None
        alone = len(amounts) == 1
        ranges[text] = (-math.inf if below and alone else amounts[0], math.inf if above and alone else amounts[-1])
        wide += bool(below or above or not alone)
        for bound in filter(None, (below, above)):
            rest = rest.replace(bound[0], " ")
        units.add(frozenset(unit.rstrip("s")[:4] for unit in re.findall(r"[^\W\d]+", rest)))
    if wide < len(ranges) / 2 or len(units - {frozenset()}) > 1:
        return None
    by_size = sorted(ranges.values())
    return ranges if all(one[1] <= other[0] or one[0] == -math.inf for one, other in pairwise(by_size)) else None


def _of_calendar(words: Mapping[str, str]) -> dict[str, float] | None:
    """Return the place of each month or weekday, also where they are cut to three letters."""
    for names in _CALENDARS:
        places = {name: place for place, name in enumerate(names)} | {name[:3]: place for place, name in enumerate(names)}
        plain = {text: word.rstrip(".") for text, word in words.items()}
        if all(word in places for word in plain.values()):
            return {text: places[word] for text, word in plain.items()}
    return None


def _of_scale(words: Mapping[str, str]) -> dict[str, float] | None:
    """Return the step of each text on a scale, or the number of a grade or stage."""
    for steps in _SCALES:
        places = {word: place for place, step in enumerate(steps) for word in step}
        if all(word in places for word in words.values()):
            return {text: places[word] for text, word in words.items()}
    numbers = dict[str, float]()
    for text, word in words.items():
        noun, _, number = word.rpartition(" ")
        number = _ROMAN.get(number, number)
        if not (_STEPS.fullmatch(noun) and number.isdigit()):
            return None
        numbers[text] = float(number)
    return numbers


def _of_poles(words: Mapping[str, str]) -> dict[str, float] | None:
    """Return how far each text is from the middle of a scale between two poles, such as very low and very high."""
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
