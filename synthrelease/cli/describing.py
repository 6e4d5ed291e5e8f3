"""schema: what the two files of a release may hold, for editors and as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from synthrelease.cli.terminal import err
from synthrelease.errors import OutputError


def schema(
    acceptance: Annotated[bool, typer.Option("--acceptance", help="Of the acceptance file, not the configuration.")] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="All settings of both files as a page, docs/settings.md.")
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write to this file, over an old one.")] = None,
) -> None:
    """Print the JSON Schema of a configuration, with which an editor completes, explains and checks it.

    A line `#:schema ./FILE` at the top of the TOML file names it to editors that read Taplo's directive.
    """
    from synthrelease.spec.reference import acceptance_schema, configuration_schema, schema_text, settings_page

    if markdown:
        text, ending = settings_page(), ".md"
    else:
        text, ending = schema_text(acceptance_schema() if acceptance else configuration_schema()), ".json"
    if out is None:
        print(text, end="")
        return
    if out.suffix != ending:
        raise OutputError(f"{out}: expected a file whose name ends in {ending}, found another. Nothing was written.")
    try:
        out.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        problem = f"{out}: expected a file that can be written ({error.strerror})."
    else:
        err.print(f"Wrote {str(out)}.")
        return
    raise OutputError(problem)
