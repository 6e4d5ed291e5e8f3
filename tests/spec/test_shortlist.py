"""shortlist.toml: written by a rehearsal, changed by hand, read by a release."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.errors import SpecError
from synthrelease.generators.space import Configuration
from synthrelease.privacy.selection import FiniteLaw
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.shortlist import (
    PlanTable,
    VerdictTable,
    cheaper_plan,
    judged_digest,
    known_chances,
    narrowed,
    rounds_words,
    shortlist_text,
)
from synthrelease.studio.rehearsal.advice import with_law
from tests.helpers.tiny import EPSILON, NOT_PROMISED, write_config

SPACE = {
    'alternatives.pairs = ["1-2", "3-4", "5-6", "7-8"]': 'alternatives.pairs = ["1-2", "3-4", "5-6", "7-8"]\n'
    'alternatives.halves = ["1-4", "5-8"]',
    "degree = 1\n": "degree = [1, 2]\n",
    "epsilon_split = 0.5": """epsilon_split = [0.3, 0.5]

[[generators]]
family = "privbayes"
flavour = "theta"
theta = [4, 20.5, 20]
epsilon_split = 0.3""",
    'kind = "minimum_count"\nminimum_count = 2': 'kind = "minimum_count"\nminimum_count = [2, 20]',
}
"""2 binnings, 4 + 3 generators, 2 projections: 28 configurations."""


@pytest.fixture(scope="module")
def coins(tmp_path_factory: pytest.TempPathFactory) -> ReleaseSpec:
    return load_spec(write_config(tmp_path_factory.mktemp("coins"), SPACE))


def text_of(spec: ReleaseSpec, indices: Sequence[int], title: str = "Coins") -> str:
    found = {"acceptance": 0.25, "interval": [0.0, 1.0], "attempts": 12}
    return shortlist_text(title, [{**spec.space[index].describe(), **found} for index in indices])


def descriptions(configurations: Collection[Configuration]) -> list[dict[str, object]]:
    return [configuration.describe() for configuration in configurations]


def mistakes(spec: ReleaseSpec, folder: Path, text: str) -> str:
    """What is said about a shortlist, without the name of the file."""
    (folder / "shortlist.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        narrowed(spec, folder / "shortlist.toml")
    return str(caught.value).replace(f"{folder / 'shortlist.toml'}: ", "").replace(spec.path, "coins.toml")


@settings(max_examples=30, deadline=None)
@given(chosen=st.lists(st.integers(0, 27), min_size=1, unique=True))
def test_what_is_written_is_read_back(chosen: list[int], coins: ReleaseSpec, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("written") / "shortlist.toml"
    path.write_text(text_of(coins, chosen), encoding="utf-8")
    space = narrowed(coins, path).space
    assert space.shortlist == tuple(chosen)
    assert len(space) == len(chosen)
    assert descriptions(list(space)) == descriptions([coins.space[index] for index in chosen])


def test_every_configuration_of_a_space_can_be_listed(coins: ReleaseSpec, tmp_path: Path) -> None:
    (tmp_path / "all.toml").write_text(text_of(coins, range(28)), encoding="utf-8")
    assert narrowed(coins, tmp_path / "all.toml").space.shortlist == tuple(range(28))
    assert len(coins.space) == 28


@given(title=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_title_survives(title: str, coins: ReleaseSpec) -> None:
    assert tomllib.loads(text_of(coins, [0], title))["title"] == title


@pytest.mark.parametrize("title", ["Geburten \U00020bb7 \U0001f600", "a\x7fb", 'quote " and \\ and \n line'])
def test_titles_that_json_and_toml_write_differently_survive(title: str, coins: ReleaseSpec) -> None:
    assert tomllib.loads(text_of(coins, [0], title))["title"] == title


def test_columns_and_bins_may_have_letters_of_any_language(tmp_path: Path) -> None:
    """TOML takes such names only in quotes."""
    changes = {"[columns.year]": '[columns."größe"]', "year > 6": "größe > 6", "alternatives.pairs": 'alternatives."zweier 二"'}
    spec = load_spec(write_config_utf8(tmp_path, changes))
    (tmp_path / "shortlist.toml").write_text(text_of(spec, [0]), encoding="utf-8")
    (found,) = narrowed(spec, tmp_path / "shortlist.toml").space
    assert found.transformation.choice["größe"] == "zweier 二"


def write_config_utf8(folder: Path, changes: dict[str, str]) -> Path:
    path = write_config(folder)
    text = path.read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return path


BY_HAND = """
[[configurations]]
transformation = { year = "halves", face = "categories" }
projection = { minimum_count = %s, kind = "minimum_count" }
generator = { family = "privbayes", flavour = "theta", theta = %s, epsilon_split = "3/10", selector = "permute_and_flip" }
"""


@pytest.mark.parametrize("count", ["20", "20.0", "2e1"])
@pytest.mark.parametrize("theta", ["20", "20.0", "20.00"])
def test_numbers_may_be_written_as_whole_ones_or_with_a_point(
    count: str, theta: str, coins: ReleaseSpec, tmp_path: Path
) -> None:
    """The order of the keys does not matter either."""
    (tmp_path / "hand.toml").write_text(BY_HAND % (count, theta))
    (found,) = narrowed(coins, tmp_path / "hand.toml").space
    assert found.generator.model_dump()["theta"] == 20
    assert found.projection.model_dump()["minimum_count"] == 20
    assert found.transformation.choice == {"face": "categories", "year": "halves"}


def test_configurations_may_be_taken_out_by_hand(coins: ReleaseSpec, tmp_path: Path) -> None:
    parts = text_of(coins, [3, 14, 27]).split("[[configurations]]")
    (tmp_path / "less.toml").write_text("[[configurations]]".join([parts[0], parts[1], parts[3]]))
    assert narrowed(coins, tmp_path / "less.toml").space.shortlist == (3, 27)


def test_what_was_found_out_may_be_left_out(coins: ReleaseSpec, tmp_path: Path) -> None:
    (tmp_path / "bare.toml").write_text(shortlist_text("", [coins.space[5].describe()]))
    assert narrowed(coins, tmp_path / "bare.toml").space.shortlist == (5,)


def test_the_figures_of_the_rehearsal_are_in_the_file(coins: ReleaseSpec) -> None:
    (table,) = tomllib.loads(text_of(coins, [5]))["configurations"]
    assert table == {**coins.space[5].describe(), "acceptance": 0.25, "interval": [0.0, 1.0], "attempts": 12}


def test_a_release_draws_from_the_shortlist_and_from_all_of_it(coins: ReleaseSpec, tmp_path: Path) -> None:
    """400 draws from 3: one stays out with a probability below 3 (2/3)^400 < 1e-69; 28 would show others as surely."""
    (tmp_path / "three.toml").write_text(text_of(coins, [2, 11, 27]))
    space = narrowed(coins, tmp_path / "three.toml").space
    drawn = {str(space.draw().describe()) for _ in range(400)}
    assert drawn == {str(coins.space[index].describe()) for index in (2, 11, 27)}


def test_the_plan_does_not_change(coins: ReleaseSpec, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(text_of(coins, [9]))
    assert narrowed(coins, tmp_path / "one.toml").plan == coins.plan
    assert coins.plan.total.epsilon == EPSILON


def test_a_configuration_that_the_space_does_not_have_is_refused(coins: ReleaseSpec, tmp_path: Path) -> None:
    text = text_of(coins, [1, 0, 2]).replace('"minimum_count" = 2,', '"minimum_count" = 3,')
    assert mistakes(coins, tmp_path, text) == "\n".join(
        f"configurations[{number}]: coins.toml has no such configuration. If the file was changed after the rehearsal, "
        "rehearse again."
        for number in (1, 2)
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("theta = 20,", "theta = [4, 20],"),
        ("theta = 20,", "theta = { is = 20 },"),
        ("theta = 20,", 'theta = "20",'),
        ("theta = 20,", "theta = 20, degree = 1,"),
        ("theta = 20,", ""),
        ('"halves"', '"thirds"'),
        ('"halves", face', '"halves", head'),
    ],
)
def test_every_slip_in_a_configuration_is_refused(old: str, new: str, coins: ReleaseSpec, tmp_path: Path) -> None:
    good = BY_HAND % ("20", "20")
    assert old in good
    assert mistakes(coins, tmp_path, good.replace(old, new)).startswith(
        "configurations[0]: coins.toml has no such configuration"
    )


def test_the_same_configuration_twice_is_refused(coins: ReleaseSpec, tmp_path: Path) -> None:
    """Twice the same one would be drawn twice as often."""
    text = text_of(coins, [4, 6, 4])
    assert mistakes(coins, tmp_path, text) == "configurations[2]: The shortlist has this configuration twice."


def test_an_empty_list_is_refused(coins: ReleaseSpec, tmp_path: Path) -> None:
    assert mistakes(coins, tmp_path, "configurations = []") == (
        "configurations: expected at least 1 value, found an empty list."
    )


def test_a_file_without_configurations_is_refused(coins: ReleaseSpec, tmp_path: Path) -> None:
    assert mistakes(coins, tmp_path, shortlist_text("Coins", [])) == ("configurations: This setting is required.")


def test_misspelt_keys_are_refused_with_the_name_that_is_meant(coins: ReleaseSpec, tmp_path: Path) -> None:
    text = text_of(coins, [0])
    assert mistakes(coins, tmp_path, text.replace("projection =", "projections =")) == (
        "configurations[0].projections: There is no setting 'projections' here. The settings are 'transformation', "
        "'generator', 'projection', 'acceptance', 'interval', 'attempts'. Did you mean 'projection'?"
    )
    found = mistakes(coins, tmp_path, text.replace("title =", "titel ="))
    assert found.startswith("titel: There is no setting 'titel' here. The settings are 'format', 'title', 'data', ")
    assert found.endswith(". Did you mean 'title'?")


def test_a_file_that_is_not_there_is_a_clear_error(coins: ReleaseSpec, tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        narrowed(coins, tmp_path / "none.toml")
    assert str(caught.value) == f"{tmp_path / 'none.toml'}: There is no such file."


def plans_of(spec: ReleaseSpec, *, cheaper: Fraction = Fraction(1)) -> tuple[PlanTable, PlanTable]:
    """What a rehearsal writes: the plan of the specification, and one of fewer epsilon."""
    rehearsed = PlanTable(
        epsilon=spec.plan.total.epsilon,
        generation=spec.budget.generation,
        rounds=rounds_words(spec),
        judged=judged_digest(spec.tables),
        acceptance=0.5,
        nothing=0.001,
    )
    proposed = with_law(spec, Fraction(5), FiniteLaw.of({1: Fraction("0.25"), 7: Fraction("0.75")}))
    return rehearsed, PlanTable(
        epsilon=proposed.plan.total.epsilon * cheaper,
        generation=Fraction(5),
        rounds=rounds_words(proposed),
        judged=judged_digest(spec.tables),
        acceptance=0.4,
        nothing=0.03,
        nothing_high=0.09,
        lines='[budget]\ngeneration = 5\n\n[selection]   # "instead"\nmode = "hidden_number"\n',
    )


def with_plans(spec: ReleaseSpec, folder: Path, rehearsed: PlanTable | None, proposal: PlanTable | None) -> Path:
    path = folder / "shortlist.toml"
    path.write_text(shortlist_text("Coins", [spec.space[0].describe()], None, rehearsed, proposal))
    return path


def test_both_plans_are_written_and_read_back_to_the_tenth_place(coins: ReleaseSpec, tmp_path: Path) -> None:
    rehearsed, proposal = plans_of(coins)
    path = with_plans(coins, tmp_path, rehearsed, proposal)
    found = known_chances(coins, path)
    assert found is not None
    assert found.is_of(coins)
    assert found.nothing == 0.001
    cheaper = cheaper_plan(coins, path)
    assert cheaper is not None
    assert 0 <= cheaper.epsilon - proposal.epsilon < Fraction(1, 10**9)
    assert cheaper.model_copy(update={"epsilon": 0, "lines": ""}) == proposal.model_copy(update={"epsilon": 0, "lines": ""})
    assert cheaper.lines.strip() == proposal.lines.strip()
    assert narrowed(coins, path).space.shortlist == (0,)


def test_the_chances_of_a_plan_that_was_proposed_are_those_of_the_proposal(coins: ReleaseSpec, tmp_path: Path) -> None:
    rehearsed, proposal = plans_of(coins)
    path = with_plans(coins, tmp_path, rehearsed, proposal)
    adopted = with_law(coins, Fraction(5), FiniteLaw.of({1: Fraction("0.25"), 7: Fraction("0.75")}))
    found = known_chances(adopted, path)
    assert found is not None
    assert found.nothing == 0.03
    assert cheaper_plan(adopted, path) is None
    other = with_law(coins, Fraction(6), FiniteLaw.of({1: Fraction("0.25"), 7: Fraction("0.75")}))
    assert known_chances(other, path) is None
    assert cheaper_plan(other, path) is not None


def test_a_shortlist_without_plans_or_with_a_dearer_one_warns_of_nothing(coins: ReleaseSpec, tmp_path: Path) -> None:
    assert cheaper_plan(coins, with_plans(coins, tmp_path, None, None)) is None
    assert known_chances(coins, with_plans(coins, tmp_path, None, None)) is None
    assert cheaper_plan(coins, with_plans(coins, tmp_path, *plans_of(coins, cheaper=Fraction(100)))) is None


def test_chances_that_were_found_with_other_thresholds_are_not_told(coins: ReleaseSpec, tmp_path: Path) -> None:
    """A shortlist without a verdict is drawn from all the same: its rehearsal had no time for one, or pieces of rows."""
    path = with_plans(coins, tmp_path, *plans_of(coins))
    acceptance = copy.deepcopy(coins.tables["acceptance"])
    acceptance["criteria"][0]["threshold"] /= 2
    tightened = replace(coins, tables={**coins.tables, "acceptance": acceptance})
    assert narrowed(tightened, path).space.shortlist == (0,)
    assert known_chances(coins, path) is not None
    assert known_chances(tightened, path) is None
    assert cheaper_plan(tightened, path) is None


def test_a_plan_is_known_by_its_budget_its_rounds_and_its_total(coins: ReleaseSpec) -> None:
    """A criterion that got more epsilon since the rehearsal makes another plan, and so do other rounds at the same total."""
    rehearsed, _ = plans_of(coins)
    assert rehearsed.is_of(coins)
    changes = {"epsilon": rehearsed.epsilon + 1, "generation": rehearsed.generation + 1, "rounds": "one round and no more"}
    for field, value in changes.items():
        assert not rehearsed.model_copy(update={field: value}).is_of(coins), field


TIED = {
    "hang_together": True,
    "independent_columns_pass": False,
    "pairs_off": 0.02,
    "pairs_off_if_independent": 0.1,
    "lost": (),
}
KNOWN, WHY = "\n[not_promised]\n", 'why = "It is not needed"\n'


def refused(folder: Path, acceptance: str = "", **found: object) -> list[str]:
    """What a release with this verdict is refused for; `acceptance` stands at the end of the acceptance file."""
    spec = load_spec(write_config(folder))
    with (folder / "acceptance.toml").open("a") as file:
        file.write(acceptance)
    spec = load_spec(spec.path)
    of_it = {"judged": judged_digest(spec.tables), **TIED, **found}
    text = shortlist_text("Coins", [spec.space[0].describe()], verdict=VerdictTable.model_validate(of_it))
    (folder / "verdict.toml").write_text(text)
    try:
        narrowed(spec, folder / "verdict.toml")
    except SpecError as error:
        return [f"{problem.path}: {problem.message}" for problem in error.problems]
    return []


def test_a_verdict_is_read_back_as_it_was_found(coins: ReleaseSpec) -> None:
    found = VerdictTable.model_validate({**TIED, "judged": "0" * 64, "lost": ("face:year",)})
    plans = plans_of(coins)
    read = tomllib.loads(shortlist_text("Coins", [coins.space[0].describe()], None, *plans, found))
    assert VerdictTable.model_validate(read["verdict"]) == found
    assert read["rehearsed"]["generation"]


def test_a_shortlist_that_keeps_how_columns_hang_together_is_released(tmp_path: Path) -> None:
    assert not refused(tmp_path)
    assert not refused(tmp_path, pairs_off=None)


def test_a_shortlist_that_independent_columns_pass_is_refused(tmp_path: Path) -> None:
    (told,) = refused(tmp_path, independent_columns_pass=True)
    assert told.startswith("verdict: A table with independent columns meets all criteria.")
    assert "set `dependence = true` and a `why` under [not_promised]" in told


@pytest.mark.parametrize("off", [0.1, 0.3])
def test_candidates_that_are_no_better_than_independent_columns_are_refused(off: float, tmp_path: Path) -> None:
    (told,) = refused(tmp_path, pairs_off=off)
    assert f"{off:.1%} of the rows are in a wrong cell" in told
    assert "(with independent columns, 10.0%)" in told


def test_a_lost_pair_is_refused_until_it_is_named(tmp_path: Path) -> None:
    (told,) = refused(tmp_path, lost=("face:year",))
    assert "the association of 1 pair of columns" in told
    named = told.partition("[not_promised] ")[2].partition("]")[0] + "]"
    assert not refused(tmp_path, f"{KNOWN}{named}\n{WHY}", lost=("face:year",))  # as the message says
    assert not refused(tmp_path, f'{KNOWN}pairs = ["year:face"]\n{WHY}', lost=("face:year",))  # in either order


def test_who_knows_it_may_release_it(tmp_path: Path) -> None:
    worst = {"independent_columns_pass": True, "pairs_off": 0.3, "lost": ("face:year",)}
    assert len(refused(tmp_path, **worst)) == 3
    assert not refused(tmp_path, f'{KNOWN}dependence = true\nwhy = "Single columns alone are used"\n', **worst)


def test_where_no_columns_hang_together_nothing_can_be_lost(tmp_path: Path) -> None:
    assert not refused(tmp_path, hang_together=False, independent_columns_pass=True, pairs_off=0.3)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('pairs = ["face"]', 'two columns joined by ":"'),
        ('pairs = ["face:face"]', 'two columns joined by ":"'),
        ('pairs = ["face:yaer"]\nwhy = "so"', "year"),
        ("pair = []", "pairs"),
        ("dependence = true", r"State the reason in `why`, because the card shows it"),
        ('pairs = ["face:year"]\nwhy = " "', r"State the reason in `why`, because the card shows it"),
    ],
)
def test_pairs_that_are_not_promised_are_pairs_of_columns(line: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=told):
        refused(tmp_path, f"{KNOWN}{line}\n")


@pytest.mark.parametrize(
    ("changes", "other"),
    [
        ({"threshold = 0.9": "threshold = 0.8"}, True),
        ({"degree = 1": "degree = 2"}, True),
        ({'["1-2", "3-4", "5-6", "7-8"]': '["1-4", "5-8"]'}, True),
        ({"minimum_count = 2\n\n[budget]": "minimum_count = 3\n\n[budget]"}, True),
        ({"[selection]": '[unit]\nrecords_per_person = 2\nwhy = "Two tosses"\n\n[selection]'}, True),
        ({"generation = 10": "generation = 9", "stop_probability = 0.001": "stop_probability = 0.01"}, False),
        ({'title = "Coins"': 'title = "Other coins"'}, False),
        (NOT_PROMISED, False),
    ],
)
def test_a_verdict_is_about_what_was_rehearsed_and_not_about_what_it_costs(
    changes: dict[str, str], other: bool, tmp_path: Path
) -> None:
    judged = judged_digest(load_spec(write_config(tmp_path)).tables)
    spec = load_spec(write_config(tmp_path, changes))
    verdict = VerdictTable.model_validate({**TIED, "judged": judged})
    (tmp_path / "verdict.toml").write_text(shortlist_text("Coins", [spec.space[0].describe()], verdict=verdict))
    if not other:
        assert narrowed(spec, tmp_path / "verdict.toml").space.shortlist == (0,)
        return
    with pytest.raises(
        SpecError, match="have changed since the rehearsal .*Rehearse again, and release with the new shortlist"
    ):
        narrowed(spec, tmp_path / "verdict.toml")
