"""demo: the releases that come with synthrelease, on simulated data that are nobody's."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from synthrelease.cli.accounting import open_new
from synthrelease.cli.bounding import bound
from synthrelease.cli.bundles import verify
from synthrelease.cli.planning import check
from synthrelease.cli.rehearsing import rehearse
from synthrelease.cli.releasing import release as release_command
from synthrelease.cli.releasing import run
from synthrelease.cli.series import five_years, step
from synthrelease.cli.terminal import Jobs
from synthrelease.cli.terminal import out as terminal

REHEARSED_MINUTES = 1.5
ROWS, SEED, YEARS_LATER = 80_000, 1, 1
QUERIES = (("labour_status == 'Employed'", "sex == 'Female'"), ("labour_status == 'Unemployed' and age < 25", ""))
"""Conditions, and among whom the share is asked for."""


class Shipped(StrEnum):
    """A release that comes with the program."""

    births = "births"
    labour = "labour"
    years = "years"


def demo(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A new folder for the released files.")],
    release: Annotated[
        Shipped,
        typer.Option(
            "--release",
            help="births: six columns, one command. labour: a survey of twenty columns with codes, gaps and weights, and every "
            "command from rehearse to bound (a few minutes; DIR/release has the released files). years: five years of "
            "births, each from the release before, and what changed (a few minutes).",
        ),
    ] = Shipped.births,
    jobs: Jobs = 1,
) -> None:
    """Run a whole release on simulated data that come with synthrelease. Needs nothing from outside."""
    from synthrelease.publish import ReleaseRequest
    from synthrelease.resources import resource

    if release is not Shipped.births:
        (_every_command if release is Shipped.labour else five_years)(out, jobs)
        return
    config, simulated = resource("configs/births.toml"), resource("public_data/births_surrogate.csv.gz")
    run(ReleaseRequest(config=config, data=simulated, out=out, jobs=jobs, nobodys=True))


def _every_command(folder: Path, jobs: int) -> None:
    """What a steward does, in the tutorial's order: last year's public survey, then this year's confidential one."""
    from synthrelease.bundle import check_free
    from synthrelease.resources import resource

    check_free(folder)
    folder.mkdir()
    config, public = resource("configs/labour.toml"), resource("public_data/labour_surrogate.csv.gz")
    survey, trial, ledger, released = (folder / name for name in ("survey.csv.gz", "trial", "labour.ledger", "release"))
    _simulate(resource("public_data/simulate_labour.py"), survey)
    terminal.print(f"The confidential survey of this demonstration is {str(survey)}: simulated, {ROWS} rows.")

    step(f"rehearse {config} --data {public} --out {trial} --keep 1 --copies 0 --minutes {REHEARSED_MINUTES:g}")
    _unless_complete(lambda: rehearse(config, str(public), trial, jobs=jobs, keep=1, copies=0, minutes=REHEARSED_MINUTES))
    step(f'ledger open {ledger} --dataset "Labour force survey" --limit 3')
    open_new(ledger, "Labour force survey", "3")
    step(f"check {config} --data {survey}")
    check(config, str(survey))
    shortlist = trial / "shortlist.toml"
    found = shortlist if shortlist.is_file() else None  # on a slow machine the minutes may end before anything is known
    from_found = "" if found is None else f" --shortlist {found}"
    step(f"release {config} --data {survey} --out {released} --ledger {ledger}{from_found}")
    release_command(config, str(survey), released, jobs=jobs, ledger=ledger, shortlist=found)
    step(f"verify {released}")
    verify(released)
    for query, given in QUERIES:
        step(f'bound {released} "{query}"' + (f' --given "{given}"' if given else ""))
        bound(released, query, given=given)


def _simulate(script: Path, path: Path) -> None:
    """The survey of the year after that of the public one, from the script that made that."""
    module = runpy.run_path(str(script))
    facts = module["read_facts"]()
    module["write_gzip_csv"](module["simulate"](facts, ROWS, SEED, facts["year"] + YEARS_LATER), path)


def _unless_complete(command: Callable[[], None]) -> None:
    """Run a rehearsal that ends when its minutes are over: it says so, and exits with a code of its own."""
    try:
        command()
    except typer.Exit:
        terminal.print("The demonstration goes on with what was found so far.")
