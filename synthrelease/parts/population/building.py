"""[population] against the other settings, the number of rows of the file, and its sentence in the plan."""

from __future__ import annotations

from synthrelease.data.weights import WEIGHT
from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.plan import Loss, of_the_population
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.options import PopulationTable
from synthrelease.spec.part import Building, Surroundings


class PopulationBuilding(Building[PopulationTable, PopulationTable]):
    """Where the file is no simple random sample, a member of the population is promised nothing."""

    def build(self, table: PopulationTable, around: Surroundings, problems: Problems) -> PopulationTable:
        """A problem for every setting that says that records are drawn otherwise, or that more is published about them."""
        where, release = "population", around.release
        if release.unit.records > 1:
            expected = "no such table: a person in several records is a cluster, for which there is no such bound"
            problems.add(where, expected, f"[unit] records_per_person = {release.unit.records}")
        if release.unit.key is not None:
            expected = "no such table: the rows of persons were drawn as clusters, for which there is no such bound"
            problems.add(where, expected, f"[unit] key = {release.unit.key!r}")
        if release.linked is not None:
            expected = "no such table: members were drawn with their root, as clusters, for which there is no such bound"
            problems.add(where, expected, "members of records")
        if weights := [name for name, column in release.columns.items() if column.role == WEIGHT]:
            expected = "no such table: design weights belong to unequal probabilities, for which there is no such bound"
            problems.add(where, expected, f"the weight {weights[0]!r}")
        several = {"split": release.split is not None, "series": release.series is not None and release.series.several_releases}
        for name in (name for name, holds in several.items() if holds):
            expected = "no such table: of several releases of the same records their sum alone could be amplified"
            problems.add(where, expected, f"[{name}]")
        if release.input.rows == "exact":
            expected = 'no such table: with [input] rows = "exact" the guarantee does not cover whose record is kept'
            problems.add(where, expected, 'rows = "exact"')
        stated = release.input.rows
        if isinstance(stated, int) and stated > table.size:
            problems.add(f"{where}.size", f"at least {stated}, as [input] rows states", str(table.size))
        return table

    def most_rows(self, value: PopulationTable) -> int:
        """A sample is no larger than its population."""
        return value.size

    def plan_text(self, value: PopulationTable, total: Loss, rows: int) -> str:
        """The second sentence."""
        sampled = min(rows, value.size)
        loss = of_the_population(total, sampled, value.size)
        delta = f", delta = {float(loss.delta):.3g}" if loss.delta else ""
        return (
            f"Population: the file is a simple random sample of {sampled:,} from {value.size:,}. For a person of whom nobody "
            f"knows whether she is in the sample, epsilon = {decimal_text(loss.epsilon)}{delta}. Plan and ledger still count "
            "the whole epsilon."
        )


BUILDING = PopulationBuilding()
