"""Reading the folder of a release: release.json and data.csv. `synthrelease verify` is for checking it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import BudgetError, InputError, Unexpected, cut, listing
from synthrelease.published.document import ReleaseDocument, read_leniently
from synthrelease.published.files import HELD, OnDisk
from synthrelease.published.lines import OtherLines, RowsBatch, TableError, TableShape, csv_lines, rows_of_table, written_rows
from synthrelease.published.measurements import NAME, on_released_bins, read_measurements, sum_on_released_bins
from synthrelease.published.release import Evaluation, Measurements, PublishedRelease
from synthrelease.sources.paths import checked_path


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
    document = document_of(where)
    columns = tuple(part.published() for part in document.columns)
    codes, weights = _rows(folder, document)
    return release_of(
        document,
        codes,
        folder=folder,
        measurements=_measurements(folder / NAME, document, columns),
        weights=weights,
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
        measured=NAME in document.files and math.isfinite(document.selection.measured_times),
        intended=tuple(document.questions),
        codes=codes,
        weights=weights,
        divided_rows=document.divided_rows,
        figures_about=document.figures_about,
        estimates=document.estimates,
        not_a_sample=document.not_a_sample,
        linked=document.linked,
        functions=document.functions,
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


def document_of(path: Path) -> ReleaseDocument:
    """What a file release.json says; its cost can be a cost. Raises InputError."""
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
        times=document.selection.measured_times,
        bins=document.measured_bins,
        sums=tuple(filter(None, of_sums)),
    )


def _rows(folder: Path, document: ReleaseDocument) -> tuple[np.ndarray, np.ndarray | None]:
    """(n_rows, n_columns) bin indices, and (n_rows,) weights where there are any. Raises InputError for any other table."""
    shape, (name, members) = document.shape, document.tables[0]
    path = folder / name
    try:
        batches = _batches(path, shape) if not members else _linked_batches(path, folder / members, shape)
    except TableError as error:
        problem = error
    else:
        found = sum(batch.n_rows for batch in batches)
        if found != document.n_rows:
            raise InputError(f"{path}: expected {document.n_rows} rows, as release.json says; found {found}.")
        whole = np.empty((found, len(shape.names)), dtype=np.min_scalar_type(max(shape.layout.sizes)))
        for column in range(len(shape.names)):
            whole[:, column] = np.concatenate([batch.repeated(batch.bins[column]) for batch in batches])
        weights = [batch.repeated(batch.weights) for batch in batches if batch.weights is not None]
        return whole, np.concatenate(weights) if shape.weighted else None
    raise InputError(f"{path}: {problem}.")


def _linked_batches(path: Path, members: Path, shape: TableShape) -> list[RowsBatch]:
    """The wide rows of roots and their members. Raises as `_batches`."""
    from synthrelease.published.linked import linked_csv

    return list(linked_csv(_on_disk(path), _on_disk(members), shape))


def _on_disk(path: Path) -> OnDisk:
    """A file of rows. Raises InputError where there is none."""
    problem = "no such file"
    try:
        return OnDisk.of(path)
    except OSError as error:
        problem = error.strerror or problem
    raise InputError(f"{path}: expected a file of a release; found {problem}.")


def _batches(path: Path, shape: TableShape) -> list[RowsBatch]:
    """The rows of data.csv, a large one piece by piece where it is as this program writes it.

    Raises TableError for another table, and InputError where there is none.
    """
    try:
        if path.stat().st_size > HELD:
            return list(written_rows(OnDisk.of(path), shape))
    except (OSError, OtherLines):  # said better below
        pass
    lines = filter(None, csv_lines(_text(path).encode("utf-8")))
    return list(rows_of_table(lines, shape))
