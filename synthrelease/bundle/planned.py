"""The parts of release.json that follow from the specification, the drawn configuration and the numbers of rows."""

from __future__ import annotations

from typing import Any

from synthrelease.bundle.options import planned
from synthrelease.criteria.base import Criterion
from synthrelease.data.schema import Transformation
from synthrelease.generators.space import Configuration
from synthrelease.privacy.plan import Guarantee
from synthrelease.published.base import number
from synthrelease.published.charges import BoundsPart, ChargePart, DomainPart, GuaranteePart, JointTestPart, SelectionPart
from synthrelease.published.columns import BinPart, ColumnPart, RulePart
from synthrelease.spec.release_spec import ReleaseSpec

_NO_PARAMETERS = {"name", "kind", "threshold", "epsilon", "reason"}
"""Fields of a criterion that stand elsewhere in release.json."""


def planned_parts(
    spec: ReleaseSpec, configuration: Configuration, guarantee: Guarantee, n_file: int | None, n: int
) -> dict[str, Any]:
    """Parts of a `ReleaseDocument`, by the names of its fields.

    Parameters
    ----------
    n_file : rows of the private file; None where the number of kept rows is published instead.
    n : rows that the release worked with.
    """
    return {
        "title": spec.title,
        "description": spec.description.strip(),
        "synthetic": True,
        "guarantee": GuaranteePart.of(guarantee),
        "domain": DomainPart.of(spec.rows, n_file, spec.input.missing_values, None if n_file is None else spec.persons(n_file)),
        "charges": ChargePart.of(spec.plan.total),
        "configuration": spec.described(configuration),
        "selection": selection_part(spec),
        "columns": column_parts(configuration.transformation),
        "groups": {name: list(BinPart.all_of(spec.schema[name], binning)) for name, binning in spec.setting.groups.items()},
        "rules": [RulePart(never=rule.never, applies_to=rule.applies_to, why=rule.why) for rule in spec.rules],
        "specification": spec.digest,
        "not_promised": spec.not_promised,
        **planned(spec.parts, n),
        **{name: list(tables) for name, tables in spec.lists.items()},
    }


def column_parts(transformation: Transformation) -> list[ColumnPart]:
    """The columns of a released table with its bins."""
    return [
        ColumnPart.of(column, binning)
        for column, binning in zip(transformation.schema.columns, transformation.binnings, strict=True)
    ]


def parameters(criterion: Criterion) -> dict[str, Any]:
    """What stands in the acceptance file about a criterion, beside name, kind, threshold and epsilon."""
    return criterion.model_dump(mode="json", exclude=_NO_PARAMETERS, exclude_none=True)


def selection_part(spec: ReleaseSpec) -> SelectionPart:
    """How rounds are repeated, what decides one, and how many configurations are drawn from."""
    test = spec.joint_test
    return SelectionPart(
        configurations=len(spec.space),
        stop_probability=None if spec.rounds is not None else str(spec.stop_probability),
        shape=None if spec.shape is None else str(spec.shape),
        rounds=None if spec.rounds is None else {str(rounds): str(share) for rounds, share in spec.rounds.atoms},
        shared_measurements=spec.shared_measurements,
        joint_test=None
        if test is None
        else JointTestPart(
            epsilon_exact=str(test.epsilon), false_acceptance=str(test.false_acceptance), margin=number(test.margin)
        ),
        bounds=BoundsPart(risk_exact=str(spec.bound_risk), transformations=len(spec.space.transformations))
        if spec.setting.answered
        else None,
    )
