"""estimate: numbers of the original table with intervals, from noisy tables. Reads nothing private, spends nothing."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from synthrelease.cli.terminal import out as terminal


def estimate(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a release.")],
    query: Annotated[
        str,
        typer.Argument(metavar="QUERY", help="A condition, for example \"age >= 35 and sex == 'F'\".", show_default=False),
    ] = "",
    given: Annotated[str, typer.Option(metavar="CONDITION", help="Only among the rows that meet this.")] = "",
    mean: Annotated[str | None, typer.Option(metavar="COLUMN", help="Ask for the mean of this column.")] = None,
    slopes: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Ask for the slopes of the regression of this column on those of --on.")
    ] = None,
    on: Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="A column to regress on; may be repeated.")] = None,
    confidence: Annotated[float, typer.Option(help="Of each interval by itself.")] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text.")] = False,
) -> None:
    """Estimate a share, a mean or slopes of the original table from the noisy tables that a release publishes.

    Each comes with an interval that holds the original table's number, and one that holds that of a population of which the
    table is a simple random sample (docs/estimates.md). QUERY is written like a plausibility rule, with limits between the
    released bins. It asks for the share of rows; with --mean or --slopes it says which rows count. Where no noisy table holds
    the columns, `synthrelease bound` answers.
    """
    from synthrelease.estimates import estimate as ask

    found = ask(folder, query, given=given, mean_of=mean, slopes_of=slopes, on=on or (), confidence=confidence)
    if as_json:
        print(json.dumps(asdict(found), indent=2, allow_nan=False))
    else:
        terminal.print(escape(str(found)), highlight=False)
