"""Random [members] of a small specification, and roots with their members in two files or in one.

A group is all that has one key: any number of roots, and any number of members. A neighbour has one group replaced by any other
one, of another size, under another key; both files are written in an order of their own, with keys as programs write them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from synthrelease.sources.source import Source
from tests.whole.fuzz.columns import MISSING, Column, column, toml

Group = tuple[list[tuple[object, ...]], list[tuple[object, ...]]]
"""Rows of the roots and rows of the members of one key, without it."""
NO_KEY = ("", "NA", " ")


@dataclass(frozen=True, kw_only=True)
class Members:
    """What [members] says, and how its files are made.

    Attributes
    ----------
    roots, columns : those of roots, and those of a member.
    wide : those of the record of a root with its members.
    lines : of the configuration.
    most : members of a root, at most.
    one_file : whether members carry the columns of their root.
    """

    roots: tuple[Column, ...]
    columns: tuple[Column, ...]
    wide: tuple[Column, ...]
    lines: list[str]
    most: int
    one_file: bool

    def group(self, random: Random) -> Group:
        """The rows of one key, one at least in one of the files."""
        roots = [self._root(random)] * random.choice([1, 1, 1, 1, 1, 2, 0])
        if len(roots) == 2 and random.random() < 0.5:
            roots[1] = self._root(random)
        some = [self._member(random) for _ in range(random.choice([0, 1, 1, 2, 2, 3, 4]))]
        if some and random.random() < 0.2:
            some += [random.choice(some)] * 2  # the same member once more
        if self.one_file:  # a row has both
            return roots or [self._root(random)], some or [self._member(random)]
        return (roots, some) if roots or some else ([self._root(random)], [])

    def _root(self, random: Random) -> tuple[object, ...]:
        return _values(random, self.roots)

    def _member(self, random: Random) -> tuple[object, ...]:
        order = random.choice(["1", "2", "2.0", "10", "x", ""])
        return (order, random.choice(["head", "head ", "other"]), *_values(random, self.columns))

    def files(self, groups: Sequence[tuple[str, Group]], random: Random) -> list[tuple[list[str], list[tuple[object, ...]]]]:
        """The header and the rows of each file, in an order of their own, some rows without a key among them."""
        of_roots = ["key", *(name for each in self.roots for name in each.sources)]
        of_members = ["key", "number", "who", *(name for each in self.columns for name in each.sources)]
        roots, members = list[tuple[object, ...]](), list[tuple[object, ...]]()
        nobody = [(random.choice(NO_KEY), self.group(random)) for _ in range(random.choice([0, 0, 1, 2]))]
        for key, (own, some) in [*groups, *nobody]:
            if self.one_file:
                members += [(_written(random, key), *each, *own[place % len(own)]) for place, each in enumerate(some)]
                members += [(_written(random, key), *some[0], *each) for each in own[len(some) :]]
            else:
                roots += [(_written(random, key), *each) for each in own]
                members += [(_written(random, key), *each) for each in some]
        random.shuffle(roots)
        random.shuffle(members)
        return [([*of_members, *of_roots[1:]], members)] if self.one_file else [(of_roots, roots), (of_members, members)]


def _written(random: Random, key: str) -> str:
    """A key as a program writes it."""
    return random.choice([key, f" {key}", f"{key}.0"]) if key.isdigit() else key


def _values(random: Random, columns: Sequence[Column]) -> tuple[object, ...]:
    missing = 0.07
    return tuple(random.choice(MISSING if random.random() < missing else each.texts) for each in columns for _ in each.sources)


def members(random: Random, roots: tuple[Column, ...]) -> Members:
    """A random table."""
    columns = tuple(_column(random, name) for name in "mn"[: random.choice([1, 1, 2])])
    most = random.choice([1, 2, 2, 3])
    least = random.choice([0, 0, 1, most])
    lines = ["[members]", 'key = "key"', f"most = {most}", f"least = {least}", 'size = "size"']
    lines.append(f"more = {toml(random.choice(['first', 'drop']))}")
    lines += random.choice([[], ['order = ["number"]']]) + random.choice([[], ['reference = { who = "head" }']])
    for each in columns:
        lines += each.lines
    for each in columns if random.random() < 0.5 else ():
        if each.conditions:
            lines.append(
                f"[[members.rules]]\nnever = {toml(f'{random.choice(each.conditions)} and {_other(random, roots, each)}')}"
            )
    labels = [str(number) for number in range(least, max(most, least + 1) + 1)]
    size = Column(
        name="size", lines=[], texts=[], alternatives={"coarse": labels}, numbers=(least, max(most, least + 1)), ordered=True
    )
    slots = tuple(replace(each, name=f"{each.name}_{place}", missing="bin") for place in range(1, most + 1) for each in columns)
    wide = (*roots, size, *slots)
    return Members(roots=roots, columns=columns, wide=wide, lines=lines, most=most, one_file=random.random() < 0.3)


def _other(random: Random, roots: Sequence[Column], column: Column) -> str:
    """A condition on the root, on how many members there are, or on another member."""
    of_roots = [condition for each in roots for condition in each.conditions]
    return random.choice(
        [*of_roots, "size >= 1", *(f"other.{condition}" for condition in column.conditions if "." not in condition)]
    )


def _column(random: Random, name: str) -> Column:
    """A column of members, in one list of bins."""
    while (found := column(random, name)).weight:
        pass
    title = random.choice(list(found.alternatives))
    others = tuple(f"alternatives.{each} =" for each in found.alternatives if each != title)
    found.lines[0] = f"[members.columns.{name}]"
    found.lines = [line for line in found.lines if not line.startswith(others)] if others else found.lines
    found.alternatives = {title: found.alternatives[title]}
    return found


def linked_neighbours(
    random: Random, made: Members, n_groups: int, number: int
) -> tuple[list[tuple[str, Group]], list[list[tuple[str, Group]]]]:
    """The groups of two files, and those of so many neighbours, each of which has one group replaced."""
    pool = [made.group(random) for _ in range(random.randint(1, n_groups))]
    one = [(str(place), random.choice(pool)) for place in range(n_groups)]
    others = []
    for _ in range(number):
        others.append(list(one))
        place = random.randrange(n_groups)
        key = random.choice([str(place), str(n_groups), "K7"])
        others[-1][place] = key, random.choice([*pool, *(made.group(random) for _ in range(3))])
    return one, others


def linked_source(paths: Sequence[Path]) -> Source:
    """The table of roots, with that of members where it is another one."""
    return Source.of(paths[0], members=paths[1] if len(paths) > 1 else None)
