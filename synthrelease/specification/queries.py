"""[[intended_queries]] against the schema: columns and categories that there are."""

from __future__ import annotations

from collections.abc import Sequence

from synthrelease.domain.rules import Domain, RuleError, parse_rule
from synthrelease.domain.schema import Schema
from synthrelease.errors import closest, listing
from synthrelease.toml.problems import Problems
from synthrelease.toml.queries import IntendedQueryTable


def check_queries(tables: Sequence[IntendedQueryTable], schema: Schema, problems: Problems) -> None:
    """Every query can be read. Whether it cuts a released bin depends on the alternative that is drawn; the card says so."""
    domains = {}
    for column in schema.columns:
        labels = dict.fromkeys(label for binning in column.alternatives.values() for label in binning.labels)
        categories = tuple(labels) if column.kind == "category" else ()
        domains[column.name] = Domain(kind=column.kind, categories=categories, missing=column.missing == "bin")
    for place, table in enumerate(tables):
        where = f"intended_queries[{place}]"
        if table.mean is not None and table.mean not in schema.by_name:
            expected = f"a column ({listing(schema.names)})"
            problems.add(f"{where}.mean", expected, repr(table.mean), closest(table.mean, schema.names))
        for name in ("query", "given", "minus"):
            text = " ".join((getattr(table, name) or "").split())
            try:
                if text:
                    parse_rule(text, domains)
            except RuleError as error:
                problems.add_error(f"{where}.{name}", error)
