"""The optional packages fit beside the core's locked versions."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.helpers.late import library

pytestmark = pytest.mark.slow

library("torch", reason="needs the extra: pip install torch==2.13.0, then synthrelease[smartnoise]")


def test_smartnoise_can_be_imported_with_the_locked_versions() -> None:
    code = "from snsynth import Synthesizer as S; print(sorted({'mst', 'aim', 'mwem', 'dpctgan'} & {*S.list_synthesizers()}))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert result.stdout.strip().endswith("['aim', 'dpctgan', 'mst', 'mwem']"), result.stderr
