"""What the program writes of a release, written again and compared: documents, estimates, files for statistical packages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from synthrelease.answers.listed import NAMES, NUMBERS, EstimateLine, as_csv
from synthrelease.bundle.document import own_version, package_version, processor
from synthrelease.bundle.estimates import (
    CSV,
    declared,
    errors_of,
    estimates_files,
    estimates_part,
    list_of,
    read_lines,
    table_files,
)
from synthrelease.bundle.formats import statistical_files
from synthrelease.bundle.tables import csv_pieces, members_csv_pieces, members_parquet_pieces, parquet_pieces
from synthrelease.bundle.write import written
from synthrelease.errors import InputError, Unexpected
from synthrelease.published import measurements
from synthrelease.published.base import Files
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.measurements import EstimatesPart, IntendedEstimatePart
from synthrelease.published.names import FORMATS, STEM
from synthrelease.published.table import ReleasedTable
from synthrelease.published.verify.checks import Check
from synthrelease.resources import install
from synthrelease.settings.tables import BundleTable
from synthrelease.spec import canonical

# The documents are written again from release.json and the table, and compared with the ones in the bundle.

_DOCUMENTS_SHOWN = 60


def documents(document: ReleaseDocument, table: ReleasedTable, files: Files, *, csv_as_written: bool = False) -> Check:
    """Compare every document with what release.json and the table give, byte for byte; missing ones are named before.

    Parameters
    ----------
    csv_as_written : whether that was found of the CSV files before.
    """
    sizes = {name: files.size(name) for name in document.files}
    expected = written(document, table, sizes)
    other = () if csv_as_written else other_csv(document, table, files)
    problems = [f"{name}: expected sorted rows in the layout in which they were written, found another" for name in other]
    of_parquet = _of_other_writer(document)
    if of_parquet:
        sizes_of = [(name, files.size(name), sum(map(len, pieces))) for name, pieces in _parquet(document, table)]
        told = ", ".join(f"{name} has {theirs} bytes, and {own} written here" for name, theirs, own in sizes_of)
        of_parquet = f"{of_parquet}; {told}"
    for name in () if of_parquet else _other_parquet(document, table, files):
        how = f"pyarrow {document.versions['pyarrow']} writes on a processor of the kind {processor()}"
        problems.append(f"{name}: expected the bytes that {how}, found others")
    for name, content in expected.items():
        if name in files and files[name] != content:
            problems.append(f"{name}: {first_difference(content, files[name])}")
    own, theirs = own_version(), document.written_by
    if problems and own != theirs:
        problems.append(f"the documents were written by synthrelease {theirs}, this is {own}: check them with that version")
    found = f"{len(expected)} documents say what release.json says"
    if of_parquet:
        limits = (f"Not all was compared: {of_parquet}.",)
        return Check(name="documents", found=f"{found}; {of_parquet}", problems=tuple(problems), limits=limits)
    return Check(name="documents", found=found, problems=tuple(problems))


def other_csv(document: ReleaseDocument, table: ReleasedTable, files: Files) -> list[str]:
    """The CSV files that are not what is written of the table."""
    (csv, members), _ = document.tables
    expected = [(csv, csv_pieces(table)), *([(members, members_csv_pieces(table))] if members else [])]
    return [name for name, pieces in expected if not files.holds(name, pieces)]


def _other_parquet(document: ReleaseDocument, table: ReleasedTable, files: Files) -> list[str]:
    """The same of the Parquet files. Rows alone do not tell: between and in pages there is room that no reader looks at."""
    return [name for name, pieces in _parquet(document, table) if not files.holds(name, pieces)]


def _parquet(document: ReleaseDocument, table: ReleasedTable) -> list[tuple[str, Iterator[bytes]]]:
    """The Parquet files by name, as this program writes them."""
    says_synthetic, (_, (parquet, members)) = document.bundle != BundleTable(), document.tables
    expected = [(parquet, parquet_pieces(table, says_synthetic))]
    return expected + ([(members, members_parquet_pieces(table, says_synthetic))] if members else [])


def _of_other_writer(document: ReleaseDocument) -> str:
    """What is said where the bytes of Parquet cannot be compared, because this machine would write others."""
    own = {"synthrelease": own_version(), "pyarrow": package_version("pyarrow"), "processor": processor()}
    before = {"processor": "x86_64"}  # version 1.0.0 did not say it
    stated = before | dict(document.versions) | {"synthrelease": document.written_by}
    for name, here in own.items():
        theirs = stated.get(name, "")
        if theirs != here:
            compared = "rows and the order of its parts alone"
            return (
                f"bytes of {document.parquet} not compared, {compared} ({name} {theirs or 'unknown'} wrote it, this is {here})"
            )
    return ""


def first_difference(expected: bytes, found: bytes) -> str:
    """Where two texts differ first, with what stands there in each."""
    left, right = (content.decode("utf-8", errors="replace").split("\n") for content in (expected, found))
    line = next((index for index, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    a, b = (lines[line] if line < len(lines) else "" for lines in (left, right))
    place = next((index for index, (c, d) in enumerate(zip(a, b, strict=False)) if c != d), min(len(a), len(b)))
    start = max(0, place - _DOCUMENTS_SHOWN // 2)
    return f"line {line + 1}: expected {_around(a, start)}, found {_around(b, start)}"


def _around(line: str, start: int) -> str:
    part = line[start : start + _DOCUMENTS_SHOWN]
    return f"'{'…' if start else ''}{part}{'…' if start + _DOCUMENTS_SHOWN < len(line) else ''}'" if part else "nothing"


_ESTIMATES_RELATIVE = 1e-4
"""Ends of intervals that are computed again may differ by so much of their width, from one machine to another."""


def estimates(document: ReleaseDocument, files: Mapping[str, bytes]) -> Check:
    """Every estimate and interval is what follows from the published noisy tables."""
    stated = document.estimates
    answered = 0 if stated is None else sum(one is not None for one in stated.intended)
    problems = [f"estimates: {problem}" for problem in _estimate_problems(document, stated, files)]
    listed = f", {len(files[CSV].splitlines()) - 1} lines of {CSV}" if CSV in files else ""
    problems += [*(_listed(document, files) if CSV in document.files else _left_out(document, files))]
    limits = tuple(_not_stated(document, files)) if not problems else ()
    found = f"{answered} intended queries have an estimate{listed}"
    return Check(name="estimates", found=found, problems=tuple(problems), limits=limits)


def _not_stated(document: ReleaseDocument, files: Mapping[str, bytes]) -> Iterator[str]:
    """What version 1.0.0 did not state of estimates, so that nobody misses it, a sentence each."""
    if document.estimates is not None and CSV not in document.files and document.written_by.startswith("0."):
        yield f"{CSV} is not there: documents of version {document.written_by} may have none."
    if document.estimates is None or document.estimates.not_a_sample is not None:
        return
    reasons = declared(document, files.get(canonical.NAME, b""))
    why = f", although the release declares {', '.join(reasons)}" if reasons else ""
    told = f"Estimates are as version {document.written_by} wrote them"
    yield f"{told}: with intervals for a population{why}, and with numbers that are not estimable."


def _left_out(document: ReleaseDocument, files: Mapping[str, bytes]) -> Iterator[str]:
    """Whether there is no list of estimates where the noisy tables answer something."""
    if not document.written_by.startswith("0.") and estimates_files(document, files.get(measurements.NAME, b"")):
        yield f"{CSV}: expected in release.json, with what the published noisy tables answer; not there"


def _listed(document: ReleaseDocument, files: Mapping[str, bytes]) -> Iterator[str]:
    """What of estimates.csv does not follow from measurements.json, and of the same table in further formats."""
    try:
        right = list_of(document, files.get(measurements.NAME, b""))
        found = read_lines(files[CSV])
    except Exception as error:
        yield f"{CSV}: expected a table as it was written, found another ({type(error).__name__})"
        return
    if len(right) != len(found):
        yield f"{CSV}: expected {len(right)} lines, found {len(found)}"
        return
    for place, (line, other) in enumerate(zip(right, found, strict=True), start=2):
        if not _same_line(line, other):
            yield f"{CSV}: line {place}: expected {_numbers(line)}, found {_numbers(other)}"
            return
    errors = {} if document.estimates is None else document.estimates.errors
    if errors != errors_of(found, document.n_rows):
        yield f"expected the errors of the counts in {CSV}, found others"
    if as_csv(found) != files[CSV]:
        yield f"{CSV}: expected the layout in which it was written, found another"
    for name, content in table_files(document, found).items():
        if files.get(name) != content:
            yield f"{name}: expected the lines of {CSV}, found others"


def _same_line(right: EstimateLine, found: EstimateLine) -> bool:
    """The same words, and numbers that agree as those of release.json do."""
    width = 0.0 if right.lower is None or right.upper is None else right.upper - right.lower
    pairs = [(getattr(right, name), getattr(found, name)) for name in NUMBERS]
    same = all(
        a is b if a is None or b is None else math.isclose(a, b, rel_tol=1e-5, abs_tol=_ESTIMATES_RELATIVE * width)
        for a, b in pairs
    )
    words = [name for name in NAMES if name not in NUMBERS]
    return same and all(getattr(right, name) == getattr(found, name) for name in words)


def _numbers(line: EstimateLine) -> str:
    said = " ".join(text for text in (line.statistic, line.column, line.value, line.by, line.group, line.question) if text)
    return f"{said}: {line.estimate} ({line.lower} to {line.upper}), {line.told}"


def _estimate_problems(document: ReleaseDocument, stated: EstimatesPart | None, files: Mapping[str, bytes]) -> Iterator[str]:
    try:
        before = document.first_documents and stated is not None and stated.not_a_sample is None  # as 1.0.0 wrote it
        expected = None if before else declared(document, files.get(canonical.NAME, b""))
        made = estimates_part(document, files.get(measurements.NAME, b""), expected)
    except Exception as error:
        if stated is not None:  # a release whose estimates cannot be computed is written without them
            yield f"they cannot be computed ({error if isinstance(error, Unexpected) else type(error).__name__})"
        return
    if made is None and stated is None:
        return
    if made is None or stated is None or made.level != stated.level or made.together != stated.together:
        yield "expected those of the published noisy tables, found others"
        return
    if made.not_a_sample != stated.not_a_sample:
        yield f"not_a_sample: expected {made.not_a_sample}, as {canonical.NAME} declares, found {stated.not_a_sample}"
    if len(made.intended) != len(stated.intended):
        yield f"expected one for each of {len(made.intended)} intended queries, found {len(stated.intended)}"
        return
    for place, (right, found) in enumerate(zip(made.intended, stated.intended, strict=True)):
        if not _same(right, found):
            yield f"intended query {place + 1}: expected {right}, found {found}"


def _same(right: IntendedEstimatePart | None, found: IntendedEstimatePart | None) -> bool:
    if right is None or found is None:
        return right is found
    if (right.question, right.unit) != (found.question, found.unit):
        return False
    if [one.name for one in right.ratios] != [one.name for one in found.ratios]:
        return False
    width = 0.0 if right.low is None or right.high is None else float(right.high - right.low)
    pairs = (
        *((right.estimate, found.estimate), (right.low, found.low), (right.high, found.high)),
        *((right.binned_low, found.binned_low), (right.binned_high, found.binned_high)),
        *((one.estimate, other.estimate) for one, other in zip(right.ratios, found.ratios, strict=True)),
        *((one.low, other.low) for one, other in zip(right.ratios, found.ratios, strict=True)),
        *((one.high, other.high) for one, other in zip(right.ratios, found.ratios, strict=True)),
    )
    return all(
        a is b if a is None or b is None else math.isclose(a, b, rel_tol=1e-5, abs_tol=_ESTIMATES_RELATIVE * width)
        for a, b in pairs
    )


# The files for statistical packages that [bundle] formats asks for.


def statistical(document: ReleaseDocument, table: ReleasedTable, files: Files) -> Check:
    """Check that they hold the rows of the table, the labels of its bins, and nothing else."""
    problems = tuple(_statistical_problems(document, table, files))
    return Check(name=STATISTICAL, found="the rows and labels of the table", problems=problems)


STATISTICAL = "statistical files"


def _statistical_problems(document: ReleaseDocument, table: ReleasedTable, files: Files) -> Iterator[str]:
    naming, chosen = FORMATS, document.bundle.formats
    endings = tuple(f".{kind.ending}" for kind in naming.with_rows.values())
    names = [name for name in document.files if name.endswith(endings) and not name.startswith(f"{STEM}.")]
    packages = list(dict.fromkeys(naming.packages[one] for one in chosen if one in naming.packages))
    try:
        expected = statistical_files(document, table)
    except InputError:
        needed = f"{', '.join(packages)}. {install(naming.extra)}"
        yield f"{', '.join(names)}: cannot be checked without the library {needed}"
        return
    yield from (f"{name}: not a file that [bundle] asks for" for name in names if name not in expected)
    for name, pieces in expected.items():
        if name in files and not files.holds(name, pieces):
            other = [(one, document.versions.get(one, "of another version"), package_version(one)) for one in packages]
            hints = [f" (it was written with {one} {theirs}, this is {own})" for one, theirs, own in other if theirs != own]
            said = "expected the rows, labels and missing codes of the table as they were written, found others"
            yield f"{name}: {said}{''.join(hints)}"
