"""What a draft costs: the cheapest plan that keeps enough, as fits to the public file show it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.errors import InputError
from synthrelease.generators.base import Background
from synthrelease.generators.marginals import GaussianMarginals
from synthrelease.generators.measured_noise import DiscreteLaplace, RoundedGaussian, cube_sd
from synthrelease.privacy.charges import gaussian
from synthrelease.privacy.curves import epsilon_of
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.spec.load import load_spec
from synthrelease.studio.baselines.base import independent_columns
from synthrelease.studio.drafting import draft as drafting
from synthrelease.studio.drafting import draft as drafts
from synthrelease.studio.drafting.coarser import FLOORS, floored
from synthrelease.studio.drafting.columns import drafted_columns
from synthrelease.studio.drafting.draft import (
    Ground,
    Tried,
    candidates_of,
    ground_of,
    in_order_of_use,
    means_budget,
    without_delta,
)
from synthrelease.studio.drafting.options import AS_KEY, UnitAnswer
from synthrelease.studio.drafting.public_file import read_public_file
from synthrelease.studio.drafting.text import Subject, Voice
from synthrelease.studio.rehearsal import plan_race
from synthrelease.studio.rehearsal.closer_look import halves
from synthrelease.studio.rehearsal.dependence import Pair, TellingTables, strongest_pairs
from synthrelease.studio.rehearsal.plan_race import (
    CLEARLY,
    DELTA,
    ENOUGH,
    Comparison,
    HeldOut,
    Kept,
    PlanRace,
    Promise,
    Raced,
    is_it_worth_it,
    race_words,
    rounded_down,
)
from tests.helpers.drafts import write_draft

OTHERS = Fraction(3, 10)
ANY_CHARGE = gaussian("generation", Fraction(1), "a fit to public rows")


def table(rows: int, columns: int = 6, bins: int = 5) -> Counts:
    """A chain of columns, each of which mostly repeats the one before."""
    random = np.random.default_rng(rows)
    digits = [random.integers(0, bins, rows)]
    for _ in range(columns - 1):
        digits.append(np.where(random.random(rows) < 0.8, digits[-1], random.integers(0, bins, rows)))
    layout = Layout(columns=tuple(f"c{place}" for place in range(columns)), sizes=(bins,) * columns)
    return Counts.of(layout, digits)


def race(counts: Counts, promise: Promise | None = None) -> PlanRace:
    rules, pairs = Plausibility(layout=counts.layout, masks=()), strongest_pairs(counts)
    sides = halves(counts, SeededEntropy(1, 11).generator())
    held_out = HeldOut(fitted=sides, comparison=Comparison(sides, pairs, set(), 1))
    return PlanRace(counts, held_out, rules, pairs, (), set(), promise or Promise(), lambda total: OTHERS, 1)


def frame(rows: int) -> pd.DataFrame:
    counts = table(rows)
    digits = np.repeat(np.stack(counts.bins, axis=1), counts.counts, axis=0)
    return pd.DataFrame(np.array(list("vwxyz"))[digits], columns=list(counts.layout.columns))


@pytest.fixture(scope="module")
def drafted(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    folder = tmp_path_factory.mktemp("race")
    frame(20_000).to_csv(folder / "public.csv", index=False)

    def made(name: str, promise: Promise) -> Path:
        configuration, _, _ = write_draft(name, folder / "public.csv", folder, unit="row", promise=promise)
        return configuration

    return made


@pytest.mark.slow
def test_more_rows_take_less_epsilon() -> None:
    races = {rows: race(table(rows)) for rows in (250, 8_000, 60_000)}
    plans = {rows: one.cheapest(Fraction(2)) for rows, one in races.items()}
    assert plans[8_000].total >= plans[60_000].total
    assert plans[60_000].total < 2
    assert plans[250].share < ENOUGH <= plans[60_000].share
    # a generator that finds its own tables publishes none: it is tried where the others keep too little
    assert races[60_000].unpublished_if_better(plans[60_000]) is plans[60_000]


@pytest.mark.slow
def test_nothing_cheaper_than_what_was_not_enough() -> None:
    counts = table(60_000)
    assert race(counts).cheapest(Fraction(2), Fraction(7, 5)).total == 2
    assert race(counts).cheapest(Fraction(2)).total < Fraction(7, 5)


def test_a_half_keeps_all_of_itself_and_independent_columns_keep_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The figure of a fit that gives back its rows is 1, and that of one whose columns are drawn one by one 0: not beside the
    rows that were fitted, but beside the others, as a slow count of these has it."""
    counts, random = table(12_000), np.random.default_rng(5)
    one = race(counts)
    raced = one.at(Fraction(2))
    for share, made in ((1.0, lambda rows: rows), (0.0, lambda rows: independent_columns(rows, random))):
        monkeypatch.setattr(plan_race, "_drawn", lambda generator, charge, rows, *more, made=made: made(rows))
        kept = one.trial(raced, final=True)
        assert kept is not None
        assert kept.share == pytest.approx(share, abs=0.02)
        left, right = one.held_out.fitted
        names = [pair.columns for pair in strongest_pairs(counts)]
        off = [_mean_distance(there, made(here), names) for here, there in ((left, right), (right, left))]
        assert kept.off == pytest.approx(np.mean(off), abs=0.002)
        strong = [pair for pair in strongest_pairs(counts) if pair.strong]
        assert kept.strong == len(strong)
        assert len(kept.lost) == (0 if share else len(strong))


def test_a_plan_that_is_clearly_below_the_wanted_share_is_fitted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, random = table(12_000), np.random.default_rng(5)
    one = race(counts)
    monkeypatch.setattr(plan_race, "_drawn", lambda generator, charge, rows, *more: independent_columns(rows, random))
    told = TellingTables(tables=((0,), (1,)), lost=())
    for total, least, n_fits in ((1, 0.5, 1), (2, -0.02, 2), (Fraction(7, 5), -math.inf, 2)):
        plan = one.fitted(Fraction(total), told, least)
        assert plan.kept is not None
        assert plan.kept.fits == n_fits
    assert one.cheapest(Fraction(1), told=told, least=0.5).total == 1  # no cheaper plan is tried


@pytest.mark.slow
def test_wider_bins_are_compared_in_the_narrower_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit that gives back its rows in wider bins keeps less than all there, by a slow count of rows in narrower bins."""
    counts = table(6_000, columns=3, bins=6)
    places = np.array([0, 0, 1, 1, 2, 2])
    layout = replace(counts.layout, sizes=(3, 3, 3))
    narrow = race(counts)
    held_out = narrow.held_out.in_bins(layout, [places] * 3)
    merged = [side.merge(layout, [places] * 3) for side in narrow.held_out.fitted]
    for mine, theirs in zip(held_out.fitted, merged, strict=True):
        assert same_rows(mine, theirs)
    monkeypatch.setattr(plan_race, "_drawn", lambda generator, charge, rows, *more: rows)
    off, sides = [], narrow.held_out.fitted
    for here, there in ((0, 1), (1, 0)):
        for a, b in combinations(range(3), 2):
            true, spread = sides[there].marginal((a, b)) / sides[there].total, np.zeros((6, 6))
            rows, whole = merged[here].marginal((a, b)) / merged[here].total, [counts.marginal((c,)) for c in (a, b)]
            for i, j in product(range(6), range(6)):
                shares = [margin[k] / margin[places == places[k]].sum() for margin, k in zip(whole, (i, j), strict=True)]
                spread[i, j] = rows[places[i], places[j]] * shares[0] * shares[1]
            off.append(np.abs(true - spread).sum() / 2)
    raced = narrow.at(Fraction(2))
    background = Background(plausibility=Plausibility(layout=layout, masks=()), ordered=())
    kept = held_out.fit_and_compare(narrow.generator(raced.told, raced.purse), ANY_CHARGE, background, print)
    assert kept is not None
    assert kept.in_first_bins
    assert "in the narrower bins of the first draft" in kept.words
    assert kept.off == pytest.approx(np.mean(off), abs=1e-9)
    assert (kept.share or 1) < 0.9 < narrow.at(Fraction(2)).share  # narrow fits give back all of their rows here


def same_rows(one: Counts, other: Counts) -> bool:
    return dict(zip(zip(*map(tuple, one.bins), strict=True), one.counts.tolist(), strict=True)) == dict(
        zip(zip(*map(tuple, other.bins), strict=True), other.counts.tolist(), strict=True)
    )


def codes(rows: int, seed: int = 7) -> pd.DataFrame:
    """Columns of numbers and of codes that hang on two hidden numbers: pairs have more cells than noise leaves."""
    random = np.random.default_rng(seed)
    hidden = random.normal(size=(rows, 2))
    found = {}
    for place in range(6):
        value = hidden[:, place % 2] + random.normal(0, 0.6, rows)
        found[f"q{place}"] = (value * 10 + 50).round().astype(int) if place % 3 else np.digitize(value, np.linspace(-2, 2, 20))
    return pd.DataFrame(found)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [2_000, 6_000, 16_000])
def test_no_draft_that_could_be_tried_beats_the_one_that_is_written(tmp_path: Path, rows: int) -> None:
    """All bins at all epsilons, each with tables that are looked for anew: none keeps more for less."""
    codes(rows).to_csv(tmp_path / "codes.csv", index=False)
    held = list[Ground]()

    def noted(*asked: object, tried: Callable[..., Tried] = drafts.in_fitting_bins) -> Tried:
        held.append(asked[0])  # type: ignore[arg-type]
        return tried(*asked)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drafts, "in_fitting_bins", noted)
        configuration, _, written = write_draft("codes", tmp_path / "codes.csv", tmp_path, unit="row")
    first, limit = held[0], load_spec(configuration).budget.limit
    assert limit is not None
    chosen = in_order_of_use(candidates_of(first, Fraction(2), Fraction(0)))[0]
    assert chosen.raced.total == limit <= 2
    assert ("wider bins" in written.smaller) == bool(chosen.least)
    everything = [first]
    for floor in FLOORS:
        wider = floored(first.subject.columns, first.table, floor)
        everything.append(ground_of(replace(first.subject, columns=wider), first))
    for ground in everything:
        for total in (Fraction(1, 2), Fraction(7, 10), Fraction(1), Fraction(7, 5), Fraction(2)):
            assert total >= limit or ground.race.at(total).share <= chosen.raced.share + CLEARLY


def test_counts_in_wider_bins_are_those_read_from_the_file(tmp_path: Path) -> None:
    """The counts in narrower bins are merged. They equal the counts of the rows of the file."""
    codes(600).to_csv(tmp_path / "codes.csv", index=False)
    file = read_public_file(tmp_path / "codes.csv")
    columns, left_out, *_ = drafted_columns(file, {})
    voice = Voice(lambda doing: None)
    first = ground_of(Subject(name="codes", file=file, columns=tuple(columns), left_out=tuple(left_out), voice=voice))
    for floor in FLOORS:
        wider = replace(first.subject, columns=floored(first.subject.columns, first.table, floor))
        merged, read = ground_of(wider, first).table, ground_of(wider).table
        assert merged.layout == read.layout
        assert merged.counts.tolist() == read.counts.tolist()
        assert [bins.tolist() for bins in merged.bins] == [bins.tolist() for bins in read.bins]


def begun(path: Path, key: str) -> Ground:
    file = read_public_file(path)
    columns, left_out, dated, _ = drafted_columns(file, {}, key, AS_KEY)
    unit = UnitAnswer.of(key, file.columns).ordered(file, dated, {})
    subject = Subject(
        name="visits", file=file, columns=tuple(columns), left_out=tuple(left_out), voice=Voice(lambda doing: None), unit=unit
    )
    return ground_of(subject)


def test_rows_of_persons_are_judged_by_all_rows_of_other_persons(tmp_path: Path) -> None:
    """Of each half of the persons a release has one row of each, and the other half is compared with all of its rows. The bits
    of a person's number stand in each of her rows, so that a slow count of cells tells whose rows they are."""
    random = np.random.default_rng(4)
    times = random.integers(1, 6, 256)
    who = np.repeat(np.arange(256), times)
    bits = {f"bit{place}": np.array(["no", "yes"])[who >> place & 1] for place in range(8)}
    table = pd.DataFrame({"person": [f"p{number}" for number in who], **bits, "visit": random.choice(list("abc"), len(who))})
    table.sample(frac=1, random_state=1).to_csv(tmp_path / "visits.csv", index=False)
    ground = begun(tmp_path / "visits.csv", "person")
    held_out, names = ground.race.held_out, ground.table.layout.columns
    assert {*names} == {*bits, "visit"}
    assert held_out.of_all_rows
    places = [names.index(name) for name in bits]
    persons = [
        dict(zip(zip(*(side.project(places).bins), strict=True), side.project(places).counts, strict=True))
        for side in (*held_out.fitted, *held_out.comparison.sides)
    ]
    for side, whole in zip(persons[:2], persons[2:], strict=True):
        assert side.keys() == whole.keys()  # the same persons are fitted and, with all of their rows, compared
        assert set(side.values()) == {1}
    assert not persons[0].keys() & persons[1].keys()  # nobody is in both halves
    assert sum(map(len, persons[:2])) == 256
    assert sorted([*persons[2].values(), *persons[3].values()]) == sorted(times.tolist())


def test_what_is_kept_is_said_beside_another_sample() -> None:
    assert "preserved 60% of the associations in the other half (100%: another sample" in kept(0.6).words
    assert "all rows of the persons in the other half" in replace(kept(0.6), of_all_rows=True).words
    assert "all rows of the persons" not in kept(0.6).words


def test_what_fits_lost_is_said_also_without_a_share() -> None:
    """`plan` listed lost pairs below a sentence on a file with too few rows to tell anything."""
    few = "The public file has too few rows to estimate how much of the associations a release preserves."
    pair = Pair(columns=("a", "b"), distance=0.1, largest_cell=0.1, cramers_v=0.5, beyond_chance=1)
    assert replace(kept(0.6), share=None).words == few
    assert "used 20,000 rows drawn at random" in replace(kept(0.6), share=None, drawn=20_000).words
    assert replace(kept(0.6), share=None, lost=(pair,)).words.startswith(f"{few} The fits lost ")


@pytest.mark.slow
def test_rows_of_persons_that_are_worse_than_independent_columns_are_no_draft(tmp_path: Path) -> None:
    """The ill have many rows each, and one row of each person tells little of all rows."""
    random = np.random.default_rng(8)
    times = random.choice([1, 12], 1_500)
    ill = np.repeat(times > 1, times)
    states = {f"state{k}": np.where(random.random(len(ill)) < np.where(ill, 0.8, 0.2), "yes", "no") for k in range(4)}
    table = pd.DataFrame({"person": np.repeat(np.arange(1_500), times), **states})
    table.to_csv(tmp_path / "panel.csv", index=False)
    with pytest.raises(
        InputError,
        match=r"resemble all rows less than a table of independent columns does\. .* differ most .*`--unit person:3`",
    ):
        write_draft("panel", tmp_path / "panel.csv", tmp_path, unit="person")


@pytest.mark.slow
def test_rows_of_persons_are_drawn_at_random_where_the_first_ones_are_others(tmp_path: Path) -> None:
    """The first of four visits has another state than later ones: one of each person at random is as all rows are."""
    random = np.random.default_rng(9)
    visit = np.tile(np.arange(4), 1_000)
    table = {
        "person": np.repeat(np.arange(1_000), 4),
        "day": (pd.Timestamp("2020-01-01") + pd.to_timedelta(visit * 300 + random.integers(0, 90, 4_000), "D")).astype(str),
        "state": np.array(list("abcd"))[visit],
        "drug": np.where(random.random(4_000) < 0.5, np.array(list("pqrs"))[visit], random.choice(list("pqrs"), 4_000)),
    }
    pd.DataFrame(table).to_csv(tmp_path / "stays.csv", index=False)
    configuration, _, written = write_draft("stays", tmp_path / "stays.csv", tmp_path, unit="person")
    assert load_spec(configuration).unit.first_by == "random"
    assert written.unit is not None
    assert "The draft releases random rows" in written.unit.doubt


@dataclass(frozen=True)
class Asked:
    unit: UnitAnswer


@pytest.mark.parametrize(("of_first", "chosen"), [(0.5, ()), (0.78, ("record",)), (None, ())])
def test_the_first_rows_of_persons_are_drafted_where_random_ones_are_no_better(
    of_first: float | None, chosen: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the number of the stay, 35% of the released stays were in the first quarter, instead of 24%, and half was lost."""

    def ground(subject: Asked) -> SimpleNamespace:
        share = of_first if subject.unit.first_by else 0.8
        held_out = SimpleNamespace(of_all_rows=True, kept_without_noise=lambda: share)
        return SimpleNamespace(subject=subject, race=SimpleNamespace(held_out=held_out), biased_column="month")

    monkeypatch.setattr(drafting, "ground_of", ground)
    found = drafting.ground_that_tells(cast(Ground, ground(Asked(UnitAnswer(key="patient", first_by=("record",))))))
    assert cast(Asked, found.subject).unit.first_by == chosen


def test_more_than_two_is_asked_about() -> None:
    raced = race(table(250, columns=2)).at(Fraction(2))
    words = is_it_worth_it(replace(raced, total=Fraction(5)), 0.314)
    assert words == (
        "QUESTION: is this worth an epsilon of 5? At epsilon 2, fits of all columns preserve 31%, and `--epsilon 2` tries "
        "fewer columns and coarser bins."
    )
    assert is_it_worth_it(replace(raced, total=Fraction(5)), None) == ""
    assert is_it_worth_it(raced, 0.314) == ""


@pytest.mark.parametrize(
    ("preserved", "tells", "at_5", "totals", "told"),
    [
        (0.37, True, 0.706, (2, 3, 5), "At epsilon 5 (`--epsilon 5`), first trials preserved 71%."),
        (0.37, True, 0.41, (2, 3, 5), ""),  # more epsilon would hardly help
        (0.81, True, 0.95, (2, 3, 5), ""),
        (0.37, True, 0.706, (2,), ""),  # the steward has named an epsilon
        (0.37, False, 0.706, (2, 3, 5), ""),  # the numbers only compare plans: no share can be estimated
    ],
)
def test_a_draft_that_preserves_little_says_what_a_larger_epsilon_preserves(
    preserved: float, tells: bool, at_5: float, totals: tuple[int, ...], told: str
) -> None:
    subject = SimpleNamespace(promise=SimpleNamespace(totals=[Fraction(total) for total in totals]), columns=range(9))
    ground = SimpleNamespace(race=SimpleNamespace(at=lambda total: SimpleNamespace(share=at_5)))
    choices, standing = SimpleNamespace(limit=Fraction(2)), SimpleNamespace(share=preserved, tells=tells)
    best = SimpleNamespace(subject=subject, ground=ground, choices=choices, standing=standing)
    assert drafting.at_larger_epsilon(cast(drafting.Tried, best)) == told


def _digits(counts: Counts) -> list[np.ndarray]:
    return [np.repeat(column, counts.counts) for column in counts.bins]


def _mean_distance(first: Counts, second: Counts, pairs: list[tuple[str, str]]) -> float:
    """Pair by pair, row by row."""
    tables = [pd.DataFrame(dict(zip(each.layout.columns, _digits(each), strict=True))) for each in (first, second)]
    found = []
    for a, b in pairs:
        shares = [each.groupby([a, b]).size() / len(each) for each in tables]
        found.append(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)
    return float(np.mean(found))


def test_budgets_of_tables_have_three_digits_and_are_never_above_what_is_left() -> None:
    for epsilon in (Fraction("0.37"), Fraction("1.2345"), Fraction(17)):
        gaussian, pure = Promise().purse(epsilon), Promise(pure=True).purse(epsilon)
        assert (gaussian.kind, pure.kind) == (RoundedGaussian, DiscreteLaplace)
        assert epsilon_of(gaussian.cost, DELTA) <= epsilon < epsilon_of(gaussian.cost * Fraction(102, 100), DELTA)
        assert pure.cost <= epsilon < pure.cost * Fraction(102, 100)
    assert [rounded_down(Fraction(text)) for text in ("0.0273049", "1.2399", "12")] == [
        Fraction("0.0273"),
        Fraction("1.23"),
        12,
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("promise", "family"),
    [
        (Promise(), "gaussian_marginals"),
        (Promise(pure=True), "marginals"),
        (Promise(epsilon=Fraction(1)), "gaussian_marginals"),
        (Promise(epsilon=Fraction(3), pure=True), "marginals"),
    ],
    ids=str,
)
def test_a_draft_costs_what_it_says_and_gives_the_tables_all_that_is_left(
    drafted: Callable[..., Path], promise: Promise, family: str
) -> None:
    configuration = drafted(f"d{promise.pure:d}{promise.epsilon}", promise)
    spec = load_spec(configuration)
    assert [each.family for each in spec.space.generators] == [family]
    assert spec.plan.total.delta == (0 if promise.pure else DELTA)
    assert spec.budget.limit is not None
    assert spec.budget.limit <= (promise.epsilon or (5 if promise.pure else 2))
    assert spec.budget.limit * Fraction(9, 10) < spec.plan.total.epsilon <= spec.budget.limit
    assert spec.selection_rule.rounds is not None  # one round, whose price is that of its test
    assert spec.plan.total.parts[-2].epsilon == spec.joint_test.charge.epsilon  # type: ignore[union-attr]
    assert "costs at most" not in configuration.read_text()  # which somebody edits
    assert re.search(
        r"preserved \d+% of the associations .* 0%: independent columns\)\. .*(lost .* pairs?|lost no associated pair)\.",
        spec.not_promised.kept,
    )


@pytest.mark.slow
def test_a_generator_that_finds_its_own_tables_is_drafted_where_it_is_better(
    drafted: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_race, "BETTER", -10)
    monkeypatch.setattr(plan_race, "PROMISED", 2.0)
    spec = load_spec(drafted("own", Promise(epsilon=Fraction(2))))
    assert [each.family for each in spec.space.generators] == ["adaptive"]
    assert not spec.publish_measurements
    assert spec.budget.limit is not None
    assert spec.budget.limit * Fraction(9, 10) < spec.plan.total.epsilon <= spec.budget.limit <= 2


def test_five_points_more_are_what_published_tables_are_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    one = race(table(500, columns=2, bins=2))
    raced = replace(one.at(Fraction(1, 2)), kept=kept(0.6))
    for share, family in ((0.64, "gaussian_marginals"), (0.66, "adaptive")):
        monkeypatch.setattr(one, "trial", lambda raced, *least, share=share: kept(share))
        assert one.unpublished_if_better(raced).family == family
    assert one.unpublished_if_better(replace(raced, kept=kept(0.8))).family == "gaussian_marginals"


def test_agreements_are_drafted_where_many_columns_have_two_bins_and_they_keep_most(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = table(500, columns=6, bins=2)
    one = race(counts)
    raced = replace(one.at(Fraction(1, 2)), kept=kept(0.5))
    for best in ("agreements", "adaptive"):
        monkeypatch.setattr(one, "trial", lambda raced, *least, best=best: kept(0.7 if raced.unpublished == best else 0.6))
        chosen = one.unpublished_if_better(raced)
        assert (chosen.unpublished, chosen.share) == (best, 0.7)
    generator = one.generator(raced.told, raced.purse, agreements=True)
    assert isinstance(generator, GaussianMarginals)
    assert generator.agreeing(counts.layout).pairs == tuple(combinations(range(6), 2))
    assert one.unpublished_if_better(replace(raced, kept=kept(0.8))).unpublished == ""


SHARES = {
    ("", False): {2: 0.80, 1.4: 0.70},
    ("agreements", False): {2: 0.91, 1.4: 0.86, 1: 0.79, 0.7: 0.70},
    ("adaptive", False): {2: 0.75},
    ("", True): {2: 0.795, 1.4: 0.5},
}
"""What is preserved, by the way, whether delta is 0, and the epsilon."""


def raced_ways(
    monkeypatch: pytest.MonkeyPatch, changes: dict[tuple[str, bool], dict[float, float]]
) -> tuple[list[Raced], Raced]:
    one, shares = race(table(500, columns=6, bins=2)), SHARES | changes
    drafted = replace(one.at(Fraction(2)), kept=kept(shares["", False][2]))
    monkeypatch.setattr(one, "trial", lambda plan, least: kept(shares[plan.unpublished, plan.pure][float(plan.total)]))
    return one.every_way(drafted), drafted


def test_every_way_is_raced_at_the_epsilon_of_the_draft_and_at_smaller_ones_where_it_preserves_as_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A way that preserves as much as the draft is fitted with the next smaller epsilon, until it does not."""
    plans, drafted = raced_ways(monkeypatch, {})
    assert {((plan.unpublished, plan.pure), float(plan.total)) for plan in plans} == {
        (way, total) for way, shares in SHARES.items() for total in shares
    }
    for plan in plans:  # each budget is the same epsilon, as a rho or as itself
        left = plan.total - OTHERS
        spent = plan.purse.cost if plan.pure else epsilon_of(plan.purse.cost, DELTA)
        assert left * Fraction(98, 100) < spent <= left
    words = race_words(plans, drafted)
    assert words == (
        "In first trials at epsilon 2, agreements of pairs preserved the largest share of the associations. "
        "Next came published tables (11 points less), published tables with delta 0 (12 points less), tables that the "
        "generator finds (16 points less). The draft nevertheless publishes noisy tables, because readers can query them."
    )


@pytest.mark.parametrize(
    ("in_trials", "limit", "share", "good", "is_drafted"),
    [
        (0.9, 1.0, 0.87, True, True),
        (0.9, 0.7, 0.85, True, True),  # enough, for a smaller epsilon
        (0.9, 1.0, 0.85, True, False),
        (0.9, 0.7, 0.82, True, False),
        (0.9, 1.0, 0.95, False, False),  # no criteria that fits meet
        (0.84, 1.0, 0.95, True, False),  # not tried: its first trials are worse
    ],
)
def test_delta_0_is_drafted_where_a_delta_buys_nothing(
    in_trials: float, limit: float, share: float, good: bool, is_drafted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = race(table(500, columns=3))
    delta = SimpleNamespace(raced=replace(one.at(Fraction(1)), kept=kept(0.87)), choices=SimpleNamespace(limit=Fraction(1)))
    delta.standing = SimpleNamespace(kept=kept(0.87), good=True)
    standing, tried = SimpleNamespace(kept=kept(share), good=good), list[Promise]()
    pure = SimpleNamespace(standing=standing, choices=SimpleNamespace(limit=Fraction(limit)))

    def noted(subject: Subject) -> object:
        tried.append(subject.promise)
        return pure

    monkeypatch.setattr(drafting, "tried_in_steps", noted)
    plan = cast(Raced, SimpleNamespace(pure=True, share=in_trials))
    subject = Subject(name="x", file=cast(Any, None), columns=(), left_out=(), voice=Voice(lambda doing: None))
    found = without_delta(subject, cast(Tried, delta), [plan])
    assert found is (pure if is_drafted else None)
    assert tried == ([Promise(epsilon=Fraction(1), pure=True)] if in_trials >= 0.86 else [])


def test_the_race_says_no_more_than_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    worse = {("agreements", False): {2: 0.7}, ("", True): {2: 0.78, 1.4: 0.5}}
    plans, drafted = raced_ways(monkeypatch, worse)
    assert race_words(plans, drafted) == (
        "In first trials at epsilon 2, published tables preserved the largest share of the associations. "
        "Next came published tables with delta 0 (2 points less), tables that the generator finds (5 points less), agreements "
        "of pairs (10 points less)."
    )
    hidden = replace(plans[-1], total=drafted.total, kept=kept(-2.8))
    assert race_words([*plans, hidden], drafted).endswith(f", {hidden.way} (worse than independent columns).")
    assert race_words([], drafted) == ""
    unknown = [replace(plan, kept=replace(plan.kept, share=None)) for plan in plans if plan.kept is not None]
    assert race_words(unknown, drafted) == ""
    assert race(table(500, columns=3)).every_way(replace(drafted, kept=None)) == []


@pytest.mark.parametrize("others", [3, 4])
def test_agreements_are_not_tried_beside_many_columns_of_more_bins(others: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 50 columns, 13 with two bins, trials of agreements took nine tenths of the time of `init`."""
    of_two, of_three = table(500, columns=6, bins=2), table(500, columns=others, bins=3)
    names = tuple(f"c{place}" for place in range(6 + others))
    layout = Layout(columns=names, sizes=(*of_two.layout.sizes, *of_three.layout.sizes))
    one = race(Counts.of(layout, [*of_two.expand().T, *of_three.expand().T]))
    monkeypatch.setattr(plan_race, "_MOST_FOR_OWN_TABLES", 3)
    monkeypatch.setattr(one, "trial", lambda raced, *least: kept(0.7))
    raced = replace(one.at(Fraction(1, 2)), kept=kept(0.5))
    assert one.unpublished_if_better(raced).unpublished == ("agreements" if others == 3 else "")
    monkeypatch.setattr(plan_race, "_MOST_CELLS_OF_AGREEMENTS", 2)  # the six columns of two bins are in one clique of 64 cells
    assert one.unpublished_if_better(raced).unpublished == ""


def test_agreements_of_hundreds_of_columns_are_not_tried() -> None:
    """Their formula was longer than a configuration allows, and `init` ended with an error of the program."""
    counts = table(20, 200, 2)
    told = TellingTables(tables=tuple((column,) for column in range(200)), lost=())
    raced = plan_race.Raced(total=Fraction(2), purse=Promise().purse(Fraction(2)), told=told, kept=None)
    assert not race(counts)._has_agreements(raced)


def kept(share: float) -> Kept:
    return Kept(share=share, error=0.0, off=0.1, independent=0.2, sample=0.05, strong=1)


@pytest.mark.parametrize(("off", "share"), [(0.15, 1.0), (0.2, 1.0), (0.2075, 0.85), (0.25, 0.0), (0.3, -1)])
def test_fits_that_are_farther_than_independent_columns_are_no_good_plan_where_the_share_is_unknown(
    off: float, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A share that nobody knows counted as 1, and the smallest epsilon was drafted, whose noise hid all columns."""
    found = replace(kept(0.9), share=None, off=off)
    one = race(table(500, columns=3))
    raced = replace(one.at(Fraction(2)), kept=found)
    assert raced.share == pytest.approx(share)
    assert ("farther from the other half than independent columns" in found.words) is (off > 0.2)
    distances = {2: 0.201, 1.4: 0.21, 1: 0.25}
    monkeypatch.setattr(one, "trial", lambda plan, least: replace(found, off=distances.get(float(plan.total), 0.5)))
    assert one.cheapest(Fraction(2)).total == 2


@pytest.mark.parametrize("typed", ["0", "-1", "two", "nan", "0.49", "101", "1e9"])
def test_an_epsilon_that_is_none_is_told(typed: str) -> None:
    with pytest.raises(InputError, match=r"--epsilon, the epsilon of the whole release, must be a number from 0\.5 to 100"):
        Promise.of(typed, pure=False)


def test_bins_so_wide_that_two_columns_say_the_same_are_no_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rare industries join into their sectors: the tables of the first bins name a column that the wider ones have not."""

    class Race:
        held_out = SimpleNamespace(kept_without_noise=lambda: 1.0)

        def cheapest(self, most: Fraction, above: Fraction, told: object = None) -> SimpleNamespace:
            assert told is None, "plans in these bins cannot have the tables of the first ones"
            return SimpleNamespace(total=Fraction(2), share=0.5, kept=SimpleNamespace(share=0.5), told="tables")

    columns = [SimpleNamespace(name=name) for name in ("industry", "sector", "age")]
    subject = Subject(name="x", file=cast(Any, None), columns=tuple(columns), left_out=(), voice=Voice(lambda doing: None))
    ground = SimpleNamespace(subject=subject, race=Race(), table=None)
    fewer = SimpleNamespace(subject=replace(subject, columns=tuple(columns[1:])), race=Race())
    monkeypatch.setattr(
        drafts, "floored", lambda *given: tuple(SimpleNamespace(name=column.name, wide=True) for column in columns)
    )
    monkeypatch.setattr(drafts, "ground_of", lambda *given: fewer)
    assert [candidate.least for candidate in candidates_of(cast(Any, ground), Fraction(2), Fraction(0))] == [""]


def test_wider_bins_are_also_judged_as_a_reader_of_the_release_judges_them() -> None:
    """A column of 60 codes goes with nothing: in its codes another sample is so far away that noise does not show. In two
    groups of them it does. The lesser of the two shares is reported, whichever it is."""
    random, n = np.random.default_rng(3), 4000
    b = random.integers(0, 2, n)
    digits = [random.integers(0, 60, n), b, np.where(random.random(n) < 0.4, b, random.integers(0, 5, n))]
    counts = Counts.of(Layout(columns=("a", "b", "c"), sizes=(60, 2, 5)), digits)
    maps = [np.arange(60) // 30, np.arange(2), np.arange(5)]
    wide = Layout(columns=("a", "b", "c"), sizes=(2, 2, 5))
    held_out = HeldOut.of_rows(counts, strongest_pairs(counts), set(), 1).in_bins(wide, maps)
    assert held_out.own is not None
    rules = Background(plausibility=Plausibility(layout=wide, masks=()), ordered=())
    told = [replace(held_out, own=None), replace(held_out, own=None, spread=None, comparison=held_out.own), held_out]
    generator = GaussianMarginals.model_validate({"tables": "by cells: a:b + b:c + a:c"})
    for rho in (Fraction(1, 2000), Fraction(10)):
        charge = gaussian("generation", rho, "a fit to public rows")
        found = [one.fit_and_compare(generator, charge, rules, lambda doing: None) for one in told]
        first, own, reported = (cast(Kept, kept) for kept in found)
        assert reported.share == pytest.approx(min(cast(float, first.share), cast(float, own.share)), abs=CLEARLY)
        assert reported.in_first_bins == (first.share == reported.share)
    assert held_out.own.sides[0].marginal((0,)).tolist() == [
        held_out.comparison.sides[0].marginal((0,))[part].sum() for part in (slice(30), slice(30, 60))
    ]


@pytest.mark.parametrize(("n_rows", "missing"), [(2_000, 0), (40_000, 0), (400_000, 0), (400_000, 100), (10**8, 0)])
def test_means_cost_what_makes_their_noise_half_of_their_sampling_error_and_no_more_than_a_twentieth(
    n_rows: int, missing: int
) -> None:
    facts = [SimpleNamespace(mean_range=(0.0, 90.0), spread=20.0), SimpleNamespace(mean_range=(0.0, 5.0), spread=1.0)]
    columns = [
        SimpleNamespace(facts=fact, weight=False, part=None, calendar=False, keeps_missing=bool(missing)) for fact in facts
    ]
    subject = cast(Any, SimpleNamespace(columns=columns, members=None, file=SimpleNamespace(n_rows=n_rows)))
    epsilon = means_budget(subject, Fraction(2))
    n_sums = 4 if missing else 2
    of_one = cube_sd(n_sums, 10_000 / epsilon) / 10_000 / n_rows  # of a sum of numbers from 0 to 1
    noise = [(fact.mean_range[1] - fact.mean_range[0]) * of_one for fact in facts]
    worst = max(one / (fact.spread / math.sqrt(n_rows)) for one, fact in zip(noise, facts, strict=True))
    assert worst <= 0.501 or epsilon == Fraction(1, 10)
    assert epsilon == Fraction(1, 100) or worst >= 0.2  # in whole hundredths
    assert means_budget(cast(Any, SimpleNamespace(**{**vars(subject), "columns": []})), Fraction(2)) == 0


def test_trials_of_many_columns_use_a_stated_number_of_rows_with_noise_of_the_same_relative_size() -> None:
    many, few = (
        Counts.of(Layout(columns=names, sizes=(2,) * len(names)), [np.arange(20_101) % 2 for _ in names])
        for names in (tuple(f"c{i}" for i in range(plan_race.MANY + 1)), ("a", "b"))
    )
    assert drafting.some_rows(few) is few
    assert drafting.some_rows(few.with_counts(few.counts * 3)).total == few.total * 3
    some = drafting.some_rows(many)
    assert (some.total, plan_race.MOST_TRIED) == (20_000, 20_000)
    held_out = HeldOut.of_rows(some, [], set(), 1, drawn_from=int(many.total))
    assert held_out.part == Fraction(10_000, 20_101)
    assert HeldOut.of_rows(few, [], set(), 1).part == Fraction(1, 2)
    half = kept(0.5)
    assert "one half of the public file preserved 50%" in half.words
    assert "one half of 20,000 rows drawn at random from the public file preserved 50%" in replace(half, drawn=20_000).words
