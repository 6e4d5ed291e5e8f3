"""The command line: the only room that prints.

Exit codes: 0 released; 1 stopped while private data were in use; 2 a mistake in the specification or the input;
3 nothing released, or nothing accepted in a rehearsal; 4 refused because of the budget; 5 a published release that does not fit
together, or a claim that an audit contradicts.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import Annotated

import typer

from synthrelease import __version__
from synthrelease.cli.commands import LazyGroup, be_quiet
from synthrelease.cli.terminal import STOPPED, err, screen
from synthrelease.errors import SynthreleaseError, failure_of
from synthrelease.resources import commit
from synthrelease.sources.paths import without_secrets


def _print_version(wanted_version: bool) -> None:
    """Print the number that stands in every document that the program writes, and the commit of a checkout."""
    if wanted_version:
        screen.print(f"synthrelease {__version__}{f' (commit {commit()})' if commit() else ''}")
        raise typer.Exit


app = typer.Typer(
    cls=LazyGroup,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help texts name tables such as [bundle], which rich would swallow
    epilog="Exit codes: 0 released or fine, 1 stopped while private data were in use (the budget counts as spent), "
    "2 a mistake in the specification or the input, 3 nothing released or accepted, 4 refused because of the budget, 5 a "
    "published release that does not fit together, or a claim that an audit contradicts.",
)


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Show which version this is, and end.")
    ] = False,
) -> None:
    """Release differentially private synthetic microdata. Start with `synthrelease demo --out DIR`."""


_READING = {"check", "release", "ledger", "scout"}
"""Commands that read private data."""


_BEFORE_LIBRARIES = {"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__"}
"""What numpy and pydantic read when they are loaded, where nobody has set it: products of small matrices are slower in threads
(`releasing.selection`), which wait for work on all processors, and plugins that happen to be installed are looked for and
run."""


def main() -> None:
    """Run the command line; a user's mistake ends with its message and exit code, never with a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a code page of Windows lacks letters: show "?" rather than stop
    be_quiet()
    for name, value in _BEFORE_LIBRARIES.items():
        os.environ.setdefault(name, value)
    gc.set_threshold(100_000, 20, 20)  # what is loaded and counted stays: looking through it for garbage is a tenth of a start
    try:
        app()
    except SynthreleaseError as error:
        err.print(without_secrets(str(error), sys.argv[1:]), style="red")
        sys.exit(error.exit_code)
    except SystemExit as end:  # Python prints a code that is a text, and a library that gives up may put anything into it
        sys.exit(end.code if isinstance(end.code, int | None) else STOPPED)
    except Exception as error:  # its message and traceback could hold private values
        err.print(
            f"synthrelease stopped because of a mistake in the program or the machine: {failure_of(error)}. {_what_was_read()}",
            style="red",
        )
        sys.exit(STOPPED)
    finally:
        gc.freeze()  # the process ends: what is left is not looked through once more


def _what_was_read() -> str:
    """Return whether an unexpected failure may have spent privacy budget, in words."""
    if _READING.isdisjoint(sys.argv[1:2]):
        return "This command reads no private data: nothing was spent. Please report it, with the command."
    return (
        "The message is not shown, because it could hold private values. Nothing was published; if private data had been read, "
        "the planned budget counts as spent."
    )
