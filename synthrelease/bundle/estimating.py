"""The estimates of release.json, computed from measurements.json alone."""

from __future__ import annotations

import numpy as np

from synthrelease.bounds.measured import measured_times
from synthrelease.errors import InputError
from synthrelease.estimates import estimate
from synthrelease.published import PublishedRelease
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.estimates import EstimatesPart, IntendedEstimatePart
from synthrelease.published.folder import measurements_of, release_of
from synthrelease.published.parts import Number, number
from synthrelease.toml.queries import IntendedQueryTable

LEVEL = 0.95


def estimates_part(document: ReleaseDocument, measured: bytes) -> EstimatesPart | None:
    """What can be estimated; None where nothing can, because the search might have measured without end.

    Parameters
    ----------
    measured : the content of measurements.json.

    Raises
    ------
    Unexpected : for measurements that are not as they are written.
    """
    columns = tuple(part.published() for part in document.columns)
    measurements = measurements_of(measured, document, columns)
    release = release_of(document, np.zeros((0, len(columns)), dtype=np.int64), measurements=measurements)
    if measured_times(release, None) is None:
        return None
    return EstimatesPart(
        level=LEVEL,
        together=[list(table.columns) for table in measurements.tables],
        intended=[_estimated(release, asked) for asked in document.intended_queries],
    )


def with_estimates(document: ReleaseDocument, measured: bytes | None) -> ReleaseDocument:
    """The document with its estimates.

    They are made after a release that was paid for, from public values alone: whatever goes wrong, it must not stop the
    release, which is then written without them.
    """
    try:
        part = None if measured is None else estimates_part(document, measured)
    except Exception:
        part = None
    return document.model_copy(update={"estimates": part})


def _estimated(release: PublishedRelease, asked: IntendedQueryTable) -> IntendedEstimatePart | None:
    if asked.minus is not None:
        return None
    counted = not asked.mean and not asked.given
    where = [text for text in ((asked.query, asked.given) if asked.mean else (asked.given,)) if text]
    condition = where[0] if len(where) == 1 else " and ".join(f"({text})" for text in where)
    question = (f"mean {asked.mean}" if asked.mean else f"share {asked.query}") + (f" where {condition}" if where else "")
    try:
        [term] = estimate(release, question, confidence=LEVEL).terms
    except InputError:
        return None
    found = (term.rows, term.rows_low, term.rows_high) if counted else (term.estimate, term.low, term.high)
    estimated, low, high = (_rounded(value) for value in found)
    return IntendedEstimatePart(
        question=question,
        estimate=estimated,
        low=low,
        high=high,
        binned_low=_rounded(term.binned_low),
        binned_high=_rounded(term.binned_high),
        unit="rows" if counted else term.unit,
    )


def _rounded(value: float | None) -> Number | None:
    """Six digits, so that release.json is the same on every machine."""
    return None if value is None else number(float(f"{value:.6g}"))
