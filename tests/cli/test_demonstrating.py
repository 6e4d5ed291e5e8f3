"""demo: it ends with a release, also where the search of the first run finds no table by chance."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import typer

from synthrelease.cli import releasing as demonstrating
from synthrelease.cli.releasing import BIRTHS, Shipped
from synthrelease.resources import resource
from synthrelease.spec.load import load_spec

NOTHING, STOPPED = 3, 1


def runs_that_end_with(codes: list[int], monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[dict[str, Any]]]:
    """Runs of the demonstration that end so, one after the other; gives the options of those that there were."""
    left, asked = list(codes), list[dict[str, Any]]()

    def run(request: Any, **options: Any) -> None:
        asked.append({"config": request.config, **options})
        code = left.pop(0)
        if code:
            raise typer.Exit(code)

    monkeypatch.setattr(demonstrating, "run", run)
    return lambda: asked


def test_a_search_that_finds_no_table_is_run_again_and_says_what_that_would_cost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ran = runs_that_end_with([NOTHING, NOTHING, 0, 0], monkeypatch)
    demonstrating.demo(tmp_path / "out")
    assert len(ran()) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert said.count("On your data, a second run would spend the budget again.") == 2


@pytest.mark.parametrize("codes", [[STOPPED, 0], [NOTHING] * 5 + [0]])
def test_any_other_end_stays_and_so_does_the_fifth_search_without_a_table(
    codes: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran = runs_that_end_with(codes, monkeypatch)
    with pytest.raises(typer.Exit) as ended:
        demonstrating.demo(tmp_path / "out")
    assert ended.value.exit_code == codes[0]
    assert len(ran()) == len(codes) - 1


@pytest.mark.parametrize("release", BIRTHS)
@pytest.mark.parametrize("charges", [False, True])
def test_the_charges_are_printed_on_request_alone(
    release: Shipped, charges: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran = runs_that_end_with([0], monkeypatch)
    demonstrating.demo(tmp_path / "out", release, charges=charges)
    config, question = BIRTHS[release]
    shown = charges or release is Shipped.paper  # 9.98 line by line
    assert ran() == [{"config": resource(config), "steps": False, "charges": shown, "question": question}]


def test_the_births_cost_0_70_and_published_has_noisy_tables() -> None:
    births, published = (load_spec(resource(BIRTHS[name][0])) for name in (Shipped.births, Shipped.published))
    assert births.plan.total.epsilon == Fraction("0.7")
    assert births.plan.total.delta == 0
    assert (births.publish_measurements, published.publish_measurements) == (False, True)


@pytest.mark.parametrize("release", BIRTHS)
def test_a_demonstration_of_births_needs_no_extra_library(release: Shipped) -> None:
    """Further formats and catalogues need pyreadstat and rdflib, which `make demo` does not install."""
    assert "bundle" not in tomllib.loads(resource(BIRTHS[release][0]).read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_paper_s_release_costs_9_98_and_names_the_table_of_the_paper(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    demonstrating.demo(tmp_path / "out", Shipped.paper)
    said = capsys.readouterr().out
    assert "epsilon = 9.98" in said
    assert "docs/sources.md compares such releases with Table 2 of the paper." in said
