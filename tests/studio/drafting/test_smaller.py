"""A draft whose fits would be no better than independent columns becomes smaller, says so, or is none."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.schema import parse_bins
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError
from synthrelease.scouting.codebook import CodebookEntry
from synthrelease.spec.load import load_spec
from synthrelease.studio.drafting import draft as drafting
from synthrelease.studio.drafting.coarser import FEW_CATEGORIES, Floor, coarser, fewer, floored, in_order, sizes, what_stays
from synthrelease.studio.drafting.column_draft import Answers, ColumnDraft
from synthrelease.studio.drafting.criteria import LEAST_KEPT, LEAST_OF_STRONGEST, MOST_OFF, DraftStanding
from synthrelease.studio.drafting.draft import Tried, _too_many
from synthrelease.studio.drafting.text import Choices, Draft
from synthrelease.studio.rehearsal.closer_look import yardsticks
from synthrelease.studio.rehearsal.dependence import Pair
from synthrelease.studio.rehearsal.plan_race import Kept, Promise
from tests.conftest import ROOT
from tests.helpers.drafts import column_alone, draft, write_draft

RANDOM = np.random.default_rng(20261123)


def survey(n: int, items: int, seed: int = 1) -> pd.DataFrame:
    """Answers on scales of five points, tied in four groups, beside columns that are tied to nothing."""
    random = np.random.default_rng(seed)
    factors = random.normal(size=(n, 4))
    table = {
        "sex": random.choice(["female", "male"], n, p=[0.53, 0.47]),
        "born_here": random.choice(["yes", "no"], n, p=[0.88, 0.12]),
        "region": random.choice(list("ABCDEFGH"), n),
        "income": np.exp(8 + 0.4 * factors[:, 0] + random.normal(0, 0.5, n)).round(-1).astype(int),
    }
    for number in range(items):
        answer = (1.0 if number % 3 else 0.5) * factors[:, number % 4] + random.normal(0, 0.7, n)
        table[f"q{number + 1}"] = np.digitize(answer, [-1.2, -0.3, 0.4, 1.3]) + 1
    return pd.DataFrame(table)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Draft]:
    """The draft of a wide survey of few rows, and the folder that it was written into."""
    folder = tmp_path_factory.mktemp("wide")
    survey(300, 10).to_csv(folder / "public.csv", index=False)
    _, _, found = write_draft("wide", folder / "public.csv", folder)
    return folder, found


@pytest.mark.slow
def test_a_wide_survey_of_few_rows_is_drafted_smaller_and_says_so(wide: tuple[Path, Draft]) -> None:
    folder, found = wide
    assert found.smaller.startswith(
        "The file has too few rows for all columns at this epsilon. In fits of all 14 columns (300 rows"
    )
    assert f"So this draft has {len(found.columns)} of the 14 columns" in found.smaller
    before, after = found.smaller.split("So this draft has")
    shares = re.compile(r"(\d+\.\d)% of the rows are in a wrong cell .* with independent columns, the share is (\d+\.\d)%\.")
    (off, alone), (now, beside) = ([float(one) for one in shares.search(text).groups()] for text in (before, after))
    assert now / beside < min(1, off / alone)
    assert 2 <= len(found.columns) <= 9
    gone = {left.source: left.because for left in found.left_out}
    assert {"sex", "born_here"} <= gone.keys()  # tied to nothing: the items that are associated stay
    assert "there are too few rows for all columns" in gone["sex"]
    text = (folder / "configs" / "wide.toml").read_text()
    assert "too few rows for all columns" in text.partition("title =")[0]


@pytest.mark.slow
def test_independent_columns_fail_the_smaller_draft(wide: tuple[Path, Draft]) -> None:
    """Of the draft as it was written, not of what was tried on the way."""
    folder, found = wide
    spec = load_spec(folder / "configs" / "wide.toml")
    public = read_public(folder / "public.csv", spec.schema, spec.input, spec.raw)
    sticks = yardsticks(spec, public, spec.space[0], 7)
    failed = [
        criterion.name
        for criterion, stick in zip(spec.criteria, sticks, strict=True)
        if stick.independent > criterion.threshold
    ]
    assert any("pairs" in name for name in failed)
    assert any("single columns" in name for name in [*(each.name for each in spec.criteria), *found.criteria.left_out])


def test_the_reason_for_fewer_columns_counts_the_rows_that_were_fitted() -> None:
    """With --unit, it counted all rows of the file."""
    standing = SimpleNamespace(bins=0.5, kept=None, tells=False)
    ground = SimpleNamespace(table=SimpleNamespace(total=115.0))
    whole = SimpleNamespace(others=0, choices=SimpleNamespace(limit=2), standing=standing, ground=ground)
    assert "In fits of all 4 columns (115 rows, epsilon 2 in all)" in _too_many(4, cast(Tried, whole))


@pytest.mark.slow
def test_two_columns_that_noise_hides_are_no_draft(tmp_path: Path) -> None:
    one = RANDOM.integers(1, 6, 40)
    pd.DataFrame({"one": one, "other": np.where(RANDOM.random(40) < 0.7, one, 3)}).to_csv(tmp_path / "few.csv", index=False)
    with pytest.raises(InputError, match=r"too few rows for all columns at this epsilon\. .* No draft was written\."):
        draft("few", tmp_path / "few.csv")


@pytest.mark.slow
def test_columns_that_do_not_hang_together_are_drafted_as_they_are(tmp_path: Path) -> None:
    """A table with independent columns is then as good as any: there is nothing that it could lose."""
    n = 4000
    table = {"sex": RANDOM.choice(["f", "m"], n), "region": RANDOM.choice(list("ABCD"), n), "days": RANDOM.integers(0, 60, n)}
    pd.DataFrame(table).to_csv(tmp_path / "loose.csv", index=False)
    found = draft("loose", tmp_path / "loose.csv")
    assert not found.smaller
    assert len(found.columns) == 3
    assert any("single columns" in each.asks for each in found.criteria.criteria)


@pytest.mark.slow
def test_a_draft_of_few_rows_has_a_criterion_that_compares_rows(tmp_path: Path) -> None:
    """Face privacy looks at released rows alone: with no other criterion `plan` and `release` refuse the draft."""
    births = pd.read_csv(ROOT / "public_data" / "births_surrogate.csv.gz", nrows=1_500, dtype=str)
    births[["mother_age", "parity", "gestation_week", "is_female"]].to_csv(tmp_path / "few.csv", index=False)
    write_draft("few", tmp_path / "few.csv", tmp_path, unit="row")
    load_spec(tmp_path / "configs" / "few.toml").check_can_fail()


def test_a_draft_with_all_columns_does_not_say_that_it_has_some() -> None:
    assert what_stays(65, 65, "") == "coarser bins"
    assert what_stays(64, 65, ": the first") == "64 of the 65 columns: the first"


def standing(*, bins: float = 0.01, judged: bool = True, **changes: object) -> DraftStanding:
    kept = {"share": 0.9, "error": 0.01, "off": 0.02, "independent": 0.1, "sample": 0.01, "strong": 3}
    return DraftStanding(bins=bins, judged=judged, kept=Kept(**{**kept, **changes}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "good"),
    [
        ({}, True),
        ({"judged": False}, False),  # no criterion tells it from independent columns
        ({"share": LEAST_KEPT + 1e-9}, True),
        ({"share": LEAST_KEPT - 1e-9}, False),
        ({"share": LEAST_OF_STRONGEST + 1e-9, "strongest_alone": True}, True),
        ({"share": LEAST_OF_STRONGEST - 1e-9, "strongest_alone": True}, False),
        ({"share": -0.01}, False),  # below independent columns there is no draft
        ({"share": 0.01, "of_all_rows": True}, True),  # how rows of persons lean is no loss of a fit
        ({"share": -0.01, "of_all_rows": True}, False),
        ({"bins": MOST_OFF + 1e-9}, False),
        ({"bins": MOST_OFF + 1e-9, "strong": 0, "judged": False}, False),
        ({"share": -1.0, "strong": 0, "judged": False}, True),  # there is nothing to lose
        ({"share": -1.0, "strong": 0, "judged": False, "off": 0.106}, False),  # but the noise
        ({"share": -math.inf}, False),
        ({"share": None, "judged": False}, True),  # weaker associations never cost more
        ({"share": None, "off": 0.1049}, True),
        ({"share": None, "off": 0.1051}, False),  # below independent columns there is no draft
    ],
)
def test_what_a_good_draft_is(changes: dict[str, object], good: bool) -> None:
    assert standing(**changes).good == good  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("at_two", "at_three", "limit"),
    [
        ({"judged": False, "share": 0.85}, {}, 2),  # more epsilon would buy only a criterion
        ({"judged": False, "share": 0.7}, {"share": 0.71}, 2),  # preserves no more
        ({"judged": False, "share": 0.7}, {"share": 0.8}, 3),
        ({"share": 0.2}, {"share": 0.3}, 3),  # at epsilon 2, too little is preserved
    ],
)
def test_a_larger_epsilon_is_drafted_only_if_it_preserves_more(
    at_two: dict[str, object], at_three: dict[str, object], limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of passengers was drafted at epsilon 5 with 77%. At epsilon 2, 85% were preserved, but no criterion had room."""

    def fitted(ground: object, total: Fraction, above: Fraction = Fraction(0)) -> Tried:
        choices = Choices(tables=(), rows=Fraction(1), limit=total)
        shown = standing(**(at_two if total == 2 else at_three))  # type: ignore[arg-type]
        rest = {"raced": None, "others": None, "acceptance": None, "ground": None, "subject": subject}
        return Tried(choices=choices, standing=shown, **rest)  # type: ignore[arg-type]

    subject = SimpleNamespace(promise=Promise(), members=None, areas=None)
    plan = SimpleNamespace(check_limit=lambda most: None)
    for name, fake in {
        "ground_of": lambda subject: None,
        "ground_that_tells": lambda ground: SimpleNamespace(subject=subject, pairs=[SimpleNamespace(cramers_v=0.5)]),
        "in_fitting_bins": fitted,
        "smaller_draft": lambda subject, whole: whole,
        "counting_marks": lambda best: best,
        "loaded": lambda *parts: SimpleNamespace(plan=plan),
    }.items():
        monkeypatch.setattr(drafting, name, fake)
    assert drafting.tried_in_steps(cast(Any, subject)).choices.limit == limit


@pytest.mark.parametrize("n_rows", [200, 650, 2_500, 100_000])
def test_counting_rows_leaves_out_at_most_a_twentieth(n_rows: int) -> None:
    """The smallest budget in steps of 0.01, and at least 0.05, for which the margin of the noisy count is a twentieth."""
    epsilon = drafting.rows_budget(n_rows)
    margins = [math.log(500) / float(epsilon - step) for step in (Fraction(0), Fraction(1, 100))]
    assert margins[0] <= n_rows / 20
    assert epsilon == Fraction(1, 20) or margins[1] > n_rows / 20


@pytest.mark.parametrize(
    ("good_at", "says"), [(5, r"epsilon 5 \(`--epsilon 5`\)\. At epsilon 2, .* about 2,500 rows"), (50, "")]
)
def test_a_refusal_says_which_epsilon_and_how_many_rows_would_do(good_at: int, says: str) -> None:
    """Of epsilon 2, tables get 1, and of epsilon 5, they get 4. So four times as many rows have as little noise."""

    def at(total: Fraction) -> object:
        return SimpleNamespace(total=total, kept=standing(share=0.9 if total >= good_at else -1.0).kept)

    race = SimpleNamespace(at=at, of_tables=lambda total: total - 1)
    ground = SimpleNamespace(race=race, table=SimpleNamespace(total=615.0))
    whole = SimpleNamespace(ground=ground, choices=SimpleNamespace(limit=Fraction(2)))
    found = drafting.what_would_help(cast(Tried, whole))
    assert re.search(says, found) if says else not found


def drafted(source: str, values: np.ndarray) -> ColumnDraft:
    texts = {str(value): int((values == value).sum()) for value in np.unique(values)}
    found = column_alone(Answers.of(source, texts, 0, CodebookEntry(number=values.dtype.kind != "U")))
    assert isinstance(found, ColumnDraft)
    return found


def table_of(columns: list[ColumnDraft], values: list[np.ndarray]) -> Counts:
    """The rows in the drafted bins, one at a time."""
    bins = []
    for column, each in zip(columns, values, strict=True):
        if column.bins:
            bins.append(np.searchsorted(column.bins.coarse, each, side="right"))
        else:
            places = {text: place for place, text in enumerate(column.common or column.codes)}
            bins.append(np.array([places.get(str(value), len(places)) for value in each]))
    sizes = tuple(column.n_bins for column in columns)
    layout = Layout(columns=tuple(column.name for column in columns), sizes=sizes)
    return Counts.of(layout, bins)


def test_coarser_bins_hold_the_same_rows_and_their_numbers_are_the_means_of_these() -> None:
    """As far as the numbers of the finer bins tell: each mean is within what rounding moved them by."""
    ages = np.clip(RANDOM.gamma(6, 8, 5000).astype(int), 0, 99)
    column = drafted("age", ages)
    (found,) = coarser([column], table_of([column], [ages]))
    assert found.bins is not None
    assert column.bins is not None
    assert found.facts is not None
    assert found.bins.coarse == column.bins.groups
    assert set(found.bins.coarse) <= set(column.bins.coarse) == set(found.bins.fine)
    limits = [-math.inf, *found.bins.coarse, math.inf]
    labels = [one.label for one in parse_bins(found.bins.texts(whole=True, weight=False)["coarse"], whole_numbers=True)]
    for low, high, label in zip(limits, limits[1:], labels, strict=False):
        rows = ages[(ages >= low) & (ages < high)]
        assert abs(found.facts.numbers[label] - rows.mean()) < 0.6


def test_coarser_categories_are_those_that_are_frequent_and_all_others() -> None:
    shares = [0.4, 0.3, 0.2, 0.03, 0.03, 0.02, 0.01, 0.01]
    letters = RANDOM.choice(list("ABCDEFGH"), 4000, p=shares)
    few = RANDOM.choice(list("xyz"), 4000, p=[0.96, 0.02, 0.02])
    columns = [drafted("letter", letters), drafted("few", few)]
    found = coarser(columns, table_of(columns, [letters, few]))
    assert found[0].common == tuple("ABC")
    assert all(code.rows >= 0.05 * 4000 for text, code in found[0].codes.items() if text in found[0].common)
    assert "this draft keeps the 3 with at least 5% of the rows" in found[0].remark
    assert found[1] == columns[1]  # three categories are few
    (again, _) = floored(found, table_of(columns, [letters, few]), Floor(share=0.35, most=3, least="a third"))
    assert again.remark.count("this draft keeps") == 1  # bins merged twice have one remark


def test_where_no_category_is_frequent_the_most_frequent_ones_are_kept_and_said_to_be_that() -> None:
    letters = RANDOM.choice(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), 4000)
    columns = [drafted("letter", letters)]
    (found,) = coarser(columns, table_of(columns, [letters]))
    assert len(found.common) == 5
    assert found.remark.endswith("; this draft keeps the 5 most frequent")


def test_codes_of_persons_with_several_rows_are_as_rare_as_their_share_of_all_rows() -> None:
    """The table counts one of eight rows of each person, and the codes all rows."""
    letters = RANDOM.choice(list("ABCDEFGH"), 8000, p=[0.4, 0.25, 0.15, 0.08, 0.05, 0.03, 0.02, 0.02])
    columns, floor = [drafted("letter", letters)], Floor(share=0.1, most=FEW_CATEGORIES, least="a tenth")
    (of_rows,), (of_persons,) = (floored(columns, table_of(columns, [some]), floor) for some in (letters, letters[::8]))
    assert of_persons.common == of_rows.common == ("A", "B", "C")


@pytest.mark.parametrize("least", [0.04, 0.1, 0.3, 0.6])
def test_bins_with_a_floor_have_so_many_rows_and_the_limits_are_those_of_narrower_bins(least: float) -> None:
    ages = np.clip(RANDOM.gamma(6, 8, 5000).astype(int), 0, 99)
    letters = RANDOM.choice(list("ABCDEFGH"), 5000, p=[0.4, 0.25, 0.15, 0.08, 0.05, 0.03, 0.02, 0.02])
    few = RANDOM.choice(list("xyz"), 5000, p=[0.96, 0.02, 0.02])
    columns = [drafted("points", ages), drafted("letter", letters), drafted("few", few)]
    floor = Floor(share=least, most=FEW_CATEGORIES, least="enough rows")
    age, letter, untouched = floored(columns, table_of(columns, [ages, letters, few]), floor)
    assert age.bins is not None
    assert columns[0].bins is not None
    assert age.bins.fine in (columns[0].bins.coarse, columns[0].bins.fine)  # the narrower ones stay, to go back
    assert set(age.bins.groups) <= set(age.bins.coarse) <= set(columns[0].bins.coarse)
    rows = table_of([age], [ages]).marginal((0,))
    if least <= 0.3:
        assert rows.min() >= least * 5000
        # no limit that is left out could come back: the two bins that it would leave are not both large enough
        for limit in set(columns[0].bins.coarse) - set(age.bins.coarse):
            limits = sorted([*age.bins.coarse, limit])
            at, more = limits.index(limit), np.bincount(np.searchsorted(limits, ages, side="right"))
            assert more[at : at + 2].min() < 2 * least * 5000
    else:  # no limit leaves so many on both sides: the one nearest to the middle
        nearest = min(columns[0].bins.coarse, key=lambda limit: abs((ages < limit).mean() - 0.5))
        assert age.bins.coarse == (nearest,)
    frequent = {text for text in np.unique(letters) if (letters == text).mean() >= least}
    assert set(letter.common) == (frequent or set("ABCDE"))  # where none is so frequent the most frequent stay
    assert untouched == columns[2]


def diagnoses(n: int) -> pd.DataFrame:
    """Four columns of thirty codes, four of them frequent, which are associated: pairs have more cells than noise leaves."""
    random = np.random.default_rng(7)
    group = random.integers(0, 4, n)
    table = {"group": np.array(list("PQRS"))[group], "sex": random.choice(["f", "m"], n)}
    for number in range(4):
        moved = (group + (random.random(n) < 0.2) * random.integers(0, 4, n)) % 4
        first = random.random(n) < 0.6
        rare = random.integers(0, 26, n)
        table[f"code_{number}"] = np.where(
            first, np.char.add("A", moved.astype(str)), np.char.add("B", np.char.zfill(rare.astype(str), 2))
        )
    return pd.DataFrame(table)


@pytest.mark.slow
def test_where_too_little_is_kept_bins_are_wider_and_the_narrower_ones_can_be_had(tmp_path: Path) -> None:
    """At half of the usual epsilon the noise of 30 times 30 codes hides how four of them are associated."""
    ages = np.random.default_rng(8).integers(0, 50, 4000)  # keep their bins, so no word about persons under 20
    diagnoses(4000).assign(age=ages).to_csv(tmp_path / "public.csv", index=False)
    configuration, _, found = write_draft("codes", tmp_path / "public.csv", tmp_path, promise=Promise(epsilon=Fraction(1)))
    assert found.smaller.startswith("In this draft the bins of 'code_0', 'code_1', 'code_2', 'code_3' were widened")
    assert ": each bin has at least 4% of the rows. Other drafts" in found.smaller
    others = [
        int(share) for share in re.findall(r"the first bins preserve (\d+)% of the associations at epsilon 1", found.smaller)
    ]
    kept = re.search(r"preserved (\d+)% of the associations in the other half", found.criteria.kept)
    assert kept is not None
    assert int(kept[1]) > max(others)
    text = configuration.read_text(encoding="utf-8")
    assert 'code_0 = ["common"]' in text
    spec = load_spec(configuration)
    configuration.write_text(text.replace('code_0 = ["common"]', 'code_0 = ["codes"]'), encoding="utf-8")
    assert len(load_spec(configuration).space[0].transformation.binning("code_0")) == 31  # with those that are not listed
    assert len(spec.space[0].transformation.binning("code_0")) == 5


def pair(one: str, other: str, beyond: float, v: float = 0.5) -> Pair:
    return Pair(columns=(one, other), distance=max(beyond, 0.02), largest_cell=0.01, cramers_v=v, beyond_chance=beyond)


def test_columns_stay_in_the_order_of_the_pairs_that_hang_together_most() -> None:
    values = {name: RANDOM.choice(list("xyz"), 300) for name in ("a", "b", "c", "d", "e")}
    columns = [drafted(name, each) for name, each in values.items()]
    pairs = [pair("a", "b", 0.05), pair("d", "c", 0.2), pair("a", "d", 0.1), pair("a", "e", 0.9, v=0.02)]
    order = in_order(columns, pairs)
    assert [column.name for column in order] == ["d", "c", "a", "b", "e"]  # e is tied to none, whatever chance made of it
    kept, gone = fewer(columns, order, 3)
    assert [column.name for column in kept] == ["a", "c", "d"]
    assert [left.source for left in gone] == ["b", "e"]


@pytest.mark.parametrize("n", [2, 3, 10, 80])
def test_sizes_fall_from_all_columns_to_two(n: int) -> None:
    for errors in (0.5, 1.2, 4.0, math.inf):
        found = list(sizes(n, errors))
        assert found[0] == n
        assert found[-1] == 2
        assert found == sorted(found, reverse=True)
        assert n == 2 or len({*found}) == len(found)  # no size is tried twice
