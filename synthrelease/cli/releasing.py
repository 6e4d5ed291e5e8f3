"""release: the command that spends. `publish` does the work in its order; this file says in words what happened."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synthrelease.cli.bundles import Password, Sign, print_outcomes, warn_of_gaps
from synthrelease.cli.chances import cheaper_text
from synthrelease.cli.terminal import (
    NOTHING_RELEASED,
    Address,
    Backend,
    Config,
    Jobs,
    MembersFile,
    TableName,
    Unrehearsed,
    accepts_untried,
    cluster_address,
    err,
    print_plan,
    progress_line,
)
from synthrelease.cli.terminal import out as terminal

if TYPE_CHECKING:
    from synthrelease.publish import Listener, Published, ReleaseRequest


def release(
    config: Config,
    data: Annotated[str, typer.Option("--data", metavar="DATA", help="Private file, files or database to release.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Write the released files to this new folder.")],
    table: TableName = None,
    members: MembersFile = None,
    backend: Backend = "loky",
    address: Address = None,
    jobs: Jobs = 1,
    shortlist: Annotated[
        Path | None,
        typer.Option(
            "--shortlist", metavar="FILE", help="Use the configurations that this shortlist of rehearse names. By default all."
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option("--ledger", metavar="FILE", help="Budget ledger of the dataset (see ledger open). [default: OUT.ledger]"),
    ] = None,
    split_key: Annotated[
        Path | None,
        typer.Option("--split-key", metavar="FILE", help="Secret key of a split register. [default: LEDGER.key]"),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", help="Refuse a ledger whose dataset has another name. By default the name is not compared."),
    ] = None,
    expect_head: Annotated[
        str | None,
        typer.Option(
            "--expect-head",
            help="Head from your logbook, 16 digits or more. Refuse a ledger that lacks it, such as an old copy.",
        ),
    ] = None,
    sign: Sign = None,
    password_file: Password = None,
    archive: Annotated[
        Path | None,
        typer.Option(
            "--archive", metavar="ZIP", help="Write the released folder to this new .zip file, too. The archive holds no times."
        ),
    ] = None,
    unrehearsed: Unrehearsed = False,
    rows: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of rows in the file. Criteria that no table of this size can meet are refused, and nothing is spent. "
            "[default: that of the rehearsed file]",
        ),
    ] = None,
) -> None:
    """Release one table that meets all acceptance criteria. Spends the planned budget once, with or without a table.

    The ledger is charged with the whole budget before any private row is read. Without --ledger the ledger is OUT.ledger,
    which counts the releases into that folder alone.

    Exits with code 3 if the search finds no acceptable table.
    """
    from synthrelease.publish import ReleaseRequest
    from synthrelease.sources.source import Source

    request = ReleaseRequest(
        config=config,
        data=Source.of(data, table, members),
        out=out,
        jobs=jobs,
        shortlist=shortlist,
        ledger=ledger,
        split_key=split_key,
        dataset=dataset,
        expect_head=expect_head,
        sign=sign,
        password_file=password_file,
        archive=archive,
        address=cluster_address(backend, address),
        unrehearsed=unrehearsed,
        rows=rows,
    )
    run(request)


def run(request: ReleaseRequest, *, steps: bool = True, charges: bool = False, question: str | None = None) -> None:
    """Release what was asked for, and print what happens on the way and what came of it.

    Parameters
    ----------
    steps : whether the plan and each step are printed; otherwise the outcome alone.
    charges : whether the outcome has each charge of the budget.
    question : an example for the released folder.
    """
    from synthrelease.cli.outcome import budget_text
    from synthrelease.publish import chosen, publish

    with ExitStack() as stack:
        lines: list[Callable[[str], None]] = []

        def show(phase: str) -> None:
            if not lines:  # the line begins with the first phase: what is printed before would break it
                lines.append(stack.enter_context(progress_line()))
            lines[0](phase)

        published = publish(request, _listener(request, show, steps=steps))
    if published is None:
        total = chosen(request).plan.total
        err.print(f"The search found no acceptable table. {budget_text(total.epsilon, total.delta)} is spent.", highlight=False)
        if steps:
            err.print("Rehearse on public data to find a plan that ends with a table more often: synthrelease rehearse.")
        raise typer.Exit(NOTHING_RELEASED)
    _report(published, charges, question)


def _listener(request: ReleaseRequest, show: Callable[[str], None], *, steps: bool = True) -> Listener:
    """What is printed on the way; made here, so that a command that does not release loads nothing for it."""
    from synthrelease import publish as room

    class Quiet(room.Listener):
        def phase(self, name: str) -> None:
            show(name)

    class Printing(Quiet):
        def chosen(self, spec: room.ReleaseSpec) -> None:
            print_plan(spec, request.shortlist)
            warn_of_gaps(spec)

        def cheaper(self, spec: room.ReleaseSpec, proposal: room.PlanTable) -> None:
            told = cheaper_text(spec, proposal, request.config, request.shortlist or Path("shortlist.toml"))
            err.print(told, style="yellow", highlight=False, soft_wrap=True)  # a line of a log

        def never_tried(self, spec: room.ReleaseSpec) -> bool:
            return accepts_untried(spec)

        def tried(self, found: room.DryRun) -> None:
            count = len(found.configurations)
            terminal.print(
                f"Tested {count} configuration{'s' if count > 1 else ''} on invented rows. One attempt takes "
                + ("less than a second." if found.seconds < 1 else f"up to {found.seconds:.0f} seconds.")
            )

        def nearby(self, ledgers: tuple[Path, ...]) -> None:
            names = ", ".join(str(path) for path in ledgers[:5])
            err.print(
                f"No --ledger is given, but ledgers exist nearby: {names}. If one of them belongs to these data, name it "
                "with --ledger. Otherwise it does not count this run, although two runs on the same people add up.",
                style="yellow",
            )

        def reserved(self, ledger: Path, statement: room.Statement) -> None:
            terminal.print(f"Charged the budget to {str(ledger)}. For your logbook: {statement.logbook_line()}")
            if request.ledger is None:
                terminal.print(
                    "This ledger counts releases into this folder alone. Use --ledger FILE to count all releases of a dataset."
                )

    return Printing() if steps else Quiet()


def _report(published: Published, charges: bool, question: str | None) -> None:
    from synthrelease.cli.outcome import print_outcome
    from synthrelease.published.document import read_leniently

    document = read_leniently((published.folder / "release.json").read_bytes())
    print_outcome(document, published.folder, charges=charges, question=question)
    print_outcomes(published.folder)
    if published.archive is not None:
        terminal.print(f"The same files as one archive: {str(published.archive)}.")
