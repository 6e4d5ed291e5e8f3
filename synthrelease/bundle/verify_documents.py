"""Write the documents, estimates and files for statistical packages again, and compare them with the bundle."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from synthrelease.bundle.document import package_version, processor
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
from synthrelease.bundle.tables import row_files
from synthrelease.bundle.verify_plan import differences
from synthrelease.bundle.write import written
from synthrelease.errors import InputError, Unexpected, so_many
from synthrelease.published import measurements
from synthrelease.published.base import Files
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.measurements import EstimatesPart
from synthrelease.published.names import FORMATS, STEM
from synthrelease.published.table import ReleasedTable
from synthrelease.published.verify.checks import Check
from synthrelease.resources import VERSION, install
from synthrelease.spec import canonical

if TYPE_CHECKING:
    from synthrelease.answers.listed import EstimateLine

_DOCUMENTS_SHOWN = 60


def documents(document: ReleaseDocument, table: ReleasedTable, files: Files) -> Check:
    """Check that every document equals, byte for byte, the one that follows from release.json and the table."""
    sizes = {name: files.size(name) for name in document.files}
    expected = written(document, table, sizes, files.get(measurements.NAME) if measurements.NAME in document.files else None)
    unsorted = other_rows(document, table, files, "csv")
    problems = [f"{name}: the rows are not sorted, or not in the layout of synthrelease" for name in unsorted]
    of_parquet = _of_other_writer(document)
    if of_parquet:
        here = row_files(document, table, "parquet")
        sizes_of = [(name, files.size(name), sum(map(len, pieces))) for name, pieces in here.items()]
        sizes_told = ", ".join(f"{name} has {writer} bytes; written here, it has {here_}" for name, writer, here_ in sizes_of)
        of_parquet = f"{of_parquet}; {sizes_told}"
    for name in () if of_parquet else other_rows(document, table, files, "parquet"):
        how = f"pyarrow {document.versions['pyarrow']} writes on a processor of the kind {processor()}"
        problems.append(f"{name}: its bytes differ from the bytes that {how}")
    for name, content in expected.items():
        if name in files and files[name] != content:
            problems.append(f"{name}: {first_difference(content, files[name])}")
    here_, writer = VERSION, document.written_by
    if problems and here_ != writer:
        problems.append(f"synthrelease {writer} wrote the documents; this is {here_}. Run `verify` of that version")
    summary = f"{len(expected)} documents agree with release.json"
    if of_parquet:
        limits = (f"Not all bytes were compared: {of_parquet}.",)
        return Check(name="documents", found=f"{summary}; {of_parquet}", problems=tuple(problems), limits=limits)
    return Check(name="documents", found=summary, problems=tuple(problems))


def other_rows(document: ReleaseDocument, table: ReleasedTable, files: Files, ending: str) -> list[str]:
    """Return the CSV or Parquet files in the bundle that differ in any byte from the released rows written again.

    Comparing rows would not be enough: gaps of a Parquet file, which readers skip, could contain private values.
    """
    return [name for name, pieces in row_files(document, table, ending).items() if not files.holds(name, pieces)]


def _of_other_writer(document: ReleaseDocument) -> str:
    """Return why Parquet files written here may differ in bytes, such as another version of pyarrow, or ""."""
    running = {"synthrelease": VERSION, "pyarrow": package_version("pyarrow"), "processor": processor()}
    of_first = {"processor": "x86_64"}  # version 1.0.0 did not say it
    versions = of_first | dict(document.versions) | {"synthrelease": document.written_by}
    for name, version in running.items():
        writer = versions.get(name, "")
        if writer != version:
            wrote = f"it was written with {name} {writer or 'of an unknown version'}, and this is {version}"
            return f"only the rows of {document.parquet} and the order of its parts were compared, because {wrote}"
    return ""


def first_difference(expected: bytes, other_content: bytes) -> str:
    left, right = (content.decode("utf-8", errors="replace").split("\n") for content in (expected, other_content))
    line = next((index for index, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    a, b = (lines[line] if line < len(lines) else "" for lines in (left, right))
    column = next((index for index, (c, d) in enumerate(zip(a, b, strict=False)) if c != d), min(len(a), len(b)))
    start = max(0, column - _DOCUMENTS_SHOWN // 2)
    return f"line {line + 1} has {_around(b, start)} in place of {_around(a, start)}"


def _around(line: str, start: int) -> str:
    part = line[start : start + _DOCUMENTS_SHOWN]
    return f"'{'…' if start else ''}{part}{'…' if start + _DOCUMENTS_SHOWN < len(line) else ''}'" if part else "nothing"


ANSWERS = "model answers"

# Tolerance for recomputed interval ends, relative to the width of the interval. The checks need a tolerance because machines
# differ in the last digits.
_ESTIMATES_RELATIVE = 1e-4


def estimates(document: ReleaseDocument, files: Mapping[str, bytes]) -> Check:
    """Check that every estimate and interval follows from the published noisy tables."""
    part = document.estimates
    answered = 0 if part is None else sum(intended is not None for intended in part.intended)
    problems = [f"estimates: {problem}" for problem in _estimate_problems(document, part, files)]
    listed = f", {len(files[CSV].splitlines()) - 1:,} lines of {CSV}" if CSV in files else ""
    problems += [*(_listed(document, files) if CSV in document.files else _left_out(document, files))]
    limits = tuple(_not_stated(document, files)) if not problems else ()
    summary = f"{so_many(answered, 'intended question has', 'intended questions have')} an estimate{listed}"
    return Check(name="estimates", found=summary, problems=tuple(problems), limits=limits)


def models(document: ReleaseDocument, files: Mapping[str, bytes]) -> Check:
    """Check that every answer and interval of a question in [[models]] follows from the published sums."""
    part, measured = document.models, files.get(measurements.NAME)
    problems = []
    if part is not None:
        from synthrelease.bundle.models import with_models

        computed = with_models(document, part, measured, files.get(canonical.NAME, b"")).models
        answers = [] if computed is None else computed.answers
        problems = list(_disagreements("models.answers", answers, part.answers, "the published sums give"))
        problems += ["models: there must be one answer for each question"] if len(answers) != len(part.answers) else []
    summary = f"{so_many(0 if part is None else len(part.answers), 'answer')}, whose intervals follow from the published sums"
    return Check(name=ANSWERS, found=summary, problems=tuple(problems))


def _not_stated(document: ReleaseDocument, files: Mapping[str, bytes]) -> Iterator[str]:
    """Yield a sentence for each statement about estimates that is missing because of an early version of synthrelease."""
    if document.estimates is not None and CSV not in document.files and document.written_by.startswith("0."):
        yield f"{CSV} is missing, as it may be in documents of version {document.written_by}."
    if document.estimates is None or document.estimates.not_a_sample is not None:
        return
    reasons = declared(document, files.get(canonical.NAME, b""))
    why = f", although the release declares {', '.join(reasons)}" if reasons else ""
    start = f"Version {document.written_by} wrote the estimates"
    yield f"{start}. It stated intervals for a population{why}, and also numbers that are not estimable."


def _left_out(document: ReleaseDocument, files: Mapping[str, bytes]) -> Iterator[str]:
    """Yield a sentence if estimates.csv is missing although the published noisy tables answer at least one question."""
    if not document.written_by.startswith("0.") and estimates_files(document, files.get(measurements.NAME, b"")):
        yield f"{CSV}: this file is missing, although the published noisy tables answer questions"


def _listed(document: ReleaseDocument, files: Mapping[str, bytes]) -> Iterator[str]:
    """Yield a problem for each line of estimates.csv, and of its other formats, that does not follow from measurements.json."""
    from synthrelease.answers.listed import as_csv, without_exponents

    try:
        right = list_of(document, files.get(measurements.NAME, b""))
        read = read_lines(files[CSV])
    except Exception as error:
        yield f"{CSV}: this is not a table of estimates ({type(error).__name__})"
        return
    if len(right) != len(read):
        yield f"{CSV}: this file has {so_many(len(read), 'line')}, but the noisy tables give {len(right):,}"
        return
    for number_of_line, (line, stated_line) in enumerate(zip(right, read, strict=True), start=2):
        if not _agree(line, stated_line):
            yield f"{CSV}: line {number_of_line}: the noisy tables give {_numbers(line)}, not {_numbers(stated_line)}"
            return
    errors = {} if document.estimates is None else document.estimates.errors
    if errors != errors_of(read, document.n_rows):
        yield f"estimates: errors: these numbers do not follow from the counts in {CSV}"
    if as_csv(read) != without_exponents(files[CSV]):
        yield f"{CSV}: this file does not have the layout that synthrelease writes"
    for name, content in table_files(document, read).items():
        if files.get(name) != content:
            yield f"{name}: its lines differ from the lines of {CSV}"


def _disagreements(path: str, computed: Iterable[Any], stated: Iterable[Any], source: str) -> Iterator[str]:
    for index, (right, listed) in enumerate(zip(computed, stated, strict=False)):
        if not _agree(right, listed):
            yield from differences(f"{path}[{index}]", right, listed, source)


def _agree(right: Any, stated: Any, absolute: float = 0.0, relative: float = 1e-5) -> bool:
    """Return whether a stated value agrees with the recomputed value.

    Numbers may differ in the last digits, by a tolerance relative to the width of their interval or, without an interval,
    to their size. All else must be equal, including missing numbers.
    """
    if isinstance(right, BaseModel) or is_dataclass(right):
        low, high = getattr(right, "low", getattr(right, "lower", None)), getattr(right, "high", getattr(right, "upper", None))
        absolute = absolute if low is None or high is None else _ESTIMATES_RELATIVE * float(high - low)
        return type(right) is type(stated) and _agree(vars(right), vars(stated), absolute, relative)
    if isinstance(right, dict) and isinstance(stated, dict):
        return right.keys() == stated.keys() and all(
            right[name] == stated[name] if name == "confidence" else _agree(right[name], stated[name], absolute, relative)
            for name in right
        )
    if isinstance(right, list) and isinstance(stated, list):
        return len(right) == len(stated) and all(_agree(a, b, absolute, relative) for a, b in zip(right, stated, strict=True))
    if isinstance(right, int | float) and isinstance(stated, int | float):
        return math.isclose(right, stated, rel_tol=relative, abs_tol=absolute)
    return bool(right == stated)


def _numbers(line: EstimateLine) -> str:
    question = " ".join(text for text in (line.statistic, line.column, line.value, line.by, line.group, line.question) if text)
    return f"{question}: {line.estimate} ({line.lower} to {line.upper}), {line.told}"


def _estimate_problems(document: ReleaseDocument, part: EstimatesPart | None, files: Mapping[str, bytes]) -> Iterator[str]:
    try:
        as_first = document.first_documents and part is not None and part.not_a_sample is None  # as 1.0.0 wrote it
        expected = None if as_first else declared(document, files.get(canonical.NAME, b""))
        computed = estimates_part(document, files.get(measurements.NAME, b""), expected)
    except Exception as error:
        if part is not None:  # a release whose estimates cannot be computed is written without them
            yield f"they cannot be computed ({error if isinstance(error, Unexpected) else type(error).__name__})"
        return
    if computed is None and part is None:
        return
    if computed is None or part is None or computed.level != part.level or computed.together != part.together:
        yield "they do not follow from the published noisy tables"
        return
    if computed.not_a_sample != part.not_a_sample:
        stated, given = (", ".join(reasons or ()) or "none" for reasons in (part.not_a_sample, computed.not_a_sample))
        yield f"not_a_sample: release.json states the reasons {stated}, but its declarations give {given}"
    if part.strengths is not None and not _agree(computed.strengths, part.strengths, 0.002, 0.01):
        yield f"strengths: they do not follow from {measurements.NAME}"
    if len(computed.intended) != len(part.intended):
        estimates_of = so_many(len(part.intended), "estimate")
        yield f"intended: release.json has {estimates_of} for {so_many(len(computed.intended), 'intended question')}"
        return
    yield from _disagreements("intended", computed.intended, part.intended, "the noisy tables give")


# The files for statistical packages that [bundle] formats asks for.


def statistical(document: ReleaseDocument, table: ReleasedTable, files: Files) -> Check:
    """Check that the files for statistical packages contain the rows of the table and the labels of its bins."""
    problems = tuple(_statistical_problems(document, table, files))
    return Check(name=STATISTICAL, found="the rows and labels of the table", problems=problems)


STATISTICAL = "statistical files"


def _statistical_problems(document: ReleaseDocument, table: ReleasedTable, files: Files) -> Iterator[str]:
    naming, chosen = FORMATS, document.bundle.formats
    endings = tuple(f".{kind.ending}" for kind in naming.with_rows.values())
    names = [name for name in document.files if name.endswith(endings) and not name.startswith(f"{STEM}.")]
    packages = list(dict.fromkeys(naming.packages[package] for package in chosen if package in naming.packages))
    try:
        expected = statistical_files(document, table)
    except InputError:
        needed = f"{', '.join(packages)}. {install(naming.extra)}"
        yield f"{', '.join(names)}: this check needs the library {needed}"
        return
    yield from (f"{name}: [bundle] does not request this file" for name in names if name not in expected)
    for name, pieces in expected.items():
        if name in files and not files.holds(name, pieces):
            hints = ""
            for package in packages:
                writer, running = document.versions.get(package, "of another version"), package_version(package)
                hints += f" (it was written with {package} {writer}, this is {running})" if writer != running else ""
            yield f"{name}: its rows, labels or missing codes differ from the table{hints}"
