"""Five years of a simulated register, again and again: a series whose later years start from the release before, and five
releases without it at the same total.

    python -m tests.benchmarks.years run FOLDER --series 20 [--rows 160000]     releases; what is known so far is in FOLDER
    python -m tests.benchmarks.years report FOLDER                              the tables, from what is there

Each series is a register of its own (`public_data/simulate_years.py`, another seed) with noise of the operating system.
"Series": 2019 by `configs/years/first.toml` (epsilon 0.85), later years by `later.toml` (0.5) from the last
release that there is; 2.85 in all. "Alone": every year by the first plan with less for its tables and its test, 0.57; 2.85.
"""

from __future__ import annotations

import argparse
import pickle
import runpy
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from synthrelease.answers.estimates import trend
from synthrelease.answers.words import Term
from synthrelease.bundle.write import write_bundle
from synthrelease.data.counts import Counts
from synthrelease.data.schema import Transformation
from synthrelease.enclave.ingest import read_public
from synthrelease.published import PublishedRelease, load
from synthrelease.releasing.release import release
from synthrelease.resources import resource
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec

YEARS = (2019, 2020, 2021, 2022, 2023)
ALONE = {"generation = 0.59": "generation = 0.33", "limit = 0.85": "limit = 0.57", "test_epsilon = 0.22": "test_epsilon = 0.2"}
"""What is less in a plan of 0.57 than in that of 0.85."""

SHARES = {
    "preterm": ("gestation_week", lambda label: label in ("<29", "29-31", "32-33", "34-36")),
    "mothers of 35 and more": ("mother_age", lambda label: label in ("35-39", "40-42", "43-44", ">44")),
    "first births": ("parity", lambda label: label == "1"),
    "below 2,500 grams": ("birth_weight", lambda label: label == "<1500" or (label[0] in "12" and int(label[:4]) < 2500)),
}
PAIRS = {
    "preterm of mothers of 35 and more": ("preterm", "mothers of 35 and more"),
    "below 2,500 grams of preterm": ("below 2,500 grams", "preterm"),
}
"""A share among those of another one: no later year measures these two columns together."""
QUESTIONS = {
    "preterm": "share gestation_week < 37",
    "mothers of 35 and more": "share mother_age >= 35",
    "first births": "share parity == 1",
    "below 2,500 grams": "share birth_weight < 2500",
}


@dataclass(frozen=True, kw_only=True)
class Year:
    """One year by one plan: what was released, if anything, without its rows; and shares, of the file and of these rows."""

    series: int
    year: int
    plan: str
    epsilon: float
    truth: dict[str, float]
    rows: dict[str, float] | None
    published: PublishedRelease | None
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Told:
    """What the noisy tables of one series say of a share: each year's estimate, and each change with its interval.

    Attributes
    ----------
    levels : by year.
    changes : from year, to year, estimate, low, high; from each released year to the next one, and from the first to the last.
    level, precise : estimate, low and high of the level of all years by rows, and by precision; with the weight of each year.
    """

    levels: dict[int, float]
    changes: tuple[tuple[int, int, float, float, float], ...]
    level: tuple[float, float, float, tuple[float, ...]]
    precise: tuple[float, float, float, tuple[float, ...]]


def shares(table: Counts, transformation: Transformation) -> dict[str, float]:
    """All shares of a table on released bins."""
    meets = {}
    for name, (column, test) in SHARES.items():
        place = transformation.layout.index(column)
        holds = np.array([test(label) for label in transformation.binnings[place].labels])
        meets[name] = holds[table.digits(place)]
    found = {name: float(table.counts[mask].sum() / table.total) for name, mask in meets.items()}
    for name, (one, among) in PAIRS.items():
        both = meets[one] & meets[among]
        found[name] = float(table.counts[both].sum() / table.counts[meets[among]].sum())
    return found


def specification(folder: Path, year: int, plan: str, before: Path | None) -> ReleaseSpec:
    """The plan of a year, its paths made whole."""
    first = before is None
    text = resource(f"configs/years/{'first' if first else 'later'}.toml").read_text(encoding="utf-8")
    text = text.replace('"../births.toml"', f'"{resource("configs/births.toml")}"')
    text = text.replace('"../../acceptance/', f'"{resource("acceptance/births.toml").parent}/')
    if before is not None:
        text = text.replace('"births-2019', f'"{before}')
    text = text.replace(f"year = {YEARS[0] if first else YEARS[1]}\n", f"year = {year}\n")
    for old, new in ALONE.items() if plan == "alone" else ():
        text = text.replace(old, new)
    path = folder / f"{plan}-{year}.toml"
    path.write_text(text, encoding="utf-8")
    return load_spec(path)


def one_series(number: int, rows: int, out: Path) -> None:
    """Five years by both plans; each is kept as soon as it is there."""
    simulate = runpy.run_path(str(resource("public_data/simulate_years.py")))
    facts, changes = simulate["read_facts"]()
    with TemporaryDirectory() as name:
        folder, before = Path(name), None
        for year in YEARS:
            data = folder / f"births-{year}.csv"
            simulate["simulate"](facts, changes, year, rows, number).to_csv(data, index=False)
            truth: dict[str, float] = {}
            for plan in ("series", "alone"):
                started = time.process_time()
                spec = specification(folder, year, plan, before if plan == "series" else None)
                found = release(spec, data)
                seconds = time.process_time() - started
                (transformation,) = spec.space.transformations
                if not truth:
                    kept = read_public(data, spec.schema, spec.input, spec.raw, spec.unit)
                    truth = shares(kept.merge(transformation.layout, transformation.maps), transformation)
                published = None
                if found is not None:
                    released = write_bundle(found, folder / f"{plan}-{year}")
                    published = load(released)
                    published = replace(published, codes=published.codes[:0])
                    before = released if plan == "series" else before
                made = Year(
                    series=number,
                    year=year,
                    plan=plan,
                    epsilon=float(spec.plan.total.epsilon),
                    truth=truth,
                    rows=None if found is None else shares(found.candidate.counts, transformation),
                    published=published,
                    seconds=seconds,
                )
                with (out / f"{number}-{plan}-{year}.pickle").open("wb") as file:
                    pickle.dump(made, file)
    for plan in ("series", "alone"):
        told_of(number, plan, out)


def told_of(number: int, plan: str, out: Path) -> dict[str, Told]:
    """What a reader learns of a series, kept beside its years."""
    path, found = out / f"{number}-{plan}.told", {}
    if path.is_file():
        return pickle.loads(path.read_bytes())  # type: ignore[no-any-return]  # noqa: S301
    every = [pickle.loads((out / f"{number}-{plan}-{year}.pickle").read_bytes()) for year in YEARS]  # noqa: S301
    years = [one for one in every if one.published is not None]
    for name, question in QUESTIONS.items() if len(years) > 1 else ():
        named = [replace(one.published, folder=Path(str(one.year))) for one in years]
        by_rows, precise = (trend(named, question, weights=weights) for weights in ("rows", "precision"))  # type: ignore[arg-type]
        pairs = [*zip(years, years[1:], strict=False), *([(years[0], years[-1])] if len(years) > 2 else [])]
        sizes = [one.published.n_rows for one in years]
        precisions = [1 / (term.standard_error or 1) ** 2 for term in precise.terms[: len(years)]]
        found[name] = Told(
            levels={one.year: term.estimate or 0.0 for one, term in zip(years, by_rows.terms, strict=False)},
            changes=tuple(
                (before.year, after.year, term.estimate or 0.0, term.low or 0.0, term.high or 0.0)
                for (before, after), term in zip(pairs, by_rows.contrasts, strict=True)
            ),
            level=_level(by_rows.terms[-1], sizes),
            precise=_level(precise.terms[-1], precisions),
        )
    path.write_bytes(pickle.dumps(found))
    return found


def _level(term: Term, weights: list[float]) -> tuple[float, float, float, tuple[float, ...]]:
    return term.estimate or 0.0, term.low or 0.0, term.high or 0.0, tuple(one / sum(weights) for one in weights)


def main() -> None:
    """Run, or report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--series", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--rows", type=int, default=160_000)
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)
    if arguments.what == "run":
        for number in range(arguments.first, arguments.first + arguments.series):
            one_series(number, arguments.rows, arguments.folder)
    else:
        report(arguments.folder)


def read(folder: Path) -> list[Year]:
    """All that is there, of series that are complete."""
    found: list[Year] = []
    for path in sorted(folder.glob("*.pickle")):
        with path.open("rb") as file:
            found.append(pickle.load(file))  # noqa: S301
    return found


def report(folder: Path) -> None:
    """Success, errors of shares and of their changes, and how often intervals held them; Markdown."""
    found = read(folder)
    whole = sorted(
        number for number in {one.series for one in found} if sum(one.series == number for one in found) == 2 * len(YEARS)
    )
    found = [one for one in found if one.series in whole]
    table = {(one.series, one.year, one.plan): one for one in found}
    told = {(number, plan): told_of(number, plan, folder) for number in whole for plan in ("series", "alone")}
    lines = [f"{len(whole)} series; {sum(one.seconds for one in found):.0f} processor seconds for the releases.", ""]
    lines += ["| plan | " + " | ".join(map(str, YEARS)) + " | all | five of five |", "|---|" + "---|" * (len(YEARS) + 2)]
    for plan in ("series", "alone"):
        done = [[table[number, year, plan].rows is not None for year in YEARS] for number in whole]
        made, sums = sum(map(sum, done)), np.sum(done, axis=0)
        lines.append(
            f"| {plan} | " + " | ".join(map(str, sums)) + f" | {made} of {len(whole) * len(YEARS)} | {sum(map(all, done))} |"
        )
    lines += ["", "| share | plan | level: rows | level: estimate | change: rows | change: estimate | held | width |"]
    lines += ["|" + "---|" * 8]
    for name in (*SHARES, *PAIRS):
        for plan in ("series", "alone"):
            years = {number: [table[number, year, plan] for year in YEARS] for number in whole}
            lines.append(f"| {name} | {plan} | " + " | ".join(_figures(years, told, name, plan)) + " |")
    lines += ["", *(f"{plan}: {_held(table, told, plan)}" for plan in ("series", "alone"))]
    sys.stdout.write("\n".join(lines) + "\n")


def _figures(years: dict[int, list[Year]], told: dict[tuple[int, str], dict[str, Told]], name: str, plan: str) -> list[str]:
    """Mean absolute errors in percentage points, of levels and of changes to the year before, and the intervals of changes."""
    rows, levels, moved, changes, held, widths = ([] for _ in range(6))
    for number, every in years.items():
        there = [one for one in every if one.rows is not None]
        truth = {one.year: one.truth[name] for one in every}
        rows += [abs(one.rows[name] - truth[one.year]) for one in there if one.rows is not None]
        for before, after in zip(there, there[1:], strict=False):
            if before.rows is not None and after.rows is not None:
                moved.append(abs(after.rows[name] - before.rows[name] - truth[after.year] + truth[before.year]))
        said = told[number, plan].get(name)
        if said is None:
            continue
        levels += [abs(estimate - truth[year]) for year, estimate in said.levels.items()]
        for old, new, estimate, low, high in said.changes[: len(there) - 1]:
            true = truth[new] - truth[old]
            changes.append(abs(estimate - true))
            held.append(low <= true <= high)
            widths.append(high - low)

    def mean(errors: list[float]) -> str:
        return f"{100 * float(np.mean(errors)):.3f}" if errors else "-"

    share = f"{sum(held)} of {len(held)} ({np.mean(held):.1%})" if held else "-"
    return [mean(rows), mean(levels), mean(moved), mean(changes), share, mean(widths)]


def _held(table: dict[tuple[int, int, str], Year], told: dict[tuple[int, str], dict[str, Told]], plan: str) -> str:
    """How often intervals held: changes from the first to the last year, and levels of all years."""
    first_last, level, precise = [], [], []
    for (number, of), by_name in told.items():
        for name, said in by_name.items() if of == plan else ():
            truth = {year: table[number, year, plan].truth[name] for year in YEARS}
            if len(said.levels) > 2:
                old, new, _, low, high = said.changes[-1]
                first_last.append(low <= truth[new] - truth[old] <= high)
            for into, (_, low, high, weights) in ((level, said.level), (precise, said.precise)):
                into.append(low <= sum(w * truth[year] for w, year in zip(weights, said.levels, strict=True)) <= high)
    named = {"first to last year": first_last, "level by rows": level, "level by precision": precise}
    return "; ".join(f"{what} {sum(held)} of {len(held)} ({np.mean(held):.1%})" for what, held in named.items() if held)


if __name__ == "__main__":
    main()
