"""Define the commands that work on public data: compare, rehearse, allocate, simulate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synthrelease.cli.terminal import NOTHING_RELEASED, STOPPED, progress_bars, screen
from synthrelease.errors import so_many
from synthrelease.privacy.plan import loss_text
from synthrelease.spec.arguments import File, Option, Seed
from synthrelease.spec.requests import AllocationRequest, ComparisonRequest, RehearsalRequest

if TYPE_CHECKING:
    from rich.text import Text

    from synthrelease.studio.rehearsal.compare import MethodComparison

# compare: other ways to protect a table, on public data.

NONE = "NONE"
"""The text that is printed in place of epsilon for a method without a privacy guarantee."""

FIXED = 5
"""Number of columns of the printed table before the columns of the criteria: method, epsilon, thresholds met, CPU time, match
risk.
"""


def compare(request: ComparisonRequest) -> None:
    """Compare configurations with other ways to protect a table. Uses the same PUBLIC file for all methods, and shows how
    well each method meets the criteria, without noise, and its utility and risk. Releases never use these methods
    (docs/appendix/baselines.md). Reads nothing private and spends nothing.
    """
    from synthrelease.spec.load import load_spec
    from synthrelease.spec.shortlist import narrowed
    from synthrelease.studio.rehearsal.compare import check_comparison_file, compare_methods, write_comparison

    if request.out is not None:
        check_comparison_file(request.out)
    spec = load_spec(request.config)
    if request.shortlist is not None:
        spec = narrowed(spec, request.shortlist)
    with progress_bars() as progress:
        comparison = compare_methods(spec, request, progress=progress)
    if request.out is not None:
        write_comparison(comparison, request.out)
    _print_comparison(comparison)
    if request.out is not None:
        screen.print(f"\nAll results are in {request.out!s}.")


def _print_comparison(comparison: MethodComparison) -> None:
    from synthrelease.studio.rehearsal.compare import comparison_rows, comparison_words, configuration_words

    screen.print(f"{configuration_words(comparison)}. The data are public, so nobody needs protection here.")
    headings = ("method", "epsilon", "met", "CPU", "match risk", *map(str, range(1, len(comparison.spec.criteria) + 1)))
    rows = comparison_rows(comparison)
    for block in _blocks(headings, rows, screen.console.width):
        screen.print()
        screen.table(
            [headings[column] for column in block],
            [[_shown(row[column], of_criterion=column >= FIXED) for column in block] for row in rows],
            box=None,
            padding=(0, 2, 0, 0),
        )
    screen.print(
        "\nThe numbered columns have criterion values without noise, divided by their thresholds. Above 1, a criterion fails:"
    )
    for number, criterion in enumerate(comparison.spec.criteria, start=1):
        screen.print(f"  {number}  {criterion.name}, at most {criterion.threshold:g}")
    screen.print()
    screen.bullets(comparison_words(comparison))


def _blocks(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[list[int]]:
    """Divide a table that is wider than the terminal. Return the column numbers of each part, which begins with the first
    column.
    """
    widths = [max(len(cell) for cell in column) + 2 for column in zip(headings, *rows, strict=True)]
    blocks, room = [list(range(FIXED))], width - sum(widths[:FIXED])
    for column in range(FIXED, len(headings)):
        if widths[column] > room:
            blocks.append([0])
            room = width - widths[0]
        blocks[-1].append(column)
        room -= widths[column]
    return blocks


def _shown(cell: str, *, of_criterion: bool) -> Text:
    """Return a table cell, red if the method has no guarantee or the criterion misses its threshold."""
    from rich.text import Text

    missed = of_criterion and cell != "<0" and (cell in ("over", "none") or float(cell) > 1)
    return Text(cell, style="bold red" if missed or cell == NONE else "")


def rehearse(request: RehearsalRequest) -> None:
    """Try configurations on PUBLIC data: how often each is accepted.

    Tries several budgets for each configuration. Writes shortlist.toml (for release --shortlist), report.html and
    rehearsal.json. Reads nothing private and spends nothing. Exits with code 3 if no configuration is accepted often enough,
    and with code 1 if the rehearsal is not complete.
    """
    from synthrelease.spec.load import load_spec
    from synthrelease.studio.rehearsal.rehearse import rehearse as run
    from synthrelease.studio.rehearsal.report import write_report

    config, out, spec = request.config, request.out, load_spec(request.config)
    if request.design:
        _print_survey_errors(spec, request)
        return
    if _adopted_before(config, spec, out, request.adopt):
        return
    with progress_bars() as progress:
        rehearsal = run(spec, request, progress=progress)
    write_report(rehearsal, out, request.noise_level)
    _print_rehearsal(rehearsal, out)
    if request.adopt:
        _adopt(config, rehearsal, out)
    if request.accept_lost and rehearsal.shortlist:
        _accept_lost(config, out)
    if not rehearsal.complete:
        raise typer.Exit(STOPPED)
    if not rehearsal.shortlist:
        raise typer.Exit(NOTHING_RELEASED)


def _print_survey_errors(spec: Any, request: RehearsalRequest) -> None:
    from rich.table import Table

    from synthrelease.studio.rehearsal.expected_noise import REPLICATES, survey_errors

    questions = survey_errors(spec, request.data, request.seed)
    screen.print(
        "The last three columns have the standard deviations of the errors from sampling, missing answers and noise. They come "
        f"from {REPLICATES} samples of the public file, drawn by the rules in [design]. In each stratum and weight class, as "
        "many answers are missing as in the file. Rows without an answer do not count."
    )
    table = Table("question", "answer", "sampling", "missing answers", "noise")
    for question in questions:
        errors = (question.answer, question.sampling, question.missing, question.noise)
        cells = ("no table" if error is None else f"{error:.3g}" for error in errors)
        table.add_row(question.question, *([question.why] if question.why else cells))
    screen.print(table)


def allocate(request: AllocationRequest) -> None:
    """Divide an epsilon among tables, sums and the joint test.

    Uses PUBLIC data. Prints the lines for your configuration, and how often a release with these lines would find a table.
    Reads nothing private and spends nothing.
    """
    from synthrelease.spec.load import load_spec
    from synthrelease.studio.rehearsal.allocation import allocation_lines, allocation_words, choose_allocation

    with progress_bars() as progress:
        allocation = choose_allocation(load_spec(request.config), request, progress=progress)
    screen.bullets(allocation_words(allocation))
    screen.print("\n" + allocation_lines(allocation))


def simulate(
    facts: Annotated[Path, Option(metavar="FACTS", positional=True)],
    rows: Annotated[int, Option(flags=("-n", "--rows"), least=1)],
    out: File,
    seed: Seed = 1,
) -> None:
    """Draw a public file from published tables and means. No row is a person.

    Parameters
    ----------
    facts : Read the published tables and means from this TOML file (docs/commands.md).
    rows : Draw this number of rows.
    out : Write the rows to this new file: .csv or .csv.gz.
    seed : Set the random seed. The same seed gives the same rows.
    """
    from synthrelease.studio.rehearsal.surrogates import check_table_path, simulate, write_table

    check_table_path(out)
    write_table(simulate(facts, rows, seed=seed), out)
    screen.print(
        f"Wrote {so_many(rows, 'row')} to {out!s}. The rows follow the published tables and means. No row is a person."
    )


def _adopted_before(config: Path, spec: Any, out: Path, adopt: bool) -> bool:
    """Return whether the proposal in this folder was already adopted. Raises InputError if it was and `adopt` is False."""
    from synthrelease.errors import InputError
    from synthrelease.studio.drafting.edits import adopted_before

    if not adopted_before(spec, out):
        return False
    message = (
        f"The proposal in {out} was adopted before: {config} has the proposed budget and rounds, and costs "
        f"{loss_text(spec.plan.total)}. {_fits(spec, out)} To rehearse this configuration again, choose another folder "
        "(--out)."
    )
    if not adopt:
        raise InputError(message)
    screen.print(message, soft_wrap=True)
    return True


def _adopt(config: Path, rehearsal: Any, out: Path) -> None:
    """Write the proposal of a rehearsal into the configuration, or print why nothing was adopted."""
    from synthrelease.studio.drafting.edits import adopt, why_not
    from synthrelease.studio.rehearsal.words import nothing_words

    reason = why_not(rehearsal)
    if reason:
        screen.print(f"The command did not change {config}, because {reason}.")
        return
    done = adopt(config, rehearsal.spec, rehearsal.proposal.chosen)
    screen.print(
        f"Adopted the proposal: {done.path} costs {loss_text(done.spec.plan.total)} now. Before, it cost "
        f"{loss_text(done.before)}. " + _fits(done.spec, out),
        soft_wrap=True,
    )
    screen.bullets([*done.changes, *nothing_words(rehearsal)])


def _accept_lost(config: Path, out: Path) -> None:
    from synthrelease.spec.load import load_spec
    from synthrelease.studio.drafting.edits import accept_lost

    acceptance, pairs = accept_lost(config, out / "shortlist.toml")
    words = f"Added {so_many(len(pairs), 'pair')} to [not_promised] of {acceptance}: {', '.join(pairs)}."
    screen.print(words if pairs else f"No pair had to be added to [not_promised] of {acceptance}.", soft_wrap=True)
    screen.print(_fits(load_spec(config), out), soft_wrap=True)


def _fits(spec: Any, out: Path) -> str:
    from synthrelease.errors import SpecError
    from synthrelease.spec.shortlist import narrowed

    shortlist = out / "shortlist.toml"
    try:
        narrowed(spec, shortlist)
    except SpecError as error:
        return f"`release` refuses {shortlist}: {error}"
    return f"{shortlist} fits the configuration."


def _print_rehearsal(rehearsal: Any, out: Path) -> None:
    from synthrelease.studio.rehearsal.report import describe
    from synthrelease.studio.rehearsal.words import lines, outlook_words, sections

    rows = [
        (describe(rehearsal.spec.space[index]), f"{share.share:.0%}", f"{share.low:.0%} to {share.high:.0%}", str(share.trials))
        for index, share in ((index, rehearsal.race.estimates[index]) for index in rehearsal.shortlist)
    ]
    if rows:
        screen.table(("configuration", "accepted", "95% interval", "attempts"), rows, title="Shortlist")
    else:
        screen.print("No configuration was accepted often enough. The report shows which criterion the attempts missed.")
    for text in outlook_words(rehearsal):
        screen.print(text)
    for heading, sentences in sections(rehearsal).items():
        if texts := [text for text in sentences if text]:
            screen.print(f"\n{heading}")
            screen.bullets(texts)
        if heading.startswith("Budget") and rehearsal.proposal is not None and rehearsal.proposal.chosen is not None:
            adopts = " (the same command with --adopt writes them)" if rehearsal.proposal.confirmed else ""
            screen.print(f"\nLines of this plan for the configuration{adopts}:\n")
            screen.print(lines(rehearsal.proposal.chosen))
    if not rehearsal.complete:
        screen.print("The rehearsal is not complete. Run the same command again to continue.")
    further = " Further attempts compared budgets and tried the proposed plan." if rehearsal.proposal is not None else ""
    compared = so_many(rehearsal.n_attempts, "attempt")
    screen.print(f"\nThe configurations were compared in {compared}.{further} The report is {out / 'report.html'}.")
