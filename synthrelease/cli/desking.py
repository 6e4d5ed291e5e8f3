"""desk: a local page over the two files. Opens no private file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from synthrelease.cli.terminal import Config
from synthrelease.errors import InputError
from synthrelease.libraries import library


def desk(
    config: Config,
    data: Annotated[
        str | None, typer.Option("--data", metavar="PUBLIC", help="Public file for the pictures and the rehearsals.")
    ] = None,
    members: Annotated[
        str | None, typer.Option("--members", metavar="PUBLIC", help="Public file of the members (only with [members]).")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", metavar="FILE", help="Ledger of the dataset. The page shows what is left.")
    ] = None,
    release: Annotated[Path | None, typer.Option("--release", metavar="DIR", help="Folder of a release to look at.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on the loopback address (default: a free one).")] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the address and open no browser.")] = False,
) -> None:
    """Edit the configuration and the acceptance file on a local web page. Opens no private file and needs no network.

    Each control saves one line; comments stay. Only this machine can reach the page, and only by the printed address.
    """
    import socket
    import sys
    from contextlib import ExitStack
    from functools import partial

    library("starlette", "starlette", "the desk", "desk")
    uvicorn = library("uvicorn", "uvicorn", "the desk", "desk")
    from synthrelease.desk.entrance import entrance, open_browser
    from synthrelease.desk.files import DeskFiles, announced
    from synthrelease.desk.pages import Desk, Opened
    from synthrelease.desk.rehearsals import Rehearsals
    from synthrelease.desk.server import application
    from synthrelease.drafting.other_kind import Guesses
    from synthrelease.drafting.public_file import read_public_file

    files = DeskFiles(Path(config))
    files.spec(files.texts())
    rehearsals = Rehearsals(files.path, data, members)
    if release is not None and not (release / "release.json").is_file():
        raise InputError(f"{release}: expected the folder of a release, found no release.json in it.")
    public = None if data is None else read_public_file(data)
    of_members = None if members is None else read_public_file(members)
    guesses = Guesses.of(*(each for each in (public, of_members) if each is not None))
    listener = socket.socket()
    # on Windows SO_REUSEADDR would let another user's program take the port of a desk that runs
    own = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
    listener.setsockopt(socket.SOL_SOCKET, own, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise InputError(f"--port: expected a free port, found {port} in use ({error.strerror}). Leave --port out.") from None
    origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with announced(files.path) as told, ExitStack() as held:
        opened = Opened(
            files=files,
            public=public,
            members=of_members,
            guesses=guesses,
            rehearsals=rehearsals,
            folder=release,
            ledger=ledger,
            announced=told,
        )
        guarded = application(Desk(opened), origin)
        address = f"{origin}/?token={guarded.token}"
        print(address, flush=True)
        if told:
            print(told, file=sys.stderr)
        settings = uvicorn.Config(guarded, log_level="error", access_log=False, server_header=False, lifespan="off")
        server = uvicorn.Server(settings)
        if not no_open:
            by_hand = partial(print, "No browser was opened. Open the address above; it works once.", file=sys.stderr)
            try:
                open_browser(held.enter_context(entrance(address)), by_hand)  # the port listens: what comes now waits
            except OSError:
                by_hand()
        print("Stop the desk with Ctrl+C. A rehearsal that it started goes on.", file=sys.stderr)
        server.run(sockets=[listener])
