"""Write the specification of a release as a canonical text. The release publishes this text, and commitments contain its
digest.

The text contains all settings that are written in the configuration and the acceptance file, including inherited settings
and the content of codelists, but no defaults: a new setting of the program does not change the digest of older files. In
rules, comparisons of a level are replaced by lists of released categories. The text also contains the shortlist, and the
public tables from which generators start, by the digest of their content and never by a path. It does not contain comments
or the tables in `WORDS`. The text is public and contains nothing about the private file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from synthrelease.errors import Unexpected
from synthrelease.settings.base import RELEASED
from synthrelease.settings.options import SeriesTable
from synthrelease.settings.tables import AcceptanceFile, ReleaseFile

NAME = "specification.json"
"""The name of the file in a bundle that contains this text."""
FORMAT = 1
WORDS = ("card", "bundle", "calibration", "series", "intended_queries")
"""The names of tables that do not affect the computation of a release and may be changed after the release. The digest does not
cover these tables, except for the settings in `SeriesTable.fixed`, which are the multi-year plan and the year of the
release."""
PATHS = ("extends", "override")
"""The settings that refer to another configuration or override its settings."""
PRIOR = "prior"
"""The name of the generator setting that contains the name of a public table."""
BY_DIGEST = "sha256:"
"""The prefix of a public table's name if the name is the digest of its content."""


@dataclass(frozen=True, kw_only=True)
class PriorTable:
    """A public table that generators use as a starting point: its path, and the digest of its content when it was loaded."""

    path: Path
    digest: str


def canonical_tables(release: ReleaseFile, acceptance: AcceptanceFile, priors: Mapping[str, PriorTable]) -> dict[str, Any]:
    """Return the settings of the configuration and the acceptance file as JSON values, in the order of their definition.

    Columns, codes and bins keep the order that they have in the files.

    Parameters
    ----------
    release : the configuration, with the content of its codelists, and rules with released categories instead of levels.
    """
    settings = release.model_dump(mode="json", exclude={*WORDS, *PATHS, "acceptance"}, exclude_unset=True)
    if release.series is not None and (fixed := release.series.fixed):
        settings["series"] = release.series.model_dump(mode="json", include=set(fixed), exclude_unset=True)
    settings["generators"] = [_sorted(with_digests(table, priors)) for table in release.generators]
    settings["projections"] = [_sorted(table) for table in release.projections]
    settings["acceptance"] = acceptance.model_dump(mode="json", exclude_unset=True, exclude={"criteria"})
    settings["acceptance"]["criteria"] = [_sorted(table) for table in acceptance.criteria]
    return {"specification": FORMAT, **settings}


def canonical_text(tables: Mapping[str, Any], shortlist: Sequence[Mapping[str, Any]] | None = None) -> bytes:
    """Return the content of specification.json as bytes.

    Parameters
    ----------
    shortlist : the configurations that rounds may draw, in their published form. None means all configurations.
    """
    listed = {} if shortlist is None else {"shortlist": [_plain(configuration) for configuration in shortlist]}
    whole = {**tables, **listed}
    return (json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def read_tables(content: bytes) -> dict[str, Any]:
    """Return the content of specification.json as a dict. Numbers with a decimal point become `Decimal` values.

    Raises
    ------
    Unexpected : if the content is not a JSON object in this format.
    """
    try:
        tables = json.loads(content, parse_float=Decimal)
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError
        tables = None
    if not isinstance(tables, dict) or tables.get("specification") != FORMAT:
        raise Unexpected(f"This is not the text of a specification in format {FORMAT}")
    return tables


def same_but_for_the_shortlist(content: bytes, tables: Mapping[str, Any], *, words_unpublished: bool = False) -> bool:
    """Return whether a published specification has the same settings as the given tables, apart from the shortlist.

    Parameters
    ----------
    words_unpublished : whether version 1.0.0, without the multi-year plan in the specification, wrote the content.
    """
    published, tables_now = read_tables(content), read_tables(canonical_text(tables))
    published.pop("shortlist", None)
    for name in set(WORDS) & tables_now.keys() - published.keys() if words_unpublished else ():
        del tables_now[name]
    return json.dumps(published, default=str) == json.dumps(
        tables_now, default=str
    )  # as texts: the order of columns and bins counts, too


def is_fixed(name: str, table: Any) -> bool:
    """Return whether a table of `WORDS`, such as [series], contains only settings that are fixed before the release runs."""
    try:
        return name == "series" and bool(table) and set(table) <= SeriesTable.model_validate(table).fixed
    except (TypeError, ValueError):
        return False


def with_digests(table: Mapping[str, Any], priors: Mapping[str, PriorTable]) -> dict[str, Any]:
    """Return the settings of a generator for publication, with digests instead of paths of public tables."""
    if PRIOR not in table:
        return dict(table)
    names = table[PRIOR] if isinstance(table[PRIOR], list) else [table[PRIOR]]
    digests = [_by_digest(name, priors) for name in names]
    return {**table, PRIOR: digests if isinstance(table[PRIOR], list) else digests[0]}


def _by_digest(prior: Any, priors: Mapping[str, PriorTable]) -> Any:
    if isinstance(prior, Mapping):
        name = f"{RELEASED}{prior.get('release', '')}"
        return {**prior, "release": f"{BY_DIGEST}{priors[name].digest}"} if name in priors else dict(prior)
    return f"{BY_DIGEST}{priors[prior].digest}" if prior in priors else prior


def _sorted(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(table[name]) for name in sorted(table)}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        if value == value.to_integral_value() and abs(value) < 2**53:
            return int(value)
        return float(value) if Decimal(repr(float(value))) == value else f"{value:f}"
    return value
