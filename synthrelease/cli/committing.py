"""commit: write down, before the run, what a release will be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from synthrelease.cli.terminal import Config, Unrehearsed, accepts_untried
from synthrelease.cli.terminal import out as terminal


def commit(
    config: Config,
    file: Annotated[Path, typer.Option("--out", metavar="FILE", help="A new file for the commitment.")],
    ledger: Annotated[
        Path | None, typer.Option("--ledger", metavar="FILE", help="The ledger of the dataset, whose head is written down.")
    ] = None,
    shortlist: Annotated[
        Path | None, typer.Option("--shortlist", metavar="FILE", help="The shortlist that the release will draw from.")
    ] = None,
    unrehearsed: Unrehearsed = False,
) -> None:
    """Commit to a release before it is run: a digest for an official gazette, and the file that has it.

    Reads no data and spends nothing. `verify --commitment FILE` compares a release with it.
    """
    from synthrelease.bundle import check_free
    from synthrelease.bundle.write import commitment
    from synthrelease.errors import InputError
    from synthrelease.spec.load import load_spec
    from synthrelease.spec.shortlist import narrowed
    from synthrelease.spec.tried import INSTEAD, NEVER, tried

    spec = load_spec(config)
    spec.check_unit_answered()
    if not (unrehearsed or tried(spec, shortlist) or accepts_untried(spec)):
        raise InputError(f"{config}: {NEVER} {INSTEAD}.")
    spec = spec if shortlist is None else narrowed(spec, shortlist)
    made = commitment(spec, ledger)
    check_free(file)
    file.write_bytes(made.dumped())
    head = "no ledger named" if made.ledger is None else f"ledger {made.ledger.dataset} at its head {made.ledger.head[:16]}"
    terminal.print(f"Wrote {str(file)}: keep it unchanged. Publish this digest before the release is run:")
    terminal.print(f"SHA-256 {made.digest}", highlight=False, soft_wrap=True)
    terminal.print(
        f"It covers both files (digest {made.specification[:16]}...), synthrelease {made.program}, {head}, and "
        "the planned charges, selection and criteria"
        + ("." if made.years is None else f"; for all {len(made.years.epsilons_exact)} years the plan and the thresholds.")
    )
    if made.years is not None and made.years.fallbacks and not made.years.again:
        terminal.print(
            "It does not cover a second release of a year. Commit to the configuration of the second release (again = true) as "
            "well, and publish both digests."
        )
