"""Scout a private file: check, charge, read once or twice, add noise, write. Final and charged like a release.

Everything that can be known without the rows is checked before the charge. What the rows decide comes out as noisy counts
alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from synthrelease import __version__
from synthrelease.bundle.write import check_free, taking, write_folder
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Schema
from synthrelease.enclave.ingest import ingest
from synthrelease.enclave.unlisted import count_texts
from synthrelease.errors import BudgetError, InputError, listing
from synthrelease.privacy.cap import Cap, text_threshold
from synthrelease.privacy.charges import Charge, decimal_text, gaussian, mechanism, rounded_down
from synthrelease.privacy.curves import rho_within
from synthrelease.privacy.grids import gaussian_scale
from synthrelease.privacy.ledger import ChargedRun, load_ledger, purpose_of
from synthrelease.privacy.ledger_file import Statement
from synthrelease.privacy.noise import SYSTEM, SystemEntropy
from synthrelease.privacy.plan import check_delta
from synthrelease.privacy.protection import after_the_charge, protected
from synthrelease.releasing.attempt_costs import machine_megabytes
from synthrelease.releasing.opening import check_opens
from synthrelease.scouting.columns import ScoutedColumn, schema_of
from synthrelease.scouting.document import DependencePart, ScoutDocument, ScoutedPart, bins_of
from synthrelease.scouting.folder import files_of
from synthrelease.settings.columns import InputTable
from synthrelease.settings.tables import UnitTable
from synthrelease.sources.source import Source

SHARE, OF_DEPENDENCE = Fraction(1, 20), Fraction(1, 6)
"""Of what the cap allows the scout gets the first share by default, and of its own the figure of dependence the second."""
KEPT_FOR_TESTS = Fraction(3, 25)
"""Of the cap's epsilon, for tests and figures of the release."""
MOST_NOISE = 0.03
"""Five standard deviations of a count may be such a share of the rows."""
BYTES_OF_TEXT = 300
"""Memory for a text that stands in one row alone."""
OPENED = "Nothing was published. The cost of the scout counts as spent, because the file was opened."


@dataclass(frozen=True, kw_only=True)
class Scouting:
    """What a scout is asked for, all of it public.

    Attributes
    ----------
    rows : the stated number of rows; with a key, of persons.
    policy : how the private file is written.
    """

    title: str
    columns: tuple[ScoutedColumn, ...]
    policy: InputTable
    unit: UnitTable
    cap: Cap
    rows: int

    @property
    def tables(self) -> Fraction:
        """The part of rho for noisy tables."""
        return self.cap.rho * (1 - OF_DEPENDENCE)

    @property
    def share(self) -> Fraction:
        """The rho of one table."""
        return self.tables / queries(self.columns)

    def looks(self) -> dict[str, Charge]:
        """Return the charges of each step, by its name; they add up to rho."""
        texts, numbers = (sum(column.kind == kind for column in self.columns) for kind in ("texts", "number"))
        listed = len(self.columns) - texts - numbers
        parts = {"texts": texts, "first look": numbers + listed, "second look": numbers}
        charges = {name: gaussian(name, self.share * count, "noisy tables") for name, count in parts.items() if count}
        return charges | {"dependence": gaussian("dependence", self.cap.rho * OF_DEPENDENCE, "one noisy figure")}


def queries(columns: Sequence[ScoutedColumn]) -> int:
    """Return how many noisy tables are measured."""
    return sum(column.queries for column in columns)


def cap_of(
    columns: Sequence[ScoutedColumn],
    epsilon: Fraction,
    delta: Fraction,
    rho: Fraction | None = None,
    tests: Fraction | None = None,
) -> Cap:
    """Return the cap of a scout of these columns.

    Parameters
    ----------
    epsilon, delta : of scout and release together.
    rho : of the scout; a twentieth of what the cap allows when omitted, and a fifth of that more for the dependence.
    tests : the epsilon that is kept for tests and figures of the release; 12% when omitted.
    """
    kept = KEPT_FOR_TESTS * epsilon if tests is None else tests
    if rho is None:
        rho = rounded_down(rho_within(epsilon, delta) * SHARE / (1 - OF_DEPENDENCE))
    rare = sum(column.kind == "texts" for column in columns) * text_threshold(rho * (1 - OF_DEPENDENCE) / queries(columns))[1]
    return Cap(epsilon=epsilon, delta=delta, rho=rho, rare=rare, tests=kept)


def check_noise(scouting: Scouting) -> None:
    """Raise BudgetError where the noise would hide what a draft needs: 5 standard deviations above 3% of the rows."""
    deviation, tables = gaussian_scale(1 / scouting.share), queries(scouting.columns)
    if not 5 * deviation <= MOST_NOISE * scouting.rows:
        needed = math.ceil(5 * deviation / MOST_NOISE)
        raise BudgetError(
            f"Refused: {tables} noisy tables at rho = {decimal_text(scouting.cap.rho)} have noise with a standard deviation of "
            f"{deviation:.0f} rows, which takes {needed:,} rows; {scouting.rows:,} are stated. Nothing was read and "
            "nothing was "
            "spent. Leave columns out, or draft from published figures or another public file."
        )


def check_persons(scouting: Scouting) -> None:
    """Raise InputError for texts without a list where a key tells the rows of a person: all rows would be counted, not the
    first."""
    texts = [column.name for column in scouting.columns if column.kind == "texts"]
    if scouting.unit.key is not None and texts:
        raise InputError(
            f"expected a list of codes for each column with --unit {scouting.unit.key}, found none for "
            f"{listing(texts)}. Nothing was "
            "read. List them in the codebook, or leave the columns out."
        )


def check_memory(scouting: Scouting) -> None:
    """Raise BudgetError where texts without a list might need more memory than there is, whatever they are."""
    available = machine_megabytes()
    texts = sum(column.kind == "texts" for column in scouting.columns)
    needed = texts * scouting.rows * BYTES_OF_TEXT // 2**20
    if available is not None and needed > available:
        raise BudgetError(
            f"Refused: the texts of {texts} columns without a list may need {needed:,} MB, and this machine has "
            f"{available:,} MB. Nothing was spent. List their codes in the codebook, or leave columns out."
        )


def scout(
    scouting: Scouting,
    data: Source,
    ledger: Path,
    out: Path,
    *,
    dataset: str | None = None,
    expect_head: str | None = None,
    charged: Callable[[Statement], None] = lambda statement: None,
) -> ScoutDocument:
    """Scout a private file and write the folder. Spends `cap.alone`, once.

    Raises
    ------
    InputError, OutputError, BudgetError, LedgerError : nothing was spent, unless the file turned out not to fit.
    PrivateFailure, InternalError, Interrupted : the run ended after the charge; the budget counts as spent.

    Privacy
    -------
    Gaussian with rho = `cap.rho`, but for texts of one row (theory 9.20, texts that no list names); the charge is on the
    disk before the first row is read. The number of rows, or of persons with a key, is published exactly. Every row is
    counted: gaps, texts that are no number and unlisted codes have bins, numbers beyond the bounds count as the bound
    (theory 1.7, resizing, case b; theory 1.9, first rows of a person, d).
    """
    check_free(out)
    check_persons(scouting)
    check_noise(scouting)
    check_memory(scouting)
    check_delta(scouting.cap.delta, scouting.rows)
    if not data.is_there():
        raise InputError(f"{data}: expected a file with a header and rows, found no such file. Nothing was spent.")
    key = [] if scouting.unit.key is None else [scouting.unit.key, *scouting.unit.order]
    check_opens(data, schema_of(scouting.columns, {}), scouting.policy, key)
    cap, run = scouting.cap, ChargedRun(cap=scouting.cap, scouts=True, key=scouting.unit.key)
    charge = mechanism("scout", cap.alone, "noisy tables of single columns", cap.delta)
    with ExitStack() as held:
        place = held.enter_context(taking(out))
        opened = load_ledger(ledger, dataset=dataset, expect_head=expect_head)
        check_cap_fits(opened.statement(), cap)
        charged(opened.reserve(charge, purpose_of(f"{scouting.title} (scout)"), run))
        with protected():
            return after_the_charge(
                lambda: _written(scouting, data, out, place),
                lambda error: (
                    f"{error} Nothing was published. The cost of the scout counts as spent, because the file was opened."
                ),
            )


def check_cap_fits(statement: Statement, cap: Cap) -> None:
    """Raise BudgetError where the ledger leaves less than the whole cap: no release could follow the scout."""
    left = statement.epsilon_limit - statement.epsilon, statement.delta_limit - statement.delta
    if cap.epsilon > left[0] or cap.delta > left[1]:
        raise BudgetError(
            f"Refused: scout and release together cost epsilon = {decimal_text(cap.epsilon)}, delta = "
            f"{float(cap.delta):g}, and the "
            f"ledger has {decimal_text(left[0])} and {float(left[1]):g} left. Nothing was read and nothing was spent."
        )


def _written(scouting: Scouting, data: Source, out: Path, place: Path) -> ScoutDocument:
    document = measured(scouting, data)
    write_folder(files_of(document), out, workspace=place)
    return document


def measured(scouting: Scouting, data: Source, entropy: SystemEntropy = SYSTEM) -> ScoutDocument:
    """Return the noisy tables of a private file. The budget was reserved: `scout` is the way to do this.

    Parameters
    ----------
    entropy : of the noise; another one for tests alone.
    """
    from synthrelease.scouting.scout_mechanism import MOST_ROWS, dependence, frequent_texts, noisy_tables

    columns, looks, deviation = scouting.columns, scouting.looks(), gaussian_scale(1 / scouting.share)
    found = dict[str, dict[str, int]]()
    if charge := looks.get("texts"):
        names = [column.name for column in columns if column.kind == "texts"]
        texts = count_texts(data, names, scouting.policy, [charge])
        threshold, _ = text_threshold(scouting.share)
        rho = scouting.share * len(names)
        found = texts.spend(charge, partial(frequent_texts, threshold=threshold, rho=rho, entropy=entropy))
    categories = {name: [text for text in counts if text] for name, counts in found.items()}
    schema = schema_of(columns, categories)
    rows = ingest(data, schema, scouting.policy, _no_rules(schema), unit=scouting.unit).with_plan(
        [charge for name, charge in looks.items() if name != "texts"]
    )
    check_delta(scouting.cap.delta, rows.n_file, spent=True)
    first = {place: _first_groups(column) for place, column in enumerate(columns) if column.kind != "texts"}
    tables = dict[int, list[int]]()
    if charge := looks.get("first look"):
        rho = scouting.share * len(first)
        noisy = rows.spend(charge, partial(noisy_tables, groups=first, rho=rho, entropy=entropy))
        tables = {place: table.tolist() for place, table in noisy.items()}
    again = dict[int, list[int]]()
    if charge := looks.get("second look"):
        edges = {
            place: column.second_look(tables[place], deviation, rows.n_file)
            for place, column in enumerate(columns)
            if column.kind == "number"
        }
        second = {place: columns[place].groups(edges[place]) for place in edges}
        rho = scouting.share * len(second)
        noisy = rows.spend(charge, partial(noisy_tables, groups=second, rho=rho, entropy=entropy))
        again = {place: table.tolist() for place, table in noisy.items()}
    parts = [_part(column, found.get(column.name), tables.get(place), again.get(place)) for place, column in enumerate(columns)]
    drafted = [bins_of(part, rows.n_file, deviation) for part in parts]
    groups = [bins.groups(categories.get(bins.column.name, ())) for bins in drafted]
    charge = looks["dependence"]
    rho = scouting.cap.rho * OF_DEPENDENCE
    steps, one = rows.spend(charge, partial(dependence, groups=groups, rho=rho, entropy=entropy))
    return _document(scouting, rows.n_file, parts, DependencePart(steps=steps, one=one, rows=min(rows.n_file, MOST_ROWS)))


def _first_groups(column: ScoutedColumn) -> np.ndarray:
    """Return the cell of each finest bin in the first look: of codes each has its own."""
    return column.groups(column.first_look) if column.kind == "number" else np.arange(len(column.codes) + 2)


def _no_rules(schema: Schema) -> Plausibility:
    return Plausibility(layout=schema.layout, masks=())


def _part(
    column: ScoutedColumn, texts: Mapping[str, int] | None, first: list[int] | None, second: list[int] | None
) -> ScoutedPart:
    counts, other = dict(texts or {}), None
    if column.kind == "listed" and first is not None:
        *codes, other, gaps = first
        counts = {**dict(zip(column.codes, codes, strict=True)), "": gaps}
    number = column.kind == "number"
    return ScoutedPart(
        name=column.name,
        kind=column.kind,
        description=column.description,
        codes=dict(column.codes),
        missing=list(column.missing),
        low=None if column.low is None else str(column.low),
        high=None if column.high is None else str(column.high),
        whole=column.whole,
        first=list(first or ()) if number else [],
        second=list(second or ()) if number else [],
        counts=counts,
        other=other,
    )


def _document(scouting: Scouting, rows: int, parts: list[ScoutedPart], figure: DependencePart) -> ScoutDocument:
    cap, unit, policy = scouting.cap, scouting.unit, scouting.policy
    first_by: list[str] | Literal["random"] = "random" if unit.first_by == "random" else list(unit.first_by)
    return ScoutDocument(
        format=1,
        kind="scout",
        title=scouting.title,
        rows=rows,
        unit=unit.name,
        key=unit.key,
        first_by=first_by,
        epsilon_exact=str(cap.epsilon),
        delta_exact=str(cap.delta),
        rho_exact=str(cap.rho),
        rare_exact=str(cap.rare),
        tests_exact=str(cap.tests),
        tables_exact=str(scouting.tables),
        input={
            "delimiter": policy.delimiter,
            "encoding": policy.encoding,
            "decimal": policy.decimal,
            "missing_values": list(policy.missing_values),
        },
        columns=parts,
        dependence=figure,
        written_by=__version__,
    )
