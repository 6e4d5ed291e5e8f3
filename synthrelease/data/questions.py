"""Parse questions about a release, such as "mean income by sex", from commands and configurations.

    share CONDITION [by COLUMN] [where CONDITION]
    mean COLUMN [by COLUMN] [where CONDITION]
    median COLUMN [by COLUMN] [where CONDITION]
    quantile NUMBER COLUMN [by COLUMN] [where CONDITION]
    slope COLUMN on COLUMN, COLUMN, ... [where CONDITION]
    ratio COLUMN to COLUMN [where CONDITION]

Shares, means, medians or quantiles of two groups can be compared:

    share CONDITION: CONDITION against CONDITION [where CONDITION]

The second group may omit a column that is the same as in the first ("mother_age >= 35 against < 35"), or be "the rest". If a
question other than a ratio ends with "weighted", every row counts with its design weight.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from synthrelease.errors import InputError, closest, cut, listing

Kind = Literal["share", "mean", "median", "quantile", "slope", "ratio"]
QUANTILES: tuple[Kind, ...] = ("median", "quantile")
"""Kinds of questions whose answer is a bin."""
_WORDS: dict[Kind, tuple[str, ...]] = {
    **dict.fromkeys(("share", "mean", *QUANTILES), (":", "against", "by", "where")),
    "slope": ("on", "where"),
    "ratio": ("to", "where"),
}
_COMPARED = re.compile(r"\s*(<=?|>=?|[=!]=|in\b|is\b)")
_TOKEN = re.compile(r"'[^']*'|\"[^\"]*\"|\w+|\s+|.")
EXAMPLES = (
    "'share age < 30 by sex', 'mean income where age >= 30', 'slope income on age, hours' or "
    "'share income < 900: age >= 60 against < 60'"
)


@dataclass(frozen=True, kw_only=True)
class QuestionWords:
    """The parts of a question: its kind, the text after the kind, and the text after each further keyword.

    For "mean income by sex where age >= 30", `kind` is "mean", `head` "income", `by` "sex" and `where` "age >= 30". `groups`
    contains the conditions of two compared groups, if any, and `quantile` the order of the quantile, strictly between 0 and 1:
    0.5 for a median.
    """

    kind: Kind
    text: str
    head: str
    where: str = ""
    by: str = ""
    on: str = ""
    to: str = ""
    groups: tuple[str, ...] = ()
    weighted: bool = False
    quantile: float = 0.5

    @property
    def conditions(self) -> tuple[str, ...]:
        return tuple(part for part in (self.head if self.kind == "share" else "", self.where, *self.groups) if part)

    @property
    def columns(self) -> tuple[str, ...]:
        columns = ("" if self.kind == "share" else self.head, self.by, self.to, *(name.strip() for name in self.on.split(",")))
        return tuple(name for name in columns if name)


def split_question(text: str) -> QuestionWords:
    """Split a question into its parts, without parsing its conditions.

    Raises
    ------
    InputError : if the grammar does not allow the question.
    """
    text = " ".join(text.split())
    word, _, rest = text.partition(" ")
    kind = _kind(word, text)
    rest, weighted = _without_weighted(rest)
    if weighted and kind == "ratio":
        raise InputError(f"{cut(text, 200)!r}: A ratio cannot be weighted. Use a share, mean, median, quantile or slope.")
    head, parts = _parts(rest, _WORDS[kind], text)
    if kind == "share" and not head:
        raise InputError(f"{cut(text, 200)!r}: The condition after 'share' is missing. Examples: {EXAMPLES}.")
    groups = _two_groups(parts, text) if {":", "against"} & set(parts) else ()
    if kind == "ratio" and "to" not in parts:
        raise InputError(f"{cut(text, 200)!r}: A ratio needs 'to' and a second column, as in 'ratio income to hours'.")
    named = {name: parts.get(name, "") for name in ("where", "by", "on", "to")}
    quantile = 0.5
    if kind == "quantile":
        of, _, head = head.partition(" ")
        if not (head and re.fullmatch(r"0?\.\d+", of) and float(of)):
            needed = "'quantile' needs a number between 0 and 1 and a column, as in 'quantile 0.9 income'"
            raise InputError(f"{cut(text, 200)!r}: {needed}.")
        quantile = float(of)
    return QuestionWords(kind=kind, text=text, head=head, groups=groups, weighted=weighted, quantile=quantile, **named)


def _without_weighted(rest: str) -> tuple[str, bool]:
    """Remove the keyword "weighted" from the end of a question, and return whether it was there. A column of this name
    stays."""
    head, _, last = rest.rpartition(" ")
    in_condition = ("by", "on", "to", "where", "against", "and", "or", "not")
    of_column = not head or head[-1] in ",:=<>" or head.rpartition(" ")[2] in in_condition
    return (rest, False) if last != "weighted" or of_column else (head, True)


def is_question(text: str) -> bool:
    """Return whether a text is a question, and not a condition whose column is named like a kind of question, such as
    "share"."""
    word, _, rest = text.strip().partition(" ")
    return word.lower().removesuffix("s") in get_args(Kind) and not _COMPARED.match(rest)


def _two_groups(parts: dict[str, str], text: str) -> tuple[str, str]:
    """Return the conditions before and after "against", with the column that the second may omit."""
    if list(parts)[:2] != [":", "against"] or "by" in parts:
        raise InputError(
            f"{cut(text, 200)!r}: To compare two groups, write 'CONDITION against CONDITION' after a colon, as in 'share "
            "income < 900: age >= 60 against < 60'. A comparison cannot have 'by'. Ask about one group at a time, with 'where'."
        )
    first, second = parts[":"], parts["against"]
    if second in ("rest", "the rest"):
        return first, f"not ({first})"
    if not _COMPARED.match(second):
        return first, second
    tokens = _TOKEN.findall(first)
    if not _COMPARED.match("".join(tokens[1:])) or {"and", "or", "not"} & set(tokens):
        why = f"because {cut(first, 60)!r} is not a single comparison"
        raise InputError(f"{cut(text, 200)!r}: Name the column again before {cut(second, 60)!r}, {why}.")
    return first, f"{tokens[0]} {second}"


def _kind(word: str, text: str) -> Kind:
    singular = word.lower().removesuffix("s")
    for kind in get_args(Kind):
        if singular == kind:
            return kind
    hint = closest(word, get_args(Kind))
    raise InputError(
        f"{cut(text, 60)!r} is not a question that can be answered. A question begins with one of {listing(get_args(Kind))}. "
        f"Examples: {EXAMPLES}." + (f" Did you mean {hint!r}?" if hint else "")
    )


def _parts(rest: str, words: tuple[str, ...], text: str) -> tuple[str, dict[str, str]]:
    """Return the text before the first keyword, and the text after each. Text in quotes is not split."""
    parts: dict[str, str] = {}
    at, word = "", ""
    for token in _TOKEN.findall(rest):
        if token not in words:
            at += token
            continue
        parts[word], word, at = at.strip(), token, ""
        if word in parts:
            raise InputError(f"{cut(text, 200)!r}: The word {word!r} may occur only once in a question.")
    parts[word] = at.strip()
    empty = [name for name, part in parts.items() if name and not part]
    if empty:
        raise InputError(f"{cut(text, 200)!r}: The column or condition after {empty[0]!r} is missing.")
    return parts.pop(""), parts
