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
    into: Annotated[Path, typer.Option("--into", metavar="DIR", help="Where configs and acceptance are.")] = Path("."),
) -> None:
    """Draft configs/NAME.toml and acceptance/NAME.toml from a PUBLIC file, for you to edit. Overwrites nothing.

    Bounds, bins and categories are read off the file and will be published without any protection: never give a private one.
    """
    from synthrelease.drafting import write_draft

    with progress_bars() as progress:
        configuration, acceptance, found = write_draft(name, public, into, table, codebook, lambda doing: progress(doing, 0, 0))
    shown = Table("column", "kind", "bins", "from", "remark", title=f"Draft from {found.source}, {found.n_rows} rows")
    for column in found.columns:
        bins = f"{column.n_bins} + missing" if column.keeps_missing else str(column.n_bins)
        shown.add_row(column.name, column.kind, bins, column.source, column.remark)
    for left in found.left_out:
        shown.add_row("-", "left out", "", left.source, left.because)
    terminal.print(shown)
    if found.smaller:
        terminal.print(found.smaller, style="yellow", highlight=False)
    for column in found.doubtful:
        terminal.print(f"Doubtful: {column.name!r}: {column.doubt}.", style="yellow", markup=False, highlight=False)
    terminal.print(
        f"Wrote {str(configuration)} and {str(acceptance)}. Go through every line of both, then try "
        f"`synthrelease plan {str(configuration)}`. An editor that knows the line `#:schema` explains their settings."
    )
