"""data.dta and data.sav, written by pyreadstat (the extra `formats`).

A bin is its number from 1 on, with its label as value label; a missing value is .a in Stata and -1, declared missing, in SPSS.
Both formats hold the time at which they were written. When a run ended tells how long it took, so it is replaced.

pyreadstat takes a whole table in memory. Of data.dta it writes as many rows as the largest column has bins, and what it makes
of each bin there is repeated for all rows, piece by piece; data.sav, which is compressed, it writes as a whole, and so are the
two tables of a release with members.
"""

from __future__ import annotations

import re
import struct
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from synthrelease.bundle.card.numbers import labelled_title
from synthrelease.bundle.tables import KeyedFile, members_of, roots_of
from synthrelease.data.weights import WEIGHT
from synthrelease.parts.formats.files.names import SPSS, STATA
from synthrelease.parts.formats.files.notes import MAP, SECTIONS, with_note
from synthrelease.parts.formats.files.variables import FILE_LABEL, Variable, cut_label, further_labels, key_name, variables
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import NOTICE, ReleasedTable, TableFile
from synthrelease.resources import library
from synthrelease.settings.tables import SYNTHETIC

STATA_MISSING, SPSS_MISSING = "a", -1
KEY_LABEL = "Number of the root, by which both tables are joined"
_STATA_14 = 14
_DTA_TIME = re.compile(rb"<timestamp>\x11.{17}</timestamp>", re.DOTALL)
_NO_DTA_TIME = b"<timestamp>\x11%b %d 00:00</timestamp>" % (b"01 Jan", 1980)
_SAV_TIME = slice(92, 109)
_NO_SAV_TIME = b"01 Jan 8000:00:00"


_DATA, _LAST_OF_DATA = 9, 10
"""Places in <map>: of the rows, and of what is behind them."""
_KINDS = {65526: "<f8", 65527: "<f4", 65528: "<i4", 65529: "<i2", 65530: "i1"}
"""Of numbers in Stata 14, by their codes in <variable_types>."""


def statistical_files(chosen: Collection[str], document: ReleaseDocument, table: ReleasedTable) -> dict[str, Iterable[bytes]]:
    """The table in the formats of statistical packages that were chosen, by name, each as pieces.

    Raises
    ------
    InputError : when the library is missing.
    """
    if table.linked is not None:
        return _linked_files(chosen, document, table)
    found: dict[str, Iterable[bytes]] = {}
    if "stata" in chosen:
        found[f"{document.bundle.stem}.dta"] = _DtaFile(document, table).pieces()
    if "spss" in chosen:
        _library("sav")
        found[f"{document.bundle.stem}.sav"] = (content for content in map(sav_bytes, [document], [table]))
    return found


def _linked_files(chosen: Collection[str], document: ReleaseDocument, table: ReleasedTable) -> dict[str, Iterable[bytes]]:
    """The tables of roots and of members, each written as a whole."""
    found: dict[str, Iterable[bytes]] = {}
    for kind, ending in (("stata", "dta"), ("spss", "sav")):
        if kind in chosen:
            _library(ending)
            for one, rows in zip(document.table_files, (roots_of(table), members_of(table)), strict=True):
                found[one.named(ending)] = (content for content in map(_keyed_bytes, [ending], [document], [one], [rows]))
    return found


def _keyed_bytes(ending: str, document: ReleaseDocument, file: TableFile, rows: KeyedFile) -> bytes:
    """One of two tables, its key before its columns."""
    package, missing = (STATA, STATA_MISSING) if ending == "dta" else (SPSS, SPSS_MISSING)
    known = tuple(variables(document, package, file.columns, file.key))
    batches = list(rows.batches)
    bins = [np.concatenate(each) for each in zip(*(batch.bins for batch in batches), strict=True)]
    weights = [batch.weights for batch in batches if batch.weights is not None]
    frame = _frame(rows.shape.marked, known, missing, bins, np.concatenate(weights) if weights else None)
    key = key_name(file.key, package)
    frame.insert(0, key, np.concatenate([batch.keys for batch in batches]).astype(np.int32))
    said = "members" if file.of_members else "roots"
    settings: dict[str, Any] = {
        "file_label": cut_label(f"Synthetic data, {said}: {labelled_title(document)}", package, FILE_LABEL),
        "column_labels": {key: KEY_LABEL}
        | {one.name: one.label for one in known}
        | {name: label for name, label in further_labels(document).items() if name in frame},
        "variable_value_labels": {one.name: _value_labels(one, missing) for one in known},
    }
    if ending == "dta":
        gaps = {one.name: [missing] for one in known if one.missing is not None}
        content = _written(ending, frame, version=_STATA_14, missing_user_values=gaps, **settings)
        return _timeless_dta(with_note(content, NOTICE))
    ranges = {one.name: [missing] for one in known if one.missing is not None}
    measures = {one.name: "ordinal" if one.column.ordered else "nominal" for one in known} | {key: "nominal"}
    return _timeless_sav(
        _written(ending, frame, row_compress=True, note=NOTICE, missing_ranges=ranges, variable_measure=measures, **settings)
    )


class _DtaFile:
    """The table for Stata 14 and later."""

    def __init__(self, document: ReleaseDocument, table: ReleasedTable):
        self._table = table
        occurring = [np.flatnonzero(table.one_way(column)) for column in range(len(table.names))]
        few = max(map(len, occurring))
        bins = [np.resize(each, few) for each in occurring]  # every bin that occurs: the kind of a column depends on them
        weights = None if table.weights is None else np.repeat(table.weights[:1], few)
        content = _rows_at_once(document, table, bins, weights)
        start = content.find(MAP) + len(MAP)
        places = list(struct.unpack_from(f"<{SECTIONS}Q", content, start))
        kinds = content[places[2] : places[3]].removeprefix(b"<variable_types>").removesuffix(b"</variable_types>")
        kind = np.dtype([(str(place), _KINDS[code]) for place, (code,) in enumerate(struct.iter_unpack("<H", kinds))])
        first, last = places[_DATA] + len(b"<data>"), places[_LAST_OF_DATA] - len(b"</data>")
        self._row = np.frombuffer(content[first:last], dtype=kind)
        self._bins = bins
        number = content.find(b"<N>") + len(b"<N>")
        if len(self._row) != few or struct.unpack_from("<Q", content, number) != (few,):
            raise ValueError("a file of Stata of other rows")
        total = table.counts.total
        moved = [place + (total - few) * kind.itemsize * (at >= _LAST_OF_DATA) for at, place in enumerate(places)]
        head = bytearray(content[:first])
        struct.pack_into("<Q", head, number, total)
        struct.pack_into(f"<{SECTIONS}Q", head, start, *moved)
        self._head, self._tail = bytes(head), content[last:]

    def pieces(self) -> Iterator[bytes]:
        """The file piece by piece."""
        table, kind = self._table, self._row.dtype
        codes = []
        for place, (bins, labels) in enumerate(zip(self._bins, table.labels, strict=True)):
            of_bins = np.zeros(len(labels), dtype=kind[place])
            of_bins[bins] = self._row[str(place)]
            codes.append(of_bins)
        yield self._head
        for cells, times in table.row_order().batches(table.shape.rows_per_batch):
            rows = np.repeat(self._row[:1], len(times))  # what marks a row stays
            for place, (of_bins, bins) in enumerate(zip(codes, table.counts.bins, strict=True)):
                rows[str(place)] = of_bins[bins[cells]]
            if table.weights is not None:
                rows[str(len(codes))] = table.weights[cells]
            yield np.repeat(rows, times).tobytes()
        yield self._tail


def _rows_at_once(
    document: ReleaseDocument, table: ReleasedTable, bins: Sequence[np.ndarray], weights: np.ndarray | None
) -> bytes:
    """A file of Stata of rows with these bins and weights, in memory as a whole."""
    known = tuple(variables(document, STATA))
    content = _written(
        "dta",
        _frame(table.marked, known, STATA_MISSING, bins, weights),
        version=_STATA_14,
        file_label=cut_label(f"Synthetic data: {labelled_title(document)}", STATA, FILE_LABEL),
        column_labels={one.name: one.label for one in known} | further_labels(document),
        variable_value_labels={one.name: _value_labels(one, STATA_MISSING) for one in known},
        missing_user_values={one.name: [STATA_MISSING] for one in known if one.missing is not None},
    )
    return _timeless_dta(with_note(content, NOTICE))


def sav_bytes(document: ReleaseDocument, table: ReleasedTable) -> bytes:
    """The table for SPSS, which SAS and PSPP read, too."""
    known = tuple(variables(document, SPSS))
    content = _written(
        "sav",
        _frame(
            table.marked,
            known,
            SPSS_MISSING,
            [table.counts.rows(column) for column in range(len(known))],
            None if table.weights is None else np.repeat(table.weights, table.counts.counts),
        ),
        row_compress=True,
        file_label=cut_label(f"Synthetic data: {labelled_title(document)}", SPSS, FILE_LABEL),
        note=NOTICE,
        column_labels={one.name: one.label for one in known} | further_labels(document),
        variable_value_labels={one.name: _value_labels(one, SPSS_MISSING) for one in known},
        missing_ranges={one.name: [SPSS_MISSING] for one in known if one.missing is not None},
        variable_measure={one.name: "ordinal" if one.column.ordered else "nominal" for one in known}
        | ({WEIGHT: "scale"} if document.weighted else {}),
        variable_format={one.name: f"F{max(2, len(str(len(one.column.bins))))}.0" for one in known},
    )
    return _timeless_sav(content)


def estimates_bytes(ending: str, frame: Any, labels: Mapping[str, str]) -> bytes:
    """The table of estimates for a statistical package: texts and numbers as they are, missing ones as the package has them.

    Parameters
    ----------
    ending : "dta" or "sav".
    labels : of its columns.
    """
    texts = {name: cut_label(text, STATA if ending == "dta" else SPSS, FILE_LABEL) for name, text in labels.items()}
    settings: dict[str, Any] = {"file_label": "Estimates with intervals", "column_labels": texts}
    if ending == "dta":
        return _timeless_dta(_written("dta", frame, version=_STATA_14, **settings))
    return _timeless_sav(_written("sav", frame, row_compress=True, **settings))


def _timeless_dta(content: bytes) -> bytes:
    content, times = _DTA_TIME.subn(_NO_DTA_TIME, content, count=1)
    if not times:
        raise ValueError("a file of Stata without its time")
    return content


def _timeless_sav(content: bytes) -> bytes:
    if not re.fullmatch(rb"\d\d \w{3} \d\d\d\d:\d\d:\d\d", content[_SAV_TIME]):
        raise ValueError("a file of SPSS without its time")
    return content[: _SAV_TIME.start] + _NO_SAV_TIME + content[_SAV_TIME.stop :]


def _value_labels(one: Variable, missing: object) -> dict[Any, str]:
    return {missing if bin_.missing else place: bin_.label for place, bin_ in enumerate(one.column.bins, start=1)}


def _frame(
    marked: bool,
    known: tuple[Variable, ...],
    missing: object,
    bins: Sequence[np.ndarray],
    weights: np.ndarray | None,
) -> Any:
    """Rows with these bins and weights as numbers of bins from 1 on, missing values as their code."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for place, one in enumerate(known):
        codes: Any = (np.arange(len(one.column.bins)) + 1).astype(np.int32)
        if one.missing is not None:
            codes = codes.astype(object) if isinstance(missing, str) else codes
            codes[one.missing] = missing
        columns[one.name] = codes[bins[place]]
    if weights is not None:
        columns[WEIGHT] = weights
    if marked:
        columns[SYNTHETIC] = np.ones(len(bins[0]), dtype=np.int32)
    return pd.DataFrame(columns)


def _library(ending: str) -> Any:
    """pyreadstat. Raises InputError where it, or pandas, whose frames it writes, is missing."""
    library("pandas", "pandas", f".{ending} files, as [bundle] formats asks", "formats")
    return library("pyreadstat", "pyreadstat", f".{ending} files, as [bundle] formats asks", "formats")


def _written(ending: str, frame: Any, **settings: Any) -> bytes:
    """What pyreadstat writes, by way of a folder that its owner alone can read."""
    pyreadstat = _library(ending)
    write: Mapping[str, Any] = {"dta": pyreadstat.write_dta, "sav": pyreadstat.write_sav}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{ending}"
        write[ending](frame, str(path), **settings)
        return path.read_bytes()
