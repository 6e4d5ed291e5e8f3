"""Define how two linked tables are joined into one: a root (such as a household) and all its members become one wide record.

A wide record has the columns of the root, the number of its members, and one block of columns, called a slot, for each possible
member. In an empty slot, every column has its last bin. Replacing one record replaces the root with all its members.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np

NAME_OR_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"|(?:first\.|other\.)?[^\W\d]\w*(?:\.\w+)?")
"""A pattern for the parts of a condition: a text in quotes, or a name. A point and a second name may follow the name. The
prefix `first.` or `other.` refers to a column of another member.
"""

FIRST, OTHER = "first.", "other."

Stated = TypeVar("Stated")

ABSENT = "absent"
"""The label of the bin for empty slots, in those columns of members that have no bin for missing values."""


@dataclass(frozen=True, kw_only=True)
class Linked:
    """How the members of a root are arranged in its wide record.

    Attributes
    ----------
    key : the column of both files that identifies the root of a row. The released files contain new numbers in it.
    size : the column with the number of members.
    names : the columns of the members' file.
    slots : for each possible member, its columns in the wide record, in the order of `names`.
    whole : the columns of `names` in which an existing member always has a value.
    least : the smallest number of members; other roots are excluded.
    more : for a root with more members than slots: "first" keeps its first members, "drop" excludes the root with all its
        members.
    order : the columns of the members' file by which the members of a root are sorted.
    reference : a column and the text that it contains for the member who comes first, or None.
    missing_keys : texts in the column `key` that mean that a row has no key.
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
    missing_keys: tuple[str, ...] = ()

    @property
    def most(self) -> int:
        return len(self.slots)

    def numbers(self, bins: np.ndarray) -> np.ndarray:
        """Convert the (n_rows,) bins of the column `size` to (n_rows,) numbers of members."""
        numbers: np.ndarray = np.minimum(bins.astype(np.int64) + self.least, self.most)
        return numbers

    @cached_property
    def needed(self) -> frozenset[str]:
        """Return the columns of the wide record that are never missing if their member exists."""
        return frozenset(
            name for slot in self.slots for name, plain in zip(slot, self.names, strict=True) if plain in self.whole
        )

    def between(self, names: Sequence[str], sizes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return the smallest and the largest possible number of members in each cell of a table with the columns `names`, of
        these sizes.

        If no root is possible in a cell, the smallest number exceeds the largest.
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
        """Return the position (from 0) of the member to whom a column of the wide record belongs, or None for a root's
        column."""
        return next((index for index, slot in enumerate(self.slots) if name in slot), None)

    def empty(self, names: Sequence[str], sizes: Sequence[int], bins: Sequence[np.ndarray]) -> None:
        """Set the columns of empty slots to their last bins, in place. The arguments have one entry for each column of the wide
        record."""
        number = self.numbers(bins[names.index(self.size)])
        for index, slot in enumerate(self.slots):
            for column in map(names.index, slot):
                bins[column][number <= index] = sizes[column] - 1

    def in_order(self, names: Sequence[str], bins: Sequence[np.ndarray], ordering: Container[str]) -> list[np.ndarray]:
        """Return the (n_rows,) bins of the columns `names` with the members of each root sorted by the columns `ordering`.

        Only the bins of these columns, which are given for all slots or none, are rearranged.
        """
        ordered_bins = list(bins)
        columns = [tuple(map(names.index, same)) for same in zip(*self.slots, strict=True) if same[0] in ordering]
        if not columns:
            return ordered_bins
        of_slots = [np.stack([bins[column] for column in same], axis=1) for same in columns]
        order = np.lexsort(of_slots[::-1])  # slots without a member have the last bin, so sorting leaves them last
        for same, values in zip(columns, of_slots, strict=True):
            ordered = np.take_along_axis(values, order, axis=1)
            for slot, column in enumerate(same):
                ordered_bins[column] = ordered[:, slot]
        return ordered_bins

    @property
    def of_members(self) -> frozenset[str]:
        return frozenset(name for slot in self.slots for name in slot)

    def slots_of(self, name: str, known: Container[str]) -> tuple[str, ...]:
        """Return the columns of the wide record to which a name refers: `age` means `age_1`, `age_2` and so on, unless `age` is
        `known`."""
        plain = name.removeprefix(FIRST).removeprefix(OTHER)
        if name in known or plain not in self.names:
            return (name,)
        return tuple(slot[self.names.index(plain)] for slot in self.slots)

    def of_roots(self, names: Iterable[str]) -> list[str]:
        """Return those of `names` that are columns of the roots. The number of members is one of these columns."""
        return [name for name in names if name not in self.of_members]


def in_slots(stated: Mapping[str, Stated], linked: Linked | None, known: Container[str]) -> dict[str, Stated]:
    """Convert settings of columns, such as `age`, to settings of the wide record, such as `age_1` and `age_2`. A setting stated
    for one slot takes precedence."""
    if linked is None:
        return dict(stated)
    in_all_slots = {slot: value for name, value in stated.items() for slot in linked.slots_of(name, known)}
    return in_all_slots | {name: value for name, value in stated.items() if name in known}


def in_slot(text: str, names: Container[str], place: int, other: int | None = None) -> str:
    """Rewrite a condition for the member at position `place` (from 1), and other.NAME for the member `other`: "age > first.age"
    becomes "age_2 > age_1"."""
    places = {FIRST: 1, OTHER: other or place, "": place}

    def named(match: re.Match[str]) -> str:
        prefix = next((start for start in (FIRST, OTHER) if match[0].startswith(start)), "")
        name, point, level = match[0].removeprefix(prefix).partition(".")
        if name not in names or is_count(match):
            return match[0]
        return f"{slot_name(name, places[prefix])}{point}{level}"

    return NAME_OR_TEXT.sub(named, text)


def is_count(match: re.Match[str]) -> bool:
    """Return whether a name in a condition is the function `count`, and not a column."""
    return match[0] == "count" and match.string[match.end() :].lstrip().startswith("(")


def slot_name(name: str, place: int) -> str:
    return f"{name}_{place}"


def of_member(place: int) -> str:
    return f", of member {place}"
