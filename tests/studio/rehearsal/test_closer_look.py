"""What a closer look names: pairs that nothing looks at, what a projection does, and thresholds that say nothing."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.data.counts import Counts
from synthrelease.enclave.ingest import read_public
from synthrelease.generators.associations import cramers_v
from synthrelease.generators.projections import MinimumCount
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal.advice import Outlook, outlook
from synthrelease.studio.rehearsal.attempts import AttemptResult, Trials
from synthrelease.studio.rehearsal.closer_look import (
    CANDIDATES,
    CloserLook,
    NoiselessEntropy,
    Yardstick,
    closer_look,
    merged,
    replaced,
    verdicts,
)
from tests.helpers.tiny import MEASURED as SHARED
from tests.helpers.tiny import write_config, write_data

pytestmark = pytest.mark.slow

MEASURED = {
    'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5': 'family = "marginals"\ntables = "face + year"'
}
FREE = {"[[rules]]\nnever = \"face == 'tail' and year > 6\"\n": ""}


def world(folder: Path, changes: dict[str, str]) -> tuple[ReleaseSpec, Counts]:
    """Coins whose face says nearly everything about the year: heads are early, tails are late."""
    spec = load_spec(write_config(folder, changes | FREE))
    rows = ["head,1"] * 150 + ["head,4"] * 40 + ["tail,2"] * 10 + ["tail,7"] * 200
    (folder / "tied.csv").write_text("face,year\n" + "\n".join(rows) + "\n")
    return spec, read_public(folder / "tied.csv", spec.schema, spec.input, spec.raw)


def look(spec: ReleaseSpec, table: Counts, index: int = 0) -> CloserLook:
    return closer_look(Trials(spec=spec, counts=table, seed=1), index, [0.0025, None])


def test_a_pair_that_nothing_looks_at_is_named_with_what_became_of_it(tmp_path: Path) -> None:
    """The model has both columns alone: P(late | tail) is 95% in the file, and what late is among all in the candidates."""
    found = look(*world(tmp_path, MEASURED))
    (pair,) = found.pairs
    assert set(pair.columns) == {"face", "year"}
    assert pair.cramers_v > 0.9
    assert pair.candidates_v is not None
    assert pair.candidates_v < 0.2
    assert pair.lost
    assert pair.released == pytest.approx(pair.overall, abs=0.1)
    assert abs(pair.original - pair.overall) > 0.3
    assert found.candidates == CANDIDATES
    # the noiseless fit has the same model: independent columns
    assert found.criteria[0].noiseless == pytest.approx(found.criteria[0].yardstick.independent, abs=0.03)


def test_a_pair_is_not_named_when_a_criterion_would_refuse_its_loss_or_a_table_has_it(tmp_path: Path) -> None:
    guarded = look(*world(tmp_path, MEASURED | {"threshold = 0.9": "threshold = 0.2"}))
    assert guarded.pairs == ()
    (tmp_path / "measured").mkdir()
    told = {key: text.replace("face + year", "face:year") for key, text in MEASURED.items()}
    found = look(*world(tmp_path / "measured", told))
    assert found.pairs == ()
    assert found.criteria[0].noiseless < 0.02


def test_a_threshold_that_says_nothing_or_cannot_be_met_is_told(tmp_path: Path) -> None:
    loose = look(*world(tmp_path, MEASURED))
    assert [verdict.kind for verdict in loose.criteria[0].verdicts] == ["says nothing"]
    assert loose.criteria[1].verdicts == ()  # face privacy compares nothing
    strict = look(*world(tmp_path, MEASURED | {"threshold = 0.9": "threshold = 0.05"}))
    (verdict,) = strict.criteria[0].verdicts
    assert (verdict.kind, "The model is too simple" in verdict.text) == ("cannot be met", True)
    assert strict.criteria[0].offender is not None
    assert strict.criteria[0].offender.where == strict.criteria[0].places[0][0]
    assert sum(times for _, times in strict.criteria[0].places) == CANDIDATES


def test_the_look_is_the_same_again(tmp_path: Path) -> None:
    spec, table = world(tmp_path, MEASURED)
    assert look(spec, table) == look(spec, table)


VERDICTS = [
    # threshold, halves, fit without noise, independent columns -> what is said
    (0.10, 0.05, 0.05, 0.50, []),
    (0.60, 0.05, 0.05, 0.50, ["says nothing"]),
    (0.04, 0.05, 0.03, 0.50, ["stricter than chance"]),
    (0.04, 0.05, 0.06, 0.50, ["cannot be met"]),
    (0.04, 0.05, math.nan, 0.50, ["cannot be met"]),
    (0.06, 0.05, 0.07, 0.50, ["cannot be met"]),
    (0.06, 0.05, math.nan, 0.50, []),
]


@pytest.mark.parametrize(("threshold", "halves", "noiseless", "independent", "expected"), VERDICTS)
def test_verdicts_follow_from_the_yardsticks(
    tmp_path: Path, threshold: float, halves: float, noiseless: float, independent: float, expected: list[str]
) -> None:
    spec = load_spec(write_config(tmp_path, {"threshold = 0.9": f"threshold = {threshold}"}))
    stick = Yardstick(perfect=halves, projected=halves, independent=independent)
    found = verdicts(spec.criteria[0], None, 1e-9, stick, noiseless)
    assert [verdict.kind for verdict in found] == expected


# --- Projections


def test_what_a_projection_replaces_is_counted_row_by_row(tmp_path: Path) -> None:
    spec = load_spec(write_config(tmp_path))
    table = merged(read_public(write_data(tmp_path), spec.schema, spec.input, spec.raw), spec.space[0])
    random = np.random.default_rng(2)
    for _ in range(20):
        before, after = (table.with_counts(random.multinomial(60, table.counts / table.total)) for _ in range(2))
        rows = [Counter(map(tuple, each.expand().tolist())) for each in (before, after)]
        assert replaced(before, after) == sum((rows[0] - rows[1]).values())
        assert replaced(before, before) == 0


def test_what_a_projection_replaces_or_leaves_out_is_told(tmp_path: Path) -> None:
    """Of 400 rows in few cells a minimum count of 2 replaces hardly any; one of 900 leaves none."""
    spec, table = world(tmp_path, MEASURED)
    assert look(spec, table).replaced < 0.05
    configuration = replace(spec.space[0], projection=MinimumCount(minimum_count=900))
    strict = replace(spec, space=replace(spec.space, projections=(configuration.projection,)))
    assert look(strict, table).replaced == 1


# --- Cramer's V


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(0, 60), min_size=3, max_size=3), min_size=2, max_size=5))
def test_cramers_v_is_that_of_bergsma_by_the_chi_square_of_scipy(rows: list[list[int]]) -> None:
    from scipy.stats import chi2_contingency

    table = np.array(rows)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape, default=0) < 2 or table.sum() < 10:
        return
    n, (r, k) = table.sum(), table.shape
    phi = chi2_contingency(table, correction=False).statistic / n
    less, r_less, k_less = max(0, phi - (r - 1) * (k - 1) / (n - 1)), r - (r - 1) ** 2 / (n - 1), k - (k - 1) ** 2 / (n - 1)
    if min(r_less, k_less) > 1:
        assert cramers_v(np.array(rows)) == pytest.approx(min(1, math.sqrt(less / (min(r_less, k_less) - 1))), abs=1e-9)


def test_cramers_v_of_chance_alone_is_near_0_and_of_a_function_1() -> None:
    random = np.random.default_rng(4)
    chance = [cramers_v(random.multinomial(500, np.full(100, 0.01)).reshape(10, 10)) for _ in range(50)]
    assert np.mean(chance) < 0.05
    assert cramers_v(np.diag([40, 30, 20])) == pytest.approx(1, abs=1e-9)
    assert cramers_v(np.array([[5, 6]])) == 0


# --- Unlucky fits


def result(number: int, chance: float) -> AttemptResult:
    return AttemptResult(
        configuration=0, number=number, generation=1, accepted=chance > 0.5, chance=chance, seconds=1.0,
        figures=(), sensitivities=(), passed=(),
    )  # type: ignore[arg-type]  # fmt: skip


def test_the_mean_number_of_rounds_is_set_apart_from_what_most_releases_need() -> None:
    """A quarter of the fits lets nothing pass, and each of them searches for 1,000 rounds: 250 of the mean are theirs."""
    from fractions import Fraction

    from synthrelease.privacy.selection import StopCoin

    attempts = [result(number, 0.0 if number % 4 == 0 else 0.76) for number in range(8)]
    found = outlook(attempts, StopCoin(stop_probability=Fraction(1, 1000)))
    assert isinstance(found, Outlook)
    assert (found.fits, found.unlucky) == (8, 2)
    assert found.acceptance == pytest.approx(0.57)
    assert found.typical_rounds == pytest.approx(1 / (0.76 * 0.999 + 0.001))
    assert found.expected_rounds == pytest.approx(0.25 * 1000 + 0.75 * found.typical_rounds)


@pytest.mark.parametrize("shared", ["a line", "an answer"])
def test_criteria_that_rest_on_shared_measurements_are_looked_at(tmp_path: Path, shared: str) -> None:
    """Neither the line of prediction errors nor an answer has a private fit of its own: both come from what is measured."""
    spec = load_spec(write_shared(tmp_path, shared))
    table = read_public(write_data(tmp_path), spec.schema, spec.input, spec.raw)
    found = closer_look(Trials(spec=spec, counts=table, seed=1), 0, [None] * len(spec.criteria))
    assert all(math.isfinite(each.noiseless) for each in found.criteria)


def write_shared(folder: Path, shared: str) -> Path:
    """The tiny release with measurements for all rounds, and a criterion that needs them."""
    path = write_config(folder, SHARED)
    acceptance = folder / "acceptance.toml"
    text = acceptance.read_text()
    if shared == "an answer":
        acceptance.write_text(text.replace("epsilon = 0.5", 'answered_by = "measurements"', 1))
        return path
    columns = path.read_text()
    name = 'categories = ["head", "tail"]'
    path.write_text(columns.replace(name, f"{name}\nnumbers = {{ head = 0, tail = 1 }}"))
    line = 'target = "year"\nfeatures = ["face"]\nrepresentation = { face = "categories", year = "pairs" }\n'
    acceptance.write_text(
        text
        + f'[[criteria]]\nname = "line"\nkind = "regression_one_step"\n{line}range = [1, 8]\nthreshold = 9\nepsilon = 0.1\n'
        + 'line = "measurements"\n[[criteria]]\nname = "prediction"\nkind = "regression_prediction"\ncoefficients = "line"\n'
        + "range = [1, 8]\nthreshold = 9\nepsilon = 0.1\n"
    )
    return path


@pytest.mark.parametrize("name", [name for name in dir(SystemEntropy) if name.startswith("add_")])
def test_a_source_without_noise_adds_none_of_any_kind(name: str) -> None:
    values, scale = np.zeros(20, dtype=np.int64), Fraction(1, 7) if name == "add_cube" else 7.0  # a rate, or a scale
    assert not getattr(NoiselessEntropy(1), name)(values, scale).any()
    assert getattr(SeededEntropy(1), name)(values, scale).any()
