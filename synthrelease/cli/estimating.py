"""estimate: numbers of the file with intervals, from noisy tables. Reads nothing private, spends nothing."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Literal

import typer

from synthrelease.cli.terminal import out as terminal
from synthrelease.errors import InputError


def estimate(
    asked: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR... QUESTION",
            help='The folder of a release, or those of several years in their order; then the question, for example "mean '
            'income by sex where age >= 30".',
            show_default=False,
        ),
    ],
    confidence: Annotated[float, typer.Option(help="Of each interval by itself; with --together, of all of them.")] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text.")] = False,
    weights: Annotated[
        Literal["rows", "precision"], typer.Option(help="Of several years in their level: their rows, or their precision.")
    ] = "rows",
    together: Annotated[
        bool, typer.Option("--together", help="Wider intervals that all hold at once, not each by itself.")
    ] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a table for R, Stata or a spreadsheet instead of text.")] = False,
) -> None:
    """Estimate shares, counts, means, medians or slopes of the file from the noisy tables that a release publishes.

    QUESTION is "share CONDITION", "mean COLUMN", "median COLUMN" or "slope COLUMN on COLUMN, COLUMN"; "by COLUMN" asks for each
    bin of a column, "where CONDITION" says which rows count. "share CONDITION: CONDITION against CONDITION" compares two groups
    ("share weight < 2500: age >= 35 against < 35", "against the rest"), and likewise a mean or median. Conditions are written
    like plausibility rules, with limits between released bins.

    Each number comes with an interval that holds that of the file (of its rows that the rules keep), and one that holds that of
    a population of which they are a simple random sample (docs/estimates.md). Where no noisy table holds the columns,
    `synthrelease bound` answers.

    Of several releases: the number in each, its change from each to the next and from the first to the last, with intervals,
    and the level of all of them.
    """
    from synthrelease.answers.estimates import estimate as ask
    from synthrelease.answers.estimates import trend

    if as_json and as_csv:
        raise InputError("expected --json or --csv, found both.")
    *folders, question = asked
    if not folders:
        raise InputError("expected the folder of a release and a question, found one of them.")
    if len(folders) == 1:
        found = ask(folders[0], question, confidence=confidence, together=together)
    else:
        found = trend(folders, question, confidence=confidence, weights=weights, together=together)
    if as_json:
        print(json.dumps(asdict(found), indent=2, allow_nan=False))
    elif as_csv:
        print(found.csv, end="")
    else:
        terminal.print(str(found), highlight=False, soft_wrap=True)
