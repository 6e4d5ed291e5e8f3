"""A release that an allocation can only better, its public table, and tries that are made in the process that asks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from synthrelease.data.counts import Counts
from synthrelease.enclave.ingest import read_public
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.parallel import Run
from tests.helpers.tiny import PIPELINE, write_config, write_data

MARGINALS = """
[[generators]]
family = "marginals"
tables = "1 face + 2 year"
only_measured = "97 face:year"
sums = "1 year[-3 -1  1 3] within -2..2"

[[projections]]
kind = "minimum_count"
minimum_count = 2

[budget]
generation = 2
limit = 25

[selection]
measurements = "shared"
mode = "hidden_number"
rounds = { 1 = 1 }
test = "joint"
test_epsilon = 1
false_acceptance = 0.1
"""
"""Nearly everything is measured aside: an allocation that can only be bettered."""

GAUSSIAN = (
    MARGINALS.replace('"marginals"', '"gaussian_marginals"')
    .replace('sums = "1 year[-3 -1  1 3] within -2..2"\n', "")
    .replace("generation = 2\n", "generation = 0.05\ndelta = 1e-9\n")
)
"""The same at a rho, with a delta; it has no sums."""

CHANGES = {PIPELINE: MARGINALS, "threshold = 0.9\nepsilon = 0.5": "threshold = 0.05\nepsilon = 0.1"}


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> ReleaseSpec:
    return load_spec(write_config(tmp_path_factory.mktemp("allocation"), CHANGES))


@pytest.fixture(scope="module")
def public(spec: ReleaseSpec, tmp_path_factory: pytest.TempPathFactory) -> Counts:
    return read_public(write_data(tmp_path_factory.mktemp("data")), spec.schema, spec.input, spec.raw)


@contextmanager
def at_once() -> Iterator[Run]:
    def run(action, arguments):  # type: ignore[no-untyped-def]
        yield from (action(*each) for each in arguments)

    yield run
