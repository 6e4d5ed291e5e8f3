"""demo --release years: a simulated register of births over five years, each released from the release before."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import typer

from synthrelease.cli.accounting import open_new, plan_years, show
from synthrelease.cli.bundles import verify
from synthrelease.cli.estimating import estimate
from synthrelease.cli.releasing import release
from synthrelease.cli.terminal import out as terminal

ROWS, SEED, LIMIT = 160_000, 7, "1.7"
QUESTIONS = ("share gestation_week < 37", "share mother_age >= 35")


def five_years(folder: Path, jobs: int) -> None:
    """What a steward does for a series: the promise first, then year after year, then what changed."""
    from synthrelease.resources import resource

    simulate = runpy.run_path(str(resource("public_data/simulate_years.py")))
    facts, changes = simulate["read_facts"]()
    years = [changes["first"] + place for place in range(len(changes["births_per_1000"]))]
    ledger = folder / "births.ledger"
    terminal.print(f"The confidential files of this demonstration are simulated: births of {years[0]} to {years[-1]}.")
    step(f'ledger open {ledger} --dataset "Live births" --limit {LIMIT}')
    open_new(ledger, "Live births", LIMIT)
    released: list[Path] = []
    for year in years:
        data, out = folder / f"births-{year}.csv.gz", folder / f"release-{year}"
        simulate["BIRTHS"]["write_gzip_csv"](simulate["simulate"](facts, changes, year, ROWS, SEED), data)
        config = _configuration(folder, year, released)
        if not released and year == years[0]:
            step(f"ledger years {ledger} --config {config}")
            plan_years(ledger, config)
        _release(config, data, out, ledger, jobs)
        if not out.exists() and year > years[0]:
            terminal.print("The plan has room for a second release of this year. It does not use last year's release.")
            again = _configuration(folder, year, released, again=True)
            _release(again, data, out, ledger, jobs)
        released += [out] if out.exists() else []
    step(f"ledger show {ledger}")
    show(ledger)
    if len(released) > 1:
        step(f"verify {released[-1]} --with {released[-2]}")
        verify(released[-1], earlier=[released[-2]])
        for question in QUESTIONS:
            step(f'estimate {" ".join(map(str, released))} "{question}"')
            estimate([*map(str, released), question])


def _configuration(folder: Path, year: int, released: list[Path], again: bool = False) -> Path:
    """The shipped plan of a first or of a later year, with its year and the releases before it."""
    from synthrelease.resources import resource

    later = bool(released) and not again
    text = resource(f"configs/years/{'later' if later else 'first'}.toml").read_text(encoding="utf-8")
    text = text.replace('"../births.toml"', json.dumps(str(resource("configs/births.toml"))))
    acceptance = resource("acceptance/births-frontier.toml")
    text = text.replace('"../../acceptance/births-frontier.toml"', json.dumps(str(acceptance)))
    earlier = f"earlier = {json.dumps([f'{each.name}/release.json' for each in released])}\n"
    text = text.replace('earlier = ["births-2019/release.json"]\n', "")
    text = text.replace("year = 2020\n", f"year = {year}\n{earlier}").replace("year = 2019\n", f"year = {year}\n{earlier}")
    if later:
        text = text.replace('"births-2019"', json.dumps(released[-1].name))
    path = folder / f"{'second-' if again else ''}{year}.toml"
    path.write_text(f"{text}{'again = true' if again else ''}\n", encoding="utf-8")
    return path


def _release(config: Path, data: Path, out: Path, ledger: Path, jobs: int) -> None:
    """Of a year; where nothing is released the command exits with a code of its own, and the demonstration goes on."""
    step(f"release {config} --data {data} --out {out} --ledger {ledger}")
    try:
        release(config, str(data), out, jobs=jobs, ledger=ledger, unrehearsed=True)
    except typer.Exit:
        terminal.print("The demonstration goes on without a release of this year.")


def step(command: str) -> None:
    """The command that follows, as a steward would type it."""
    terminal.print(f"\n$ synthrelease {command}", style="bold", highlight=False)
