"""The private line of a regression in one call, as the criterion makes it of two."""

from __future__ import annotations

from fractions import Fraction

from synthrelease.criteria.functional import Design, NoisyMoments
from synthrelease.criteria.records import Records
from synthrelease.criteria.records_mechanism import noisy_sums
from synthrelease.privacy.noise import SystemEntropy


def private_least_squares(design: Design, records: Records, epsilon: Fraction, entropy: SystemEntropy) -> NoisyMoments:
    """Noisy moments of some records."""
    return NoisyMoments.of(design, noisy_sums(records, design, epsilon, entropy), epsilon)
