"""init: the files of a new release, drafted from a public file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from synthrelease.cli.terminal import TableName, progress_bars
from synthrelease.cli.terminal import out as terminal


def init(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the release; the two files are named after it.")],
    public: Annotated[
        str, typer.Option("--from", metavar="FILE", help="A PUBLIC file, or database, with the layout of the private one.")
    ],
    codebook: Annotated[
        Path | None,
        typer.Option("--codebook", metavar="FILE", help="What columns and codes mean: JSON, or CSV column,code,label."),
    ] = None,
    table: TableName = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit",
            metavar="row|KEY[:K]",
            help="row: each row is another person. KEY: this column tells whose row it is; the first K (1) of each stay.",
        ),
    ] = None,
    into: Annotated[Path, typer.Option("--into", metavar="DIR", help="Where configs and acceptance are.")] = Path("."),
) -> None:
    """Draft configs/NAME.toml and acceptance/NAME.toml from a PUBLIC file, for you to edit. Overwrites nothing.

    Bounds, bins and categories are read off the file and will be published without any protection: never give a private one.
    """
    from synthrelease.drafting import write_draft

    with progress_bars() as progress:
        configuration, acceptance, found = write_draft(
            name, public, into, table, codebook, lambda doing: progress(doing, 0, 0), unit
        )
    shown = Table("column", "kind", "bins", "from", "remark", title=f"Draft from {found.source}, {found.n_rows} rows")
    for column in found.columns:
        bins = f"{column.n_bins} + missing" if column.keeps_missing else str(column.n_bins)
        shown.add_row(column.name, column.kind, bins, column.source, column.remark)
    for left in found.left_out:
        shown.add_row("-", "left out", "", left.source, left.because)
    terminal.print(shown)
    if not found.answered:
        keys = [f"{each.source!r}" for each in found.left_out if each.rows_of_one > 1]
        shared = f" Rows share the values of {', '.join(keys[:6])}." if keys else ""
        terminal.print(
            f"A question is open: how many rows can one person have?{shared} Answer it under [unit] in {str(configuration)}, "
            "or draft anew with --unit row (each row is another person) or --unit KEY (the first row of each is released). "
            "Until then `plan`, `check` and `release` refuse.",
            style="yellow",
        )
    terminal.print(
        f"Wrote {str(configuration)} and {str(acceptance)}. Go through every line of both, then try "
        f"`synthrelease plan {str(configuration)}`. An editor that knows the line `#:schema` explains their settings."
    )
