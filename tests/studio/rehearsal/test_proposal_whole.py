"""The probability of nothing that a rehearsal promises, against whole searches of releases with the proposed law."""

from __future__ import annotations

from pathlib import Path

import pytest

from synthrelease.enclave.door import PrivateCounts
from synthrelease.enclave.ingest import read_public
from synthrelease.privacy.charges import Meter
from synthrelease.releasing.attempt import prepare
from synthrelease.releasing.release import one_round
from synthrelease.releasing.selection import select_by
from synthrelease.spec.load import load_spec
from synthrelease.spec.requests import RehearsalRequest
from synthrelease.studio.rehearsal.advice import with_law
from synthrelease.studio.rehearsal.attempts import clopper_pearson
from synthrelease.studio.rehearsal.rehearse import rehearse
from tests.helpers.tiny import write_config, write_data

NOISY = {"epsilon = 0.5": "epsilon = 0.0014", "generation = 10": "generation = 0.1"}
"""Noise of 400 rows' marginals with scale 2, against the threshold 0.9: about 0.6 of the attempts are accepted."""


@pytest.mark.slow
def test_releases_with_the_proposed_law_end_with_nothing_as_often_as_was_said(tmp_path: Path) -> None:
    """200 searches on the same file, with the noise of a release. The statement rests on 96 attempts, so the two intervals are
    compared: they miss each other with a probability below 1e-4."""
    spec, data = load_spec(write_config(tmp_path, NOISY)), write_data(tmp_path)
    out = tmp_path / "out"
    asked = RehearsalRequest(config=Path(spec.path), data=str(data), out=out, keep=1, seed=2, copies=0, nothing=0.15)
    found = rehearse(spec, asked)
    assert found.proposal is not None
    chosen, judged = found.proposal.chosen, found.proposal.judgement
    assert chosen is not None
    assert judged is not None
    assert chosen.law is not None
    assert len(chosen.law.atoms) > 1
    proposed = with_law(spec, chosen.generation, chosen.law)
    private = PrivateCounts(read_public(data, spec.schema, spec.input, spec.raw), Meter(()))
    prepared = prepare(proposed, private.with_plan(proposed.plan.once))
    ends = [select_by(proposed.selection_rule, lambda: one_round(proposed, private, prepared)) is None for _ in range(200)]
    seen = clopper_pearson(sum(ends), len(ends), 0.99)
    assert 0.02 < judged.nothing < judged.nothing_high < 0.5
    assert seen.low <= judged.nothing_high
    lowest = float(chosen.law.nothing(1 - judged.acceptance_high))
    assert seen.high >= lowest
