"""What a release promises, as one value: whoever verifies it states it once more, and loads no part of a round for that."""

from __future__ import annotations

from synthrelease.privacy.charges import invariants
from synthrelease.privacy.plan import Guarantee
from synthrelease.spec.release_spec import ReleaseSpec


def stated_guarantee(spec: ReleaseSpec, n_file: int, n: int) -> Guarantee:
    """The guarantee of a release that worked with n rows of a file of n_file (theory 10, statement of the guarantee)."""
    return Guarantee(
        epsilon=spec.plan.total.epsilon,
        delta=spec.plan.total.delta,
        invariants=invariants(spec.rows.way, n_file, n, spec.persons(n_file)),
        unit_name=spec.unit.name,
        records_per_person=spec.unit.records,
        why=spec.unit.why,
    )
