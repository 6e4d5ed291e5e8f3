"""The optional packages fit beside the core's locked versions, and the core does without them."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from synthrelease.cli.releasing import BIRTHS, Shipped, demo
from synthrelease.errors import InputError
from synthrelease.resources import install
from tests.conftest import ROOT
from tests.helpers.tiny import write_config, write_data

pytestmark = pytest.mark.slow


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch==2.13.0, then the extra smartnoise")
def test_smartnoise_can_be_imported_with_the_locked_versions() -> None:
    code = "from snsynth import Synthesizer as S; print(sorted({'mst', 'aim', 'mwem', 'dpctgan'} & {*S.list_synthesizers()}))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert result.stdout.strip().endswith("['aim', 'dpctgan', 'mst', 'mwem']"), result.stderr


@pytest.fixture
def without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)


OF_A_STEWARD = """
import sys

class Nowhere:
    def find_spec(self, name, *more):
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Nowhere())
from pathlib import Path

import synthrelease
from synthrelease.studio.rehearsal.surrogates import simulate, write_table
from synthrelease.bundle.verify import verify_bundle

write_table(simulate(sys.argv[1], 50), "public.csv")
synthrelease.release("coins.toml", "coins.csv", "out", unrehearsed=True)
assert verify_bundle(Path("out")).passed
found = synthrelease.load("out")
assert found.codes.shape == (400, 2)
found.table()
"""


def test_a_steward_simulates_releases_and_verifies_without_pandas(tmp_path: Path) -> None:
    """In a process of its own, as pyarrow looks for pandas once."""
    write_config(tmp_path)
    write_data(tmp_path)
    facts = ROOT / "public_data" / "births_simple_facts.toml"
    done = subprocess.run(
        [sys.executable, "-c", OF_A_STEWARD, facts], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    expected = "InputError: The library pandas is needed for data frames. It is not installed, or cannot be imported. "
    assert done.stderr.strip().endswith(expected + install("frames")), done.stderr


@pytest.mark.usefixtures("without_pandas")
@pytest.mark.parametrize("shown", [each for each in Shipped if each not in BIRTHS])
def test_a_longer_demonstration_says_what_it_needs_before_it_makes_a_folder(tmp_path: Path, shown: Shipped) -> None:
    with pytest.raises(
        InputError, match=rf"The library pandas is needed for the simulated files of demo --release {shown}\..*extra \"frames\""
    ):
        demo(tmp_path / "out", shown)
    assert not (tmp_path / "out").exists()
