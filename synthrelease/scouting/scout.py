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
from typing import TypeVar

import numpy as np

from synthrelease import __version__
from synthrelease.bundle.write import check_free, taking, write_folder
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Schema
from synthrelease.enclave.ingest import ingest
from synthrelease.enclave.unlisted import count_texts
from synthrelease.errors import BudgetError, InputError, SpecError, listing
from synthrelease.privacy.cap import Cap, text_threshold
from synthrelease.privacy.charges import Charge, decimal_text, exact, gaussian, mechanism, rounded_down
from synthrelease.privacy.curves import rho_within
from synthrelease.privacy.ledger import ChargedRun, load_ledger, purpose_of
from synthrelease.privacy.ledger_file import Statement
from synthrelease.privacy.noise import SYSTEM, SystemEntropy
from synthrelease.privacy.plan import check_delta
from synthrelease.privacy.protection import after_the_charge, protected
from synthrelease.releasing.attempt_costs import machine_megabytes
from synthrelease.releasing.opening import check_opens
from synthrelease.scouting.codebook import read_codebook
from synthrelease.scouting.columns import ScoutedColumn, schema_of, scouted_columns
from synthrelease.scouting.document import DependencePart, ScoutDocument, ScoutedPart, bins_of
from synthrelease.scouting.folder import files_of
from synthrelease.settings.base import SpecTable
from synthrelease.settings.columns import InputTable
from synthrelease.settings.mistakes import validated
from synthrelease.settings.tables import RANDOM, UnitTable
from synthrelease.sources.source import Source
from synthrelease.spec.requests import ScoutRequest

Table = TypeVar("Table", bound=SpecTable)
SHARE, OF_DEPENDENCE = Fraction(1, 20), Fraction(1, 6)
"""Of what the cap allows the scout gets the first share by default, and of its own the figure of dependence the second."""
KEPT_FOR_TESTS = Fraction(3, 25)
"""Of the cap's epsilon, for tests and figures of the release."""
MOST_NOISE = 0.03
"""Five standard deviations of a count may be such a share of the rows."""
WRITTEN = {"delimiter", "encoding", "decimal", "missing_values", "fixed_width"}
"""Settings of [input] that say how the private file is written."""
BYTES_OF_TEXT = 300
"""Memory for a text that stands in one row alone."""
SHARE_WITHOUT_DELTA = Fraction(1, 5)
"""Of the cap's epsilon the scout gets such a share by default where the delta is 0."""
OPENED = "Nothing was published. The cost of the scout counts as spent, because the file was opened."


@dataclass(frozen=True, kw_only=True)
class Scouting:
    """The settings of a scout, all of them public.

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

    @classmethod
    def of(cls, request: ScoutRequest) -> Scouting:
        """Return the settings of a request.

        Raises
        ------
        InputError, SpecError : for a codebook that cannot be read or does not say enough, and for arguments that cannot be
            meant. Nothing was read.
        """
        if request.title is not None and not (request.title.isprintable() and request.title.strip()):
            raise InputError("--title: expected one line of printable characters, found something else. Nothing was read.")
        book = read_codebook(request.codebook)
        key = None if request.unit == "row" else request.unit
        own = [key] if key is not None and key in book.entries else []
        columns = scouted_columns(book.entries, request.only, (*request.leave_out, *own))
        written = {name: getattr(request, name) for name in ("delimiter", "encoding", "decimal")}
        policy = _meant(InputTable, written | {"fixed_width": book.positions})
        order = RANDOM if request.first_by == (RANDOM,) else list(request.first_by)
        unit = _meant(UnitTable, {"key": key, "first_by": order} if key else {})
        if not unit.answered or (request.first_by and key is None):
            raise InputError("--first-by: expected columns, or random, with --unit KEY and only there. Nothing was read.")
        problem = ""
        try:
            rho, tests = (None if value is None else exact(value) for value in (request.rho, request.tests))
            cap = cap_of(columns, exact(request.cap), exact(request.delta), rho, tests)
        except ValueError as error:
            problem = str(error)
        if problem:
            raise InputError(f"--cap, --delta, --rho, --tests: {problem}. Nothing was read.")
        title = request.title or request.codebook.stem
        return cls(title=title, columns=columns, policy=policy, unit=unit, cap=cap, rows=request.rows)

    def in_words(self) -> str:
        """Return what the scout measures and costs, in words."""
        return (
            f"{len(self.columns)} columns, {queries(self.columns)} noisy tables. The scout costs epsilon "
            f"{decimal_text(self.cap.alone)}; scout and release together {decimal_text(self.cap.epsilon)}, delta "
            f"{float(self.cap.delta):g}."
        )

    @property
    def tables(self) -> Fraction:
        """The part of the cost for noisy tables."""
        return self.cap.cost * (1 - OF_DEPENDENCE)

    @property
    def share(self) -> Fraction:
        """The cost of one table."""
        return self.tables / queries(self.columns)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of a count."""
        return self.cap.deviation(self.share)

    def looks(self) -> dict[str, Charge]:
        """Return the charges of each step, by its name; they add up to the cost of the scout."""
        texts, numbers = (sum(column.kind == kind for column in self.columns) for kind in ("texts", "number"))
        listed = len(self.columns) - texts - numbers
        of_tables = {"texts": texts, "first look": numbers + listed, "second look": numbers}
        costs = {name: self.share * count for name, count in of_tables.items() if count}
        costs["dependence"] = self.cap.cost * OF_DEPENDENCE
        state = mechanism if self.cap.pure else gaussian
        return {name: state(name, cost, "noisy counts") for name, cost in costs.items()}


def _meant(model: type[Table], table: Mapping[str, object]) -> Table:
    """Return a table of settings that a command states. Raises SpecError."""
    result = validated(model, table, "the command")
    if isinstance(result, list):
        raise SpecError(result)
    return result


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
    tests : the epsilon that is kept for tests and figures of the release; 12% when omitted. With a delta of 0 for all of it,
        80% when omitted.

    Raises
    ------
    InputError : with a delta of 0, for texts without a list and numbers without bounds. A text of one row needs a delta, and
        noise without one has tails in which cells without rows look full, so that nobody knows where the numbers end.
    """
    if not delta:
        open_ended = [
            each.name for each in columns if each.kind == "texts" or (each.kind == "number" and None in (each.low, each.high))
        ]
        if open_ended:
            raise InputError(
                f"expected codes or bounds of every column with --delta 0, found none for {listing(open_ended)}. Nothing was "
                "read. List the codes, state min and max, leave the columns out, or choose a delta such as 1e-9."
            )
        if rho is not None:
            raise InputError(
                "expected no --rho with --delta 0: the scout costs what --tests leaves of --cap. Nothing was read."
            )
        return Cap(
            epsilon=epsilon, delta=delta, rho=Fraction(0), tests=(1 - SHARE_WITHOUT_DELTA) * epsilon if tests is None else tests
        )
    kept = KEPT_FOR_TESTS * epsilon if tests is None else tests
    if rho is None:
        rho = rounded_down(rho_within(epsilon, delta) * SHARE / (1 - OF_DEPENDENCE))
    rare = sum(column.kind == "texts" for column in columns) * text_threshold(rho * (1 - OF_DEPENDENCE) / queries(columns))[1]
    return Cap(epsilon=epsilon, delta=delta, rho=rho, rare=rare, tests=kept)


def needed_rows(deviation: float) -> int:
    """Return how many rows a scout with this noise takes."""
    return math.ceil(5 * deviation / MOST_NOISE)


def check_noise(scouting: Scouting) -> None:
    """Raise BudgetError where the noise would hide what a draft needs: 5 standard deviations above 3% of the rows."""
    deviation, cap = scouting.deviation, scouting.cap
    if not 5 * deviation <= MOST_NOISE * scouting.rows:
        cost = f"{'epsilon' if cap.pure else 'rho'} = {decimal_text(cap.cost)}"
        raise BudgetError(
            f"Refused: {queries(scouting.columns)} noisy tables that cost {cost} have noise with a standard deviation of "
            f"{deviation:.0f} rows. That takes {needed_rows(deviation):,} rows; {scouting.rows:,} are stated. Nothing was read "
            "and nothing was spent. Leave columns out, or draft from published figures or another public file."
        )


def check_persons(scouting: Scouting) -> None:
    """Raise InputError for texts without a list where a key identifies the rows of a person. A person's first row is known
    only when all rows are read; until then all rows' texts are counted, and one person would move many counts.
    """
    texts = [column.name for column in scouting.columns if column.kind == "texts"]
    if scouting.unit.key is not None and texts:
        raise InputError(
            f"expected a list of codes for each column with --unit {scouting.unit.key}, found none for {listing(texts)}. Such "
            "texts are counted in all rows of a person, not in the first. Nothing was read. List them in the codebook, or "
            "leave the columns out."
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
    Gaussian with rho = `cap.rho`, but for texts of one row (theory 9.20, texts that no list names), or `cap.alone`-DP where
    the delta is 0; the charge is on the disk before the first row is read. The number of rows, or of persons with a key, is
    published exactly. Every row is counted: gaps, texts that are no number and unlisted codes have bins, numbers beyond the
    bounds count as the bound (theory 1.7, resizing, case b; theory 1.9, first rows of a person, d).
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
            return after_the_charge(lambda: _written(scouting, data, out, place), lambda error: f"{error} {OPENED}")


def check_cap_fits(statement: Statement, cap: Cap) -> None:
    """Raise BudgetError where the ledger leaves less than the whole cap: no release could follow the scout."""
    left = statement.epsilon_limit - statement.epsilon, statement.delta_limit - statement.delta
    if cap.epsilon > left[0] or cap.delta > left[1]:
        raise BudgetError(
            f"Refused: scout and release together cost epsilon = {decimal_text(cap.epsilon)}, delta = {float(cap.delta):g}. "
            f"The ledger has {decimal_text(left[0])} and {float(left[1]):g} left. Nothing was read and nothing was spent."
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

    columns, looks, deviation = scouting.columns, scouting.looks(), scouting.deviation
    found = dict[str, dict[str, int]]()
    if charge := looks.get("texts"):
        unlisted = {column.name: column.missing for column in columns if column.kind == "texts"}
        texts = count_texts(data, unlisted, scouting.policy, [charge])
        threshold, _ = text_threshold(scouting.share)
        found = texts.spend(charge, partial(frequent_texts, threshold=threshold, charge=charge, entropy=entropy))
    categories = {name: [text for text in counts if text] for name, counts in found.items()}
    schema = schema_of(columns, categories)
    rows = ingest(data, schema, scouting.policy, _no_rules(schema), unit=scouting.unit).with_plan(
        [charge for name, charge in looks.items() if name != "texts"]
    )
    check_delta(scouting.cap.delta, rows.n_file, spent=True)

    def look(name: str, groups: Mapping[int, np.ndarray]) -> dict[int, list[int]]:
        if (charge := looks.get(name)) is None:
            return {}
        noisy = rows.spend(charge, partial(noisy_tables, groups=groups, charge=charge, entropy=entropy))
        return {place: table.tolist() for place, table in noisy.items()}

    numbers = {place: column for place, column in enumerate(columns) if column.kind == "number"}
    tables = look(
        "first look", {place: _first_groups(column) for place, column in enumerate(columns) if column.kind != "texts"}
    )
    edges = {place: column.second_look(tables[place], deviation, rows.n_file) for place, column in numbers.items()}
    again = look("second look", {place: column.groups(edges[place]) for place, column in numbers.items()})
    parts = [_part(column, found.get(column.name), tables.get(place), again.get(place)) for place, column in enumerate(columns)]
    drafted = [bins_of(part, rows.n_file, deviation) for part in parts]
    groups = [bins.groups(categories.get(bins.column.name, ())) for bins in drafted]
    charge = looks["dependence"]
    steps, one = rows.spend(charge, partial(dependence, groups=groups, charge=charge, entropy=entropy))
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
    return ScoutedPart.like(
        column,
        codes=dict(column.codes),
        first=list(first or ()) if number else [],
        second=list(second or ()) if number else [],
        counts=counts,
        other=other,
    )


def _document(scouting: Scouting, rows: int, parts: list[ScoutedPart], figure: DependencePart) -> ScoutDocument:
    unit, policy = scouting.unit, scouting.policy
    return ScoutDocument.like(
        scouting.cap,
        format=1,
        kind="scout",
        title=scouting.title,
        rows=rows,
        unit=unit.name,
        key=unit.key,
        first_by="random" if unit.first_by == "random" else list(unit.first_by),
        tables_exact=str(scouting.tables),
        input=policy.model_dump(mode="json", include=WRITTEN, exclude_none=True),
        columns=parts,
        dependence=figure,
        written_by=__version__,
    )
