"""Run the command line `synthrelease`. Only this package prints.

Exit codes: 0 released; 1 stopped, perhaps while private data were in use; 2 a mistake in the specification or the input; 3 no
table was accepted, or a rehearsal accepted no configuration; 4 refused because of the budget; 5 a published release that is not
consistent, or a claim that an audit contradicts.
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
    """Print the version of the program and, in a checkout, the commit. Every written document states this version."""
    if wanted_version:
        screen.print(f"synthrelease {__version__}{f' (commit {commit()})' if commit() else ''}")
        raise typer.Exit


app = typer.Typer(
    cls=LazyGroup,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help texts name tables such as [bundle], which rich would swallow
    epilog="Exit codes: 0 success, 1 stopped before the end (if private data were in use, the budget counts as spent), 2 a "
    "mistake in the specification or the input, 3 no table or no configuration was accepted, 4 refused because of the budget, "
    "5 a check of a published release failed, or an audit contradicts a claim.",
)


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """Release differentially private synthetic microdata. Start with `synthrelease demo --out DIR`."""


_READING = {"check", "release", "ledger", "scout"}  # Commands that read private data


# Defaults of environment variables that numpy and pydantic read when they are loaded. One thread: products of small
# matrices are slower in several threads (`releasing.selection`), which wait for work on all processors. No plugins:
# pydantic would look for installed plugins and run them.
_BEFORE_LIBRARIES = {"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__"}


def main() -> None:
    """Run the command line. A user's mistake ends with its message and exit code, without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a code page of Windows lacks letters: show "?" rather than stop
    be_quiet()
    for name, value in _BEFORE_LIBRARIES.items():
        os.environ.setdefault(name, value)
    try:
        app()
    except SynthreleaseError as error:
        err.print(without_secrets(str(error), sys.argv[1:]), style="red")
        sys.exit(error.exit_code)
    except SystemExit as end:  # Python prints an exit code that is a text, and a library may put private values into this text
        sys.exit(end.code if isinstance(end.code, int | None) else STOPPED)
    except Exception as error:  # the message and the traceback could contain private values
        err.print(
            f"synthrelease stopped because of an error in the program or the machine: {failure_of(error)}. {_what_was_read()}",
            style="red",
        )
        sys.exit(STOPPED)
    finally:
        gc.freeze()  # the process ends, so a last garbage collection is needless


def _what_was_read() -> str:
    if _READING.isdisjoint(sys.argv[1:2]):
        return "This command reads no private data, and no budget was spent. Please report the error with the command."
    return (
        "The full message is hidden, because it could contain private values. Nothing was published. If the run had read "
        "private data, the planned budget counts as spent."
    )
