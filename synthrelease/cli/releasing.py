"""release: the command that spends. `publish` does the work in its order; this file says in words what happened."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synthrelease.accounting.charges import decimal_text
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
    cluster_address,
    err,
    print_plan,
    progress_line,
)
from synthrelease.cli.terminal import out as terminal
from synthrelease.typed import quoted_path

if TYPE_CHECKING:
    from synthrelease.accounting.rows_left_out import RowsLeftOut
    from synthrelease.publish import Listener, Published, ReleaseRequest


def release(
    config: Config,
    data: Annotated[str, typer.Option("--data", metavar="DATA", help="The private file, files, or database.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A new folder for the released files.")],
    table: TableName = None,
    members: MembersFile = None,
    backend: Backend = "loky",
    address: Address = None,
    jobs: Jobs = 1,
    shortlist: Annotated[
        Path | None, typer.Option("--shortlist", metavar="FILE", help="Draw from these configurations (see rehearse).")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", metavar="FILE", help="The budget ledger of the dataset (see ledger open).")
    ] = None,
    split_key: Annotated[
        Path | None,
        typer.Option("--split-key", metavar="FILE", help="The key of a split register. [default: the ledger's name with .key]"),
    ] = None,
    dataset: Annotated[str | None, typer.Option("--dataset", help="The name that the ledger must have.")] = None,
    expect_head: Annotated[
        str | None, typer.Option("--expect-head", help="The head from your logbook, against an old copy of the ledger.")
    ] = None,
    sign: Sign = None,
    password_file: Password = None,
    archive: Annotated[
        Path | None,
        typer.Option("--archive", metavar="ZIP", help="Also a new .zip of the released folder that tells no times."),
    ] = None,
    unrehearsed: Unrehearsed = False,
) -> None:
    """Release one dataset that meets all acceptance criteria. Spends the planned privacy budget, once, whatever happens.

    The whole budget is written into a ledger before the first private byte is read. Without --ledger that is OUT.ledger,
    which knows only of releases into that folder.
    """
    from synthrelease.connections.source import Source
    from synthrelease.publish import ReleaseRequest

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
    )
    run(request)


def run(request: ReleaseRequest) -> None:
    """Release what was asked for, and print what happens on the way and what came of it."""
    from synthrelease.publish import publish

    with ExitStack() as stack:
        lines: list[Callable[[str], None]] = []

        def show(phase: str) -> None:
            if not lines:  # the line begins with the first phase: what is printed before would break it
                lines.append(stack.enter_context(progress_line()))
            lines[0](phase)

        published = publish(request, _listener(request, show))
    if published is None:
        err.print(
            "Nothing was released: the rounds came to their end before a dataset met all criteria. The planned budget is "
            "spent. Rehearse on public data to find configurations that are accepted more often."
        )
        raise typer.Exit(NOTHING_RELEASED)
    _report(published)


def _listener(request: ReleaseRequest, show: Callable[[str], None]) -> Listener:
    """What is printed on the way; made here, so that a command that does not release loads nothing for it."""
    from synthrelease import publish as room
    from synthrelease.specification.tried import NEVER, leave

    class Printing(room.Listener):
        def chosen(self, spec: room.ReleaseSpec) -> None:
            print_plan(spec, request.shortlist)
            warn_of_gaps(spec)

        def cheaper(self, spec: room.ReleaseSpec, proposal: room.PlanTable) -> None:
            told = cheaper_text(spec, proposal, request.config, request.shortlist or Path("shortlist.toml"))
            err.print(told, style="yellow", highlight=False, soft_wrap=True)  # a line of a log

        def never_tried(self, spec: room.ReleaseSpec) -> bool:
            terminal.print(NEVER, style="yellow")
            if not (sys.stdin.isatty() and terminal.console.is_terminal):  # a script cannot be asked
                return True
            wanted = typer.confirm("Release without a rehearsal? For these files you are not asked again.")
            if wanted:
                leave(spec, "answer")
            return wanted

        def tried(self, found: room.DryRun) -> None:
            count = len(found.configurations)
            terminal.print(
                f"Tried {count} configuration{'s' if count > 1 else ''} on made-up rows, where an attempt takes "
                + ("less than a second." if found.seconds < 1 else f"up to {found.seconds:.0f} seconds.")
            )

        def nearby(self, ledgers: tuple[Path, ...]) -> None:
            names = ", ".join(str(path) for path in ledgers[:5])
            err.print(
                f"No --ledger was given, and there are ledgers nearby: {names}. If one of them is that of these data, "
                "it does not learn of this run: two runs on the same people add up, and no ledger would say so.",
                style="yellow",
            )

        def reserved(self, ledger: Path, statement: room.Statement) -> None:
            terminal.print(f"Reserved in {str(ledger)}. For your logbook: {statement.logbook_line()}")
            if request.ledger is None:
                terminal.print(
                    "This ledger sees only releases into this folder. With --ledger FILE one ledger guards a dataset."
                )

        def phase(self, name: str) -> None:
            show(name)

    return Printing()


def left_out_words(found: RowsLeftOut, *, of_persons: bool) -> str:
    """The share of the file that no row was made from; where a key tells persons, of these: each has one row at most."""
    whose = "its persons" if of_persons else "the file"
    told = f"The noisy count of the rows that the rules keep tells that {found.share} of {whose} were left out."
    if found.many:
        told += (
            " The release is about the others. Which columns leave rows out is in the card; check --data names those in which "
            "values do not fit."
        )
    return told


def _report(published: Published) -> None:
    from rich.table import Table

    from synthrelease.criteria.scores import ANSWERED

    result, out = published.release, published.folder
    table = Table(
        "criterion",
        "threshold",
        "released value",
        "noise sd",
        "epsilon",
        title="Acceptance criteria",
        caption="Released values carry noise: a small one may lie below 0."
        if result.spec.joint_test is None
        else "All criteria passed the joint test. The figures got their noise afterwards: one may lie above its threshold.",
    )
    for score in result.scores:
        noise = "" if score.noise_sd is None else f"{score.noise_sd:.3g}"
        noise = "a bound" if score.mechanism == ANSWERED else noise
        table.add_row(score.name, f"{score.threshold:g}", f"{score.value:.4g}", noise, decimal_text(score.epsilon))
    terminal.print(table)
    spent = f"epsilon = {decimal_text(result.guarantee.epsilon)}"
    if result.guarantee.delta:
        spent += f", delta = {float(result.guarantee.delta):g}"
    terminal.print(f"Released {result.candidate.n} synthetic rows with {spent}.")
    if (left_out := result.rows_left_out) is not None:
        told = left_out_words(left_out, of_persons=result.spec.unit.key is not None)
        (err if left_out.many else terminal).print(told, style="yellow" if left_out.many else None, highlight=False)
    print_outcomes(out)
    terminal.print(
        f"The data are in {str(out / f'{result.spec.bundle.stem}.csv')}; what they are and are not good for is in "
        f"{str(out / 'README.html')}. Check the files with synthrelease verify {quoted_path(out)}."
    )
    if published.archive is not None:
        terminal.print(f"The same files as one archive: {str(published.archive)}.")
