"""Run a scout: publish noisy tables of the single columns of a private file, and charge the ledger for them.

A scout checks its settings, charges the ledger, reads the file (twice if categories are not listed), adds noise and writes
a folder. Like a release, a scout cannot be undone: its cost counts as spent once the file is opened. Every check that does
not need the rows is made before the charge. The rows influence the results only through noisy counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

from synthrelease import __version__
from synthrelease.bundle.write import check_free_name, taking, write_folder
from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.ingest import ingest
from synthrelease.enclave.persons import ROOM
from synthrelease.enclave.reading import ROWS_PER_BATCH
from synthrelease.enclave.unlisted import count_texts
from synthrelease.errors import BudgetError, InputError, Unexpected, listing, so_many
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
from synthrelease.settings.columns import InputTable
from synthrelease.settings.mistakes import valid
from synthrelease.settings.tables import RANDOM, UnitTable
from synthrelease.sources.source import Source
from synthrelease.spec.requests import ScoutRequest

SHARE, OF_DEPENDENCE = Fraction(1, 20), Fraction(1, 6)
"""Two defaults. The first is the part of the cap's rho that pays for the tables. The second is the part of the scout's cost
that pays for the measure of dependence.
"""
KEPT_FOR_TESTS = Fraction(3, 25)
"""The part of the cap's epsilon that is reserved by default for tests and criteria of the release."""
MOST_NOISE = 0.03
"""The largest accepted ratio of five standard deviations of the noise of a count to the number of rows."""
WRITTEN = {"delimiter", "encoding", "decimal", "missing_values", "fixed_width"}
"""The settings of [input] that describe the format of the private file."""
BYTES_OF_TEXT, MEGABYTES_OF_READING = 600, 300
"""Largest memory in bytes of one distinct text (100 characters of 4 bytes and its counts), and memory in MB of the reader."""
SHARE_WITHOUT_DELTA = Fraction(1, 5)
"""The part of the cap's epsilon that the scout spends by default if delta is 0."""
OPENED = "Nothing was published. The cost of the scout counts as spent, because the file was opened."


@dataclass(frozen=True, kw_only=True)
class Scouting:
    """The settings of a scout, which publishes noisy tables of single columns before a release. All settings are public.

    Attributes
    ----------
    policy : format of the private file: delimiter, encoding, decimal sign and positions of columns.
    unit : the unit that the guarantee protects: a row, or all rows of a person (the rows with the same key).
    cap : the budget of scout and release together.
    rows : the number of rows or, with a key, of persons that the steward states.
    """

    title: str
    columns: tuple[ScoutedColumn, ...]
    policy: InputTable
    unit: UnitTable
    cap: Cap
    rows: int

    @classmethod
    def of(cls, request: ScoutRequest) -> Scouting:
        """Return the settings that a request states. The private file is not read.

        Raises
        ------
        InputError, SpecError : if the codebook cannot be read, if it does not describe every column, or if arguments are
            invalid or contradict each other.
        """
        if request.title is not None and not (request.title.isprintable() and request.title.strip()):
            raise InputError("--title must be one line of printable characters. Nothing was read.")
        book = read_codebook(request.codebook)
        key = None if request.unit == "row" else request.unit
        own = [key] if key is not None and key in book.entries else []
        columns = scouted_columns(book.entries, request.only, (*request.leave_out, *own))
        missing_keys = [code for name in own for code in sorted(book.entries[name].missing)]
        written = {name: getattr(request, name) for name in ("delimiter", "encoding", "decimal")}
        policy = valid(InputTable, written | {"fixed_width": book.positions}, "the command")
        order = RANDOM if request.first_by == (RANDOM,) else list(request.first_by)
        unit = valid(UnitTable, {"key": key, "first_by": order, "missing_keys": missing_keys} if key else {}, "the command")
        if not unit.answered or (request.first_by and key is None):
            raise InputError(
                "--unit KEY and --first-by must be used together. --first-by names the columns that order the rows of a "
                "person, or is random. Nothing was read."
            )
        optional = {"--rho": request.rho, "--tests": request.tests}
        rho, tests = (None if text is None else _exact(option, text) for option, text in optional.items())
        try:
            cap = cap_of(columns, _exact("--cap", request.cap), _exact("--delta", request.delta), rho, tests)
        except Unexpected as error:
            fault = "--cap (epsilon), --delta, --rho and --tests do not fit together"
            raise InputError(f"{fault}. {error}. Nothing was read.") from None
        title = request.title or request.codebook.stem
        return cls(title=title, columns=columns, policy=policy, unit=unit, cap=cap, rows=request.rows)

    def in_words(self) -> str:
        columns = so_many(len(self.columns), "column")
        return (
            f"The scout measures {so_many(queries(self.columns), 'noisy table')} of single columns ({columns}) and "
            f"costs epsilon {decimal_text(self.cap.alone)}. Scout and release together cost epsilon "
            f"{decimal_text(self.cap.epsilon)}, delta {float(self.cap.delta):g}."
        )

    @property
    def tables(self) -> Fraction:
        """The privacy cost of all noisy tables, as a rho, or as an epsilon if delta is 0."""
        return self.cap.cost * (1 - OF_DEPENDENCE)

    @property
    def cost_per_table(self) -> Fraction:
        """The privacy cost of each noisy table, as a rho, or as an epsilon if delta is 0."""
        return self.tables / queries(self.columns)

    @property
    def noise_sd(self) -> float:
        return self.cap.deviation(self.cost_per_table)

    def looks(self) -> dict[str, Charge]:
        """Return the charge of each step of the scout, such as "first look"; their sum is the cost of the scout."""
        texts, numbers = (sum(column.kind == kind for column in self.columns) for kind in ("texts", "number"))
        listed = len(self.columns) - texts - numbers
        of_tables = {"texts": texts, "first look": numbers + listed, "second look": numbers}
        costs = {name: self.cost_per_table * count for name, count in of_tables.items() if count}
        costs["dependence"] = self.cap.cost * OF_DEPENDENCE
        state = mechanism if self.cap.pure else gaussian
        return {name: state(name, cost, "noisy counts") for name, cost in costs.items()}


def _exact(option: str, text: str) -> Fraction:
    try:
        return exact(text)
    except Unexpected as error:
        raise InputError(f"{option}: {error}. Nothing was read.") from None


def queries(columns: Sequence[ScoutedColumn]) -> int:
    return sum(column.queries for column in columns)


def cap_of(
    columns: Sequence[ScoutedColumn],
    epsilon: Fraction,
    delta: Fraction,
    rho: Fraction | None = None,
    tests: Fraction | None = None,
) -> Cap:
    """Return the cap of a scout of these columns: the largest privacy cost of the scout and the release after it together.

    Parameters
    ----------
    rho : the cost of the scout. By default, a twentieth of the rho that the cap allows pays for the tables, and a fifth of
        this amount is added for the measure of dependence. It must be None if delta is 0.
    tests : epsilon that is reserved for tests and criteria of the release; by default 12% of the cap. If delta is 0, it is
        reserved for the whole release; by default 80% of the cap.

    Raises
    ------
    InputError : if delta is 0 although `rho` is stated, a column of texts has no list of codes (a text may occur in only
        one row), or a column of numbers has no bounds (Laplace noise has heavy tails, so empty cells would seem to have
        rows).
    Unexpected : if no scout and release fit into the cap.
    """
    if not delta:
        open_ended = [
            each.name for each in columns if each.kind == "texts" or (each.kind == "number" and None in (each.low, each.high))
        ]
        if open_ended:
            raise InputError(
                f"With --delta 0, every column needs codes or bounds. These columns have neither: {listing(open_ended)}. "
                "Nothing was read. List the codes, state min and max, leave the columns out, or choose a delta such as 1e-9."
            )
        if rho is not None:
            raise InputError("Omit --rho: with --delta 0, --cap and --tests determine the cost of the scout. Nothing was read.")
        tests = (1 - SHARE_WITHOUT_DELTA) * epsilon if tests is None else tests
        return Cap(epsilon=epsilon, delta=delta, rho=Fraction(0), tests=tests)
    kept = KEPT_FOR_TESTS * epsilon if tests is None else tests
    most = rho_within(epsilon, delta) if epsilon and delta < 1 else Fraction(0)
    if not most:
        raise Unexpected("Epsilon must be above 0 and delta below 1")
    if rho is not None and not 0 < rho < most:
        raise Unexpected(
            f"Rho must be above 0, and below the {decimal_text(rounded_down(most))} that this epsilon and delta allow"
        )
    if rho is None:
        rho = rounded_down(most * SHARE / (1 - OF_DEPENDENCE))
    rare = sum(column.kind == "texts" for column in columns) * text_threshold(rho * (1 - OF_DEPENDENCE) / queries(columns))[1]
    return Cap(epsilon=epsilon, delta=delta, rho=rho, rare=rare, tests=kept)


def needed_rows(deviation: float) -> int:
    """Return the smallest number of rows of which five standard deviations of the noise are at most 3%."""
    return math.ceil(5 * deviation / MOST_NOISE)


def check_noise(scouting: Scouting) -> None:
    """Raise BudgetError if five standard deviations of the noise of a count exceed 3% of the rows, too much for a draft."""
    deviation, cap = scouting.noise_sd, scouting.cap
    if not 5 * deviation <= MOST_NOISE * scouting.rows:
        cost = f"{'epsilon' if cap.pure else 'rho'} = {decimal_text(cap.cost)}"
        tables = so_many(queries(scouting.columns), "noisy table")
        raise BudgetError(
            f"Refused: the noise is too large for the file. With {cost} for {tables}, each count has noise with a standard "
            f"deviation of {deviation:,.0f} rows. A file needs at least {needed_rows(deviation):,} rows for this much noise, "
            f"but --rows says that it has {scouting.rows:,}. Nothing was read and nothing was spent. Leave columns out, or "
            "draft from published statistics or a public file."
        )


def check_memory(scouting: Scouting) -> None:
    """Raise BudgetError if the machine may have too little memory to count texts without a list of codes.

    With a key, the texts of every row that may be the first row of a person are kept (`enclave.persons.Persons`).
    """
    available = machine_megabytes()
    texts = sum(column.kind == "texts" for column in scouting.columns)
    held = scouting.rows if scouting.unit.key is None else 2 * scouting.rows + ROOM + ROWS_PER_BATCH
    needed = MEGABYTES_OF_READING + texts * held * BYTES_OF_TEXT // 2**20
    if texts and available is not None and needed > available:
        raise BudgetError(
            f"Refused: counting the texts of {so_many(texts, 'column')} without a list of codes may need {needed:,} MB of "
            f"memory, and this machine has {available:,} MB. Nothing was spent. List the codes in the codebook, or leave "
            "columns out."
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
    """Run a scout of a private file: charge the ledger once, count the columns with noise, and write the results to a folder.

    Parameters
    ----------
    data : the private file.
    out : the folder to write; it must not exist.
    expect_head : the expected head of the ledger, as noted in the steward's logbook.
    charged : a function that is called with the ledger's statement after the charge.

    Raises
    ------
    InputError, OutputError, BudgetError, LedgerError : the scout was refused. Nothing was spent, unless the message says
        that the file was opened.
    PrivateFailure, InternalError, Interrupted : the run ended after the charge; the cost counts as spent.

    Privacy
    -------
    The scout is Gaussian with rho = `cap.rho`, except for texts that only one row has (theory 9.20, values without a public
    list). If delta is 0, it is `cap.alone`-DP. The charge is on the disk before the first row is read. The number of rows
    (with a key, the number of persons) is published exactly. Every row is counted: missing values, texts that are not numbers
    and unlisted codes have bins of their own, and numbers beyond the bounds count as the bound (theory 1.7, resizing, case b;
    theory 1.9, first rows of a person, d).
    """
    check_free_name(out)
    check_noise(scouting)
    check_memory(scouting)
    check_delta(scouting.cap.delta, scouting.rows)
    if not data.is_there():
        raise InputError(f"{data}: there is no such file. Nothing was spent.")
    key = [] if scouting.unit.key is None else [scouting.unit.key, *scouting.unit.order]
    check_opens(data, schema_of(scouting.columns, {}), scouting.policy, key)
    cap, run = scouting.cap, ChargedRun(cap=scouting.cap, scouts=True, key=scouting.unit.key)
    charge = mechanism("scout", cap.alone, "noisy tables of single columns", cap.delta)
    with ExitStack() as held:
        place = held.enter_context(taking(out, spends=True))
        opened = load_ledger(ledger, dataset=dataset, expect_head=expect_head)
        check_cap_fits(opened.statement(), cap)
        charged(opened.reserve(charge, purpose_of(f"{scouting.title} (scout)"), run))
        with protected():
            return after_the_charge(lambda: _published(scouting, data, out, place), lambda error: f"{error} {OPENED}")


def check_cap_fits(statement: Statement, cap: Cap) -> None:
    left = statement.epsilon_limit - statement.epsilon, statement.delta_limit - statement.delta
    if cap.epsilon > left[0] or cap.delta > left[1]:
        raise BudgetError(
            f"Refused: scout and release together cost epsilon = {decimal_text(cap.epsilon)}, delta = {float(cap.delta):g}. "
            f"The ledger has only epsilon = {decimal_text(left[0])}, delta = {float(left[1]):g} left. Nothing was read and "
            "nothing was spent."
        )


def _published(scouting: Scouting, data: Source, out: Path, place: Path) -> ScoutDocument:
    document = measured(scouting, data)
    write_folder(files_of(document), out, workspace=place)
    return document


def measured(scouting: Scouting, data: Source, entropy: SystemEntropy = SYSTEM) -> ScoutDocument:
    """Measure the noisy tables of a private file. Call `scout` instead, which reserves the budget first.

    Parameters
    ----------
    entropy : the source of randomness for the noise. Only tests use a source other than the operating system.
    """
    from synthrelease.scouting.scout_mechanism import MOST_ROWS, dependence, frequent_texts, noisy_tables

    columns, looks, deviation = scouting.columns, scouting.looks(), scouting.noise_sd
    found = dict[str, dict[str, int]]()
    if charge := looks.get("texts"):
        unlisted = {column.name: column.missing for column in columns if column.kind == "texts"}
        texts = count_texts(data, unlisted, scouting.policy, [charge], scouting.unit)
        threshold, _ = text_threshold(scouting.cost_per_table)
        found = texts.spend(charge, partial(frequent_texts, threshold=threshold, charge=charge, entropy=entropy))
    categories = {name: [text for text in counts if text] for name, counts in found.items()}
    schema = schema_of(columns, categories)
    every = Plausibility(layout=schema.layout, masks=())
    of_rows = [charge for name, charge in looks.items() if name != "texts"]
    rows = ingest(data, schema, scouting.policy, every, unit=scouting.unit).with_plan(of_rows)
    check_delta(scouting.cap.delta, rows.n_file, spent=True)

    def look(name: str, groups: Mapping[int, np.ndarray]) -> dict[int, list[int]]:
        if (charge := looks.get(name)) is None:
            return {}
        noisy = rows.spend(charge, partial(noisy_tables, groups=groups, charge=charge, entropy=entropy))
        return {place: table.tolist() for place, table in noisy.items()}

    numbers = {place: column for place, column in enumerate(columns) if column.kind == "number"}
    counted = {place: column for place, column in enumerate(columns) if column.kind != "texts"}
    tables = look("first look", {place: _first_groups(column) for place, column in counted.items()})
    edges = {place: column.second_look(tables[place], deviation) for place, column in numbers.items()}
    again = look("second look", {place: column.groups(edges[place]) for place, column in numbers.items()})
    parts = [
        _part(column, found.get(column.name), tables.get(place), again.get(place), edges.get(place, ()))
        for place, column in enumerate(columns)
    ]
    drafted = [bins_of(part, rows.n_file, deviation) for part in parts]
    groups = [bins.groups(categories.get(bins.column.name, ())) for bins in drafted]
    charge = looks["dependence"]
    steps, one = rows.spend(charge, partial(dependence, groups=groups, charge=charge, entropy=entropy))
    return _document(scouting, rows.n_file, parts, DependencePart(steps=steps, one=one, rows=min(rows.n_file, MOST_ROWS)))


def _first_groups(column: ScoutedColumn) -> np.ndarray:
    return column.groups(column.first_look) if column.kind == "number" else np.arange(len(column.codes) + 2)


def _part(
    column: ScoutedColumn,
    texts: Mapping[str, int] | None,
    first: list[int] | None,
    second: list[int] | None,
    edges: Sequence[Fraction],
) -> ScoutedPart:
    counts, other = dict(texts or {}), None
    if column.kind == "listed" and first is not None:
        *codes, other, gaps = first
        counts = {**dict(zip(column.codes, codes, strict=True)), "": gaps}
    number = column.kind == "number"
    return ScoutedPart.like(
        column,
        codes=dict(column.codes),
        limits=[*map(str, column.limits)],
        first=list(first or ()) if number else [],
        second=list(second or ()) if number else [],
        edges=[*map(str, edges)],
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
        missing_keys=list(unit.missing_keys),
        tables_exact=str(scouting.tables),
        input=policy.model_dump(mode="json", include=WRITTEN, exclude_none=True),
        columns=parts,
        dependence=figure,
        written_by=__version__,
    )
