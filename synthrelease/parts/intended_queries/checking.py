"""[[intended_queries]] against the schema: columns and categories that there are."""

from __future__ import annotations

from collections.abc import Sequence

from synthrelease.data.questions import is_question, split_question
from synthrelease.data.rules import Domain, RuleError, parse_rule
from synthrelease.data.schema import Schema
from synthrelease.errors import InputError, closest, cut, listing
from synthrelease.settings.card import CardTable
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.questions import QuestionTable


def check(tables: Sequence[QuestionTable], card: CardTable, schema: Schema, problems: Problems) -> None:
    """Every query can be read. Whether it cuts a released bin depends on the alternative that is drawn; the card says so."""
    domains = {}
    for column in schema.columns:
        labels = dict.fromkeys(label for binning in column.alternatives.values() for label in binning.labels)
        categories = tuple(labels) if column.kind == "category" else ()
        domains[column.name] = Domain(kind=column.kind, categories=categories, missing=column.missing == "bin")
    names = dict.fromkeys(schema.names)
    if schema.linked is not None:  # of the member in any slot: a question about all members
        plain = dict(zip(schema.linked.names, schema.linked.slots[0], strict=True))
        domains = {name: domains[first] for name, first in plain.items()} | domains
        names |= dict.fromkeys(plain)
    for place, table in enumerate(tables):
        where = f"intended_queries[{place}]"
        if table.mean is not None and table.mean not in schema.by_name:
            expected = f"a column ({listing(schema.names)})"
            problems.add(f"{where}.mean", expected, repr(table.mean), closest(table.mean, schema.names))
        conditions = {name: [getattr(table, name) or ""] for name in ("query", "given", "minus")}
        if is_question(table.query):
            conditions = {"query": _conditions(table, list(names), problems, f"{where}.query")}
        for name, texts in conditions.items():
            for text in filter(None, (" ".join(text.split()) for text in texts)):
                try:
                    parse_rule(text, domains)
                except RuleError as error:
                    problems.add_error(f"{where}.{name}", error)


def _conditions(table: QuestionTable, known: Sequence[str], problems: Problems, where: str) -> list[str]:
    """The conditions of a whole question, whose words and columns are checked here."""
    if table.given or table.mean or table.minus is not None:
        problems.add(where, "a condition, or a whole question without given, mean and minus", repr(cut(table.query, 60)), "")
        return []
    try:
        words = split_question(table.query)
    except InputError as error:
        problems.add(where, "a question that `synthrelease estimate` understands", str(error).rstrip("."), "")
        return []
    for name in words.columns:
        if name not in known:
            problems.add(where, f"columns of the table ({listing(known)})", repr(name), closest(name, known))
    return list(words.conditions)


CHECKING = check
