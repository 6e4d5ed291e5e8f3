"""ledger: the privacy budget of a dataset across releases."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synthrelease.cli.quiet import QuietCommand
from synthrelease.cli.terminal import TableName
from synthrelease.cli.terminal import out as terminal
from synthrelease.privacy.charges import decimal_text

if TYPE_CHECKING:
    from synthrelease.privacy.ledger_file import Statement
    from synthrelease.privacy.plan import Horizon
    from synthrelease.privacy.subsets import Split

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="The privacy budget of a dataset across releases.",
)
File = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger.")]
Head = Annotated[str, typer.Option("--expect-head", help="The head from your logbook.")]


@app.command("open", cls=QuietCommand)
def open_new(
    file: File,
    dataset: Annotated[str, typer.Option("--dataset", help="What the dataset is called; one ledger for each dataset.")],
    limit: Annotated[str, typer.Option("--limit", metavar="EPS", help="The most epsilon that all its releases may cost.")],
    delta_limit: Annotated[
        str, typer.Option("--delta-limit", metavar="DELTA", help="The most delta; 0 allows pure differential privacy alone.")
    ] = "0",
) -> None:
    """Open the ledger of a private dataset, once."""
    from synthrelease.privacy.ledger import open_ledger

    statement = open_ledger(file, dataset, limit, delta_limit=delta_limit).statement()
    terminal.print(f"Opened {str(file)}. For your logbook: {statement.logbook_line()}")
    if not statement.delta_limit:
        terminal.print("It allows pure differential privacy alone; releases with a delta need --delta-limit from the start.")


@app.command(cls=QuietCommand)
def split(
    file: File,
    config: Annotated[Path, typer.Option("--config", metavar="CONFIG", help="A configuration with the table [split].")],
    data: Annotated[str, typer.Option("--data", metavar="DATA", help="The private file. Its record numbers alone are read.")],
    table: TableName = None,
    key: Annotated[
        Path | None, typer.Option("--split-key", metavar="FILE", help="A new file. [default: the ledger's name with .key]")
    ] = None,
    expect_head: Head | None = None,
) -> None:
    """Split the register into pieces, once and for ever, so that a release spends on the records of one piece. Costs nothing.

    Which piece a record belongs to is told by a new secret key and the record number alone. The key stays in the enclave: back
    it up, show it to nobody. Without it no piece can be read again.
    """
    from synthrelease.releasing.release import split_register
    from synthrelease.sources.source import Source

    statement, place = split_register(file, config, Source.of(data, table), key, expect_head)
    made = statement.split
    terminal.print(
        f"Split into {made.pieces if made else 0} pieces. The secret key is in {str(place)}: it stays in the enclave, "
        "with a backup; who has it can tell the piece of every record number."
    )
    terminal.print(f"For your logbook: {statement.logbook_line()}")


@app.command("years", cls=QuietCommand)
def plan_years(
    file: File,
    config: Annotated[Path, typer.Option("--config", metavar="CONFIG", help="A configuration with a plan, [series] years.")],
    expect_head: Head | None = None,
) -> None:
    """Note what is promised to a person over all years of a register, once and for ever, before the first one. Costs nothing.

    The ledger then takes one release of each year, none beyond the plan, and limits what a person pays for all of them.
    """
    from synthrelease.errors import Problem, SpecError
    from synthrelease.privacy.ledger import load_ledger
    from synthrelease.spec.load import load_spec

    spec = load_spec(config)
    spec.check_unit_answered()
    if spec.year is None:
        raise SpecError([Problem(file=spec.path, path="series.years", expected="a plan over years", found="none")])
    statement = load_ledger(file, expect_head=expect_head).plan_years(spec.year.horizon)
    _print_years(statement, spec.year.horizon)
    terminal.print(f"For your logbook: {statement.logbook_line()}")


@app.command(cls=QuietCommand)
def show(file: File, expect_head: Head | None = None) -> None:
    """Show what was spent. Verifies every entry first."""
    from rich.table import Table

    from synthrelease.privacy.ledger import load_ledger

    statement = load_ledger(file, expect_head=expect_head).statement()
    noted = ["domain"] if statement.domain else []
    pieces = ["piece"] if statement.split else []
    years = ["year"] if statement.horizon else []
    table = Table("no.", "reserved (UTC)", "for", "epsilon", "delta", *noted, *pieces, *years, title=statement.dataset)
    for entry in statement.entries:
        cells = [str(entry.number), entry.started, entry.what, decimal_text(entry.epsilon), f"{float(entry.delta):g}"]
        notes = entry.notes
        piece = "" if notes.split else "all" if notes.piece is None else str(notes.piece)
        year = "" if notes.year is None else f"{notes.year}{', second' if notes.again else ''}"
        table.add_row(*cells, *[(entry.domain or "")[:16] for _ in noted], *[piece for _ in pieces], *[year for _ in years])
    terminal.print(table)
    if statement.domain:
        terminal.print(f"Exact numbers of rows were published on the domain {statement.domain[:16]}: no other may follow.")
    if statement.split:
        _print_pieces(statement, statement.split)
    if statement.horizon:
        _print_years(statement, statement.horizon)
    left = statement.epsilon_limit - statement.epsilon
    terminal.print(
        f"Spent epsilon {decimal_text(statement.epsilon)} of {decimal_text(statement.epsilon_limit)}; left {float(left):g}. "
        f"{f'Spent delta {float(statement.delta):g} of {float(statement.delta_limit):g}. ' if statement.delta_limit else ''}"
        f"For your logbook: {statement.logbook_line()}"
    )


def _print_years(statement: Statement, plan: Horizon) -> None:
    """What is promised, which years are done and which are left."""
    notes = [entry.notes for entry in statement.entries if entry.notes.year is not None]
    done = {note.year for note in notes}
    left = [f"{year} (epsilon {decimal_text(plan.most(year, again=False))})" for year in plan.years if year not in done]
    promise, second = plan.promise, sum(note.again for note in notes)
    persons = f"{plan.in_year} in a year and {plan.in_all} in all" if plan.in_all > 1 else "1 in all years"
    terminal.print(
        f"A plan over the years {plan.years[0]} to {plan.years[-1]} promises a person epsilon "
        f"{decimal_text(promise.epsilon if promise else Fraction(0))} at most, with so many records: {persons}. "
        f"Paid so far, by a person: epsilon {decimal_text(statement.epsilon)}. Years left: {', '.join(left) or 'none'}. "
        f"Second releases of a year left: {plan.fallbacks - second}"
        f"{f' (epsilon {decimal_text(plan.fallback_epsilon)})' if plan.fallbacks else ''}."
    )


def _print_pieces(statement: Statement, split: Split) -> None:
    """What the records of each piece have paid, and what is compared with the limit."""
    spent, deltas = statement.epsilons, statement.deltas
    read = sorted(spent.of_pieces)

    def told(amount: Fraction) -> str:
        return f"epsilon {decimal_text(amount)}, left {float(statement.epsilon_limit - amount):g}"

    each = [f"piece {piece}: {told(spent.before(piece))}" for piece in read]
    if unread := split.pieces - len(read):
        each.append(f"{unread} that no release read alone: {told(spent.of_all)}")
    terminal.print(f"The register is split into {split.pieces} pieces (key {split.key[:16]}). Spent on {'; '.join(each)}.")
    delta = f", delta {float(deltas.most_renumbered):g}" if deltas.most_renumbered else ""
    terminal.print(
        "The sum below is that of the dearest piece: what a record pays whose record number stays. Where a record may be "
        f"replaced by one of another number, two pieces change: epsilon {decimal_text(spent.most_renumbered)}{delta}."
    )


@app.command(cls=QuietCommand)
def renew(file: File, expect_head: Head) -> None:
    """Make a lost head file anew, against the head in your logbook."""
    from synthrelease.privacy.ledger import renew_head

    statement = renew_head(file, expect_head)
    terminal.print(f"Renewed the head of {str(file)}. For your logbook: {statement.logbook_line()}")
