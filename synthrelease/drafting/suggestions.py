"""Plausibility rules that a public file suggests: pairs of values that hundreds of rows would have by chance, and none has.

A suggestion is no more: what no row of the public file has may still be true of somebody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.marginals import lattice, with_pairs
from synthrelease.data.member_counts import RowsOnBins
from synthrelease.data.members import MemberRows
from synthrelease.data.rules import Domain, RuleError, parse_rule
from synthrelease.data.schema import Binning, Column, Schema, Transformation
from synthrelease.generators.junction_tree import JunctionTree
from synthrelease.settings.columns import MOST_OF_RULE

LEAST_EXPECTED = 50
"""Rows that independent columns would have, at least, where none has."""
SURE = 0.01
"""Share of the rows that independent columns would have, from which on a rule is active: less may just be rare."""
MOST_SUGGESTED, MOST_OF_A_PAIR = 32, 4
MOST_LISTED = MOST_OF_RULE * 7 // 10
"""Characters of a list of categories in a rule; a longer one is several rules."""
MOST_CELLS = 2**14
"""Of the largest table that a model needs for the active rules."""


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """A rule for released rows.

    Attributes
    ----------
    columns : the two columns.
    expected : rows of the public file that would break it if the columns were independent.
    active : whether the draft uses it; others stand there as a comment.
    """

    never: str
    columns: tuple[str, str]
    expected: float
    active: bool


def suggested_of_members(schema: Schema, transformation: Transformation, table: Counts) -> list[Suggestion]:
    """Rules for pairs of columns of a member; the table has the wide records of their roots, in bins."""
    linked = schema.linked
    if linked is None:
        return []
    of_each = MemberRows(linked=linked, of="members", wide=schema.names, names=linked.names)
    rows = RowsOnBins(rows=of_each, wide=transformation)
    counts, (members, binnings) = rows.on_bins(table), (rows.transformation.schema, rows.transformation.binnings)
    return _best(_found(members, binnings, counts, ()), members, counts)


def suggested_rules(
    schema: Schema, binnings: Sequence[Binning], table: Counts, without: Collection[str] = ()
) -> list[Suggestion]:
    """Rules for pairs of columns, the best founded first; those are active that are sure, and that a model can keep together.

    Parameters
    ----------
    binnings : the drafted bins of every column, which `table` has.
    without : columns of which no rule speaks.
    """
    return _best([*_about_gaps(schema, binnings, table, without), *_found(schema, binnings, table, without)], schema, table)


def _best(rules: Iterable[tuple[str, tuple[str, str], float]], schema: Schema, table: Counts) -> list[Suggestion]:
    of_pair = Counter[tuple[str, str]]()
    found: list[tuple[str, tuple[str, str], float]] = []
    domains = {column.name: _domain(column) for column in schema.columns}
    for rule in sorted(rules, key=lambda rule: -rule[2]):
        if not _can_be_read(rule[0], domains):
            continue
        of_pair[rule[1]] += 1
        if of_pair[rule[1]] <= MOST_OF_A_PAIR and len(found) < MOST_SUGGESTED:
            found.append(rule)
    names, sizes = table.layout.columns, table.layout.sizes
    tied: list[tuple[int, ...]] = []
    suggestions = []
    for never, columns, expected in found:
        pair = tuple(sorted(map(names.index, columns)))
        active = expected >= SURE * table.total and JunctionTree.of(sizes, [*tied, pair]).largest <= MOST_CELLS
        if active:
            tied.append(pair)
        suggestions.append(Suggestion(never=never, columns=columns, expected=expected, active=active))
    return suggestions


def _domain(column: Column) -> Domain:
    labels = column.atoms.labels if column.kind == "category" else ()
    return Domain(kind=column.kind, bounds=column.bounds, categories=labels, missing=True)


def _can_be_read(never: str, domains: Mapping[str, Domain]) -> bool:
    """Whether a configuration with this rule can be loaded: one that it refuses would cost the whole draft."""
    try:
        parse_rule(never, domains)
    except RuleError:
        return False
    return len(never) <= MOST_OF_RULE


def _found(
    schema: Schema, binnings: Sequence[Binning], table: Counts, without: Collection[str]
) -> Iterable[tuple[str, tuple[str, str], float]]:
    marginals = with_pairs(table)
    for a, b in combinations([place for place, name in enumerate(schema.names) if name not in without], 2):
        counts = marginals.get((a, b))[: binnings[a].present, : binnings[b].present]
        if not counts.sum():
            continue
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
        empty = counts == 0
        names = schema.names[a], schema.names[b]
        first, second = schema[names[0]], schema[names[1]]
        if ((~empty).sum(axis=1) <= 1).all() or ((~empty).sum(axis=0) <= 1).all():
            continue  # one column follows from the other: a codelist, and no rule of plausibility
        for row in range(len(empty)):  # each bin of the first column, with the bins of the second that it never meets
            for never, cells in _conditions(second, binnings[b], empty[row]):
                rows = float(expected[row, cells].sum())
                here = _one(first, binnings[a], row)
                if rows >= LEAST_EXPECTED and here:
                    yield f"{here} and {never}", names, rows


def _about_gaps(
    schema: Schema, binnings: Sequence[Binning], table: Counts, without: Collection[str]
) -> Iterable[tuple[str, tuple[str, str], float]]:
    """Who is asked a question, and who is not: for every column with gaps, by the one column that tells most of them.

    A column that has a value in every row goes before one that has gaps itself.
    """
    marginals, places = lattice(table), [place for place, name in enumerate(schema.names) if name not in without]
    for answered in (place for place in places if binnings[place].missing is not None):
        told = []
        for asked in (place for place in places if place != answered):
            counts = marginals.get((min(asked, answered), max(asked, answered)))
            counts = counts if asked < answered else counts.T
            rules = [*_of_gaps(schema.columns[asked], schema.columns[answered], binnings[asked], binnings[answered], counts)]
            told.append((binnings[asked].missing is None, sum(rows for _, _, rows in rules), rules))
        certain = [each for each in told if each[2]]
        if certain:
            yield from max(certain, key=lambda each: each[:2])[2]


def _of_gaps(
    asked: Column, answered: Column, of_asked: Binning, of_answered: Binning, counts: np.ndarray
) -> Iterable[tuple[str, tuple[str, str], float]]:
    """Bins of one column in which another one never has a value, or always.

    Parameters
    ----------
    counts : (n_bins of `asked`, n_bins of `answered`) rows.
    """
    rows, gaps = counts.sum(axis=1), counts[:, of_answered.missing]
    share = float(gaps.sum() / max(1, rows.sum()))
    for row in range(len(rows)):
        here = f"{asked.name} is missing" if row == of_asked.missing else _one(asked, of_asked, row)
        for none, expected, state in (
            (gaps[row] == rows[row], rows[row] * (1 - share), "is not missing"),
            (gaps[row] == 0, rows[row] * share, "is missing"),
        ):
            if here and none and expected >= LEAST_EXPECTED:
                yield f"{here} and {answered.name} {state}", (asked.name, answered.name), float(expected)


def _conditions(column: Column, binning: Binning, empty: np.ndarray) -> Iterable[tuple[str, np.ndarray]]:
    """The bins that are never met as conditions: of ordered columns what lies below or above all that are met."""
    met = np.flatnonzero(~empty)
    if not len(met):
        return
    places = np.arange(len(empty))
    if binning.lower:
        if met[0] > 0:
            yield f"{column.name} < {_number(binning.lower[met[0]])}", places < met[0]
        if met[-1] < len(empty) - 1:
            yield f"{column.name} >= {_number(binning.upper[met[-1]])}", places > met[-1]
        return
    texts = {int(place): text for place in np.flatnonzero(empty) if (text := _quoted(binning.labels[place])) is not None}
    if len(texts) == np.count_nonzero(empty) and _by_itself(column, binning):
        for listed in _short_lists(texts):
            shown = f"== {texts[listed[0]]}" if len(listed) == 1 else f"in [{', '.join(texts[place] for place in listed)}]"
            yield f"{column.name} {shown}", np.isin(places, listed)


def _short_lists(texts: Mapping[int, str]) -> list[list[int]]:
    """The places of texts, in lists of at most `MOST_LISTED` characters, or of one text."""
    lists: list[list[int]] = []
    characters = 0
    for place, text in texts.items():
        characters += len(text) + len(", ")
        if not lists or characters > MOST_LISTED:
            lists.append([])
            characters = len(text) + len(", ")
        lists[-1].append(place)
    return lists


def _number(value: float) -> str:
    """A number as rules write it: without an exponent."""
    text = f"{value:.15g}"
    return text if "e" not in text else np.format_float_positional(float(text), trim="-")


def _one(column: Column, binning: Binning, place: int) -> str:
    """A condition for one bin; empty where none can be written."""
    if not binning.lower:
        text = _quoted(binning.labels[place])
        return f"{column.name} == {text}" if text and _by_itself(column, binning) else ""
    low, high = column.bounds or (0.0, 0.0)
    parts = [f"{column.name} >= {_number(binning.lower[place])}"] if binning.lower[place] > low else []
    parts += [f"{column.name} < {_number(binning.upper[place])}"] if binning.upper[place] <= high else []
    return " and ".join(parts)


def _by_itself(column: Column, binning: Binning) -> bool:
    """Whether the bins are categories, of which rules speak, and not groups of them."""
    return binning.labels == column.atoms.labels


def _quoted(label: str) -> str | None:
    mark = next((mark for mark in "'\"" if mark not in label), None)
    return None if mark is None else f"{mark}{label}{mark}"
