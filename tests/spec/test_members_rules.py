"""Rules that compare numbers of members and of their root, and rules that count members, against lists of members."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from synthrelease.bundle.verify import verify_bundle
from synthrelease.bundle.write import write_bundle
from synthrelease.data.plausibility import FillerRows
from synthrelease.data.rules import Domain, RuleError, parse_rule
from synthrelease.enclave.members import count_linked_rows
from synthrelease.errors import SpecError
from synthrelease.releasing.release import release
from synthrelease.sources.source import Source
from synthrelease.spec.load import load_spec
from synthrelease.spec.members import members_in_words
from synthrelease.spec.release_spec import ReleaseSpec
from tests.helpers.households import some_households, write_households, write_tables
from tests.helpers.tiny import write_config

Person = tuple[int, str | None]
"""Age and work of a member; None where it is missing."""
Rule = Callable[[int, Sequence[Person], bool], bool]
"""Whether a household breaks a rule: its rent, its released members, and whether more may have been cut off."""

MOST = 3
RULES: dict[str, Rule] = {
    "count(work == 'yes') > 1": lambda rent, members, cut: sum(work == "yes" for _, work in members) > 1,
    "count(age >= 2) > rent": lambda rent, members, cut: sum(age >= 2 for age, _ in members) > rent,
    "count(age == 3) < rent - 2": lambda rent, members, cut: not cut and sum(age == 3 for age, _ in members) < rent - 2,
    "count(age < first.age) >= 2": lambda rent, members, cut: sum(age < members[0][0] for age, _ in members[1:]) >= 2,
    "count(not work == 'no') > 1": lambda rent, members, cut: sum(work == "yes" for _, work in members) > 1,
    "count(work is missing) == 0 and persons == 2": lambda rent, members, cut: (
        len(members) == 2 and all(work is not None for _, work in members)
    ),
    "age > first.age + 1": lambda rent, members, cut: any(age > members[0][0] + 1 for age, _ in members[1:]),
    "age < rent - 2": lambda rent, members, cut: any(age < rent - 2 for age, _ in members),
    "age == other.age and work == 'yes' and other.work == 'yes'": lambda rent, members, cut: any(
        one == other and one[1] == "yes" for place, one in enumerate(members) for other in members[:place]
    ),
}


def spec_of(folder: Path, *rules: str, more: str = "first", least: int = 0) -> ReleaseSpec:
    lines = "".join(f'[[members.rules]]\nnever = "{rule}"\n' for rule in rules)
    changes = {
        "most = 2": f'most = {MOST}\nleast = {least}\nmore = "{more}"',
        "[[generators]]": f"{lines}[[generators]]",
        "generation = 1": "generation = 8\nrows = 4",
    }
    return load_spec(write_households(folder, changes))


def households(n: int = 300, seed: int = 3) -> tuple[list[tuple[str, str, str]], list[tuple[str, str, str, str]]]:
    """Of up to four persons, one more than are released."""
    roots, members = some_households(n, seed)
    extra = [(key, "9", str(int(key) % 4), ("yes", "no", "")[int(key) % 3]) for key, _, _ in roots[::3]]
    return roots, [*members, *extra]


def kept_slowly(rules: Sequence[Rule], more: str, least: int) -> Counter[tuple[int, ...]]:
    """The wide records of the households that break no rule, by hand."""
    roots, members = households()
    found = Counter[tuple[int, ...]]()
    for key, rent, town in roots:
        own = sorted((member for member in members if member[0] == key), key=lambda member: int(member[1]))
        people: list[Person] = [(int(age), work or None) for _, _, age, work in own[:MOST]]
        if len(own) < least or (more == "drop" and len(own) > MOST) or (0, "yes") in people:
            continue
        if any(rule(int(rent), people, more == "first" and len(people) == MOST) for rule in rules):
            continue
        slots = [code for age, work in people for code in (age, {"yes": 0, "no": 1, None: 2}[work])]
        slots += [4, 2] * (MOST - len(people))
        found[(int(rent), ("here", "there").index(town), len(people) - least, *slots)] += 1
    return found


def kept(spec: ReleaseSpec, folder: Path) -> Counter[tuple[int, ...]]:
    roots, members = write_tables(folder, *households())
    found = spec.raw.filter(count_linked_rows(Source.of(roots, members=members), spec.schema, spec.input).cells)
    return Counter(map(tuple, found.expand().tolist()))


@pytest.mark.slow
@pytest.mark.parametrize(("more", "least"), [("first", 0), ("drop", 0), ("first", 1)])
def test_the_roots_that_are_kept_are_those_whose_lists_of_members_break_no_rule(more: str, least: int, tmp_path: Path) -> None:
    everybody = kept_slowly((), more, least)
    assert kept(spec_of(tmp_path, more=more, least=least), tmp_path) == everybody
    for text, rule in RULES.items():
        expected = kept_slowly([rule], more, least)
        assert 0 < expected.total() < everybody.total(), text
        assert kept(spec_of(tmp_path, text, more=more, least=least), tmp_path) == expected, text


def test_what_is_said_of_fewer_members_is_not_said_of_a_root_that_may_have_more(tmp_path: Path) -> None:
    """An equation at the cap would leave out every large family: their other members are not there to be counted."""
    for operator, shift in (("!=", 0), ("==", 0), ("<=", 1)):
        forbidden = spec_of(tmp_path, f"count(age == 3) {operator} rent - {shift}").raw.forbidden
        for rent, size, threes in product(range(4), (1, 2, 3), range(4)):
            if threes > size:
                continue
            ages = [3] * threes + [2] * (size - threes)
            row = [rent, 0, size, *(code for age in ages for code in (age, 1)), *([4, 2] * (MOST - size))]
            said = {"!=": threes != rent, "==": threes == rent, "<=": threes <= rent - shift}[operator]
            known = said if size < MOST else operator == "!=" and threes > rent
            assert forbidden([np.array([each]) for each in row])[0] == known, (operator, row)


def test_the_first_member_is_not_counted_among_the_others(tmp_path: Path) -> None:
    """Of two persons of one age one is as old as the first, of three two are."""
    forbidden = spec_of(tmp_path, "count(age == first.age) > 1").raw.forbidden
    for row, broken in (((1, 0, 2, 2, 1, 2, 1, 4, 2), False), ((1, 0, 3, 2, 1, 2, 1, 2, 1), True)):
        assert forbidden([np.array([code]) for code in row])[0] == broken


def test_public_filling_rows_follow_the_rules(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, *RULES)
    filled = FillerRows(spec.raw)
    some, more = filled.first(40), filled.first(500)
    assert not spec.raw.forbidden(more.bins).any()
    assert (some.total, more.total) == (40, 500)
    assert len(more) > 5
    with pytest.raises(SpecError, match="The rules seem to exclude every row"):
        spec_of(tmp_path, "count(age < 2) < 1", "count(age < 2) > 0", more="drop")


@pytest.mark.slow
def test_a_whole_release_of_300_households_breaks_none_of_them(tmp_path: Path) -> None:
    """Rules that count by rejection, those that compare by construction; released ages are single years here."""
    chosen = {
        text: rule for text, rule in RULES.items() if "- 2" not in text and "persons" not in text and not text.endswith(">= 2")
    }
    assert len(chosen) == 5
    spec = spec_of(tmp_path, *chosen)
    roots, members = write_tables(tmp_path, *households())
    found = release(spec, Source.of(roots, members=members))
    assert found is not None
    write_bundle(found, tmp_path / "out")
    assert [problem for check in verify_bundle(tmp_path / "out").checks for problem in check.problems] == []
    with (tmp_path / "out" / "data.csv").open(encoding="utf-8") as file:
        rents = {row["hh"]: int(row["rent"]) for row in csv.DictReader(file)}
    people: dict[str, list[Person]] = {key: [] for key in rents}
    with (tmp_path / "out" / "members.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            people[row["hh"]].append((int(row["age"]), None if row["work"] == "missing" else row["work"]))
    assert max(map(len, people.values())) == MOST
    for text, rule in chosen.items():
        assert [key for key, own in people.items() if rule(rents[key], own, len(own) == MOST)] == [], text


WRONG = {
    "count(age == 3 and other.age == 3) > 1": r"A condition inside count\(...\) must not contain other.NAME or another count",
    "count(age == 3) > 1 and work == 'yes'": r"Write columns of members only inside count\(...\) or as first.NAME: 'work'",
    "not count(age == 3) > 1": r"The word `not` cannot be before count",
    "count(age == 3 > 1": r"expected '\)'",
    "rent < count(age == 3)": r"count\(...\) must be on the left side of the comparison",
    "count(age == 3) > 3": r"is true for all possible values, or for none",
    "count(age == 3) > town": r"Only numeric columns .*'town' has the kind category",
    "age > first.wage - 1": r"The rule names 'first.wage', which neither members nor roots have",
    "age > first.age * 2": r"a column, an operator or a value",
    "age > first.age + 4": r"is true for all possible values, or for none",
    "work == first.work": r"Only numeric columns .*'work_2' has the kind category",
}


@pytest.mark.parametrize("text", WRONG)
def test_mistakes_say_what_was_expected_and_where(text: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"members\.rules.*" + WRONG[text]):
        spec_of(tmp_path, text)


def test_what_is_asked_of_a_table_neither_compares_columns_nor_counts() -> None:
    """What fills the gaps of a table, or weighs it, looks at masks alone; a question is about bins."""
    columns = {name: Domain(kind="integer", bounds=(0, 9)) for name in ("a", "b")}
    for text in ("a < b", "count(a < 3) > 0"):
        with pytest.raises(RuleError):
            parse_rule(text, columns)
        assert parse_rule(text, columns, of_records=True)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("never = \"count(year < 3, face == 'head') > 1\"", r"A rule with count\(...\) needs \[members\]"),
        (
            'never = "year > other"',
            r"'other', 'year' cannot be compared with another column or a count\. Set applies_to = \['synthetic'\]",
        ),
        ('never = "year > face"\napplies_to = ["synthetic"]', "Only numeric columns with bounds can be compared"),
    ],
)
def test_rules_for_rows_compare_columns_of_released_rows_alone(rule: str, message: str, tmp_path: Path) -> None:
    other = '[columns.other]\nkind = "integer"\nbounds = [0, 9]\nalternatives.coarse = ["<5", ">=5"]\n'
    config = write_config(tmp_path)
    text = config.read_text()
    place = text.index("[[generators]]")
    config.write_text(f"{text[:place]}{other}[[rules]]\n{rule}\n{text[place:]}")
    with pytest.raises(SpecError, match=message):
        load_spec(config)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "more than 2 members, the release uses the first 2, ordered by 'no' (ties by their released values)"),
        ({'order = ["no"]': 'order = ["age"]'}, "statistics of 'age' in the release describe only the first members"),
        ({'order = ["no"]\n': ""}, "uses the 2 whose released values come first, because [members] states no order"),
        ({"most = 2": 'most = 2\nmore = "drop"'}, "The release excludes a root with more than 2 members."),
    ],
)
def test_a_plan_says_which_members_a_release_has(changes: dict[str, str], words: str, tmp_path: Path) -> None:
    """Also where a released column, such as a date, orders them: it is allowed, and changes what its figures are about."""
    schema = load_spec(write_households(tmp_path, changes)).schema
    assert schema.linked is not None
    assert words in members_in_words(schema, schema.linked)
