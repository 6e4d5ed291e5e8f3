"""Provide repeatable noise, or no noise, for public data only, without any privacy protection.

Only the studio, dry runs on made-up rows, the reader of public files, and the optimiser of a model (whose measurements already
have their noise) use these sources (tests/test_architecture.py). A release takes its noise from `privacy.noise`, and its noise
cannot be reproduced.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from synthrelease.privacy.noise import SystemEntropy


class SeededEntropy(SystemEntropy):
    """A source of noise that repeats its draws for the same key of integers. It is for public data only, and protects
    nobody."""

    def __init__(self, *key: int):
        self._generator = np.random.Generator(np.random.PCG64DXSM(np.random.SeedSequence(key)))

    def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        # the difference of two geometric variables is discrete Laplace
        stop = -math.expm1(-1 / scale)
        noise = self._generator.geometric(stop, (2, len(values)))
        return np.asarray(values, dtype=np.int64) + noise[0] - noise[1]

    def add_gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        noise = np.rint(self._generator.normal(0, scale, len(values)))
        return np.asarray(values, dtype=np.int64) + noise.astype(np.int64)

    def add_cube(self, values: np.ndarray, rate: Fraction) -> np.ndarray:
        # like `noise.drawn`, in floating point: the draws scale with 1 / rate, so that different rates can be compared
        size, stop = len(values), -math.expm1(-float(rate))
        while True:
            k = int((self._generator.geometric(stop, size + 1) - 1).sum())
            if math.log(self._generator.random()) < sum(math.log((2 * k + 1) / (2 * k + 2 * j)) for j in range(1, size + 1)):
                break
        noise = np.floor(self._generator.random(size) * (2 * k + 1)).astype(np.int64) - k
        return np.asarray(values, dtype=np.int64) + noise

    def pick(self, n_choices: int) -> int:
        if n_choices < 2**63:
            return int(self._generator.integers(n_choices))
        bits = n_choices.bit_length()
        while True:
            number = int.from_bytes(self._generator.bytes(-(-bits // 8)), "little") >> (-bits % 8)
            if number < n_choices:
                return number

    def picks(self, bounds: np.ndarray) -> np.ndarray:
        return self._generator.integers(0, bounds)

    def generator(self) -> np.random.Generator:
        return self._generator


class NoNoise(SystemEntropy):
    """A source that adds no noise, for exact statistics of public data."""

    def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        return np.asarray(values, dtype=np.int64)

    def add_gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        return np.asarray(values, dtype=np.int64)

    def add_cube(self, values: np.ndarray, rate: Fraction) -> np.ndarray:
        return np.asarray(values, dtype=np.int64)
