"""Which associations the rows carry, on the first screen of the card: the pairs that they do not carry are named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from synthrelease.bundle.card.numbers import figure
from synthrelease.data.linked import NAME_OR_TEXT
from synthrelease.generators.associations import Associations, CarriedPairs, PartnersOfColumn
from synthrelease.generators.projections import published_projection
from synthrelease.published.associations_file import of_document
from synthrelease.published.document import ReleaseDocument
from synthrelease.settings.questions import QuestionTable

FIRST_LINES = 6
"""Columns on the first screen; the others stand behind them, to be opened."""
MOST_TRIPLES = 6
FEW_PAIRS = 5
"""That are not carried, at most, to be named one by one."""


@dataclass(frozen=True, kw_only=True)
class AssociationLines:
    """What the templates show.

    Attributes
    ----------
    pairs_by_name : the pairs that are not carried, where they are few; then no columns are named.
    first, others : columns that lack a pair, those that matter most first.
    triples : some of the triples that are carried.
    apart : columns with rare bins that were counted apart.
    projected : whether rare combinations were replaced.
    """

    pairs: CarriedPairs
    pairs_by_name: Sequence[tuple[str, str]]
    first: Sequence[PartnersOfColumn]
    others: Sequence[PartnersOfColumn]
    triples: Sequence[tuple[str, ...]]
    apart: Sequence[str] = ()
    projected: bool = False

    @property
    def sentence(self) -> str:
        """The key of the sentence that says how many are carried."""
        found = self.pairs
        if found.unknown == found.pairs:
            return "carried_unknown"
        return "carried_all" if found.carried == found.pairs else "carried_some"


def carried_pairs(document: ReleaseDocument) -> CarriedPairs | None:
    """How many pairs the rows carry; None for one column, or where somebody changed the settings of the generator."""
    return _pairs_of(of_document(document))


def _pairs_of(found: Associations | None) -> CarriedPairs | None:
    return None if found is None or len(found.names) < 2 else CarriedPairs.of([found])


def counts_of(found: CarriedPairs | None) -> dict[str, str]:
    """The figures in the sentences of the card."""
    if found is None:
        return dict.fromkeys(("pairs", "carried", "unknown_pairs", "noisy_pairs", "triples", "carried_triples"), "")
    return {
        "pairs": figure(found.pairs),
        "carried": figure(found.carried),
        "unknown_pairs": figure(found.unknown),
        "noisy_pairs": figure(found.noisy),
        "triples": figure(found.triples),
        "carried_triples": figure(len(found.carried_triples)),
    }


def association_lines(document: ReleaseDocument, rows: Associations | None) -> AssociationLines | None:
    """The list: columns of intended questions first, then those without any pair, then those that have means."""
    if rows is None or (found := _pairs_of(rows)) is None:
        return None
    projection = published_projection(document.configuration.get("projection", {}))
    asked = {name for question in document.questions for name in _words_of(question)}
    columns = {column.name: column for file in document.table_files for column in file.columns}

    def order(line: PartnersOfColumn) -> tuple[bool, ...]:
        column = columns[line.column]
        without_numbers = all(one.number is None for one in column.bins)
        return line.column not in asked, bool(line.others) or not line.only, not column.unit, without_numbers

    few = len(found.others) <= FEW_PAIRS
    lines = [] if few else sorted(found.columns, key=order)
    return AssociationLines(
        pairs=found,
        pairs_by_name=found.others if few else (),
        first=lines[:FIRST_LINES],
        others=lines[FIRST_LINES:],
        triples=found.carried_triples[:MOST_TRIPLES],
        apart=[rows.layout.columns[place] for place in sorted(rows.apart)],
        projected=found.carried > 0 and projection is not None and projection.asked_count > 1,
    )


_LOST = (None, "mostly noise")


def pairs_not_carried(found: Associations | None, question: QuestionTable) -> str:
    """The pairs of a question's columns that the rows do not carry, a part of a sentence; empty for none."""
    if found is None:
        return ""
    words = _words_of(question)
    named = dict.fromkeys(name for name in (*found.names, *found.layout.columns) if name in words)
    pairs = [pair for pair in combinations(named, 2) if found.differ(*pair) and found.measured(*pair) in _LOST]
    return f"the rows do not carry {', '.join(' × '.join(pair) for pair in pairs)}" if pairs else ""


def _words_of(question: QuestionTable) -> set[str]:
    """All words in it, the columns among them."""
    texts = (question.query, question.given, question.mean or "", question.minus or "")
    return {match[0].partition(".")[0] for text in texts for match in NAME_OR_TEXT.finditer(text)}
