"""Reading the folder of a release: release.json and data.csv. `synthrelease verify` is for checking it."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from synthrelease.connections import checked_path
from synthrelease.domain.margins import WEIGHT
from synthrelease.errors import BudgetError, InputError, Unexpected, cut, listing
from synthrelease.published.columns import PublishedColumn
from synthrelease.published.document import ReleaseDocument, SelectionPart, read_leniently
from synthrelease.published.lines import MARK, WrongLine, bins_of_lines, without_marks, without_weights
from synthrelease.published.measurements import NAME, on_released_bins, read_measurements, sum_on_released_bins
from synthrelease.published.release import Evaluation, Measurements, PublishedRelease
from synthrelease.toml.bundle import SYNTHETIC


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
    PublishedRelease('Coins', 400 rows, 2 columns, epsilon = 17.3805912)
    """
    folder = checked_path(folder)
    if not folder.is_dir():
        found = "no such folder" if not folder.exists() else "a file"
        raise InputError(f"{folder}: expected the folder of a release, found {found}.")
    where = folder / "release.json"
    document = _read(where)
    columns = tuple(part.published() for part in document.columns)
    weights: list[float] | None = [] if document.weighted else None
    codes = _codes(folder / document.csv, columns, document, weights)
    return release_of(
        document,
        codes,
        folder=folder,
        measurements=_measurements(folder / NAME, document, columns),
        weights=None if weights is None else np.array(weights),
    )


def release_of(
    document: ReleaseDocument,
    codes: np.ndarray,
    *,
    folder: Path = Path("."),
    measurements: Measurements | None = None,
    weights: np.ndarray | None = None,
) -> PublishedRelease:
    """The release that a document describes.

    Parameters
    ----------
    codes : (n_rows, n_columns) bins of its rows.

    Raises
    ------
    BudgetError : for charges that cannot be.
    """
    return PublishedRelease(
        folder=folder,
        title=document.title,
        description=document.description,
        n_rows=document.n_rows,
        guarantee=document.guarantee.guarantee(),
        domain=document.domain,
        charges=document.charges.charge(),
        criteria=tuple(table.score() for table in document.criteria),
        evaluation=_evaluation(document),
        schema=tuple(part.published() for part in document.columns),
        rules=tuple(document.rules),
        configuration=document.configuration,
        measurements=measurements,
        measured=NAME in document.files and math.isfinite(_times(document.selection)),
        intended=tuple(document.intended_queries),
        codes=codes,
        weights=weights,
        partition=document.partition,
        split=document.split,
        estimates=document.estimates,
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


def _read(path: Path) -> ReleaseDocument:
    """release.json, whose cost can be a cost."""
    try:
        document = read_leniently(_text(path))
        document.guarantee.guarantee()
        document.charges.charge()
        return document
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
        group_labels={name: tuple(group.label for group in groups) for name, groups in document.groups.items() if name in bins},
    )


def _measurements(path: Path, document: ReleaseDocument, columns: tuple[PublishedColumn, ...]) -> Measurements | None:
    """measurements.json, on the released bins, its columns in the order of the release; None where there is none."""
    if NAME not in document.files or not path.is_file():
        return None
    try:
        return measurements_of(_text(path), document, columns)
    except Unexpected as error:
        problem = f"{error}."
    raise InputError(f"{path}: {problem}")


def measurements_of(content: bytes | str, document: ReleaseDocument, columns: Sequence[PublishedColumn]) -> Measurements:
    """The content of measurements.json, on the released bins. Raises Unexpected where it does not fit to the document."""
    labels = {column.name: column.labels for column in columns}
    read = read_measurements(content, unknown="ignore")
    if read.n_rows != document.n_rows:
        raise Unexpected(f"{document.n_rows} rows, as release.json says", str(read.n_rows), place="n_rows")
    sums = read.sums or []
    named = [*(table.columns for table in read.tables), *(one.columns for one in sums)]
    strangers = [name for columns_of_one in named for name in columns_of_one if name not in labels]
    if strangers:
        raise Unexpected(f"columns of the release ({listing(labels)})", repr(cut(strangers[0], 40)), place="columns")
    found = (on_released_bins(table, [labels[name] for name in table.columns]) for table in read.tables)
    of_sums = (sum_on_released_bins(one, [labels[name] for name in one.columns]) for one in sums)
    return Measurements(
        tables=tuple(found),
        times=_times(document.selection),
        bins=_transformations(document),
        sums=tuple(filter(None, of_sums)),
    )


def _times(selection: SelectionPart) -> float:
    """How often a release measured at most, on average: the mean number of rounds that were drawn, whatever was accepted."""
    if selection.shared_measurements:
        return 1.0
    law = selection.rule.law
    return math.inf if law is None else law.mean


def _transformations(document: ReleaseDocument) -> int:
    """On how many different bins shared measurements could have been released, at most; 1 where each round measures."""
    selection = document.selection
    if not selection.shared_measurements:
        return 1
    if selection.bounds is not None:
        return selection.bounds.transformations
    return min(selection.configurations, math.prod(len(column.alternatives) for column in document.columns))


def _codes(
    path: Path, columns: tuple[PublishedColumn, ...], document: ReleaseDocument, weights: list[float] | None
) -> np.ndarray:
    """(n_rows, n_columns) bin indices. Raises InputError for anything that the schema does not have.

    Where the table has a column of weights, they are put into `weights`.
    """
    names, n_rows, marked = [column.name for column in columns], document.n_rows, document.bundle.synthetic_column
    stated = [*names, *([] if weights is None else [WEIGHT]), *([SYNTHETIC] if marked else [])]
    rows = csv.reader(io.TextIOWrapper(io.BytesIO(_text(path).encode("utf-8")), encoding="utf-8", newline=""))
    header = next(rows, [])
    if header != stated:
        raise InputError(f"{path}: expected the columns {listing(stated)}, found {listing(header) or 'none'}.")
    labels = [column.labels for column in columns]
    try:
        lines: Iterable[Sequence[str]] = filter(None, rows)
        lines = without_marks(lines) if marked else lines
        lines = lines if weights is None else without_weights(lines, weights)
        pieces = list(bins_of_lines(lines, labels))
    except WrongLine as wrong:
        problem = wrong
    else:
        found = sum(len(piece[0]) for piece in pieces)
        if found != n_rows:
            raise InputError(f"{path}: expected {n_rows} rows, as release.json says; found {found}.")
        whole = np.empty((n_rows, len(columns)), dtype=np.min_scalar_type(max(len(known) for known in labels)))
        for column, parts in enumerate(zip(*pieces, strict=True)):
            whole[:, column] = np.concatenate(parts)
        return whole
    if problem.is_weight:
        raise InputError(f"{path}: column {WEIGHT!r}: expected a number of at least 0, found {cut(problem.label or '', 40)!r}.")
    if problem.is_mark:
        raise InputError(f"{path}: column {SYNTHETIC!r}: expected {MARK}, found {cut(problem.label or '', 40)!r}.")
    if problem.column is None:
        raise InputError(f"{path}: expected {len(names)} fields in every row, found {problem.fields} in one.")
    name, known = names[problem.column], listing(labels[problem.column])
    raise InputError(f"{path}: column {name!r}: expected one of {known}, found {problem.label!r}.")
