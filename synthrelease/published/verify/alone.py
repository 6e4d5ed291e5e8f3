"""Run the independent part of a verification, which checks release.json, the tables and the published specification.

This module imports nothing that makes a release or writes a bundle, and no generator. So a reader who wants to trust
`verify` can read this module and its imports (docs/architecture.md, what stands alone).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from synthrelease.data.plausibility import Plausibility
from synthrelease.data.rules import Domain, Rule, RuleError, parse_rule
from synthrelease.data.schema import Column, Schema, Transformation, parse_bins, value_limits
from synthrelease.errors import Unexpected, so_many
from synthrelease.published.base import Content, Files
from synthrelease.published.columns import BinPart, ColumnPart
from synthrelease.published.document import BEFORE, FORMAT, FlavourPart, ReleaseDocument, read_strictly
from synthrelease.published.names import documents, not_yet_written, possible_names, promised_tables
from synthrelease.published.table import ReleasedTable, TableError, read_csv, read_parquet
from synthrelease.published.verify.charges import charges
from synthrelease.published.verify.checks import Check, Earlier, Signature, checksums, made, signature
from synthrelease.published.verify.models import models
from synthrelease.published.verify.options import KnownFiles, options
from synthrelease.published.verify.parquet_parts import room_problems
from synthrelease.published.verify.stated import Commitment, committed, specification
from synthrelease.resources import release_number
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.settings.reading import UNPRINTABLE, value_text
from synthrelease.settings.tables import BundleTable
from synthrelease.spec.canonical import NAME as SPECIFICATION
from synthrelease.spec.columns import ColumnError, build_column

# The building blocks of the guarantee follow from the rest of release.json: every exactly published fact is in its scope.


def flavour(document: ReleaseDocument) -> Check:
    """Check the five components of the stated guarantee (domain, scope, unit, standard, intensity) against the rest of
    release.json.
    """
    flavour_part = document.flavour
    expected = FlavourPart.of(document.guarantee.guarantee(), document.domain, list(document.parts.values()))
    kind = "pure" if flavour_part.standard == "multiplicative" else "approximate"
    summary = f"{kind} differential privacy; these facts are published exactly: {', '.join(flavour_part.scope.places())}"
    return Check(name="privacy definition", found=summary, problems=tuple(_problems(expected, flavour_part)))


def _problems(expected: FlavourPart, part: FlavourPart) -> Iterator[str]:
    missing = [path for path in expected.scope.places() if path not in part.scope.places()]
    for path in missing:
        yield f"flavour: {path} is published exactly, but the scope does not name it"
    if part.scope != expected.scope and not missing:
        yield "flavour: the scope names other facts than the rest of release.json, or names them in another order or group"
    for word in ("domain", "unit", "standard", "intensity"):
        if getattr(expected, word) != getattr(part, word):
            yield f"flavour: the {word} does not follow from the other parts of release.json"


# The program that drew the noise of a bundle, and whether this program is known to be biased.

LIBRARY = "opendp"
"""If release.json states the version of this library, the library drew the noise of vectors of fewer than 200 numbers."""

BIASED = ((0, 14, 0), (0, 14, 1))
"""Versions of OpenDP with biased discrete Laplace noise (issue 2638). The loss is 1.5 times the claimed loss at scale 3, and 15
times at scale 100.
"""


def noise(document: ReleaseDocument) -> Check:
    """Check that the noise was not drawn by a sampler with a known bias, with which the stated epsilon would be wrong."""
    version = document.versions.get(LIBRARY)
    number = None if version is None else release_number(version)
    if number in BIASED:
        problem = (
            f"versions: OpenDP {version} drew the noise of short tables and single numbers. Its sampler is biased (opendp "
            "issue 2638). So the release reveals more than its stated epsilon: 1.5 times the claim at scale 3, 2.7 times at "
            "scale 10. Do not rely on the epsilon of these numbers. Ask the publisher for a release by a later version."
        )
        return Check(name="noise", problems=(problem,))
    if (document.first_run and version is None) or (version is not None and number is None):
        summary = "release.json names no version of OpenDP, which drew the noise of short tables"
        limit = "The noise of short tables may be biased: nobody knows which version of OpenDP drew it."
        return Check(name="noise", found=summary, limits=(limit,))
    drew = "synthrelease drew all noise" if version is None else f"OpenDP {version} drew the noise of short tables"
    return Check(name="noise", found=f"{drew}; no bias is known")


# Columns, bins and rules of release.json, read by the grammar that wrote them.

_RELEASED = "released"


@dataclass(frozen=True, kw_only=True)
class Rebuilt:
    """The columns of a release with their released bins, the rules for released rows (`plausibility`) and for private rows
    (`raw`).
    """

    transformation: Transformation
    plausibility: Plausibility
    raw: Plausibility


class SchemaProblem(ValueError):
    """Raised for an impossible schema or rule in release.json."""


def rebuild(document: ReleaseDocument) -> Rebuilt:
    """Convert the description of columns, bins and rules in release.json to objects of the program.

    Raises
    ------
    SchemaProblem : if a column or rule is impossible. The error describes the first one.
    """
    problems = [problem for column in document.columns for problem in _bin_problems(column)]
    problems += [*_group_problems(document)]
    names = [column.name for column in document.columns]
    problems += [] if len(set(names)) == len(names) else ["schema: two columns have the same name"]
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
    schema, problem = transformation.schema, ""
    try:
        return Plausibility.from_rules(rules, schema.columns, schema.layout, apart=apart).merge(transformation)
    except RuleError as error:
        problem = f"rules: {error}"
    raise SchemaProblem(problem)


def _domain(column: ColumnPart) -> Domain:
    bounds = None if column.bounds is None else (float(column.bounds[0]), float(column.bounds[1]))
    categories = tuple(name for bin_ in column.bins for name in bin_.categories or ())
    return Domain(kind=column.kind, bounds=bounds, categories=categories, missing=column.missing == "bin")


def _parsed(text: str, domains: dict[str, Domain]) -> Rule:
    try:
        return parse_rule(text, domains, of_records=True)
    except RuleError as error:
        problem = f"rules: {text!r}: {error}"
    raise SchemaProblem(problem)


def _column(part: ColumnPart, rules: Sequence[Rule]) -> Column:
    problem, present = "", [bin_ for bin_ in part.bins if not bin_.missing]
    missing = {"missing": "bin", "missing_label": part.bins[-1].label} if part.missing == "bin" else {}
    try:
        if part.kind == "category":
            groups = {bin_.label: list(bin_.categories or ()) for bin_ in present}
            categories = [name for group in groups.values() for name in group]
            fields = {"categories": categories, "alternatives": {_RELEASED: groups}, "ordered": part.ordered}
        else:
            texts = [edge_text(bin_, part.kind == "integer") for bin_ in present]
            fields = {"bounds": tuple(float(bound) for bound in part.bounds or ()), "alternatives": {_RELEASED: texts}}
        table = ColumnTable.model_validate({"kind": part.kind, **fields, **missing})
        return build_column(part.name, table, InputTable(), list(rules), None)
    except ColumnError as error:
        problem = str(error)
    except ValidationError:
        problem = "the bounds, bins and categories contradict each other"
    raise SchemaProblem(f"schema: column {part.name!r}: {problem}")


def edge_text(bin_: BinPart, whole: bool) -> str:
    """Format the interval of a bin as in a configuration file, such as "20-29" or ">=65"."""
    if bin_.lower is None or bin_.below is None:
        return (
            f">={_decimal(bin_.lower)}" if bin_.lower is not None else "" if bin_.below is None else f"<{_decimal(bin_.below)}"
        )
    if not whole:
        return f"{_decimal(bin_.lower)} to {_decimal(bin_.below)}"
    low = _decimal(bin_.lower)
    return low if bin_.below == bin_.lower + 1 else f"{low}-{_decimal(bin_.below - 1)}"


def _decimal(value: float) -> str:
    return f"{Decimal(str(value)):f}"


def _bin_problems(column: ColumnPart) -> Iterator[str]:
    if len(set(column.labels)) != len(column.labels) or not column.bins:
        yield f"schema: column {column.name!r}: two bins have the same label, or there are no bins"
    if [bool(bin_.missing) for bin_ in column.bins] != [False] * (len(column.bins) - 1) + [column.missing == "bin"]:
        yield f"schema: column {column.name!r}: if missing is 'bin', the last bin and no other must contain missing values"
    listed = [name for bin_ in column.bins for name in bin_.categories or ()]
    if (column.outside == "bin") != bool(column.outside_label) or column.outside_label not in ("", *listed):
        yield f"schema: column {column.name!r}: a category for unlisted texts is required if outside is 'bin', and only then"
    for bin_ in column.bins:
        if bin_.missing:
            if bin_.categories is not None or (bin_.lower, bin_.below, bin_.number) != (None, None, None):
                yield f"schema: column {column.name!r}: bin {bin_.label!r}: a bin of missing values must contain nothing else"
            continue
        if (bin_.categories is None) == (column.kind == "category"):
            yield f"schema: column {column.name!r}: bin {bin_.label!r}: only the bins of a column of categories have categories"
        elif column.kind != "category" and not _label_fits(bin_, column):
            problem = "the edges contradict the label, or the representative value lies outside the bin"
            yield f"schema: column {column.name!r}: bin {bin_.label!r}: {problem}"


def _group_problems(document: ReleaseDocument) -> Iterator[str]:
    columns = {column.name: column for column in document.columns}
    for name, groups in document.groups.items():
        if name not in columns:
            yield f"groups: {name!r} is not a column of the schema"
        else:
            yield from _bin_problems(columns[name].model_copy(update={"name": f"groups of {name}", "bins": groups}))


def _label_fits(bin_: BinPart, column: ColumnPart) -> bool:
    """Return whether the label, edges and representative value of a bin agree: the bin "0-9" has the edges 0 and 10."""
    whole = column.kind == "integer"
    try:
        meant = parse_bins([bin_.label], whole_numbers=whole)
    except ValueError:
        return False
    if len(meant) != 1:
        return False
    infinite = float("inf")
    lower = -infinite if bin_.lower is None else float(bin_.lower)
    upper = infinite if bin_.below is None else float(bin_.below)
    if bin_.number is None or (meant[0].lower, meant[0].upper) != (lower, upper):
        return False
    least, most = value_limits(column.kind, [bin_.number], [lower], [upper], column.limits)
    return bin_.number == meant[0].number or bool(least[0] <= bin_.number <= most[0])


COMPLETE = "complete"
"""Name of the check that no file is missing. A release that lacks documents can be completed later."""
LATER = ("files", "specification", "schema", "table", "plausibility", "privacy charges")
"""Names of the checks that are not run if a check on which they depend has failed."""


@dataclass(frozen=True, kw_only=True)
class Alone:
    """The results of the checks that need only the files of a bundle and this package.

    Attributes
    ----------
    read : release.json, its schema and the table, or None if one of them could not be read.
    """

    checks: tuple[Check, ...]
    signature: Signature
    commitment: Commitment | None = None
    read: tuple[ReleaseDocument, Rebuilt, ReleasedTable] | None = None


def verify_alone(
    files: Files, public_key: Path | None = None, commitment: Commitment | None = None, earlier: Sequence[Earlier] = ()
) -> Alone:
    """Check the files of a bundle against each other. A check that raises an error counts as failed.

    Raises
    ------
    SigningError : when the key cannot be read.
    """
    signed = signature(files, public_key)
    checks = [checksums(files), signed.check]
    document = _document(files)
    if isinstance(document, Check):
        return _ended(checks, document, signed)
    checks.append(Check(name="release.json", found=f"format {document.format}, {document.title!r}"))
    checks += _names(document, files)
    checks.append(made("specification", lambda: specification(document, files)))
    checks.append(made("noise", lambda: noise(document)))
    rebuilt = _schema(document)
    if isinstance(rebuilt, Check):
        return _ended(checks, rebuilt, signed)
    bins = sum(len(column.bins) for column in document.columns)
    shape = f"{so_many(len(document.columns), 'column')} with {bins} bins, {so_many(len(document.rules), 'rule')}"
    checks.append(Check(name="schema", found=shape))
    table = _table(document, files)
    if isinstance(table, Check):
        return _ended(checks, table, signed)
    room = tuple(f"{name}: {problem}" for name in filter(None, document.tables[1]) for problem in _room(files, name))
    checks.append(Check(name="table", found=f"{so_many(document.n_rows, 'row')}, the same in every file", problems=room))
    checks.append(made("plausibility", lambda: _plausible(document, rebuilt, table)))
    checks.append(made("privacy charges", lambda: charges(document)))
    checks.append(made("privacy definition", lambda: flavour(document)))
    if (part := document.models) is not None:
        checks.append(made("models", lambda: models(document, part)))
    checks += options(document, KnownFiles(files=files, table=table, rules=rebuilt.plausibility, earlier=earlier))
    if commitment is not None:
        checks.append(committed(document, commitment))
    read = (document, rebuilt, table)
    return Alone(checks=tuple(checks), signature=signed, commitment=commitment, read=read)


def _ended(checks: list[Check], failed: Check, signed: Signature) -> Alone:
    """End a verification at a failed check, and list important later checks as not made."""
    names = [check.name for check in checks] + [failed.name]
    left = [Check(name=name, made=False) for name in LATER if name not in names]
    return Alone(checks=(*checks, failed, *left), signature=signed)


def _document(files: Files) -> ReleaseDocument | Check:
    name = "release.json"
    if name not in files:
        return Check(name=name, problems=(f"{name}: this file is missing",))
    try:
        document = read_strictly(files[name])
    except Unexpected as error:
        reads = "" if error.place == "format" else f" (this program reads format {FORMAT})"
        return Check(name=name, problems=(f"{name}: {error}{reads}",))
    if (document.format == BEFORE) != document.written_by.startswith("0."):  # the release has no SIGN.md that could be compared
        writer, right = ("no published version", FORMAT) if document.format == BEFORE else ("no version before 1.0.0", BEFORE)
        problem = f"{name}: format: {document.format} should be {right}, because {writer} writes format {document.format}"
        return Check(name=name, problems=(problem,))
    run, wrote = document.run_by, document.written_by
    made_by, written_by = release_number(run), release_number(wrote)
    if made_by is not None and written_by is not None and written_by < made_by:
        problem = f"{name}: written_by: {wrote} is older than version {run}, which made the run"
        return Check(name=name, problems=(problem,))
    if document.dumped() != files[name]:
        return Check(name=name, problems=(f"{name}: this file does not have the layout that synthrelease writes",))
    hidden = next((text for text in _texts(document.model_dump(mode="json")) if UNPRINTABLE.search(text)), None)
    if hidden is not None:
        problem = f"{name}: {value_text(hidden)} has control characters, which could hide other text"
        return Check(name=name, problems=(problem,))
    return document


def _names(document: ReleaseDocument, files: Files) -> Iterator[Check]:
    """Check that the bundle contains all its files, and no other file, which a reader could believe to be checked."""
    strangers = sorted(set(files) - possible_names(document) - {SPECIFICATION})
    problems = [f"{name}: release.json does not name this file" for name in strangers]
    yield Check(name="files", found=f"release.json names all {len(files)} files", problems=tuple(problems))
    missing, later = [name for name in (*document.files, *documents(document)) if name not in files], not_yet_written(document)
    problems = [f"{name}: this file is missing" for name in missing if name not in later]
    limits = tuple(sentence for name, sentence in later.items() if name not in files)
    yield Check(name=COMPLETE, found="no file is missing", problems=tuple(problems), limits=limits)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield str(name)
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _schema(document: ReleaseDocument) -> Rebuilt | Check:
    try:
        return rebuild(document)
    except SchemaProblem as error:
        return Check(name="schema", problems=(str(error),))
    except Exception as error:  # as in `checks.made`
        return Check(name="schema", problems=(f"release.json: the schema is impossible ({type(error).__name__})",))


def _table(document: ReleaseDocument, files: Files) -> ReleasedTable | Check:
    if document.files.keys() - files.keys():  # they are named
        return Check(name="table", made=False)
    problems = [
        f"{name}: the checksum of this file is not the checksum in release.json"
        for name, checksum in document.files.items()
        if files.sha256(name) != checksum
    ]
    problems += [
        f"{name}: release.json does not name this file" for name in promised_tables(document) if name not in document.files
    ]
    table, shape = None, document.shape
    readers: tuple[Callable[[Content, Content], ReleasedTable], ...] = (
        lambda rows, members: read_csv(rows, shape, members),
        lambda rows, members: read_parquet(rows, shape, document.bundle != BundleTable(), document.n_rows, members),
    )
    for (name, members), read in zip(document.tables, readers, strict=True):
        if name not in files or (members and members not in files):
            continue
        try:
            read_table = read(files.content(name), files.content(members))
        except TableError as error:
            problems.append(f"{name}: {error}")
            continue
        if read_table.counts.total != document.n_rows:
            rows = f"{so_many(read_table.counts.total, 'row')}, but release.json states {document.n_rows:,}"
            problems.append(f"{name}: the table has {rows}")
        elif table is not None and not _same(table, read_table):
            problems.append(f"{name}: the rows are not the rows of {document.csv}")
        table = table or read_table
    if problems or table is None:
        return Check(name="table", problems=tuple(problems))
    return table


def _same(left: ReleasedTable, right: ReleasedTable) -> bool:
    if left.weights is not None and right.weights is not None and not np.array_equal(left.weights, right.weights):
        return False
    return left.counts.same_as(right.counts)


def _room(files: Files, name: str) -> list[str]:
    """Search a Parquet file, whose rows could be read, for hidden bytes. Return a sentence for each problem."""
    try:
        return [*room_problems(files.content(name))]
    except Exception as error:  # as in `checks.made`
        return [f"its parts cannot be read one after the other ({type(error).__name__})"]


def _plausible(document: ReleaseDocument, rebuilt: Rebuilt, table: ReleasedTable) -> Check:
    bad = rebuilt.plausibility.forbidden(table.counts.bins)
    rows = int(table.counts.counts[bad].sum())
    problems = (f"{document.csv}: {so_many(rows, 'row breaks', 'rows break')} the plausibility rules",) if rows else ()
    return Check(name="plausibility", found="no row breaks a rule", problems=problems)
