"""The number of rows that a release works with: the exact law of subsets, the resizing theorem by enumeration, the margin."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product
from pathlib import Path

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import FillerRows, Mask, Plausibility
from synthrelease.enclave import door as subsets
from synthrelease.enclave.door import PrivateRows, uniform_subset
from synthrelease.enclave.resizing import resize
from synthrelease.errors import InputError, SpecError
from synthrelease.privacy.charges import NUMBER_OF_ROWS, SHORTFALL, RowsRule
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.releasing.release import read_private
from synthrelease.spec.load import load_spec
from tests.helpers.tiny import write_config, write_data

LAYOUT = Layout(columns=("a", "b"), sizes=(2, 2))
FREE = Plausibility(layout=LAYOUT, masks=())
Law = dict[tuple[int, ...], Fraction]


class Given(SystemEntropy):
    """Indices that were decided beforehand."""

    def __init__(self, drawn: tuple[int, ...]):
        self.drawn = list(drawn)

    def picks(self, bounds: np.ndarray) -> np.ndarray:
        found, self.drawn = self.drawn[: len(bounds)], self.drawn[len(bounds) :]
        return np.array(found, dtype=np.int64)


def table(rows: tuple[int, ...]) -> Counts:
    return Counts(LAYOUT, np.array(rows, dtype=np.int64))


def rows_of(counts: Counts) -> tuple[int, ...]:
    return tuple(np.repeat(counts.codes, counts.counts).tolist())


def law_of_subset(kept: tuple[int, ...], size: int) -> Law:
    """By listing all subsets."""
    chosen = Counter(tuple(sorted(subset)) for subset in combinations(kept, size))
    return {rows: Fraction(count, math.comb(len(kept), size)) for rows, count in chosen.items()}


# --- Subsets ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=[subsets._FEW, 0], ids=["marked", "kept themselves"])
def numbers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to hold the numbers of rows: files of so few rows would see the first alone."""
    monkeypatch.setattr(subsets, "_FEW", request.param)
    monkeypatch.setattr(subsets, "_AT_ONCE", 2)  # so that marks come in pieces


@pytest.mark.usefixtures("numbers")
@pytest.mark.parametrize("kept", [(0,), (0, 1, 1), (0, 0, 1, 3), (0, 0, 0, 2, 2, 3)])
def test_every_subset_is_drawn_with_the_probability_that_listing_them_gives(kept: tuple[int, ...]) -> None:
    """Over all ways in which different indices can come out of the generator, each as likely as any other."""
    for size in range(len(kept) + 1):
        drawn = min(size, len(kept) - size)
        ways = list(permutations(range(len(kept)), drawn))
        found = Counter(rows_of(uniform_subset(table(kept), size, Given(way))) for way in ways)
        assert {rows: Fraction(count, len(ways)) for rows, count in found.items()} == law_of_subset(kept, size)


@pytest.mark.usefixtures("numbers")
def test_an_index_that_comes_twice_is_drawn_again_and_the_first_different_ones_count() -> None:
    kept = (0, 1, 2, 3)
    assert rows_of(uniform_subset(table(kept), 2, Given((3, 3, 3, 1)))) == (1, 3)
    assert rows_of(uniform_subset(table(kept), 2, Given((2, 2, 0, 1)))) == (0, 2)


@pytest.mark.slow
def test_subsets_of_real_size_follow_the_hypergeometric_law() -> None:
    """Mean and variance of one cell, within five standard errors, for a small, a half and a nearly whole subset."""
    counts = np.array([700, 200, 95, 5])
    whole = Counts(LAYOUT, np.arange(4), counts)
    for size in (50, 500, 990):
        drawn = np.array([uniform_subset(whole, size).dense() for _ in range(2000)])
        assert (drawn.sum(axis=1) == size).all()
        share = counts / 1000
        variance = size * share * (1 - share) * (1000 - size) / 999
        assert (np.abs(drawn.mean(axis=0) - size * share) < 5 * np.sqrt(variance / 2000)).all()
        assert (np.abs(drawn.var(axis=0) / variance - 1) < 0.3).all()


def test_indices_are_uniform_below_every_bound() -> None:
    for bound in (1, 2, 3, 5, 2**31 + 1, 2**62):
        drawn = SystemEntropy().picks(np.full(3000, bound))
        assert len(drawn) == 3000
        assert ((drawn >= 0) & (drawn < bound)).all()
        if bound <= 5:
            assert (np.abs(np.bincount(drawn, minlength=bound) - 3000 / bound) < 5 * np.sqrt(3000 / bound)).all()
        else:
            assert abs(drawn.astype(float).mean() / bound - 0.5) < 5 / math.sqrt(12 * 3000)


@pytest.mark.parametrize("size", [-1, 4])
def test_a_subset_that_there_is_not_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="at most the rows of the table"):
        uniform_subset(table((0, 1, 2)), size)


# --- The resizing theorem -----------------------------------------------------------------------------------------------------


def law_of_table(kept: tuple[int, ...], size: int) -> Law:
    """The law of the resized table, by listing; the filler is the public sequence of the program."""
    missing = size - len(kept)
    if missing > 0:
        return {tuple(sorted(kept + rows_of(FillerRows(FREE).first(missing)))): Fraction(1)}
    return law_of_subset(kept, size)


def coupled(left: Law, right: Law) -> bool:
    """Whether the two laws can be drawn together such that the tables always differ in at most one replaced row.

    By the max-flow min-cut theorem (Strassen): just when every set of left tables has at most the probability of the right
    tables that are next to one of them. Tried for all sets.
    """
    lefts = list(left)
    for chosen in range(1, 2 ** len(lefts)):
        group = [rows for place, rows in enumerate(lefts) if chosen >> place & 1]
        beside = {other for other in right if any(one_replaced(rows, other) for rows in group)}
        if sum(left[rows] for rows in group) > sum((right[other] for other in beside), Fraction(0)):
            return False
    return True


@cache
def one_replaced(rows: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return sum((Counter(rows) - Counter(other)).values()) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_neighbouring_files_lead_to_tables_that_differ_in_one_replaced_row(size: int) -> None:
    """All files of at most four rows over four cells, a row kept (0 to 3) or left out (4), and all their neighbours."""
    worlds = 0
    for shared in product(range(5), repeat=3):
        for one, other in combinations(range(5), 2):
            files = [tuple(sorted(row for row in (*shared, last) if row < 4)) for last in (one, other)]
            laws = [law_of_table(kept, size) for kept in files]
            assert coupled(*laws), (files, size)
            worlds += 1
    assert worlds == 1250


def test_the_program_resizes_as_the_theorem_says() -> None:
    for kept in ((0, 1, 1), (0, 0, 1, 3)):
        for size in range(1, 6):
            drawn = min(size, len(kept) - size) if size <= len(kept) else 0
            ways = list(permutations(range(len(kept)), max(0, drawn)))
            found = Counter(
                rows_of(PrivateRows(table(kept), 9, Given(way)).some_of_them(size, FillerRows(FREE))._Door__counts)  # type: ignore[attr-defined]
                for way in ways
            )
            assert {rows: Fraction(count, len(ways)) for rows, count in found.items()} == law_of_table(kept, size)


def test_filler_rows_are_plausible_public_and_a_prefix_of_one_sequence() -> None:
    layout = Layout(columns=("a", "b", "c"), sizes=(2, 3, 4))
    forbidden = np.zeros((2, 3), dtype=bool)
    forbidden[0, :2] = True
    rules = Plausibility(layout=layout, masks=(Mask(columns=(0, 1), forbidden=forbidden),))
    filler = FillerRows(rules)
    assert not rules.forbidden(filler.first(50).bins).any()
    for size in range(20):
        fewer, more = filler.first(size), filler.first(size + 1)
        assert one_replaced(rows_of(fewer), rows_of(more))
        assert (size, size + 1) == (fewer.total, more.total)
    assert all(len(np.unique(column)) == want for column, want in zip(filler.first(50).bins, (2, 3, 4), strict=True))


# --- The number ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["0.02", "0.05", "0.5", "1", "3", "10"])
def test_the_margin_is_the_least_that_keeps_the_shortfall(epsilon: str) -> None:
    """Against the sum of the discrete Laplace law, term by term."""
    decay = math.exp(-float(Fraction(epsilon)))
    margin = RowsRule(way="counted", epsilon=Fraction(epsilon)).margin

    def above(k: int) -> float:  # Pr[noise > k]
        return math.fsum((1 - decay) / (1 + decay) * decay**z for z in range(k + 1, k + 4000))

    assert above(margin) <= float(SHORTFALL)
    assert margin == 0 or above(margin - 1) > float(SHORTFALL)


@pytest.mark.slow
def test_the_counted_number_has_the_noise_of_its_charge_and_is_clamped() -> None:
    rule = RowsRule(way="counted", epsilon=Fraction(1, 2))
    assert rule.charge is not None
    kept = Counts(LAYOUT, np.arange(4), np.array([400, 300, 200, 100]))
    sizes = [resize(PrivateRows(kept, 1010), rule, FREE, [rule.charge]).n for _ in range(2000)]
    noise = np.array(sizes) - 1000 + rule.margin
    decay = math.exp(-0.5)
    sd = math.sqrt(2 * decay) / (1 - decay)
    assert abs(noise[np.array(sizes) < 1010].mean()) < 5 * sd / math.sqrt(2000)
    assert abs(noise.std() / sd - 1) < 0.15
    assert max(sizes) <= 1010
    few = PrivateRows(Counts(LAYOUT, np.array([2])), 5)
    assert {resize(few, rule, FREE, [rule.charge]).n for _ in range(50)} <= {1, 2, 3, 4, 5}


def test_a_stated_number_costs_nothing_and_is_met_whatever_the_file_holds(tmp_path: Path) -> None:
    spec = load_spec(write_config(tmp_path))
    assert (spec.rows.way, spec.plan.once) == ("stated", ())
    assert read_private(spec, write_data(tmp_path)).n == 400
    (tmp_path / "fewer.csv").write_text("face,year\n" + "tail,8\n" * 390 + "head,1\n" * 20)  # 20 are kept
    assert read_private(spec, tmp_path / "fewer.csv").n == 400
    (tmp_path / "short.csv").write_text("face,year\n" + "head,1\n" * 399)
    with pytest.raises(InputError, match=r"The file has 399 rows, but \[input\] rows requires at least 400\."):
        read_private(spec, tmp_path / "short.csv")


@pytest.mark.slow
def test_what_a_row_does_to_the_published_number_is_paid_for(tmp_path: Path) -> None:
    """A person who is replaced by one with a missing value changed n with certainty; now only a noisy count depends on it."""
    changes = {"[input]\nrows = 400": '[input]\nmissing = "drop"', 'never = "face': NEVER_RAW}
    spec = load_spec(write_config(tmp_path, changes))
    assert [charge.name for charge in spec.plan.once] == [NUMBER_OF_ROWS]
    seen = []
    for last in ("head,1", ","):
        (tmp_path / "file.csv").write_text("face,year\n" + "head,1\n" * 400 + f"{last}\n")
        seen.append({read_private(spec, tmp_path / "file.csv").n for _ in range(100)})
    assert len(seen[0] & seen[1]) > 12  # 34 are expected, with a deviation of 3.3


NEVER_RAW = 'applies_to = ["synthetic"]\nnever = "face'


@pytest.mark.parametrize(
    ("changes", "way"),
    [
        ({"rows = 400": ""}, "counted"),
        ({"rows = 400": 'rows = "exact"'}, "exact"),
        ({"rows = 400": "rows = 17"}, "stated"),
        ({"rows = 400": 'missing = "bin"\noutside = "error"', 'never = "face': NEVER_RAW}, "whole"),
        ({"rows = 400": 'rows = "exact"\nmissing = "error"\noutside = "error"', 'never = "face': NEVER_RAW}, "whole"),
        ({"rows = 400": "", 'never = "face': NEVER_RAW}, "counted"),
        ({"rows = 400": 'missing = "bin"', 'never = "face': NEVER_RAW}, "counted"),
        ({"rows = 400": 'missing = "drop"', 'never = "face': NEVER_RAW}, "counted"),
    ],
)
def test_the_specification_decides_where_the_number_comes_from(tmp_path: Path, changes: dict[str, str], way: str) -> None:
    spec = load_spec(write_config(tmp_path, changes))
    assert spec.rows.way == way
    assert (spec.exact_domain is not None) == (way == "exact")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"rows = 400": "rows = 1"}, "input.rows: The number of rows is 1. It must be at least 2, the promised minimum count"),
        ({"rows = 400": "", "generation = 10": "generation = 10\nrows = 1e-18"}, "budget.rows: expected a number of at least"),
    ],
)
def test_a_number_of_rows_that_no_release_can_come_of_is_a_mistake(
    tmp_path: Path, changes: dict[str, str], problem: str
) -> None:
    """Both would be found after the charge: by rounds that are all rejected, and by noise that cannot be drawn."""
    with pytest.raises(SpecError, match=problem):
        load_spec(write_config(tmp_path, changes))


def test_the_domain_of_an_exact_release_is_what_decides_which_rows_are_kept(tmp_path: Path) -> None:
    exact = {"rows = 400": 'rows = "exact"'}
    found = {
        name: load_spec(write_config(tmp_path, exact | changes)).exact_domain
        for name, changes in {
            "as it is": {},
            "another budget": {"generation = 10": "generation = 9"},
            "other bins": {'"1-2", "3-4", "5-6", "7-8"': '"1-4", "5-8"'},
            "another rule": {"year > 6": "year > 5"},
            "other bounds": {"bounds = [1, 8]": "bounds = [0, 8]", '"1-2"': '"0-2"'},
            "other letters": {'rows = "exact"': 'rows = "exact"\nencoding = "latin-1"'},
            "missing ones kept": {'rows = "exact"': 'rows = "exact"\nmissing = "bin"'},
            "categories that change places": {'["head", "tail"]': '{ tail = ["head"], head = ["tail"] }'},
            "another name for a column": {"[columns.year]": '[columns.age]\nsource = "year"', "and year > 6": "and age > 6"},
        }.items()
    }
    same = {name for name, domain in found.items() if domain == found["as it is"]}
    assert same == {"as it is", "another budget", "other bins"}
