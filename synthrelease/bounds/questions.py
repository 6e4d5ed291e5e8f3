"""The questions of `estimate` and `bound` over the columns of a release; their words are in `data/questions.py`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from synthrelease.bounds.conditions import AskedOf, Condition, in_one_line, parse_condition
from synthrelease.bounds.values import check_numbers
from synthrelease.data.linked import NAME_OR_TEXT, in_slot
from synthrelease.data.questions import Kind, QuestionWords, split_question
from synthrelease.errors import InputError, closest, cut, listing


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
    groups : the two groups that are compared, the exposed one first; none otherwise.
    slots : of a question about members, the same of the member of each slot: what it asks for is added up over them. Its own
        names are those of columns of a member. Empty for a question about rows.
    """

    kind: Kind
    text: str
    column: str
    met: Condition
    where: Condition
    by: str = ""
    on: tuple[str, ...] = ()
    groups: tuple[Condition, ...] = ()
    slots: tuple[Question, ...] = ()

    @property
    def parts(self) -> tuple[Question, ...]:
        """What is added up: the questions of all slots; or itself."""
        return self.slots or (self,)

    @property
    def columns(self) -> set[str]:
        """All columns that it names."""
        named = {name for name in (self.column, self.by, *self.on) if name}
        return named.union(*(condition.columns for condition in (self.met, self.where, *self.groups)))


def parse_question(text: str, release: AskedOf) -> Question:
    """Read a question.

    Where it names a column of members, it is about members: the same is asked of the member of each slot.

    Raises
    ------
    InputError : with what was expected and found, when it cannot be read, names what is not in the release, or cuts a bin.
    """
    words, linked = split_question(in_one_line(text)), release.linked
    names = set() if linked is None else set(linked.names) - set(release.by_name)
    if linked is None or not names & _named(words):
        return _of_rows(words, release)
    slots = tuple(_of_rows(_in_slot(words, names, place), release) for place in range(1, linked.most + 1))
    first = slots[0]
    return replace(
        first,
        text=words.text,
        column="" if words.kind == "share" else words.head,
        met=replace(first.met, text=words.head if words.kind == "share" else ""),
        where=replace(first.where, text=words.where),
        by=words.by,
        on=_columns(words.on),
        groups=tuple(replace(group, text=said) for group, said in zip(first.groups, words.groups, strict=True)),
        slots=slots,
    )


def _named(words: QuestionWords) -> set[str]:
    """Everything in a question that may be a column."""
    return {*words.columns, *(match[0].partition(".")[0] for each in words.conditions for match in NAME_OR_TEXT.finditer(each))}


def _in_slot(words: QuestionWords, names: set[str], place: int) -> QuestionWords:
    """The question, of the member at this place."""

    def renamed(text: str) -> str:
        return in_slot(text, names, place)

    return replace(
        words,
        text=renamed(words.text),
        head=renamed(words.head),
        where=renamed(words.where),
        by=renamed(words.by),
        on=renamed(words.on),
        groups=tuple(map(renamed, words.groups)),
    )


def _columns(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",")) if text else ()


def _of_rows(words: QuestionWords, release: AskedOf) -> Question:
    kind, text, head, by = words.kind, words.text, words.head, words.by
    where = parse_condition(words.where, release)
    if by and by not in release.by_name:
        raise _unknown(by, release, "one column after 'by'")
    groups = tuple(parse_condition(group, release) for group in words.groups)
    if kind == "share":
        met = parse_condition(head, release)
        return Question(kind=kind, text=text, column="", met=met, where=where, by=by, groups=groups)
    on = _columns(words.on)
    if kind == "slope" and (not on or len({head, *on}) <= len(on)):
        found = listing(on) or "none"
        raise InputError(f"{cut(text, 200)!r}: expected different columns after 'on', none of them {head!r}; found {found}.")
    if kind == "median":
        _check_order(release, head)
    else:
        for name in (head, *on):
            check_numbers(release, name)
    met = parse_condition("", release)
    return Question(kind=kind, text=text, column=head, met=met, where=where, by=by, on=on, groups=groups)


def _check_order(release: AskedOf, name: str) -> None:
    """Raises InputError for a column that is not there, or whose bins have no order."""
    if name not in release.by_name:
        raise _unknown(name, release, "a column of the release")
    if not release.by_name[name].ordered:
        raise InputError(f"expected a column whose bins have an order, found {name!r}, whose bins have none.")


def _unknown(name: str, release: AskedOf, expected: str) -> InputError:
    hint = closest(name, release.by_name)
    return InputError(
        f"expected {expected} ({listing(release.by_name, 40)}), found {cut(name, 60)!r}."
        + (f" Did you mean {hint!r}?" if hint else "")
    )


def about(release: AskedOf, asked: Question, rows: str) -> str:
    """What is counted, of which rows of the file."""
    if release.linked is None:
        return rows
    if not asked.slots:
        of_members = {name for slot in release.linked.slots for name in slot}
        named = asked.met.columns & of_members
        if not named or asked.where.columns & of_members:
            return rows
        return f"{rows}; a row is a root, and the share of {min(named)} is among all roots, with and without that member"
    first = f", the first {len(asked.slots)} of each," if release.linked.more == "first" else ""
    return f"the members{first} of {rows}; a row is a root with its members"
