"""Compute estimates with intervals from the published noisy tables, for release.json, estimates.csv and statistical
packages.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from synthrelease.answers.limits import measured_times
from synthrelease.bundle.dataset import WORDS
from synthrelease.bundle.formats import estimates_tables
from synthrelease.data.weights import WEIGHT
from synthrelease.errors import InputError
from synthrelease.generators.associations import noisy_strength
from synthrelease.published import PublishedRelease
from synthrelease.published.base import Number, number, sha256, six_digits
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.folder import measurements_of, release_of
from synthrelease.published.measurements import (
    EstimatesPart,
    IntendedEstimatePart,
    NotSample,
    PublishedMeasurement,
    RatioPart,
    StrengthsPart,
)
from synthrelease.published.names import STEM
from synthrelease.settings.questions import QuestionTable

if TYPE_CHECKING:
    from synthrelease.answers.listed import EstimateLine

# The estimates of release.json, computed from measurements.json alone. Functions load the modules of `answers` that only a
# release with measurements needs.

ESTIMATED_LEVEL = 0.95


def estimates_part(document: ReleaseDocument, tables: bytes, not_a_sample: Sequence[NotSample] | None) -> EstimatesPart | None:
    """Compute the section "estimates" of release.json, or return None without tables or without a limit on the number of
    measurements.

    Parameters
    ----------
    tables : the content of measurements.json.
    not_a_sample : the reasons why there is no interval for a population. With None, the section has the form of version
        1.0.0.

    Raises
    ------
    Unexpected : if the measurements have another format than synthrelease writes.
    """
    release = replace(with_tables(document, tables), not_a_sample=tuple(not_a_sample or ()))
    if release.measurements is None or measured_times(release, None) is None:
        return None
    return EstimatesPart(
        level=ESTIMATED_LEVEL,
        together=[list(table.columns) for table in release.measurements.tables],
        intended=[_estimated(release, intended, not_a_sample is None) for intended in document.intended_queries],
        not_a_sample=None if not_a_sample is None else list(not_a_sample),
        strengths=None if not_a_sample is None else strengths_of(release),
    )


def strengths_of(release: PublishedRelease) -> StrengthsPart:
    """Compute the strengths of associations and the shares of bins, each from the noisy table with the least noise."""
    shares = dict[str, tuple[float, list[Number]]]()
    pairs = dict[str, tuple[float, Number]]()
    for table in () if release.measurements is None else release.measurements.tables:
        variances = table.cells * table.noise.variance_above
        for two in combinations(range(len(table.columns)), min(2, len(table.columns))):
            others = tuple(axis for axis in range(len(table.columns)) if axis not in two)
            valued = tuple(slice(release.by_name[table.columns[axis]].present) for axis in two)
            counts, variance = (array.sum(axis=others)[valued] for array in (table.values, variances))
            for axis, place in enumerate(two):
                rows = np.maximum(0.0, counts.sum(axis=1 - axis) if len(two) == 2 else counts)
                noise = float(variance.sum())
                if noise < shares.get(name := table.columns[place], (math.inf, []))[0]:
                    shares[name] = noise, [number(float(f"{row / max(1, release.n_rows):.3g}")) for row in rows]
            if len(two) == 2 and (noise := float(variance.mean())) < pairs.get(pair := _pair(table, two), (math.inf, 0))[0]:
                pairs[pair] = noise, number(round(noisy_strength(counts, variance), 3))
    return StrengthsPart(
        shares={name: of_bins for name, (_, of_bins) in shares.items()}, pairs={pair: v for pair, (_, v) in pairs.items()}
    )


def _pair(table: PublishedMeasurement, axes: Sequence[int]) -> str:
    return ":".join(table.columns[axis] for axis in axes)


def with_tables(document: ReleaseDocument, measured: bytes) -> PublishedRelease:
    """Load a release from release.json and measurements.json, without its rows.

    Raises
    ------
    Unexpected : if the measurements have another format than synthrelease writes.
    """
    columns = tuple(part.published() for part in document.columns)
    return release_of(document, measurements=measurements_of(measured, document, columns))


def declared(document: ReleaseDocument, specification: bytes) -> tuple[NotSample, ...]:
    """Return the reasons in release.json and specification.json why the rows of the file are not a simple random sample."""
    columns = json.loads(specification).get("columns", {})
    return document.declared(design_weights=any(table.get("role") == WEIGHT for table in columns.values()))


def with_estimates(document: ReleaseDocument, measured: bytes | None, specification: bytes) -> ReleaseDocument:
    """Add the estimates from the noisy tables to release.json, unless there are no tables or the computation fails.

    The estimates are computed from public values after the budget is spent, so an error must not stop the release.
    """
    try:
        part = None if measured is None else estimates_part(document, measured, declared(document, specification))
    except Exception:
        part = None
    return document.model_copy(update={"estimates": part})


def _estimated(release: PublishedRelease, intended: QuestionTable, as_first: bool) -> IntendedEstimatePart | None:
    from synthrelease.answers.estimates import answered
    from synthrelease.answers.stated import in_words

    question = in_words(intended)
    counted = not intended.mean and not intended.given and question != intended.query
    try:
        answer = answered(release, question, confidence=ESTIMATED_LEVEL, as_first=as_first)
    except InputError:
        return None
    if len(answer.contrasts or answer.terms) > 1 and not answer.contrasts:
        return None  # the answer has several numbers; `estimate` prints them
    term = (answer.contrasts or answer.terms)[0]
    ratios = [
        RatioPart(name=ratio.name, estimate=six_digits(ratio.estimate), low=six_digits(ratio.low), high=six_digits(ratio.high))
        for ratio in answer.contrasts[1:]
    ]
    numbers = (term.rows, term.rows_low, term.rows_high) if counted else (term.estimate, term.low, term.high)
    estimated, low, high = (six_digits(value) for value in numbers)
    return IntendedEstimatePart(
        question=question,
        estimate=estimated,
        low=low,
        high=high,
        binned_low=six_digits(term.binned_low),
        binned_high=six_digits(term.binned_high),
        unit="rows" if counted else term.unit,
        ratios=ratios,
    )


CSV = f"{STEM}.csv"


def list_of(document: ReleaseDocument, measured: bytes) -> list[EstimateLine]:
    """Return the lines of estimates.csv, in the form of version 1.0.0 for its releases, from measurements.json alone.

    Raises
    ------
    Unexpected : if the measurements have another format than synthrelease writes.
    """
    from synthrelease.answers.listed import listed
    from synthrelease.answers.stated import in_words

    release, part = with_tables(document, measured), document.estimates
    level, as_first = (0.95, False) if part is None else (float(part.level), part.not_a_sample is None)
    release = replace(release, not_a_sample=()) if as_first else release
    questions = [text for intended in document.intended_queries if (text := in_words(intended))]
    return listed(release, questions, level, as_first=as_first)


def estimates_files(document: ReleaseDocument, measured: bytes | None) -> dict[str, bytes]:
    try:
        lines = [] if measured is None or document.estimates is None else list_of(document, measured)
        if not lines:
            return {}
        from synthrelease.answers.listed import as_csv

        return {CSV: as_csv(lines), **table_files(document, read_lines(as_csv(lines)))}
    except Exception:
        return {}


def with_errors(document: ReleaseDocument, files: Mapping[str, bytes]) -> ReleaseDocument:
    """Add to release.json the checksums of the files with estimates, and the uncertainty of the counts in estimates.csv."""
    part = document.estimates
    if part is None or CSV not in files:
        return document
    part = part.model_copy(update={"errors": errors_of(read_lines(files[CSV]), document.n_rows)})
    return with_files(document, files).model_copy(update={"estimates": part})


def errors_of(lines: Sequence[EstimateLine], n_rows: int) -> dict[str, int]:
    """Return half the width, in rows, of the widest interval of a count, for each column and each pair of columns in
    estimates.csv.

    If one of the counts has no interval, return the total number of rows instead.
    """
    errors: dict[str, int] = {}
    for line in lines:
        if line.statistic == "count" and not line.question:
            name = f"{line.by}:{line.column}" if line.by else line.column
            estimable = line.lower is not None and line.upper is not None
            error = math.ceil((line.upper - line.lower) / 2) if estimable else n_rows  # type: ignore[operator]
            errors[name] = max(errors.get(name, 0), error)
    return errors


def with_files(document: ReleaseDocument, files: Mapping[str, bytes]) -> ReleaseDocument:
    digests = {name: sha256(content) for name, content in files.items()}
    return document.model_copy(update={"files": {**document.files, **digests}})


def table_files(document: ReleaseDocument, lines: Sequence[EstimateLine]) -> dict[str, bytes]:
    return estimates_tables(document.bundle, _frame(lines), WORDS["estimates"])


def read_lines(content: bytes) -> list[EstimateLine]:
    """Parse the lines of estimates.csv.

    Raises
    ------
    ValueError : if the content does not have the form of estimates.csv.
    """
    from synthrelease.answers.listed import NAMES, NUMBERS, EstimateLine

    def value(name: str, text: str) -> Any:
        if name == "confidence":
            return float(text)
        return text if name not in NUMBERS else float(text) if text else None

    table = csv.DictReader(io.StringIO(content.decode("utf-8")))
    if tuple(table.fieldnames or ()) != NAMES:
        raise ValueError(f"{CSV}: the columns must be {', '.join(NAMES)}")
    return [EstimateLine(**{name: value(name, text) for name, text in row.items()}) for row in table]


def _frame(lines: Sequence[EstimateLine]) -> Any:
    import pandas as pd

    from synthrelease.answers.listed import NAMES, NUMBERS

    numeric = (*NUMBERS, "confidence")
    return pd.DataFrame(
        {name: np.array([getattr(line, name) for line in lines], dtype=float if name in numeric else object) for name in NAMES}
    )
