"""Processes and threads never repeat each other's draws: not after a fork, not in a pool of workers, not side by side.

A generator that lives in the memory of a process is copied by a fork, and parent and children then draw the same noise: two
releases with the same noise, whose difference is exact. Here every kind of draw is made before and after.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import repeat

import numpy as np
import pytest

from synthrelease.privacy.hidden_numbers import coin
from synthrelease.privacy.noise import SYSTEM, choose, discrete_laplace, laplace_figure
from synthrelease.privacy.public_entropy import SeededEntropy
from tests.helpers.rounds import sixteen_draws

LARGE = Fraction(1, 2**45)
"""An epsilon whose noise has a scale of 2^45: two draws are equal once in 10^14 times."""


def noise() -> int:
    return int(discrete_laplace(np.zeros(1, dtype=int), sensitivity=1, epsilon=LARGE)[0])


def figure() -> int:
    return int(laplace_figure(0.0, sensitivity=1.0, epsilon=Fraction(1, 2**30)).value * 2**12)


def choices() -> int:
    """16 private choices among 16 equal candidates: 64 bits, of which 62 are kept."""
    number = 0
    for _ in range(16):
        number = number * 16 + choose([0] * 16, sensitivity=1, epsilon=Fraction(1), mechanism="permute_and_flip")
    return number % 2**62


def coins() -> int:
    number = 0
    for _ in range(62):
        number = number * 2 + coin(Fraction(1, 2))
    return number


def picked() -> int:
    return SYSTEM.pick(2**62)


def public() -> int:
    return int(SYSTEM.generator().integers(2**62))


SOURCES = {function.__name__: function for function in (noise, figure, choices, coins, picked, public)}


def drawn_in_children(draw: Callable[[], int], children: int) -> list[int]:
    """Draws of processes forked one after the other from this one, each of which draws twice."""
    found: list[int] = []
    for _ in range(children):
        reading, writing = os.pipe()
        if not os.fork():
            try:
                os.write(writing, struct.pack("<2q", draw(), draw()))
            finally:
                os._exit(0)  # without the clean-up of the tests
        os.close(writing)
        found += struct.unpack("<2q", os.read(reading, 16))
        os.close(reading)
        os.wait()
    return found


def all_different(draws: Sequence[int]) -> bool:
    return len(set(draws)) == len(draws)


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


@pytest.mark.slow
@forks
@pytest.mark.parametrize("source", SOURCES)
def test_forked_processes_do_not_repeat_draws(source: str) -> None:
    draw = SOURCES[source]
    before = [draw() for _ in range(3)]  # whatever a library sets up at its first draw is there, to be copied
    assert all_different([*before, *drawn_in_children(draw, 5), draw()])


@forks
def test_the_test_above_sees_a_generator_in_memory() -> None:
    entropy = SeededEntropy(5)
    assert not all_different(drawn_in_children(lambda: entropy.pick(2**62), 2))


@pytest.mark.parametrize("source", SOURCES)
def test_threads_do_not_repeat_draws(source: str) -> None:
    draw = SOURCES[source]
    with ThreadPoolExecutor(8) as pool:
        draws = list(pool.map(lambda _: [draw() for _ in range(5)], range(8)))
    assert all_different([number for numbers in draws for number in numbers])


@pytest.mark.slow
def test_worker_processes_do_not_repeat_draws() -> None:
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=2, backend="loky", pre_dispatch="all", batch_size=1)
    draws = parallel(delayed(sixteen_draws)() for _ in repeat(None, 4))
    assert all_different([number for numbers in draws for number in numbers])
