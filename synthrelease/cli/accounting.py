"""ledger: the privacy budget of a dataset across releases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from synthrelease.accounting.charges import decimal_text
from synthrelease.cli.terminal import out as terminal

app = typer.Typer(no_args_is_help=True, help="The privacy budget of a dataset across releases.")
File = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger.")]
Head = Annotated[str, typer.Option("--expect-head", help="The head from your logbook.")]


@app.command("open")
def open_new(
    file: File,
    dataset: Annotated[str, typer.Option("--dataset", help="What the dataset is called; one ledger for each dataset.")],
    limit: Annotated[str, typer.Option("--limit", metavar="EPS", help="The most epsilon that all its releases may cost.")],
    delta_limit: Annotated[
        str, typer.Option("--delta-limit", metavar="DELTA", help="The most delta; 0 allows pure differential privacy alone.")
    ] = "0",
) -> None:
    """Open the ledger of a private dataset, once."""
    from synthrelease.ledger.account import open_ledger

    statement = open_ledger(file, dataset, limit, delta_limit=delta_limit).statement()
    terminal.print(f"Opened {escape(str(file))}. For your logbook: {escape(statement.logbook_line())}")
    if not statement.delta_limit:
        terminal.print("It allows pure differential privacy alone; releases with a delta need --delta-limit from the start.")


@app.command()
def show(file: File, expect_head: Head | None = None) -> None:
    """Show what was spent. Verifies every entry first."""
    from synthrelease.ledger.account import load_ledger

    statement = load_ledger(file, expect_head=expect_head).statement()
    noted = ["domain"] if statement.domain else []
    table = Table("no.", "reserved (UTC)", "for", "epsilon", "delta", *noted, title=escape(statement.dataset))
    for entry in statement.entries:
        cells = [str(entry.number), entry.started, escape(entry.what), decimal_text(entry.epsilon), f"{float(entry.delta):g}"]
        table.add_row(*cells, *[(entry.domain or "")[:16] for _ in noted])
    terminal.print(table)
    if statement.domain:
        terminal.print(f"Exact numbers of rows were published on the domain {statement.domain[:16]}: no other may follow.")
    left = statement.epsilon_limit - statement.epsilon
    terminal.print(
        f"Spent epsilon {decimal_text(statement.epsilon)} of {decimal_text(statement.epsilon_limit)}; left {float(left):g}. "
        f"{f'Spent delta {float(statement.delta):g} of {float(statement.delta_limit):g}. ' if statement.delta_limit else ''}"
        f"For your logbook: {escape(statement.logbook_line())}"
    )


@app.command()
def renew(file: File, expect_head: Head) -> None:
    """Make a lost head file anew, against the head in your logbook."""
    from synthrelease.ledger.account import renew_head

    statement = renew_head(file, expect_head)
    terminal.print(f"Renewed the head of {escape(str(file))}. For your logbook: {escape(statement.logbook_line())}")
