"""compare: other ways to protect a table, on public data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synthrelease.cli.terminal import (
    Config,
    Jobs,
    MembersFile,
    PublicData,
    QuasiIdentifiers,
    TableName,
    given_names,
    progress_bars,
)
from synthrelease.cli.terminal import out as terminal

if TYPE_CHECKING:
    from rich.text import Text

    from synthrelease.rehearsal.comparing import MethodComparison

NONE = "NONE"
"""In place of an epsilon, where nothing is promised."""

FIXED = 5
"""Columns before the criteria: method, guarantee, thresholds met, CPU time, risk."""


def compare(
    config: Config,
    data: PublicData,
    table: TableName = None,
    members: MembersFile = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="swapping, sequential, dami, independent, imputation, post-stratification, members; repeat it. All without.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="A new .json or .csv file for every figure.")
    ] = None,
    shortlist: Annotated[Path | None, typer.Option(metavar="FILE", help="Take the configuration from this shortlist.")] = None,
    copies: Annotated[int, typer.Option(min=1, help="Tables of each method; below 2 no utility figures.")] = 3,
    quasi_identifiers: QuasiIdentifiers = None,
    swap: Annotated[str | None, typer.Option(metavar="A,B,...", help="Columns whose values are swapped, together.")] = None,
    swap_key: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Columns that swapped records agree on; empty for none.")
    ] = None,
    swap_rate: Annotated[float, typer.Option(help="Probability that a record is selected for swapping.")] = 0.05,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same figures. Public data only.")] = 1,
    jobs: Jobs = 1,
) -> None:
    """What other ways to protect the table would have given: the same PUBLIC file, criteria, utility and risk figures.

    For public data alone: figures are shown without noise. No release uses any of these methods
    (docs/appendix/baselines.md). Reads nothing private, spends nothing.
    """
    from synthrelease.rehearsal.compared import METHODS, OF_MEMBERS, WantedMethods
    from synthrelease.rehearsal.comparing import compare_methods
    from synthrelease.rehearsal.comparison_report import check_comparison_file, write_comparison
    from synthrelease.rehearsal.parallel import Workers
    from synthrelease.sources.source import Source
    from synthrelease.spec.load import load_spec
    from synthrelease.spec.shortlist import narrowed

    if out is not None:
        check_comparison_file(out)
    spec = load_spec(config)
    if shortlist is not None:
        spec = narrowed(spec, shortlist)
    every = METHODS if spec.schema.linked is None else (*METHODS, OF_MEMBERS)
    wanted = WantedMethods.of(spec.schema.names, method or every, given_names(swap), given_names(swap_key), swap_rate)
    with progress_bars() as progress:
        found = compare_methods(
            spec,
            Source.of(data, table, members),
            wanted=wanted,
            workers=Workers(jobs=jobs),
            seed=seed,
            copies=copies,
            quasi_identifiers=given_names(quasi_identifiers),
            progress=progress,
        )
    if out is not None:
        write_comparison(found, out)
    _print_comparison(found)
    if out is not None:
        terminal.print(f"\nEvery figure is in {str(out)}.", highlight=False)


def _print_comparison(found: MethodComparison) -> None:
    from rich.table import Table

    from synthrelease.rehearsal.comparison_report import (
        answer_rows,
        comparison_rows,
        comparison_words,
        configuration_words,
        member_rows,
    )

    terminal.print(f"{configuration_words(found)}. Public data: nothing here protects anybody.", highlight=False)
    headings = ("method", "epsilon", "met", "CPU", "match risk", *map(str, range(1, len(found.spec.criteria) + 1)))
    rows = comparison_rows(found)
    for places in _blocks(headings, rows, terminal.console.width):
        table = Table(*(headings[place] for place in places), box=None, padding=(0, 2, 0, 0))
        for row in rows:
            cells = [row[place] for place in places]
            missed = [place >= FIXED and _missed(cell) for place, cell in zip(places, cells, strict=True)]
            table.add_row(*(_shown(cell, bad) for cell, bad in zip(cells, missed, strict=True)))
        terminal.print()
        terminal.print(table)
    terminal.print("\nFigures as shares of the thresholds, without noise; above 1 a threshold is missed:", highlight=False)
    for number, criterion in enumerate(found.spec.criteria, start=1):
        terminal.print(f"  {number}  {criterion.name}, at most {criterion.threshold:g}", highlight=False)
    if told := member_rows(found):
        terminal.print("\nHow far off pairs of columns are, on average (0: the same; of two members: who belongs together):")
        table = Table(*told[0], box=None, padding=(0, 2, 0, 2))
        for member_row in told[1:]:
            table.add_row(*(_shown(cell, False) for cell in member_row))
        terminal.print(table)
    for question, answers in answer_rows(found).items():
        terminal.print(f"\nOne number, how far off (median): {question}", highlight=False)
        table = Table("method", "epsilon", "error", box=None, padding=(0, 2, 0, 2))
        for answer in answers:
            table.add_row(*(_shown(cell, False) for cell in answer))
        terminal.print(table)
    terminal.print()
    for text in comparison_words(found):
        terminal.print(f"- {text}", highlight=False)


def _blocks(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[list[int]]:
    """Which columns stand side by side: all where the terminal is wide enough, else criteria in several tables."""
    widths = [max(len(cell) for cell in column) + 2 for column in zip(headings, *rows, strict=True)]
    blocks, left = [list(range(FIXED))], width - sum(widths[:FIXED])
    for place in range(FIXED, len(headings)):
        if widths[place] > left:
            blocks.append([0])
            left = width - widths[0]
        blocks[-1].append(place)
        left -= widths[place]
    return blocks


def _missed(cell: str) -> bool:
    """Whether a share of a threshold is more than it allows."""
    return cell != "<0" and (cell in ("over", "none") or float(cell) > 1)


def _shown(cell: str, bad: bool) -> Text:
    from rich.text import Text

    return Text(cell, style="bold red" if bad or cell == NONE else "")
