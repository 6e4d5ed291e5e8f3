"""The members of the rows of a public file, as a draft has them: their columns, how many there are, and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from synthrelease.data.linked import ABSENT, slot_name
from synthrelease.data.schema import parse_bins
from synthrelease.errors import InputError
from synthrelease.sources.source import Source
from synthrelease.studio.drafting.bins import NumberBins
from synthrelease.studio.drafting.codebook import Codebook, written_as_in
from synthrelease.studio.drafting.column_draft import ALL, AskedFor, ColumnDraft, LeftOut
from synthrelease.studio.drafting.columns import drafted_columns
from synthrelease.studio.drafting.criteria import Suggestion
from synthrelease.studio.drafting.public_file import PublicFile, every_row, read_public_tables

COVERED = 0.99
"""Share of the roots of the public file of which all members are released, at least."""
MOST_DRAFTED = 8
SIZE = "members"
AS_KEY_OF_ROOTS = "it is the key of [members], in whose place the release has new numbers"
_AS_ORDER = "it numbers the members of a root: [members] orders them by it"
_AS_WEIGHT = "it is a design weight, and members have none of their own"


@dataclass(frozen=True, kw_only=True)
class MembersDraft:
    """The draft of [members].

    Attributes
    ----------
    source : of both files, as a release reads them.
    order : the column that numbers the members of each root; else the first column of dates, if there is one.
    n_roots, n_members : different keys, and members of all of them, in the public files.
    covered : share of the roots with at most `most` members.
    columns : of a member.
    rules : suggested, each about one member.
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

    def without(self, why: Mapping[str, str]) -> MembersDraft:
        """Without these columns of members, and why not."""
        gone = tuple(LeftOut(source=each.source, because=why[each.name]) for each in self.columns if each.name in why)
        stay = tuple(column for column in self.columns if column.name not in why)
        order = tuple(name for name in self.order if name not in {each.source for each in gone})
        return replace(self, columns=stay, left_out=(*self.left_out, *gone), order=order)

    def wide(self) -> list[ColumnDraft]:
        """The columns that the record of a root has beside its own: the number of members, and those of each."""
        most = float(self.most)
        numbers = tuple(float(number) for number in range(self.least + 1, self.most + 1))
        bins = NumberBins(low=self.least, high=most, coarse=numbers, fine=numbers, groups=numbers[:1])
        found = [ColumnDraft(name=self.size, source=self.key, kind="integer", remark="the number of members", bins=bins)]
        for place in range(1, self.most + 1):
            found += [_of_slot(column, place) for column in self.columns]
        return found


def _of_slot(column: ColumnDraft, place: int) -> ColumnDraft:
    label = column.missing_label if column.keeps_missing else ABSENT
    return replace(column, name=slot_name(column.name, place), missing_bin=True, missing_label=label, facts=None)


def read_members(
    public: str | Path,
    members: str | Path | None,
    key: str,
    book: Codebook,
    table: str | None = None,
    wanted: AskedFor = ALL,
) -> tuple[PublicFile, MembersDraft]:
    """The public file of the roots, with their columns alone, and the draft of their members.

    Parameters
    ----------
    members : the file of the members; None where the one file has both.
    wanted : the columns of both files that are drafted, the key always.

    Raises
    ------
    InputError : when a file cannot be read, has no such key, or is written in another way than the other.
    """
    whole, own_file = read_public_tables(public, members, table, book.positions)
    file = own_file or whole
    for each, option in ((whole, "--from"), *(((file, "--members"),) if own_file else ())):
        if key not in each.columns:
            raise InputError(f"{option}: expected the column {key!r}, as --key says, in {each.name}; found none.")
    whole, file = _written_alike(whole, file)
    names, _ = AskedFor(only=wanted.only and (*wanted.only, key), leave_out=wanted.leave_out).of(
        list(dict.fromkeys([*whole.columns, *file.columns]))
    )
    of_roots = [name for name in whole.columns if name in names]
    of_members = [name for name in file.columns if name in names]
    keys = every_row(file, (key,), key)[key]
    if own_file is None:
        alike = set(_alike(file, key, of_roots))
        of_roots = [name for name in of_roots if name in alike]
        of_members = [key, *(name for name in of_members if name not in alike)]
    if len(of_members) < 2:
        raise InputError(f"{file.name}: expected a column in which the members of a root differ, found none.")
    numbers, roots = _members_of_each(keys), len(set(every_row(whole, (key,), key)[key][0]) - {""})
    least = 0 if own_file and roots > len(numbers) else 1
    covering = int(np.searchsorted(np.cumsum(np.bincount(numbers)) / len(numbers), COVERED))
    most = max(1, min(covering, MOST_DRAFTED))
    order = _order(file, key, [name for name in of_members if name != key])
    part = replace(file, columns={name: file.columns[name] for name in of_members})
    columns, left_out, dated = drafted_columns(part, written_as_in(part.columns, book), key, AS_KEY_OF_ROOTS)
    columns = [column for column in columns if column.source not in order]
    released = {column.source for column in columns}
    weights = [column for column in columns if column.weight]
    gone = [LeftOut(source=column.source, because=_AS_WEIGHT) for column in weights]
    gone += [LeftOut(source=name, because=_AS_ORDER) for name in order]
    stay = {each.source for each in gone}
    draft = MembersDraft(
        source=replace(whole.source, members=None if own_file is None else own_file.source),
        key=key,
        most=most,
        least=least,
        order=order or tuple(name for name in dated if name in released)[:1],
        size=SIZE if SIZE not in whole.columns else f"{SIZE}_of_root",
        n_roots=roots,
        n_members=int(numbers.sum()),
        covered=float((numbers <= most).mean()),
        columns=tuple(_plain(column) for column in columns if not column.weight),
        left_out=(*(each for each in left_out if each.source not in stay), *gone),
    )
    if not draft.columns:
        reasons = "; ".join(f"{each.source!r}: {each.because}" for each in draft.left_out)
        raise InputError(f"{file.name}: expected a column of members that a release can have, found none ({reasons}).")
    of_both = {name: whole.columns[name] for name in dict.fromkeys([key, *of_roots])}
    policy = whole.input.model_copy(update={"table": table})
    return replace(whole, columns=of_both, source=draft.source, input=policy), draft


def _written_alike(roots: PublicFile, members: PublicFile) -> tuple[PublicFile, PublicFile]:
    """Both as one [input] reads them, as far as there is one."""
    if (again := roots.read_with(members.input)) is not None:
        return again, members
    if (again := members.read_with(roots.input)) is not None:
        return roots, again
    found = [f"{file.delimiter!r}, {file.encoding} and {file.input.decimal!r}" for file in (roots, members)]
    raise InputError(
        f"--members: expected {members.name} to be written as {roots.name} is, with the same delimiter, letters and decimal "
        f"mark, since [input] holds for both; found {found[1]} after {found[0]}."
    )


def _plain(column: ColumnDraft) -> ColumnDraft:
    """In one list of bins, and without a codelist in a file of its own: of very many codes the common ones stay apart."""
    if column.bins and column.facts:
        whole = column.kind == "integer"
        labels = {one.label for one in parse_bins(column.bins.texts(whole=whole, weight=False)["coarse"], whole_numbers=whole)}
        numbers = {label: number for label, number in column.facts.numbers.items() if label in labels}
        bins = replace(column.bins, fine=column.bins.coarse)
        return replace(column, bins=bins, facts=replace(column.facts, numbers=numbers))
    if column.common:
        common = {text: draft for text, draft in column.codes.items() if text in column.common}
        return replace(column, codes=common)
    return column


def _members_of_each(keys: tuple[list[str], np.ndarray]) -> np.ndarray:
    """How many members each key has, those without one apart."""
    texts, codes = keys
    numbers = np.bincount(codes, minlength=len(texts))
    found: np.ndarray = np.array([number for text, number in zip(texts, numbers.tolist(), strict=True) if text and number])
    return found


def _alike(file: PublicFile, key: str, names: Sequence[str]) -> list[str]:
    """The columns that have one value in all rows of each key."""
    _texts, codes = every_row(file, (key,), key)[key]
    found = []
    for name in names:
        other, values = every_row(file, (name,))[name]
        pairs = np.unique(codes.astype(np.int64) * len(other) + values)
        if len(pairs) == len(np.unique(codes)) and name != key:
            found.append(name)
    return found


def _order(file: PublicFile, key: str, names: Sequence[str]) -> tuple[str, ...]:
    """The first column that numbers the members of each root from 1, as far as there is one."""
    texts, codes = every_row(file, (key,), key)[key]
    number = np.bincount(codes, minlength=len(texts))[codes]
    for name in names:
        values, of_rows = every_row(file, (name,))[name]
        if not all(value.isdecimal() and len(value) < 5 for value in values):
            continue
        numbered = np.array([int(value) for value in values])[of_rows]
        pairs = codes.astype(np.int64) * 10_000 + numbered
        if len(np.unique(pairs)) == len(pairs) and numbered.min() in (0, 1) and (numbered <= number + 1).mean() > COVERED:
            return (name,)
    return ()
