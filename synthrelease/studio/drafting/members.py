"""Draft the second of two linked tables, such as the persons of households: its columns, its order and its number of members.

The rows of the first table are called roots, and the rows of the second table are called their members.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from synthrelease.data.linked import ABSENT, slot_name
from synthrelease.errors import InputError
from synthrelease.scouting.codebook import Codebook, written_as_in
from synthrelease.sources.source import Source
from synthrelease.studio.drafting.bins import NumberBins
from synthrelease.studio.drafting.column_draft import ALL, AskedFor, ColumnDraft, LeftOut, missing_keys
from synthrelease.studio.drafting.columns import drafted_columns
from synthrelease.studio.drafting.criteria import Suggestion
from synthrelease.studio.drafting.public_file import PublicFile, every_row, read_public_tables

COVERED = 0.99
"""The draft releases all members of at least this share of the public roots, unless this takes more than 8 members of a root.
"""
MOST_DRAFTED = 8
SIZE = "members"
AS_KEY_OF_ROOTS = "this column is the key of [members], which the release replaces with new numbers"
_AS_ORDER = "this column numbers the members of a root, and [members] orders members by these numbers"
_AS_WEIGHT = "this column is a design weight, and a release has no weights for members"


@dataclass(frozen=True, kw_only=True)
class MembersDraft:
    """The drafted settings of [members], the second of two linked tables, such as the persons of households.

    Attributes
    ----------
    key : name of the column that links members to their root.
    most, least : largest and smallest number of members of a released root.
    order : column that numbers the members of each root, or else the first column of dates; empty without such a column.
    size : name of the released column with the number of members.
    n_roots, n_members : number of roots and number of members in the public files.
    covered : share of the roots with at most `most` members.
    columns, left_out : drafted columns of a member, and columns that are left out.
    missing_keys, with_these : the texts of the key that identify no root, and the number of members' rows with one of them.
    """

    source: Source
    key: str
    most: int
    least: int
    order: tuple[str, ...]
    size: str
    n_roots: int
    n_members: int
    covered: float
    columns: tuple[ColumnDraft, ...]
    left_out: tuple[LeftOut, ...]
    rules: tuple[Suggestion, ...] = ()
    missing_keys: tuple[str, ...] = ()
    with_these: int = 0

    def without(self, reasons: Mapping[str, str]) -> MembersDraft:
        sources = {column.source: reasons[column.name] for column in self.columns if column.name in reasons}
        gone = [LeftOut(source=source, because=because) for source, because in sources.items()]
        stay = tuple(column for column in self.columns if column.name not in reasons)
        order = tuple(name for name in self.order if name not in sources)
        return replace(self, columns=stay, left_out=(*self.left_out, *gone), order=order)

    def wide(self) -> list[ColumnDraft]:
        """Return the columns that members add to the record of their root: their number, and the columns of each member."""
        limits = tuple(float(n) for n in range(self.least + 1, self.most + 1))
        bins = NumberBins(low=self.least, high=float(self.most), coarse=limits, fine=limits, groups=limits[:1])
        size = ColumnDraft(name=self.size, source=self.key, kind="integer", remark="the number of members", bins=bins)
        return [size, *(_of_slot(column, slot) for slot in range(1, self.most + 1) for column in self.columns)]


def _of_slot(column: ColumnDraft, slot: int) -> ColumnDraft:
    label = column.missing_label if column.keeps_missing else ABSENT
    return replace(column, name=slot_name(column.name, slot), missing_bin=True, missing_label=label, facts=None)


def read_members(
    public: str | Path, members: str | Path | None, key: str, book: Codebook, table: str | None = None, wanted: AskedFor = ALL
) -> tuple[PublicFile, MembersDraft]:
    """Read the roots, such as households, and draft the columns of their members, such as persons.

    Return the public file with only the columns of the roots, and the draft of the members.

    Parameters
    ----------
    members : file of the members, or None if one file holds both tables.
    key : name of the column that links members to their root.
    wanted : columns of both files to draft. The key is always read.

    Raises
    ------
    InputError : when a file cannot be read or lacks the key, when the two files have different delimiters, encodings or
        decimal marks, or when no column of members can be released.
    """
    # read the files, and decide which columns belong to roots and which to members
    roots, own_file = read_public_tables(public, members, table, book.positions)
    file = own_file or roots
    for table_, option in ((roots, "--from"), *(((file, "--members"),) if own_file else ())):
        if key not in table_.columns:
            raise InputError(f"{option}: {table_.name} has no column {key!r}, which --key names.")
    roots, file = _written_alike(roots, file)
    selection = AskedFor(only=wanted.only and (*wanted.only, key), leave_out=wanted.leave_out)
    names, _ = selection.of(list(dict.fromkeys([*roots.columns, *file.columns])))
    of_roots, of_members = ([name for name in table_.columns if name in names] for table_ in (roots, file))
    keys, codes = every_row(file, (key,), key)[key]
    times = np.bincount(codes, minlength=len(keys))
    none = missing_keys({text: often for text, often in zip(keys, times.tolist(), strict=True) if text})
    are_keys = np.array([text not in ("", *none) for text in keys])
    if own_file is None:
        constant = _constant(file, key, codes, of_roots, are_keys[codes])
        of_roots = [name for name in of_roots if name in constant]
        of_members = [key, *(name for name in of_members if name not in constant)]
    if len(of_members) < 2:
        raise InputError(f"{file.name} has no column of members. Such a column differs between rows with the same {key!r}.")

    # the number of members of each root, and the column that orders them
    sizes = times[(times > 0) & are_keys]
    n_roots = len(set(every_row(roots, (key,), key)[key][0]) - {"", *none})
    covering = int(np.searchsorted(np.cumsum(np.bincount(sizes)) / len(sizes), COVERED))
    largest = max(1, min(covering, MOST_DRAFTED))
    order = _order(file, codes, times, [name for name in of_members if name != key], are_keys[codes])

    # the columns of the members
    part = replace(file, columns={name: file.columns[name] for name in of_members})
    columns, left_out, dated, _ = drafted_columns(part, written_as_in(part.columns, book), key, AS_KEY_OF_ROOTS)
    columns = [column for column in columns if column.source not in order]
    gone = [LeftOut(source=column.source, because=_AS_WEIGHT) for column in columns if column.weight]
    gone += [LeftOut(source=name, because=_AS_ORDER) for name in order]
    replaced, released = {column.source for column in gone}, {column.source for column in columns}
    draft = MembersDraft(
        source=replace(roots.source, members=None if own_file is None else own_file.source),
        key=key,
        most=largest,
        least=0 if own_file and n_roots > len(sizes) else 1,
        order=order or tuple(name for name in dated if name in released and _differs(file, name, codes, are_keys[codes]))[:1],
        size=SIZE if SIZE not in roots.columns else f"{SIZE}_of_root",
        n_roots=n_roots,
        n_members=int(sizes.sum()),
        covered=float((sizes <= largest).mean()),
        columns=tuple(_plain(column) for column in columns if not column.weight),
        left_out=(*(column for column in left_out if column.source not in replaced), *gone),
        missing_keys=none,
        with_these=int(times[np.isin(keys, none)].sum()),
    )
    if not draft.columns:
        reasons = "; ".join(f"{column.source!r}: {column.because}" for column in draft.left_out)
        raise InputError(f"{file.name}: no column of members can be released ({reasons}).")
    of_both = {name: roots.columns[name] for name in dict.fromkeys([key, *of_roots])}
    policy = roots.input.model_copy(update={"table": table})
    return replace(roots, columns=of_both, source=draft.source, input=policy), draft


def _written_alike(roots: PublicFile, members: PublicFile) -> tuple[PublicFile, PublicFile]:
    """Return both files with the same settings of [input], which a configuration states once.

    Raises
    ------
    InputError : when no settings fit both files.
    """
    if (again := roots.read_with(members.input)) is not None:
        return again, members
    if (again := members.read_with(roots.input)) is not None:
        return roots, again
    ways = [f"{file.input.delimiter!r}, {file.input.encoding} and {file.input.decimal!r}" for file in (roots, members)]
    alike = "must have the same delimiter, encoding and decimal mark"
    raise InputError(f"--members: both files {alike}. {roots.name} has {ways[0]}, but {members.name} has {ways[1]}.")


def _plain(column: ColumnDraft) -> ColumnDraft:
    """Return the draft of a member's column as [members] allows it: coarse bins only, and no bin that several codes share.

    If rare codes share a bin, only the frequent codes stay.
    """
    if column.bins and column.facts:
        bins = replace(column.bins, fine=column.bins.coarse)
        return replace(column, bins=bins, facts=replace(column.facts, numbers=column.numbers_of_bins))
    if column.common:
        return replace(column, codes={text: draft for text, draft in column.codes.items() if text in column.common})
    return column


def _constant(file: PublicFile, key: str, codes: np.ndarray, names: Sequence[str], with_key: np.ndarray) -> set[str]:
    n_keys, constant = len(np.unique(codes[with_key])), set[str]()
    for name in names:
        texts, of_rows = every_row(file, (name,))[name]
        if name != key and len(np.unique((codes.astype(np.int64) * len(texts) + of_rows)[with_key])) == n_keys:
            constant.add(name)
    return constant


def _differs(file: PublicFile, name: str, codes: np.ndarray, with_key: np.ndarray) -> bool:
    """Return whether nearly all members of the same root, such as a household, have different values in a column."""
    texts, of_rows = every_row(file, (name,))[name]
    codes = codes[with_key]
    repeated = len(codes) - len(np.unique(codes.astype(np.int64) * len(texts) + of_rows[with_key]))
    return bool(repeated <= (1 - COVERED) * (len(codes) - len(np.unique(codes))))


def _order(file: PublicFile, codes: np.ndarray, times: np.ndarray, names: Sequence[str], keyed: np.ndarray) -> tuple[str, ...]:
    """Return the first column that numbers the members of each root from 0 or 1, or an empty tuple."""
    codes = codes[keyed]
    for name in names:
        texts, of_rows = every_row(file, (name,))[name]
        if not all(text.isdecimal() and len(text) < 5 for text in texts):
            continue
        rank = np.array([int(text) for text in texts])[of_rows[keyed]]
        pairs = codes.astype(np.int64) * 10_000 + rank
        if len(np.unique(pairs)) == len(pairs) and rank.min() in (0, 1) and (rank <= times[codes] + 1).mean() > COVERED:
            return (name,)
    return ()
