"""The sum over batches is the count of the rows, whatever the layout; threads change neither results nor their order."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter

import numpy as np
import pytest

from synthrelease.data.ahead import Ahead
from synthrelease.data.layout import Layout
from synthrelease.enclave import counting
from synthrelease.enclave.counting import CellCount
from synthrelease.enclave.values import Digits
from tests.conftest import ROOT


@pytest.mark.parametrize("dense", [2**24, 0], ids=["one array", "cells that occur"])
@pytest.mark.parametrize("sizes", [(3, 4, 2), (3, 2**31, 2**29), (5, 2**31, 2**31)], ids=["small", "with codes", "wide"])
def test_cells_are_counted_like_rows(sizes, dense, monkeypatch):
    monkeypatch.setattr(counting, "DENSE", dense)
    draw = np.random.default_rng(5)
    layout = Layout(columns=("a", "b", "c"), sizes=sizes)
    kept, expected = CellCount(layout), Counter[tuple[int, ...]]()
    for n_rows in (40, 0, 1, 700):
        digits = [
            Digits(of_text=np.array([0, size - 1, -1, 1, -3]), codes=draw.choice(5, n_rows, p=[0.3, 0.3, 0.05, 0.3, 0.05]))
            for size in sizes
        ]
        kept.add(digits)
        rows = zip(*(each.rows().tolist() for each in digits), strict=True)
        expected.update(row for row in rows if min(row) >= 0)
    total = kept.total()
    cells = zip(*(bins.tolist() for bins in total.bins), strict=True)
    assert dict(zip(cells, total.counts.tolist(), strict=True)) == expected
    assert expected.total() > 400


def test_a_piece_without_a_text_in_any_row_has_no_problem_with_it():
    digits = Digits(of_text=np.array([1, -3, -2]), codes=np.array([0, 0, 2]))
    assert digits.kinds() == {-2: 1}


class Parts:
    """Numbers one after the other; an error in place of some."""

    def __init__(self, *parts: int | Exception | None):
        self.parts = [*parts]

    def __call__(self) -> int | None:
        part = self.parts.pop(0) if self.parts else None
        if isinstance(part, Exception):
            raise part
        return part


def test_results_and_errors_come_in_the_order_of_the_parts(monkeypatch):
    monkeypatch.setattr("synthrelease.data.ahead.processors", lambda: 3)
    second = threading.Event()

    def work(part: int) -> int:
        if part == 0:
            assert second.wait(20)  # the later part is done first
        second.set()
        if part == 3:
            raise KeyError("third")
        return -part

    found: list[tuple[int, int]] = []
    with Ahead(work, Parts(0, 1, 2, 3, OSError("reading"))) as ahead, pytest.raises(KeyError):
        found.extend(ahead)
    assert found == [(0, 0), (1, -1), (2, -2)]
    with Ahead(abs, Parts(1, 2, OSError("reading"), 3)) as ahead, pytest.raises(OSError, match="reading"):
        found.extend(ahead)
    assert found[3:] == [(1, 1), (2, 2)]


WITHOUT_MEMORY = """
import resource, threading
from synthrelease.data.ahead import Ahead
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 2**25, size + 2**25))
parts = iter([1, 0, 2])
with Ahead(lambda part: (1 / part, threading.active_count()), lambda: next(parts, None)) as ahead:
    print(ahead.next())
    try:
        ahead.next()
    except ZeroDivisionError:
        print("divided,", ahead.next())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process")
def test_without_memory_for_threads_the_parts_are_processed_here():
    """The start of a thread whose memory is refused may never end. Thirty-two megabytes are less than one thread asks for."""
    command = [sys.executable, "-c", WITHOUT_MEMORY]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, cwd=ROOT)
    assert ended.stdout.split("\n") == ["(1, (1.0, 1))", "divided, (2, (0.5, 1))", ""]


def test_parts_that_were_begun_too_early_are_given_back_in_order():
    parts = Parts(1, 2, 3, 4)
    with Ahead(abs, parts) as ahead:
        assert ahead.next() == (1, 1)
        begun = ahead.forget()
        assert begun == [2, 3, 4][: len(begun)]
        parts.parts = [*begun, *parts.parts]
        assert [part for part, _ in ahead] == [2, 3, 4]
