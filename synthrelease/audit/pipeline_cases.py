"""Cases of whole releases: specification, file, rounds, criteria, selection, as `synthrelease release` runs them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from synthrelease.audit.cases import Case
from synthrelease.audit.pipelines import Pipeline, pipelines
from synthrelease.releasing.release import Release, release
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec

DRAWS = 200
FAULTY_DRAWS = 1_000
"""A known fault of a whole release must be found among all other cases, which takes more draws than to find none."""
_CELLS = 6


def pipeline_cases() -> Iterator[Case]:
    """Every pipeline, at the epsilon of its printed plan."""
    for pipeline in pipelines():
        yield pipeline_case(pipeline)


def pipeline_case(pipeline: Pipeline, *, run: Pipeline | None = None) -> Case:
    """Whole releases of two neighbouring files; `run` is the release that is run where it is not the one that is claimed."""
    with TemporaryDirectory() as folder:
        spec = load_spec(pipeline.written(Path(folder), "left")[0])
    scores = tuple(f"score of {criterion.name}" for criterion in spec.criteria)
    draw = partial(_releases, run or pipeline)
    return Case(
        family="whole release",
        name=f"release: {pipeline.name}{f', run with {run.name}' if run else ''}",
        claim=float(spec.plan.total.epsilon),
        left=partial(draw, "left"),
        right=partial(draw, "right"),
        features=("released", "configuration", "number of rows", *(f"rows in cell {cell}" for cell in range(_CELLS)), *scores),
        draws=DRAWS if run is None else FAULTY_DRAWS,
        faulty=run is not None,
    )


def _releases(pipeline: Pipeline, side: str, draws: int) -> np.ndarray:
    """(draws, k): everything that a release publishes, as numbers."""
    with TemporaryDirectory() as folder:
        configuration, data = pipeline.written(Path(folder), side)
        spec = load_spec(configuration)
        return np.array([_published(spec, release(spec, data, jobs=pipeline.jobs)) for _ in range(draws)])


def _published(spec: ReleaseSpec, result: Release | None) -> list[float]:
    if result is None:
        return [0.0, -1.0, 0.0, *([0.0] * (_CELLS + len(spec.criteria)))]
    described = [configuration.describe() for configuration in spec.space]
    rows = result.candidate.counts.dense()
    return [
        1.0,
        float(described.index(result.candidate.configuration.describe())),
        float(result.candidate.counts.total),
        *np.pad(rows, (0, _CELLS - len(rows))).tolist(),
        *(score.value for score in result.scores),
    ]
