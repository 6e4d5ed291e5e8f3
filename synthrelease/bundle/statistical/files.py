"""data.dta and data.sav, written by pyreadstat (the extra `formats`).

A bin is its number from 1 on, with its label as value label; a missing value is .a in Stata and -1, declared missing, in SPSS.
Both formats hold the time at which they were written. When a run ended tells how long it took, so it is replaced.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from synthrelease.bundle.statistical.names import SPSS, STATA
from synthrelease.bundle.statistical.notes import with_note
from synthrelease.bundle.statistical.variables import FILE_LABEL, Variable, cut_label, further_labels, variables
from synthrelease.bundle.titles import labelled_title
from synthrelease.domain.margins import WEIGHT
from synthrelease.errors import InputError
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import NOTICE, ReleasedTable
from synthrelease.toml.bundle import SYNTHETIC

STATA_MISSING, SPSS_MISSING = "a", -1
_STATA_14 = 14
_DTA_TIME = re.compile(rb"<timestamp>\x11.{17}</timestamp>", re.DOTALL)
_NO_DTA_TIME = b"<timestamp>\x11%b %d 00:00</timestamp>" % (b"01 Jan", 1980)
_SAV_TIME = slice(92, 109)
_NO_SAV_TIME = b"01 Jan 8000:00:00"


def statistical_files(document: ReleaseDocument, table: ReleasedTable) -> dict[str, bytes]:
    """The table in the formats of statistical packages that were asked for, by name.

    Raises
    ------
    InputError : when the library is missing.
    """
    found = {}
    if "stata" in document.bundle.formats:
        found[f"{document.bundle.stem}.dta"] = dta_bytes(document, table)
    if "spss" in document.bundle.formats:
        found[f"{document.bundle.stem}.sav"] = sav_bytes(document, table)
    return found


def dta_bytes(document: ReleaseDocument, table: ReleasedTable) -> bytes:
    """The table for Stata 14 and later."""
    known = tuple(variables(document, STATA))
    content = _written(
        "dta",
        _frame(table, known, STATA_MISSING),
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
        _frame(table, known, SPSS_MISSING),
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


def _frame(table: ReleasedTable, known: tuple[Variable, ...], missing: object) -> Any:
    """The rows as numbers of bins from 1 on, missing values as their code."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for place, one in enumerate(known):
        codes: Any = (np.arange(len(one.column.bins)) + 1).astype(np.int32)
        if one.missing is not None:
            codes = codes.astype(object) if isinstance(missing, str) else codes
            codes[one.missing] = missing
        columns[one.name] = codes[table.counts.rows(place)]
    if table.weights is not None:
        columns[WEIGHT] = np.repeat(table.weights, table.counts.counts)
    if table.marked:
        columns[SYNTHETIC] = np.ones(table.counts.total, dtype=np.int32)
    return pd.DataFrame(columns)


def _written(ending: str, frame: Any, **settings: Any) -> bytes:
    """What pyreadstat writes, by way of a folder that its owner alone can read."""
    try:
        import pyreadstat
    except ImportError:
        raise InputError(
            f'[bundle] formats: expected the library pyreadstat, which writes .{ending} files, found none. pip install "'
            'synthrelease[formats]".'
        ) from None
    write: Mapping[str, Any] = {"dta": pyreadstat.write_dta, "sav": pyreadstat.write_sav}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{ending}"
        write[ending](frame, str(path), **settings)
        return path.read_bytes()
