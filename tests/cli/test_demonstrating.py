"""demo: it ends with a release, also where the first run ends with nothing by chance."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from synthrelease.cli import demonstrating

NOTHING, STOPPED = 3, 1


def runs_that_end_with(codes: list[int], monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Runs of the demonstration that end so, one after the other; gives how many there were."""
    left = list(codes)

    def run(_: object) -> None:
        code = left.pop(0)
        if code:
            raise typer.Exit(code)

    monkeypatch.setattr(demonstrating, "run", run)
    return lambda: len(codes) - len(left)


def test_a_run_that_ends_with_nothing_is_repeated_and_says_what_that_would_cost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ran = runs_that_end_with([NOTHING, NOTHING, 0, 0], monkeypatch)
    demonstrating.demo(tmp_path / "out")
    assert ran() == 3
    assert " ".join(capsys.readouterr().out.split()).count("each run would spend the plan once more") == 2


@pytest.mark.parametrize("codes", [[STOPPED, 0], [NOTHING] * 5 + [0]])
def test_any_other_end_stays_and_so_does_the_fifth_nothing(
    codes: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran = runs_that_end_with(codes, monkeypatch)
    with pytest.raises(typer.Exit) as ended:
        demonstrating.demo(tmp_path / "out")
    assert ended.value.exit_code == codes[0]
    assert ran() == len(codes) - 1
