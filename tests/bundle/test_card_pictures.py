"""The pictures of the card show what the table and release.json hold, and nothing else."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

from synthrelease.bundle import pictures
from synthrelease.bundle.card.numbers import exact_epsilon, rounded_down, rounded_up, share, worst_factor
from synthrelease.bundle.document import release_document
from synthrelease.bundle.limits import band_columns, error_band
from synthrelease.bundle.pictures import BAND, BLUE, DARKEST, RED, SOFT, shade
from synthrelease.criteria.facts import figure
from synthrelease.data.counts import Counts
from synthrelease.published.table import ReleasedTable
from tests.helpers.cards import rich_release
from tests.helpers.small import layout_of


def table(labels: list[list[str]], cells: dict[tuple[int, ...], int]) -> ReleasedTable:
    layout = layout_of(*(len(one) for one in labels))
    codes = [int(np.ravel_multi_index(cell, layout.sizes)) for cell in cells]
    counts = Counts(layout, np.array(codes), np.array(list(cells.values())))
    return ReleasedTable(labels=tuple(map(tuple, labels)), ordered=(True,) * len(labels), counts=counts)


SMALL = table([["a", "b"], ["x", "y", "z"]], {(0, 0): 10, (0, 1): 30, (1, 1): 60})


def rects(svg: str, fill: str) -> list[dict[str, float]]:
    found = [dict(re.findall(r'(\w+)="([^"]*)"', one)) for one in re.findall(r"<rect [^>]*>", svg)]
    return [{name: float(value) for name, value in one.items() if name in ("x", "y", "width", "height")} for one in found
            if one["fill"] == fill]  # fmt: skip


def test_bars_are_as_long_as_the_shares_and_bands_as_wide_as_the_error() -> None:
    svg = pictures.distribution(SMALL, 1, 0.05)
    bars, bands = rects(svg, BLUE), rects(svg, BAND)
    unit = bars[1]["width"] / 0.9
    assert [bar["width"] / unit for bar in bars] == [pytest.approx(value, abs=0.002) for value in (0.1, 0.9, 0.0)]
    assert bands[1]["width"] / unit == pytest.approx(0.1, abs=0.002)
    assert bands[1]["x"] + bands[1]["width"] / 2 == pytest.approx(bars[1]["x"] + bars[1]["width"], abs=0.2)
    assert bands[2]["width"] / unit == pytest.approx(0.05, abs=0.002)  # not below 0
    assert "Each original share differs by at most 5 percentage points." in svg
    assert not rects(pictures.distribution(SMALL, 1, None), BAND)


def test_a_heat_map_shows_shares_within_the_first_column() -> None:
    svg = pictures.heat_map(SMALL, 0, 1)
    fills = re.findall(r'<rect [^>]*fill="(#[0-9a-f]{6})"', svg)[1:-5]  # without the background and the key
    assert fills == [shade(0.25), shade(0.75), shade(1.0)]
    assert "the darkest is 100%" in svg


def test_the_stated_band_is_rounded_up() -> None:
    assert "differs by at most 0.575 percentage points" in pictures.distribution(SMALL, 1, 0.00574601)


def test_a_bin_of_few_rows_does_not_set_the_colours_of_a_heat_map() -> None:
    """Of 1000 rows 4 are in the second bin, all of them in one cell."""
    sparse = table([["a", "b"], ["x", "y"]], {(0, 0): 498, (0, 1): 498, (1, 0): 4})
    svg = pictures.heat_map(sparse, 0, 1)
    fills = re.findall(r'<rect [^>]*fill="(#[0-9a-f]{6})"', svg)[1:-5]
    assert fills == [shade(1.0), shade(1.0), shade(1.0)]
    assert "the darkest is 50% or more" in svg
    assert ">≥50%<" in svg
    assert "or more" not in pictures.heat_map(SMALL, 0, 1)


def test_shades_run_from_the_lightest_to_the_darkest() -> None:
    assert (shade(0), shade(1), shade(-1), shade(2)) == (SOFT, DARKEST, SOFT, DARKEST)
    greens = [int(shade(step / 10)[3:5], 16) for step in range(11)]
    assert greens == sorted(greens, reverse=True)


def test_criteria_stand_between_their_best_value_and_their_threshold() -> None:
    document = release_document(rich_release(), {})
    svg = pictures.thresholds(document.criteria)
    places = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', svg)]
    assert svg.rindex("<rect") < svg.index('stroke-dasharray="4 3"') < svg.index("<circle")  # no bar hides the threshold
    (line,) = [float(x) for x in re.findall(rf'<line x1="([\d.]+)"[^>]*stroke="{RED}"', svg)]
    for one, place in zip(document.criteria, places, strict=True):
        used = (one.value - one.best) / (one.threshold - one.best) if one.threshold > one.best else 0
        assert (place - 10) / (line - 10) == pytest.approx(max(used, 0), abs=0.002)
    assert svg.count(f'fill="{BAND}"') == sum(
        one.interval is not None and one.interval.how != "exact" for one in document.criteria
    )


def test_the_charge_tree_shows_every_node_with_its_epsilon() -> None:
    document = release_document(rich_release(), {})
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", pictures.charge_picture(document.charges))
    assert texts[:4] == ["release", "Σ ε 46.6666666667", "slope", "ε 3"]
    assert "2 × ε 43.6666666667" in texts
    assert len(texts) == 2 * (4 + 7)  # root, selection, round; generation, seven criteria with a charge


def test_too_many_pairs_and_too_many_bins_are_left_out_and_counted() -> None:
    document = release_document(rich_release(), {})
    wide = table([["a", "b"]] * 10, {(0,) * 10: 5, (1,) * 10: 5})
    found = pictures.figures(document, wide)
    assert len(found.one_way) == 10
    assert (len(found.two_way), found.pairs_left_out) == (pictures.MAX_PAIRS, 45 - pictures.MAX_PAIRS)
    long = table([["a", "b"], [str(i) for i in range(200)]], {(0, 0): 5, (1, 199): 5})
    found = pictures.figures(document, long)
    assert (len(found.two_way), found.pairs_left_out) == (0, 1)
    assert len(rects(found.one_way["c1"], BLUE)) == 200


def test_the_band_is_the_limit_of_the_absolute_error_for_the_file() -> None:
    document = release_document(rich_release(), {})
    found = document.criteria[0].interval
    assert found is not None
    assert error_band(document) == found.file_high
    without = document.model_copy(update={"criteria": document.criteria[1:]})
    assert error_band(without) is None


@pytest.mark.parametrize(("largest", "expected"), [(None, None), (1, 1), (2, None)])
def test_the_band_holds_for_combinations_of_as_many_columns_as_the_criterion_looked_at(
    largest: int | None, expected: int | None
) -> None:
    document = release_document(rich_release(), {})
    first = document.criteria[0].model_copy(update={"parameters": {**document.criteria[0].parameters, "largest": largest}})
    changed = document.model_copy(update={"criteria": [first, *document.criteria[1:]]})
    assert band_columns(changed) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1234567.0, "1,234,567"),
        (0.00123456, "0.001235"),
        (123456.7, "123,500"),
        (None, "not bounded"),
        (-0.5, "-0.5"),
    ],
)
def test_figures_have_four_digits(value: float | None, text: str) -> None:
    assert figure(value) == text


def test_bounds_are_rounded_up_and_never_down() -> None:
    assert [rounded_up(value) for value in (0.1234, 0.12, 9.91, 0.0100001, 1501.0)] == ["0.13", "0.12", "10", "0.011", "1,600"]
    assert [rounded_down(value) for value in (0.123456, 0.1234, 9.99999, 0.0, 15019.0)] == [
        "0.1234", "0.1234", "9.999", "0", "15,010",
    ]  # fmt: skip
    assert rounded_up(0.123412, 4) == "0.1235"
    assert exact_epsilon("1/3") == "0.3333333334"
    assert (worst_factor(Fraction(0)), worst_factor(Fraction(1)), worst_factor(Fraction("9.55"))) == ("1", "2.8", "15,000")
    assert worst_factor(Fraction(100)) == "10^44"
    assert share(0.5) == "50.00%"


def test_of_very_many_bins_those_with_the_most_rows_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MOST_BARS", 2)
    monkeypatch.setattr(pictures, "FEW_BARS", 2)
    svg = pictures.distribution(SMALL, 1, None)
    bars = rects(svg, BLUE)
    assert [bar["width"] / bars[0]["width"] for bar in bars] == [1, pytest.approx(1 / 9, abs=0.002)]
    assert re.findall(r">([xyz])</text>", svg) == ["y", "x"]
    assert ">only the 2 of 3 bins with the most rows</text>" in svg


def test_a_figure_beyond_its_threshold_is_red_also_where_a_joint_test_was_passed() -> None:
    part = release_document(rich_release(), {}).criteria[0]
    dots = [pictures.thresholds([part.model_copy(update={"value": part.threshold * factor})]) for factor in (0.5, 1, 1.1)]
    assert part.passed
    assert [f'fill="{RED}"/>' in svg.partition("<circle")[2] for svg in dots] == [False, False, True]
