"""Keep the privacy budget of a dataset across runs, in a ledger on disk. A run is charged before it reads private data, and no
charge is refunded.

`reserve` compares the exact sum of all charges with the limit, appends the new charge in one write transaction, and returns
only when the charge is on the disk.

A ledger contains only facts that are known before the private file is opened: the purpose (a title), the time, and the planned
charge. It records no outcome, end or duration of a run: a missing outcome would reveal a failed run, which the selection
theorem does not cover.

The ledger refuses:

- a row that was edited, removed, inserted or moved, because each hash covers the row and the hash before it;
- a truncated or damaged file, a file that is no ledger, and a second name for the file;
- a ledger that is older than its head file or has different rows, and a missing head file;
- the ledger of another dataset or of a newer version.

Releases that publish their number of rows exactly must all have the same domain (the columns, bounds, categories and rules that
determine which rows count), whose digest the ledger stores. Otherwise the difference of two exact numbers of rows could be an
exact count of people, which no charge covers.

A register that is split permanently into pieces (`Ledger.split`) has spent as much as its most expensive piece (theory 11.12,
pieces for ever). With a multi-year plan (`Ledger.plan_years`), the limit applies to the privacy loss of a person over its years
(theory 11.13, a promise over years).

The ledger cannot detect from its files alone:

- a ledger and its head file that were both replaced by older copies;
- a copy of both files, if the original and the copy are used;
- a new ledger after both files were deleted, or a second ledger of the same dataset under another name or in another place;
- both files rewritten with new hashes, which contain no secret;
- a disk that reports data as written and loses them at a power cut;
- a file system whose locks do not work, as on many network drives.

To detect all cases except the last two, keep the head of the last charge in a logbook elsewhere, and pass it as `expect_head`.
The ledger protects against mistakes, but not against the steward who keeps it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

from synthrelease.errors import BudgetError, so_many
from synthrelease.privacy.cap import Cap
from synthrelease.privacy.charges import Charge
from synthrelease.privacy.ledger_file import (
    FORMAT,
    MARK,
    TABLES,
    Head,
    Notes,
    Statement,
    amount,
    cause,
    connected,
    create,
    domain_of,
    one_line,
    printable,
    read_entries,
    read_head,
    refusal,
    restore,
    settle,
    shown,
    summed,
    to_text,
    write_head,
)
from synthrelease.privacy.plan import Horizon, Plan, YearOfSeries
from synthrelease.privacy.subsets import Split

# These functions check whether a ledger can record a multi-year plan, and whether a release fits the plan.

UNSPENT = "No private data were read and nothing was charged."


def check_plan(path: Path, statement: Statement, horizon: Horizon) -> None:
    """Raise BudgetError if a multi-year plan cannot be recorded: the ledger is not empty, or the plan gives no guarantee or
    exceeds a limit."""
    if statement.horizon is not None:
        raise BudgetError(f"Refused: {path} already contains a multi-year plan, which cannot be changed.")
    if statement.entries:
        raise BudgetError(
            f"Refused: {path} already has entries. A multi-year plan limits the cost of all releases together, so it must be "
            "recorded before any other entry. Open a new ledger for the series."
        )
    promise = horizon.promise
    if promise is None:
        raise BudgetError("Refused: this multi-year plan gives a person no guarantee, because its deltas add up to 1 or more.")
    for name, most, limit in (
        ("epsilon", promise.epsilon, statement.epsilon_limit),
        ("delta", promise.delta, statement.delta_limit),
    ):
        if not most <= limit:
            raise BudgetError(
                f"Refused: the plan would cost up to {name} = {shown(most)} per person over all years, but {path} allows only "
                f"{shown(limit)}. Nothing was written. Reduce the planned cost, or open a new ledger with a larger limit, as "
                "nothing has been charged to this ledger."
            )


def check_year(path: Path, statement: Statement, release: YearOfSeries | None, epsilon: Fraction, delta: Fraction) -> None:
    """Raise BudgetError if a release does not fit the multi-year plan in the ledger: plan, year, cost, a second release, or an
    earlier release that the ledger lacks."""
    plan = statement.horizon
    if plan is None and release is None:
        return
    if plan is None:
        raise BudgetError(
            f"Refused: [series] years describes a multi-year plan, but {path} contains no such plan. Record the plan once, "
            f"before the first release, with `synthrelease ledger years`. {UNSPENT}"
        )
    if release is None:
        raise BudgetError(
            f"Refused: {path} contains a plan for the years {plan.years[0]} to {plan.years[-1]}, but [series] year is not set "
            f"for this release. {UNSPENT}"
        )
    if release.horizon != plan:
        raise BudgetError(f"Refused: the multi-year plan in [series] differs from the plan in {path}. {UNSPENT}")
    charged = {(entry.notes.year, entry.notes.again, entry.epsilon, entry.delta) for entry in statement.entries}
    for earlier in release.named:
        if (earlier.year, earlier.again, *earlier.paid) not in charged:
            raise BudgetError(
                f"Refused: [series] earlier names a release for {earlier.year} that cost epsilon = "
                f"{shown(earlier.paid.epsilon)}, but {path} has no such charge. Either this is an older copy of the ledger or "
                f"a different ledger, or the named release does not belong to this series. {UNSPENT}"
            )
    year, done = release.year, [entry.notes for entry in statement.entries if entry.notes.year == release.year]
    if year not in plan.years:
        raise BudgetError(
            f"Refused: the plan in {path} covers the years {plan.years[0]} to {plan.years[-1]}, but [series] year is {year}. "
            f"{UNSPENT}"
        )
    again = [entry for entry in statement.entries if entry.notes.again]
    if release.again and (not done or any(notes.again for notes in done)):
        why = f"contains no release for {year} to replace" if not done else f"already contains two releases for {year}"
        raise BudgetError(f"Refused: {path} {why} ([series] again). {UNSPENT}")
    if release.again and len(again) >= plan.fallbacks:
        allowed = f"only {so_many(plan.fallbacks, 'second release')}, and none is left" if again else "no second release"
        raise BudgetError(f"Refused: the plan in {path} allows {allowed}. {UNSPENT}")
    if done and not release.again:
        left = max(0, plan.fallbacks - len(again)) if len(done) == 1 else 0
        advice = f"The plan allows no further release for {year}."
        if left:
            more = so_many(left, "more second release")
            advice = f"If that release published nothing, set [series] again = true. The plan allows {more}."
        raise BudgetError(f"Refused: {path} already contains a release for {year}. {advice} {UNSPENT}")
    if not (epsilon <= plan.most(year, release.again) and delta <= plan.delta):
        raise BudgetError(
            f"Refused: {'the second' if release.again else 'this'} release for {year} would cost epsilon = {shown(epsilon)} "
            f"and delta = {shown(delta)}, but the plan allows only epsilon = {shown(plan.most(year, release.again))} and delta "
            f"= {shown(plan.delta)}. {UNSPENT}"
        )


@dataclass(frozen=True, kw_only=True)
class ChargedRun:
    """The facts that a ledger records about a run besides its charge.

    Attributes
    ----------
    domain : the SHA-256 digest of the domain of a release that publishes its number of rows exactly, or None.
    piece, split : the piece of the register that the release reads, and the split, or None for a release of all rows, charged
        to every piece.
    year : the year of the release in a multi-year plan, or None.
    cap : the cap on a scout and the release after it, for these runs.
    scouts : whether the run is a scout.
    key : for the same runs, the column that identifies the person, or None if each row is a record.
    """

    domain: str | None = None
    piece: int | None = None
    split: Split | None = None
    year: YearOfSeries | None = None
    cap: Cap | None = None
    scouts: bool = False
    key: str | None = None


ALL_ROWS = ChargedRun()


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """The ledger in the file `path`. Every operation opens the file, verifies it completely, and closes it again.

    Attributes
    ----------
    dataset : the expected name of the dataset; None for any.
    expect_head : at least 16 first digits of a hash from the steward's logbook, which the ledger must contain.
    """

    path: Path
    dataset: str | None = None
    expect_head: str | None = None

    def statement(self) -> Statement:
        """Verify all entries and return them. SQLite may repair the file after a crash.

        Raises
        ------
        LedgerError : if the ledger is incomplete, changed, or not the expected one.
        """
        with connected(self.path, writable=False) as database:
            head = read_head(self.path)  # this comes before the entries are read, because other processes may add entries
            database.execute("BEGIN")
            return self._accepted(read_entries(self.path, database), head)

    def reserve(self, charge: Charge, purpose: str, run: ChargedRun = ALL_ROWS) -> Statement:
        """Charge the ledger, and return its new content when the charge is on the disk. There is no refund.

        Raises
        ------
        BudgetError : if the sum would exceed a limit; if the charge is a Renyi curve; if the release does not fit a plan over
            years, a split or a scout; or if an earlier release published its exact number of rows on another domain. Nothing
            was charged.
        LedgerError : if the ledger is unreliable (nothing was charged), or if the charge could not be confirmed on the disk (it
            counts as spent).
        """
        return self._written(lambda statement: self._charged(statement, charge, purpose, run))

    def check(self, charge: Charge, purpose: str, run: ChargedRun = ALL_ROWS) -> None:
        """Raise the errors that `reserve` would raise now. Nothing is charged."""
        self._charged(self.statement(), charge, purpose, run)

    def _charged(self, statement: Statement, charge: Charge, purpose: str, run: ChargedRun) -> Statement:
        """Return the content with this charge, without writing it. Raises the errors of `reserve`."""
        if charge.renyi is not None:
            raise BudgetError(f"The charge {charge.name!r} is a Renyi curve. A ledger needs its epsilon and delta.")
        epsilon, delta = amount("epsilon", charge.epsilon), amount("delta", charge.delta)
        purpose = one_line("The purpose of a charge", purpose, 200)
        try:
            domain = None if run.domain is None else domain_of(run.domain or "none")
        except ValueError:
            raise BudgetError("The domain of a charge must have 64 hexadecimal digits.") from None
        self._check_piece(statement, run)
        check_year(self.path, statement, run.year, epsilon, delta)
        notes = Notes(piece=run.piece) if run.year is None else Notes(year=run.year.year, again=run.year.again)
        if run.cap is not None:
            if run.piece is not None or run.year is not None:
                raise BudgetError(
                    "Refused: a scout reads all rows, so the release after it must also use all rows. It cannot use one piece "
                    f"of a split register, or follow a multi-year plan. {UNSPENT}"
                )
            for part in (run.cap.epsilon, run.cap.delta, run.cap.rho, run.cap.rare, run.cap.tests):
                amount("Each part of the cap", part)
            promised = Notes(cap=run.cap, persons="" if run.key is None else sha256(run.key.encode("utf-8")).hexdigest())
            notes = promised if run.scouts else Notes(scouted=_open_scout(self.path, statement, promised))
            if not run.scouts:  # the scout's entry already charged the delta and the scout's epsilon
                epsilon, delta = epsilon - run.cap.alone, delta - run.cap.delta
        charged = statement.with_charge(started=_now(), what=purpose, epsilon=epsilon, delta=delta, domain=domain, notes=notes)
        if run.year is None:
            self._check_limit("epsilon", statement.epsilons.before(run.piece), epsilon, statement.epsilon_limit, run.piece)
            self._check_limit("delta", statement.deltas.before(run.piece), delta, statement.delta_limit, run.piece)
        else:  # the limit applies to a person, who may have records in several years
            self._check_limit("epsilon", statement.epsilon, charged.epsilon - statement.epsilon, statement.epsilon_limit, None)
            self._check_limit("delta", statement.delta, charged.delta - statement.delta, statement.delta_limit, None)
        self._check_domain(statement, domain)
        return charged

    def split(self, split: Split) -> Statement:
        """Record permanently how the register is split into pieces, at no cost.

        Raises
        ------
        BudgetError : if the register is already split, or the ledger has a multi-year plan. Nothing was written.
        LedgerError : if the ledger is unreliable, or the entry could not be confirmed on the disk.
        """

        def noted(statement: Statement) -> Statement:
            check_unsplit(self.path, statement)
            purpose = f"split of the register into {split.pieces} pieces"
            return statement.with_charge(started=_now(), what=purpose, notes=Notes(split=split))

        return self._written(noted)

    def plan_years(self, horizon: Horizon) -> Statement:
        """Record a multi-year plan permanently, before the first release, at no cost.

        Raises
        ------
        BudgetError : if the ledger has an entry, or if the plan gives a person no guarantee or exceeds a limit. Nothing was
            written.
        LedgerError : if the ledger is unreliable, or the entry could not be confirmed on the disk.
        """

        def noted(statement: Statement) -> Statement:
            check_plan(self.path, statement, horizon)
            purpose = f"plan over the years {horizon.years[0]} to {horizon.years[-1]}"
            return statement.with_charge(started=_now(), what=purpose, notes=Notes(horizon=horizon))

        return self._written(noted)

    def _written(self, with_entry: Callable[[Statement], Statement]) -> Statement:
        """Write the last entry of the result of `with_entry` in one transaction, and return this result once it is on the
        disk."""
        with connected(self.path, writable=True) as database:
            database.execute("BEGIN IMMEDIATE")
            statement = with_entry(self._accepted(read_entries(self.path, database), read_head(self.path)))
            row = summed(statement).entries[-1].row()
            database.execute(f"INSERT INTO charges VALUES ({', '.join('?' * len(row))})", row)
            database.execute("COMMIT")
            self._confirm(database, len(statement.entries))
        return statement

    def _confirm(self, database: sqlite3.Connection, number: int) -> None:
        """Make a recorded charge durable: move it into the ledger file, then update the head file."""
        reason = "another process kept the ledger busy"
        try:
            if settle(database):
                database.execute("BEGIN IMMEDIATE")  # if two processes run, the later one must write the later head
                write_head(self.path, read_entries(self.path, database).head)
                database.execute("COMMIT")
                return
        except (sqlite3.Error, OSError) as error:
            reason = cause(error)
        advice = f"Charge {number} is recorded and counts as spent. Check the disk. A new run would be charged again"
        raise refusal(self.path, f"The charge could not be confirmed on the disk ({reason})", advice)

    def _accepted(self, statement: Statement, head: Head) -> Statement:
        """Return the statement. Raises LedgerError if it is of another dataset, or lacks the head or `expect_head`."""
        if self.dataset is not None and statement.dataset != self.dataset:
            problem = f"This is the ledger of {statement.dataset!r}, not of {self.dataset!r}"
            raise refusal(self.path, problem, "Name the ledger of your dataset")
        if not statement.holds(head):
            entries = so_many(len(statement.entries), "charge")
            problem = f"The ledger has {entries}, but not the charge {head.number} that the head file records"
            problem += ". The ledger is an old or changed copy"
            raise refusal(self.path, problem, restore(self.path))
        if self.expect_head is not None and not statement.knows(self.expect_head):
            advice = f"Give at least 16 digits. If the digits are right, this ledger is an old copy. {restore(self.path)}"
            raise refusal(self.path, "The ledger does not contain the expected head", advice)
        return statement

    def _check_piece(self, statement: Statement, run: ChargedRun) -> None:
        if run.piece is None and run.split is None:
            return
        if statement.split is None or statement.split != run.split or not 1 <= (run.piece or 0) <= run.split.pieces:
            raise BudgetError(
                f"Refused: {self.path} does not record the piece of the register that [split] names. The ledger has no split, "
                f"or a split with another number of pieces, another key or other record numbers. {UNSPENT} Name the ledger "
                "that records this split, or correct [split]."
            )

    def _check_domain(self, statement: Statement, domain: str | None) -> None:
        if domain is None:
            return
        if statement.domain not in (None, domain):
            raise BudgetError(
                f'Refused: this release publishes its exact number of rows (rows = "exact") for the domain {domain[:16]}, '
                f"but {self.path} contains an earlier release that published it for another domain, "
                f"{(statement.domain or '')[:16]}. The two releases differ in their columns, bounds, categories or rules, or "
                "in the treatment of missing values or of values outside the bounds. The difference of the two numbers would "
                f"be an exact count of people, which no epsilon covers. {UNSPENT} Use the earlier domain, or protect the "
                "number of rows."
            )

    def _check_limit(self, name: str, spent: Fraction, cost: Fraction, limit: Fraction, piece: int | None) -> None:
        if not spent + cost <= limit:
            if not limit:  # of delta
                raise BudgetError(
                    f"Refused: this run would cost {name} = {shown(cost)}, but {self.path} allows only {name} = 0 (pure "
                    f"differential privacy). {UNSPENT} Choose generators with pure differential privacy. If the ledger has no "
                    "charges, you can instead replace it by a new ledger with --delta-limit. Note this in the logbook."
                )
            on = "" if piece is None else f" on piece {piece}"
            raise BudgetError(
                f"Refused: this run would cost {name} = {shown(cost)}. The ledger {self.path} allows {name} = {shown(limit)} "
                f"in total, and {shown(spent)} is already spent{on}. {UNSPENT} Plan a cheaper run. The limit of a ledger "
                "cannot be changed."
            )


def _open_scout(path: Path, statement: Statement, promised: Notes) -> int:
    """Return the number of the ledger entry of the scout (a run that measures noisy tables for planning) that a release
    follows.

    Its notes must be `promised`, and no other release may have followed it. Otherwise raise BudgetError, because costs add up
    only for the same neighbours (theory 1.5, domain).
    """
    released = {entry.notes.scouted for entry in statement.entries}
    scouts = [entry.number for entry in statement.entries if entry.notes == promised and entry.number not in released]
    if not scouts:
        raise BudgetError(
            f"Refused: {path} does not contain the scout that [scout] describes. The scout must have the same cap, must have "
            "the same rows or persons as [unit] key, and must not have been followed by a release. Name the ledger of the "
            f"scout. For a second release after a scout, delete [scout]; this release then costs its whole epsilon. {UNSPENT}"
        )
    return scouts[0]


def check_unsplit(path: Path, statement: Statement) -> None:
    """Raise BudgetError if a register is already split or has a multi-year plan."""
    if statement.horizon is not None:
        raise BudgetError(
            f"Refused: {path} contains a multi-year plan. Such a plan does not allow a register that is split into pieces."
        )
    if statement.split is not None:
        raise BudgetError(
            f"Refused: the register of {path} is already split into {statement.split.pieces} pieces (key "
            f"{statement.split.key[:16]}). A second split would mix records of different pieces, and the ledger could no "
            "longer count the budget spent on each record."
        )


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def open_ledger(
    path: str | Path, dataset: str, limit: str | int | Fraction, *, delta_limit: str | int | Fraction = 0
) -> Ledger:
    """Create a new ledger without charges. No file is overwritten.

    Parameters
    ----------
    dataset : the steward's name for the private data; not a hash, which would reveal something about the data.
    limit, delta_limit : the largest epsilon and delta that all releases together may cost. They cannot be changed later.

    Raises
    ------
    OutputError : if a file already exists at `path`, or if the ledger cannot be written.
    BudgetError : if the name or a limit cannot be used.
    """
    account = Statement(
        dataset=one_line("The name of the dataset", dataset, 100),
        epsilon_limit=amount("The limit on epsilon", limit),
        delta_limit=amount("The limit on delta", delta_limit),
    )
    if account.epsilon_limit == 0 or account.delta_limit >= 1:
        raise BudgetError("The limit on epsilon must be above 0, and the limit on delta below 1.")

    def fill(database: sqlite3.Connection) -> None:
        database.execute("BEGIN IMMEDIATE")
        for table in TABLES.values():
            database.execute(table)
        row = (account.dataset, to_text(account.epsilon_limit), to_text(account.delta_limit))
        database.execute("INSERT INTO account VALUES (?, ?, ?)", row)
        database.execute(f"PRAGMA application_id = {MARK}")
        database.execute(f"PRAGMA user_version = {FORMAT}")
        database.execute("COMMIT")

    create(Path(path).absolute(), account.head, fill)
    return load_ledger(path, dataset=dataset)


def load_ledger(path: str | Path, *, dataset: str | None = None, expect_head: str | None = None) -> Ledger:
    """Return the ledger at `path`. Raises LedgerError if it is unreliable or not the expected one."""
    ledger = Ledger(path=_resolved(path), dataset=dataset, expect_head=expect_head)
    ledger.statement()
    return ledger


def renew_head(path: str | Path, expect_head: str) -> Statement:
    """Recreate the head file of a ledger that contains the last head in the steward's logbook; otherwise raise LedgerError."""
    ledger = Ledger(path=_resolved(path), expect_head=expect_head)
    with connected(ledger.path, writable=True) as database:
        database.execute("BEGIN IMMEDIATE")
        statement = read_entries(ledger.path, database)
        ledger._accepted(statement, statement.head)
        write_head(ledger.path, statement.head)
        database.execute("COMMIT")
    return statement


def reserve_for_release(
    path: str | Path,
    plan: Plan,
    title: str,
    run: ChargedRun = ALL_ROWS,
    *,
    dataset: str | None = None,
    expect_head: str | None = None,
) -> Statement:
    """Charge the whole plan of a release before the first private byte is read. Raises the errors of `Ledger.reserve`."""
    ledger = Ledger(path=_resolved(path), dataset=dataset, expect_head=expect_head)
    return ledger.reserve(plan.total, purpose_of(title), run)


def purpose_of(title: str) -> str:
    return printable(title, 200) or "a release without a title"


def ledger_beside(out: str | Path, plan: Plan, title: str, limit: Fraction | None) -> Path:
    """Return the path `<out>.ledger`, for a release that names no ledger. Create this ledger if it does not exist.

    Its dataset is the title of the release, and its limit on epsilon is `limit`, or by default the cost of the plan. Only runs
    into a folder of the same name are charged to the same ledger.
    """
    path = place_beside(out)
    if not os.path.exists(path):
        dataset = printable(title, 100) or "without a title"
        open_ledger(path, dataset, plan.total.epsilon if limit is None else limit, delta_limit=plan.total.delta)
    return path


def place_beside(out: str | Path) -> Path:
    """Return the path of the ledger of releases that name none: `<out>.ledger`."""
    out = Path(out).absolute()
    return out.with_name(out.name + ".ledger")


def _resolved(path: str | Path) -> Path:
    """Follow links, even links in a circle, for which `Path.resolve` fails."""
    return Path(os.path.realpath(path))
