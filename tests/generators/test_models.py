"""Named models: what a row adds, between all neighbours of small worlds, against plain sums over rows, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from synthrelease.data.rules import Domain
from synthrelease.errors import InputError, Unexpected
from synthrelease.generators.measured_noise import MOST_NUMBERS
from synthrelease.generators.models import TABLE_WEIGHT, Measured, read_model
from synthrelease.generators.models_mechanism import group_shares, noisy_totals
from synthrelease.generators.row_functions import SHARES, STEPS
from synthrelease.privacy.public_entropy import NoNoise
from synthrelease.studio.audit.enumeration import Recording
from tests.helpers.named_models import QUESTIONS, ModelWorld, model_of

WORLDS = [
    ModelWorld(),
    ModelWorld(shift=7),
    ModelWorld(shift=-7),
    ModelWorld(shift=30, step=10),
    ModelWorld(shift=-90, step=10),
]
ROWS = list(product((0, 1, 3), (0, 4, 9, 10), (0, 1)))
"""Ends and middles of x and y, the missing y, and both z."""


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_no_replaced_row_moves_a_model_by_more_than_its_noise_is_for(world: ModelWorld) -> None:
    """All pairs of rows beside a third one: every sum within the sensitivity of its noise, every table in l1 norm; reached."""
    measured = world.measured()
    values, scales = [], []
    for row in ROWS:
        recording = Recording()
        world.noisy([row, (1, 5, 1)], measured, recording)
        values.append(recording.values)
        scales = recording.scales
    epsilons = [epsilon for _, epsilon in measured.blocks] + [measured.of_table] * len(measured.tables)
    assert sum(epsilons) == measured.epsilon
    for block, (scale, epsilon) in enumerate(zip(scales, epsilons, strict=True)):
        paid = round(scale * float(epsilon))
        numbers = np.array([of_row[block] for of_row in values])
        apart = np.abs(numbers[:, None] - numbers[None])
        together = block < len(measured.blocks)
        moved = apart.max(axis=(0, 1)) if together else apart.sum(axis=2)
        assert moved.max() == paid
        if together:  # each sum alone comes to all of it, so that none could have less noise
            assert (moved == paid).all()


def test_the_noise_of_a_block_is_that_of_its_charge() -> None:
    """Steps over epsilon for the sums, twice the shares of a row for tables."""
    measured, recording = ModelWorld().measured(), Recording()
    ModelWorld().noisy([(0, 0, 0)], measured, recording)
    number = len(measured.functions) + TABLE_WEIGHT * len(measured.tables)
    assert recording.scales[0] == pytest.approx(STEPS * number / len(measured.functions) / measured.epsilon)
    assert recording.scales[1:] == pytest.approx([2 * SHARES * number / TABLE_WEIGHT / measured.epsilon] * 2)


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_sums_are_those_of_the_rows(world: ModelWorld) -> None:
    random = np.random.default_rng(2)
    rows = np.column_stack([random.integers(0, 4, 40), random.integers(0, 11, 40), random.integers(0, 2, 40)])
    measured = world.measured(("slope y on x, z == 'b'",))
    found = dict(zip([function.key for function in measured.functions], world.noisy(rows, measured).sums[0], strict=True))
    kept = rows[rows[:, 1] < 10].astype(float)
    x, y, b = kept[:, 0] / 1.5 - 1, kept[:, 1] / 4.5 - 1, kept[:, 2]
    columns = {"x": x, "y": y, "z": b}
    assert found[((), "", ("y",))] == len(kept) * STEPS
    for (factors, _, _), value in found.items():
        if factors:
            exact = np.prod([columns[text[0]] for text in factors], axis=0).sum()
            one_sided = len(set(factors)) < len(factors) or set(factors) == {"z == 'b'"}
            least, width = (0, 1) if one_sided else (-1, 2)
            assert value / STEPS * width + least * len(rows) == pytest.approx(exact, abs=len(rows) * width / STEPS)
    assert len(found) == 9  # rows, x, z, y, xx, xz, xy, zy, yy: the square of an indicator is the indicator


def test_shares_of_a_group_tell_its_rows_and_the_sums_of_its_values_and_squares() -> None:
    world = ModelWorld(shift=7)
    rows = [(0, 3, 0), (0, 9, 0), (0, 10, 0), (0, 6, 1)]
    shares = group_shares(world.counts(rows).atoms, model_of("mean y by z", world).group_means, world.bins) / SHARES
    for group, places in enumerate(([3 / 9, 1], [6 / 9])):
        assert shares[group].sum() == pytest.approx(len(places))
        assert shares[group, 1] / 2 + shares[group, 2] == pytest.approx(sum(places), abs=1e-4)
        assert shares[group, 2] == pytest.approx(sum(place**2 for place in places), abs=1e-4)


def test_a_row_of_two_groups_counts_in_the_first_alone() -> None:
    world = ModelWorld()
    model = model_of("mean x: y >= 3 against y < 8", world).group_means
    shares = group_shares(world.counts([(2, 5, 0), (2, 1, 0), (2, 10, 0)]).atoms, model, world.bins)
    assert (shares.sum(axis=1) == [SHARES, SHARES]).all()


def test_what_several_models_need_is_measured_once() -> None:
    measured = ModelWorld().measured(("mean x", "slope x on z == 'b'", "ratio x to x")[:2])
    assert [function.key[0] for function in measured.functions] == [
        ("x(0..3)",), ("z == 'b'",), ("x(0..3)", "z == 'b'"), ("x(0..3)", "x(0..3)"),
    ]  # fmt: skip


def test_more_sums_than_one_noise_may_have_are_several_blocks_whose_epsilons_add_up() -> None:
    world = ModelWorld()
    measured = world.measured([f"mean x where y >= {limit} and x < {upper}" for limit in range(1, 10) for upper in (1, 2, 3)])
    wide = Measured(models=measured.models * 1, epsilon=Fraction(2, 7))
    many = [*wide.functions, *(model_of(f"mean x where y < {limit}", world).functions[1] for limit in range(1, 10))]
    assert len(wide.functions) < MOST_NUMBERS < 2 * len(many)
    cut = Measured(models=wide.models, epsilon=Fraction(2, 7))
    object.__setattr__(cut, "functions", tuple(many * 2))
    assert [len(block) for block, _ in cut.blocks] == [63, 63]
    assert sum(epsilon for _, epsilon in cut.blocks) == Fraction(2, 7)


def test_a_value_beyond_its_limits_counts_as_the_limit() -> None:
    world = ModelWorld()
    model = read_model("mean y", world.domains, {"y": (2, 6)})
    functions = [function for function in model.functions if function.factors]
    for place, scaled in ((0, 0), (2, 0), (4, STEPS // 2), (6, STEPS), (9, STEPS), (10, STEPS // 2)):
        rows = world.counts([(0, place, 0)]).atoms
        assert noisy_totals(rows, functions, world.schema, Fraction(1), NoNoise()) == (scaled,)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("logistic z on x", "logistic"),
        ("logit y on x", "logistic"),
        ("share x < 2", "noisy tables"),
        ("median x by z", "noisy tables"),
        ("mean z", "column of numbers"),
        ("mean q", "column of numbers"),
        ("slope y on y", "twice"),
        ("slope y on y is missing", "is missing"),
        ("mean x by q", "by"),
        ("mean x weighted", "without weights"),
        ("ratio x", "ratio needs 'to'"),
        ("mean x where q > 1", "column"),
    ],
)
def test_what_cannot_be_measured_is_told(question: str, message: str) -> None:
    with pytest.raises((Unexpected, InputError), match=message):
        model_of(question, ModelWorld())


@pytest.mark.parametrize("limits", [(5.0, 2.0), (-1.0, 3.0), (0.0, 99.0)])
def test_limits_beyond_the_bounds_are_refused(limits: tuple[float, float]) -> None:
    with pytest.raises(Unexpected, match="must lie within the bounds 0 and 3"):
        read_model("mean x", {"x": Domain(kind="integer", bounds=(0, 3))}, {"x": limits})


def test_the_questions_of_the_world_are_of_every_kind() -> None:
    kinds = {(model.words.kind, model.by_group) for model in ModelWorld().measured(QUESTIONS).models}
    assert kinds == {("mean", False), ("mean", True), ("slope", False), ("ratio", False)}
