"""Suggested rules against row by row: none is broken by a public row, and by chance many would break it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.rules import Comparison, Domain, parse_rule
from synthrelease.enclave.ingest import read_public
from synthrelease.settings.columns import MOST_OF_RULE
from synthrelease.spec.load import load_spec
from synthrelease.studio.drafting.criteria import (
    LEAST_EXPECTED,
    MOST_NAMED,
    MOST_OF_A_PAIR,
    SURE,
    Suggestion,
    _best,
    _number,
    suggested_rules,
)
from tests.helpers.drafts import write_draft

N, SHUFFLES = 6000, 40


def people() -> pd.DataFrame:
    """No child is married or works, pensioners are 60 and older, and men are not pregnant; the state gives the region."""
    random = np.random.default_rng(5)
    age = random.integers(0, 100, N)
    sex = random.choice(["female", "male"], N)
    work = np.where(
        age < 15, "child", np.where(age >= 60, random.choice(["pension", "job"], N), random.choice(["job", "none"], N))
    )
    hours = np.where(work == "job", random.integers(1, 61, N).astype(str), "")
    married = np.where(age >= 20, random.choice(["yes", "no"], N), "no")
    pregnant = np.where((sex == "female") & (age >= 15) & (age < 50), random.choice(["yes", "no"], N, p=[0.3, 0.7]), "no")
    state = random.integers(1, 7, N)
    region = np.array(["north", "south", "west"])[(state - 1) // 2]
    return pd.DataFrame(
        {
            "age": age,
            "sex": sex,
            "work": work,
            "hours": hours,
            "married": married,
            "pregnant": pregnant,
            "state": state,
            "region": region,
        }
    )


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Suggestion], pd.DataFrame, Path]:
    folder = tmp_path_factory.mktemp("people")
    people().to_csv(folder / "public.csv", index=False)
    configuration, _, _ = write_draft("people", folder / "public.csv", folder)
    spec = load_spec(configuration)
    transformation = spec.space[0].transformation
    table = read_public(folder / "public.csv", spec.schema, spec.input, spec.raw).merge(
        transformation.layout, transformation.maps
    )
    return suggested_rules(spec.schema, transformation.binnings, table), people(), configuration


def broken(frame: pd.DataFrame, never: str) -> np.ndarray:
    """(n_rows,) which rows break the rule."""
    for word, test in (("is not missing", "notna()"), ("is missing", "isna()")):
        never = never.replace(f"hours {word}", f"hours.{test}")
    return np.asarray(frame.eval(never, engine="python"))


@pytest.mark.slow
def test_no_public_row_breaks_a_suggested_rule_and_by_chance_many_would(
    found: tuple[list[Suggestion], pd.DataFrame, Path],
) -> None:
    suggestions, frame, _ = found
    frame = frame.assign(hours=pd.to_numeric(frame["hours"]))
    assert suggestions
    at_chance: dict[str, pd.DataFrame] = {}
    for rule in suggestions:
        assert broken(frame, rule.never).sum() == 0
        left, right = rule.columns
        if right not in at_chance:
            drawn = [np.random.default_rng(seed).permutation(frame[right]) for seed in range(SHUFFLES)]
            at_chance[right] = pd.concat([frame] * SHUFFLES, ignore_index=True).assign(**{right: np.concatenate(drawn)})
        shuffled = broken(at_chance[right], rule.never).reshape(SHUFFLES, N).sum(axis=1)
        assert np.mean(shuffled) == pytest.approx(rule.expected, abs=6 * np.std(shuffled) / SHUFFLES**0.5 + 0.5), rule.never
        assert rule.expected >= LEAST_EXPECTED
        assert left != right


def test_what_a_statistician_would_forbid_is_among_them(found: tuple[list[Suggestion], pd.DataFrame, Path]) -> None:
    rules = {rule.never for rule in found[0]}
    assert "work == 'job' and hours is missing" in rules
    (idle,) = (never for never in rules if never.startswith("work") and never.endswith("and hours is not missing"))
    assert "'child'" in idle
    pairs = {frozenset(rule.columns) for rule in found[0]}
    assert {frozenset(["sex", "pregnant"]), frozenset(["age", "married"]), frozenset(["age", "work"])} <= pairs
    assert frozenset(["state", "region"]) not in pairs  # one follows from the other: a codelist
    of_pair = [sum(rule.columns == pair for rule in found[0]) for pair in {rule.columns for rule in found[0]}]
    assert max(of_pair) <= MOST_OF_A_PAIR


def test_sure_rules_stand_in_the_draft(found: tuple[list[Suggestion], pd.DataFrame, Path]) -> None:
    suggestions, _, configuration = found
    assert suggestions
    assert all(rule.expected >= SURE * N for rule in suggestions)
    text, spec = configuration.read_text(encoding="utf-8"), load_spec(configuration)
    assert {rule.never for rule in spec.rules} == {rule.never for rule in suggestions}
    for rule in suggestions:
        assert rule.never.replace('"', '\\"') in text or rule.never in text
    assert all(rule.applies_to == ("synthetic",) for rule in spec.rules)


def test_columns_may_be_left_in_peace(found: tuple[list[Suggestion], pd.DataFrame, Path]) -> None:
    spec = load_spec(found[2])
    transformation = spec.space[0].transformation
    public = found[2].parent.parent / "public.csv"
    table = read_public(public, spec.schema, spec.input, spec.raw).merge(transformation.layout, transformation.maps)
    rules = suggested_rules(spec.schema, transformation.binnings, table, ["age"])
    assert rules
    assert all("age" not in rule.columns for rule in rules)


@pytest.mark.slow
def test_a_rule_that_would_be_too_long_becomes_several_and_the_draft_loads(tmp_path: Path) -> None:
    """14 occupations of 100 letters that no pupil has: the one rule about them was refused, and with it the whole draft."""
    random, n = np.random.default_rng(3), 20_000
    titles = [f"Occupation {number:02d} of those who are paid for {'w' * 60}" for number in range(14)]
    pupil = random.random(n) < 0.4
    work = np.where(random.random(n) < 0.1, "none", np.where(pupil, "pupil", random.choice(titles, n)))
    frame = pd.DataFrame({"school": np.where(pupil, "yes", random.choice(["no", "never"], n)), "work": work})
    frame["age"] = random.integers(0, 90, n)
    frame.to_csv(tmp_path / "public.csv", index=False)
    configuration, _, _ = write_draft("work", tmp_path / "public.csv", tmp_path)
    rules = [rule.never for rule in load_spec(configuration).rules if rule.never.startswith("school == 'yes' and work in")]
    assert len(rules) > 1
    assert all(len(rule) <= MOST_OF_RULE for rule in rules)
    assert all(broken(frame, rule).sum() == 0 for rule in rules)
    listed = re.findall("Occupation [0-9]+", " ".join(rules))
    assert len(set(listed)) == len(listed) > len(titles) / 2  # a pair of columns has at most `MOST_OF_A_PAIR` rules


@pytest.mark.parametrize("value", [0.0, -3.5, 12.25, 1e15, 2.5e-7, 123456789012345.6, -1e-5])
def test_numbers_of_rules_are_written_as_rules_read_them(value: float) -> None:
    """An exponent is no number of the grammar."""
    rule = parse_rule(f"x < {_number(value)}", {"x": Domain(kind="real", bounds=(-1e15, 1e15))})
    assert isinstance(rule, Comparison)
    assert rule.value == pytest.approx(value, rel=1e-14)


def test_what_the_grammar_refuses_is_not_suggested(found: tuple[list[Suggestion], pd.DataFrame, Path]) -> None:
    schema = load_spec(found[2]).schema
    layout = Layout(columns=("work", "sex"), sizes=(4, 2))
    table = Counts.of(layout, [np.zeros(100, dtype=np.int64), np.zeros(100, dtype=np.int64)])
    pair = ("work", "sex")
    refused = ["work == 'chi", f"work == '{'c' * 1000}'", "work < 3", "nobody == 'job'"]
    texts = (*refused, "work == 'job' and sex == 'male'")
    rules = [Suggestion(never=never, columns=pair, expected=90.0) for never in texts]
    assert [rule.never for rule in _best(rules, schema, table)] == ["work == 'job' and sex == 'male'"]


def test_rules_with_one_condition_are_one_rule(tmp_path: Path) -> None:
    """Of five states four have no pay, and neighbouring ages never work: each is one rule, and true of each row."""
    random = np.random.default_rng(9)
    state = random.choice(["work", "seek", "sick", "retired", "school"], N)
    age = np.where(state == "work", random.integers(20, 60, N), random.integers(0, 100, N))
    pay = np.where(state == "work", np.round(random.uniform(5, 60, N), 1), 0.0)
    pd.DataFrame({"state": state, "age": age, "pay": pay}).to_csv(tmp_path / "public.csv", index=False)
    configuration, _, _ = write_draft("x", tmp_path / "public.csv", tmp_path, unit="row")
    rules = [rule.never for rule in load_spec(configuration).rules]
    tails = [never.rpartition(" and ")[2] for never in rules if never.startswith("state")]
    assert tails
    assert len(set(tails)) == len(tails), rules
    assert any(never.startswith("state in [") for never in rules)
    high = load_spec(configuration).schema["pay"].bounds[1]  # type: ignore[index]
    assert not any(f"pay < {high:g}" in never for never in rules)  # the last bin ends there, and has its end


@pytest.mark.slow
def test_a_rule_about_two_columns_of_very_many_values_stops_no_draft(tmp_path: Path) -> None:
    """A mask over the own values of both would have 190 million cells: no such rule is suggested."""
    random = np.random.default_rng(8)
    x = np.round(random.lognormal(4, 1.4, 8000)) + 1
    z = np.round(x * random.lognormal(0, 0.5, 8000))
    smoker = np.where(random.random(8000) < 1 / (1 + np.exp(-2 * (np.log(x) - 4))), "yes", "no")
    pd.DataFrame({"x": x, "smoker": smoker, "z": z}).to_csv(tmp_path / "public.csv", index=False)
    configuration, _, _ = write_draft("x", tmp_path / "public.csv", tmp_path, unit="row")
    assert not any("x " in rule.never and "z " in rule.never for rule in load_spec(configuration).rules)


@pytest.mark.slow
def test_no_rule_lists_more_categories_than_anybody_can_judge(tmp_path: Path) -> None:
    """Forty quarters lie in eight districts, some of them in two: thirty quarters that a district has not are no rule."""
    random = np.random.default_rng(4)
    quarter = random.integers(0, 40, 4000)
    district = np.minimum(quarter // 5 + (random.random(4000) < 0.1), 7)
    frame = pd.DataFrame({"district": np.array(list("ABCDEFGH"))[district], "quarter": [f"Quarter {q:02}" for q in quarter]})
    frame["sex"] = random.choice(["f", "m"], 4000)
    frame.to_csv(tmp_path / "public.csv", index=False)
    configuration, _, _ = write_draft("town", tmp_path / "public.csv", tmp_path, unit="row")
    rules = re.findall("never = (.*)", configuration.read_text())
    assert max((rule.count("Quarter") for rule in rules), default=0) <= MOST_NAMED
