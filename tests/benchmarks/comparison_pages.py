"""The tables and the picture of a comparison, in docs/appendix/benchmarks.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TITLES = {"adult": "Adult", "covid": "Covid-19, Mexico"}
FIGURES = ("1-way", "2-way", "3-way", "seconds", "megabytes")


def medians(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line for every table, epsilon, name and settings: medians over its fits, and how many these are."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for one in results:
        key = (one["table"], one["columns"], one["epsilon"], one["name"], str(one["fields"]))
        groups.setdefault(key, []).append(one)
    found = [
        each[0] | {figure: median(one[figure] for one in each) for figure in FIGURES} | {"fits": len(each)}
        for each in groups.values()
    ]
    return sorted(found, key=lambda one: (one["table"], one["epsilon"], one["3-way"]))


def table(results: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each generator and budget, the smallest 3-way distance first."""
    lines = [
        "| table | epsilon | generator | 1-way | 2-way | 3-way | processor seconds | MB | fits |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for one in medians(results):
        name = one["name"] + "".join(f", {key} {value}" for key, value in one["fields"].items())
        distances = " | ".join(f"{one[figure]:.4f}" for figure in FIGURES[:3])
        lines.append(
            f"| {TITLES[one['table']]}, {one['columns']} columns | {one['epsilon']:g} | {name} | {distances} "
            f"| {one['seconds']:.1f} | {one['megabytes']:.0f} | {one['fits']} |"
        )
    dates = sorted({one["date"] for one in results})
    machines = sorted({one["machine"] for one in results})
    return "\n".join([*lines, "", f"Measured {' and '.join(dates)}, one core of a shared machine ({', '.join(machines)})."])


def picture(results: Sequence[dict[str, Any]], path: Path) -> None:
    """3-way distance over epsilon, and beside it over processor seconds; a panel of each for every table."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "comparison"
    from matplotlib import pyplot
    from matplotlib.ticker import NullFormatter

    found = medians(results)
    tables, names = sorted({one["table"] for one in found}), sorted({one["name"] for one in found})
    figure, axes = pyplot.subplots(len(tables), 2, figsize=(9, 3.2 * len(tables)), layout="constrained", squeeze=False)
    for row, name in enumerate(tables):
        shown = [one for one in found if one["table"] == name]
        for column, (across, label) in enumerate((("epsilon", "epsilon"), ("seconds", "processor seconds of a fit"))):
            axis = axes[row][column]
            for marker, generator in zip("osD^v<>P", names, strict=False):
                points = sorted((one[across], one["3-way"]) for one in shown if one["name"] == generator)
                axis.plot(
                    [x for x, _ in points],
                    [y for _, y in points],
                    marker if column else f"-{marker}",
                    label=generator,
                    color=f"C{names.index(generator)}",
                )
            axis.set(xscale="log", yscale="log", xlabel=label, ylabel="mean 3-way distance")
            for side in (axis.xaxis, axis.yaxis):
                side.set_major_formatter("{x:g}")
                side.set_minor_formatter("{x:g}" if side is axis.yaxis else NullFormatter())
            axis.set_title(f"{TITLES[name]}, {shown[0]['columns']} columns", fontsize="medium")
            axis.grid(alpha=0.3, which="both")
    handles = {label: line for axis in axes.flat for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, fontsize="small", frameon=False)
    figure.savefig(path, metadata={"Date": None})


def write(results: Sequence[dict[str, Any]]) -> None:
    """Put both into the documentation."""
    page = ROOT / "docs" / "appendix" / "benchmarks.md"
    text = page.read_text("utf-8")
    page.write_text(_between(text, "wide tables", lambda: table(results)), encoding="utf-8")
    picture(results, ROOT / "docs" / "appendix" / "generators-wide.svg")


def _between(text: str, mark: str, new: Callable[[], str]) -> str:
    pattern = rf"(<!-- {mark} -->\n).*?(<!-- end of {mark} -->)"
    return re.sub(pattern, lambda match: f"{match[1]}\n{new()}\n\n{match[2]}", text, flags=re.DOTALL)
