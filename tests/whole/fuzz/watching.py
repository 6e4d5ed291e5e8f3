"""A release whose draws come from a world, and whose mechanisms, rounds and random subsets are watched.

All code of the release runs as it is. What is replaced: draws of noise and choices, which the world makes; the coin or the
hidden number that ends a search; the configuration that is drawn, by a draw of the world. Random subsets and pieces of the
private rows are drawn by the release in the first world, and together with those in the second (`pairs`).
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from synthrelease.criteria import base_mechanism as criteria
from synthrelease.data.counts import Counts
from synthrelease.enclave import door
from synthrelease.enclave.door import Door, PrivateRows
from synthrelease.generators import adaptive_mechanism as adaptive
from synthrelease.generators import adversarial_mechanism as adversarial
from synthrelease.generators import counting_queries_mechanism as counting_queries
from synthrelease.generators import marginals_mechanism as marginals
from synthrelease.generators import patectgan_mechanism as patectgan
from synthrelease.generators import privbayes_mechanism as privbayes
from synthrelease.generators import smartnoise_mechanism as smartnoise
from synthrelease.generators.smartnoise_mechanism import Randomness
from synthrelease.privacy import noise as randomness
from synthrelease.privacy.charges import Charge, together
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.releasing import release, selection
from synthrelease.releasing.attempt import Attempt, Prepared
from tests.whole.fuzz.pairs import Leak, coupled_pieces, coupled_subset, rows_of, table_of
from tests.whole.fuzz.worlds import World


@contextmanager
def watched(world: World) -> Iterator[None]:
    """While it lasts, a release in this process happens in the world."""
    with ExitStack() as stack:
        for place, name, code in _stand_ins(world):
            stack.enter_context(patch.object(place, name, code))
        yield


LOADED = (adaptive, adversarial, counting_queries, marginals, patectgan, privbayes, smartnoise, criteria)
"""Private halves, loaded before anything stands in for what they import: otherwise they would keep it."""


def _stand_ins(world: World) -> Iterator[tuple[Any, str, Any]]:
    yield release, "ingest", partial(_ingested, world, release.ingest)
    yield release, "prepare", partial(_prepared, world, release.prepare)
    yield release, "attempt", partial(_attempted, world, release.attempt)
    yield randomness, "SYSTEM", world
    yield selection, "coin", lambda probability: world.stopping("coin", probability) == 0
    yield selection, "from_finite_law", lambda law: 1 + world.stopping("hidden number", law)
    yield selection, "truncated_negative_binomial", lambda *law: 1 + world.stopping("hidden number", law)
    yield door, "uniform_subset", partial(_subset, world, door.uniform_subset)
    yield door, "random_pieces", partial(_pieces, world, door.random_pieces)
    yield door, "opaque", partial(_opaque, world, door.opaque)
    for module in (adaptive, adversarial, counting_queries, patectgan):
        yield module, "opaque", partial(_opaque, world, module.opaque)
    agreements = marginals.measure_agreements
    yield marginals, "measure_agreements", lambda *given: world.for_each(lambda: agreements(*given))
    yield Door, "spend", _spending(world, Door.spend)
    for library in filter(None, map(sys.modules.get, ("snsynth.mst.mst", "snsynth.aim.aim"))):
        yield library, "np", _Numpy()
    spent = Randomness.gaussian_noise
    yield Randomness, "gaussian_noise", lambda self, sigma, size=None: _noise_of_library(spent, self, sigma, size)
    for name, stand_in in (("choose", _choose), ("discrete_laplace", _laplace), ("rounded_gaussian", _gaussian)):
        drawn = getattr(randomness, name)
        for module in [module for title, module in sys.modules.items() if title.startswith("synthrelease")]:
            if getattr(module, name, None) is drawn:
                yield (
                    module,
                    name,
                    partial(stand_in, drawn, **({"apart": 2} if (module, name) == (smartnoise, "choose") else {})),
                )


# --- The file, the rounds


def _ingested(world: World, ingest: Callable[..., PrivateRows], *given: Any, **more: Any) -> PrivateRows:
    found = ingest(*given, **more).rehearsed(world)
    world.read(rows_of(found._Door__counts))  # type: ignore[attr-defined]
    return found


def _prepared(world: World, prepare: Callable[..., Prepared], *given: Any, **more: Any) -> Prepared:
    found = prepare(*given, **more)
    world.saw("what is fitted once", (found.measured, found.fitted))
    return found


def _attempted(world: World, attempt: Callable[..., Attempt], *given: Any, **more: Any) -> Attempt:
    found = attempt(*given, **more)
    world.saw("round", (rows_of(found.candidate.counts), found.candidate.measured, found.scores, found.joint_verdict))
    return found


# --- Mechanisms


def _spending(world: World, spend: Callable[..., Any]) -> Callable[..., Any]:
    def watched_spend(self: Door, charge: Charge | Sequence[Charge], mechanism: Callable[[Counts], Any]) -> Any:
        whole = charge if isinstance(charge, Charge) else together("figures that share a noise", *charge)

        def seen(counts: Counts) -> Any:
            return world.spending(whole, rows_of(counts), lambda: mechanism(counts))

        return spend(self, charge, seen)

    return watched_spend


def _choose(
    choose: Callable[..., int], scores: Sequence[int], *, entropy: SystemEntropy = randomness.SYSTEM, apart: int = 1, **law: Any
) -> int:
    if not isinstance(entropy, World):
        return choose(scores, entropy=entropy, **law)
    return entropy.choose(scores, apart=apart, **law)


def _laplace(
    draw: Callable[..., np.ndarray],
    values: np.ndarray,
    *,
    sensitivity: int,
    epsilon: Fraction,
    entropy: SystemEntropy = randomness.SYSTEM,
) -> np.ndarray:
    noisy = partial(draw, values, sensitivity=sensitivity, epsilon=epsilon, entropy=entropy)
    return entropy.stating((sensitivity, epsilon), noisy) if isinstance(entropy, World) else noisy()


def _gaussian(
    draw: Callable[..., np.ndarray],
    values: np.ndarray,
    *,
    squared_sensitivity: int,
    rho: Fraction,
    entropy: SystemEntropy = randomness.SYSTEM,
) -> np.ndarray:
    noisy = partial(draw, values, squared_sensitivity=squared_sensitivity, rho=rho, entropy=entropy)
    return entropy.stating((squared_sensitivity, rho), noisy) if isinstance(entropy, World) else noisy()


class _Noise:
    """Noise that a library adds to its counts by itself: the world sees the sum."""

    __array_ufunc__ = None  # so that an array leaves the sum to `__radd__`

    def __init__(self, world: World, sigma: float):
        self._world, self._sigma = world, sigma

    def __radd__(self, counts: Any) -> Any:
        exact = np.asarray(counts)
        return self._world.add_gaussian(np.rint(exact).astype(np.int64).ravel(), self._sigma).reshape(exact.shape).astype(float)


class _Numpy:
    """numpy as a library sees it: such noise is an array already."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if name not in ("array", "asarray"):
            return found
        return lambda value, *given, **more: value if isinstance(value, _Noise) else found(value, *given, **more)


def _noise_of_library(noise: Callable[..., Any], self: Randomness, sigma: float, size: int | None = None) -> Any:
    if not isinstance(self._entropy, World):
        return noise(self, sigma, size)
    self._spend(1 / (2 * Fraction(float(sigma)) ** 2))
    return _Noise(self._entropy, float(sigma))


# --- Random subsets, which are never shown


def _subset(
    world: World, draw: Callable[..., Counts], table: Counts, size: int, entropy: SystemEntropy = randomness.SYSTEM
) -> Counts:
    if world.first is None:
        found = draw(table, size, SeededEntropy(world.seed, 1))
        world.notes["subset"] = rows_of(table), rows_of(found)
        return found
    if "subset" not in world.first.notes:  # there all rows were used, and here one more is kept
        return draw(table, size, SeededEntropy(world.seed, 1))
    kept, chosen = world.first.notes["subset"]
    if size != len(chosen):
        raise Leak(f"the release works with {len(chosen)} rows in the first world and {size} in the second")
    return table_of(coupled_subset((kept, rows_of(table)), chosen, np.random.default_rng([world.seed, 2])), table)


def _pieces(
    world: World,
    draw: Callable[..., tuple[Counts, ...]],
    table: Counts,
    sizes: Sequence[int],
    entropy: SystemEntropy = randomness.SYSTEM,
) -> tuple[Counts, ...]:
    if world.first is None:
        found = draw(table, sizes, SeededEntropy(world.seed, 3))
        world.notes["pieces"] = rows_of(table), [rows_of(piece) for piece in found]
        return found
    whole, pieces = world.first.notes["pieces"]
    coupled = coupled_pieces((whole, rows_of(table)), pieces, np.random.default_rng([world.seed, 4]))
    return tuple(table_of(piece, table) for piece in coupled)


def _opaque(world: World, opaque: Callable[..., Any], code: Callable[[], Any]) -> Any:
    """As it is, and why private code failed is kept for the one who mends it."""

    def kept() -> Any:
        try:
            return code()
        except Exception as error:
            world.failures.append("".join(traceback.format_exception(error)[-4:]))
            raise

    return opaque(kept)
