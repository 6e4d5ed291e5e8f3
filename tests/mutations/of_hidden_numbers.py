"""Mutations of the exact draw of a hidden number of rounds."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

OF_HIDDEN_NUMBERS = (
    Mutation(
        name="hidden number of rounds: undecided bits decide it",
        breaks="the distribution only approximates the one that is paid for",
        place="privacy.samplers:inverted",
        old="if low > word:\n    return value\nif high > word:\n    break",
        new="if high > word:\n    return value",
        tests=("tests/privacy/test_randomness.py::test_a_hidden_number_next_to_a_bound_is_decided_by_what_follows",),
    ),
    Mutation(
        name="hidden number of rounds: the factor of a negative shape keeps its sign",
        breaks="the distribution differs from the charged distribution",
        place="privacy.samplers:TruncatedNegativeBinomial._factor",
        old="if self.shape > 0:",
        new="if True:",
        tests=("tests/privacy/test_randomness.py::test_bounds_of_the_hidden_number_hold_and_are_close",),
    ),
)
