"""Reading the folder of a release: release.json and data.csv. `synthrelease verify` is for checking it."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np

from synthrelease.accounting.charges import Charge
from synthrelease.accounting.guarantee import Guarantee
from synthrelease.domain.margins import WEIGHT
from synthrelease.errors import BudgetError, InputError, Unexpected, cut, listing
from synthrelease.published.columns import PublishedColumn
from synthrelease.published.document import ReleaseDocument, read_leniently
from synthrelease.published.release import Evaluation, PublishedRelease


def load(folder: str | Path) -> PublishedRelease:
    """Load a release from its folder.

    Line ends may have been changed on the way ("\\r\\n" as on Windows): the labels are what counts.

    Raises
    ------
    InputError : when the folder is not one of a release, or its two files do not fit together.

    Examples
    --------
    >>> import synthrelease
    >>> synthrelease.load("release")
    PublishedRelease('Coins', 400 rows, 2 columns, epsilon = 21)
    """
    folder = Path(folder)
    if not folder.is_dir():
        found = "no such folder" if not folder.exists() else "a file"
        raise InputError(f"{folder}: expected the folder of a release, found {found}.")
    where = folder / "release.json"
    document, guarantee, charges = _read(where)
    columns = tuple(part.published() for part in document.columns)
    codes, weights = _rows(folder / "data.csv", columns, document.n_rows, document.weighted)
    return PublishedRelease(
        folder=folder,
        title=document.title,
        description=document.description,
        n_rows=document.n_rows,
        guarantee=guarantee,
        domain=document.domain,
        charges=charges,
        criteria=tuple(table.score() for table in document.criteria),
        evaluation=_evaluation(document),
        schema=columns,
        rules=tuple(document.rules),
        configuration=document.configuration,
        codes=codes,
        weights=weights,
    )


def _text(path: Path) -> str:
    problem = "no such file"
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        pass
    except UnicodeDecodeError:
        problem = "a file that is not"
    except OSError as error:
        problem = f"something that cannot be read ({error.strerror})"
    raise InputError(f"{path}: expected a file of a release, in UTF-8; found {problem}.")


def _read(path: Path) -> tuple[ReleaseDocument, Guarantee, Charge]:
    """release.json, and what it says about the cost as values."""
    try:
        document = read_leniently(_text(path))
        return document, document.guarantee.guarantee(), document.charges.charge()
    except Unexpected as error:
        problem = f"{error}."
    except BudgetError as error:
        problem = f"charges: {error}"
    raise InputError(f"{path}: {problem}")


def _evaluation(document: ReleaseDocument) -> Evaluation:
    """The settings of every criterion, and which released bins make up each group."""
    bins = {table.name: table.bins for table in document.columns}
    return Evaluation(
        settings=tuple({"name": table.name, "kind": table.kind, **table.parameters} for table in document.criteria),
        groups={
            name: tuple(tuple(part.label for part in bins[name] if group.holds(part)) for group in groups)
            for name, groups in document.groups.items()
            if name in bins
        },
    )


def _rows(
    path: Path, columns: tuple[PublishedColumn, ...], n_rows: int, weighted: bool
) -> tuple[np.ndarray, np.ndarray | None]:
    """(n_rows, n_columns) bin indices, and (n_rows,) weights where the table has such a column.

    Raises InputError for anything that the schema does not have.
    """
    names = [column.name for column in columns]
    stated = [*names, *([WEIGHT] if weighted else [])]
    places = [{label: index for index, label in enumerate(column.labels)} for column in columns]
    rows = csv.reader(io.StringIO(_text(path), newline=""))
    header = next(rows, [])
    if header != stated:
        raise InputError(f"{path}: expected the columns {listing(stated)}, found {listing(header) or 'none'}.")
    seen: dict[tuple[str, ...], int] = {}  # far fewer distinct rows than rows
    order = [seen.setdefault(tuple(row), len(seen)) for row in rows if row]
    for row in seen:
        if len(row) != len(stated):
            raise InputError(f"{path}: expected {len(stated)} fields in every row, found {len(row)} in one.")
        for name, label, known in zip(names, row, places, strict=False):
            if label not in known:
                raise InputError(f"{path}: column {name!r}: expected one of {listing(known)}, found {label!r}.")
    if len(order) != n_rows:
        raise InputError(f"{path}: expected {n_rows} rows, as release.json says; found {len(order)}.")
    cells = np.array([[known[label] for known, label in zip(places, row, strict=False)] for row in seen], dtype=np.int64)
    weights = np.array([_weight(path, row[-1]) for row in seen])[order] if weighted else None
    return cells[np.array(order, dtype=np.int64)], weights


def _weight(path: Path, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 <= weight < math.inf:
        raise InputError(f"{path}: column {WEIGHT!r}: expected a number of at least 0, found {cut(text, 40)!r}.")
    return weight
