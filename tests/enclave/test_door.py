"""The only door to private counts: planned charges open it once, and failures behind it say nothing."""

from __future__ import annotations

import pickle
import traceback

import pytest

from synthrelease.errors import BudgetError, PrivateFailure
from synthrelease.privacy.charges import exact, mechanism
from tests.helpers.small import World

WORLD = World({"a": 1})
CHARGE = mechanism("criterion: x", exact("0.5"), "Laplace")


def never(counts: object) -> None:
    raise AssertionError("private counts were read")


@pytest.mark.parametrize(
    "asked",
    [
        mechanism("other", exact("0.5"), ""),
        mechanism("criterion: x", exact("0.6"), ""),
        mechanism("criterion: x", exact(0), ""),
    ],
)
def test_a_charge_that_was_not_planned_raises_before_reading(asked: object) -> None:
    private = WORLD.private([0, 1], [CHARGE])
    with pytest.raises(BudgetError, match="No private count was read"):
        private.spend(asked, never)  # type: ignore[arg-type]


def test_a_charge_opens_the_door_once() -> None:
    private = WORLD.private([0, 1, 1], [CHARGE])
    assert private.spend(CHARGE, lambda counts: counts.total) == 3
    with pytest.raises(BudgetError):
        private.spend(CHARGE, never)


def test_merged_tables_share_the_meter() -> None:
    private = WORLD.private([0, 1], [CHARGE])
    merged = private.on(WORLD.transformation)
    merged.spend(CHARGE, lambda counts: None)
    with pytest.raises(BudgetError):
        private.spend(CHARGE, never)


def test_a_failed_mechanism_has_spent_its_charge() -> None:
    private = WORLD.private([0, 1], [CHARGE])
    with pytest.raises(PrivateFailure):
        private.spend(CHARGE, lambda counts: 1 // 0)
    with pytest.raises(BudgetError):
        private.spend(CHARGE, never)


def test_a_failure_inside_carries_no_message_cause_or_frame() -> None:
    private = WORLD.private([0, 1], [CHARGE])

    def leaky(counts: object) -> None:
        raise ValueError("secret-4711")

    with pytest.raises(PrivateFailure) as caught:
        private.spend(CHARGE, leaky)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "secret-4711" not in "".join(traceback.format_exception(caught.value))
    assert "leaky" not in {frame.f_code.co_name for frame, _ in traceback.walk_tb(caught.value.__traceback__)}


def test_nothing_private_in_the_representation() -> None:
    assert repr(WORLD.private([0, 1], [CHARGE])) == "PrivateCounts(n=2, columns=('a',))"


def test_a_copy_for_another_process_keeps_its_meter() -> None:
    """Workers get pickled copies; the copy may spend what is planned and nothing else."""
    copy = pickle.loads(pickle.dumps(WORLD.private([0, 1, 1], [CHARGE])))  # noqa: S301
    assert copy.spend(CHARGE, lambda counts: counts.total) == 3
    with pytest.raises(BudgetError):
        copy.spend(CHARGE, never)
