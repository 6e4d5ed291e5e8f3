"""Define the commands that use a private file or its ledger (release, scout, ledger), and the command demo."""

from __future__ import annotations

import json
import math
import runpy
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synthrelease.cli.reading import print_outcomes, warn_of_gaps
from synthrelease.cli.terminal import (
    NOTHING_RELEASED,
    STOPPED,
    accepts_untried,
    cheaper_text,
    err,
    print_plan,
    progress_line,
    screen,
)
from synthrelease.data.texts import quoted
from synthrelease.errors import so_many
from synthrelease.privacy.charges import decimal_text
from synthrelease.resources import library
from synthrelease.spec.arguments import ConfigOption, Data, Delta, Epsilon, Folder, Names, Number, Option, TableName
from synthrelease.spec.requests import ReleaseRequest, ScoutRequest

if TYPE_CHECKING:
    from synthrelease.privacy.ledger_file import Statement
    from synthrelease.privacy.plan import Horizon
    from synthrelease.privacy.subsets import Split
    from synthrelease.publish import Listener
    from synthrelease.releasing.dry_run import DryRun
    from synthrelease.spec.release_spec import ReleaseSpec
    from synthrelease.spec.shortlist import PlanTable

LedgerFile = Annotated[Path, Option(metavar="FILE", positional=True)]


def open_new(file: LedgerFile, dataset: Annotated[str, Option()], limit: Epsilon, delta_limit: Delta = "0") -> None:
    """Open the ledger of a private dataset, once.

    Parameters
    ----------
    file : Write the new ledger to this file.
    dataset : Name the dataset. Each dataset has one ledger.
    limit : Set the limit on the total epsilon of all releases.
    delta_limit : Set the limit on the total delta of all releases. 0 allows only releases with delta 0.
    """
    from synthrelease.privacy.ledger import open_ledger

    statement = open_ledger(file, dataset, limit, delta_limit=delta_limit).statement()
    screen.print(f"Opened {file!s}. For your logbook: {statement.logbook_line()}")
    if not statement.delta_limit:
        screen.print(
            "This ledger allows only releases with delta 0. Drafts of `init` have delta 1e-9, except with --pure. To release "
            "such a draft, open another ledger with --delta-limit 1e-8 now: a limit cannot be changed later."
        )


def scout(request: ScoutRequest) -> None:
    """Publish noisy tables of single columns of a PRIVATE file.

    Use a scout if there is no public file. Spends budget. The codebook is public, and states the names, kinds, codes,
    missing codes and bounds of the columns: no setting comes from the private file. --cap and --delta are the total cost of
    this scout and one later release, which `init --scout` drafts.
    """
    from synthrelease.scouting.scout import Scouting
    from synthrelease.scouting.scout import scout as scouted
    from synthrelease.sources.source import Source

    asked = Scouting.of(request)
    _tell_of_killed_runs(request.out)
    screen.print(asked.in_words())
    document = scouted(
        asked,
        Source.of(request.data, request.table),
        request.ledger,
        request.out,
        dataset=request.dataset,
        expect_head=request.expect_head,
        charged=lambda statement: screen.print(f"Charged the budget. For your logbook: {statement.logbook_line()}"),
    )
    bins = document.bins()
    screen.print(
        f"Each count has noise with a standard deviation of {document.noise_sd:,.0f}. The file has {document.rows:,} rows. A "
        f"draft gets {sum(drafted.n_bins for drafted in bins)} bins in {so_many(len(bins), 'column')}."
    )
    screen.print(
        f"Wrote {request.out!s}. Next: `synthrelease init NAME --scout {quoted(request.out)}`, then plan and release with this "
        "ledger."
    )


def split(
    file: LedgerFile,
    config: ConfigOption,
    data: Data,
    table: TableName | None = None,
    key: Annotated[Path | None, Option(metavar="FILE", flags=("--split-key",))] = None,
    expect_head: str | None = None,
    trust: Names = (),
) -> None:
    """Split a register into pieces, once and permanently. Costs nothing.

    A release then spends the budget of one piece only. A new secret key and the record number determine the piece of a
    record. Keep the key in the enclave, back it up, and show it to nobody. Without the key, no piece can be read again.

    Parameters
    ----------
    file : Write the split to this ledger.
    config : Read the table [split] of this configuration.
    data : Read the record numbers of this private file, and nothing else.
    key : Write the secret key to this new file. [default: LEDGER.key]
    trust : Run these packages of [[plugins]] when the configuration is loaded. By default no package.
    """
    from synthrelease.releasing.release import split_register
    from synthrelease.sources.source import Source

    statement, key_file = split_register(file, config, Source.of(data, table), key, expect_head, trust)
    pieces = statement.split.pieces if statement.split else 0
    screen.print(
        f"Split the register into {pieces} pieces. The secret key is in {key_file!s}. Keep this file in the enclave, with a "
        "backup. Anybody who has the key can compute the piece of every record number."
    )
    screen.print(f"For your logbook: {statement.logbook_line()}")


def plan_years(file: LedgerFile, config: ConfigOption, expect_head: str | None = None) -> None:
    """Write a multi-year plan to the ledger, once, before the first year. Costs nothing.

    The ledger then accepts one release for each year and the planned second releases. It refuses all other releases. The plan
    limits the privacy loss of a person over all years.

    Parameters
    ----------
    file : Write the plan to this ledger.
    config : Read the multi-year plan ([series]) in this configuration.
    """
    from synthrelease.errors import SpecError
    from synthrelease.privacy.ledger import load_ledger
    from synthrelease.spec.load import load_spec

    spec = load_spec(config)
    spec.check_unit_answered()
    if spec.year is None:
        raise SpecError.at(spec.path, "series.years", "The configuration has no multi-year plan")
    statement = load_ledger(file, expect_head=expect_head).plan_years(spec.year.horizon)
    _print_years(statement, spec.year.horizon)
    screen.print(f"For your logbook: {statement.logbook_line()}")


def show(file: LedgerFile, expect_head: str | None = None) -> None:
    """Show what was spent, after checking every entry of the ledger.

    Parameters
    ----------
    file : Read this ledger.
    """
    from synthrelease.privacy.ledger import load_ledger

    statement = load_ledger(file, expect_head=expect_head).statement()
    _tell_of_killed_runs(file)
    options = {"domain": statement.domain, "piece": statement.split, "year": statement.horizon}
    option_columns = [name for name, stated in options.items() if stated]
    rows = []
    for entry in statement.entries:
        cells = [str(entry.number), entry.started, entry.what, decimal_text(entry.epsilon), f"{float(entry.delta):g}"]
        notes = entry.notes
        piece = "" if notes.split else "all" if notes.piece is None else str(notes.piece)
        year = "" if notes.year is None else f"{notes.year}{', second' if notes.again else ''}"
        of_options = {"domain": (entry.domain or "")[:16], "piece": piece, "year": year}
        rows.append([*cells, *(of_options[name] for name in option_columns)])
    screen.table(("no.", "reserved (UTC)", "for", "epsilon", "delta", *option_columns), rows, title=statement.dataset)
    if statement.domain:
        screen.print(f"Exact numbers of rows are allowed only for the domain {statement.domain[:16]} (columns and rules).")
    if statement.split:
        _print_pieces(statement, statement.split)
    if statement.horizon:
        _print_years(statement, statement.horizon)
    rest = statement.epsilon_limit - statement.epsilon
    screen.print(
        f"Spent epsilon {decimal_text(statement.epsilon)} of {decimal_text(statement.epsilon_limit)}; {float(rest):g} is left. "
        f"{f'Spent delta {float(statement.delta):g} of {float(statement.delta_limit):g}. ' if statement.delta_limit else ''}"
        f"For your logbook: {statement.logbook_line()}"
    )


def _print_years(statement: Statement, plan: Horizon) -> None:
    notes = [entry.notes for entry in statement.entries if entry.notes.year is not None]
    done = {note.year for note in notes}
    years_left = [f"{year} (epsilon {decimal_text(plan.most(year, again=False))})" for year in plan.years if year not in done]
    promise, second = plan.promise, sum(note.again for note in notes)
    persons = f"{plan.in_year} in a year and {plan.in_all} in all" if plan.in_all > 1 else "1 in all years"
    screen.print(
        f"The plan over the years {plan.years[0]} to {plan.years[-1]} guarantees each person at most epsilon "
        f"{decimal_text(promise.epsilon if promise else Fraction(0))}. A person has at most this number of records: "
        f"{persons}. So far, epsilon {decimal_text(statement.epsilon)} was spent on a person. Remaining years: "
        f"{', '.join(years_left) or 'none'}. Remaining second releases of a year: {plan.fallbacks - second}"
        f"{f' (epsilon {decimal_text(plan.fallback_epsilon)})' if plan.fallbacks else ''}."
    )


def _print_pieces(statement: Statement, split: Split) -> None:
    spent, deltas = statement.epsilons, statement.deltas
    read = sorted(spent.of_pieces)

    def shown(amount: Fraction) -> str:
        return f"epsilon {decimal_text(amount)}, {float(statement.epsilon_limit - amount):g} left"

    pieces = [f"piece {piece}: {shown(spent.before(piece))}" for piece in read]
    if unread := split.pieces - len(read):
        pieces.append(f"{so_many(unread, 'piece')} that no release read alone: {shown(spent.of_all)}")
    screen.print(f"The register is split into {split.pieces} pieces (key {split.key[:16]}). Spent: {'; '.join(pieces)}.")
    delta = f", delta {float(deltas.most_renumbered):g}" if deltas.most_renumbered else ""
    screen.print(
        "The sum below is the largest cost of a piece. It holds if a replaced record keeps its record number. If the record "
        f"number may change, two pieces can change, and the cost is epsilon {decimal_text(spent.most_renumbered)}{delta}."
    )


def renew(file: LedgerFile, expect_head: str) -> None:
    """Write a lost head file of a ledger again. Compares the ledger with the head in your logbook.

    Parameters
    ----------
    file : Renew the head file of this ledger.
    expect_head : Compare with this head from your logbook.
    """
    from synthrelease.privacy.ledger import renew_head

    statement = renew_head(file, expect_head)
    screen.print(f"Renewed the head of {file!s}. For your logbook: {statement.logbook_line()}")


def release(request: ReleaseRequest) -> None:
    """Release one table that meets all acceptance criteria. Spends the planned budget once, with or without a table.

    The ledger is charged with the whole budget before any private row is read. Without --ledger, the ledger is OUT.ledger,
    which counts only the releases into the folder OUT.

    Exits with code 3 if the search finds no acceptable table.
    """
    run(request)


def run(request: ReleaseRequest, *, steps: bool = True, charges: bool = False, question: str | None = None) -> None:
    """Release one table, and print the progress and the result.

    Raises typer.Exit with code 3 if no table was accepted.

    Parameters
    ----------
    steps : whether to print the plan and each step. Otherwise, only the result is printed.
    charges : whether the printed result lists each charge to the budget.
    question : a question printed as an example of what to do next.
    """
    from synthrelease.cli.outcome import budget_text, print_outcome
    from synthrelease.publish import chosen, publish
    from synthrelease.published.document import read_leniently

    with ExitStack() as stack:
        lines: list[Callable[[str], None]] = []

        def show(phase: str) -> None:
            if not lines:  # the progress line begins with the first phase; a print before it would break the line
                lines.append(stack.enter_context(progress_line()))
            lines[0](phase)

        _tell_of_killed_runs(request.out)
        published = publish(request, _listener(request, show, steps=steps))
    if published is None:
        total = chosen(request).plan.total
        err.print(f"The search found no acceptable table. {budget_text(total.epsilon, total.delta)} is spent.")
        if steps:
            err.print("`synthrelease rehearse` on public data shows plans that find a table more often.")
        raise typer.Exit(NOTHING_RELEASED)
    document = read_leniently((published.folder / "release.json").read_bytes())
    print_outcome(document, published.folder, charges=charges, question=question)
    print_outcomes(published.folder)
    if published.archive is not None:
        screen.print(f"The archive {published.archive!s} has the same files.")


def _tell_of_killed_runs(path: Path) -> None:
    folder = path.absolute().parent
    if any(folder.glob(".*.partial")):  # otherwise the module takes longer to load than the ledger to read
        from synthrelease.bundle.write import killed_runs

        for sentences in killed_runs(folder):
            err.print(sentences, style="yellow")


def _listener(request: ReleaseRequest, show: Callable[[str], None], *, steps: bool = True) -> Listener:
    """Return a listener that prints the progress of a release or, without `steps`, only its phases.

    Its class is defined here, so that the module `publish` is loaded only for a release.
    """
    from synthrelease import publish as publishing

    class Quiet(publishing.Listener):
        def phase(self, name: str) -> None:
            show(name)

    class Printing(Quiet):
        def chosen(self, spec: ReleaseSpec) -> None:
            print_plan(spec, request.shortlist)
            warn_of_gaps(spec)
            if not request.nobodys:
                err.print(
                    "The budget is charged before a row of the private file is read. `synthrelease check CONFIG --data DATA` "
                    "checks whether the file fits, and spends nothing."
                )

        def cheaper(self, spec: ReleaseSpec, proposal: PlanTable) -> None:
            told = cheaper_text(spec, proposal, request.config, request.shortlist or Path("shortlist.toml"))
            err.print(told, style="yellow", soft_wrap=True)  # one line, for log files

        def never_tried(self, spec: ReleaseSpec) -> bool:
            return accepts_untried(spec)

        def tried(self, found: DryRun) -> None:
            seconds = "less than a second" if found.seconds < 1 else f"up to {so_many(math.ceil(found.seconds), 'second')}"
            tried = so_many(len(found.configurations), "configuration")
            screen.print(f"Tried {tried} on made-up rows. One attempt takes {seconds}.")

        def nearby(self, ledgers: tuple[Path, ...]) -> None:
            names = ", ".join(str(path) for path in ledgers[:5])
            err.print(
                f"The option --ledger is missing, but there are ledgers nearby: {names}. If one of them belongs to the data, "
                "name it with --ledger. Otherwise that ledger does not count this run, although the privacy losses of all "
                "runs on the same people add up.",
                style="yellow",
            )

        def reserved(self, ledger: Path, statement: Statement) -> None:
            screen.print(f"Charged the budget to {ledger!s}. For your logbook: {statement.logbook_line()}")
            if request.ledger is None:
                screen.print(
                    "This ledger counts only releases into this folder. With --ledger FILE, one ledger counts all releases."
                )

    return Printing() if steps else Quiet()


ROWS, SEED, LIMIT = 160_000, 7, "1.7"
QUESTIONS = ("share gestation_week < 37", "share mother_age >= 35")


def five_years(folder: Path, jobs: int) -> None:
    """Run the demonstration of five years: a multi-year plan, a release for each year, and the changes between years."""
    simulate = _script("years")
    facts, changes = simulate["read_facts"]()
    years = [changes["first"] + number for number in range(len(changes["births_per_1000"]))]
    ledger = folder / "births.ledger"
    screen.print(f"The confidential files of this demonstration are simulated: births of {years[0]} to {years[-1]}.")
    typed("ledger", "open", ledger, "--dataset", "Live births", "--limit", LIMIT)
    released: list[Path] = []
    for year in years:
        data, out = folder / f"births-{year}.csv.gz", folder / f"release-{year}"
        simulate["BIRTHS"]["write_gzip_csv"](simulate["simulate"](facts, changes, year, ROWS, SEED), data)
        config = _configuration(folder, year, released)
        if year == years[0]:
            typed("ledger", "years", ledger, "--config", config)
        further = ["--data", data, "--out", out, "--ledger", ledger, "--unrehearsed", "--jobs", jobs]
        if typed("release", config, *further, ends=(NOTHING_RELEASED,)) and year > years[0]:
            screen.print("The plan also allows a second release for this year if it does not use last year's release.")
            again = _configuration(folder, year, released, again=True)
            typed("release", again, *further, ends=(NOTHING_RELEASED,))
        if out.exists():
            released.append(out)
        else:
            screen.print("The demonstration continues without a release of this year.")
    typed("ledger", "show", ledger)
    if len(released) > 1:
        typed("verify", released[-1], "--with", released[-2])
        for question in QUESTIONS:
            typed("estimate", *released, question)


def _configuration(folder: Path, year: int, released: list[Path], again: bool = False) -> Path:
    from synthrelease.resources import resource

    later = bool(released) and not again
    text = resource(f"configs/years/{'later' if later else 'first'}.toml").read_text(encoding="utf-8")
    text = text.replace('"../births.toml"', json.dumps(str(resource("configs/births.toml"))))
    acceptance = resource("acceptance/births-frontier.toml")
    text = text.replace('"../../acceptance/births-frontier.toml"', json.dumps(str(acceptance)))
    earlier = f"earlier = {json.dumps([f'{folder_of_year.name}/release.json' for folder_of_year in released])}\n"
    text = text.replace('earlier = ["births-2019/release.json"]\n', "")
    text = text.replace("year = 2020\n", f"year = {year}\n{earlier}").replace("year = 2019\n", f"year = {year}\n{earlier}")
    if later:
        text = text.replace('"births-2019"', json.dumps(released[-1].name))
    path = folder / f"{'second-' if again else ''}{year}.toml"
    path.write_text(f"{text}{'again = true' if again else ''}\n", encoding="utf-8")
    return path


def typed(*words: object, ends: Collection[int] = ()) -> int:
    """Print a command as a steward would type it, and run it. Return its exit code.

    Raises typer.Exit if this code is neither 0 nor in `ends`.
    """
    from synthrelease.cli import app

    screen.print(f"\n$ synthrelease {' '.join(_shown(str(word)) for word in words)}", style="bold")
    code: int = app([str(word) for word in words], standalone_mode=False) or 0
    if code and code not in ends:
        raise typer.Exit(code)
    return code


def _shown(word: str) -> str:
    """Quote a word of a command for a shell, with double quotes if it contains single quotes."""
    return f'"{word}"' if "'" in word else quoted(word)


DEMO_SEED, PUBLIC_SEED, YEARS_LATER = 1, 2024, 1
SURVEYED, PATIENTS, PEOPLE, MUNICIPALITIES, REGIONS = 80_000, 20_000, 300_000, 300, 20
RUNS = 5


class Shipped(StrEnum):
    """The names of the releases that `demo` can run."""

    births = "births"
    paper = "paper"
    published = "published"
    labour = "labour"
    visits = "visits"
    years = "years"
    country = "country"


BIRTHS = {
    Shipped.births: ("configs/births-frontier.toml", "gestation_week < 37"),
    Shipped.paper: ("configs/births-paper.toml", "gestation_week < 37"),
    Shipped.published: ("configs/births-measured.toml", "mean birth_weight by birth_sex"),
}
"""Configuration and example question of each release of births. These releases need no extra library."""


def demo(out: Folder, release: Shipped = Shipped.births, charges: bool = False, jobs: Number = 1) -> None:
    """Run a whole release on simulated data. Needs neither a file nor a network.

    Parameters
    ----------
    out : Write the released files to this new folder.
    release : Choose the data. births: 160,000 births, 6 columns, some seconds. paper: the same births, released with the method
        of Hod & Canetti (2024). published: the same births with noisy tables, for estimate. labour: a survey with codes,
        missing values and weights. visits: patients with hospital stays. years: five years of births. country: people in
        municipalities and regions. The last four show every command and take minutes; visits, labour and country write the
        release to DIR/release.
    charges : Print each charge of the privacy budget (births and published; off by default, always on for paper).
    """
    from synthrelease.bundle.write import check_free_name
    from synthrelease.data.texts import program
    from synthrelease.resources import resource

    if release not in BIRTHS:
        library("pandas", "pandas", f"the simulated files of demo --release {release}", "frames")
        check_free_name(out)
        out.mkdir()
        (five_years if release is Shipped.years else DEMONSTRATIONS[release].show)(out, jobs)
        return
    (config, question), simulated = BIRTHS[release], resource("public_data/births_surrogate.csv.gz")
    request = ReleaseRequest(config=resource(config), data=str(simulated), out=out, jobs=jobs, nobodys=True)
    screen.print("This is a demonstration with simulated births.")
    charges = charges or release is Shipped.paper
    _until_released(lambda: run(request, steps=False, charges=charges, question=question))
    if release is Shipped.paper:
        screen.print("  The page docs/sources.md compares such releases with Table 2 of the paper.")
    if release is Shipped.births:
        screen.print("  See a release that answers questions in a browser:")
        screen.print(f"    {program()} demo --release published --out published", soft_wrap=True)
    screen.print("  For your own data, start with docs/tutorial.md.")


def _until_released(command: Callable[[], None]) -> None:
    """Run the release of a demonstration until its search finds a table, at most `RUNS` times."""
    for runs_left in reversed(range(RUNS)):
        try:
            return command()
        except typer.Exit as ended:
            if ended.exit_code != NOTHING_RELEASED or not runs_left:
                raise
            screen.print(
                "The demonstration runs again, because its births are simulated. On your data, a second run would spend the "
                "budget again."
            )
    return None


File = tuple[str, str | None]
"""The paths of a file of rows, such as patients, and of the file of their members, such as stays. The second is None if
there is no such file.
"""


def _survey(folder: Path) -> tuple[File, File]:
    """Simulate a confidential survey of this year. Return the public survey of last year, and the confidential one."""
    from synthrelease.resources import resource

    survey, script = folder / "survey.csv.gz", _script("labour")
    facts = script["read_facts"]()
    script["write_gzip_csv"](script["simulate"](facts, SURVEYED, DEMO_SEED, facts["year"] + YEARS_LATER), survey)
    screen.print(f"The confidential survey of this demonstration is simulated: {survey!s}, {SURVEYED:,} rows.")
    return (str(resource("public_data/labour_surrogate.csv.gz")), None), (str(survey), None)


def _patients(folder: Path) -> tuple[File, File]:
    """Simulate files of patients and stays. Return the public pair for last year and the confidential pair for this year."""
    script = _script("visits")
    facts = script["read_facts"]()

    def written(kind: str, seed: int, later: int) -> File:
        (folder / kind).mkdir()
        patients, stays = script["write"](script["simulate"](facts, PATIENTS, seed, facts["year"] + later), folder / kind)
        return str(patients), str(stays)

    screen.print(f"The confidential files of this demonstration are simulated. They are in {folder / 'confidential'!s}.")
    return written(*_PUBLIC), written(*_CONFIDENTIAL)


def _people(folder: Path) -> tuple[File, File]:
    """Simulate the population of a country. Return the public file for last year and the confidential file for this year."""
    script = _script("country")
    facts = script["read_facts"]()

    def written(kind: str, seed: int, later: int) -> File:
        (folder / kind).mkdir()
        people = script["simulate"](facts, PEOPLE, seed, MUNICIPALITIES, REGIONS, facts["year"] + later)
        return str(script["write"](people, folder / kind / "people.csv")), None

    public, confidential = written(*_PUBLIC), written(*_CONFIDENTIAL)
    screen.print(f"The confidential file of this demonstration is simulated: {confidential[0]}, {PEOPLE:,} rows.")
    return public, confidential


# Folder, seed and number of later years, first for last year's public file, then for this year's confidential file.
_PUBLIC, _CONFIDENTIAL = ("public", PUBLIC_SEED, 0), ("confidential", DEMO_SEED, YEARS_LATER)


def _script(name: str) -> dict[str, Any]:
    from synthrelease.resources import resource

    return runpy.run_path(str(resource(f"public_data/simulate_{name}.py")))


@dataclass(frozen=True, kw_only=True)
class Demonstration:
    """A demonstration that runs the commands of a steward, from plan to answers, on simulated files.

    Attributes
    ----------
    files : a function that writes the public and the confidential file into a folder, and returns their paths.
    minutes : the time limit of the rehearsal.
    planned : the number of rows for which the command `plan` is run, or None if it is not run.
    questions : questions for `estimate`.
    queries : questions for `bound`, each with the condition of --given ("" for none).
    """

    config: str
    files: Callable[[Path], tuple[File, File]]
    dataset: str
    limit: str
    delta_limit: str = "0"
    minutes: float
    planned: int | None = None
    questions: tuple[str, ...] = ()
    queries: tuple[tuple[str, str], ...] = ()

    def show(self, folder: Path, jobs: int) -> None:
        """Run the steps of the tutorial, then verify the released folder and answer some questions from it."""
        from synthrelease.resources import resource

        config, out = resource(self.config), folder / "release"
        trial, ledger = folder / "trial", folder / f"{config.stem}.ledger"
        (public, of_public), (private, of_private) = (
            (rows, ["--members", members] if members else []) for rows, members in self.files(folder)
        )
        if self.planned is not None:
            typed("plan", config, "--rows", self.planned)
        trying = ["--out", trial, "--keep", 1, "--copies", 0, "--minutes", self.minutes, "--jobs", jobs]
        if typed(
            "rehearse", config, "--data", public, *of_public, *trying, ends=(STOPPED, NOTHING_RELEASED)
        ):  # stops at the time limit
            screen.print("The demonstration continues with the results so far.")
        limits = ["--limit", self.limit, "--delta-limit", self.delta_limit]
        typed("ledger", "open", ledger, "--dataset", self.dataset, *limits)
        typed("check", config, "--data", private, *of_private)
        shortlist = trial / "shortlist.toml"  # on a slow machine, the time limit may come before there is a shortlist
        tried = ["--shortlist", shortlist] if shortlist.is_file() else ["--unrehearsed"]
        typed("release", config, "--data", private, *of_private, "--out", out, "--ledger", ledger, *tried, "--jobs", jobs)
        typed("verify", out)
        for query, condition in self.queries:
            typed("bound", out, query, *(["--given", condition] if condition else []))
        for question in self.questions:
            typed("estimate", out, question)


DEMONSTRATIONS = {
    Shipped.labour: Demonstration(
        config="configs/labour.toml",
        files=_survey,
        dataset="Labour force survey",
        limit="3",
        minutes=1.5,
        queries=(("labour_status == 'Employed'", "sex == 'Female'"), ("labour_status == 'Unemployed' and age < 25", "")),
    ),
    Shipped.visits: Demonstration(
        config="configs/visits.toml",
        files=_patients,
        dataset="Hospital stays",
        limit="3",
        delta_limit="1e-8",
        minutes=0.1,
        questions=(  # two questions about stays and one about patients
            "share outcome == 'Other care': age >= 70 against < 70",
            "mean days: diagnosis == 'Cancer' against == 'Injuries'",
            "share stays >= 2 by age",
        ),
    ),
    Shipped.country: Demonstration(
        config="configs/country.toml",
        files=_people,
        dataset="People of a country",
        limit="4",
        delta_limit="1e-8",
        minutes=0.2,
        planned=PEOPLE,
        questions=("share employment == 'unemployed' by region", "share age >= 65 where municipality == 'Municipality 00187'"),
    ),
}
