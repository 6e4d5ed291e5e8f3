"""Check options about the rows of a release: a piece of a register, random pieces, a sample of a population, a survey
design, a scout."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

from synthrelease.criteria.base import Criterion
from synthrelease.data.schema import Schema
from synthrelease.data.weights import WEIGHT
from synthrelease.errors import InputError, listing
from synthrelease.privacy.cap import Cap
from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.plan import Loss, of_the_population
from synthrelease.privacy.subsets import PartitionRule, SplitRule
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.options import DesignTable, PopulationTable, ScoutTable, SplitTable
from synthrelease.settings.reading import beside, read_configuration
from synthrelease.settings.tables import ReleaseFile, UnitTable


def check_partition(release: ReleaseFile, criteria: Sequence[Criterion], acceptance: str, problems: Problems) -> None:
    """Add a problem for every setting that needs all rows, because with [partition] statistics describe only one piece of the
    rows.
    """
    for index, criterion in enumerate(criteria):
        if criterion.answered_by is not None or criterion.measured_line:
            setting = "answered_by" if criterion.answered_by is not None else "line"
            expected = "a criterion with its own noise, because with [partition] the measurements describe the other piece"
            problems.add(f"criteria[{index}].{setting}", expected, "measurements", file=acceptance)
    _check_whole(release, "partition", "measurements and criterion values describe different pieces of the rows", problems)


def check_split(table: SplitTable, release: ReleaseFile, schema: Schema, problems: Problems) -> None:
    """Add a problem if the record number would be released, and for every setting that needs the whole register."""
    for column in schema.columns:
        if table.by in column.sources:
            expected = "a column with a public record number that is not released"
            problems.add("split.by", expected, f"{table.by!r}, which is a source of {column.name!r}")
    if release.input.rows == "exact":
        expected = '"private" or a number: with [split], the exact number of kept rows would reveal a fact about a secret piece'
        problems.add("input.rows", expected, '"exact"')
    _check_whole(release, "split", "the measurements describe one piece and give no estimate for the whole register", problems)


def _check_whole(release: ReleaseFile, table: str, piece: str, problems: Problems) -> None:
    """Add a problem for each setting that would publish noisy tables or estimates for one piece of the rows."""
    if release.selection.publish_measurements:
        problems.add("selection.publish_measurements", f"false: with [{table}], {piece}", "true")
    if release.intended_queries:
        expected = f"no query: with [{table}], statistics describe one piece of the rows, and give no bound for all rows"
        problems.add("intended_queries", expected, f"{len(release.intended_queries)}")


def pieces_in_words(partition: PartitionRule | None, split: SplitRule | None) -> Iterator[str]:
    """Yield the sentences in a plan and in a release about the rows that the release uses."""
    if partition is not None:
        yield (
            f"Pieces: the rows are divided at random, once. The generator is fitted to {float(partition.fit):.0%} of the rows. "
            f"The criteria use the other {float(partition.score):.0%}, and the released table has as many rows as this second "
            "piece. All criterion values describe the second piece: choose thresholds that allow for the random difference "
            "between the piece and the whole."
        )
    if split is not None:
        yield (
            f"Register: the release uses piece {split.piece} of {split.of}. A secret key and the record number ({split.by}) "
            "decide which records are in the piece. The ledger charges only this piece. All criterion values describe the "
            "piece: choose thresholds that allow for the random difference between the piece and the whole. Rehearse on as "
            "many rows as the piece has."
        )


def check_population(table: PopulationTable, release: ReleaseFile, problems: Problems) -> None:
    """Add a problem for every setting that contradicts a simple random sample, and for every setting that publishes further
    facts about the records.

    If the file is not a simple random sample, the guarantee for a member of the population does not hold.
    """
    path = "population"
    if release.unit.records > 1:
        expected = "no [population], because the records of a person are a cluster, and the bound needs a simple random sample"
        problems.add(path, expected, f"[unit] records_per_person = {release.unit.records}")
    if release.unit.key is not None:
        expected = "no [population], because the rows of a person are a cluster, and the bound needs a simple random sample"
        problems.add(path, expected, f"[unit] key = {release.unit.key!r}")
    if release.linked is not None:
        expected = "no [population], because a root and its members are a cluster, and the bound needs a simple random sample"
        problems.add(path, expected, "[members]")
    if weights := [name for name, column in release.columns.items() if column.role == WEIGHT]:
        expected = "no [population], because weights mean unequal probabilities, and the bound needs a simple random sample"
        problems.add(path, expected, f"the weight {weights[0]!r}")
    if release.design is not None:
        expected = "no [population], because the bound needs a simple random sample, without strata, clusters or weights"
        problems.add(path, expected, "[design]")
    several = {"split": release.split is not None, "series": release.series is not None and release.series.several_releases}
    for name in (name for name, holds in several.items() if holds):
        expected = "no [population], because the bound holds only for all releases of the same records together"
        problems.add(path, expected, f"[{name}]")
    if release.input.rows == "exact":
        expected = 'no [population]: with rows = "exact", the guarantee does not cover whether a record passes the rules'
        problems.add(path, expected, 'rows = "exact"')
    rows = release.input.rows
    if isinstance(rows, int) and rows > table.size:
        problems.add(f"{path}.size", f"at least {rows}, as [input] rows states", str(table.size))


def check_design(table: DesignTable, release: ReleaseFile, schema: Schema, problems: Problems) -> None:
    """Add a problem if the design names a wrong weight or wrong random groups, or if the cluster of a row would be released."""
    marked = [name for name, column in release.columns.items() if column.role == WEIGHT]
    if (table.weight or "") not in (marked or [""]):
        expected = f'the column with role = "weight" ({listing(marked)})' if marked else 'a column with role = "weight"'
        problems.add("design.weight", expected, "nothing" if table.weight is None else repr(table.weight))
    if table.weight_column and (table.weight is None or release.calibration is not None or WEIGHT in release.columns):
        expected = f"false without `weight`, with [calibration], or with a column called {WEIGHT!r}"
        problems.add("design.weight_column", expected, "true")
    dealt = [name for name, column in release.columns.items() if column.role == "cluster_group"]
    if (table.groups or "") not in (dealt or [""]):
        problems.add(
            "design.groups", f'the column with role = "cluster_group" ({listing(dealt) or "none"})', repr(table.groups)
        )
    for column in schema.columns:
        if column.name in dealt and not column.by_digest:
            problems.add(f"columns.{column.name}.kind", "'category', because the random groups are listed", repr(column.kind))
        if column.by_digest and (column.source != table.clusters or not 5 <= column.atoms.present <= 100):
            expected = "the same source as `clusters` in [design], and 5 to 100 categories"
            problems.add(f"columns.{column.name}", expected, f"{column.source!r} and {column.atoms.present}")
        if column.by_digest and any(len(binning) < len(column.atoms) for binning in column.alternatives.values()):
            expected = "no coarser bins, because a cluster is in each random group with the same probability"
            problems.add(f"columns.{column.name}.alternatives", expected, listing(column.alternatives))
        if table.clusters in column.sources and not column.by_digest:
            expected = "a column of the private file that is not released, because its values are places or persons"
            problems.add("design.clusters", expected, f"{table.clusters!r}, which is a source of {column.name!r}")
    if isinstance(table.effect, dict):
        problems.add_unknown("design.effect", "columns", table.effect, release.columns)


def design_in_words(table: DesignTable) -> str:
    """Return a sentence that says which intervals for a population a release can give with the stated design."""
    if table.groups is not None and table.effect is None:
        return f"Design: intervals for a population need a noisy table with the random groups of clusters ({table.groups})."
    if table.clusters is not None and table.effect is None:
        return f"Design: clusters ({table.clusters}) without a design effect. So no answer has an interval for a population."
    assumed = "use the stated design effect" if table.effect is not None else "assume that rows are drawn independently"
    return f"Design: intervals for a population {assumed}."


def scout_in_words(table: ScoutTable) -> str:
    """Return sentences for `plan` on the cost of the scout before a release."""
    delta = f"delta = {float(table.delta):g}"
    return (
        f"Scout: the noisy tables of single columns ({table.document[:16]}) alone cost epsilon = "
        f"{decimal_text(table.cap.alone)}. The scout and the release together cost epsilon = {decimal_text(table.epsilon)}, "
        f"{delta}: the cap that was fixed before the scout. The ledger charges the rest of the cap for the release."
    )


def check_scout(table: ScoutTable, config: Path, unit: UnitTable) -> None:
    """Raise InputError if the scout in the folder that [scout] names differs in its document, cap, keys or order of rows."""
    if table.folder is None:
        return
    file = beside(read_configuration(config).file_of("scout"), table.folder) / "scout.json"
    content = file.read_bytes() if file.is_file() else b""
    try:
        scout = json.loads(content) if hashlib.sha256(content).hexdigest() == table.document else {}
        names = ("epsilon", "delta", "rho", "rare", "tests")
        cap = Cap(**{name: Fraction(scout[f"{name}_exact"]) for name in names})
        of_persons = scout["key"], scout["first_by"], scout.get("missing_keys", [])
        agrees = cap == table.cap and of_persons == (unit.key, unit.first_by, [*unit.missing_keys])
    except (ValueError, LookupError, TypeError):
        agrees = False
    if not agrees:
        raise InputError(
            f"{file}: expected the scout that [scout] states, with its SHA-256, cap, and key, missing_keys and first_by of "
            f"[unit], found {'another scout' if content else 'no such file'}. Nothing was spent."
        )


def population_in_words(table: PopulationTable, total: Loss, rows: int) -> str:
    """Return sentences on the guarantee for a person in the population, for a file with `rows` rows (theory 11.3,
    amplification by a subset).
    """
    sampled = min(rows, table.size)
    loss = of_the_population(total, sampled, table.size)
    delta = f", delta = {float(loss.delta):.3g}" if loss.delta else ""
    return (
        f"Population: the file is a simple random sample of {sampled:,} from {table.size:,}. If nobody knows whether a person "
        f"is in the sample, this person has epsilon = {decimal_text(loss.epsilon)}{delta}. The plan and the ledger still count "
        "the whole epsilon."
    )
