"""The memory of a large table goes back to the system when the table ends."""

from __future__ import annotations

import math
import sys
from mmap import mmap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthrelease.data import counts
from synthrelease.data.counts import Counts, PackedBins, in_a_row, packed, room, word_of
from synthrelease.data.layout import Layout

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


def test_rows_that_stay_are_in_memory_that_the_system_gets_back() -> None:
    """The C library keeps smaller arrays when they are deleted: 127 MB of the private rows of 5.5 million people."""
    layout = Layout(columns=tuple("abcdef"), sizes=(2**16 - 1,) * 6)
    rows = np.random.default_rng(1).integers(0, 2**16 - 1, (6, 2**18), dtype=np.uint16)
    table = Counts.of(layout, list(rows))
    for some in (table.keep(np.arange(len(table)) > 0), table.with_counts(table.counts - (np.arange(len(table)) == 9))):
        assert len(some) == len(table) - 1
        assert all(isinstance(part.base, memoryview | mmap) for part in some.parts)
    assert all(part.base is not None and not part.flags.owndata for part in table.parts)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 300), min_size=9, max_size=14), st.integers(0, 10**6))
def test_columns_of_one_integer_are_read_together(sizes: list[int], seed: int) -> None:
    """Any columns in any order, of one integer or of several ones: as many codes as by arithmetic on the bins."""
    draw = np.random.default_rng(seed)
    layout = Layout(columns=("first", *map(str, range(len(sizes)))), sizes=(2**40, *sizes))
    bins = [draw.integers(0, size, 50) for size in layout.sizes]
    stored = PackedBins(layout, packed(layout, bins))
    chosen = draw.permutation(len(layout.sizes))[: draw.integers(1, 4)].tolist()
    start = int(draw.integers(0, len(sizes)))
    for columns in (chosen, list(range(start, min(start + 4, len(layout.sizes))))):
        expected = np.zeros(50, dtype=object)
        for column in columns:
            expected = expected * layout.sizes[column] + bins[column]
        if math.prod(layout.sizes[column] for column in columns) < 2**62:
            assert word_of(layout, stored, columns).tolist() == expected.tolist()
        assert [stored[column].tolist() for column in columns] == [bins[column].tolist() for column in columns]


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
