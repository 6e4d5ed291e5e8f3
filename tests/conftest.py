"""Fixtures. Tests marked `nvss` need the real file of public births, named by SYNTHRELEASE_NVSS; they are skipped without."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from _pytest.outcomes import OutcomeException
from _pytest.runner import runtestprotocol

from tests.long import is_long

with contextlib.suppress(ImportError):
    from hypothesis import settings

    settings.register_profile("patient", deadline=None)  # a busy machine is no failure
    settings.load_profile("patient")

for _library in ("OPENBLAS", "OMP", "MKL"):
    # before numpy and torch are loaded: products here are small, and a second thread of a worker waits busily for the first
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parents[1]
CONFIGURATIONS = (*sorted((ROOT / "configs").glob("*.toml")), ROOT / "configs" / "years" / "first.toml")
"""Those that ship and load by themselves: later years need the release of the year before beside them."""


FIRST = tuple(f"tests/{name}" for name in ("whole/", "studio/", "mutations/"))
"""Folders with tests of many seconds: they come first, so that no worker waits for another in the end."""
NEEDS = {
    "nvss": ("SYNTHRELEASE_NVSS", "needs the NVSS file: set SYNTHRELEASE_NVSS to its path (see public_data/README.md)"),
    "wheelhouse": ("SYNTHRELEASE_WHEELHOUSE", "needs a wheelhouse: set SYNTHRELEASE_WHEELHOUSE to its path (docs/tutorial.md)"),
}
"""Markers of tests that need something from outside: the variable that names it, and why they are skipped without."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file that is slow as a whole is not even imported where slow tests are left out."""
    if config.option.markexpr != "not slow" or not collection_path.name.startswith("test_"):
        return None
    return "\npytestmark = pytest.mark.slow\n" in collection_path.read_text(encoding="utf-8") or None


def pytest_configure(config: pytest.Config) -> None:
    """What jax compiles once, for all tests of a run and its processes: by far the most of a fit by the libraries on jax.

    It keeps a program by its text, its options and its own version.
    """
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        folder = tempfile.mkdtemp(prefix="compiled-")
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        os.environ["JAX_COMPILATION_CACHE_DIR"] = folder
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
    # noisy answers stand in the programs, so that most are compiled and run once: making them fast is a third of a fit
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")


def _import_from_the_other_end(config: pytest.Config) -> None:
    """Every second worker imports all files of tests from the last to the first, before it collects them as all others do.

    In a fresh clone nothing is compiled yet: two workers that go the same way side by side both compile everything.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    if int(worker) % 2 == 0 or config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    for path in sorted((ROOT / "tests").rglob("test_*.py"), reverse=True):
        # one that cannot be imported, or skips itself, says so when it is collected
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """What is imported and collected stays: the collector of garbage need not walk through it, neither meanwhile nor later.

    Later it comes seldom: libraries that tests load stay, too, and walking through them took 4% of the time of the tests.
    """
    gc.disable()
    _import_from_the_other_end(session.config)
    yield
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))
    long = [item for item in items if is_long(item.nodeid)]
    for item in long:
        item.add_marker(pytest.mark.long)
    for marker, (variable, reason) in NEEDS.items():
        if not os.environ.get(variable):
            for item in items:
                if item.get_closest_marker(marker):
                    item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A worker tells what came of a test, and of its setting up and tearing down only what did not pass.

    The two other messages of each of ten thousand tests took the process that gathers them, and the workers, 10 seconds.
    """
    if not os.environ.get("PYTEST_XDIST_WORKER") or item.config.option.durations is not None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


MOST_SECONDS = 2.0
"""Processor seconds of this process that a test without a marker takes at most on the machine whose pace is `_PACE`. Those
above 1.2 there are marked: the rest is for what a test happens to import or to compile first."""
_PACE = 0.066
"""Processor seconds of `_slower` on that machine."""
MARKED = ("slow", "long", *NEEDS, "servers")


@cache
def _slower() -> float:
    """How many times longer something takes here and now than there, at least 1: another machine, or one that others use."""
    started = time.process_time()
    sum(i * i % 7 for i in range(1_000_000))
    followed = 5 if sys.gettrace() is not None or "coverage" in sys.modules else 1  # each line is counted
    return max(1.0, (time.process_time() - started) / _PACE) * followed


def _again(item: pytest.Item, seconds: float) -> float:
    """What a test takes the second time: the first one of a process imports and compiles what all others find. Of a test that
    cannot be run twice, a third of the first time."""
    started = time.process_time()
    try:
        item.runtest()
    except (Exception, OutcomeException):
        return seconds / 3
    return time.process_time() - started


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Refuse a test that is too long for `make quick` and has no marker. Processor time counts, not that of a clock; fixtures
    that several tests share are made before."""
    started = time.process_time()
    yield
    seconds = time.process_time() - started
    if seconds <= MOST_SECONDS or any(map(item.get_closest_marker, MARKED)):
        return
    seconds = min(seconds, _again(item, seconds))
    if seconds > MOST_SECONDS * _slower():
        pytest.fail(
            f"this test took {seconds:.1f} processor seconds, and without a marker at most {MOST_SECONDS:g} are allowed: "
            "make it cheaper, put what several tests share into a fixture, or mark it with @pytest.mark.slow",
            pytrace=False,
        )


@pytest.fixture(autouse=True, scope="session")
def small_files_are_answered_for() -> Iterator[None]:
    """No rehearsal tried the small files of tests: where a steward would be asked, the answer is yes.

    Tests of the question undo that (tests/spec/test_tried.py); a command in a process of its own says --unrehearsed.
    """
    from synthrelease.cli import releasing
    from synthrelease.cli import specifying as committing
    from synthrelease.publish import Listener

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Listener, "never_tried", lambda self, spec: True)
        patch.setattr(releasing, "accepts_untried", lambda spec: True)
        patch.setattr(committing, "accepts_untried", lambda spec: True)
        yield


@pytest.fixture(scope="session")
def nvss() -> Path:
    return Path(os.environ["SYNTHRELEASE_NVSS"])


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the checkout."""
    return ROOT
