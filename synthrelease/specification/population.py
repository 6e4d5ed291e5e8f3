"""[population] against the other settings: where the file is no simple random sample, a member of it is promised nothing."""

from __future__ import annotations

from synthrelease.domain.margins import WEIGHT
from synthrelease.toml.problems import Problems
from synthrelease.toml.tables import ReleaseFile


def check_population(release: ReleaseFile, problems: Problems) -> None:
    """Add a problem for every setting that says that records are drawn otherwise, or that more is published about them."""
    if release.population is None:
        return
    where = "population"
    if release.unit.records > 1:
        expected = "no such table: a person in several records is a cluster, for which there is no such bound"
        problems.add(where, expected, f"[unit] records_per_person = {release.unit.records}")
    if release.unit.key is not None:
        expected = "no such table: the rows of persons were drawn as clusters, for which there is no such bound"
        problems.add(where, expected, f"[unit] key = {release.unit.key!r}")
    if weights := [name for name, table in release.columns.items() if table.role == WEIGHT]:
        expected = "no such table: design weights belong to unequal probabilities, for which there is no such bound"
        problems.add(where, expected, f"the weight {weights[0]!r}")
    if release.series is not None and release.series.earlier:
        expected = "no such table: a record in several releases is protected by their sum, which alone could be amplified"
        problems.add(where, expected, "[series] earlier")
    if release.input.rows == "exact":
        expected = 'no such table: with [input] rows = "exact" the guarantee does not cover whose record is kept'
        problems.add(where, expected, 'rows = "exact"')
    stated = release.input.rows
    if isinstance(stated, int) and stated > release.population.size:
        problems.add(f"{where}.size", f"at least {stated}, as [input] rows states", str(release.population.size))
