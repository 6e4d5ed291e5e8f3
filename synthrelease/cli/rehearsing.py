"""The commands for public data: rehearse, allocate, simulate, compare.

rehearse, allocate and simulate: the commands for public data.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synthrelease.cli.terminal import (
    NOTHING_RELEASED,
    STOPPED,
    Config,
    Jobs,
    MembersFile,
    PublicData,
    QuasiIdentifiers,
    TableName,
    given_names,
    progress_bars,
    screen,
)
from synthrelease.privacy.plan import loss_text

if TYPE_CHECKING:
    from rich.text import Text

    from synthrelease.studio.rehearsal.compare import MethodComparison

# compare: other ways to protect a table, on public data.

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
            help="Compare with this method: swapping, sequential, dami, independent, imputation, "
            "post-stratification or members. May be repeated. By default all.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write all statistics to this new .json or .csv file. By default none."),
    ] = None,
    shortlist: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Use the configurations of this shortlist. By default all.")
    ] = None,
    copies: Annotated[
        int, typer.Option(min=1, help="Draw this many tables with each method. Below 2 there are no statistics of utility.")
    ] = 3,
    quasi_identifiers: QuasiIdentifiers = None,
    swap: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...", help="Swap the values of these columns together. By default a column that identifies persons."
        ),
    ] = None,
    swap_key: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Swap between records that agree on these columns; empty for none. By default a column that "
            "depends on --swap.",
        ),
    ] = None,
    swap_rate: Annotated[float, typer.Option(help="Select each record for swapping with this probability.")] = 0.05,
    seed: Annotated[int, typer.Option(min=0, help="Set the random seed. The same seed gives the same statistics.")] = 1,
    jobs: Jobs = 1,
) -> None:
    """Compare with other ways to protect the table, on the same PUBLIC file.

    Shows criteria, utility and risk of each method, without noise. No release uses these methods (docs/appendix/baselines.md).
    Reads nothing private and spends nothing.
    """
    from synthrelease.sources.source import Source
    from synthrelease.spec.load import load_spec
    from synthrelease.spec.shortlist import narrowed
    from synthrelease.studio.rehearsal.compare import (
        METHODS,
        OF_MEMBERS,
        WantedMethods,
        check_comparison_file,
        compare_methods,
        write_comparison,
    )
    from synthrelease.studio.rehearsal.rehearse import Workers

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
        screen.print(f"\nEvery figure is in {str(out)}.", highlight=False)


def _print_comparison(found: MethodComparison) -> None:
    from rich.table import Table

    from synthrelease.studio.rehearsal.compare import (
        answer_rows,
        comparison_rows,
        comparison_words,
        configuration_words,
        member_rows,
    )

    screen.print(f"{configuration_words(found)}. Public data: nothing here protects anybody.", highlight=False)
    headings = ("method", "epsilon", "met", "CPU", "match risk", *map(str, range(1, len(found.spec.criteria) + 1)))
    rows = comparison_rows(found)
    for places in _blocks(headings, rows, screen.console.width):
        table = Table(*(headings[place] for place in places), box=None, padding=(0, 2, 0, 0))
        for row in rows:
            cells = [row[place] for place in places]
            missed = [place >= FIXED and _missed(cell) for place, cell in zip(places, cells, strict=True)]
            table.add_row(*(_shown(cell, bad) for cell, bad in zip(cells, missed, strict=True)))
        screen.print()
        screen.print(table)
    screen.print("\nFigures as shares of the thresholds, without noise; above 1 a threshold is missed:", highlight=False)
    for number, criterion in enumerate(found.spec.criteria, start=1):
        screen.print(f"  {number}  {criterion.name}, at most {criterion.threshold:g}", highlight=False)
    if told := member_rows(found):
        screen.print("\nHow far off pairs of columns are, on average (0: the same; of two members: who belongs together):")
        table = Table(*told[0], box=None, padding=(0, 2, 0, 2))
        for member_row in told[1:]:
            table.add_row(*(_shown(cell, False) for cell in member_row))
        screen.print(table)
    for question, answers in answer_rows(found).items():
        screen.print(f"\nOne number, how far off (median): {question}", highlight=False)
        table = Table("method", "epsilon", "error", box=None, padding=(0, 2, 0, 2))
        for answer in answers:
            table.add_row(*(_shown(cell, False) for cell in answer))
        screen.print(table)
    screen.print()
    for text in comparison_words(found):
        screen.print(f"- {text}", highlight=False)


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


def rehearse(
    config: Config,
    data: PublicData,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Write the results to this folder. A rehearsal that is there goes on.")
    ],
    table: TableName = None,
    members: MembersFile = None,
    jobs: Jobs = 1,
    target: Annotated[
        float, typer.Option(min=0.001, max=0.999, help="Keep configurations that are accepted at least this often.")
    ] = 0.1,
    keep: Annotated[int, typer.Option(min=1, help="Put at most this many configurations on the shortlist.")] = 10,
    minutes: Annotated[
        float | None, typer.Option(min=0.01, help="Start no attempt after this many minutes. By default no limit.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Set the random seed. The same seed gives the same report. By default a new seed.")
    ] = None,
    noise_level: Annotated[
        float,
        typer.Option(
            min=0.001, max=0.499, help="Recommend epsilons with which noise reverses at most this share of decisions."
        ),
    ] = 0.05,
    nothing: Annotated[
        float, typer.Option(min=0.0001, max=0.9, help="Propose a plan that finds no table with at most this probability.")
    ] = 0.05,
    copies: Annotated[
        int,
        typer.Option(
            min=0, help="Draw this many synthetic tables for the statistics of utility and risk. Below 2 there are none."
        ),
    ] = 3,
    quasi_identifiers: QuasiIdentifiers = None,
    backend: Annotated[str, typer.Option(help="Run attempts on this machine (loky) or on a cluster (dask).")] = "loky",
    address: Annotated[
        str | None, typer.Option(help="Connect to this Dask scheduler (needs --backend dask). By default none.")
    ] = None,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Write the proposed budget and rounds to CONFIG. Comments stay.")
    ] = False,
) -> None:
    """Try the configurations on PUBLIC data: which pass, how often, at which budget.

    Writes shortlist.toml (for release --shortlist), report.html and rehearsal.json. Reads nothing private and spends nothing.
    Exits with code 3 if no configuration is accepted often enough, and with code 1 if it was stopped.
    """
    from synthrelease.sources.source import Source
    from synthrelease.spec.load import load_spec
    from synthrelease.studio.rehearsal.attempts import RaceGoal
    from synthrelease.studio.rehearsal.rehearse import Workers
    from synthrelease.studio.rehearsal.rehearse import rehearse as run
    from synthrelease.studio.rehearsal.report import write_report

    spec = load_spec(config)
    if _adopted_before(config, spec, out, adopt):
        return
    workers = Workers(backend=backend, jobs=jobs, address=address)
    with progress_bars() as progress:
        found = run(
            spec,
            Source.of(data, table, members),
            out,
            goal=RaceGoal(target=target, keep=keep),
            workers=workers,
            seed=seed,
            minutes=minutes,
            copies=copies,
            quasi_identifiers=given_names(quasi_identifiers),
            noise_level=noise_level,
            nothing=nothing,
            progress=progress,
        )
    write_report(found, out, noise_level)
    _print_rehearsal(found, out)
    if adopt:
        _adopt(config, found, out)
    if not found.complete:
        raise typer.Exit(STOPPED)
    if not found.shortlist:
        raise typer.Exit(NOTHING_RELEASED)


def allocate(
    config: Config,
    data: PublicData,
    table: TableName = None,
    members: MembersFile = None,
    total: Annotated[
        str | None,
        typer.Option(metavar="EPS", help="Divide this epsilon of the whole release. By default that of the specification."),
    ] = None,
    success: Annotated[
        float | None,
        typer.Option(
            min=0.05,
            max=0.99,
            help="Find the least epsilon at which this share of tries succeeds, such as 0.95. By default --total is divided.",
        ),
    ] = None,
    afresh: Annotated[
        bool, typer.Option("--afresh", help="Find tables and sums from the criteria. By default use those of the generators.")
    ] = False,
    delta: Annotated[
        str | None,
        typer.Option(metavar="DELTA", help="Use Gaussian noise with this delta. By default the noise stays as it is."),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(min=1, help="Assume at most this number of rows in the private file. By default that of --data."),
    ] = None,
    minutes: Annotated[float, typer.Option(min=0.01, help="Begin no step after this many minutes.")] = 6,
    seed: Annotated[
        int, typer.Option(min=0, help="Set the random seed. The same seed gives the same choice if time suffices.")
    ] = 1,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the outcome to this new JSON file. By default only print it."),
    ] = None,
    jobs: Jobs = 1,
) -> None:
    """Divide an epsilon among measured tables, sums and the joint test, on PUBLIC data.

    Or find the least epsilon that is enough. Prints the lines for the configuration, and how often a release with them
    succeeds. Reads nothing private and spends nothing.
    """
    from synthrelease.bundle.write import check_free_name
    from synthrelease.errors import InputError
    from synthrelease.sources.source import Source
    from synthrelease.spec.load import load_spec
    from synthrelease.studio.rehearsal.allocation import (
        allocation_lines,
        allocation_words,
        choose_allocation,
        write_allocation,
    )
    from synthrelease.studio.rehearsal.rehearse import Workers

    wanted = None if total is None else _above_zero(total)
    if total is not None and wanted is None:
        raise InputError(f"--total: expected a number above 0, found {total!r}.")
    at = None if delta is None else _above_zero(delta)
    if delta is not None and (at is None or at >= 1):
        raise InputError(f"--delta: expected a number above 0 and below 1, found {delta!r}.")
    if out is not None:
        check_free_name(out, "a file")
    spec = load_spec(config)
    with progress_bars() as progress:
        found = choose_allocation(
            spec,
            Source.of(data, table, members),
            total=wanted,
            goal=success,
            afresh=afresh,
            delta=at,
            rows=rows,
            minutes=minutes,
            seed=seed,
            workers=Workers(jobs=jobs),
            progress=progress,
        )
    if out is not None:
        write_allocation(found, out)
    for text in allocation_words(found, afresh=afresh):
        screen.print(f"- {text}", highlight=False)
    screen.print("\n" + allocation_lines(found), highlight=False)


def simulate(
    facts: Annotated[Path, typer.Argument(metavar="FACTS", help="Published tables and means, a TOML file (docs/drafting.md).")],
    rows: Annotated[int, typer.Option("-n", "--rows", min=1, help="Draw this number of rows.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Write this new file: .csv, .csv.gz or .parquet.")],
    seed: Annotated[int, typer.Option(min=0, help="Set the random seed. The same seed gives the same rows.")] = 1,
) -> None:
    """Draw a public file from published tables and means. No row is a person."""
    from synthrelease.studio.rehearsal.surrogates import check_table_path, simulate, write_table

    check_table_path(out)
    write_table(simulate(facts, rows, seed=seed), out)
    screen.print(f"{rows} simulated rows are in {str(out)}. They follow the published figures; no row is a person.")


def _adopted_before(config: Path, spec: Any, out: Path, adopt: bool) -> bool:
    """Whether nothing is left to do; a folder whose proposal was adopted is of the configuration as it was."""
    from synthrelease.errors import InputError
    from synthrelease.studio.drafting.edits import adopted_before

    if not adopted_before(spec, out):
        return False
    told = (
        f"{out} is the rehearsal of {config} before its proposal was adopted: the configuration has that budget and those "
        f"rounds now, and costs {loss_text(spec.plan.total)}. {_fits(spec, out)} A rehearsal of the configuration as it "
        "is now needs another folder (--out)."
    )
    if not adopt:
        raise InputError(told)
    screen.print(told, highlight=False, soft_wrap=True)
    return True


def _adopt(config: Path, found: Any, out: Path) -> None:
    """Write the proposal into the configuration and say what changed; or say why not."""
    from synthrelease.studio.drafting.edits import adopt, why_not
    from synthrelease.studio.rehearsal.words import nothing_words

    reason = why_not(found)
    if reason:
        screen.print(f"Nothing was adopted, and {config} is as it was: {reason}.", highlight=False)
        return
    done = adopt(config, found.spec, found.proposal.chosen)
    screen.print(
        f"Adopted: {done.path} costs {loss_text(done.spec.plan.total)} now, before {loss_text(done.before)}. "
        + _fits(done.spec, out),
        highlight=False,
        soft_wrap=True,
    )
    for text in [*done.changes, *nothing_words(found)]:
        screen.print(f"- {text}", highlight=False)


def _fits(spec: Any, out: Path) -> str:
    """What `release` will say of the shortlist of a rehearsal."""
    from synthrelease.errors import SpecError
    from synthrelease.spec.shortlist import narrowed

    shortlist = out / "shortlist.toml"
    try:
        narrowed(spec, shortlist)
    except SpecError as error:
        return f"`release` refuses {shortlist} as it is: {error}"
    return f"{shortlist} fits it."


def _print_rehearsal(found: Any, out: Path) -> None:
    from rich.table import Table

    from synthrelease.studio.rehearsal.report import describe
    from synthrelease.studio.rehearsal.words import outlook_words

    table = Table("configuration", "accepted", "95% interval", "attempts", title="Shortlist")
    for c in found.shortlist:
        estimate = found.race.estimates[c]
        interval = f"{estimate.low:.0%} to {estimate.high:.0%}"
        table.add_row(describe(found.spec.space[c]), f"{estimate.share:.0%}", interval, str(estimate.trials))
    if found.shortlist:
        screen.print(table)
    else:
        screen.print("No configuration was accepted often enough; the report shows which criterion binds.")
    for text in outlook_words(found):
        screen.print(text, highlight=False)
    _print_proposal(found)
    _print_look(found)
    if not found.complete:
        screen.print("Not complete: the time was used up or the run was stopped. Run the same command again to continue.")
    others = "; further ones compared budgets and judged the proposal" if found.proposal is not None else ""
    screen.print(
        f"{found.n_attempts} attempts chose the shortlist{others}. The report is {out / 'report.html'}.", highlight=False
    )


def _print_proposal(found: Any) -> None:
    """Which number of rounds and generation budget cost least, and the lines that say so in the specification."""
    from synthrelease.studio.rehearsal.advice import offered
    from synthrelease.studio.rehearsal.words import lines, proposal_words

    if told := [*proposal_words(found), *offered(found.spec)]:
        screen.print("\nBudget and rounds:")
    for text in told:
        screen.print(f"- {text}", highlight=False)
    if found.proposal is not None and found.proposal.chosen is not None:
        screen.print("\nIn the configuration (the same command with --adopt writes it):\n", highlight=False)
        screen.print(lines(found.proposal.chosen), highlight=False)


def _print_look(found: Any) -> None:
    """Where errors are, which thresholds say nothing, which pairs nothing looks at, and what a costly projection does."""
    from synthrelease.studio.rehearsal.words import (
        binding,
        conclusion_words,
        projection_advice,
        telling_pairs,
        verdict_words,
        warnings,
    )

    for title, lines in (
        ("Where the errors are:", [text for text in [binding(found)] if text]),
        ("Thresholds to think about before anything is spent:", warnings(found)),
        (
            "Pairs of columns that no criterion and no fixed table looks at (LOST: the candidates keep less than half of it):",
            telling_pairs(found),
        ),
        ("Associations of columns:", verdict_words(found)),
        ("Intended questions, from released rows alone:", conclusion_words(found)),
        ("Minimum count:", [text for text in [projection_advice(found)] if text]),
    ):
        if lines:
            screen.print(f"\n{title}")
        for line in lines:
            screen.print(f"- {line}", highlight=False)


def _above_zero(text: str) -> Fraction | None:
    try:
        found = Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None
    return found if found > 0 else None
