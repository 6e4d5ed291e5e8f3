"""Run a whole rehearsal, and store its results: the race, the closer look, the advice on budgets, the copies and the
attacks.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from synthrelease.enclave.ingest import digest_of, read_public
from synthrelease.errors import InputError, OutputError, on_public_data, so_many
from synthrelease.privacy.noise import SYSTEM
from synthrelease.releasing.attempt import public_digest, read_priors
from synthrelease.settings.tables import AttacksTable
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.requests import RehearsalRequest
from synthrelease.spec.shortlist import RehearsedTable
from synthrelease.studio.parallel import Progress, running
from synthrelease.studio.rehearsal.advice import (
    BUDGET_FACTORS,
    CHOOSING,
    BudgetPoint,
    CriterionAdvice,
    Outlook,
    PlanGoal,
    Proposal,
    criterion_advice,
    first_offer,
    frontier,
    more_budgets,
    outlook,
    propose,
    shares_luck,
    typical_sensitivities,
)
from synthrelease.studio.rehearsal.attacks import (
    HALVES,
    FitEvidence,
    Twins,
    attack_results,
    fit_to_twins,
    guess_persons,
    known_columns,
)
from synthrelease.studio.rehearsal.attempts import AttemptResult, Race, RaceGoal, Trials, run_attempts
from synthrelease.studio.rehearsal.closer_look import CloserLook, closer_look, typical_configuration
from synthrelease.studio.rehearsal.utility import CopyComparison, CopyFigures, copy_figures

# Results of a rehearsal in a SQLite file. Each is written at once, so that a crash loses only unfinished attempts.

_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS attempts (
    generation TEXT NOT NULL, configuration INTEGER NOT NULL, number INTEGER NOT NULL, result TEXT NOT NULL,
    PRIMARY KEY (generation, configuration, number)
) STRICT;
CREATE TABLE IF NOT EXISTS course (phase TEXT NOT NULL, done INTEGER NOT NULL, total INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS outcomes (
    task TEXT NOT NULL, number INTEGER NOT NULL, outcome TEXT NOT NULL, PRIMARY KEY (task, number)
) STRICT;
"""


class RehearsalStore:
    """The stored results of one rehearsal, in an SQLite file, so that an interrupted rehearsal can continue.

    Attributes
    ----------
    about : everything that the results depend on, by name: specification, data, seed and the format of the file.
    """

    def __init__(self, connection: sqlite3.Connection, about: dict[str, str]):
        self._connection = connection
        self.about = about

    def add(self, results: list[AttemptResult]) -> None:
        """Store attempts in one transaction: all of them or none."""
        rows = [
            (str(result.generation), result.configuration, result.number, json.dumps(vars(result), default=str))
            for result in results
        ]
        with self._connection:
            self._connection.executemany("INSERT OR IGNORE INTO attempts VALUES (?, ?, ?, ?)", rows)

    def tell(self, phase: str, done: int, total: int) -> None:
        """Store the progress for other processes (`standing`)."""
        with self._connection:
            self._connection.execute("DELETE FROM course")
            self._connection.execute("INSERT INTO course VALUES (?, ?, ?)", (phase, done, total))

    def keep(self, task: str, number: int, outcome: object) -> None:
        """Store the result of one numbered run of a task, such as attack number 3, as JSON.

        It may depend only on `about`, the name of the task and the number.
        """
        with self._connection:
            row = (task, number, json.dumps(outcome))
            self._connection.execute("INSERT OR IGNORE INTO outcomes VALUES (?, ?, ?)", row)

    def outcomes(self, task: str) -> dict[int, Any]:
        rows = self._connection.execute("SELECT number, outcome FROM outcomes WHERE task = ?", (task,))
        return {number: json.loads(outcome) for number, outcome in rows}

    def results(self, generation: Fraction) -> Iterator[AttemptResult]:
        """Yield the attempts with this generation budget by configuration and number."""
        query = "SELECT result FROM attempts WHERE generation = ? ORDER BY configuration, number"
        for (text,) in self._connection.execute(query, (str(generation),)):
            stored = json.loads(text) | {"generation": generation}
            fields: Any = {name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()}
            yield AttemptResult(**fields)


@dataclass(frozen=True, kw_only=True)
class RehearsalProgress:
    """The phase of a rehearsal, and its finished and all attempts; 0 if attempts are not counted.

    Attributes
    ----------
    attempts : number of all stored attempts.
    """

    phase: str
    done: int
    total: int
    attempts: int


def standing(path: Path) -> RehearsalProgress | None:
    """Return the progress of the rehearsal that writes this file, or None if nothing can be read yet. Changes nothing."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=1)) as connection:
            course = connection.execute("SELECT phase, done, total FROM course").fetchone()
            (attempts,) = connection.execute("SELECT count(*) FROM attempts").fetchone()
    except sqlite3.Error:
        return None
    phase, done, total = course or ("", 0, 0)
    return RehearsalProgress(phase=str(phase), done=int(done), total=int(total), attempts=int(attempts))


@contextmanager
def open_store(path: Path, about: dict[str, str]) -> Iterator[RehearsalStore]:
    """Open the file of a rehearsal, or create it.

    Parameters
    ----------
    about : everything that the results depend on. A file of another rehearsal is refused. With the seed "", an existing
        file keeps its seed, and a new file gets a random seed.

    Raises
    ------
    InputError : if the file does not contain results of a rehearsal, or contains those of another rehearsal.
    OutputError : if the file cannot be written. Earlier results stay in the file.
    """
    try:
        connection = sqlite3.connect(path, timeout=60)
    except sqlite3.Error as error:
        raise OutputError(f"Cannot open {path} ({error}).") from None
    try:
        yield RehearsalStore(connection, _checked(connection, path, about))
    except sqlite3.OperationalError as error:
        raise OutputError(f"Cannot write the results to {path} ({error}). Earlier results are kept.") from None
    except sqlite3.DatabaseError as error:
        raise InputError(f"{path} does not contain the results of a rehearsal ({error}).") from None
    finally:
        connection.close()


def _checked(connection: sqlite3.Connection, path: Path, about: dict[str, str]) -> dict[str, str]:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(_TABLES)
    with connection:  # one transaction: two rehearsals that start together agree
        connection.execute("BEGIN IMMEDIATE")  # a deferred one would start only after the look
        stored = dict(connection.execute("SELECT name, value FROM about"))
        if not stored:
            about = about | {"seed": about.get("seed") or str(SYSTEM.pick(2**32))}
            connection.executemany("INSERT INTO about VALUES (?, ?)", about.items())
            return about
    if not about.get("seed"):
        about = about | {"seed": stored.get("seed", "")}
    differing = sorted(name for name in stored.keys() | about.keys() if stored.get(name) != about.get(name))
    if differing:
        raise InputError(
            f"{path} contains the results of another rehearsal (different {', '.join(differing)}). Choose another "
            "folder for --out, or use the same specification, data and seed."
        )
    return stored


STORE = "attempts.sqlite"
CHUNK = 8
"""Largest number of attempts that a process runs at a time. Results are stored after each group of attempts."""

BUDGET_ATTEMPTS = 6
"""Number of attempts for each configuration of the shortlist at each generation budget."""

RACE_SHARE = 0.8
"""The race stops after this share of the time, so that time remains to try the budgets."""


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """The result of a rehearsal.

    Attributes
    ----------
    results : for each configuration, its attempts at the planned generation budget, by number.
    shortlist : the indices of the configurations that were accepted often enough, in increasing order.
    budgets : for each tried generation budget, how often the shortlist was accepted.
    proposal : the generation budget and the distribution of the number of rounds with the lowest total cost, or None.
    comparison, copies : the analyses of synthetic copies, and their utility and risk statistics for the shortlist.
    outlook : the expected results of a release with the current settings, or None without a shortlist.
    attacks : the results of the attacks on the configuration that was accepted most often, or None.
    look : a closer look at this configuration, or at the one nearest to acceptance without a shortlist. None if the time
        was used up before, or with [partition].
    data : the size and the digests of the public file, for the shortlist.
    complete : False if the time was used up or the user stopped the rehearsal, so that results use fewer attempts.
    """

    spec: ReleaseSpec
    race: Race
    results: tuple[tuple[AttemptResult, ...], ...]
    shortlist: tuple[int, ...]
    criteria: tuple[CriterionAdvice, ...]
    budgets: tuple[BudgetPoint, ...]
    proposal: Proposal | None
    outlook: Outlook | None
    comparison: CopyComparison
    copies: tuple[CopyFigures, ...]
    attacks: AttacksTable | None
    look: CloserLook | None
    seed: int
    n_rows: int
    complete: bool
    data: RehearsedTable

    @property
    def most_accepted(self) -> int:
        return most_accepted(self.race, self.shortlist)

    @property
    def n_attempts(self) -> int:
        return sum(len(attempts) for attempts in self.results)


@on_public_data()
def rehearse(
    spec: ReleaseSpec, request: RehearsalRequest, *, progress: Progress = lambda phase, done, total: None
) -> Rehearsal:
    """Rehearse a release on public data. The rehearsal reads no private data, and has no privacy guarantee.

    Results are stored at once in attempts.sqlite in the folder `request.out`. The same call continues an earlier rehearsal.

    Raises
    ------
    BudgetError : if the plan has no guarantee.
    InputError : if the public file does not fit the specification, or if the folder contains something else than an earlier
        run of this rehearsal.
    OutputError : if results cannot be written.
    """
    deadline = time.monotonic() + 60 * request.minutes if request.minutes else None
    out, source = request.out, request.source
    _ = spec.plan.total  # what has no guarantee is refused before the folder is made
    progress("reading the public file", 0, 0)
    comparison = CopyComparison.of(spec, request.copies, request.quasi_identifiers)
    public = read_public(source, spec.schema, spec.input, spec.raw, spec.unit)
    table = RehearsedTable(bytes=source.size(), sha256=digest_of(source), table=public_digest(source, spec, public))
    seed = "" if request.seed is None else str(request.seed)
    about = {"format": "2", "specification": spec.digest, "data": table.sha256, "seed": seed}
    _make_folder(out)
    with open_store(out / STORE, about) as store:
        trials = Trials(spec=spec, counts=public, priors=read_priors(spec), seed=int(store.about["seed"]))
        run = _Course(request=request, trials=trials, store=store, comparison=comparison, deadline=deadline, progress=progress)
        return run.rehearsal(table)


def _make_folder(out: Path) -> None:
    """Make the folder for the results. A folder with files but no earlier results is refused."""
    try:
        out.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"Cannot create the folder {out} ({error.strerror}).") from None
    strangers = sorted(path.name for path in out.iterdir())
    if strangers and STORE not in strangers:
        raise InputError(f"{out} contains files of something else, such as {strangers[0]!r}. Choose a new folder for --out.")


@dataclass(kw_only=True)
class _Course:
    """A rehearsal in progress.

    Attributes
    ----------
    deadline : the time (`time.monotonic`) after which no further task starts, or None.
    stopped : whether the user stopped the rehearsal.
    lacking : whether a task was left out.
    """

    request: RehearsalRequest
    trials: Trials
    store: RehearsalStore
    comparison: CopyComparison
    deadline: float | None
    progress: Progress
    stopped: bool = False
    lacking: bool = False

    @property
    def spec(self) -> ReleaseSpec:
        return self.trials.spec

    def rehearsal(self, data: RehearsedTable) -> Rehearsal:
        request, spec, planned = self.request, self.spec, self.spec.budget.generation
        goal = RaceGoal(target=request.target, keep=request.keep, width=request.width)

        # race: attempts of all configurations at the planned budget; those far from the shortlist are dropped early
        now = time.monotonic()
        race_deadline = None if self.deadline is None else now + RACE_SHARE * (self.deadline - now)
        results: list[dict[int, AttemptResult]] = [{} for _ in range(len(spec.space))]
        for result in self.store.results(planned):
            if result.number < CHOOSING:
                results[result.configuration][result.number] = result
        race = Race.of(results, self.thresholds, goal)
        while race.missing and not self._late(race_deadline):
            phase = "pilot" if race.stage == 0 else f"race, {so_many(race.stage, 'attempt')} each"
            for result in self._attempts(race.missing, planned, phase, race_deadline):
                results[result.configuration][result.number] = result
            if race.stage == 0 and (forecast := duration(request, results)):
                self.progress(forecast, 0, 0)
            race = Race.of(results, self.thresholds, goal)
        shortlist = race.shortlist()

        # closer look: where the errors of a typical candidate are
        look = self._look(race, shortlist, results)

        # budgets: the shortlist at other generation budgets, and the cheapest distribution of the number of rounds
        by_budget = {planned: [result for c in shortlist for result in results[c].values()]}
        for generation in (factor * planned for factor in BUDGET_FACTORS if factor != 1):
            by_budget[generation] = self._budget(shortlist, generation)
        aim = PlanGoal(nothing=request.nothing, target=goal.target, width=goal.width)
        proposal = self._propose(shortlist, by_budget, aim)

        # copies: utility and risk without noise
        copies = self._copies(shortlist)

        # attacks: how often an intruder is right, compared with what the guarantee allows
        attacks = self._attacks(race, shortlist, request.attacks)

        chosen = set(shortlist)
        shortlisted = [result for c in shortlist for result in results[c].values()]
        further = [result for c, attempts in enumerate(results) if c not in chosen for result in attempts.values()]
        return Rehearsal(
            spec=spec,
            race=race,
            results=tuple(tuple(attempts[number] for number in sorted(attempts)) for attempts in results),
            shortlist=shortlist,
            criteria=criterion_advice(spec.criteria, shortlisted or further, request.noise_level, spec.noises),
            budgets=frontier(spec, by_budget, goal.level),
            proposal=proposal,
            # a fit counts only with attempts of half of the shortlist; if rounds share no fit, all attempts count together
            outlook=outlook(
                shortlisted, spec.selection_rule.law, max(1, (len(shortlist) + 1) // 2) if shares_luck(spec) else None
            ),
            comparison=self.comparison,
            copies=copies,
            attacks=attacks,
            look=look,
            seed=self.trials.seed,
            n_rows=self.trials.counts.total,
            complete=not race.missing and not self.stopped and not self.lacking,
            data=data,
        )

    @property
    def thresholds(self) -> list[float]:
        return [criterion.threshold for criterion in self.spec.criteria]

    def _look(self, race: Race, shortlist: tuple[int, ...], results: Sequence[dict[int, AttemptResult]]) -> CloserLook | None:
        """Inspect candidates of a typical configuration; None with [partition], or if there is no time left."""
        if self.spec.options.partition is not None:  # the comparison needs all rows
            return None
        attempts = [list(result.values()) for result in results]
        index = typical_configuration(shortlist, race.estimates, attempts, self.thresholds)
        seen = typical_sensitivities(attempts[index], len(self.spec.criteria))
        looks: list[CloserLook] = self._run_all("closer look", closer_look, [(self.trials, index, seen)], self.deadline)
        return looks[0] if looks else None

    def _budget(self, shortlist: Sequence[int], generation: Fraction) -> list[AttemptResult]:
        attempts = [(c, number) for number in range(BUDGET_ATTEMPTS) for c in shortlist]
        return self._tried(generation, attempts, f"generation budget {float(generation):g}")

    def _tried(self, generation: Fraction, attempts: Sequence[tuple[int, int]], phase: str) -> list[AttemptResult]:
        """Return the results of attempts, stored or newly run, as far as there is time."""
        results = {(result.configuration, result.number): result for result in self.store.results(generation)}
        missing = [attempt for attempt in attempts if attempt not in results]
        for result in self._attempts(missing, generation, phase, self.deadline):
            results[result.configuration, result.number] = result
        return [results[attempt] for attempt in attempts if attempt in results]

    def _propose(
        self, shortlist: Sequence[int], by_budget: dict[Fraction, list[AttemptResult]], aim: PlanGoal
    ) -> Proposal | None:
        """Find the cheapest rounds and generation budget. Attempts at further budgets are added to `by_budget`."""
        offers = {
            budget: first_offer(self.spec, budget, shortlist, results, aim) for budget, results in by_budget.items() if results
        }
        for generation in more_budgets(offers.values(), self.spec.budget.generation):
            by_budget[generation] = self._budget(shortlist, generation)
            if by_budget[generation]:
                offers[generation] = first_offer(self.spec, generation, shortlist, by_budget[generation], aim)
        return propose(self.spec, shortlist, offers, aim, self._tried)

    def _copies(self, shortlist: Sequence[int]) -> tuple[CopyFigures, ...]:
        comparison = self.comparison
        if not shortlist or comparison.copies < 2 or self.spec.options.partition is not None:
            return ()
        task = f"{comparison.copies} copies, known {', '.join(comparison.quasi_identifiers)}"
        figures = self._kept("utility and risk", task, copy_figures, {c: (self.trials, c, comparison) for c in shortlist})
        return tuple(CopyFigures(**figures[c]) for c in shortlist if c in figures)

    def _attacks(self, race: Race, shortlist: Sequence[int], fits: int) -> AttacksTable | None:
        counts = self.trials.counts
        if not shortlist or fits < 4 or self.spec.options.partition is not None or len(counts) < 2:
            return None
        best = most_accepted(race, shortlist)
        twins, known = Twins.of(counts), known_columns(counts, self.comparison.quasi_identifiers)
        pairs = {pair: (self.trials, twins, best, pair) for pair in range(fits // 2)}
        halves = {half: (self.trials, best, known, half) for half in range(HALVES)}
        seen = self._kept(
            "attacks: fitting twins of the public file", f"fits of {best} to twins of the public file", fit_to_twins, pairs
        )
        guesses = self._kept("attacks: halves", f"halves for {best}, known {', '.join(known)}", guess_persons, halves)
        evidence = [FitEvidence(**fit) for pair in sorted(seen) for fit in seen[pair]]
        return attack_results(self.spec, known, evidence, list(guesses.values())) if len(evidence) >= 4 else None

    def _kept(self, phase: str, task: str, run: Callable[..., Any], arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Return the results of the numbered runs of one task, stored or newly computed, as far as there is time."""
        outcomes = self.store.outcomes(task)
        missing = {number: inputs for number, inputs in arguments.items() if number not in outcomes}

        def keep(result: tuple[int, Any]) -> None:
            self.store.keep(task, *result)

        numbered = ((run, number, inputs) for number, inputs in missing.items())
        outcomes |= dict(self._run_all(phase, _numbered, numbered, self.deadline, total=len(missing), keep=keep))
        return {number: outcome for number, outcome in sorted(outcomes.items()) if number in arguments}

    def _attempts(
        self, missing: Sequence[tuple[int, int]], generation: Fraction, phase: str, deadline: float | None
    ) -> list[AttemptResult]:
        arguments = ((self.trials, chunk, generation) for chunk in chunks(missing))
        total, keep = len(missing), self.store.add
        batches = self._run_all(phase, run_attempts, arguments, deadline, total=total, keep=keep, size=len)
        return [result for batch in batches for result in batch]

    def _run_all(
        self,
        phase: str,
        action: Callable[..., Any],
        arguments: Iterable[tuple[Any, ...]],
        deadline: float | None,
        *,
        total: int = 1,
        keep: Callable[[Any], None] = lambda result: None,
        size: Callable[[Any], int] = lambda result: 1,
    ) -> list[Any]:
        """Run the tasks of one phase, and store and return their results. No further task starts if the time is up.

        Parameters
        ----------
        total : the sum of the sizes of all results, for the progress display.
        keep : a function that stores a result.
        size : a function that returns the size of a result, such as its number of attempts.
        """
        results: list[Any] = []
        done = 0
        if total and not self._late(deadline):
            self._tell(phase, done, total)
            # tasks are drawn as workers become free; when the time is used up, no more are drawn, and running tasks finish
            handed_out = (task for task in arguments if not self._late(deadline))
            try:
                with closing(running(self.request.jobs)(action, handed_out)) as finished:
                    for result in finished:
                        keep(result)
                        results.append(result)
                        done += size(result)
                        self._tell(phase, done, total)
            except KeyboardInterrupt:
                self.stopped = True
        self.lacking |= done < total
        return results

    def _tell(self, phase: str, done: int, total: int) -> None:
        self.store.tell(phase, done, total)
        self.progress(phase, done, total)

    def _late(self, deadline: float | None) -> bool:
        return self.stopped or (deadline is not None and time.monotonic() >= deadline)


def most_accepted(race: Race, shortlist: Sequence[int]) -> int:
    return max(shortlist, key=lambda configuration: race.estimates[configuration].share)


def duration(asked: RehearsalRequest, results: Sequence[Mapping[int, AttemptResult]]) -> str:
    """Say how long a rehearsal will take, estimated from the first attempts.

    The phrase is empty if the rehearsal takes less than a minute or has a time limit. Most races end after 12 attempts of
    each configuration.
    """
    seconds = [result.seconds for attempts in results for result in attempts.values()]
    of_each = BUDGET_ATTEMPTS * (len(BUDGET_FACTORS) - 1) + asked.copies
    fits = 12 * len(results) + of_each * min(asked.keep, len(results)) + asked.attacks
    mean = sum(seconds) / max(1, len(seconds))
    minutes = fits * mean / 60 / asked.jobs
    if minutes < 1 or asked.minutes:
        return ""
    attacks = f", {asked.attacks:,} of them attacks" if asked.attacks else ""
    return f"about {so_many(round(minutes), 'minute')}: {fits:,} fits of {mean:.1f} s{attacks} (--minutes sets a limit)"


def _numbered(action: Callable[..., Any], number: int, arguments: tuple[Any, ...]) -> tuple[int, Any]:
    return number, json.loads(json.dumps(action(*arguments), default=vars))


def chunks(attempts: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Divide pairs (configuration, number) into small groups with the same number, which share a private fit."""
    groups: dict[int, list[tuple[int, int]]] = {}
    for attempt in attempts:
        groups.setdefault(attempt[1], []).append(attempt)
    size = max(1, min(CHUNK, len(attempts) // 16))
    return [group[start : start + size] for group in groups.values() for start in range(0, len(group), size)]
