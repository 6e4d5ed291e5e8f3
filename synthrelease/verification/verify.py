"""All checks of a bundle, in order; those that build on a failed one are not made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from synthrelease.bundle.table_files import csv_bytes
from synthrelease.errors import Unexpected
from synthrelease.published.checksums import sha256
from synthrelease.published.document import FORMATS, ReleaseDocument, read_strictly
from synthrelease.published.table import ReleasedTable, TableError, read_csv, read_parquet
from synthrelease.toml.bundle import BundleTable
from synthrelease.verification import measurements
from synthrelease.verification.charges import charges
from synthrelease.verification.checks import Check, Report
from synthrelease.verification.commitment import committed
from synthrelease.verification.configuration import configuration
from synthrelease.verification.documents import documents
from synthrelease.verification.estimates import estimates
from synthrelease.verification.figures import figures
from synthrelease.verification.flavour import flavour
from synthrelease.verification.imputation import imputation
from synthrelease.verification.population import population
from synthrelease.verification.reading import checksums, read_files, signature
from synthrelease.verification.schema import Rebuilt, SchemaProblem, rebuild
from synthrelease.verification.series import Earlier, series
from synthrelease.verification.statistical import statistical
from synthrelease.verification.weights import weights

LATER = (
    "schema",
    "table",
    "minimum count",
    "plausibility",
    "configuration",
    "privacy charges",
    "figures",
    "documents",
)


def verify_bundle(
    folder: str | Path,
    public_key: str | Path | None = None,
    earlier: Sequence[str | Path] = (),
    commitment: str | Path | None = None,
) -> Report:
    """Check a published bundle without any private data.

    Parameters
    ----------
    folder : the bundle.
    public_key : the publisher's key, from a source other than the bundle. With it the bundle must be signed by this key.
    earlier : folders of other releases of the same register; what this one says of them is checked.
    commitment : a file that `synthrelease commit` wrote before the run.

    Raises
    ------
    InputError, SigningError : when the folder or the key cannot be read.

    Notes
    -----
    What it shows: the files belong together. Whoever changes something must change all that follows from it, with this very
    program. Some things follow from nothing: a released figure (any number on the grid of its noise), the publisher's texts.
    Against a forger who writes the whole bundle anew only the signature helps (docs/bundle.md).
    """
    others = [(Path(each), read_files(Path(each))) for each in earlier]
    return verify_files(read_files(Path(folder)), public_key, others, commitment)


def verify_files(
    files: Mapping[str, bytes],
    public_key: str | Path | None = None,
    earlier: Sequence[Earlier] = (),
    commitment: str | Path | None = None,
) -> Report:
    """The same for files by name."""
    signed = signature(files, None if public_key is None else Path(public_key))
    checks = [checksums(files), signed.check]
    read = _document(files)
    if isinstance(read, Check):
        return _report(checks, read, signed.signed_by)
    checks.append(Check(name="release.json", found=f"format {read.format}, {read.title!r}"))
    rebuilt = _schema(read)
    if isinstance(rebuilt, Check):
        return _report(checks, rebuilt, signed.signed_by)
    bins = sum(len(column.bins) for column in read.columns)
    checks.append(Check(name="schema", found=f"{len(read.columns)} columns with {bins} bins, {len(read.rules)} rules"))
    table = _table(read, files)
    if isinstance(table, Check):
        return _report(checks, table, signed.signed_by)
    checks.append(Check(name="table", found=f"{read.n_rows} rows, the same in every file"))
    stated = read.flavour
    if stated is not None:
        checks.append(_made("flavour", lambda: flavour(read, stated)))
    sampled = read.population
    if sampled is not None:
        checks.append(_made("population", lambda: population(read, sampled)))
    if read.calibration is not None:
        checks.append(_made("weights", lambda: weights(read, table)))
    if read.imputation is not None:
        checks.append(_made("imputation", lambda: imputation(read, table, files, rebuilt.plausibility)))
    if read.bundle.formats:
        checks.append(_made("statistical files", lambda: statistical(read, table, files)))
    if measurements.NAME in read.files:
        checks.append(_made("measurements", lambda: measurements.measurements(read, files)))
    estimated = read.estimates
    if estimated is not None:
        checks.append(_made("estimates", lambda: estimates(read, estimated, files)))
    checks += [
        _made("minimum count", lambda: _minimum_count(read, table)),
        _made("plausibility", lambda: _plausible(rebuilt, table)),
        _made("configuration", lambda: configuration(read)),
        _made("privacy charges", lambda: charges(read)),
        _made("figures", lambda: figures(read, table, rebuilt.raw, files.get(measurements.NAME, b""))),
        *([_made("series", lambda: series(read, table, earlier))] if read.series is not None or earlier else []),
        *([] if commitment is None else [committed(read, Path(commitment))]),
        _made("documents", lambda: documents(read, table, files)),
    ]
    return Report(checks=tuple(checks), signed_by=signed.signed_by)


def _made(name: str, check: Callable[[], Check]) -> Check:
    """A check, or the problem that it cannot be made: somebody may have written whatever into release.json."""
    try:
        return check()
    except Exception as error:
        return Check(name=name, problems=(f"release.json: holds values that cannot be checked ({type(error).__name__})",))


def _report(checks: list[Check], failed: Check, signed_by: str | None) -> Report:
    """A report that ends early."""
    names = [check.name for check in checks] + [failed.name]
    left = [Check(name=name, made=False) for name in LATER if name not in names]
    return Report(checks=(*checks, failed, *left), signed_by=signed_by)


def _document(files: Mapping[str, bytes]) -> ReleaseDocument | Check:
    name = "release.json"
    if name not in files:
        return Check(name=name, problems=(f"{name}: expected in the bundle, not there",))
    try:
        document = read_strictly(files[name])
    except Unexpected as error:
        return Check(name=name, problems=(f"{name}: {error} (this program reads format {' and '.join(map(str, FORMATS))})",))
    if document.dumped() != files[name]:
        return Check(name=name, problems=(f"{name}: expected the layout in which it was written, found another",))
    return document


def _schema(document: ReleaseDocument) -> Rebuilt | Check:
    try:
        return rebuild(document)
    except SchemaProblem as error:
        return Check(name="schema", problems=(str(error),))
    except Exception as error:  # as in `_made`
        return Check(name="schema", problems=(f"release.json: holds a schema that cannot be ({type(error).__name__})",))


def _table(document: ReleaseDocument, files: Mapping[str, bytes]) -> ReleasedTable | Check:
    problems = [
        f"{name}: its checksum is not the one in release.json"
        for name, stated in document.files.items()
        if name not in files or sha256(files[name]) != stated
    ]
    problems += [
        f"{name}: expected in release.json, not there"
        for name in (document.csv, document.parquet)
        if name not in document.files
    ]
    names, labels = [column.name for column in document.columns], [column.labels for column in document.columns]
    ordered = [column.ordered for column in document.columns]
    table = None
    marked, says_synthetic = document.bundle.synthetic_column, document.bundle != BundleTable()
    for name, read in ((document.csv, read_csv), (document.parquet, partial(read_parquet, says_synthetic=says_synthetic))):
        if name not in files:
            continue
        try:
            found = read(files[name], names, labels, ordered, document.weighted, marked)
        except TableError as error:
            problems.append(f"{name}: {error}")
            continue
        if found.counts.total != document.n_rows:
            problems.append(f"{name}: expected {document.n_rows} rows, found {found.counts.total}")
        elif name == document.csv and csv_bytes(found) != files[name]:
            problems.append(f"{name}: expected sorted rows in the layout in which they were written, found another")
        elif table is not None and not _same(table, found):
            problems.append(f"{name}: expected the rows of data.csv, found others")
        table = table or found
    if problems or table is None:
        return Check(name="table", problems=tuple(problems))
    return table


def _same(left: ReleasedTable, right: ReleasedTable) -> bool:
    if left.weights is not None and right.weights is not None and not np.array_equal(left.weights, right.weights):
        return False
    return left.counts.same_as(right.counts)


def _minimum_count(document: ReleaseDocument, table: ReleasedTable) -> Check:
    wanted, rarest = document.minimum_count, int(table.counts.counts.min())
    problems = () if rarest >= wanted else (f"data.csv: a row occurs {rarest} times, expected at least {wanted}",)
    return Check(
        name="minimum count", found=f"every row occurs at least {rarest} times; promised are {wanted}", problems=problems
    )


def _plausible(rebuilt: Rebuilt, table: ReleasedTable) -> Check:
    bad = rebuilt.plausibility.forbidden(table.counts.bins)
    rows = int(table.counts.counts[bad].sum())
    problems = (f"data.csv: {rows} rows break the plausibility rules for released rows",) if rows else ()
    return Check(name="plausibility", found="no row breaks a rule", problems=problems)
