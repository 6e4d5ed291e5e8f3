"""A slice of tests/hostile in the default suite: hostile files end with clear errors, soon, in little memory."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("limits of memory, pipes and links of POSIX", allow_module_level=True)

pytest.importorskip("pyreadstat", reason="needs the extra formats")
pytest.importorskip("duckdb", reason="needs the extra database")

from tests.whole.hostile.cases import KINDS, Case, make_case
from tests.whole.hostile.watch import executes, judged, watched

SEED = 7461


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_hostile_files_end_with_clear_errors(part: int) -> None:
    verdicts = list(watched(SEED, list(range(part, 160, 2))))
    assert [(verdict.number, verdict.kind, verdict.problem) for verdict in verdicts if verdict.problem] == []
    assert len(verdicts) == 80
    assert {verdict.kind for verdict in verdicts} == set(KINDS)
    assert {0, 2, 4} >= {verdict.code for verdict in verdicts} >= ({0, 2} if part == 0 else {2, 4})


def test_the_same_seed_and_number_give_the_same_files(tmp_path: Path) -> None:
    """So that a case that went wrong can be made again: `python -m tests.whole.hostile --seed ... --numbers ...`."""
    made = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        cases = []
        for number in range(12):
            folder = tmp_path / name / str(number)
            folder.mkdir()
            case = make_case(SEED, number, folder)
            files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.suffix == ".toml"}
            cases.append((case, files))
        made.append(cases)
    assert made[0] == made[1]


GOOD = {"code": 2, "text": "release.toml: title: expected a text in quotes, found 1.", "seconds": 0.1, "megabytes": 1}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, ""),
        ({"code": 1}, "exit code 1"),
        ({"code": -9}, "exit code -9"),
        ({"text": 'Traceback (most recent call last):\n  File "x"\nValueError: y'}, "Traceback"),
        ({"text": "synthrelease stopped because of an error in the\nprogram or the machine"}, "an error in the program"),
        ({"text": "expected a text in quotes, found To\nk en7461 in it"}, "the token was printed"),
        ({"text": "expected a text in quotes, found " + "x" * 20_000}, "a message of"),
        ({"text": "expected a text in quotes, found \x1b[2J here"}, "control characters were printed"),
        ({"text": "error"}, "no message"),
        ({"seconds": 21.0}, "1 MB and 21 seconds"),
        ({"megabytes": 501}, "501 MB"),
    ],
)
def test_whatever_is_wrong_is_found_by_these_checks(tmp_path: Path, change: dict[str, object], problem: str) -> None:
    case = Case(kind="CSV", command=("check", "release.toml"), token="Token7461")
    found = judged(case, **(GOOD | change), folder=tmp_path)  # type: ignore[arg-type]
    assert found.startswith(problem)
    assert bool(found) == bool(problem)


def test_a_written_formula_is_found_by_these_checks(tmp_path: Path) -> None:
    case = Case(kind="facts", command=("simulate", "facts.toml"), token="Token7461")
    (tmp_path / "drawn.csv").write_text("x,y\n-1,a;=1+1\n")
    assert judged(case, 0, "", 0.1, 1, tmp_path) == "cells that a spreadsheet executes: ['a;=1+1']"
    assert not executes("-1")
    assert executes("=1+1")
