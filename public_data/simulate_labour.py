"""Simulate a labour force survey of a country that does not exist from a file of assumptions.

Every row is drawn from the shares and effects of ``labour_facts.toml``; no row is a person, and no figure comes from a file
of persons. The draw is seeded: the same facts, rows, seed and year give the same file, byte for byte. This script protects
nothing and needs nothing from the ``synthrelease`` package.

The survey has what such files have: codes with a codelist (``configs/codes/``), answers that are missing because nobody
asked (the wage of somebody without work), answers that are missing because nobody told (97, 98, 99, or an empty cell where
a question was not asked), combinations that cannot be, and a design weight, which depends on the record alone.

Usage: ``python public_data/simulate_labour.py --rows 80000 --seed 2024 --out public_data/labour_surrogate.csv.gz``
"""

import argparse
import gzip
import io
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

FACTS = Path(__file__).with_name("labour_facts.toml")
OLDEST = 89
EMPLOYED, UNEMPLOYED, INACTIVE = "1", "2", "3"
PERMANENT, FIXED_TERM, APPRENTICE, SELF_EMPLOYED, FAMILY = "1", "2", "3", "4", "5"
NOT_ASKED = ""
LEVELS = np.array([0, 0, 0, 1, 1, 2, 2, 3, 3])
"""Rows of the tables by education: ISCED 0 to 2, 3 and 4, 5 and 6, 7 and 8."""
EARLIEST = np.array([15, 15, 15, 17, 18, 20, 21, 22, 25])
"""The least age at which each education is finished."""

Facts = dict[str, Any]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Texts = NDArray[np.str_]


def shares(weights: ArrayLike) -> Floats:
    """Scale non-negative weights of shape ``(..., n)`` so that the last axis sums to one."""
    array = np.asarray(weights, dtype=float)
    scaled: Floats = array / array.sum(axis=-1, keepdims=True)
    return scaled


def band(starts: ArrayLike, values: Ints) -> Ints:
    """Return for each value the index of the last entry of the ascending ``starts`` that does not exceed it."""
    found: Ints = np.searchsorted(np.asarray(starts), values, side="right") - 1
    return found


def pick(probabilities: Floats, at: Floats) -> Ints:
    """Return the class of each row: ``probabilities`` (n_rows, n_classes) or (n_classes,), ``at`` (n_rows,) in (0, 1)."""
    cumulated = np.cumsum(np.broadcast_to(probabilities, (len(at), np.shape(probabilities)[-1])), axis=-1)
    classes: Ints = (at[:, None] >= cumulated[:, :-1] / cumulated[:, -1:]).sum(axis=1)
    return classes


def chance(logits: Floats) -> Floats:
    """Turn logits into probabilities."""
    probabilities: Floats = 1 / (1 + np.exp(-logits))
    return probabilities


class Survey:
    """One survey: its columns are drawn one after the other, each given what stands before it.

    Attributes
    ----------
    facts : the parsed file.
    later : years after that of the facts; its changes are those of the table ``per_year``.
    n : number of rows.
    table : the columns so far, without gaps.
    """

    def __init__(self, facts: Facts, n_rows: int, seed: int, year: int):
        if n_rows < 1:
            raise ValueError(f"--rows: expected at least 1, found {n_rows}")
        self.facts, self.n, self.year, self.later = facts, n_rows, year, year - facts["year"]
        self.random = np.random.default_rng([seed, year])
        self.table: dict[str, Any] = {}

    def draw(self, probabilities: ArrayLike) -> Ints:
        return pick(shares(probabilities), self.random.random(self.n))

    def change(self, what: str) -> float:
        return float(self.facts["per_year"][what] * self.later)

    def sampled_persons(self) -> None:
        """State, municipality, sex, age and design weight: the sample is drawn by state, and the old answer more often."""
        states, age = self.facts["states"], self.facts["age"]
        population = np.array([state["population"] for state in states], dtype=float) * 1000
        sexes = np.array([1000 - age["women_per_1000"], age["women_per_1000"]]) / 1000
        groups = sexes[:, None] * shares([age["per_1000_men"], age["per_1000_women"]])
        response = np.array(age["response"]) * (1 + self.change("response"))
        asked = np.array([state["oversampling"] for state in states])
        persons = population[:, None, None] * groups
        answers = persons * asked[:, None, None] * response
        expected = answers / answers.sum() * self.n
        cells = pick(shares(answers.ravel()), self.random.random(self.n))
        state, sex, group = np.unravel_index(cells, answers.shape)
        first = np.asarray(age["first_years"])
        years = np.diff([*first, OLDEST + 1])
        self.state, self.woman = state, sex
        self.age: Ints = first[group] + (self.random.random(self.n) * years[group]).astype(np.int64)
        self.weight = (persons / expected).ravel()[cells]
        codes = [code for each in states for code in each["municipalities"]]
        within = np.array([list(each["municipalities"].values()) for each in states], dtype=float)
        place = state * within.shape[1] + pick(shares(within[state]), self.random.random(self.n))
        self.table |= {"municipality": np.array(codes)[place], "sex": np.array(["1", "2"])[sex], "age": self.age}

    def origin_and_education(self) -> None:
        """Country of birth, and education by a score of standing that wages come from, too."""
        born, school = self.facts["birth_country"], self.facts["education"]
        by_age = np.asarray(born["per_1000_by_age"], dtype=float)[band(born["from_age"], self.age)]
        by_age[:, 1:] *= np.asarray(born["abroad_by_state"])[self.state, None] * (1 + self.change("abroad"))
        self.born = self.draw(by_age)
        self.standing = self.random.standard_normal(self.n)
        moved = self.standing + school["women"] * self.woman + np.asarray(school["born_abroad"])[self.born]
        moved += np.asarray(school["by_state"])[self.state] + self.change("education")
        table = shares(school["per_1000_by_age"])[band(school["from_age"], self.age)]
        table = np.where(self.age[:, None] >= EARLIEST, table, 0)
        self.education = pick(table, _normal_cdf(moved))
        self.table |= {
            "birth_country": np.array(born["codes"])[self.born],
            "education": np.array(school["codes"])[self.education],
        }

    def household(self) -> None:
        """Marital status, size of the household, and the place in it."""
        civil, home = self.facts["marital_status"], self.facts["household"]
        by_sex = np.array([civil["per_1000_men"], civil["per_1000_women"]], dtype=float)
        status = self.draw(by_sex[self.woman, band(civil["from_age"], self.age)])
        married, row = status == 1, band(home["from_age"], self.age)
        size = np.where(
            married,
            2 + self.draw(np.asarray(home["per_100_of_size_married"], dtype=float)[row]),
            1 + self.draw(np.asarray(home["per_100_of_size_unmarried"], dtype=float)[row]),
        )
        more = self.random.geometric(0.6, self.n) - 1
        size = np.where(size == 6, np.minimum(size + more, home["longest"]), size)
        partner = np.where(self.woman == 1, home["partner_per_1000_married_women"], home["partner_per_1000_married_men"])
        other = self.draw(np.asarray(home["per_1000_of_others"], dtype=float)[row])
        place = np.where(married, (self.random.random(self.n) * 1000 < partner).astype(int), other)
        place = np.where((place == 3) & (self.age < 30) | (place == 1) & (self.age < 18), 4, place)
        place = np.where(size == 1, 0, place)
        self.table |= {
            "household_size": size,
            "relationship": np.array(home["codes"])[place],
            "marital_status": np.array(civil["codes"])[status],
        }

    def labour_status(self) -> None:
        """Whether somebody works, looks for work and could begin soon, or neither, as the ILO defines it."""
        work = self.facts["labour_status"]
        row = band(work["from_age"], self.age)
        logits = np.where(self.woman == 1, np.take(work["employed_women"], row), np.take(work["employed_men"], row))
        for name, group in (("education", self.education), ("birth_country", self.born), ("state", self.state)):
            logits = logits + np.take(work[f"by_{name}"], group)
        self.works = self.random.random(self.n) < chance(logits + self.change("employed"))
        logits = np.take(work["unemployed"], band(work["unemployed_from_age"], self.age))
        logits = logits + work["unemployed_women"] * self.woman + np.take(work["unemployed_by_education"], self.education)
        looks = self.random.random(self.n) < chance(logits + self.change("unemployed"))
        self.unemployed = ~self.works & looks & (self.age <= work["oldest_unemployed"])
        self.table["labour_status"] = np.where(self.works, EMPLOYED, np.where(self.unemployed, UNEMPLOYED, INACTIVE))

    def occupation(self) -> None:
        """Occupation by education and sex, industry by occupation and state, and the type of employment."""
        jobs, trade, kind = self.facts["occupation"], self.facts["industry"], self.facts["contract"]
        by_sex = np.array([jobs["per_1000_men"], jobs["per_1000_women"]], dtype=float)
        table = by_sex[self.woman, LEVELS[self.education]]
        table[:, 1] *= self.age >= jobs["manager_from_age"]
        table[:, 0] *= self.age <= jobs["soldier_to_age"]
        self.major = self.draw(table)
        at = self.random.random(self.n)
        self.job = np.zeros(self.n, dtype="<U2")
        for major, codes in enumerate(jobs["codes"]):
            rows = np.flatnonzero(self.major == major)
            within = np.array([jobs["per_100_men"][major], jobs["per_100_women"][major]], dtype=float)
            self.job[rows] = np.array(codes)[pick(shares(within)[self.woman[rows]], at[rows])]
        table = np.asarray(trade["per_1000"], dtype=float)[self.major]
        table[:, 0] *= np.asarray(trade["farming_by_state"])[self.state]
        self.industry = np.array(trade["codes"])[self.draw(table)]
        table = np.asarray(kind["per_1000"], dtype=float)[band(kind["from_age"], self.age)]
        own = np.where(self.woman == 0, np.exp(kind["men_self_employed"]), 1.0)
        table[:, 3] *= own * np.where(self.major == 6, 6.0, 1.0)
        table[:, 4] *= np.where(self.major == 6, 8.0, 1.0)
        table[:, 2] *= np.isin(self.major, [3, 4, 5, 6, 7])
        table[self.major == 0, 2:] = 0.0
        self.contract = np.array(kind["codes"])[self.draw(table)]
        self.employee = self.works & np.isin(self.contract, [PERMANENT, FIXED_TERM, APPRENTICE])
        self.table |= {
            "occupation": np.where(self.works, self.job, NOT_ASKED),
            "industry": np.where(self.works, self.industry, NOT_ASKED),
            "contract": np.where(self.works, self.contract, NOT_ASKED),
        }

    def hours_and_start(self) -> None:
        """Usual hours a week, the day of the interview, and the day on which the job began."""
        hours, job = self.facts["hours"], self.facts["job"]
        row = band(hours["from_age"], self.age)
        part = np.where(self.woman == 1, np.take(hours["part_time_women"], row), np.take(hours["part_time_men"], row))
        part_time = (self.random.random(self.n) < chance(part)) & (self.contract != APPRENTICE)
        usual = np.where(
            np.isin(self.contract, [SELF_EMPLOYED, FAMILY]),
            np.asarray(hours["self_employed_hours"])[self.draw(hours["self_employed_per_100"])],
            np.where(
                part_time,
                np.asarray(hours["part_time"])[self.draw(hours["part_time_per_100"])],
                np.asarray(hours["full_time_hours"])[self.draw(hours["full_time_per_100"])],
            ),
        )
        off = np.where(self.random.random(self.n) < 0.25, np.rint(self.random.normal(0, 3, self.n)), 0).astype(int)
        self.hours = np.clip(usual + off, 1, hours["most"])
        first = np.datetime64(f"{self.year}-01-01")
        interview = first + (self.random.random(self.n) * 364).astype("timedelta64[D]")
        mean = np.where(self.contract == FIXED_TERM, job["years_mean_fixed_term"], job["years_mean"])
        longest = np.where(self.contract == APPRENTICE, job["years_apprentice"], np.inf)
        longest = np.minimum(longest, self.age - 15 + 0.9)
        # the exponential law cut off at `longest`, by its inverse
        full = 1 - np.exp(-longest / mean)
        self.years = -mean * np.log1p(-self.random.random(self.n) * full)
        days = np.floor(self.years * 365.25).astype("timedelta64[D]")
        self.table |= {
            "hours": np.where(self.works, self.hours.astype("<U2"), NOT_ASKED),
            "interview_date": np.datetime_as_string(interview),
            "job_started": np.where(self.works, np.datetime_as_string(interview - days), NOT_ASKED),
        }

    def wage(self) -> None:
        """Gross monthly wage of employees, rounded as people round it."""
        pay = self.facts["wage"]
        finished = np.array([15, 15, 16, 18, 19, 20, 22, 24, 28])[self.education]
        experience = np.clip(self.age - finished, 0, 45)
        log = pay["log_base"] + self.change("wage") + np.take(pay["by_education"], self.education)
        log = log + np.take(pay["by_major_group"], self.major) + np.take(pay["by_state"], self.state)
        linear, squared = pay["per_year_of_experience"]
        log += pay["women"] * self.woman + linear * experience + squared * experience**2
        log += pay["per_year_in_job"] * np.minimum(self.years, 30) + pay["standing"] * self.standing
        log += np.where(self.contract == FIXED_TERM, pay["fixed_term"], 0.0)
        log += np.where(self.contract == APPRENTICE, pay["apprentice"], 0.0)
        log += np.log(self.hours / self.facts["hours"]["full_time"]) + self.random.normal(0, pay["spread"], self.n)
        unit = np.asarray(pay["rounding"])[self.draw(pay["rounding_per_100"])]
        rounded = np.clip(np.rint(np.exp(log) / unit) * unit, pay["lowest"], pay["highest"])
        self.log_wage = np.log(rounded)
        self.table["wage"] = np.where(self.employee, rounded.astype(np.int64).astype(str), NOT_ASKED)

    def commute(self) -> None:
        """Minutes to work, in fives; 0 for those who work at home."""
        way = self.facts["commute"]
        log = way["log_mean"] + np.take(way["by_state"], self.state) + self.change("commute")
        minutes = np.exp(log + self.random.normal(0, way["log_spread"], self.n))
        minutes = np.clip(5 * np.rint(minutes / 5), 5, way["most"])
        at_home = self.random.random(self.n) * 1000 < np.take(way["at_home_per_1000"], self.major)
        self.table["commute"] = np.where(self.works, np.where(at_home, 0, minutes).astype(np.int64).astype(str), NOT_ASKED)

    def search(self) -> None:
        """Whether those without work look for it, and for how many weeks."""
        look = self.facts["search"]
        row = band(look["from_age"], self.age)
        asked = ~self.works & (self.age <= look["oldest_asked"])
        idly = self.random.random(self.n) * 1000 < np.take(look["looking_per_1000_inactive"], row)
        looks = asked & (self.unemployed | idly)
        weeks = self.random.exponential(np.take(look["weeks_mean"], row))
        in_months = self.random.random(self.n) * 100 < look["heaping_per_100"]
        weeks = np.where(in_months, 4 * np.rint(weeks / 4), np.rint(weeks)).clip(1, look["longest"]).astype(np.int64)
        self.table |= {
            "job_search": np.where(asked, np.where(looks, "1", "2"), NOT_ASKED),
            "search_weeks": np.where(looks, weeks.astype(str), NOT_ASKED),
        }

    def with_gaps(self) -> pd.DataFrame:
        """The table as it is delivered: a code stands where somebody was asked and did not answer."""
        frame = pd.DataFrame(self.table).astype(str)
        for name, codes in self.facts["gaps"].items():
            if name == "wage_refused_per_log":
                continue
            at, before = self.random.random(self.n), np.zeros(self.n)
            asked = frame[name].to_numpy() != NOT_ASKED
            for place, (code, per_1000) in enumerate(codes.items()):
                share = np.full(self.n, per_1000 / 1000)
                if name == "wage" and place == 0:
                    share = self._refusing(per_1000)
                frame.loc[asked & (at >= before) & (at < before + share), name] = code
                before = before + share
        frame["design_weight"] = [f"{weight:.1f}" for weight in self.weight]
        return frame

    def _refusing(self, per_1000: float) -> Floats:
        """(n_rows,) the chance to refuse the wage, the higher the higher it is."""
        rise = self.facts["gaps"]["wage_refused_per_log"]
        return chance(np.log(per_1000 / (1000 - per_1000)) + rise * (self.log_wage - self.log_wage[self.employee].mean()))


COLUMNS = (
    "municipality", "sex", "age", "household_size", "relationship", "marital_status", "education", "birth_country",
    "labour_status", "occupation", "industry", "hours", "contract", "job_started", "wage", "job_search", "search_weeks",
    "commute", "interview_date", "design_weight",
)  # fmt: skip


def _normal_cdf(scores: Floats) -> Floats:
    """The distribution function of the normal law, to seven digits (Abramowitz & Stegun 1964, 26.2.17)."""
    t = 1 / (1 + 0.2316419 * np.abs(scores))
    tail = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = tail * np.exp(-(scores**2) / 2) / np.sqrt(2 * np.pi)
    below: Floats = np.where(scores < 0, tail, 1 - tail)
    return below


def simulate(facts: Facts, n_rows: int, seed: int, year: int | None = None) -> pd.DataFrame:
    """Draw a survey of ``n_rows >= 1`` persons of 15 to 89 years, in one year from that of the facts on.

    Returns
    -------
    DataFrame of n_rows rows
        The texts of the columns in ``COLUMNS``. The weights sum to the population, on average over seeds.
    """
    survey = Survey(facts, n_rows, seed, facts["year"] if year is None else year)
    for step in (
        survey.sampled_persons, survey.origin_and_education, survey.household, survey.labour_status, survey.occupation,
        survey.hours_and_start, survey.wage, survey.commute, survey.search,
    ):  # fmt: skip
        step()
    return survey.with_gaps()[list(COLUMNS)]


def read_facts(path: Path = FACTS) -> Facts:
    """Read a file of facts."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def write_gzip_csv(table: pd.DataFrame, path: Path) -> None:
    """Write the table as gzip-compressed CSV; the header holds no name or time, so equal tables give equal bytes."""
    buffer = io.StringIO()
    table.to_csv(buffer, index=False, lineterminator="\n")
    path.write_bytes(gzip.compress(buffer.getvalue().encode("ascii"), compresslevel=9, mtime=0))


def main() -> None:
    """Read the arguments, simulate and write."""
    parser = argparse.ArgumentParser(description="Simulate a labour force survey from a file of assumptions.")
    parser.add_argument("--facts", type=Path, default=FACTS, help="TOML file of facts")
    parser.add_argument("--rows", type=int, default=80_000, help="number of persons")
    parser.add_argument("--seed", type=int, default=2024, help="seed of the draw")
    parser.add_argument("--year", type=int, help="of the survey; left out, that of the facts")
    parser.add_argument("--out", type=Path, required=True, help="gzip-compressed CSV file to write")
    arguments = parser.parse_args()
    facts = read_facts(arguments.facts)
    write_gzip_csv(simulate(facts, arguments.rows, arguments.seed, arguments.year), arguments.out)


if __name__ == "__main__":
    main()
