"""Two tables with a key between them as one: a root with all its members is one wide record.

A wide record has the columns of the root, the number of its members, and then a slot for each member that it can have, with
every column of a member. A slot that no member fills has the last bin of each of its columns. So whatever works with records
works with roots and their members: a record is a root with all of them, and replacing it replaces all of them.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np

NAME_OR_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"|(?:first\.|other\.)?[^\W\d]\w*(?:\.\w+)?")
"""In a condition: a text in quotes, or a name, with a level behind a point; `first.` or `other.` before another member's."""

FIRST, OTHER = "first.", "other."

Stated = TypeVar("Stated")

ABSENT = "absent"
"""The label of a slot that no member fills, where a column of members has no bin of missing values."""


@dataclass(frozen=True, kw_only=True)
class Linked:
    """How the members of a root stand in its record.

    Attributes
    ----------
    key : the column of both files that says whose member a row is; released under this name, as new numbers.
    size : the name of the column with the number of members.
    names : of the columns of a member.
    slots : for each member that a root can have, the names of its columns in the wide record, in the order of `names`.
    whole : those of `names` in which a member that is there has a value; in the others it may be missing.
    least : members that a kept root has, at least.
    more : what happens to members above so many: "first" keeps the first ones, "drop" leaves out the root with all of them.
    order : columns of the members' file by which they are ordered.
    reference : (column, text) of the members who come first; None for none.
    """

    key: str
    size: str
    names: tuple[str, ...]
    slots: tuple[tuple[str, ...], ...]
    whole: frozenset[str]
    least: int = 0
    more: Literal["first", "drop"] = "first"
    order: tuple[str, ...] = ()
    reference: tuple[str, str] | None = None

    @property
    def most(self) -> int:
        """Members of a root, at most."""
        return len(self.slots)

    def numbers(self, bins: np.ndarray) -> np.ndarray:
        """Return (n_rows,) how many members roots have, by the bins of the column with their number."""
        numbers: np.ndarray = np.minimum(bins.astype(np.int64) + self.least, self.most)
        return numbers

    @cached_property
    def needed(self) -> frozenset[str]:
        """Return the columns of slots in which an existing member has a value."""
        return frozenset(
            name for slot in self.slots for name, plain in zip(slot, self.names, strict=True) if plain in self.whole
        )

    def between(self, names: Sequence[str], sizes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return how many members a root in each cell of a table of the wide record has.

        Parameters
        ----------
        names, sizes : of the columns of the table.

        Returns
        -------
        tuple : two arrays of shape `sizes`, the least number and the largest; the least is above the largest where no root is.
        """
        low, high = np.full(sizes, self.least), np.full(sizes, self.most)
        for axis, (name, size) in enumerate(zip(names, sizes, strict=True)):
            bins = np.arange(size).reshape([-1 if other_axis == axis else 1 for other_axis in range(len(names))])
            if name == self.size:
                low, high = np.maximum(low, self.numbers(bins)), np.minimum(high, self.numbers(bins))
            slot = self.place_of(name)
            if slot is not None:
                low = np.where(bins < size - 1, np.maximum(low, slot + 1), low)
                if name in self.needed:
                    high = np.where(bins == size - 1, np.minimum(high, slot), high)
        return low, high

    def place_of(self, name: str) -> int | None:
        """Return the slot that a column of the wide record belongs to, from 0; None for one of roots."""
        return next((index for index, slot in enumerate(self.slots) if name in slot), None)

    def empty(self, names: Sequence[str], sizes: Sequence[int], bins: Sequence[np.ndarray]) -> None:
        """Give the slots of wide rows that no member fills their last bin, in place.

        Parameters
        ----------
        names, sizes, bins : of the columns of the wide record: what they are called, how many bins they have, and (n_rows,) the
            bin of each row.
        """
        number = self.numbers(bins[names.index(self.size)])
        for index, slot in enumerate(self.slots):
            for column in map(names.index, slot):
                bins[column][number <= index] = sizes[column] - 1

    def in_order(self, names: Sequence[str], bins: Sequence[np.ndarray], ordering: Container[str]) -> list[np.ndarray]:
        """Return wide rows whose members stand in the increasing order of their bins, whichever slots they had before.

        Parameters
        ----------
        names, bins : of the columns of the wide record: what they are called, and (n_rows,) the bin of each row.
        ordering : the columns whose bins order the members, and that are put in order; in all slots, or in none.
        """
        ordered_bins = list(bins)
        columns = [tuple(map(names.index, same)) for same in zip(*self.slots, strict=True) if same[0] in ordering]
        if not columns:
            return ordered_bins
        of_slots = [np.stack([bins[column] for column in same], axis=1) for same in columns]
        order = np.lexsort(of_slots[::-1])  # slots without a member have the last bins, and stay last
        for same, values in zip(columns, of_slots, strict=True):
            ordered = np.take_along_axis(values, order, axis=1)
            for slot, column in enumerate(same):
                ordered_bins[column] = ordered[:, slot]
        return ordered_bins

    @property
    def of_members(self) -> frozenset[str]:
        """The names of all columns of slots."""
        return frozenset(name for slot in self.slots for name in slot)

    def slots_of(self, name: str, known: Container[str]) -> tuple[str, ...]:
        """Return the columns of the wide record that a name means: those of all slots, where the name is a column of members.

        Parameters
        ----------
        known : the columns of the wide record, which are about themselves.
        """
        plain = name.removeprefix(FIRST).removeprefix(OTHER)
        if name in known or plain not in self.names:
            return (name,)
        return tuple(slot[self.names.index(plain)] for slot in self.slots)

    def of_roots(self, names: Iterable[str]) -> list[str]:
        """Return the columns of roots among these, the number of members included."""
        return [name for name in names if name not in self.of_members]


def in_slots(stated: Mapping[str, Stated], linked: Linked | None, known: Container[str]) -> dict[str, Stated]:
    """Return the statements about columns by name; a column of members stands for each slot without a statement of its own."""
    if linked is None:
        return dict(stated)
    in_all_slots = {slot: value for name, value in stated.items() for slot in linked.slots_of(name, known)}
    return in_all_slots | {name: value for name, value in stated.items() if name in known}


def in_slot(text: str, names: Container[str], place: int, other: int | None = None) -> str:
    """Return a condition on columns of a member as a condition on the member at this place, from 1.

    Parameters
    ----------
    other : the place of the member whose columns other.NAME are; first.NAME are the first one's.
    """
    places = {FIRST: 1, OTHER: other or place, "": place}

    def named(match: re.Match[str]) -> str:
        prefix = next((start for start in (FIRST, OTHER) if match[0].startswith(start)), "")
        name, point, level = match[0].removeprefix(prefix).partition(".")
        if name not in names or is_count(match):
            return match[0]
        return f"{slot_name(name, places[prefix])}{point}{level}"

    return NAME_OR_TEXT.sub(named, text)


def is_count(match: re.Match[str]) -> bool:
    """Return whether a name in a condition is the function that counts, and not a column."""
    return match[0] == "count" and match.string[match.end() :].lstrip().startswith("(")


def slot_name(name: str, place: int) -> str:
    """Return the column of a wide record for a column of its member at this place, from 1."""
    return f"{name}_{place}"


def of_member(place: int) -> str:
    """Return the ending of the description of a slot's column."""
    return f", of member {place}"
