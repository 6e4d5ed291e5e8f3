"""The same rehearsal on an existing Ray cluster: a real one on loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from synthrelease.rehearsal.parallel import Workers
from synthrelease.rehearsal.racing import RaceGoal
from synthrelease.rehearsal.rehearse import rehearse
from synthrelease.rehearsal.report import document
from synthrelease.specification.spec import load_spec
from tests.conftest import ROOT
from tests.helpers.tiny import write_config, write_data

pytest.importorskip("ray", reason="needs the extra ray: pip install synthrelease[ray]")


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Of a cluster that was started by somebody else."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "RAY_USAGE_STATS_ENABLED": "0"}
    ray = [sys.executable, "-m", "ray.scripts.scripts"]
    options = ["--head", "--num-cpus=2", "--include-dashboard=false", f"--port={port}", "--object-store-memory=100000000"]
    subprocess.run([*ray, "start", *options], check=True, capture_output=True, env=environment, cwd=tmp_path, timeout=120)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        subprocess.run([*ray, "stop", "--force"], check=True, capture_output=True, env=environment, timeout=120)


def test_a_rehearsal_on_ray_gives_the_same_report(address: str, tmp_path: Path) -> None:
    spec, data = load_spec(write_config(tmp_path, {"epsilon_split = 0.5": "epsilon_split = [0.3, 0.5]"})), write_data(tmp_path)
    goal = RaceGoal(keep=1, width=0.4)
    workers = Workers(backend="ray", address=address)
    there = rehearse(spec, data, tmp_path / "there", goal=goal, workers=workers, seed=4)
    here = rehearse(spec, data, tmp_path / "here", goal=goal, workers=Workers(jobs=1), seed=4)
    assert there.complete
    assert there.n_attempts > 20
    assert document(there) == document(here)
