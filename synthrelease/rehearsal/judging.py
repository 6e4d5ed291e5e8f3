"""The criteria's exact figures of one public table as the release of another, and where each comes from."""

from __future__ import annotations

from synthrelease.criteria.facts import Offender, PublicCounts
from synthrelease.data.counts import Counts
from synthrelease.data.member_counts import BinnedCounts
from synthrelease.enclave.door import PrivateCounts
from synthrelease.generators.candidate import Candidate
from synthrelease.generators.space import Configuration
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.public_entropy import NoNoise
from synthrelease.releasing.attempt import prepare
from synthrelease.spec.release_spec import ReleaseSpec


class PublicJudge:
    """Judges tables against one public original, on the bins of one configuration.

    Parameters
    ----------
    original : public rows over atomic cells.
    """

    def __init__(self, spec: ReleaseSpec, original: Counts, configuration: Configuration):
        self.spec, self.configuration = spec, configuration
        exact = PrivateCounts(original, Meter(())).rehearsed(NoNoise())
        self.fitted = prepare(spec, exact.with_plan(spec.plan.once)).fitted
        transformation = configuration.transformation
        self.original = BinnedCounts.of_atoms(original, transformation)
        charges = [charge for each in spec.criteria for charge in each.per_score()]
        self.table = exact.with_plan(charges).on(transformation)
        self.charges = charges

    def figures(self, released: Counts) -> tuple[float, ...]:
        """Per criterion the figure without noise; NaN where there is none. Where shared measurements answer, their bound.

        Parameters
        ----------
        released : rows on the bins of the configuration.
        """
        return tuple(value for value, _ in self._judged(released, name=False))

    def named(self, released: Counts) -> tuple[tuple[float, Offender | None], ...]:
        """Per criterion the figure without noise, and where its largest error is."""
        return tuple(self._judged(released, name=True))

    def _judged(self, released: Counts, *, name: bool) -> list[tuple[float, Offender | None]]:
        candidate = Candidate(configuration=self.configuration, counts=released)
        table, fitted, found = self.table.with_plan(self.charges), self.fitted, []
        for criterion in self.spec.criteria:
            fitted = criterion.refit(table, candidate, self.spec.setting, fitted)
            value = criterion.score(table, candidate, self.spec.setting, fitted).value
            public = PublicCounts(counts=self.original)
            offender = criterion.offender(public, candidate, self.spec.setting, fitted) if name else None
            found.append((value, offender))
        return found


def merged(table: Counts, configuration: Configuration) -> Counts:
    """Rows over atomic cells on the bins of a configuration."""
    transformation = configuration.transformation
    return table.merge(transformation.layout, transformation.maps)
