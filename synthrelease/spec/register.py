"""Check and describe [partition], [split], [population], [design] and [scout], which concern the origin of the rows.

Each `check_` function, except `check_scout`, adds a problem for every setting that contradicts its table.
"""

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
    for index, criterion in enumerate(criteria):
        if criterion.answered_by is not None or criterion.measured_line:
            setting = "answered_by" if criterion.answered_by is not None else "line"
            fault = "With [partition], the noisy tables describe the other piece of the rows, so they cannot give this value"
            problems.add(f"criteria[{index}].{setting}", f"{fault}. Set an epsilon instead", file=acceptance)
    _check_whole(release, "partition", "measurements and criterion values describe different pieces of the rows", problems)


def check_split(table: SplitTable, release: ReleaseFile, schema: Schema, problems: Problems) -> None:
    for column in schema.columns:
        if table.by in column.sources:
            fault = f"The record number {table.by!r} must not be released, but the column {column.name!r} reads it"
            problems.add("split.by", fault)
    if release.input.rows == "exact":
        why = "because the exact number would reveal a fact about a secret piece. Use 'private' or a number"
        problems.add("input.rows", f"rows = 'exact' cannot be combined with [split], {why}")
    _check_whole(release, "split", "the measurements describe one piece and give no estimate for the whole register", problems)


def _check_whole(release: ReleaseFile, table: str, piece: str, problems: Problems) -> None:
    """Check that no noisy tables or estimates of only one piece of the rows would be published."""
    if release.selection.publish_measurements:
        problems.add("selection.publish_measurements", f"This must be false, because with [{table}] {piece}")
    if release.intended_queries:
        why = "because statistics describe only one piece of the rows, and give no bound for all rows"
        problems.add("intended_queries", f"[[intended_queries]] cannot be combined with [{table}], {why}")


def pieces_in_words(partition: PartitionRule | None, split: SplitRule | None) -> Iterator[str]:
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


_NOT_SIMPLE = "[population] needs a simple random sample, so it cannot be combined with {}, {}"


def check_population(table: PopulationTable, release: ReleaseFile, problems: Problems) -> None:
    """Check that no setting contradicts a simple random sample: the guarantee for a member of the population needs one."""
    path = "population"
    if release.unit.records > 1:
        why = "because the records of a person are a cluster"
        problems.add(path, _NOT_SIMPLE.format(f"records_per_person = {release.unit.records} in [unit]", why))
    if release.unit.key is not None:
        problems.add(path, _NOT_SIMPLE.format("a key in [unit]", "because the rows of a person are a cluster"))
    if release.linked is not None:
        problems.add(path, _NOT_SIMPLE.format("[members]", "because a root and its members are a cluster"))
    if weights := [name for name, column in release.columns.items() if column.role == WEIGHT]:
        why = "because rows with weights have unequal probabilities"
        problems.add(path, _NOT_SIMPLE.format(f"the weight {weights[0]!r}", why))
    if release.design is not None:
        why = "because the sample must have no strata, clusters or weights"
        problems.add(path, _NOT_SIMPLE.format("[design]", why))
    several = {"split": release.split is not None, "series": release.series is not None and release.series.several_releases}
    for name in (name for name, holds in several.items() if holds):
        why = "because the bound holds only for all releases of the same records together"
        problems.add(path, f"[population] cannot be combined with [{name}], {why}")
    if release.input.rows == "exact":
        why = "because the guarantee then does not cover whether a record passes the rules"
        problems.add(path, f"[population] cannot be combined with rows = 'exact', {why}")
    rows = release.input.rows
    if isinstance(rows, int) and rows > table.size:
        fault = f"The population ({table.size:,}) is smaller than the number of rows in [input] ({rows:,})"
        problems.add(f"{path}.size", fault)


def check_design(table: DesignTable, release: ReleaseFile, schema: Schema, problems: Problems) -> None:
    marked = [name for name, column in release.columns.items() if column.role == WEIGHT]
    if (table.weight or "") not in (marked or [""]):
        expected = f'the column with role = "weight" ({listing(marked)})' if marked else 'a column with role = "weight"'
        problems.add("design.weight", expected, "nothing" if table.weight is None else repr(table.weight))
    if table.weight_column and (table.weight is None or release.calibration is not None or WEIGHT in release.columns):
        fault = f"This needs `weight` in [design], no [calibration] and no column called {WEIGHT!r}"
        problems.add("design.weight_column", f"{fault}. Otherwise, set weight_column = false")
    dealt = [name for name, column in release.columns.items() if column.role == "cluster_group"]
    if (table.groups or "") not in (dealt or [""]):
        fault = f"The groups must be the column with role = 'cluster_group' ({listing(dealt)}), not {table.groups or 'none'}"
        fault = fault if dealt else f"{table.groups!r} is not a column with role = 'cluster_group'"
        problems.add("design.groups", fault)
    for column in schema.columns:
        if column.name in dealt and not column.by_digest:
            problems.add(f"columns.{column.name}.kind", "'category' for a column of random groups", repr(column.kind))
        if column.by_digest and (column.source != table.clusters or not 5 <= column.atoms.present <= 100):
            needed = "A column of random groups needs the same source as `clusters` in [design], and 5 to 100 categories"
            has = f"It has the source {column.source!r} and {column.atoms.present} categories"
            problems.add(f"columns.{column.name}", f"{needed}. {has}")
        if column.by_digest and any(len(binning) < len(column.atoms) for binning in column.alternatives.values()):
            why = "because a cluster must be in each random group with the same probability"
            problems.add(f"columns.{column.name}.alternatives", f"A column of random groups cannot have coarser bins, {why}")
        if table.clusters in column.sources and not column.by_digest:
            fault = f"{table.clusters!r} must not be released, because its values are places or persons"
            problems.add("design.clusters", f"{fault}. Remove the column {column.name!r}, which reads it")
    if isinstance(table.effect, dict):
        problems.add_unknown("design.effect", "a column", table.effect, release.columns)


def design_in_words(table: DesignTable) -> str:
    if table.groups is not None and table.effect is None:
        return f"Design: intervals for a population need a noisy table with the random groups of clusters ({table.groups})."
    if table.clusters is not None and table.effect is None:
        return f"Design: clusters ({table.clusters}) without a design effect. So no answer has an interval for a population."
    assumed = "use the stated design effect" if table.effect is not None else "assume that rows are drawn independently"
    return f"Design: intervals for a population {assumed}."


def scout_in_words(table: ScoutTable) -> str:
    delta = f"delta = {float(table.delta):g}"
    return (
        f"Scout: the noisy tables of single columns ({table.document[:16]}) alone cost epsilon = "
        f"{decimal_text(table.cap.alone)}. The scout and the release together cost epsilon = {decimal_text(table.epsilon)}, "
        f"{delta}: the cap that was fixed before the scout. The ledger charges the rest of the cap for the release."
    )


def check_scout(table: ScoutTable, config: Path, unit: UnitTable) -> None:
    """Check that [scout] and [unit] agree with the scout's folder, if [scout] names it. Raises InputError otherwise."""
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
            f"{file}: This file does not agree with the configuration. The checksum (`document`) or the cap in [scout] is "
            "different, or key, missing_keys or first_by in [unit]. Nothing was spent."
            if content
            else f"{file}: There is no such file of a scout. Nothing was spent."
        )


def population_in_words(table: PopulationTable, total: Loss, rows: int) -> str:
    """Return the guarantee for a person in the population of which the file, with `rows` rows, is a simple random sample.

    Theory 11.3, amplification by a subset.
    """
    sampled = min(rows, table.size)
    loss = of_the_population(total, sampled, table.size)
    delta = f", delta = {float(loss.delta):.3g}" if loss.delta else ""
    return (
        f"Population: the file is a simple random sample of {sampled:,} from {table.size:,}. If nobody knows whether a person "
        f"is in the sample, this person has epsilon = {decimal_text(loss.epsilon)}{delta}. The plan and the ledger still count "
        "the whole epsilon."
    )
