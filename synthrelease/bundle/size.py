"""About how many bytes the released files will take: asked for before the charge, so that a full disk costs no budget."""

from __future__ import annotations

import math
from collections.abc import Mapping

from synthrelease.answers.listed import MOST_CELLS
from synthrelease.errors import InputError
from synthrelease.published.names import kinds_of_rows
from synthrelease.releasing.attempt_costs import usual_rows
from synthrelease.sources.source import Source
from synthrelease.spec.options import buildings
from synthrelease.spec.release_spec import ReleaseSpec

_PLAIN = ".csv"
_DENSER = 4
"""How many times as many values a byte of another file may hold as one of a plain CSV file."""
_MARGIN = 1.2
"""For what the documents of a real release say more than those of a preview."""
_DIGITS = 24
"""Bytes of a noisy count in measurements.json, at most about."""
_QUESTIONS = 16_000
"""Bytes of QUESTIONS.md, which a release with noisy tables has, at most about."""
_LINE = 130
"""Bytes of a line of estimates.csv, at most about; a cell has two."""


def released_bytes(spec: ReleaseSpec, documents: Mapping[str, bytes], source: Source) -> int:
    """An estimate from public facts, rather too large.

    Parameters
    ----------
    documents : a preview of those that do not hold rows.
    source : the private table, of which the number of bytes is looked at.
    """
    text = sum(map(len, documents.values()))
    return round(_MARGIN * (text + rows_at_most(spec, source) * _row(spec) + _measured(spec)))


def rows_at_most(spec: ReleaseSpec, source: Source) -> int:
    """The stated number of rows; or what a file of so many bytes can hold; or, of a database, what is usual."""
    if spec.rows.stated is not None:
        return spec.rows.stated
    try:
        files, size = source.files(), source.size()
    except (InputError, OSError):
        return usual_rows(spec)
    columns = len({name for column in spec.schema.columns for name in column.sources})
    plain = [file.name.endswith(_PLAIN) for file in files]
    if not files:
        return usual_rows(spec)
    return (1 if all(plain) else _DENSER) * size // (2 * columns) + 1


def _row(spec: ReleaseSpec) -> int:
    """Bytes of a row in all files that hold rows, with the longest labels."""
    longest = 0
    for column in spec.schema.columns:
        texts = [label for binning in column.alternatives.values() for label in binning.labels]
        longest += max(len(text.encode()) for text in texts) + 1
    formats = 2 + len(kinds_of_rows(spec.bundle))  # each is smaller than CSV or about as large
    hooks = buildings()
    options = sum(hooks[name].bytes_of_a_row(value, longest, formats) for name, value in spec.parts.items())
    return longest * formats + options


def _measured(spec: ReleaseSpec) -> int:
    """Bytes of the noisy tables that are published, where that is told beforehand, and of what is estimated from them."""
    if not spec.publish_measurements:
        return 0
    layout = spec.space.common.layout if spec.shared_measurements else spec.schema.layout
    tables = {tuple(columns) for generator in spec.space.generators for columns in generator.fixed_tables(layout)}
    cells = sum(math.prod(layout.sizes[column] for column in columns) for columns in tables)
    lines = 2 * (min(cells, MOST_CELLS) + sum(layout.sizes))
    return _DIGITS * cells + _LINE * lines * (1 + len(kinds_of_rows(spec.bundle))) + _QUESTIONS
