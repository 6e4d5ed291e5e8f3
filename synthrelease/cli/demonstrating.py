"""demo: the releases that come with synthrelease, on simulated data that are nobody's."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from synthrelease.cli.accounting import open_new
from synthrelease.cli.bounding import bound
from synthrelease.cli.bundles import verify
from synthrelease.cli.estimating import estimate
from synthrelease.cli.planning import check, plan
from synthrelease.cli.rehearsing import rehearse
from synthrelease.cli.releasing import release as release_command
from synthrelease.cli.releasing import run
from synthrelease.cli.series import five_years, step
from synthrelease.cli.terminal import NOTHING_RELEASED, Jobs
from synthrelease.cli.terminal import out as terminal
from synthrelease.libraries import library

REHEARSED_MINUTES = 1.5
ROWS, SEED, YEARS_LATER = 80_000, 1, 1
VISITS_MINUTES = 0.1
PATIENTS, PUBLIC_SEED = 20_000, 2024
QUESTIONS = (
    "share outcome == 'Other care': age >= 70 against < 70",
    "mean days: diagnosis == 'Cancer' against == 'Injuries'",
    "share stays >= 2 by age",
)
"""Two about stays and one about patients."""
PEOPLE, MUNICIPALITIES, REGIONS, COUNTRY_MINUTES = 300_000, 300, 20, 0.2
OF_AREAS = ("share employment == 'unemployed' by region", "share age >= 65 where municipality == 'Municipality 00187'")
RUNS = 5
QUERIES = (("labour_status == 'Employed'", "sex == 'Female'"), ("labour_status == 'Unemployed' and age < 25", ""))
"""Conditions, and among whom the share is asked for."""


class Shipped(StrEnum):
    """A release that comes with the program."""

    births = "births"
    published = "published"
    labour = "labour"
    visits = "visits"
    years = "years"
    country = "country"


BIRTHS = {
    Shipped.births: ("configs/births-frontier.toml", "gestation_week < 37"),
    Shipped.published: ("configs/births-measured.toml", "mean birth_weight by birth_sex"),
}
"""Of each release of births its configuration, which needs no extra library, and an example of a question."""


def demo(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Write the released files to this new folder.")],
    release: Annotated[
        Shipped,
        typer.Option(
            "--release",
            help="Choose the data. births: 160,000 births, 6 columns, some seconds. published: the same births with noisy "
            "tables, for estimate. labour: a survey with codes, gaps and weights. visits: patients with hospital stays. "
            "years: five years of births. country: people in municipalities and regions. These four show every command and "
            "take minutes; visits, labour and country write the release to DIR/release.",
        ),
    ] = Shipped.births,
    charges: Annotated[
        bool, typer.Option("--charges", help="Print each charge of the privacy budget (births and published; off by default).")
    ] = False,
    jobs: Jobs = 1,
) -> None:
    """Run a whole release on simulated data that come with synthrelease. Needs no file and no network."""
    from synthrelease.bundle import check_free
    from synthrelease.publish import ReleaseRequest
    from synthrelease.resources import resource

    if release not in BIRTHS:
        library("pandas", "pandas", f"the simulated files of demo --release {release}", "frames")
        check_free(out)
        out.mkdir()
        shown = {Shipped.labour: _labour, Shipped.visits: _visits, Shipped.years: five_years, Shipped.country: _country}
        shown[release](out, jobs)
        return
    (config, question), simulated = BIRTHS[release], resource("public_data/births_surrogate.csv.gz")
    request = ReleaseRequest(config=resource(config), data=simulated, out=out, jobs=jobs, nobodys=True)
    terminal.print("A demonstration: the births are simulated.")
    _until_released(lambda: run(request, steps=False, charges=charges, question=question))
    terminal.print("  For your own data start with docs/tutorial.md.", highlight=False)


def _until_released(command: Callable[[], None]) -> None:
    """Run a release again where its search finds no table, as may happen by chance."""
    for left in reversed(range(RUNS)):
        try:
            return command()
        except typer.Exit as ended:
            if ended.exit_code != NOTHING_RELEASED or not left:
                raise
            terminal.print(
                "The demonstration runs again, because its births are simulated. A second run on your data would spend the "
                "budget a second time."
            )
    return None


def _labour(folder: Path, jobs: int) -> None:
    """Last year's public survey, then this year's confidential one."""
    from synthrelease.resources import resource

    survey = folder / "survey.csv.gz"
    script = runpy.run_path(str(resource("public_data/simulate_labour.py")))
    facts = script["read_facts"]()
    script["write_gzip_csv"](script["simulate"](facts, ROWS, SEED, facts["year"] + YEARS_LATER), survey)
    terminal.print(f"The confidential survey of this demonstration is {str(survey)}: simulated, {ROWS} rows.")
    released = _released(
        _Shown(
            config=resource("configs/labour.toml"),
            dataset="Labour force survey",
            limit="3",
            minutes=REHEARSED_MINUTES,
            public=(resource("public_data/labour_surrogate.csv.gz"), None),
            private=(survey, None),
        ),
        folder,
        jobs,
    )
    for query, given in QUERIES:
        step(f'bound {released} "{query}"' + (f' --given "{given}"' if given else ""))
        bound(released, query, given=given)


def _visits(folder: Path, jobs: int) -> None:
    """Last year's public files of patients and stays, then this year's confidential ones."""
    from synthrelease.resources import resource

    script = runpy.run_path(str(resource("public_data/simulate_visits.py")))
    facts, files = script["read_facts"](), []
    for place, seed, later in (("public", PUBLIC_SEED, 0), ("confidential", SEED, YEARS_LATER)):
        (folder / place).mkdir()
        tables = script["simulate"](facts, PATIENTS, seed, facts["year"] + later)
        files.append(script["write"](tables, folder / place))
    terminal.print(f"The confidential files of this demonstration are in {str(folder / 'confidential')}: simulated.")
    released = _released(
        _Shown(
            config=resource("configs/visits.toml"),
            dataset="Hospital stays",
            limit="3",
            delta_limit="1e-8",
            minutes=VISITS_MINUTES,
            public=files[0],
            private=files[1],
        ),
        folder,
        jobs,
    )
    for question in QUESTIONS:
        step(f'estimate {released} "{question}"')
        estimate([str(released), question])


def _country(folder: Path, jobs: int) -> None:
    """Last year's people of a country, then this year's confidential ones."""
    from synthrelease.resources import resource

    script = runpy.run_path(str(resource("public_data/simulate_country.py")))
    facts, files = script["read_facts"](), []
    for place, seed, later in (("public", PUBLIC_SEED, 0), ("confidential", SEED, YEARS_LATER)):
        (folder / place).mkdir()
        people = script["simulate"](facts, PEOPLE, seed, MUNICIPALITIES, REGIONS, facts["year"] + later)
        files.append(script["write"](people, folder / place / "people.csv"))
    terminal.print(f"The confidential file of this demonstration is {str(files[1])}: simulated, {PEOPLE} rows.")
    config = resource("configs/country.toml")
    step(f"plan {config} --rows {PEOPLE}")
    plan([config], rows=PEOPLE)
    released = _released(
        _Shown(
            config=config,
            dataset="People of a country",
            limit="4",
            delta_limit="1e-8",
            minutes=COUNTRY_MINUTES,
            public=(files[0], None),
            private=(files[1], None),
        ),
        folder,
        jobs,
    )
    for question in OF_AREAS:
        step(f'estimate {released} "{question}"')
        estimate([str(released), question])


@dataclass(frozen=True, kw_only=True)
class _Shown:
    """What a demonstration releases: a public file that it is rehearsed on and a private one, each with that of its members."""

    config: Path
    dataset: str
    limit: str
    delta_limit: str = "0"
    minutes: float
    public: tuple[Path, Path | None]
    private: tuple[Path, Path | None]


def _released(shown: _Shown, folder: Path, jobs: int) -> Path:
    """What a steward does, in the tutorial's order, up to the released folder, which is verified."""
    config, (public, of_public), (private, of_private) = shown.config, shown.public, shown.private
    trial, ledger, released = folder / "trial", folder / f"{config.stem}.ledger", folder / "release"
    of_public_words, words = (f" --members {each}" if each else "" for each in (of_public, of_private))
    members = None if of_private is None else str(of_private)

    step(f"rehearse {config} --data {public}{of_public_words} --out {trial} --keep 1 --copies 0 --minutes {shown.minutes:g}")
    rehearsed = None if of_public is None else str(of_public)
    _unless_complete(
        lambda: rehearse(config, str(public), trial, members=rehearsed, jobs=jobs, keep=1, copies=0, minutes=shown.minutes)
    )
    with_delta = f" --delta-limit {shown.delta_limit}" if shown.delta_limit != "0" else ""
    step(f'ledger open {ledger} --dataset "{shown.dataset}" --limit {shown.limit}{with_delta}')
    open_new(ledger, shown.dataset, shown.limit, shown.delta_limit)
    step(f"check {config} --data {private}{words}")
    check(config, str(private), members=members)
    shortlist = trial / "shortlist.toml"
    found = shortlist if shortlist.is_file() else None  # on a slow machine the minutes may end before anything is known
    from_found = "" if found is None else f" --shortlist {found}"
    step(f"release {config} --data {private}{words} --out {released} --ledger {ledger}{from_found}")
    release_command(
        config, str(private), released, members=members, jobs=jobs, ledger=ledger, shortlist=found, unrehearsed=found is None
    )
    step(f"verify {released}")
    verify(released)
    return released


def _unless_complete(command: Callable[[], None]) -> None:
    """Run a rehearsal that ends when its minutes are over: it says so, and exits with a code of its own."""
    try:
        command()
    except typer.Exit:
        terminal.print("The demonstration goes on with what was found so far.")
