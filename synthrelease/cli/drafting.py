"""Define the commands that write or edit a configuration: init, leave-out, numbers, desk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from synthrelease.cli.specifying import print_associations
from synthrelease.cli.terminal import progress_bars, screen
from synthrelease.data.texts import quoted, quoted_path, visible
from synthrelease.errors import InputError, listing, so_many
from synthrelease.privacy.plan import loss_text
from synthrelease.resources import library
from synthrelease.spec.arguments import Beside, Config, File, Folder, From, Option, TableName
from synthrelease.spec.requests import DraftRequest

if TYPE_CHECKING:
    from rich.table import Table

    from synthrelease.studio.drafting.text import Draft


def desk(
    config: Config,
    data: Annotated[str | None, Option(metavar="PUBLIC")] = None,
    members: Annotated[str | None, Option(metavar="PUBLIC")] = None,
    ledger: File | None = None,
    release: Folder | None = None,
    codebook: File | None = None,
    port: Annotated[int, Option(least=0, most=65535)] = 0,
    no_open: bool = False,
) -> None:
    """Edit configuration and acceptance file on a local web page. The desk opens no private file and needs no network. It
    keeps your comments. Only this machine can reach the page, by the printed address.

    Parameters
    ----------
    data : Read this public file for pictures and rehearsals. By default no file.
    members : Read this public file of the members (only with [members]). By default no file.
    ledger : Show the remaining budget of this ledger. By default no ledger.
    release : Show this released folder. By default no folder.
    codebook : Start without a public file and without CONFIG: plan a scout of the columns in this codebook, and draft
        CONFIG from the folder of the scout. By default CONFIG must exist.
    port : Use this port of the loopback address. The default, 0, is any free port.
    no_open : Print the address without opening a browser.
    """
    import socket
    import sys
    from contextlib import ExitStack
    from functools import partial

    library("starlette", "starlette", "the desk", "desk")
    uvicorn = library("uvicorn", "uvicorn", "the desk", "desk")
    from synthrelease.studio.desk.files import DeskFiles, Rehearsals, announced
    from synthrelease.studio.desk.pages import Desk, Opened, application, entrance, open_browser
    from synthrelease.studio.desk.start import Start
    from synthrelease.studio.drafting.edits import Guesses
    from synthrelease.studio.drafting.public_file import read_public_tables

    files = DeskFiles(Path(config))
    start = None if codebook is None else Start.of(Path(config), codebook)
    drafted = start is None or files.path.exists()
    positions = files.spec(files.texts()).input.fixed_width if drafted else None
    rehearsals = Rehearsals(files.path, data, members)
    if release is not None and not (release / "release.json").is_file():
        raise InputError(f"{release}: this is not the folder of a release, because it has no release.json.")
    public = of_members = None
    if data is not None:
        public, of_members = read_public_tables(data, members, positions=positions)
    guesses = Guesses.of(*(file for file in (public, of_members) if file is not None))
    listener = socket.socket()
    # on Windows, SO_REUSEADDR would let the program of another user take the port of a running desk
    exclusive = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
    listener.setsockopt(socket.SOL_SOCKET, exclusive, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise InputError(
            f"--port: the port {port} cannot be used ({error.strerror}). Omit --port to use any free port."
        ) from None
    origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with announced(files.path) as announcement, ExitStack() as held:
        opened = Opened(
            files=files,
            public=public,
            members=of_members,
            guesses=guesses,
            rehearsals=rehearsals,
            folder=release,
            ledger=ledger,
            announced=announcement,
            start=start,
        )
        guarded = application(Desk(opened), origin)
        address = f"{origin}/?token={guarded.token}"
        print(address, flush=True)
        if announcement:
            print(announcement, file=sys.stderr)
        settings = uvicorn.Config(guarded, log_level="error", access_log=False, server_header=False, lifespan="off")
        server = uvicorn.Server(settings)
        if not no_open:
            by_hand = partial(print, "No browser was opened. Open the address above; it works once.", file=sys.stderr)
            try:
                # the port is already open, so an early request waits
                open_browser(held.enter_context(entrance(address)), by_hand)
            except OSError:
                by_hand()
        print("Stop the desk with Ctrl+C. Its rehearsals continue.", file=sys.stderr)
        server.run(sockets=[listener])


def init(request: DraftRequest) -> None:
    """Draft a configuration and criteria from a PUBLIC file.

    Writes configs/NAME.toml and acceptance/NAME.toml for you to edit. Overwrites nothing. Never use a private file: bounds,
    bins and categories come from the file and are published without protection. A draft has at most 200 columns: those
    named by --important and those most strongly associated with them or, without --important, those with the strongest
    associations. The command lists the columns that it left out, tries generators and budgets on the file, and drafts the
    cheapest release that preserves 85% of the associations.
    """
    if (request.scout is None) == (not request.public):
        both = ", not both" if request.public else ""
        raise InputError(f"Use either --from (a public file) or --scout (the folder of a scout){both}.")
    if request.scout is not None:
        if request != DraftRequest(name=request.name, scout=request.scout, into=request.into):
            raise InputError("With --scout, only --into can be used. Omit all other options. Nothing was written.")
        _init_from_scout(request.name, request.scout, request.into)
        return
    from synthrelease.spec.load import load_spec
    from synthrelease.studio.drafting.draft import write_draft
    from synthrelease.studio.drafting.options import none_has_these
    from synthrelease.studio.drafting.text import ONE_BY_ONE

    with progress_bars() as progress:
        configuration, acceptance, draft = write_draft(request, lambda doing: progress(doing, 0, 0))
    gone = [*draft.left_out, *(draft.members.left_out if draft.members else ())]
    together = Counter(excluded.because for excluded in gone)
    for table in _what_became(draft, {because for because, times in together.items() if times > ONE_BY_ONE}):
        screen.print(table)
    if draft.smaller:
        screen.print(draft.smaller, style="yellow")
    screen.print(draft.plan, style="bold")
    print_associations(load_spec(configuration), draft.n_used)
    for because, times in together.items():
        if times > ONE_BY_ONE:
            names = list(dict.fromkeys(excluded.source for excluded in gone if excluded.because == because))
            screen.print(f"Some columns were left out, each because {because}: {listing(names)}. The draft lists all of them.")
    if draft.unit is None and draft.members is not None:
        screen.print(
            f"Answer one question: how many values of {draft.members.key!r} can one person have? All rows with the same value "
            f"are protected together. If the answer is one, set records_per_person = 1 under [unit] in {configuration!s}. "
            "Without the answer, `plan`, `check` and `release` refuse the configuration.",
            style="yellow",
        )
    elif draft.unit is None:
        keys = [column_left.source for column_left in draft.left_out if column_left.rows_of_one > 1]
        shared = f" Several rows have the same value of {', '.join(map(repr, keys[:6]))}." if keys else ""
        key = quoted_path(Path(keys[0])) if len(keys) == 1 else "KEY"
        screen.print(
            f"Answer one question: how many rows can one person have?{shared} If every row is a different person, set "
            f"records_per_person = 1 under [unit] in {configuration!s}. Otherwise draft again under another name. With --unit "
            f"{key}, one row of each person is released. With --key {key}, all rows of each person or household are released "
            "as its members. Without the answer, `plan`, `check` and `release` refuse the configuration.",
            style="yellow",
        )
    elif draft.unit.later:
        screen.print(
            "The draft does not release all rows of a person. It excludes "
            f"{so_many(draft.unit.later, 'row')} of the public file. To release all rows of each person in a second table, "
            f"draft with --key {quoted(str(draft.unit.key))} in place of --unit (docs/linked.md).",
            style="yellow",
        )
    if draft.unit is not None and draft.unit.doubt:
        screen.print(f"Please check: {draft.unit.doubt}", style="yellow")
    if (linked := draft.members) and (doubt := none_has_these(linked.key, linked.missing_keys, linked.with_these)):
        screen.print(f"Please check: {doubt}", style="yellow")
    for column in draft.doubtful:
        screen.print(f"Please check {column.name!r}: {column.doubt}.", style="yellow")
    if draft.comparing:
        screen.print(
            f"Please check this rule: no row of the public file has {' or '.join(draft.comparing)}, and no released row will "
            f"have it. If this is rare but possible, delete the rule in {configuration!s}.",
            style="yellow",
        )
    screen.print(
        f"Wrote {configuration!s} and {acceptance!s}. Read every line of the two files. Then try `synthrelease plan "
        f"{quoted_path(configuration)}`. Editors that know the line `#:schema` explain the settings."
    )


def _init_from_scout(name: str, folder: Path, into: Path) -> None:
    from synthrelease.spec.load import load_spec
    from synthrelease.studio.drafting.scouted import write_scouted_draft

    draft = write_scouted_draft(name, folder, into)
    screen.bullets([f"{column}: {became}" for column, became in draft.columns])
    plan = load_spec(draft.configuration).plan
    screen.print(f"The scout and the release cost {loss_text(plan.total)} together.", style="bold")
    screen.print(
        f"Wrote {draft.configuration!s} and {draft.acceptance!s}. Read every line of the two files. Their first lines list the "
        "disadvantages of a draft without a public file. This draft has no rehearsal, so use the option --unrehearsed of "
        "`release`, with the ledger of the scout."
    )


def _what_became(draft: Draft, told_together: Container[str]) -> Iterator[Table]:
    """Yield a table of the drafted columns of the file, and one of its members, with the columns that were left out."""
    from rich.table import Column, Table

    tables = [(f"Draft from {draft.source}, {draft.n_rows:,} rows", draft.columns, draft.left_out)]
    if linked := draft.members:
        tables.append((f"Members: {linked.n_members:,} rows of {linked.n_roots:,} keys", linked.columns, linked.left_out))
    for title, columns, left_out in tables:
        table = Table(Column("column", overflow="fold"), "kind", "bins", "remark", title=title)  # a name is never cut
        for column in columns:
            bins = f"{column.n_bins} + missing" if column.keeps_missing else str(column.n_bins)
            renamed = "" if column.source in column.name else f"{visible(column.source)} in the file; "
            table.add_row(column.name, column.kind, bins, renamed + column.remark)
        for column_left in left_out:
            if column_left.because not in told_together:
                table.add_row(visible(column_left.source), "left out", "", column_left.because)
        yield table


def leave_out(
    config: Config, columns: Annotated[list[str], Option(metavar="COLUMN...", positional=True)], dry_run: bool = False
) -> None:
    """Remove columns from a configuration and its acceptance file. Reads no data.

    Removes rules, criteria, intended queries and texts that name a column, and its name in tables and groups. Keeps
    comments and layout. If you must decide something first, the command says so and writes nothing.

    Parameters
    ----------
    columns : Remove these columns from both files.
    dry_run : Show the changes but write nothing.
    """
    from synthrelease.studio.drafting.edits import leave_out

    removal = leave_out(config, columns, dry_run=dry_run)
    screen.print("The command would remove:" if dry_run else "The command removed:")
    screen.bullets(removal.taken)
    if removal.to_look_at:
        screen.print("Please check these parts yourself:")
    screen.bullets(removal.to_look_at)
    wrote = "Nothing was written." if dry_run else f"Wrote {removal.paths[0]} and {removal.paths[1]}."
    screen.print(
        f"{wrote} The planned release costs {loss_text(removal.after)}; before, it cost {loss_text(removal.before)}. Rehearse "
        "again, because thresholds and shortlists were chosen with the removed columns."
    )


def numbers(config: Config, public: From, members: Beside | None = None, table: TableName | None = None) -> None:
    """Set missing representative values of bins. Use the command after you change bins.

    The representative value of a bin is the mean of its rows in a PUBLIC file. Keeps existing values, comments and layout,
    and removes the values of bins that no longer exist.

    Parameters
    ----------
    public : Read the PUBLIC file from which the configuration was drafted.
    members : Read this PUBLIC file of the members (only with [members]). By default the --from file contains the members.
    """
    from synthrelease.settings.columns import FixedWidthTable
    from synthrelease.settings.reading import read_configuration
    from synthrelease.studio.drafting.edits import fill_numbers
    from synthrelease.studio.drafting.public_file import read_public_tables

    positions = read_configuration(Path(config)).tables.get("input", {}).get("fixed_width")
    layout = None if positions is None else FixedWidthTable.model_validate(positions)
    filled = fill_numbers(config, *read_public_tables(public, members, table, layout))
    for name, means in filled.added.items():
        screen.print(f"{name}: {', '.join(f'{label} = {mean:.12g}' for label, mean in means.items())}")
    gone = f" Removed {so_many(filled.removed, 'value')} of bins that no longer exist." if filled.removed else ""
    wrote = f"Wrote {filled.path}." if filled.added or filled.removed else "Every bin already has a representative value."
    screen.print(f"{wrote}{gone}")
