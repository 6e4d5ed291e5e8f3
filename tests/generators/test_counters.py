"""Counts as further columns of a model: every row that follows the rules has one of each, and no other row has any."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.generators import GENERATORS
from synthrelease.generators.base import Background, MeasuringGenerator
from synthrelease.generators.counters import Counters
from synthrelease.privacy.charges import GENERATION, Meter, gaussian
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from tests.helpers.households import write_households

RULES = (
    "count(work == 'yes') > 1",
    "count(age >= 2) > rent",
    "count(age == 3) < rent - 2",
    "count(age < first.age) >= 2",
    "count(not work == 'no') > 1",
    "count(work is missing) == 0 and persons == 2",
    "count(age == 3) != rent",
    "count(age > 1) > 0 and count(age < 1) > 0",
)
MOST = 3


def spec_of(folder: Path, *rules: str, bins: str = "") -> ReleaseSpec:
    lines = "".join(f'[[members.rules]]\nnever = "{rule}"\n' for rule in rules)
    changes = {"most = 2": f"most = {MOST}", "[[generators]]": f"{lines}[[generators]]"}
    if bins:
        changes['outside = "drop"\nalternatives.each = ["0..3"]'] = f'outside = "drop"\nalternatives.each = {bins}'
    return load_spec(write_households(folder, changes))


def all_rows(plausibility: Plausibility) -> Counts:
    """Every row of the layout that no mask forbids, once."""
    sizes = plausibility.layout.sizes
    table = Counts.of(plausibility.layout, list(np.array(list(product(*map(range, sizes)))).T))
    without = Plausibility(layout=plausibility.layout, masks=plausibility.masks)
    return without.filter(table)


@pytest.mark.parametrize("rule", [*RULES, pytest.param(" / ".join(RULES[:4]), marks=pytest.mark.slow)])
@pytest.mark.parametrize("bins", ["", '["0", "1", "2-3"]'])
def test_a_row_has_one_count_of_each_just_when_it_breaks_no_rule(rule: str, bins: str, tmp_path: Path) -> None:
    """Also where a bin holds ages that are counted and ages that are not."""
    spec = spec_of(tmp_path, *rule.split(" / "), bins=bins)
    plausibility = spec.synthetic.merge(spec.space[0].transformation)
    counters, rows = Counters.of(plausibility, 2**20), all_rows(plausibility)
    found = counters.added(rows)
    broken = plausibility.forbidden(rows.bins)
    assert 0 <= broken.sum() < len(rows)
    assert bins or broken.any()
    places = range(len(plausibility.layout.sizes))
    assert sorted(zip(*(found.bins[place].tolist() for place in places), strict=True)) == sorted(
        zip(*(each[~broken].tolist() for each in rows.bins), strict=True)
    )
    model = Plausibility(layout=counters.wide, masks=tuple(counters.masks))
    assert not model.forbidden(found.bins).any()
    of_counts = list(product(*(range(step.size) for step in counters.steps)))
    some = np.random.default_rng(1).choice(len(rows), 300, replace=False)
    for row in some.tolist():
        bins_of_row = [np.full(len(of_counts), each[row]) for each in rows.bins]
        possible = ~model.forbidden([*bins_of_row, *np.array(of_counts, dtype=np.int64).reshape(len(of_counts), -1).T])
        assert possible.sum() == (not broken[row])


def test_at_most_one_has_two_counts_and_looks_at_one_column_of_a_member(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "count(work == 'yes') > 1")
    counters = Counters.of(spec.synthetic.merge(spec.space[0].transformation), 2**16)
    assert [(len(step.columns), step.size) for step in counters.steps] == [(1, 2), (1, 2), (1, 2)]
    assert not counters.ends


def test_a_rule_that_ties_too_many_cells_is_left_to_those_who_draw(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "count(work == 'yes') > 1", "count(age < first.age) >= 2")
    plausibility = spec.synthetic.merge(spec.space[0].transformation)
    assert len(Counters.of(plausibility, 2**16).steps) == 5
    assert len(Counters.of(plausibility, 60).steps) == 3
    assert not Counters.of(plausibility, 50).steps


@pytest.mark.parametrize("family", ["adaptive", "adaptive_pure", "marginals", "gaussian_marginals"])
def test_no_row_of_a_model_breaks_a_rule_that_half_of_the_rows_would(family: str, tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "count(work == 'yes') > 1", "count(age >= 2) > rent", "count(age < first.age) >= 2")
    tables = {"tables": "rent:persons + age_1:work_1 + age_1:age_2 + age_2:work_2"} if family.endswith("marginals") else {}
    chosen, transformation = GENERATORS[family].model_validate(tables), spec.space[0].transformation
    plausibility = spec.synthetic.merge(transformation)
    rows = plausibility.filter(all_rows(plausibility))
    table = Counts.of(rows.layout, [each[::7] for each in rows.bins])
    free = spec_of(tmp_path).synthetic.merge(transformation)
    broken = []
    for background in (Background(plausibility=plausibility), Background(plausibility=free)):
        charge = gaussian(GENERATION, Fraction(1), "test") if chosen.gaussian else chosen.charge(Fraction(1))
        private = PrivateCounts(table, Meter([charge]), SeededEntropy(5)).on(transformation)
        if isinstance(chosen, MeasuringGenerator):
            model = chosen.model(chosen.measure(private, charge), background)
        else:
            model = chosen.fit(private, charge, background)
        drawn = model.sample(3000, np.random.default_rng(3))
        assert drawn.layout == plausibility.layout
        assert drawn.total == 3000
        broken.append(int(drawn.counts[plausibility.forbidden(drawn.bins)].sum()))
    assert broken[0] == 0
    assert broken[1] > 300


def test_a_prior_of_rows_that_break_a_rule_loses_just_these(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "count(work == 'yes') > 1")
    plausibility = spec.synthetic.merge(spec.space[0].transformation)
    rows = all_rows(plausibility)
    found = Counters.of(plausibility, 2**16).added(rows.with_counts(np.arange(1, len(rows) + 1)))
    assert found.total == int(np.arange(1, len(rows) + 1)[~plausibility.forbidden(rows.bins)].sum())
