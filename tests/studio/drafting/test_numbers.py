"""What criteria compute with is drafted from public values: what stands for a bin, how far and how finely values count."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthrelease.criteria.drafts import CriterionDraft
from synthrelease.criteria.groups import ConditionalMean
from synthrelease.criteria.regressions import RegressionOneStep
from synthrelease.data.schema import parse_bins
from synthrelease.enclave.ingest import read_public
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.drafting.bins import NumberFacts, number_bins, number_facts
from synthrelease.studio.drafting.criteria import one_of_each
from tests.helpers.drafts import write_draft

pytestmark = pytest.mark.slow

RANDOM = np.random.default_rng(17)
N = 4000
VALUES = {
    "ages": RANDOM.integers(18, 95, N),
    "children": RANDOM.poisson(1.3, N),
    "money": np.where(RANDOM.random(N) < 0.4, 0, np.round(RANDOM.lognormal(7, 1.8, N))),
    "debts": np.round(RANDOM.normal(-200, 900, N)),
    "temperatures": np.round(RANDOM.normal(37.4, 0.8, N), 1),
    "fractions": RANDOM.beta(0.4, 3, N),
    "hours": np.where(RANDOM.random(N) < 0.5, 40, RANDOM.integers(1, 90, N)),
}


def facts_of(values: np.ndarray, *, weight: bool = False) -> tuple[NumberFacts, list[str], bool]:
    """What is drafted of a column, its coarse bins, and whether its numbers are whole."""
    different, counts = np.unique(values.astype(float), return_counts=True)
    whole = bool((different == np.round(different)).all())
    bins = number_bins(different, counts, whole=whole)
    texts = bins.texts(whole=whole, weight=weight)
    parsed = [parse_bins(each, whole_numbers=whole) for each in texts.values()]
    return number_facts(different, counts, parsed, (bins.low, bins.high), whole=whole, weight=weight), texts["coarse"], whole


@pytest.mark.parametrize("name", VALUES)
def test_a_number_is_the_mean_of_the_public_rows_in_its_bin(name: str) -> None:
    """But for the rounding: a twentieth of the standard deviation in the bin."""
    values = VALUES[name]
    facts, texts, whole = facts_of(values)
    for one in parse_bins(texts, whole_numbers=whole):
        inside = [float(value) for value in values if one.lower <= value < one.upper]
        number = facts.numbers.get(one.label, one.number)
        assert abs(number - np.mean(inside)) <= np.std(inside) / 20 + 1e-9, one.label
        assert len(str(abs(number)).partition("e")[0].replace(".", "").strip("0")) <= 5, "few digits"


def test_a_bin_without_public_rows_stands_for_its_middle_up_to_the_bounds() -> None:
    bins = [parse_bins(["<10", "10-19", "20-29", ">=30"], whole_numbers=True)]
    facts = number_facts(np.array([12.0, 18.0]), np.array([5, 5]), bins, (0.0, 49.0), whole=True, weight=False)
    assert facts.numbers == {"<10": 4.5, "10-19": 15.0, ">=30": 39.5}


def test_a_middle_that_is_as_good_as_the_mean_is_not_stated() -> None:
    bins = [parse_bins(["1-3", "4-6"], whole_numbers=True)]
    values, counts = np.arange(1.0, 7.0), np.array([1000, 1010, 1005, 10, 10, 500])
    facts = number_facts(values, counts, bins, (1.0, 6.0), whole=True, weight=False)
    assert set(facts.numbers) == {"4-6"}


def test_nobody_is_weighted_by_nothing() -> None:
    """Most rows of "<1" have a weight of 0, but a weight must have a number above 0."""
    values = np.where(RANDOM.random(N) < 0.1, 0, RANDOM.integers(5, 60, N))
    facts, texts, _ = facts_of(values, weight=True)
    assert (texts[0], texts[-1]) == ("<1", "50-59")
    assert all(number > 0 for number in facts.numbers.values())


@pytest.mark.parametrize("name", VALUES)
def test_clipping_to_the_range_of_a_mean_moves_next_to_nothing(name: str) -> None:
    values = VALUES[name].astype(float)
    low, high = facts_of(values)[0].mean_range
    assert np.abs(values - np.clip(values, low, high)).mean() <= values.std() / 1000 + 1e-12


def test_a_few_rows_far_out_widen_the_range_of_a_mean_and_not_that_of_a_line() -> None:
    values = np.concatenate([RANDOM.normal(50, 10, 100_000).round(1), np.full(400, 5000.0)])
    facts = facts_of(values)[0]
    assert facts.mean_range[1] >= 5000
    assert facts.line_range[1] < 100


@pytest.mark.parametrize("ends", [0.001, 0.01])
def test_ranges_are_round_and_hold_all_but_extremes(ends: float) -> None:
    values = RANDOM.normal(3000, 500, 50_000).round() if ends == 0.001 else RANDOM.lognormal(5, 2, 50_000).round(2)
    low, high = facts_of(values)[0].line_range
    assert (values < low).mean() <= ends >= (values > high).mean()
    width = high - low
    for end in (low, high):
        power = 10 ** math.floor(math.log10(width / 19))
        assert abs(end / power - round(end / power)) < 1e-9 or end in (values.min().round(), 0)


def spec_of(frame: pd.DataFrame, folder: Path) -> ReleaseSpec:
    frame.to_csv(folder / "public.csv", index=False)
    return load_spec(write_draft("x", folder / "public.csv", folder)[0])


def skewed(n: int = 6000) -> pd.DataFrame:
    """Fees, most of them small beside the largest, and what they depend on; even numbers alone would be halves of steps."""
    random = np.random.default_rng(5)
    size = random.integers(0, 3, n)
    fee = np.round(random.lognormal(1 + size, 1.5, n), 2)
    visits = random.poisson(2 + 2 * size)
    return pd.DataFrame({"fee": fee, "visits": visits, "size": np.array(["small", "middle", "large"])[size]})


def test_the_own_values_of_a_draft_have_the_mean_of_the_file(tmp_path: Path) -> None:
    """Read as a release reads them: on the grid, which of skewed money is finer than the bounds alone would have it."""
    frame = skewed(25_000)
    spec = spec_of(frame, tmp_path)
    means = [criterion for criterion in spec.criteria if isinstance(criterion, ConditionalMean)]
    assert means
    assert "step = " in (tmp_path / "configs" / "x.toml").read_text(encoding="utf-8")
    table = read_public(tmp_path / "public.csv", spec.schema, spec.input, spec.raw)
    for criterion in means:
        place = spec.schema.layout.index(criterion.column)
        values = np.clip(spec.schema[criterion.column].atoms.known_numbers, *criterion.range)
        raw = frame[criterion.column]
        assert abs(table.marginal((place,)) @ values / table.total - raw.mean()) < raw.std() / 400


def test_a_draft_says_what_its_numbers_are(tmp_path: Path) -> None:
    spec = spec_of(skewed(), tmp_path)
    ends = [
        end
        for column in spec.schema.columns
        if column.bounds
        for each in column.alternatives.values()
        for end in (each.lower[0], each.upper[-1])
    ]
    assert ends
    assert all(map(math.isfinite, ends))  # a mean that rests on an open bin is not estimable
    text = (tmp_path / "configs" / "x.toml").read_text(encoding="utf-8")
    comment = " ".join(text.replace("#", "").split())
    assert "Learn none from the private file" in comment
    assert tomllib.loads(text)["columns"]["fee"]["numbers"]


def settled(name: str, threshold: float, in_place_of: str = "") -> CriterionDraft:
    return CriterionDraft(settings={"name": name, "threshold": threshold}, remark="a line", in_place_of=in_place_of)


@pytest.mark.parametrize(
    ("own", "binned", "kept"),
    [(10.0, 6.0, "own"), (31.0, 10.0, "binned"), (None, 10.0, "binned"), (10.0, None, "own"), (None, None, None)],
)
def test_a_line_of_own_values_is_kept_unless_its_limit_is_far_wider(
    own: float | None, binned: float | None, kept: str | None
) -> None:
    drafts = [settled("own", 1.0), settled("binned", 1.0, "own")]
    found = one_of_each(
        drafts,
        [
            "own: a table with independent columns would pass" if own is None else settled("own", own),
            "binned: likewise" if binned is None else settled("binned", binned, "own"),
        ],
    )
    left = [each for each in found if isinstance(each, CriterionDraft)]
    assert [each.settings["name"] for each in left] == ([] if kept is None else [kept])
    assert [each for each in found if isinstance(each, str)] == (
        ["own: a table with independent columns would pass"] if kept is None else []
    )
    assert all("with exact values" in each.remark for each in left if kept == "binned")


def test_a_line_on_bins_is_drafted_where_own_values_have_no_near_limit(tmp_path: Path) -> None:
    """The last bins have most of the spread of both columns, and few rows: much noise, and lines that bins hide."""
    random = np.random.default_rng(8)
    x = np.round(random.lognormal(4, 1.2, n := 10_000)) + 1
    smoker = random.random(n) < 1 / (1 + np.exp(-2 * (np.log(x) - 4)))
    z = np.round(x * random.lognormal(0, 0.5, n))
    spec = spec_of(pd.DataFrame({"x": x, "smoker": np.where(smoker, "yes", "no"), "z": z}), tmp_path)
    lines = [criterion for criterion in spec.criteria if isinstance(criterion, RegressionOneStep)]
    assert [line.values for line in lines] == ["own target"]


def test_a_line_of_own_values_is_drafted_where_bins_hide_little(tmp_path: Path) -> None:
    random = np.random.default_rng(9)
    x = random.integers(0, 60, 8000)
    frame = pd.DataFrame({"x": x, "y": np.round(2.0 * x + random.normal(0, 20, 8000)), "z": random.integers(0, 50, 8000)})
    spec = spec_of(frame, tmp_path)
    lines = [criterion for criterion in spec.criteria if isinstance(criterion, RegressionOneStep)]
    assert [line.values for line in lines] == ["own"]
    assert {name for line in lines for name in line.ranges} >= {"x", "y"}
