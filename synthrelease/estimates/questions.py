"""The questions of `synthrelease estimate`, in the words of the register.

    share CONDITION [by COLUMN] [where CONDITION]
    mean COLUMN [by COLUMN] [where CONDITION]
    median COLUMN [by COLUMN] [where CONDITION]
    slope COLUMN on COLUMN, COLUMN, ... [where CONDITION]

Conditions have the grammar of the plausibility rules, over the released bins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from synthrelease.bounds.conditions import Condition, in_one_line, parse_condition
from synthrelease.bounds.values import check_numbers
from synthrelease.errors import InputError, closest, cut, listing
from synthrelease.published import PublishedRelease

Kind = Literal["share", "mean", "median", "slope"]
_WORDS: dict[Kind, tuple[str, ...]] = {
    "share": ("by", "where"), "mean": ("by", "where"), "median": ("by", "where"), "slope": ("on", "where"),
}  # fmt: skip
_TOKEN = re.compile(r"'[^']*'|\"[^\"]*\"|\w+|\s+|.")
EXAMPLES = "'share age < 30 by sex', 'mean income where age >= 30' or 'slope income on age, hours'"


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question that a release can be asked.

    Attributes
    ----------
    kind : "share", "mean", "median" or "slope".
    text : as it was asked, with single blanks.
    column : whose mean, median or slopes are asked for; "" for a share.
    met : whose share is asked for; that of every row otherwise.
    where : which rows count.
    by : a column, for each bin of which a share, mean or median is asked for; "" for all rows together.
    on : the columns of a regression.
    """

    kind: Kind
    text: str
    column: str
    met: Condition
    where: Condition
    by: str = ""
    on: tuple[str, ...] = ()

    @property
    def columns(self) -> set[str]:
        """All columns that it names."""
        return {name for name in (self.column, self.by, *self.on) if name} | self.met.columns | self.where.columns


def parse_question(text: str, release: PublishedRelease) -> Question:
    """Read a question.

    Raises
    ------
    InputError : with what was expected and found, when it cannot be read, names what is not in the release, or cuts a bin.
    """
    text = in_one_line(text)
    word, _, rest = text.partition(" ")
    kind = _kind(word, text)
    head, parts = _parts(rest, _WORDS[kind], text)
    where = parse_condition(parts.get("where", ""), release)
    by = parts.get("by", "")
    if by and by not in release.by_name:
        raise _unknown(by, release, "one column after 'by'")
    if kind == "share":
        met = parse_condition(head, release)
        if met.rule is None:
            raise InputError(f"{cut(text, 200)!r}: expected a condition after 'share', found none; for example {EXAMPLES}.")
        return Question(kind=kind, text=text, column="", met=met, where=where, by=by)
    on = tuple(name.strip() for name in parts["on"].split(",")) if "on" in parts else ()
    if kind == "slope" and (not on or len({head, *on}) <= len(on)):
        found = listing(on) or "none"
        raise InputError(f"{cut(text, 200)!r}: expected different columns after 'on', none of them {head!r}; found {found}.")
    if kind == "median":
        _check_order(release, head)
    else:
        for name in (head, *on):
            check_numbers(release, name)
    return Question(kind=kind, text=text, column=head, met=parse_condition("", release), where=where, by=by, on=on)


def _check_order(release: PublishedRelease, name: str) -> None:
    """Raises InputError for a column that is not there, or whose bins have no order."""
    if name not in release.by_name:
        raise _unknown(name, release, "a column of the release")
    if not release.by_name[name].ordered:
        raise InputError(f"expected a column whose bins have an order, found {name!r}, whose bins have none.")


def _kind(word: str, text: str) -> Kind:
    singular = word.lower().removesuffix("s")
    for kind in get_args(Kind):
        if singular == kind:
            return kind  # type: ignore[no-any-return]
    hint = closest(word, get_args(Kind))
    raise InputError(
        f"expected a question that begins with 'share', 'mean', 'median' or 'slope', found {cut(text, 60)!r}; for example "
        f"{EXAMPLES}." + (f" Did you mean {hint!r}?" if hint else "")
    )


def _parts(rest: str, words: tuple[str, ...], text: str) -> tuple[str, dict[str, str]]:
    """What stands before the words, and after each of them; quoted text is left whole."""
    found: dict[str, str] = {}
    at, word = "", ""
    for token in _TOKEN.findall(rest):
        if token not in words:
            at += token
            continue
        found[word], word, at = at.strip(), token, ""
        if word in found:
            raise InputError(f"{cut(text, 200)!r}: expected {word!r} once, found it twice.")
    found[word] = at.strip()
    empty = [name for name, part in found.items() if name and not part]
    if empty:
        raise InputError(f"{cut(text, 200)!r}: expected something after {empty[0]!r}, found nothing.")
    return found.pop(""), found


def _unknown(name: str, release: PublishedRelease, expected: str) -> InputError:
    hint = closest(name, release.by_name)
    return InputError(
        f"expected {expected} ({listing(release.by_name, 40)}), found {cut(name, 60)!r}."
        + (f" Did you mean {hint!r}?" if hint else "")
    )
