"""The memory of a large table goes back to the system when the table ends."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from synthrelease.data import counts
from synthrelease.data.counts import in_a_row, room

MEGABYTE = 2**20


def resident() -> int:
    """Megabytes of memory of this process, in pages of 4 KiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) // 256


@pytest.mark.skipif(sys.platform != "linux", reason="counts the pages that Linux gave to this process")
def test_the_system_gets_the_memory_of_arrays_that_end_even_if_a_later_one_stays() -> None:
    """With `np.concatenate` alone it keeps them: the C library gives back only what is above the last array."""
    np.ones(2 * MEGABYTE)  # from now on, the C library keeps the memory of arrays of up to 16 MB
    arrays = [in_a_row([np.ones(MEGABYTE, dtype=np.uint8)]) for _ in range(64)]
    before = resident()
    del arrays[:-1]
    assert before - resident() > 55
    assert int(arrays[-1].sum(dtype=np.int64)) == MEGABYTE


@pytest.mark.parametrize("size", [1, counts._OWN_MEMORY - 1, counts._OWN_MEMORY])
@pytest.mark.parametrize("refused", [False, True])
def test_a_room_is_zeros_that_can_be_changed(monkeypatch: pytest.MonkeyPatch, size: int, refused: bool) -> None:
    def no_memory(*size: object, **access: object) -> None:
        raise OSError("refused")

    if refused:
        monkeypatch.setattr(counts, "mmap", no_memory)
    array = room(size, np.uint8)
    assert (len(array), array.dtype, array.any()) == (size, np.uint8, False)
    array[-1] = 7
    assert array.sum() == 7
