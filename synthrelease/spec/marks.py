"""[marks] against the columns, the bins that are drawn and the generators, and what `plan` says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from synthrelease.criteria.base import Setting
from synthrelease.errors import closest, listing
from synthrelease.generators import GENERATORS
from synthrelease.settings.columns import unlisted_label
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.options import YES, MarksTable, labels_of
from synthrelease.settings.tables import MAX_TABLES, ReleaseFile


@dataclass(frozen=True, kw_only=True)
class Marks:
    """The groups of a release.

    Attributes
    ----------
    groups : by the column with the number of marks, each column that it counts with its released categories that are a mark.
    """

    groups: Mapping[str, Mapping[str, tuple[str, ...]]]

    @property
    def functions(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """A number of marks follows from the columns that it counts."""
        return tuple((name, tuple(columns)) for name, columns in self.groups.items())

    def in_words(self) -> str:
        """Return which columns of numbers there are, and what they cost."""
        groups = "; ".join(f"{name} of {len(columns)} columns" for name, columns in self.groups.items())
        return (
            f"Numbers of indicators: {groups}. Each number follows from its row, so a table of it costs as much as any other."
        )


def build_marks(table: MarksTable, release: ReleaseFile, setting: Setting, problems: Problems) -> Marks:
    """Return the groups. A problem where a bin that a release may draw does not tell whether a row has the mark."""
    for column in setting.schema.columns:
        for name, marks in (column.counts or {}).items():
            drawn = {each.binning(name).name: each.binning(name) for each in setting.transformations}
            for binning in drawn.values():
                marked = {into for atom, into in enumerate(binning.of_atom) if atom in marks}
                mixed = [into for atom, into in enumerate(binning.of_atom) if atom not in marks and into in marked]
                if mixed:
                    expected = f"bins of {name!r} that hold marks alone or none, as {column.name!r} counts them"
                    problems.add(f"transformations.{name}", expected, repr(binning.labels[mixed[0]]))
    for place, stated in enumerate(release.generators):
        if not GENERATORS[str(stated["family"])].counts:
            able = listing(name for name, family in GENERATORS.items() if family.counts)
            expected = f"a family whose rows follow rules that count, as [marks] needs ({able})"
            problems.add(f"generators[{place}].family", expected, repr(stated["family"]))
    columns = release.columns
    return Marks(groups={name: columns[name].counts or {} for name in table.groups})


def check_marks(table: MarksTable, release: ReleaseFile, problems: Problems) -> None:
    """Add a problem for what is wrong with the columns of the groups, and with which of their categories are a mark."""
    if release.linked is not None:
        problems.add("marks", "no such table where a second file has members of a row", "both")
    if len(release.columns) + len(table.groups) > MAX_TABLES:
        found = f"{len(release.columns)} and {len(table.groups)} of groups"
        problems.add("marks.groups", f"at most {MAX_TABLES} columns with those of the groups", found)
    named = dict.fromkeys(name for columns in table.groups.values() for name in columns)
    for name in table.groups:
        if name in release.columns:
            problems.add(f"marks.groups.{name}", "the name of a column that is not there yet", repr(name))
    for name in table.yes:
        if name not in named:
            problems.add(f"marks.yes.{name}", "a column of a group", repr(name), closest(name, named))
    for name in named:
        _check_marks(name, table, release, problems)


def _check_marks(name: str, table: MarksTable, release: ReleaseFile, problems: Problems) -> None:
    column = release.columns.get(name)
    if column is None or column.kind not in ("category", "code") or isinstance(column.codes, str):
        known = [one for one, each in release.columns.items() if each.kind in ("category", "code")]
        found = repr(name) if column is None else f"{name!r} of kind {column.kind!r}"
        problems.add("marks.groups", f"columns of categories or codes ({listing(known)})", found, closest(name, known))
        return
    labels = [*labels_of(column), *(label for label in [unlisted_label(column)] if label is not None)]
    marks = list(dict.fromkeys(table.marks_of(name, column)))
    if not marks:
        expected = f"which categories of {name!r} are a mark, as none or several are called {listing(YES)}"
        problems.add("marks.yes", expected, "nothing")
    elif strange := [label for label in marks if label not in labels]:
        problems.add(f"marks.yes.{name}", f"categories of {name!r} ({listing(labels)})", repr(strange[0]))
    elif len(marks) == len(set(labels)):
        problems.add(f"marks.yes.{name}", f"a category of {name!r} that is none", "all of them")
    elif unusable := [label for label in marks if "'" in label and '"' in label]:
        problems.add(f"marks.yes.{name}", "categories that have no two kinds of quotes in their names", repr(unusable[0]))
