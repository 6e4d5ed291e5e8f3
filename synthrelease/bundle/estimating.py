"""The estimates of release.json, computed from measurements.json alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from synthrelease.answers.estimates import answered
from synthrelease.answers.limits import measured_times
from synthrelease.answers.stated import in_words
from synthrelease.data.weights import WEIGHT
from synthrelease.errors import InputError
from synthrelease.published import PublishedRelease
from synthrelease.published.base import Number, number
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.folder import measurements_of, release_of
from synthrelease.published.measurements import EstimatesPart, IntendedEstimatePart, NotSample, RatioPart
from synthrelease.settings.questions import QuestionTable

LEVEL = 0.95


def estimates_part(
    document: ReleaseDocument, measured: bytes, not_a_sample: Sequence[NotSample] | None
) -> EstimatesPart | None:
    """What can be estimated; None where nothing can, because the search might have measured without end.

    Parameters
    ----------
    measured : the content of measurements.json.
    not_a_sample : why there is no interval for a population; None for the part as release 1.0.0 wrote it.

    Raises
    ------
    Unexpected : for measurements that are not as they are written.
    """
    columns = tuple(part.published() for part in document.columns)
    measurements = measurements_of(measured, document, columns)
    release = release_of(document, np.zeros((0, len(columns)), dtype=np.int64), measurements=measurements)
    release = replace(release, not_a_sample=tuple(not_a_sample or ()))
    if measured_times(release, None) is None:
        return None
    return EstimatesPart(
        level=LEVEL,
        together=[list(table.columns) for table in measurements.tables],
        intended=[_estimated(release, asked, not_a_sample is None) for asked in document.questions],
        not_a_sample=None if not_a_sample is None else list(not_a_sample),
    )


def declared(document: ReleaseDocument, specification: bytes) -> tuple[NotSample, ...]:
    """Why the rows are no simple random sample of a population, by what release.json and specification.json declare."""
    columns = json.loads(specification).get("columns", {})
    return document.declared(design_weights=any(table.get("role") == WEIGHT for table in columns.values()))


def with_estimates(document: ReleaseDocument, measured: bytes | None, specification: bytes) -> ReleaseDocument:
    """The document with its estimates.

    They are made after a release that was paid for, from public values alone: whatever goes wrong, it must not stop the
    release, which is then written without them.
    """
    try:
        part = None if measured is None else estimates_part(document, measured, declared(document, specification))
    except Exception:
        part = None
    return document.model_copy(update={"estimates": part})


def _estimated(release: PublishedRelease, asked: QuestionTable, before: bool) -> IntendedEstimatePart | None:
    question = in_words(asked)
    counted = not asked.mean and not asked.given and question != asked.query
    try:
        found = answered(release, question, confidence=LEVEL, before=before)
    except InputError:
        return None
    if len(found.contrasts or found.terms) > 1 and not found.contrasts:
        return None  # one number for each bin or column: `estimate` tells them
    term = (found.contrasts or found.terms)[0]
    ratios = [
        RatioPart(name=one.name, estimate=_rounded(one.estimate), low=_rounded(one.low), high=_rounded(one.high))
        for one in found.contrasts[1:]
    ]
    numbers = (term.rows, term.rows_low, term.rows_high) if counted else (term.estimate, term.low, term.high)
    estimated, low, high = (_rounded(value) for value in numbers)
    return IntendedEstimatePart(
        question=question,
        estimate=estimated,
        low=low,
        high=high,
        binned_low=_rounded(term.binned_low),
        binned_high=_rounded(term.binned_high),
        unit="rows" if counted else term.unit,
        ratios=ratios,
    )


def _rounded(value: float | None) -> Number | None:
    """Six digits, so that release.json is the same on every machine."""
    return None if value is None else number(float(f"{value:.6g}"))
