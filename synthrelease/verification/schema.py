"""From release.json back to columns, bins and rules, by the same grammar that made them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from pydantic import ValidationError

from synthrelease.data.plausibility import Plausibility
from synthrelease.data.rules import Domain, Rule, RuleError, parse_rule
from synthrelease.data.schema import Column, Schema, Transformation, parse_bins, value_limits
from synthrelease.published.columns import BinPart, ColumnPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.spec.columns import ColumnError, build_column

_RELEASED = "released"


@dataclass(frozen=True, kw_only=True)
class Rebuilt:
    """What the schema of release.json means: its bins, and the rules on them for released rows and for private ones."""

    transformation: Transformation
    plausibility: Plausibility
    raw: Plausibility


class SchemaProblem(ValueError):
    """A schema or a rule of release.json that cannot be."""


def rebuild(document: ReleaseDocument) -> Rebuilt:
    """Columns with the atomic bins that the rules need, the released bins, and the rules for released rows as masks.

    Raises
    ------
    SchemaProblem : for the first column or rule that cannot be.
    """
    problems = [problem for column in document.columns for problem in _bin_problems(column)]
    problems += [*_group_problems(document)]
    names = [column.name for column in document.columns]
    problems += [] if len(set(names)) == len(names) else ["schema: expected different columns, found one twice"]
    if problems:
        raise SchemaProblem(problems[0])
    domains = {column.name: _domain(column) for column in document.columns}
    rules = [(_parsed(rule.never, domains), rule.applies_to) for rule in document.rules]
    schema = Schema(columns=tuple(_column(column, [rule for rule, _ in rules]) for column in document.columns))
    transformation = Transformation(schema=schema, binnings=tuple(column.alternatives[_RELEASED] for column in schema.columns))
    return Rebuilt(
        transformation=transformation,
        plausibility=_masks([rule for rule, applies_to in rules if "synthetic" in applies_to], transformation, apart=True),
        raw=_masks([rule for rule, applies_to in rules if "raw" in applies_to], transformation),
    )


def _masks(rules: list[Rule], transformation: Transformation, *, apart: bool = False) -> Plausibility:
    """Rules on the released bins."""
    schema, problem = transformation.schema, ""
    try:
        return Plausibility.from_rules(rules, schema.columns, schema.layout, apart=apart).merge(transformation)
    except RuleError as error:
        problem = f"rules: {error}"
    raise SchemaProblem(problem)


def _domain(column: ColumnPart) -> Domain:
    bounds = None if column.bounds is None else (float(column.bounds[0]), float(column.bounds[1]))
    categories = tuple(name for one in column.bins for name in one.categories or ())
    return Domain(kind=column.kind, bounds=bounds, categories=categories, missing=column.missing == "bin")


def _parsed(text: str, domains: dict[str, Domain]) -> Rule:
    try:
        return parse_rule(text, domains, of_records=True)
    except RuleError as error:
        problem = f"rules: {text!r}: {error}"
    raise SchemaProblem(problem)


def _column(part: ColumnPart, rules: Sequence[Rule]) -> Column:
    problem, present = "", [one for one in part.bins if not one.missing]
    missing = {"missing": "bin", "missing_label": part.bins[-1].label} if part.missing == "bin" else {}
    try:
        if part.kind == "category":
            groups = {one.label: list(one.categories or ()) for one in present}
            categories = [name for group in groups.values() for name in group]
            fields = {"categories": categories, "alternatives": {_RELEASED: groups}, "ordered": part.ordered}
        else:
            texts = [edge_text(one, part.kind == "integer") for one in present]
            fields = {"bounds": tuple(float(bound) for bound in part.bounds or ()), "alternatives": {_RELEASED: texts}}
        table = ColumnTable.model_validate({"kind": part.kind, **fields, **missing})
        return build_column(part.name, table, InputTable(), list(rules), None)
    except ColumnError as error:
        problem = str(error)
    except ValidationError:
        problem = "expected two bounds, bins and categories that fit together, found others"
    raise SchemaProblem(f"schema: column {part.name!r}: {problem}")


def edge_text(one: BinPart, whole: bool) -> str:
    """A bin by its edges, in the grammar of bins."""
    if one.lower is None or one.below is None:
        return f">={_decimal(one.lower)}" if one.lower is not None else "" if one.below is None else f"<{_decimal(one.below)}"
    if not whole:
        return f"{_decimal(one.lower)} to {_decimal(one.below)}"
    low = _decimal(one.lower)
    return low if one.below == one.lower + 1 else f"{low}-{_decimal(one.below - 1)}"


def _decimal(value: float) -> str:
    return f"{Decimal(str(value)):f}"


def _bin_problems(column: ColumnPart) -> Iterator[str]:
    """What a single bin can be wrong in: its label against its edges and its number."""
    if len(set(column.labels)) != len(column.labels) or not column.bins:
        yield f"schema: column {column.name!r}: expected different labels, found one twice or none"
    if [bool(one.missing) for one in column.bins] != [False] * (len(column.bins) - 1) + [column.missing == "bin"]:
        yield f"schema: column {column.name!r}: expected one bin of missing values, the last, just where missing is 'bin'"
    listed = [name for one in column.bins for name in one.categories or ()]
    if (column.outside == "bin") != bool(column.outside_label) or column.outside_label not in ("", *listed):
        yield f"schema: column {column.name!r}: expected a category of unlisted texts just where outside is 'bin'"
    for one in column.bins:
        if one.missing:
            if one.categories is not None or (one.lower, one.below, one.number) != (None, None, None):
                yield f"schema: column {column.name!r}: bin {one.label!r}: expected missing values alone, found more"
            continue
        if (one.categories is None) == (column.kind == "category"):
            yield f"schema: column {column.name!r}: bin {one.label!r}: expected edges or categories, as the column's kind asks"
        elif column.kind != "category" and not _label_fits(one, column):
            problem = "its edges are not those of its label, or its number is not in it"
            yield f"schema: column {column.name!r}: bin {one.label!r}: {problem}"


def _group_problems(document: ReleaseDocument) -> Iterator[str]:
    columns = {column.name: column for column in document.columns}
    for name, groups in document.groups.items():
        if name not in columns:
            yield f"groups: expected columns of the schema, found {name!r}"
        else:
            yield from _bin_problems(columns[name].model_copy(update={"name": f"groups of {name}", "bins": groups}))


def _label_fits(one: BinPart, column: ColumnPart) -> bool:
    """Whether its edges are those of the label, and its number that of the label, or a stated one that lies in the bin."""
    whole = column.kind == "integer"
    try:
        meant = parse_bins([one.label], whole_numbers=whole)
    except ValueError:  # a range below zero is labelled "-5 to -3"
        low, _, high = one.label.partition(" to ")
        try:
            meant = parse_bins([f"{low}-{high}"], whole_numbers=whole)
        except ValueError:
            return False
    if len(meant) != 1:
        return False
    infinite = float("inf")
    lower = -infinite if one.lower is None else float(one.lower)
    upper = infinite if one.below is None else float(one.below)
    if one.number is None or (meant[0].lower, meant[0].upper) != (lower, upper):
        return False
    least, most = value_limits(column.kind, [one.number], [lower], [upper], column.limits)
    return one.number == meant[0].number or bool(least[0] <= one.number <= most[0])
