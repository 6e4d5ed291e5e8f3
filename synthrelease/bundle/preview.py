"""The documents of a release that has not been run: placeholders in place of figures.

`release` writes them, and throws them away, before anything private is read: a text or a name that a document cannot hold must
show up while nothing is spent.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from synthrelease.bundle.contents import table_files, written
from synthrelease.bundle.document import release_document
from synthrelease.bundle.estimating import LEVEL
from synthrelease.bundle.options import placeholders
from synthrelease.bundle.part import AcceptedRows
from synthrelease.bundle.planned import column_parts
from synthrelease.criteria.base import Criterion
from synthrelease.criteria.facts import Score
from synthrelease.data.counts import Counts
from synthrelease.generators.candidate import Candidate
from synthrelease.published.measurements import EstimatesPart, IntendedEstimatePart
from synthrelease.published.table import ReleasedTable
from synthrelease.releasing.release import Release, stated_guarantee
from synthrelease.spec.release_spec import ReleaseSpec


def preview(spec: ReleaseSpec) -> dict[str, bytes]:
    """All documents of a bundle, of a table with a single row over again and of figures that just meet their thresholds.

    Raises
    ------
    InputError : when a library is missing that writes a format of [bundle].
    """
    configuration = spec.space[0]
    layout = configuration.transformation.layout
    most_rows = min(1000, spec.most_rows or 1000)
    table = Counts.of(layout, [np.zeros(1, dtype=np.int64)] * len(layout.sizes), np.array([most_rows]))
    most = table.total * (1 if spec.unit.key is None else spec.unit.records)
    scores = tuple(
        Score(
            name=criterion.name,
            kind=criterion.kind,
            threshold=criterion.threshold,
            value=criterion.threshold,
            epsilon=criterion.epsilon,
            mechanism="not run",
            sensitivity=criterion.threshold / 100 if _noisy(criterion) else None,
            noise_sd=criterion.threshold / 100 if _noisy(criterion) else None,
            passed=True,
            one_noise=spec.noises.get(criterion.name),
        )
        for criterion in spec.criteria
    )
    spec = replace(spec, card=spec.card.model_copy(update={"title": f"PREVIEW {spec.card.title or spec.title}"}))
    release = Release(
        spec=spec,
        guarantee=stated_guarantee(spec, most, table.total),
        n_file=None if spec.rows.way == "exact" else most,
        charges=spec.plan.total,
        candidate=Candidate(configuration=configuration, counts=table),
        scores=scores,
        n=table.total,
    )
    made = replace(ReleasedTable.of(release.candidate), marked=spec.bundle.synthetic_column)
    rows = AcceptedRows(
        table=made,
        transformation=configuration.transformation,
        columns=column_parts(configuration.transformation),
        rules=spec.synthetic.merge(configuration.transformation),
        smallest=table.total,
        bundle=spec.bundle,
    )
    document = release_document(release, {}, placeholders(spec.parts, rows))
    data = {name: b"".join(pieces) for name, pieces in table_files(document, made).items()}
    estimates = _estimates(spec) if spec.publish_measurements else None
    document = document.model_copy(update={"files": dict.fromkeys(data, "0" * 64), "estimates": estimates})
    return written(document, made, dict.fromkeys(data, 0))


def _noisy(criterion: Criterion) -> bool:
    return criterion.figure_gets_noise and criterion.answered_by is None


def _estimates(spec: ReleaseSpec) -> EstimatesPart:
    """Placeholders for estimates of the questions that it is meant to answer."""
    one = IntendedEstimatePart(question="share", estimate=0.5, low=0, high=1, unit="")
    return EstimatesPart(level=LEVEL, together=[list(spec.schema.names)], intended=[one] * len(spec.questions))
