"""The estimates in release.json, computed again from measurements.json."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from synthrelease.answers.listed import NAMES, NUMBERS, EstimateLine, as_csv
from synthrelease.bundle.estimates_files import CSV, errors_of, estimates_files, list_of, read_lines, table_files
from synthrelease.bundle.estimating import declared, estimates_part
from synthrelease.errors import Unexpected
from synthrelease.published import measurements
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.measurements import EstimatesPart, IntendedEstimatePart
from synthrelease.published.verify.checks import Check
from synthrelease.spec import canonical

_RELATIVE = 1e-4
"""Ends of intervals that are computed again may differ by so much of their width, from one machine to another."""


def estimates(document: ReleaseDocument, files: Mapping[str, bytes]) -> Check:
    """Every estimate and interval is what follows from the published noisy tables."""
    stated = document.estimates
    answered = 0 if stated is None else sum(one is not None for one in stated.intended)
    problems = [f"estimates: {problem}" for problem in _problems(document, stated, files)]
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
        a is b if a is None or b is None else math.isclose(a, b, rel_tol=1e-5, abs_tol=_RELATIVE * width) for a, b in pairs
    )
    words = [name for name in NAMES if name not in NUMBERS]
    return same and all(getattr(right, name) == getattr(found, name) for name in words)


def _numbers(line: EstimateLine) -> str:
    said = " ".join(text for text in (line.statistic, line.column, line.value, line.by, line.group, line.question) if text)
    return f"{said}: {line.estimate} ({line.lower} to {line.upper}), {line.told}"


def _problems(document: ReleaseDocument, stated: EstimatesPart | None, files: Mapping[str, bytes]) -> Iterator[str]:
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
        a is b if a is None or b is None else math.isclose(a, b, rel_tol=1e-5, abs_tol=_RELATIVE * width) for a, b in pairs
    )
