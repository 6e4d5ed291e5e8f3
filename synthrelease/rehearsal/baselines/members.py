"""Two tables with a key, synthesized as offices do it, one table and then the other: what this loses is who belongs together.

*Shuffled*: the roots and the members of the file, each exactly as they are, and members put into any root. *Given their root*:
columns of roots are drawn in turn from tables, and then each member by itself given its root and how many members that has, as
hierarchical synthesizers do that know of a member its root and no other member. Both without noise and without a guarantee.
"""

from __future__ import annotations

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.linked import Linked
from synthrelease.rehearsal.baselines.back_off import PRIOR
from synthrelease.rehearsal.baselines.base import NO_GUARANTEE, Baseline, ComparedFile, DoesNotFit, MadeTables
from synthrelease.rehearsal.baselines.sequential import saturated


class MembersApart(Baseline):
    """Members shuffled between roots, and members that are drawn given their root alone."""

    sentence = "draw one table and then the other, as if no member knew of another"

    def tables(self, file: ComparedFile) -> list[MadeTables]:
        if (linked := file.linked) is None:
            raise DoesNotFit("the records of the file have no members")
        mixed = [shuffled(file.table, linked, file.generator(9, number)) for number in range(file.copies)]
        given = {
            column: file.by_strength(column, known_before(linked, file.names, column)) for column in range(len(file.names))
        }
        drawn = [saturated(file.table, given, file.plausibility, file.generator(10, k), PRIOR) for k in range(file.copies)]
        exact = "roots and members are those of the file"
        return [
            MadeTables(name="members shuffled", guarantee=NO_GUARANTEE, copies=mixed, notes=(exact,)),
            MadeTables(name="members given their root", guarantee=NO_GUARANTEE, copies=drawn, rule="simple"),
        ]


def known_before(linked: Linked, names: tuple[str, ...], column: int) -> list[int]:
    """The earlier columns that a column is drawn from: of a root those of roots, of a member also its own, of no other one."""
    place = linked.place_of(names[column])
    return [other for other in range(column) if linked.place_of(names[other]) in (None, place)]


def shuffled(table: Counts, linked: Linked, generator: np.random.Generator) -> Counts:
    """The same roots with as many members as they have, and the same members, in any roots."""
    names = table.layout.columns
    columns = [table.rows(column) for column in range(len(names))]
    number = linked.numbers(columns[names.index(linked.size)])
    slots = [[names.index(name) for name in slot] for slot in linked.slots]
    filled = [np.flatnonzero(number > place) for place in range(len(slots))]
    order = generator.permutation(sum(map(len, filled)))
    for same in zip(*slots, strict=True):  # one column of members, in every slot
        everybody = np.concatenate([columns[each][there] for each, there in zip(same, filled, strict=True)])[order]
        parts = np.split(everybody, np.cumsum([len(there) for there in filled])[:-1])
        for each, there, part in zip(same, filled, parts, strict=True):
            columns[each] = columns[each].copy()
            columns[each][there] = part
    return Counts.of(table.layout, columns)
