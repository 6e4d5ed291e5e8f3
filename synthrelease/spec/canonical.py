"""Write the specification of a release as one canonical text. The release publishes this text, and commitments use its digest.

The text contains everything that the two files state or refer to: the configuration that a configuration extends, the content
of codelists, and rules with their levels written out. The text also contains the shortlist from which configurations are drawn,
and the public tables from which generators start. A public table is represented by the digest of its content, never by a path.
The text contains no comments and no tables of `WORDS`. The text contains only settings that are written in the files, so a
setting that nobody wrote does not change the digest. The text is public like the two files, and contains nothing about the
private file.
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
"""Name of the file that contains this text in a bundle."""
FORMAT = 1
WORDS = ("card", "bundle", "calibration", "series", "intended_queries")
"""Tables that do not change the computation of a release, and can be changed after the release. The digest does not cover these
settings. The exception is `SeriesTable.fixed`: the plan over years, and the year of the release.
"""
PATHS = ("extends", "override")
"""Settings that name another configuration, or change settings of this other configuration."""
PRIOR = "prior"
"""The setting of a generator that names a public table."""
BY_DIGEST = "sha256:"
"""If the name of a public table starts with these characters, the rest of the name is the digest of its content."""


@dataclass(frozen=True, kw_only=True)
class PriorTable:
    """A public table from which generators start: its path, and the digest of its content at the time when the specification
    was loaded.
    """

    path: Path
    digest: str


def canonical_tables(release: ReleaseFile, acceptance: AcceptanceFile, priors: Mapping[str, PriorTable]) -> dict[str, Any]:
    """Return the two files as plain values for JSON, in the order of the settings. Columns, codes and bins keep their order.

    Parameters
    ----------
    release : the configuration, with the content of its codelists, and with rules whose levels are written out.
    priors : each public table, by the name that it has in the configuration.
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
    """Return the bytes of specification.json.

    Parameters
    ----------
    shortlist : the published forms of the configurations that rounds may draw; None for the whole space of configurations.
    """
    listed = {} if shortlist is None else {"shortlist": [_plain(configuration) for configuration in shortlist]}
    whole = {**tables, **listed}
    return (json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def read_tables(content: bytes) -> dict[str, Any]:
    """Return the tables of specification.json. Numbers with a decimal point become exact decimals.

    Raises
    ------
    Unexpected : if the content is not a JSON object of this format.
    """
    try:
        tables = json.loads(content, parse_float=Decimal)
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError
        tables = None
    if not isinstance(tables, dict) or tables.get("specification") != FORMAT:
        raise Unexpected(f"This is not the text of a specification in format {FORMAT}")
    return tables


def same_but_for_the_shortlist(content: bytes, tables: Mapping[str, Any], *, words_unpublished: bool = False) -> bool:
    """Return whether a published specification equals this specification, apart from the configurations on a shortlist.

    Parameters
    ----------
    words_unpublished : whether version 1.0.0 wrote the content. Version 1.0.0 did not publish the plan over years in the
        specification.
    """
    published, tables_now = read_tables(content), read_tables(canonical_text(tables))
    published.pop("shortlist", None)
    for name in set(WORDS) & tables_now.keys() - published.keys() if words_unpublished else ():
        del tables_now[name]
    return json.dumps(published, default=str) == json.dumps(
        tables_now, default=str
    )  # as texts: the order of columns and bins counts, too


def is_fixed(name: str, table: Any) -> bool:
    """Return whether a table of `WORDS` in a published specification contains only values that are fixed before the run."""
    try:
        return name == "series" and bool(table) and set(table) <= SeriesTable.model_validate(table).fixed
    except (TypeError, ValueError):
        return False


def with_digests(table: Mapping[str, Any], priors: Mapping[str, PriorTable]) -> dict[str, Any]:
    """Return the settings of a generator, with the digest of its content as the name of each public table."""
    if PRIOR not in table:
        return dict(table)
    names = table[PRIOR] if isinstance(table[PRIOR], list) else [table[PRIOR]]
    digests = [_by_digest(name, priors) for name in names]
    return {**table, PRIOR: digests if isinstance(table[PRIOR], list) else digests[0]}


def _by_digest(prior: Any, priors: Mapping[str, PriorTable]) -> Any:
    """Return the name of a public file or an earlier release, with the digest of the content in place of the path."""
    if isinstance(prior, Mapping):
        name = f"{RELEASED}{prior.get('release', '')}"
        return {**prior, "release": f"{BY_DIGEST}{priors[name].digest}"} if name in priors else dict(prior)
    return f"{BY_DIGEST}{priors[prior].digest}" if prior in priors else prior


def _sorted(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table of a generator, projection or criterion as plain values, with its settings in alphabetical order."""
    return {name: _plain(table[name]) for name in sorted(table)}


def _plain(value: Any) -> Any:
    """Return a value that JSON can represent. A decimal becomes the equal number, or a text if no float is equal."""
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
